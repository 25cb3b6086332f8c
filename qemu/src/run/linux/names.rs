//! Ports and their names in a job: the name service of MPI (MPI-3.1 section 10.4.4). Free of side effects.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of open ports, and of names.
const MAX: usize = 1 << 16;

/// Reason why a request fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameError {
    /// The port is not open.
    Port,
    /// The name is not published.
    Name,
    /// The name is published already, or with another port.
    Service,
    /// The table is full.
    Full,
}

impl NameError {
    /// Returns the first field of the answer.
    pub fn word(self) -> &'static [u8] {
        match self {
            Self::Port => b"port",
            Self::Name => b"name",
            Self::Service => b"service",
            Self::Full => b"full",
        }
    }
}

/// The open ports and the published names.
#[derive(Default)]
pub struct NameService {
    ports: BTreeSet<Vec<u8>>,
    names: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl NameService {
    /// Opens a port.
    pub fn open(&mut self, port: &[u8]) -> Result<(), NameError> {
        if self.ports.len() >= MAX {
            return Err(NameError::Full);
        }
        self.ports.insert(port.to_vec());
        Ok(())
    }

    /// Closes a port.
    pub fn close(&mut self, port: &[u8]) -> Result<(), NameError> {
        if self.ports.remove(port) {
            Ok(())
        } else {
            Err(NameError::Port)
        }
    }

    /// Checks that a port is open.
    pub fn find(&self, port: &[u8]) -> Result<(), NameError> {
        if self.ports.contains(port) {
            Ok(())
        } else {
            Err(NameError::Port)
        }
    }

    /// Publishes a port under a name.
    pub fn publish(&mut self, name: &[u8], port: &[u8]) -> Result<(), NameError> {
        if self.names.contains_key(name) {
            return Err(NameError::Service);
        }
        if self.names.len() >= MAX {
            return Err(NameError::Full);
        }
        self.names.insert(name.to_vec(), port.to_vec());
        Ok(())
    }

    /// Removes the name of a port.
    pub fn unpublish(&mut self, name: &[u8], port: &[u8]) -> Result<(), NameError> {
        if self.names.get(name).is_none_or(|published| published != port) {
            return Err(NameError::Service);
        }
        self.names.remove(name);
        Ok(())
    }

    /// Returns the port with a name.
    pub fn look_up(&self, name: &[u8]) -> Result<&[u8], NameError> {
        self.names.get(name).map(Vec::as_slice).ok_or(NameError::Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_port_until_it_is_unpublished() {
        let mut service = NameService::default();
        assert_eq!(service.look_up(b"a"), Err(NameError::Name));
        service.publish(b"a", b"p").unwrap();
        assert_eq!(service.publish(b"a", b"q"), Err(NameError::Service));
        assert_eq!(service.look_up(b"a"), Ok(&b"p"[..]));
        assert_eq!(service.unpublish(b"a", b"q"), Err(NameError::Service));
        service.unpublish(b"a", b"p").unwrap();
        assert_eq!(service.unpublish(b"a", b"p"), Err(NameError::Service));
    }

    #[test]
    fn a_port_is_known_while_it_is_open() {
        let mut service = NameService::default();
        assert_eq!(service.find(b"p"), Err(NameError::Port));
        service.open(b"p").unwrap();
        assert_eq!((service.find(b"p"), service.close(b"p")), (Ok(()), Ok(())));
        assert_eq!(
            (service.find(b"p"), service.close(b"p")),
            (Err(NameError::Port), Err(NameError::Port))
        );
    }
}
