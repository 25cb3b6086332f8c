//! What the program reads: our own stdin, for rank 0.
//!
//! It is not touched before the program asks for it: a command in the background of a terminal would be
//! stopped by the attempt.

use crate::run::node::Node;
use midplane_abi::inbox::{CAPACITY, Head};
use rustix::fd::AsFd;
use rustix::io::Errno;

/// How far the input has come.
#[derive(Default)]
pub struct Input {
    /// What the inbox has room for, when it was last looked at.
    head: Option<Head>,
    closed: bool,
    /// Our stdin is somebody else's.
    is_none: bool,
}

impl Input {
    /// No input, whose end rank 0 finds at once.
    pub fn none() -> Self {
        Self {
            is_none: true,
            ..Self::default()
        }
    }

    /// Looks whether rank 0 has room for input.
    pub fn look(&mut self, rank_0: &Node) {
        if !self.closed {
            self.head = rank_0.inbox().filter(|head| head.room > 0);
        }
        if self.is_none && self.head.take().is_some() {
            rank_0.close_inbox();
            self.closed = true;
        }
    }

    /// Whether stdin is to be read when there is something.
    pub fn is_wanted(&self) -> bool {
        !self.closed && self.head.is_some()
    }

    /// Reads once, and passes on what has come. Stdin must have something, or be at its end.
    pub fn pass_on(&mut self, rank_0: &Node, stdin: &impl AsFd) {
        let Some(head) = self.head.take() else { return };
        let mut buffer = [0; CAPACITY as usize];
        // Straight from the descriptor: what a buffer of ours held back, no poll would tell.
        match rustix::io::read(stdin, &mut buffer[..head.room as usize]) {
            Ok(bytes @ 1..) => rank_0.give(head, &buffer[..bytes]),
            Err(Errno::INTR | Errno::AGAIN) => self.head = Some(head),
            Ok(0) | Err(_) => {
                rank_0.close_inbox();
                self.closed = true;
            }
        }
    }
}
