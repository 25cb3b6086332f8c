//! Handles of objects that the program makes: one kind of table for all kinds of objects.
//!
//! A handle has the kind's bits at the top, then the generation of a place in the table, and the place at the
//! bottom. Taking an object out gives its place the next generation, so that its handle names nothing any
//! more. The table is in the program's heap and grows when an object is added, to the kind's limit.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ffi::c_int;

use midplane_objects::error::{Error, Limited};

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
    /// How many have taken a [hold](Table::hold).
    holds: u16,
    /// The program has freed the handle, which waits for those.
    is_freed: bool,
    object: Option<T>,
}

impl<T> Entry<T> {
    /// The object, if the handle names it.
    fn named(&self) -> Option<&T> {
        self.object.as_ref().filter(|_| !self.is_freed)
    }
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
        self.entries[self.place_of(handle)?].named()
    }

    /// As [`Table::get`], to change it.
    pub fn get_mut(&mut self, handle: c_int) -> Option<&mut T> {
        let place = self.place_of(handle)?;
        let entry = &mut self.entries[place];
        entry.object.as_mut().filter(|_| !entry.is_freed)
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
            holds: 0,
            is_freed: false,
            object: None,
        });
        Ok(())
    }

    /// Holds the object that `handle` names: the handle will name no other one before the hold has ended, and names this
    /// one while it is [shown](Table::show), although the program frees it. False: it names none, or too many hold it.
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

    /// Ends a hold; the object, if it is freed and this was the last.
    pub fn end_hold(&mut self, handle: c_int) -> Option<T> {
        let entry = self.entry(handle)?;
        entry.holds = entry.holds.saturating_sub(1);
        match entry.is_freed && entry.holds == 0 {
            true => self.take_out(handle),
            false => None,
        }
    }

    /// Whether a handle that is held and that the program has freed names its object from now on; whether it did.
    pub fn show(&mut self, handle: c_int, is_shown: bool) -> bool {
        let entry = self.entry(handle);
        entry.is_none_or(|entry| !core::mem::replace(&mut entry.is_freed, !is_shown))
    }

    /// Frees the handle, which names nothing any more. The object, unless it is held; `None`: it names none.
    pub fn free(&mut self, handle: c_int) -> Option<Option<T>> {
        self.get(handle)?;
        let entry = self.entry(handle)?;
        if entry.holds > 0 {
            entry.is_freed = true;
            return Some(None);
        }
        self.take_out(handle).map(Some)
    }

    fn entry(&mut self, handle: c_int) -> Option<&mut Entry<T>> {
        let place = self.place_of(handle)?;
        Some(&mut self.entries[place])
    }

    /// Takes out the object that `handle` names.
    pub fn remove(&mut self, handle: c_int) -> Option<T> {
        self.get(handle)?;
        self.take_out(handle)
    }

    fn take_out(&mut self, handle: c_int) -> Option<T> {
        let place = self.place_of(handle)?;
        let entry = &mut self.entries[place];
        let object = entry.object.take()?;
        (entry.holds, entry.is_freed) = (0, false);
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
    fn a_handle_that_is_held_names_no_other_object() {
        let mut table = Table::new(KIND);
        let first = table.add("a").expect("room");
        assert!(table.hold(first) && table.hold(first));
        assert_eq!(table.free(first), Some(None));
        assert_eq!(table.get(first), None);
        assert_eq!(table.free(first), None);
        assert!(!table.hold(first), "it is freed");
        // As many as there are generations: none of them has its place.
        for _ in 0..8 {
            let other = table.add("b").expect("room");
            assert!(other != first && table.get(first).is_none());
            assert_eq!(table.free(other), Some(Some("b")));
        }
        assert!(!table.show(first, true));
        assert_eq!(table.get(first), Some(&"a"));
        assert!(table.show(first, false));
        assert_eq!(
            (table.end_hold(first), table.end_hold(first)),
            (None, Some("a"))
        );
        assert_eq!(table.get(first), None);
        let again = table.add("c").expect("room");
        assert!(table.hold(again) && table.end_hold(again).is_none());
        assert_eq!(table.free(again), Some(Some("c")));
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
