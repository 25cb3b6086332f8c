//! Draws a complete job from one seed: program, machine and schedule. The seed replays it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use midplane_cluster::panic;
use midplane_cluster::random::{Random, Stream};
use midplane_device::matching::EngineChoice;
use midplane_device::{DEFAULT_EAGER_LIMIT, MAX_EAGER_LIMIT};

use super::check::Violation;
use super::job::{Job, Report};
use super::net::{Capacity, Order};
use super::program::{POLLING, Plan, Program};
use super::setup::Setup;

/// Request slots are limited to a multiple of this, a multiple of the pool's growth.
const SLOTS: usize = 32;

/// A job drawn from a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeded {
    /// The program.
    pub program: Program,
    /// Its setup.
    pub setup: Setup,
}

/// Reason of a job's failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It violated a rule.
    Violation(Violation),
    /// The device panicked.
    Panic(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Violation(violation) => violation.fmt(f),
            Failure::Panic(message) => write!(f, "panic: {message}"),
        }
    }
}

impl Seeded {
    /// Draws the job of `seed`.
    pub fn draw(seed: u64) -> Seeded {
        let mut random = Random::new(seed, Stream::Setup);
        let r = &mut random;
        let program = Program::draw(&Plan::draw(seed), seed);
        let fifo = |r: &mut Random| r.pick(&[1, 1, 2, 4, 30]);
        let mpi_memory = [0, 32, 64, 96, 256, 1024, 65_536];
        let setup = Setup {
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
            capacity: Capacity {
                injection: fifo(r),
                reception: fifo(r),
            },
            order: Order {
                data: r.chance(0.3),
            },
            numbers_alike: false,
            seed,
        };
        Seeded { program, setup }
    }

    /// Replaces the matching engine of the devices.
    pub fn with_matching(mut self, matching: EngineChoice) -> Seeded {
        self.setup.matching = matching;
        self
    }

    /// Runs the job. A job with unlimited requests must complete.
    pub fn run(&self) -> Result<Report, Failure> {
        let job = Job {
            program: &self.program,
            setup: self.setup.clone(),
        };
        let report = catch_unwind(AssertUnwindSafe(|| job.run()))
            .map_err(|payload| Failure::Panic(panic::words(payload.as_ref())))?
            .map_err(Failure::Violation)?;
        match report.short.clone() {
            Some(short) if self.setup.request_slots == usize::MAX => {
                Err(Failure::Violation(Violation::Short(short)))
            }
            _ => Ok(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use midplane_device::envelope::{Envelope, Rank};
    use midplane_device::request::SendMode;
    use midplane_objects::coll::driven::What;

    use super::super::op::Op;
    use super::super::program::Message;
    use super::*;

    /// A recorded seed is useful only while it draws the same job.
    #[test]
    fn the_job_of_a_seed_stays_what_it_is() {
        let Seeded { program, setup } = Seeded::draw(2);
        let expected = Setup {
            matching: EngineChoice::default(),
            mpi_memory: 96,
            request_slots: usize::MAX,
            lends: 1000,
            eager: 65_536,
            bad_links: false,
            capacity: Capacity {
                injection: 1,
                reception: 30,
            },
            order: Order { data: false },
            numbers_alike: false,
            seed: 2,
        };
        assert_eq!(setup, expected);
        let first = Message {
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
            Op::Send(9),
            Op::Receive(8),
            Op::Receive(6),
            Op::WaitReceive(6),
            Op::Receive(2),
            Op::WaitReceive(2),
        ];
        assert_eq!(program.ops[0][..begins.len()], begins);
        assert_eq!(program.ops[0].len(), 27);
        let first = &program.collectives[0];
        assert_eq!((program.collectives.len(), first.elements), (4, 1));
        assert_eq!(
            (first.what, first.group.first),
            (What::ReduceScatter, Some(1))
        );
    }
}
