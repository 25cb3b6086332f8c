//! Draws a complete job from one seed: program, machine and schedule. The seed replays it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use midplane_cluster::panic;
use midplane_cluster::random::{Random, RandomStream};
use midplane_device::{DEFAULT_EAGER_LIMIT, MAX_EAGER_LIMIT};
use midplane_engines::EngineChoice;

use super::check::Violation;
use super::job::{JobReport, SimJob};
use super::net::{FifoCapacity, OrderRules};
use super::program::{POLLING, ProgramPlan, RankPrograms};
use super::setup::JobSetup;

/// Request slots are limited to a multiple of this, a multiple of the pool's growth.
const SLOTS: usize = 32;

/// A job drawn from a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededJob {
    /// The program.
    pub program: RankPrograms,
    /// Its setup.
    pub setup: JobSetup,
}

/// Reason of a job's failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobFailure {
    /// It violated a rule.
    Violation(Violation),
    /// The device panicked.
    Panic(String),
}

impl fmt::Display for JobFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobFailure::Violation(violation) => violation.fmt(f),
            JobFailure::Panic(message) => write!(f, "panic: {message}"),
        }
    }
}

impl SeededJob {
    /// Draws the job of `seed`.
    pub fn draw(seed: u64) -> SeededJob {
        let mut random = Random::new(seed, RandomStream::Setup);
        let r = &mut random;
        let program = RankPrograms::draw(&ProgramPlan::draw(seed), seed);
        let fifo = |r: &mut Random| r.pick(&[1, 1, 2, 4, 30]);
        let mpi_memory = [0, 32, 64, 96, 256, 1024, 65_536];
        let setup = JobSetup {
            matching: EngineChoice::default(),
            mpi_memory: r.pick(&mpi_memory),
            // A polling program never stops, so neither would one that lacks slots.
            request_slots: match r.chance(0.1).then(|| r.index(4) * SLOTS) {
                Some(slots) if seed & POLLING == 0 => slots,
                _ => usize::MAX,
            },
            lends: r.pick(&[0, 0, 0, 1, 4, 100, 1000]),
            eager: r.pick(&[0, 300, 600, DEFAULT_EAGER_LIMIT, MAX_EAGER_LIMIT]),
            bad_links: r.chance(0.1),
            capacity: FifoCapacity {
                injection: fifo(r),
                reception: fifo(r),
            },
            order: OrderRules { data: r.chance(0.3) },
            numbers_alike: false,
            seed,
        };
        SeededJob { program, setup }
    }

    /// Replaces the matching engine of the devices.
    pub fn with_matching(mut self, matching: EngineChoice) -> SeededJob {
        self.setup.matching = matching;
        self
    }

    /// Runs the job. A job with unlimited requests must complete.
    pub fn run(&self) -> Result<JobReport, JobFailure> {
        let job = SimJob {
            program: &self.program,
            setup: self.setup.clone(),
        };
        let report = catch_unwind(AssertUnwindSafe(|| job.run()))
            .map_err(|payload| JobFailure::Panic(panic::words(payload.as_ref())))?
            .map_err(JobFailure::Violation)?;
        match report.short.clone() {
            Some(short) if self.setup.request_slots == usize::MAX => {
                Err(JobFailure::Violation(Violation::Short(short)))
            }
            _ => Ok(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use midplane_device::envelope::{Envelope, Rank};
    use midplane_device::request::SendMode;
    use midplane_objects::coll::sim_driver::CollectiveKind;

    use super::super::op::RankOp;
    use super::super::program::ProgramMessage;
    use super::*;

    /// A recorded seed is useful only while it draws the same job.
    #[test]
    fn the_job_of_a_seed_stays_what_it_is() {
        let SeededJob { program, setup } = SeededJob::draw(2);
        let expected = JobSetup {
            matching: EngineChoice::default(),
            mpi_memory: 96,
            request_slots: usize::MAX,
            lends: 1000,
            eager: 65_536,
            bad_links: false,
            capacity: FifoCapacity {
                injection: 1,
                reception: 30,
            },
            order: OrderRules { data: false },
            numbers_alike: false,
            seed: 2,
        };
        assert_eq!(setup, expected);
        let first = ProgramMessage {
            envelope: Envelope {
                source: Rank::new(3),
                tag: 1,
                context: 0,
            },
            dest: Rank::new(0),
            len: 225,
            mode: SendMode::Synchronous,
        };
        assert_eq!((program.messages.len(), &program.messages[0]), (12, &first));
        let begins = [
            RankOp::Send(9),
            RankOp::Receive(8),
            RankOp::Receive(6),
            RankOp::WaitReceive(6),
            RankOp::Receive(2),
            RankOp::WaitReceive(2),
        ];
        assert_eq!(program.ops[0][..begins.len()], begins);
        assert_eq!(program.ops[0].len(), 27);
        let first = &program.collectives[0];
        assert_eq!((program.collectives.len(), first.elements), (4, 1));
        assert_eq!(
            (first.what, first.group.first),
            (CollectiveKind::ReduceScatter, Some(1))
        );
    }
}
