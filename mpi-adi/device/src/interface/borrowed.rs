//! A device borrowed by an interrupt handler.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use super::enter::{EnterDevice, Work};
use crate::adi::{Adi, HookResult};
use crate::kernel::{AbortReason, CallInfo, Kernel};
use crate::memory::UserMemory;

/// Runs the hook's interrupt function ([`ProgressHook::run_in_interrupt`](crate::ProgressHook::run_in_interrupt)), for
/// a host that already holds the device. Does not block.
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

/// A device borrowed by an interrupt handler, for the operations of the interface.
pub struct BorrowedDevice<'a>(RefCell<(&'a mut Adi, &'a mut dyn UserMemory)>);

impl<'a> BorrowedDevice<'a> {
    /// Creates the borrowed device, with access to the program's memory.
    pub fn new(adi: &'a mut Adi, memory: &'a mut dyn UserMemory) -> Self {
        BorrowedDevice(RefCell::new((adi, memory)))
    }
}

impl EnterDevice for BorrowedDevice<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let (adi, memory) = &mut *self.0.borrow_mut();
        work(adi, &mut WithoutNetwork(*memory));
    }
}

/// Host of a [`BorrowedDevice`]: the interrupt handler itself performs the progress steps.
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

    fn record_call(&mut self, _: Option<CallInfo>) {}

    fn abort(&mut self, _: AbortReason<'_>, _: i32) -> ! {
        unreachable!("interrupts advance collectives, which end no job")
    }
}
