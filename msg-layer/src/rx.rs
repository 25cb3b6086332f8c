//! Reassembly of long messages: counting bytes into the place where they belong.

/// Progress of one long message into its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Landing {
    /// Bytes that have arrived.
    pub received: u32,
    /// Bytes that will arrive in all.
    pub total: u32,
}

/// Why a packet does not belong to a landing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LandingError {
    /// Reaches past the message's end, or brings more bytes than the message has.
    Beyond,
}

impl Landing {
    /// A landing for `total` bytes, none of which has arrived.
    pub fn new(total: u32) -> Self {
        Self { received: 0, total }
    }

    /// Counts `len` bytes at `offset`; true when the message is whole. Packets may come in any order, but
    /// each only once (the network delivers exactly once).
    pub fn accept(&mut self, offset: u32, len: usize) -> Result<bool, LandingError> {
        let len = u32::try_from(len).map_err(|_| LandingError::Beyond)?;
        let end = offset.checked_add(len).filter(|&end| end <= self.total);
        let received = self.received.checked_add(len).filter(|&r| r <= self.total);
        let (Some(_), Some(received)) = (end, received) else {
            return Err(LandingError::Beyond);
        };
        self.received = received;
        Ok(self.is_whole())
    }

    /// All bytes have arrived.
    pub fn is_whole(&self) -> bool {
        self.received == self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_all_its_bytes_have_come_in_any_order() {
        let mut landing = Landing::new(10);
        assert_eq!(landing.accept(6, 4), Ok(false));
        assert_eq!(landing.accept(0, 6), Ok(true));
        assert!(Landing::new(0).is_whole());
    }

    #[test]
    fn bytes_that_reach_past_the_end_or_come_twice_are_refused() {
        let mut landing = Landing::new(10);
        assert_eq!(landing.accept(8, 3), Err(LandingError::Beyond));
        assert_eq!(landing.accept(u32::MAX, 2), Err(LandingError::Beyond));
        assert_eq!(landing.accept(0, 10), Ok(true));
        assert_eq!(landing.accept(0, 1), Err(LandingError::Beyond));
    }
}
