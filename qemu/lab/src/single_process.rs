//! A process without a network, alone in its job, for tests of the C binding's heap use.

use std::fs;
use std::sync::Mutex;
use std::thread;

use midplane_device::envelope::Rank;
use midplane_device::interface::{EnterDevice, Work};
use midplane_device::kernel::{AbortReason, CallInfo, Kernel};
use midplane_device::memory::{RawMemory, UserMemory};
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use midplane_objects::{Env, Process};
use net_torus::Shape;

struct SingleProcess {
    adi: Mutex<Option<Adi>>,
    process: Process,
}

struct NoNetworkHost(RawMemory);

impl Kernel for NoNetworkHost {
    fn poll(&mut self, _: &mut Adi) -> bool {
        false
    }
    fn idle(&mut self) {
        panic!("a call waits");
    }
    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.0
    }
    fn now(&self) -> u64 {
        0
    }
    fn record_call(&mut self, _: Option<CallInfo>) {}
    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        panic!("the job ends with {status}: {why:?}")
    }
}

impl Env for SingleProcess {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl EnterDevice for SingleProcess {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let mut adi = self.adi.lock().expect("no call has failed");
        work(adi.as_mut().expect("started"), &mut NoNetworkHost(RawMemory));
    }
}

static ALONE: SingleProcess = SingleProcess {
    adi: Mutex::new(None),
    process: Process::new(),
};

/// Installs this process as a one-process job, whose first call is then MPI_Init. Must be called once.
///
/// # Panics
/// Without memory.
pub fn install() {
    let config = DeviceConfig {
        shape: Shape::new([1; 3], [true; 3]).expect("a machine"),
        rank: Rank::new(0),
        request_slots: usize::MAX,
    };
    let memory = DeviceMemory::allocate(1024, 1).expect("memory");
    let adi = Adi::new(config, memory).expect("a rank of the machine");
    *ALONE.adi.lock().expect("fresh") = Some(adi);
    midplane_objects::installed::install(&ALONE);
}

/// Waits until all other threads of this process sleep.
///
/// The thread that started a test allocates memory to record it, which a busy machine may delay, and then sleeps until
/// the test ends. A test that measures the allocations of all threads starts after that.
///
/// # Panics
/// When the system provides no thread states.
pub fn until_others_sleep() {
    let own = fs::read_link("/proc/thread-self").expect("a thread");
    let sleeps = |thread: fs::DirEntry| {
        // The state follows the name, which may contain any characters and ends with the last parenthesis.
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        Some(&*thread.file_name()) == own.file_name() || matches!(state, None | Some(b'S'))
    };
    let all_sleep = || {
        let mut threads = fs::read_dir("/proc/self/task").expect("threads");
        threads.all(|thread| thread.is_ok_and(sleeps))
    };
    while !all_sleep() {
        thread::yield_now();
    }
}
