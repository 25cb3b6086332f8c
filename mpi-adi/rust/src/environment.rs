//! Start and end, and what a program can ask of where it runs (MPI-3.1 chapter 8).
#![forbid(unsafe_code)]

use alloc::format;
use alloc::rc::Rc;
use alloc::string::{FromUtf8Error, String};
use alloc::vec::Vec;

use super::point_to_point::buffered::Attached;
use super::process::{Here, Phase, ask, phase, start};
use super::topology::SimpleCommunicator;
use midplane_objects::environment as job;
use midplane_objects::process::Env;

/// A program's part in its job, from [`initialize`] on. Dropping it ends the part (MPI_Finalize).
pub struct Universe {
    here: Rc<Here>,
    level: Threading,
}

impl Universe {
    /// All processes of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> SimpleCommunicator {
        SimpleCommunicator::system(&self.here, 0)
    }

    /// How many processes the job can have: as many as it has (MPI_UNIVERSE_SIZE, MPI-3.1 section 10.5.1).
    pub fn size(&self) -> Option<usize> {
        let core = self.world().record.core().ok()?.size();
        Some(core as usize)
    }

    /// Bytes of the buffer for buffered sends.
    pub fn buffer_size(&self) -> usize {
        let attached = self.here.attached.borrow();
        attached
            .as_ref()
            .map_or(0, |attached| attached.room.bytes())
    }

    /// Gives buffered sends a buffer of so many bytes, of the program's heap, in place of the one that they have
    /// (MPI_Buffer_attach, MPI-3.1 section 3.6). Blocks until all messages have left that one. Ends the job when the
    /// heap has no room.
    #[track_caller]
    pub fn set_buffer_size(&mut self, size: usize) {
        self.detach_buffer();
        if size > 0 {
            let function = "mpi::environment::Universe::set_buffer_size (MPI_Buffer_attach)";
            let attached = self.here.or_fatal(function, Attached::new(size));
            *self.here.attached.borrow_mut() = Some(attached);
        }
    }

    /// Takes the buffer for buffered sends away (MPI_Buffer_detach). Blocks until all messages have left it.
    pub fn detach_buffer(&mut self) {
        if let Ok(env) = self.here.env() {
            detach(&self.here, env);
        }
    }

    /// This level of support of threads, as [`initialize_with_threading`] gives it.
    pub fn threading_support(&self) -> Threading {
        self.level
    }
}

fn detach(here: &Here, env: &dyn Env) {
    let attached = here.attached.borrow_mut().take();
    if let Some(mut attached) = attached {
        attached.room.wait_until_empty(env, "MPI_Buffer_detach");
    }
}

impl Drop for Universe {
    /// MPI_Finalize (MPI-3.1 section 8.7): drops the attributes of the communicator of this process alone, and those of that
    /// of all, which may call MPI still; blocks until everything that this process has sent is out of its hands and
    /// all processes have come here. An error ends the job.
    fn drop(&mut self) {
        // While a panic ends the program there is no device.
        if let Ok(env) = self.here.env() {
            SimpleCommunicator::drop_attributes(&self.here);
            detach(&self.here, env);
            self.here.or_fatal("MPI_Finalize", job::finalize(env));
            self.here.set_phase(Phase::After);
        } else {
            self.here.leave();
        }
    }
}

/// Support of threads (MPI-3.1 section 12.4.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Threading {
    /// There is one thread.
    Single,
    /// The thread that started MPI makes all calls.
    Funneled,
    /// One thread at a time makes calls.
    Serialized,
    /// Threads make calls whenever they like. Not supported.
    Multiple,
}

/// Starts MPI (MPI_Init, MPI-3.1 section 8.7). `None`: it has been started before. Does not block.
#[track_caller]
pub fn initialize() -> Option<Universe> {
    initialize_with_threading(Threading::Single).map(|(universe, _)| universe)
}

/// Starts MPI with this support of threads (MPI_Init_thread, MPI-3.1 section 12.4.3); what it has is told beside it, at
/// most [`Threading::Funneled`], since the objects of this binding do not leave their thread. `None`: MPI has been
/// started before. Does not block.
#[track_caller]
pub fn initialize_with_threading(threading: Threading) -> Option<(Universe, Threading)> {
    let here = start()?;
    let function = "mpi::environment::initialize_with_threading (MPI_Init)";
    here.or_fatal(function, SimpleCommunicator::enter_system(&here));
    here.set_phase(Phase::Running);
    let level = threading.min(Threading::Funneled);
    Some((Universe { here, level }, level))
}

/// The support of threads that every program has (MPI_Query_thread).
pub fn threading_support() -> Threading {
    Threading::Funneled
}

/// Whether MPI has been started (MPI_Initialized).
pub fn is_initialized() -> bool {
    phase() != Phase::Before
}

/// Whether MPI has ended (MPI_Finalized).
pub fn is_finalized() -> bool {
    phase() == Phase::After
}

/// The version of the standard: 3 and 1 (MPI_Get_version).
pub fn version() -> (i32, i32) {
    job::VERSION
}

/// The name and version of this library (MPI_Get_library_version). Cannot fail.
pub fn library_version() -> Result<String, FromUtf8Error> {
    String::from_utf8(Vec::from(job::LIBRARY))
}

/// The name of the node that this process runs on: its coordinates on the torus (MPI_Get_processor_name). Cannot fail.
///
/// # Panics
/// When there is no process yet.
pub fn processor_name() -> Result<String, FromUtf8Error> {
    let here = ask(|env| job::here(env)).expect("a process");
    Ok(format!("midplane-{}-{}-{}", here.x, here.y, here.z))
}

/// Seconds since this node started (MPI_Wtime, MPI-3.1 section 8.6); clocks of different nodes are not synchronised.
pub fn time() -> f64 {
    ask(|env| job::now(env)).unwrap_or(0) as f64 / 1e9
}

/// Seconds between two times that differ as little as possible (MPI_Wtick).
pub fn time_resolution() -> f64 {
    ask(|env| job::tick(env)).unwrap_or(1) as f64 / 1e9
}
