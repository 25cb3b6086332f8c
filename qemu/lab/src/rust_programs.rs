//! Programs of the Rust binding in the simulator: each finds its process by the currently running one.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use midplane_objects::Env;
use midplane_rust::process::{HostedProcess, run_hosted, set_finder};

use midplane_cluster::fast_path::FastNode;
use midplane_cluster::{SimProcess, running};

thread_local! {
    /// By rank: the processes of the cluster in this thread.
    static CARRIED: RefCell<BTreeMap<usize, HostedProcess>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the process of the calling program.
fn find() -> Option<HostedProcess> {
    let rank = running()?;
    CARRIED.with_borrow(|carried| carried.get(&rank).cloned())
}

/// Guard that keeps the process registered.
struct RegistrationGuard(usize);

impl RegistrationGuard {
    fn new(rank: usize, carried: HostedProcess) -> RegistrationGuard {
        CARRIED.with_borrow_mut(|all| all.insert(rank, carried));
        RegistrationGuard(rank)
    }
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        let carried = CARRIED.with_borrow_mut(|all| all.remove(&self.0));
        drop(carried);
    }
}

/// Runs `program`, which begins with `mpi::initialize()`, as the process `node`.
pub fn as_program<R>(node: &SimProcess<'_, '_>, program: impl FnOnce() -> R) -> R {
    as_program_in(node, node.rank() as usize, program)
}

/// Runs `program` as [`as_program`] does, with the fast path of messages.
pub fn as_fast_program<R>(node: &SimProcess<'_, '_>, program: impl FnOnce() -> R) -> R {
    as_program_in(&FastNode(node), node.rank() as usize, program)
}

fn as_program_in<R>(env: &dyn Env, rank: usize, program: impl FnOnce() -> R) -> R {
    set_finder(find);
    run_hosted(env, std::thread::panicking, |carried| {
        let _found = RegistrationGuard::new(rank, carried);
        program()
    })
}

#[cfg(test)]
mod tests {
    use midplane_rust::collective::SystemOperation;
    use midplane_rust::point_to_point::send_receive_into_with_tags;
    use midplane_rust::traits::*;
    use midplane_rust::{Rank, initialize};

    use midplane_cluster::{Cluster, ExitStatuses, JobFailure, OperationCosts, SimProcess};

    use super::as_program;

    /// What a process has received, and when.
    #[derive(Default)]
    struct ReceiptDigest(u64);

    impl ReceiptDigest {
        fn add(&mut self, word: u64) {
            self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Messages of all lengths to near and far, collectives, and time in between. Its status is the digest.
    fn trade(node: &SimProcess<'_, '_>, seed: u64) -> i32 {
        as_program(node, || trade_in_program(node, seed))
    }

    fn trade_in_program(node: &SimProcess<'_, '_>, seed: u64) -> i32 {
        let universe = initialize().expect("once");
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        let len = |rank: Rank, round: Rank| (rank * 137 + round * 91) as usize % 700;
        let mut digest = ReceiptDigest::default();
        for round in 1..12 {
            let distance = (round * 5 + seed as Rank) % size;
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            let mut got = vec![0_u8; len(from, round)];
            let given = vec![rank as u8; len(rank, round)];
            let [to, from] = [to, from].map(|rank| world.process_at_rank(rank));
            send_receive_into_with_tags(&given, &to, 1, &mut got, &from, 1);
            digest.add(node.now_ns());
            got.iter().for_each(|&byte| digest.add(byte.into()));
            node.compute_ns((rank * 77 + round) as u64 % 900);
            let mut sum = [0_u64];
            if round % 4 == 0 {
                world.all_reduce_into(&[digest.0 >> 8], &mut sum, SystemOperation::max());
                world.barrier();
            }
            digest.add(sum[0] ^ node.now_ns());
        }
        digest.0 as i32
    }

    /// All processes meet.
    fn barrier(node: &SimProcess<'_, '_>) {
        as_program(node, || initialize().expect("once").world().barrier());
    }

    /// Statuses and all that nodes have counted.
    fn trace(
        extents: [u16; 3],
        seed: u64,
        processors: usize,
        program: impl Fn(&SimProcess<'_, '_>) -> i32 + Sync,
    ) -> (ExitStatuses, String) {
        let cluster = Cluster::new(extents)
            .mpi_memory(1 << 10)
            .costs(OperationCosts::BLUE_GENE)
            .seed(seed)
            .processors(processors);
        let (statuses, reports) = cluster.run_and_report(program);
        (statuses, format!("{reports:?}"))
    }

    #[test]
    fn the_trace_is_the_same_on_any_number_of_processors() {
        for extents in [[2, 1, 1], [5, 1, 1], [3, 2, 1], [4, 3, 2], [1, 2, 9]] {
            for seed in 0..3 {
                let run = |processors| trace(extents, seed, processors, |node| trade(node, seed));
                let one = run(1);
                assert!(one.0.is_ok(), "{:?}", one.0);
                for processors in [2, 3] {
                    assert!(run(processors) == one, "{extents:?} {seed} {processors}");
                }
            }
        }
    }

    /// Two processes give up at nearly the same time, in different blocks.
    #[test]
    fn what_fails_first_in_virtual_time_ends_the_job() {
        let program = |node: &SimProcess<'_, '_>| {
            match node.rank() {
                1 => node.compute_ns(5_050),
                7 => node.compute_ns(5_000),
                _ => barrier(node),
            }
            panic!("enough");
        };
        let (one, _) = trace([2, 2, 2], 0, 1, program);
        assert!(matches!(&one, Err(JobFailure::Panic { .. })), "{one:?}");
        for processors in [2, 3] {
            assert_eq!(trace([2, 2, 2], 0, processors, program).0, one);
        }
    }

    #[test]
    fn all_who_wait_for_ever_are_told_on_any_number_of_processors() {
        let program = |node: &SimProcess<'_, '_>| {
            if node.rank() != 4 {
                barrier(node);
            }
            0
        };
        let (one, _) = trace([3, 2, 1], 0, 1, program);
        assert!(matches!(&one, Err(JobFailure::Hang(calls)) if calls.len() == 6));
        for processors in [2, 3] {
            assert_eq!(trace([3, 2, 1], 0, processors, program).0, one);
        }
    }
}
