//! Handle tables for objects of the program: one table type for all kinds of objects.
//!
//! A handle consists of the kind's tag in the upper bits, the generation of a table slot, and the slot's index in the
//! lower bits. Removing an object increments the generation of its slot and so makes the handle invalid. The table is
//! on the program's heap and grows when objects are added, up to the kind's limit.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ffi::c_int;

use super::types::Handle;
use midplane_objects::error::{Error, LimitedResource};

/// Format of the handles of one kind of objects.
#[derive(Clone, Copy, Debug)]
pub struct HandleKind {
    /// Plural name of the objects in error messages.
    pub name: LimitedResource,
    /// Bits above generation and index.
    pub tag: c_int,
    /// Bits of the index, which limit the number of objects.
    pub place_bits: u32,
    /// Bits of the generation.
    pub generation_bits: u32,
    /// Maximum number of concurrent objects.
    pub limit: usize,
}

struct TableEntry<T> {
    generation: u16,
    /// Number of [holds](HandleTable::hold).
    holds: u16,
    /// The program has freed the handle; the object waits for the holds.
    is_freed: bool,
    object: Option<T>,
}

impl<T> TableEntry<T> {
    /// Returns the object, if its handle is valid.
    fn named(&self) -> Option<&T> {
        self.object.as_ref().filter(|_| !self.is_freed)
    }
}

/// Objects of one kind.
pub struct HandleTable<T> {
    kind: HandleKind,
    entries: Vec<TableEntry<T>>,
    /// All slots before this index are in use.
    first_free: usize,
}

impl<T> HandleTable<T> {
    /// Creates an empty table.
    pub const fn new(kind: HandleKind) -> Self {
        assert!(kind.limit <= 1 << kind.place_bits && kind.generation_bits <= u16::BITS);
        assert!(kind.tag & ((1 << (kind.place_bits + kind.generation_bits)) - 1) == 0);
        HandleTable {
            kind,
            entries: Vec::new(),
            first_free: 0,
        }
    }

    fn handle_at(&self, place: usize) -> c_int {
        let HandleKind { tag, place_bits, .. } = self.kind;
        let generation = self.entries.get(place).map_or(0, |entry| entry.generation);
        tag | c_int::from(generation) << place_bits | place as c_int
    }

    /// Returns the index that `handle` encodes, whether or not the slot contains an object.
    fn place_of(&self, handle: Handle) -> Option<usize> {
        // Most handles are of other kinds or predefined.
        let place = handle.index((1 << self.kind.place_bits) - 1);
        (place < self.entries.len() && Handle::new(self.handle_at(place)) == handle).then_some(place)
    }

    /// Returns the object with handle `handle`.
    pub fn get(&self, handle: c_int) -> Option<&T> {
        self.entries[self.place_of(Handle::new(handle))?].named()
    }

    /// Returns the object with handle `handle` for modification.
    pub fn get_mut(&mut self, handle: impl Into<Handle>) -> Option<&mut T> {
        let place = self.place_of(handle.into())?;
        let entry = &mut self.entries[place];
        entry.object.as_mut().filter(|_| !entry.is_freed)
    }

    /// Returns the object at index `place`, and its handle.
    pub fn at(&mut self, place: usize) -> Option<(c_int, &mut T)> {
        let handle = self.handle_at(place);
        let object = self.entries.get_mut(place)?.object.as_mut()?;
        Some((handle, object))
    }

    /// Adds an object and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
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

    /// Adds an object in an empty slot and returns its handle. Fails like [`HandleTable::add`].
    pub fn add_at(&mut self, place: usize, object: T) -> Result<c_int, Error> {
        let HandleKind { name, limit, .. } = self.kind;
        if place >= limit {
            return Err(Error::Limit { what: name, limit });
        }
        self.prepare(place)?;
        self.entries[place].object = Some(object);
        Ok(self.handle_at(place))
    }

    /// Ensures that [`HandleTable::add_at`] for `place` requires no memory. Fails with [`Error::NoSpace`].
    pub fn prepare(&mut self, place: usize) -> Result<(), Error> {
        let more = (place + 1).saturating_sub(self.entries.len());
        let bytes = more * size_of::<TableEntry<T>>();
        let none = |_| Error::NoSpace { bytes };
        self.entries.try_reserve(more).map_err(none)?;
        let len = self.entries.len() + more;
        self.entries.resize_with(len, || TableEntry {
            generation: 0,
            holds: 0,
            is_freed: false,
            object: None,
        });
        Ok(())
    }

