//! What a program has attached to an object by key (MPI-3.1 section 6.7): for communicators, and for datatypes and
//! windows alike.
//!
//! Kept in the order of setting: what was set last is deleted first (section 8.7.1). The list is in the program's
//! heap, which limits it, and is searched from its beginning; it takes no memory when nothing is attached.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::error::Error;
use crate::group::exact;

/// An attribute. What a value means only the program knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// The handle of its key.
    pub keyval: i32,
    /// Its value: the address that the program gave.
    pub value: usize,
}

/// The attributes of one object.
#[derive(Debug)]
pub struct Attributes {
    list: Vec<Attribute>,
}

impl Default for Attributes {
    fn default() -> Self {
        Self::new()
    }
}

impl Attributes {
    /// None.
    pub const fn new() -> Attributes {
        Attributes { list: Vec::new() }
    }

    /// The value for this key.
    pub fn get(&self, keyval: i32) -> Option<usize> {
        let found = self.list.iter().find(|known| known.keyval == keyval);
        found.map(|attribute| attribute.value)
    }

    /// Adds an attribute whose key has none yet. Fails with [`Error::NoRoom`].
    pub fn add(&mut self, attribute: Attribute) -> Result<(), Error> {
        self.reserve(1)?;
        self.list.push(attribute);
        Ok(())
    }

    /// Makes room for so many more. Fails with [`Error::NoRoom`].
    pub fn reserve(&mut self, more: usize) -> Result<(), Error> {
        self.list.try_reserve(more).map_err(|_| Error::NoRoom {
            bytes: more.saturating_mul(size_of::<Attribute>()),
        })
    }

    /// Takes the attribute with this key out; false when there is none.
    pub fn remove(&mut self, keyval: i32) -> bool {
        let place = self.list.iter().position(|known| known.keyval == keyval);
        if let Some(place) = place {
            self.list.remove(place);
        }
        if self.list.is_empty() {
            self.list = Vec::new();
        }
        place.is_some()
    }

    /// The one that was set last.
    pub fn last(&self) -> Option<Attribute> {
        self.list.last().copied()
    }

    /// A copy of the list. Fails with [`Error::NoRoom`].
    pub fn snapshot(&self) -> Result<Vec<Attribute>, Error> {
        exact(&self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_keep_the_order_of_setting_and_no_memory_when_there_are_none() {
        let mut attributes = Attributes::new();
        for keyval in [5, 3, 9] {
            let value = keyval as usize * 10;
            attributes.add(Attribute { keyval, value }).expect("room");
        }
        assert_eq!((attributes.get(3), attributes.get(4)), (Some(30), None));
        assert!(attributes.remove(9) && !attributes.remove(9));
        assert_eq!(attributes.last().map(|last| last.keyval), Some(3));
        let keyvals: Vec<_> = attributes.snapshot().expect("room");
        assert_eq!(
            keyvals.iter().map(|known| known.keyval).collect::<Vec<_>>(),
            [5, 3]
        );
        assert!(attributes.remove(5) && attributes.remove(3));
        assert_eq!((attributes.last(), attributes.list.capacity()), (None, 0));
    }
}
