//! Environment for an interrupt handler that has already borrowed the device, for code that otherwise enters the
//! device.
#![forbid(unsafe_code)]

use crate::process::{Env, Process};
use midplane_device::Adi;
use midplane_device::interface::{BorrowedDevice, EnterDevice, Work};
use midplane_device::memory::UserMemory;

/// The device and the program's memory. Nothing is polled here, because the interrupt handler runs the progress engine.
pub struct BorrowedEnv<'a> {
    device: BorrowedDevice<'a>,
    process: &'a Process,
}

impl<'a> BorrowedEnv<'a> {
    /// Borrows the device and the memory of this process.
    pub fn new(adi: &'a mut Adi, memory: &'a mut dyn UserMemory, process: &'a Process) -> Self {
        BorrowedEnv {
            device: BorrowedDevice::new(adi, memory),
            process,
        }
    }
}

impl EnterDevice for BorrowedEnv<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.device.enter(work);
    }
}

impl Env for BorrowedEnv<'_> {
    fn process(&self) -> &Process {
        self.process
    }
}
