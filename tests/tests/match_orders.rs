//! Exploration of match orders in the simulator: the number of schedules of programs whose orders can be counted by
//! hand, and the results that they lead to.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::Mutex;

use midplane_lab::match_orders::{DecisionObserver, MatchDecision, next_schedule, take_decisions};
use midplane_lab::{Cluster, ExitStatuses, JobFailure, as_program};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Maximum number of runs of a test: more means that the tree is larger than counted.
const MAX_RUNS: usize = 2_000;

/// All schedules of a program.
#[derive(Default)]
struct Explored {
    /// Runs to the end, by their results: an output or a failure.
    results: Vec<String>,
    redundant: usize,
}

impl Explored {
    fn distinct(&self) -> BTreeSet<&str> {
        self.results.iter().map(String::as_str).collect()
    }
}

/// Runs `program` on four processes in all match orders. It returns the text that its process prints.
fn explore(program: impl Fn(&SimpleCommunicator) -> String + Sync) -> Explored {
    explore_on([2, 2, 1], program)
}

fn explore_on(extents: [u16; 3], program: impl Fn(&SimpleCommunicator) -> String + Sync) -> Explored {
    let mut explored = Explored::default();
    let mut planned: Vec<MatchDecision> = Vec::new();
    for _ in 0..MAX_RUNS {
        let printed = Mutex::new(Vec::new());
        let job = Cluster::new(extents)
            .explore(planned.clone(), DecisionObserver::NONE)
            .run(|node| {
                as_program(node, || {
                    let universe: Universe = mpi::initialize().expect("once");
                    let world = universe.world();
                    let text = program(&world);
                    printed.lock().unwrap().push((world.rank(), text));
                });
                0
            });
        match result(job, printed.into_inner().unwrap()) {
            Some(result) => explored.results.push(result),
            None => explored.redundant += 1,
        }
        match next_schedule(&planned, take_decisions()) {
            Some(next) => planned = next,
            None => return explored,
        }
    }
    panic!("more than {MAX_RUNS} runs");
}

/// Returns the result of a run; `None` if it is redundant.
fn result(job: ExitStatuses, mut printed: Vec<(i32, String)>) -> Option<String> {
    printed.sort();
    match job {
        Ok(_) => Some(printed.into_iter().map(|(_, text)| text).collect()),
        Err(JobFailure::Redundant) => None,
        Err(JobFailure::Hang(_)) => Some("hang".into()),
        Err(other) => panic!("{other:?}"),
    }
}

/// Receives a number from any process; returns its source.
fn receive_any(world: &SimpleCommunicator) -> i32 {
    let (_, status) = world.any_process().receive::<i32>();
    status.source_rank()
}

/// Sends a number to a process.
fn send(world: &SimpleCommunicator, dest: i32) {
    world.process_at_rank(dest).send(&world.rank());
}

#[test]
fn three_senders_to_one_receiver_have_six_orders() {
    let explored = explore(|world| match world.rank() {
        0 => (0..3).map(|_| receive_any(world).to_string()).collect(),
        _ => {
            send(world, 0);
            String::new()
        }
    });
    let all = ["123", "132", "213", "231", "312", "321"];
    assert_eq!(explored.results, all, "each order once, in depth-first order");
    assert_eq!(explored.redundant, 0);
}

/// Two messages of each of two senders: the orders are the interleavings, 4! / (2! * 2!).
#[test]
fn messages_of_one_source_stay_in_order() {
    let explored = explore(|world| match world.rank() {
        0 => (0..4).map(|_| receive_any(world).to_string()).collect(),
        1 | 2 => {
            send(world, 0);
            send(world, 0);
            String::new()
        }
        _ => String::new(),
    });
    assert_eq!((explored.results.len(), explored.distinct().len()), (6, 6));
}

#[test]
fn a_program_without_wildcards_has_one_schedule() {
    let explored = explore(|world| {
        let (rank, size) = (world.rank(), world.size());
        send(world, (rank + 1) % size);
        let (number, _) = world.process_at_rank((rank + size - 1) % size).receive::<i32>();
        world.barrier();
        number.to_string()
    });
    assert_eq!(
        (explored.results.as_slice(), explored.redundant),
        (&["3012".to_owned()][..], 0)
    );
}

/// Ranks 0 and 1 each receive from ranks 2 and 3: two orders each, which commute, so four schedules and not eight.
#[test]
fn decisions_of_different_ranks_are_not_permuted() {
    let explored = explore(|world| match world.rank() {
        0 | 1 => (0..2).map(|_| receive_any(world).to_string()).collect(),
        _ => {
            send(world, 0);
            send(world, 1);
            String::new()
        }
    });
    let all = BTreeSet::from(["2323", "2332", "3223", "3232"]);
    assert_eq!((explored.results.len(), explored.distinct()), (4, all));
}

