//! Reassembly of long messages: a byte counter per destination buffer.

/// Reception progress of one long message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reassembly {
    /// Bytes received.
    pub received: u32,
    /// Total bytes expected.
    pub total: u32,
}

/// Reasons why a packet does not belong to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReassemblyError {
    /// It extends past the message's end, or exceeds the number of missing bytes.
    Beyond,
}

impl Reassembly {
    /// Creates the state of a message of `total` bytes, none of which has been received.
    pub fn new(total: u32) -> Self {
        Self { received: 0, total }
    }

    /// Counts `len` bytes at `offset`. Returns true when the message is complete. Packets may arrive in any order, but
    /// each only once (the network delivers exactly once).
    pub fn accept(&mut self, offset: u32, len: usize) -> Result<bool, ReassemblyError> {
        let len = u32::try_from(len).map_err(|_| ReassemblyError::Beyond)?;
        let end = offset.checked_add(len).filter(|&end| end <= self.total);
        let received = self.received.checked_add(len).filter(|&r| r <= self.total);
        let (Some(_), Some(received)) = (end, received) else {
            return Err(ReassemblyError::Beyond);
        };
        self.received = received;
        Ok(self.is_complete())
    }

    /// Checks whether all bytes have been received.
    pub fn is_complete(&self) -> bool {
        self.received == self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_all_its_bytes_have_come_in_any_order() {
        let mut landing = Reassembly::new(10);
        assert_eq!(landing.accept(6, 4), Ok(false));
        assert_eq!(landing.accept(0, 6), Ok(true));
        assert!(Reassembly::new(0).is_complete());
    }

    #[test]
    fn bytes_that_reach_past_the_end_or_come_twice_are_refused() {
        let mut landing = Reassembly::new(10);
        assert_eq!(landing.accept(8, 3), Err(ReassemblyError::Beyond));
        assert_eq!(landing.accept(u32::MAX, 2), Err(ReassemblyError::Beyond));
        assert_eq!(landing.accept(0, 10), Ok(true));
        assert_eq!(landing.accept(0, 1), Err(ReassemblyError::Beyond));
    }
}
