//! Random legal programs over the real device, for every amount of MPI memory from none to plenty.

use midplane_tests::sim::net::{Capacity, Order};
use midplane_tests::sim::{Job, Plan, Program, Setup};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

fn main_of(seed: u64) -> Result<midplane_tests::sim::Report, midplane_tests::sim::Violation> {
    let mut random = SmallRng::seed_from_u64(seed);
    let r = &mut random;
    let mut plan = Plan::draw(seed);
    if std::env::var("NOPROBE").is_ok() {
        plan.probing = 0.0;
        plan.noise = false;
    }
    let mut program = Program::draw(&plan, seed);
    use midplane_tests::sim::program::Op;
    if std::env::var("NOP").is_ok() {
        for ops in &mut program.ops {
            for op in ops.iter_mut() {
                if let Op::ProbeReceive(r) = *op {
                    *op = Op::CancelReceive(r);
                }
                if let Op::Probe(_) = *op {
                    *op = Op::TestAll;
                }
            }
        }
    }
    if std::env::var("NOC").is_ok() {
        for ops in &mut program.ops {
            for op in ops.iter_mut() {
                if let Op::CancelReceive(r) = *op {
                    *op = Op::Receive(r);
                }
                if let Op::CancelNothing(_) = *op {
                    *op = Op::TestAll;
                }
            }
        }
    }
    if std::env::var("NOI").is_ok() {
        for ops in &mut program.ops {
            for op in ops.iter_mut() {
                if let Op::Probe(_) = *op {
                    *op = Op::TestAll;
                }
            }
        }
    }
    let fifo = |r: &mut SmallRng| *[1, 1, 2, 4, 30].choose(r).unwrap();
    let setup = Setup {
        mpi_memory: *[0, 32, 64, 96, 256, 1024, 65536].choose(r).unwrap(),
        request_slots: usize::MAX,
        capacity: Capacity {
            injection: fifo(r),
            reception: fifo(r),
        },
        order: Order {
            data: r.random_bool(0.3),
        },
        seed,
    };
    Job {
        program: &program,
        setup,
    }
    .run()
}

#[test]
fn seeds() {
    let from: u64 = std::env::var("FROM")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    let count: u64 = std::env::var("COUNT")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(2000);
    let mut bad = 0;
    for seed in from..from + count {
        let result = std::panic::catch_unwind(|| main_of(seed));
        match result {
            Ok(Ok(_)) => {}
            Ok(Err(v)) => {
                bad += 1;
                if bad < 30 {
                    println!("seed {seed}: {v}");
                }
            }
            Err(_) => {
                bad += 1;
                println!("seed {seed}: panic");
            }
        }
    }
    println!("{bad} bad of {count}");
    assert_eq!(bad, 0);
}
