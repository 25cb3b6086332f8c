//! A device that an interrupt has in its hands.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use super::enter::{Enter, Work};
use crate::adi::{Adi, HookResult};
use crate::kernel::{AbortReason, CallNote, Kernel};
use crate::memory::UserMemory;

/// Runs the hook's part for interrupts ([`ProgressHook::run_in_interrupt`](crate::ProgressHook::run_in_interrupt)), for
/// a host that has the device already. Does not block.
pub fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    let Some(run) = adi.interrupt_hook() else {
        return HookResult::Idle;
    };
    let result = run(adi, memory);
    if result == HookResult::Advanced {
        adi.count_events(1);
    }
    result
}

/// A device that an interrupt has in its hands, for operations.
pub struct BorrowedDevice<'a>(RefCell<(&'a mut Adi, &'a mut dyn UserMemory)>);

impl<'a> BorrowedDevice<'a> {
    /// This device, and the program's memory.
    pub fn new(adi: &'a mut Adi, memory: &'a mut dyn UserMemory) -> Self {
        BorrowedDevice(RefCell::new((adi, memory)))
    }
}

impl Enter for BorrowedDevice<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let (adi, memory) = &mut *self.0.borrow_mut();
        work(adi, &mut WithoutNetwork(*memory));
    }
}

/// The kernel of a [`BorrowedDevice`]: the interrupt itself makes the steps of progress.
struct WithoutNetwork<'a>(&'a mut dyn UserMemory);

impl Kernel for WithoutNetwork<'_> {
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
        unreachable!("interrupts advance collectives, which end no job")
    }
}
