//! Input of the program: the tool's stdin, for rank 0.
//!
//! It is not read before the program requests it, because a read would stop a background command of a terminal.

use crate::run::node::Node;
use midplane_abi::inbox::{CAPACITY, InboxState};
use rustix::fd::AsFd;
use rustix::io::Errno;

/// State of the input.
#[derive(Default)]
pub struct StandardInput {
    /// Free space of the inbox at the last check.
    head: Option<InboxState>,
    closed: bool,
    /// Whether another process uses stdin.
    is_none: bool,
}

impl StandardInput {
    /// Creates an empty input, whose end rank 0 detects on its first read.
    pub fn empty() -> Self {
        Self {
            is_none: true,
            ..Self::default()
        }
    }

    /// Checks whether rank 0 has free space for input.
    pub fn poll_inbox(&mut self, rank_0: &Node) {
        if !self.closed {
            self.head = rank_0.inbox().filter(|head| head.room > 0);
        }
        if self.is_none && self.head.take().is_some() {
            rank_0.close_inbox();
            self.closed = true;
        }
    }

    /// Checks whether stdin is to be polled.
    pub fn is_wanted(&self) -> bool {
        !self.closed && self.head.is_some()
    }

    /// Reads once and forwards the data. Stdin must be readable or at its end.
    pub fn forward_stdin(&mut self, rank_0: &Node, stdin: &impl AsFd) {
        let Some(head) = self.head.take() else { return };
        let mut buffer = [0; CAPACITY as usize];
        // Unbuffered: poll does not report data in a user-space buffer.
        match rustix::io::read(stdin, &mut buffer[..head.room as usize]) {
            Ok(bytes @ 1..) => rank_0.write_input(head, &buffer[..bytes]),
            Err(Errno::INTR | Errno::AGAIN) => self.head = Some(head),
            Ok(0) | Err(_) => {
                rank_0.close_inbox();
                self.closed = true;
            }
        }
    }
}
