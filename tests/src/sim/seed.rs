//! From one seed, a whole job: program, machine and schedule. The seed replays it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mpi_adi::{DEFAULT_EAGER_LIMIT, GREATEST_EAGER_LIMIT};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::check::Violation;
use super::job::{Job, Report, Setup};
use super::net::{Capacity, Order};
use super::program::{Plan, Program};
use crate::panic;

/// Request slots are bounded to a multiple of this, a multiple of what the pool grows by.
const SLOTS: usize = 32;

/// A job drawn from a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeded {
    /// What is run.
    pub program: Program,
    /// How.
    pub setup: Setup,
}

/// Why a job failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It did what it must not do.
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
    /// The job of `seed`.
    pub fn draw(seed: u64) -> Seeded {
        let mut random = SmallRng::seed_from_u64(seed);
        let r = &mut random;
        let program = Program::draw(&Plan::draw(seed), seed);
        let fifo = |r: &mut SmallRng| *[1, 1, 2, 4, 30].choose(r).expect("capacities");
        let mpi_memory = [0, 32, 64, 96, 256, 1024, 65_536];
        let setup = Setup {
            mpi_memory: *mpi_memory.choose(r).expect("sizes"),
            request_slots: if r.random_bool(0.1) {
                r.random_range(0..4) * SLOTS
            } else {
                usize::MAX
            },
            lends: *[0, 0, 0, 1, 4, 100, 1000].choose(r).expect("sizes"),
            eager: *[0, 300, 600, DEFAULT_EAGER_LIMIT, GREATEST_EAGER_LIMIT]
                .choose(r)
                .expect("sizes"),
            bad_links: r.random_bool(0.1),
            capacity: Capacity {
                injection: fifo(r),
                reception: fifo(r),
            },
            order: Order {
                data: r.random_bool(0.3),
            },
            seed,
        };
        Seeded { program, setup }
    }

    /// Runs it. A job whose requests have no bound must complete.
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
