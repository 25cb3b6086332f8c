//! What a job ends with, and how far it is.

use midplane_device::kernel::CallNote;

/// What a job ended with: each process's status, by rank.
pub type Statuses = Result<Vec<i32>, Failure>;

/// What a block of a machine, or all of it, ended with: as [`Statuses`], of its own processes. `None`: what failed first
/// failed in another block.
pub type Ended = Result<Vec<i32>, Option<Failure>>;

/// Why a job did not end by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing can move any more; the calls that the processes are in, by rank.
    Hang(Vec<Option<CallNote>>),
    /// A process ended the job.
    Abort {
        /// Which.
        rank: u32,
        /// With which status.
        status: i32,
        /// With which words.
        message: String,
    },
    /// A process panicked.
    Panic {
        /// Which.
        rank: u32,
        /// With which words.
        message: String,
    },
    /// What watched the job has stopped it.
    Stopped,
}

/// How far a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watched {
    /// Virtual time in nanoseconds.
    pub now_ns: u64,
    /// Processes whose programs have ended.
    pub ended: usize,
}