    /// Holds the object with handle `handle`: the handle refers to no other object before the hold ends, and refers to
    /// this one while it is [shown](HandleTable::show), even if the program frees it. Returns false if the handle is invalid
    /// or has too many holds.
    pub fn hold(&mut self, handle: c_int) -> bool {
        if self.get(handle).is_none() {
            return false;
        }
        let holds = self.entry(handle).map(|entry| &mut entry.holds);
        holds.is_some_and(|holds| match holds.checked_add(1) {
            Some(more) => {
                *holds = more;
                true
            }
            None => false,
        })
    }

    /// Ends a hold. Returns the object, if it is freed and this was the last hold.
    pub fn end_hold(&mut self, handle: c_int) -> Option<T> {
        let entry = self.entry(handle)?;
        entry.holds = entry.holds.saturating_sub(1);
        if entry.is_freed && entry.holds == 0 {
            self.take_out(handle)
        } else {
            None
        }
    }

    /// Makes a held handle that the program has freed valid or invalid. Returns whether it was valid.
    pub fn show(&mut self, handle: c_int, is_shown: bool) -> bool {
        let entry = self.entry(handle);
        entry.is_none_or(|entry| !core::mem::replace(&mut entry.is_freed, !is_shown))
    }

    /// Frees the handle. Returns the object unless it is held; `None` for an invalid handle.
    pub fn free(&mut self, handle: c_int) -> Option<Option<T>> {
        self.get(handle)?;
        let entry = self.entry(handle)?;
        if entry.holds > 0 {
            entry.is_freed = true;
            return Some(None);
        }
        self.take_out(handle).map(Some)
    }

    fn entry(&mut self, handle: c_int) -> Option<&mut TableEntry<T>> {
        let place = self.place_of(Handle::new(handle))?;
        Some(&mut self.entries[place])
    }

    /// Removes and returns the object with handle `handle`.
    pub fn remove(&mut self, handle: c_int) -> Option<T> {
        self.get(handle)?;
        self.take_out(handle)
    }

    fn take_out(&mut self, handle: c_int) -> Option<T> {
        let place = self.place_of(Handle::new(handle))?;
        let entry = &mut self.entries[place];
        let object = entry.object.take()?;
        (entry.holds, entry.is_freed) = (0, false);
        entry.generation = (entry.generation + 1) & ((1 << self.kind.generation_bits) - 1) as u16;
        self.first_free = self.first_free.min(place);
        Some(object)
    }

    /// Returns the number of allocated slots.
    pub fn places(&self) -> usize {
        self.entries.len()
    }

    pub fn objects(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(|entry| entry.object.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: HandleKind = HandleKind {
        name: LimitedResource::Groups,
        tag: 0x5500_0000,
        place_bits: 2,
        generation_bits: 3,
        limit: 3,
    };

    #[test]
    fn a_handle_names_its_object_until_that_is_taken_out() {
        let mut table = HandleTable::new(KIND);
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
    fn a_handle_that_is_held_names_no_other_object() {
        let mut table = HandleTable::new(KIND);
        let first = table.add("a").expect("room");
        assert!(table.hold(first) && table.hold(first));
        assert_eq!(table.free(first), Some(None));
        assert_eq!(table.get(first), None);
        assert_eq!(table.free(first), None);
        assert!(!table.hold(first), "it is freed");
        // One per generation: none of them uses the held slot.
        for _ in 0..8 {
            let other = table.add("b").expect("room");
            assert!(other != first && table.get(first).is_none());
            assert_eq!(table.free(other), Some(Some("b")));
        }
        assert!(!table.show(first, true));
        assert_eq!(table.get(first), Some(&"a"));
        assert!(table.show(first, false));
        assert_eq!((table.end_hold(first), table.end_hold(first)), (None, Some("a")));
        assert_eq!(table.get(first), None);
        let again = table.add("c").expect("room");
        assert!(table.hold(again) && table.end_hold(again).is_none());
        assert_eq!(table.free(again), Some(Some("c")));
    }

    #[test]
    fn objects_can_be_put_at_a_place() {
        let mut table = HandleTable::new(KIND);
        let third = table.add_at(2, "c").expect("room");
        assert_eq!(table.at(2), Some((third, &mut "c")));
        assert_eq!(table.at(1), None);
        assert!(table.add_at(3, "d").is_err());
        assert_eq!(table.objects().copied().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn generations_wrap_within_their_bits() {
        let mut table = HandleTable::new(KIND);
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
