//! Checks that the device's work is linear in the number of messages, not quadratic.
#![forbid(unsafe_code)]

use midplane_engines::EngineChoice;
use midplane_lab::flood::{FloodLoad, TotalWork};
use midplane_lab::timed::{KillerBenchmark, OperationCosts};

fn flood(senders: u32, messages: u32, mpi_memory: usize) -> TotalWork {
    let flood = FloodLoad {
        senders,
        messages,
        bytes: 16,
        mpi_memory,
        matching: EngineChoice::Default,
    };
    flood.run().expect("a flood that ends well")
}

/// The steps per message do not grow with the number of messages, however far it exceeds the memory.
#[test]
fn twice_the_messages_take_twice_the_steps() {
    for (senders, mpi_memory) in [(64, 64 << 10), (64, 0), (4, 1 << 10)] {
        let messages = 40_000 / senders;
        let once = flood(senders, messages, mpi_memory);
        let twice = flood(senders, 2 * messages, mpi_memory);
        let growth = twice.steps() as f64 / once.steps() as f64;
        assert!(once.ncts > 0, "{once:?}");
        assert!((1.5..2.2).contains(&growth), "{growth:.2} times: {once:?}, {twice:?}");
    }
}

/// Measures the cost of scarce memory in the smallest case of the paper's mesh, where it is highest.
#[test]
fn the_killer_takes_at_most_1_6_times_as_long_with_one_record() {
    let run = |mpi_memory| {
        let killer = KillerBenchmark {
            extents: [4, 2, 2],
            messages: 3,
            bytes: 1 << 10,
            mpi_memory,
            costs: OperationCosts::BLUE_GENE,
        };
        killer.run().expect("a run that ends well")
    };
    let (scarce, ample) = (run(32), run(1 << 20));
    let overhead = scarce.ns as f64 / ample.ns as f64;
    assert!(scarce.restarts > 0 && ample.restarts == 0);
    assert!((1.0..1.6).contains(&overhead), "{overhead:.2}");
    // The simulation is deterministic without a seed.
    assert_eq!(run(32), scarce);
}
