//! Attributes that a program attaches to communicators, datatypes and windows by key (MPI-3.1 section 6.7).
//!
//! The list keeps the order of setting, because the newest attribute is deleted first (section 8.7.1). It is allocated
//! on the program's heap, is searched linearly, and uses no heap memory while it is empty.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::error::Error;
use crate::group::exact;

/// An attribute. Only the program interprets its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// The handle of its key.
    pub keyval: i32,
    /// Address that the program specified.
    pub value: usize,
}

/// Attributes of one object.
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
    /// Creates an empty list.
    pub const fn new() -> Attributes {
        Attributes { list: Vec::new() }
    }

    /// Returns the value for `keyval`.
    pub fn get(&self, keyval: i32) -> Option<usize> {
        let found = self.list.iter().find(|known| known.keyval == keyval);
        found.map(|attribute| attribute.value)
    }

    /// Adds an attribute for an unset key. Fails with [`Error::NoSpace`].
    pub fn add(&mut self, attribute: Attribute) -> Result<(), Error> {
        self.reserve(1)?;
        self.list.push(attribute);
        Ok(())
    }

    /// Reserves capacity for `more` attributes. Fails with [`Error::NoSpace`].
    pub fn reserve(&mut self, more: usize) -> Result<(), Error> {
        self.list.try_reserve(more).map_err(|_| Error::NoSpace {
            bytes: more.saturating_mul(size_of::<Attribute>()),
        })
    }

    /// Removes the attribute with this key. Returns false if there is none.
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

    /// Returns the newest attribute.
    pub fn last(&self) -> Option<Attribute> {
        self.list.last().copied()
    }

    /// Returns a copy of the list. Fails with [`Error::NoSpace`].
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
        assert_eq!(keyvals.iter().map(|known| known.keyval).collect::<Vec<_>>(), [5, 3]);
        assert!(attributes.remove(5) && attributes.remove(3));
        assert_eq!((attributes.last(), attributes.list.capacity()), (None, 0));
    }
}
