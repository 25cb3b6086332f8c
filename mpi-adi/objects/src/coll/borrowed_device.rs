//! A borrowed device: what an interrupt has in its hands, for code that otherwise enters the device by a call.
#![forbid(unsafe_code)]

use crate::process::{Env, Process};
use midplane_device::Adi;
use midplane_device::interface::{BorrowedDevice, Enter, Work};
use midplane_device::memory::UserMemory;

/// The device and the program's memory. The interrupt makes the steps of progress, so that nothing is polled here.
pub struct BorrowedEnv<'a> {
    device: BorrowedDevice<'a>,
    process: &'a Process,
}

impl<'a> BorrowedEnv<'a> {
    /// Those of this process.
    pub fn new(adi: &'a mut Adi, memory: &'a mut dyn UserMemory, process: &'a Process) -> Self {
        BorrowedEnv {
            device: BorrowedDevice::new(adi, memory),
            process,
        }
    }
}

impl Enter for BorrowedEnv<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.device.enter(work);
    }
}

impl Env for BorrowedEnv<'_> {
    fn process(&self) -> &Process {
        self.process
    }
}
