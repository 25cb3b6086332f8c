//! A borrowed device: what an interrupt has in its hands, for code that otherwise enters the device by a call.
#![forbid(unsafe_code)]

use crate::Adi;
use crate::device::interface::{Borrowed, Enter, Work};
use crate::device::memory::UserMemory;
use crate::mpi::process::{Env, Process};

/// The device and the program's memory. The interrupt makes the steps of progress, so that nothing is polled here.
pub(crate) struct BorrowedDevice<'a> {
    device: Borrowed<'a>,
    process: &'a Process,
}

impl<'a> BorrowedDevice<'a> {
    /// Those of this process.
    pub(crate) fn new(
        adi: &'a mut Adi,
        memory: &'a mut dyn UserMemory,
        process: &'a Process,
    ) -> Self {
        BorrowedDevice {
            device: Borrowed::new(adi, memory),
            process,
        }
    }
}

impl Enter for BorrowedDevice<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.device.enter(work);
    }
}

impl Env for BorrowedDevice<'_> {
    fn process(&self) -> &Process {
        self.process
    }
}
