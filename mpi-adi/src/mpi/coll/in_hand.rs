//! A device in hand: what interrupts give, for code that otherwise enters the device by a call.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use crate::Adi;
use crate::device::kernel::{AbortReason, CallNote, Kernel};
use crate::device::memory::UserMemory;
use crate::mpi::process::{Env, Process, Work};

/// The device and the program's memory. Whoever has them goes on with the network, so nothing is polled here.
pub(crate) struct InHand<'a> {
    inside: RefCell<(&'a mut Adi, &'a mut dyn UserMemory)>,
    process: &'a Process,
}

impl<'a> InHand<'a> {
    /// Those of this process.
    pub(crate) fn new(
        adi: &'a mut Adi,
        memory: &'a mut dyn UserMemory,
        process: &'a Process,
    ) -> Self {
        InHand {
            inside: RefCell::new((adi, memory)),
            process,
        }
    }
}

impl Env for InHand<'_> {
    fn with<'f>(&self, f: &'f mut Work<'f>) {
        let (adi, memory) = &mut *self.inside.borrow_mut();
        f(adi, &mut Still(*memory));
    }

    fn process(&self) -> &Process {
        self.process
    }
}

/// A carrier that does nothing.
struct Still<'a>(&'a mut dyn UserMemory);

impl Kernel for Still<'_> {
    fn poll(&mut self, _: &mut Adi) -> bool {
        false
    }

    fn idle(&mut self) {}

    fn memory(&mut self) -> &mut dyn UserMemory {
        self.0
    }

    fn now(&self) -> u64 {
        0
    }

    fn note(&mut self, _: Option<CallNote>) {}

    fn abort(&mut self, _: AbortReason<'_>, _: i32) -> ! {
        unreachable!("no call is made here")
    }
}