/// Rank 3 sends to rank 0 only after rank 1 has received from it: rank 0 may still match this message first.
#[test]
fn a_message_that_another_decision_leads_to_is_an_alternative() {
    let explored = explore(|world| match world.rank() {
        0 => (0..2).map(|_| receive_any(world).to_string()).collect(),
        1 => {
            let first = receive_any(world);
            let second = receive_any(world);
            send(world, first);
            format!(" {first}{second}")
        }
        2 => {
            send(world, 0);
            send(world, 1);
            String::new()
        }
        _ => {
            send(world, 1);
            String::new()
        }
    });
    // The process that rank 1 answers receives nothing, so only rank 2's message reaches rank 0.
    assert!(explored.distinct().contains("hang"), "{:?}", explored.results);
    let explored = explore(|world| match world.rank() {
        0 => (0..2).map(|_| receive_any(world).to_string()).collect(),
        1 => {
            let first = receive_any(world);
            let second = receive_any(world);
            send(world, 0);
            format!(" {first}{second}")
        }
        2 => {
            send(world, 0);
            send(world, 1);
            String::new()
        }
        _ => {
            send(world, 1);
            String::new()
        }
    });
    let all = BTreeSet::from(["21 23", "21 32", "12 23", "12 32"]);
    assert_eq!((explored.results.len(), explored.distinct()), (4, all));
}

#[test]
fn a_specific_receive_after_a_wildcard_hangs_in_one_order() {
    let explored = explore_on([3, 1, 1], |world| match world.rank() {
        0 => {
            let first = receive_any(world);
            world.process_at_rank(2).receive::<i32>();
            first.to_string()
        }
        _ => {
            send(world, 0);
            String::new()
        }
    });
    assert_eq!(explored.results, ["1", "hang"]);
}

/// A receive with MPI_ANY_SOURCE may match another message than the probe before it.
#[test]
fn a_receive_may_match_another_message_than_the_probe_before() {
    let explored = explore_on([3, 1, 1], |world| match world.rank() {
        0 => {
            let probed = world.any_process().probe().source_rank();
            let first = receive_any(world);
            let second = receive_any(world);
            format!("{probed}{first}{second}")
        }
        _ => {
            send(world, 0);
            String::new()
        }
    });
    let all = BTreeSet::from(["112", "121", "212", "221"]);
    assert_eq!((explored.results.len(), explored.distinct()), (4, all));
}

/// A poll sees nothing or one of the messages, so it has one outcome more than there are messages.
#[test]
fn a_poll_sees_a_message_now_or_later() {
    let explored = explore_on([3, 1, 1], |world| match world.rank() {
        0 => {
            let seen = world.any_process().immediate_probe().map(|status| status.source_rank());
            let order: String = (0..2).map(|_| receive_any(world).to_string()).collect();
            format!("{}{order}", seen.map_or("-".into(), |source| source.to_string()))
        }
        _ => {
            send(world, 0);
            String::new()
        }
    });
    let all = BTreeSet::from(["-12", "-21", "112", "121", "212", "221"]);
    assert_eq!((explored.results.len(), explored.distinct()), (6, all));
}

/// Ranks 0 and 1 probe: their decisions commute, too, and a probe that waits for other messages finds none.
#[test]
fn probes_of_different_ranks_are_not_permuted() {
    let explored = explore(|world| match world.rank() {
        0 | 1 => (0..2)
            .map(|_| {
                let source = world.any_process().probe().source_rank();
                world.process_at_rank(source).receive::<i32>();
                source.to_string()
            })
            .collect(),
        _ => {
            send(world, 0);
            send(world, 1);
            String::new()
        }
    });
    let all = BTreeSet::from(["2323", "2332", "3223", "3232"]);
    assert_eq!((explored.results.len(), explored.distinct()), (4, all));
}

/// A receive matches the first message of its tag, although others of the same source precede it.
#[test]
fn a_message_behind_others_of_its_source_is_an_alternative() {
    let explored = explore_on([3, 1, 1], |world| match world.rank() {
        0 => {
            let first = world.any_process().receive_with_tag::<i32>(7).1.source_rank();
            let second = world.any_process().receive_with_tag::<i32>(7).1.source_rank();
            world.process_at_rank(1).receive_with_tag::<i32>(5);
            format!("{first}{second}")
        }
        1 => {
            world.process_at_rank(0).send_with_tag(&1, 5);
            world.process_at_rank(0).send_with_tag(&1, 7);
            String::new()
        }
        _ => {
            world.process_at_rank(0).send_with_tag(&2, 7);
            String::new()
        }
    });
    assert_eq!(explored.results, ["12", "21"]);
}

/// The number of orders depends neither on the protocol of the messages nor on the call that receives them.
#[test]
fn orders_do_not_depend_on_the_size_of_messages() {
    // Inline, eager, and with rendezvous.
    for numbers in [1, 200, 5_000] {
        for has_barrier in [false, true] {
            let explored = explore(|world| {
                let mut order = String::new();
                let rank = world.rank();
                let data = vec![rank; numbers];
                // Only a buffered message can be sent before a barrier that precedes its receive.
                if has_barrier && (rank == 0 || numbers == 5_000) {
                    world.barrier();
                }
                if rank == 0 {
                    for _ in 0..3 {
                        let (found, _) = world.any_process().receive_vec::<i32>();
                        order += &found[0].to_string();
                    }
                } else {
                    world.process_at_rank(0).send(&data[..]);
                    if has_barrier && numbers != 5_000 {
                        world.barrier();
                    }
                }
                order
            });
            let all = BTreeSet::from(["123", "132", "213", "231", "312", "321"]);
            let place = format!("{numbers} numbers, barrier: {has_barrier}");
            assert_eq!((explored.results.len(), explored.distinct()), (6, all), "{place}");
        }
    }
}
