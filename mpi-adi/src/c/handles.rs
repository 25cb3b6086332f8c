//! Handles of objects that the program makes: one kind of table for all kinds of objects.
//!
//! A handle has the kind's bits at the top, then the generation of a place in the table, and the place at the
//! bottom. Taking an object out gives its place the next generation, so that its handle names nothing any
//! more. The table is in the program's heap and grows when an object is added, to the kind's limit.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ffi::c_int;

use crate::mpi::error::{Error, Limited};

/// What the handles of one kind of objects look like.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The objects' name in errors, in the plural.
    pub name: Limited,
    /// The bits above generation and place.
    pub tag: c_int,
    /// Bits of a place in the table, which limit how many objects there can be.
    pub place_bits: u32,
    /// Bits of a generation.
    pub generation_bits: u32,
    /// Objects that there can be at one time.
    pub limit: usize,
}

struct Entry<T> {
    generation: u16,
    object: Option<T>,
}

/// The objects of one kind.
pub struct Table<T> {
    kind: Kind,
    entries: Vec<Entry<T>>,
    /// All places before this one are in use.
    first_free: usize,
}

impl<T> Table<T> {
    /// No objects.
    pub const fn new(kind: Kind) -> Self {
        assert!(kind.limit <= 1 << kind.place_bits && kind.generation_bits <= u16::BITS);
        assert!(kind.tag & ((1 << (kind.place_bits + kind.generation_bits)) - 1) == 0);
        Table {
            kind,
            entries: Vec::new(),
            first_free: 0,
        }
    }

    fn handle_at(&self, place: usize) -> c_int {
        let Kind {
            tag, place_bits, ..
        } = self.kind;
        let generation = self.entries.get(place).map_or(0, |entry| entry.generation);
        tag | c_int::from(generation) << place_bits | place as c_int
    }

    /// The place in the table that `handle` names, whether or not an object is there.
    fn place_of(&self, handle: c_int) -> Option<usize> {
        // Most handles are of other kinds or of objects that are always there.
        let place = (handle & ((1 << self.kind.place_bits) - 1)) as usize;
        (place < self.entries.len() && self.handle_at(place) == handle).then_some(place)
    }

    /// The object that `handle` names.
    pub fn get(&self, handle: c_int) -> Option<&T> {
        self.entries[self.place_of(handle)?].object.as_ref()
    }

    /// As [`Table::get`], to change it.
    pub fn get_mut(&mut self, handle: c_int) -> Option<&mut T> {
        let place = self.place_of(handle)?;
        self.entries[place].object.as_mut()
    }

    /// The object at `place`, and its handle.
    pub fn at(&mut self, place: usize) -> Option<(c_int, &mut T)> {
        let handle = self.handle_at(place);
        let object = self.entries.get_mut(place)?.object.as_mut()?;
        Some((handle, object))
    }

    /// Adds an object; its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
    pub fn add(&mut self, object: T) -> Result<c_int, Error> {
        let mut places = self.entries[self.first_free..].iter();
        let place = match places.position(|entry| entry.object.is_none()) {
            Some(offset) => self.first_free + offset,
            None => self.entries.len(),
        };
        let handle = self.add_at(place, object)?;
        self.first_free = place + 1;
        Ok(handle)
    }

    /// Adds an object at a place where none is; its handle. Fails as [`Table::add`].
    pub fn add_at(&mut self, place: usize, object: T) -> Result<c_int, Error> {
        let Kind { name, limit, .. } = self.kind;
        if place >= limit {
            return Err(Error::Limit { what: name, limit });
        }
        self.prepare(place)?;
        self.entries[place].object = Some(object);
        Ok(self.handle_at(place))
    }

    /// Makes sure that [`Table::add_at`] for `place` needs no memory. Fails with [`Error::NoRoom`].
    pub fn prepare(&mut self, place: usize) -> Result<(), Error> {
        let more = (place + 1).saturating_sub(self.entries.len());
        let bytes = more * size_of::<Entry<T>>();
        let none = |_| Error::NoRoom { bytes };
        self.entries.try_reserve(more).map_err(none)?;
        let len = self.entries.len() + more;
        self.entries.resize_with(len, || Entry {
            generation: 0,
            object: None,
        });
        Ok(())
    }

    /// Takes out the object that `handle` names.
    pub fn remove(&mut self, handle: c_int) -> Option<T> {
        let place = self.place_of(handle)?;
        let entry = &mut self.entries[place];
        let object = entry.object.take()?;
        entry.generation = (entry.generation + 1) & ((1 << self.kind.generation_bits) - 1) as u16;
        self.first_free = self.first_free.min(place);
        Some(object)
    }

    /// Places that the table has memory for.
    pub fn places(&self) -> usize {
        self.entries.len()
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &T> {
        self.entries
            .iter()
            .filter_map(|entry| entry.object.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: Limited::Groups,
        tag: 0x5500_0000,
        place_bits: 2,
        generation_bits: 3,
        limit: 3,
    };

    #[test]
    fn a_handle_names_its_object_until_that_is_taken_out() {
        let mut table = Table::new(KIND);
        let handles = ["a", "b", "c"].map(|thing| table.add(thing).expect("room"));
        let full = table.add("d");
        assert!(matches!(full, Err(Error::Limit { limit: 3, .. })));
        assert_eq!(table.get(handles[1]), Some(&"b"));
        assert_eq!(table.remove(handles[1]), Some("b"));
        assert_eq!(table.get(handles[1]), None);
        assert_eq!(table.remove(handles[1]), None);
        let again = table.add("e").expect("room");
        assert!(again != handles[1] && table.get(handles[1]).is_none());
        assert_eq!(table.get(again), Some(&"e"));
        assert_eq!(table.objects().count(), 3);
        assert_eq!(table.get(handles[0] + 3), None, "a place that is not there");
        assert_eq!(table.get(0), None);
    }

    #[test]
    fn objects_can_be_put_at_a_place() {
        let mut table = Table::new(KIND);
        let third = table.add_at(2, "c").expect("room");
        assert_eq!(table.at(2), Some((third, &mut "c")));
        assert_eq!(table.at(1), None);
        assert!(table.add_at(3, "d").is_err());
        assert_eq!(table.objects().copied().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn generations_wrap_within_their_bits() {
        let mut table = Table::new(KIND);
        let first = table.add(0).expect("room");
        for _ in 0..8 {
            let (handle, _) = table.at(0).expect("one");
            assert_eq!(handle & KIND.tag, KIND.tag);
            assert_eq!(handle >> 5, KIND.tag >> 5);
            table.remove(handle);
            table.add(0).expect("room");
        }
        assert_eq!(table.get(first), Some(&0), "as after 8 uses of one place");
    }
}
