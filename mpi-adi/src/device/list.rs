//! Doubly linked lists over slots that keep the links themselves, named by 32-bit index.
#![forbid(unsafe_code)]

/// The index that names no slot.
pub const NONE: u32 = u32::MAX;

/// Slots that can be in one list at a time.
pub trait Links {
    /// The slot after `index`.
    fn next(&self, index: u32) -> u32;
    /// The slot before `index`.
    fn prev(&self, index: u32) -> u32;
    /// Sets the slot after `index`.
    fn set_next(&mut self, index: u32, next: u32);
    /// Sets the slot before `index`.
    fn set_prev(&mut self, index: u32, prev: u32);
    /// The slots before and after `index`.
    fn neighbours(&self, index: u32) -> (u32, u32);
    /// Sets the slots before and after `index`.
    fn set_neighbours(&mut self, index: u32, prev: u32, next: u32);
}

/// A list's two ends and its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        List {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl List {
    /// The first slot, or [`NONE`].
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Number of slots.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// No slot.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `index`, which is in no list.
    pub fn push(&mut self, slots: &mut impl Links, index: u32) {
        slots.set_neighbours(index, self.tail, NONE);
        match self.tail {
            NONE => self.head = index,
            tail => slots.set_next(tail, index),
        }
        self.tail = index;
        self.len += 1;
    }

    /// The last slot, or [`NONE`].
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Puts `index`, which is in no list, behind `after`, or at the head when that is [`NONE`].
    pub fn insert_after(&mut self, slots: &mut impl Links, after: u32, index: u32) {
        let next = if after == NONE {
            self.head
        } else {
            slots.next(after)
        };
        slots.set_neighbours(index, after, next);
        match after {
            NONE => self.head = index,
            after => slots.set_next(after, index),
        }
        match next {
            NONE => self.tail = index,
            next => slots.set_prev(next, index),
        }
        self.len += 1;
    }

    /// Takes `index` out, which is in this list.
    #[inline]
    pub fn remove(&mut self, slots: &mut impl Links, index: u32) {
        let (prev, next) = slots.neighbours(index);
        match prev {
            NONE => self.head = next,
            prev => slots.set_next(prev, next),
        }
        match next {
            NONE => self.tail = prev,
            next => slots.set_prev(next, prev),
        }
        slots.set_neighbours(index, NONE, NONE);
        self.len -= 1;
    }

    /// Moves the first slot to the end.
    pub fn rotate(&mut self, slots: &mut impl Links) {
        let head = self.head;
        if self.len > 1 {
            self.remove(slots, head);
            self.push(slots, head);
        }
    }
}
