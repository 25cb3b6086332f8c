//! Doubly linked lists over things that keep the links themselves, named by a type of their own.
#![forbid(unsafe_code)]

/// What can be in one list at a time, named by `I`.
pub trait Links<I> {
    /// What comes after `at`.
    fn next(&self, at: I) -> Option<I>;
    /// Sets what comes after `at`.
    fn set_next(&mut self, at: I, next: Option<I>);
    /// Sets what comes before `at`.
    fn set_prev(&mut self, at: I, prev: Option<I>);
    /// What comes before and after `at`.
    fn neighbours(&self, at: I) -> (Option<I>, Option<I>);
    /// Sets what comes before and after `at`.
    fn set_neighbours(&mut self, at: I, prev: Option<I>, next: Option<I>);
}

/// A list's two ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ends<I> {
    head: Option<I>,
    tail: Option<I>,
}

impl<I> Default for Ends<I> {
    fn default() -> Self {
        Ends {
            head: None,
            tail: None,
        }
    }
}

impl<I: Copy> Ends<I> {
    /// The first member.
    #[inline]
    pub fn head(&self) -> Option<I> {
        self.head
    }

    /// The last member.
    #[inline]
    pub fn tail(&self) -> Option<I> {
        self.tail
    }

    /// No member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The first member of which `is` is true, and how many have been looked at.
    #[inline]
    pub fn find(&self, links: &impl Links<I>, mut is: impl FnMut(I) -> bool) -> (Option<I>, u32) {
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

    /// Lets go of all members before `first`, which is one of them; `None`: of all.
    #[inline]
    pub fn cut(&mut self, links: &mut impl Links<I>, first: Option<I>) {
        self.head = first;
        match first {
            Some(first) => links.set_prev(first, None),
            None => self.tail = None,
        }
    }

    /// Appends `at`, which is in no list.
    #[inline]
    pub fn push(&mut self, links: &mut impl Links<I>, at: I) {
        links.set_neighbours(at, self.tail, None);
        match self.tail {
            None => self.head = Some(at),
            Some(tail) => links.set_next(tail, Some(at)),
        }
        self.tail = Some(at);
    }

    /// `at` comes behind the last member, to which it is linked already.
    #[inline]
    pub fn pushed(&mut self, at: I) {
        self.head = self.head.or(Some(at));
        self.tail = Some(at);
    }

    /// Puts `at`, which is in no list, behind `after`, or at the head when that is `None`.
    pub fn insert_after(&mut self, links: &mut impl Links<I>, after: Option<I>, at: I) {
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

    /// Takes `at` out, which is in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut impl Links<I>, at: I) {
        self.unlink(links, at);
        links.set_neighbours(at, None, None);
    }

    /// As [`Ends::remove`], but `at` keeps its links, which mean nothing any more; what was before it.
    #[inline]
    pub fn unlink(&mut self, links: &mut impl Links<I>, at: I) -> Option<I> {
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

/// A list's two ends and its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List<I> {
    ends: Ends<I>,
    len: u32,
}

impl<I> Default for List<I> {
    fn default() -> Self {
        List {
            ends: Ends::default(),
            len: 0,
        }
    }
}

impl<I: Copy> List<I> {
    /// The first member.
    pub fn head(&self) -> Option<I> {
        self.ends.head
    }

    /// No member.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `at`, which is in no list.
    pub fn push(&mut self, links: &mut impl Links<I>, at: I) {
        self.ends.push(links, at);
        self.len += 1;
    }

    /// Takes `at` out, which is in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut impl Links<I>, at: I) {
        self.ends.remove(links, at);
        self.len -= 1;
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Moves the first member to the end.
    pub fn rotate(&mut self, links: &mut impl Links<I>) {
        if let Some(head) = self.head().filter(|_| self.len > 1) {
            self.remove(links, head);
            self.push(links, head);
        }
    }
}
