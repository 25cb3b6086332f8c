//! Result and progress of a job.

use midplane_device::kernel::CallInfo;

/// Result of a job: each process's status, by rank.
pub type ExitStatuses = Result<Vec<i32>, JobFailure>;

/// Result of a block of a machine, or of all of it: [`ExitStatuses`] of its own processes. `None`: the first failure
/// occurred in another block.
pub type BlockOutcome = Result<Vec<i32>, Option<JobFailure>>;

/// Reason why a job did not end by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobFailure {
    /// Nothing can move any more; contains the current calls of the processes, by rank.
    Hang(Vec<Option<CallInfo>>),
    /// A process ended the job.
    Abort {
        /// Its rank.
        rank: u32,
        /// Its status.
        status: i32,
        /// Its message.
        message: String,
    },
    /// A process panicked.
    Panic {
        /// Its rank.
        rank: u32,
        /// Its message.
        message: String,
    },
    /// An exploration covers this schedule by others.
    Redundant,
    /// The program does not make the decisions of the schedule that it was to repeat.
    ForeignSchedule,
    /// The watching callback has stopped the job.
    Stopped,
}

/// Progress of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobProgress {
    /// Virtual time in nanoseconds.
    pub now_ns: u64,
    /// Processes whose programs have ended.
    pub ended: usize,
}
