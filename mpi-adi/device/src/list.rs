//! Intrusive doubly linked lists: the items store the links, and an index type identifies them.
#![forbid(unsafe_code)]

/// Storage of items that can each be in one list at a time, identified by `I`.
pub trait LinkStorage<I> {
    /// Returns the successor of `at`.
    fn next(&self, at: I) -> Option<I>;
    /// Sets the successor of `at`.
    fn set_next(&mut self, at: I, next: Option<I>);
    /// Sets the predecessor of `at`.
    fn set_prev(&mut self, at: I, prev: Option<I>);
    /// Returns the predecessor and the successor of `at`.
    fn neighbours(&self, at: I) -> (Option<I>, Option<I>);
    /// Sets the predecessor and the successor of `at`.
    fn set_neighbours(&mut self, at: I, prev: Option<I>, next: Option<I>);
}

/// Head and tail of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListEnds<I> {
    head: Option<I>,
    tail: Option<I>,
}

impl<I> Default for ListEnds<I> {
    fn default() -> Self {
        ListEnds { head: None, tail: None }
    }
}

impl<I: Copy> ListEnds<I> {
    /// Returns the first member.
    #[inline]
    pub fn head(&self) -> Option<I> {
        self.head
    }

    /// Returns the last member.
    #[inline]
    pub fn tail(&self) -> Option<I> {
        self.tail
    }

    /// Returns whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Returns the first member that satisfies `is`, and the number of members checked.
    #[inline]
    pub fn find(&self, links: &impl LinkStorage<I>, mut is: impl FnMut(I) -> bool) -> (Option<I>, u32) {
        let mut hops = 0;
        let mut next = self.head;
        while let Some(at) = next {
            hops += 1;
            if is(at) {
                break;
            }
            next = links.next(at);
        }
        (next, hops)
    }

    /// Removes all members before `first`, which is a member; `None`: all members.
    #[inline]
    pub fn cut(&mut self, links: &mut impl LinkStorage<I>, first: Option<I>) {
        self.head = first;
        match first {
            Some(first) => links.set_prev(first, None),
            None => self.tail = None,
        }
    }

    /// Appends `at`, which is in no list.
    #[inline]
    pub fn push(&mut self, links: &mut impl LinkStorage<I>, at: I) {
        links.set_neighbours(at, self.tail, None);
        match self.tail {
            None => self.head = Some(at),
            Some(tail) => links.set_next(tail, Some(at)),
        }
        self.tail = Some(at);
    }

    /// Makes `at` the tail; it is already linked behind the last member.
    #[inline]
    pub fn pushed(&mut self, at: I) {
        self.head = self.head.or(Some(at));
        self.tail = Some(at);
    }

    /// Inserts `at`, which is in no list, behind `after`, or at the head when that is `None`.
    pub fn insert_after(&mut self, links: &mut impl LinkStorage<I>, after: Option<I>, at: I) {
        let next = match after {
            None => self.head,
            Some(after) => links.next(after),
        };
        links.set_neighbours(at, after, next);
        match after {
            None => self.head = Some(at),
            Some(after) => links.set_next(after, Some(at)),
        }
        match next {
            None => self.tail = Some(at),
            Some(next) => links.set_prev(next, Some(at)),
        }
    }

    /// Removes `at`, which is in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut impl LinkStorage<I>, at: I) {
        self.unlink(links, at);
        links.set_neighbours(at, None, None);
    }

    /// Removes `at` without clearing its links, which become invalid; returns its predecessor.
    #[inline]
    pub fn unlink(&mut self, links: &mut impl LinkStorage<I>, at: I) -> Option<I> {
        let (prev, next) = links.neighbours(at);
        match prev {
            None => self.head = next,
            Some(prev) => links.set_next(prev, next),
        }
        match next {
            None => self.tail = prev,
            Some(next) => links.set_prev(next, prev),
        }
        prev
    }
}

/// Head, tail and length of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List<I> {
    ends: ListEnds<I>,
    len: u32,
}

impl<I> Default for List<I> {
    fn default() -> Self {
        List {
            ends: ListEnds::default(),
            len: 0,
        }
    }
}

impl<I: Copy> List<I> {
    /// Returns the first member.
    pub fn head(&self) -> Option<I> {
        self.ends.head
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `at`, which is in no list.
    pub fn push(&mut self, links: &mut impl LinkStorage<I>, at: I) {
        self.ends.push(links, at);
        self.len += 1;
    }

    /// Removes `at`, which is in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut impl LinkStorage<I>, at: I) {
        self.ends.remove(links, at);
        self.len -= 1;
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Moves the first member to the end.
    pub fn rotate(&mut self, links: &mut impl LinkStorage<I>) {
        if let Some(head) = self.head().filter(|_| self.len > 1) {
            self.remove(links, head);
            self.push(links, head);
        }
    }
}
