//! Tests the Rust binding and the collectives with the complete stack, on clusters of every small shape, with MPI
//! memory from one record to plenty.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use midplane_lab::timed::OperationCosts;
use midplane_lab::{Cluster, ExitStatuses, JobFailure, SimProcess};
use midplane_lab::{as_fast_program, as_program};
use mpi::collective::{SystemOperation, UserOperation};
use mpi::datatype::{AnyBuffer, AnyBufferMut, Partition, PartitionMut, UserDatatype, View};
use mpi::environment::Universe;
use mpi::info::Info;
use mpi::point_to_point::{Status, send_receive_into_with_tags};
use mpi::request::{CancelGuard, GeneralizedOperation, WaitGuard, start_generalized};
use mpi::topology::{
    Color, CommunicatorRelation, DistributedGraphCommunicator, InterCommunicator, IntoTopology, MergeOrder, Process,
    SimpleCommunicator, Topology, dims_create,
};
use mpi::traits::*;
use mpi::{Error, Rank, Tag};

std::thread_local! {
    /// Output of the attributes of the process that ran last on this thread.
    static SAID: RefCell<Rc<RefCell<String>>> = RefCell::default();
}

const SHAPES: [[u16; 3]; 6] = [[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [5, 1, 1], [2, 2, 2]];

/// Runs `program` as a process, from start to end.
fn run(node: &SimProcess<'_, '_>, program: impl FnOnce(&Universe) -> i32) -> i32 {
    as_program(node, || program(&mpi::initialize().expect("once")))
}

/// Runs `program` on every shape with different seeds and amounts of memory; it must succeed everywhere.
fn everywhere(program: impl Fn(&Universe) + Sync) {
    for (i, shape) in SHAPES.into_iter().enumerate() {
        for (j, memory) in [32, 256, 65536].into_iter().enumerate() {
            let seed = (i * 3 + j) as u64;
            let nodes = shape.iter().map(|extent| usize::from(*extent)).product();
            let cluster = Cluster::new(shape).seed(seed).mpi_memory(memory);
            let whole = || {
                program(&mpi::initialize().expect("once"));
                0
            };
            let job: ExitStatuses = cluster.run(|node| as_program(node, whole));
            let fast: ExitStatuses = cluster.run(|node| as_fast_program(node, whole));
            let place = format!("shape {shape:?}, {memory} bytes, seed {seed}");
            assert_eq!(job, Ok(vec![0; nodes]), "{place}");
            assert_eq!(fast, Ok(vec![0; nodes]), "{place}, on the fast path");
        }
    }
}

fn neighbours(world: &impl Communicator) -> [Process<'_>; 2] {
    let (rank, size) = (world.rank(), world.size());
    [(rank + 1) % size, (rank + size - 1) % size].map(|rank| world.process_at_rank(rank))
}

/// Returns the value of `rank` at index `i`.
fn value(rank: Rank, i: usize) -> u64 {
    rank as u64 * 1000 + i as u64 + 1
}

#[test]
fn a_ring_of_exchanges_hands_on_what_it_got() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        for len in [0, 1, 30, 31, 300, 5000] {
            let mine: Vec<u64> = (0..len).map(|i| value(world.rank(), i)).collect();
            let mut got = vec![0u64; len + 1];
            let status = send_receive_into_with_tags(&mine, &right, 7, &mut got, &left, 7);
            assert_eq!((status.source_rank(), status.tag()), (left.rank(), 7));
            assert_eq!(status.count(u64::equivalent_datatype()), len as i32);
            let expected: Vec<u64> = (0..len).map(|i| value(left.rank(), i)).collect();
            assert_eq!(&got[..len], expected);
            assert_eq!(got[len], 0, "nothing behind the message");
        }
    });
}

#[test]
fn requests_in_a_scope_borrow_and_give_back() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let out: Vec<Vec<i32>> = (0..6).map(|i| vec![world.rank() * 10 + i; 100 * i as usize]).collect();
        let mut into: Vec<Vec<i32>> = (0..6).map(|i| vec![0; 100 * i + 5]).collect();
        mpi::request::scope(|scope| {
            // Received in reverse order; the scope completes the sends, which are dropped or forgotten.
            for (i, data) in out.iter().enumerate() {
                let request = right.immediate_send_with_tag(scope, data, i as Tag);
                match i % 2 {
                    0 => drop(request),
                    _ => std::mem::forget(request),
                }
            }
            for (i, buffer) in into.iter_mut().enumerate().rev() {
                let request = left.immediate_receive_into_with_tag(scope, buffer, i as Tag);
                if i % 2 == 0 {
                    let buffer = request.wait_for_data();
                    let first = &buffer[..100 * i];
                    assert!(first.iter().all(|x| *x == left.rank() * 10 + i as i32));
                }
            }
        });
        for (i, buffer) in into.iter().enumerate() {
            let (first, rest) = buffer.split_at(100 * i);
            assert!(first.iter().all(|x| *x == left.rank() * 10 + i as i32));
            assert!(rest.iter().all(|x| *x == 0));
        }
    });
}

#[test]
fn persistent_messages_go_round_as_often_as_they_are_started() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let (rank, size) = (world.rank(), world.size());
        for len in [0, 1, 40, 3000] {
            let mut send = right.send_init_with_tag(vec![rank; len], 5);
            let mut receive = left.receive_init_with_tag(vec![-1; len], 5);
            for round in 1..=size {
                mpi::request::scope(|scope| {
                    // Completed by the scope, or inside it.
                    let (got, gone) = (receive.start(scope), send.start(scope));
                    if round % 2 == 0 {
                        assert_eq!(got.wait().source_rank(), left.rank());
                        drop(gone);
                    }
                });
                let came_from = (rank - round).rem_euclid(size);
                assert_eq!(receive.buffer(), vec![came_from; len]);
                send.buffer_mut().copy_from_slice(receive.buffer());
                receive.buffer_mut().fill(-1);
            }
            assert_eq!(send.buffer(), vec![rank; len]);
        }
    });
}

#[test]
fn persistent_sends_have_all_modes_and_borrow_what_is_given() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let mine = [world.rank() as u64; 3];
        let mut sends = [
            right.send_init_with_tag(&mine[..1], 0),
            right.synchronous_send_init_with_tag(&mine[..2], 1),
            right.ready_send_init_with_tag(&mine[..], 2),
            world.null_process().send_init(&mine[..]),
        ];
        let mut got = [[u64::MAX; 3]; 4];
        for _ in 0..3 {
            let mut from: Vec<_> = got
                .iter_mut()
                .zip(0..)
                .map(|(got, tag)| match tag {
                    3 => world.null_process().receive_init(&mut got[..]),
                    _ => left.receive_init_with_tag(&mut got[..], tag),
                })
                .collect();
            let counts: Vec<_> = mpi::request::multiple_scope(8, |scope, all| {
                all.start_all(scope, &mut from);
                all.start_all(scope, &mut sends);
                assert_eq!(all.incomplete(), 8);
                let mut results = Vec::new();
                all.wait_all(&mut results);
                let received = results.iter().take(4);
                received
                    .map(|(_, status, _)| status.count(u64::equivalent_datatype()))
                    .collect()
            });
            assert_eq!(counts, [1, 2, 3, 0]);
            let theirs = left.rank() as u64;
            for (got, len) in got.iter_mut().zip([1, 2, 3, 0]) {
                assert_eq!(got[..len], vec![theirs; len]);
                assert_eq!(got[len..], vec![u64::MAX; 3 - len]);
                *got = [u64::MAX; 3];
            }
        }
    });
}

#[test]
fn a_persistent_receive_goes_on_after_an_error() {
    everywhere(|universe| {
        let world = universe.world();
        let this = world.this_process();
        let mut receive = world.any_process().receive_init(Box::new([0u16; 3]));
        for (data, is_truncated) in [(&[9u16; 50][..], true), (&[8u16; 3], false)] {
            mpi::request::scope(|scope| {
                let request = receive.start(scope);
                let send = this.immediate_send_with_tag(scope, data, 4);
                let result = request.try_wait();
                assert_eq!(matches!(result, Err(Error::Truncated { room: 6, .. })), is_truncated);
                assert_eq!(result.is_ok(), !is_truncated);
                send.wait();
            });
            assert_eq!(receive.buffer()[..], data[..3]);
        }
        // Started and cancelled.
        mpi::request::scope(|scope| {
            let request = receive.start(scope);
            request.cancel();
            assert!(request.wait().is_cancelled());
        });
    });
}

#[test]
fn a_persistent_send_by_way_of_the_attached_buffer_is_complete_at_once() {
    let cluster = Cluster::new([2, 1, 1]).mpi_memory(32);
    let job: ExitStatuses = cluster.run(|node| {
        as_program(node, || {
            let mut universe = mpi::initialize().expect("once");
            universe.set_buffer_size(4096);
            let world = universe.world();
            let [right, left] = neighbours(&world);
            let mut send = right.buffered_send_init(Box::new(0u32));
            for round in 0..3 {
                *send.buffer_mut() = round;
                mpi::request::scope(|scope| assert!(send.start(scope).is_complete()));
            }
            let got = [(); 3].map(|()| left.receive::<u32>().0);
            assert_eq!(got, [0, 1, 2]);
            0
        })
    });
    assert_eq!(job, Ok(vec![0; 2]));
}

#[test]
fn a_persistent_message_that_cannot_start_can_be_started_again() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let mut wrong = right.send_init_with_tag(vec![1u8], -1);
        let mut receive = left.receive_init_with_tag(vec![0u8], -1);
        mpi::request::scope(|scope| {
            let failed = Some(Error::Tag { tag: -1 });
            assert_eq!(wrong.try_start(scope).err(), failed);
            assert_eq!(receive.try_start(scope).err(), failed);
        });
        // No buffer is attached.
        let mut buffered = right.buffered_send_init(vec![7u8; 100]);
        let refused = mpi::request::scope(|scope| buffered.try_start(scope).err());
        assert!(matches!(refused, Some(Error::Buffer { .. })), "{refused:?}");

        let mut send = right.send_init_with_tag(vec![8u8], 1);
        let mut receive = left.receive_init_with_tag(vec![0u8], 1);
        mpi::request::scope(|scope| {
            let (gone, got) = (send.try_start(scope), receive.try_start(scope));
            assert_eq!(got.unwrap().wait().bytes(), 1);
            gone.unwrap().wait();
        });
        assert_eq!(receive.buffer(), &[8]);
    });
}

#[test]
fn a_receive_in_a_scope_can_be_taken_back() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let mut never = [1u8; 4];
        mpi::request::scope(|scope| {
            let from = world.any_process();
            let request = from.immediate_receive_into_with_tag(scope, &mut never, 99);
            assert!(!request.is_complete());
            request.cancel();
            assert!(request.wait().is_cancelled());
        });
        assert_eq!(never, [1; 4]);
        world.barrier();
        let mut got = 0u8;
        send_receive_into_with_tags(&5u8, &right, 99, &mut got, &left, 99);
        assert_eq!(got, 5);
    });
}

#[test]
fn a_cancelled_send_is_received_or_not_and_its_sender_knows() {
    const LENGTHS: [usize; 6] = [0, 3, 200, 600, 5000, 20_000];
    const COUNT: usize = 30;
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let length = |i: usize| LENGTHS[i * 5 % LENGTHS.len()];
        let of = |rank: Rank, i: usize| vec![(rank as usize * 31 + i) as u8; length(i)];
        let out: Vec<Vec<u8>> = (0..COUNT).map(|i| of(world.rank(), i)).collect();
        let mut kept = [1u8; COUNT];
        mpi::request::scope(|scope| {
            let mut cancelled = Vec::new();
            for (i, data) in out.iter().enumerate() {
                // Several per tag, so that cancelled ones are between others.
                let tag = i as Tag % 4;
                let request = match i % 5 {
                    0 => right.immediate_synchronous_send_with_tag(scope, data, tag),
                    _ => right.immediate_send_with_tag(scope, data, tag),
                };
                if i % 3 != 1 {
                    cancelled.push((i, request));
                }
            }
            for (i, request) in cancelled.into_iter().rev() {
                request.cancel();
                kept[i] = u8::from(!request.wait().is_cancelled());
            }
            let mut expected = [0u8; COUNT];
            send_receive_into_with_tags(&kept, &right, 9, &mut expected, &left, 9);
            for tag in [2, 0, 3, 1] {
                let wanted = (0..COUNT).filter(|i| i % 4 == tag && expected[*i] == 1);
                for i in wanted {
                    let (data, _) = left.receive_vec_with_tag::<u8>(tag as Tag);
                    assert_eq!(data, of(left.rank(), i), "{i}");
                }
                assert_eq!(left.immediate_probe_with_tag(tag as Tag), None);
            }
        });
    });
}

#[test]
fn a_truncated_message_is_an_error_wherever_it_is_waited_for() {
    everywhere(|universe| {
        let world = universe.world();
        let this = world.this_process();
        let long = [9u16; 50];
        let mut short = [0u16; 3];
        let truncated = Err(Error::Truncated {
            source: world.rank() as u32,
            tag: 4,
            room: 6,
        });
        mpi::request::scope(|scope| {
            let send = this.immediate_send_with_tag(scope, &long, 4);
            assert_eq!(this.try_receive_into(&mut short), truncated);
            send.wait();
        });
        assert_eq!(short, [9; 3]);
        mpi::request::scope(|scope| {
            let receive = this.immediate_receive_into(scope, &mut short);
            let _send = this.immediate_send_with_tag(scope, &long, 4);
            assert_eq!(receive.try_wait(), truncated);
        });
    });
}

/// As with MPI_ERRORS_ARE_FATAL: the job ends with a message that contains rank, location and cause.
#[test]
fn an_error_that_is_no_result_ends_the_job() {
    for (program, words) in [
        (
            (|world| world.this_process().send_with_tag(&1u8, -3)) as fn(&mpi::topology::SimpleCommunicator),
            ["rank 1 at (1,0,0)", "MPI_Send", "tag -3"],
        ),
        (
            |world| {
                let mut got = 0u8;
                mpi::request::scope(|scope| {
                    // Completed at the scope's end.
                    let _receive = world.this_process().immediate_receive_into(scope, &mut got);
                    world.this_process().send(&[1u8; 9]);
                });
            },
            ["rank 1 at (1,0,0)", "MPI_Waitall", "longer than the receive buffer"],
        ),
        (
            |world| world.all_reduce_into(&1.0, &mut 0.0, SystemOperation::bitwise_and()),
            ["rank 1 at (1,0,0)", "MPI_Allreduce", "not defined"],
        ),
        (
            |world| {
                let mut sum = [1.0];
                mpi::request::scope(|scope| {
                    let and = SystemOperation::bitwise_and();
                    drop(world.immediate_all_reduce_in_place(scope, &mut sum, and));
                });
            },
            ["rank 1 at (1,0,0)", "MPI_Iallreduce", "not defined"],
        ),
        (
            |_| {
                mpi::request::scope(|scope| {
                    let refused = Error::Argument { what: "refused" };
                    let (request, completion) = start_generalized(scope, move || Err(refused));
                    completion.complete();
                    // Completed at the scope's end.
                    drop(request);
                });
            },
            ["rank 1 at (1,0,0)", "MPI_Waitall", "refused"],
        ),
        (
            |world| drop(world.create_distributed_graph(&[(0, 2)])),
            ["rank 1 at (1,0,0)", "MPI_Dist_graph_create", "rank 2"],
        ),
        (
            |_| Info::new().set("", "value"),
            ["rank 1 at (1,0,0)", "MPI_Info_set", "1 to 255 bytes"],
        ),
    ] {
        let job = Cluster::new([2, 1, 1]).run(|node| {
            run(node, |universe| {
                let world = universe.world();
                if world.rank() == 1 {
                    program(&world);
                }
                world.barrier();
                0
            })
        });
        match job {
            Err(JobFailure::Abort { rank: 1, message, .. }) => {
                assert!(words.iter().all(|word| message.contains(word)), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Operation that records its drop.
struct Told<'a> {
    dropped: &'a Cell<u32>,
    asked: &'a Cell<u32>,
}

impl GeneralizedOperation for Told<'_> {
    fn query(&self) -> Result<Status, Error> {
        self.asked.set(self.asked.get() + 1);
        Ok(Status::empty())
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.dropped.set(self.dropped.get() + 1);
    }
}

#[test]
fn operations_of_the_programs_own_are_asked_and_dropped_once_however_they_end() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let (dropped, asked) = (Cell::new(0), Cell::new(0));
        let of = || Told {
            dropped: &dropped,
            asked: &asked,
        };
        let (out, mut into) = (vec![world.rank(); 300], vec![-1; 300]);
        mpi::request::scope(|scope| {
            drop(right.immediate_send(scope, &out));
            let receive = left.immediate_receive_into(scope, &mut into);
            // Guards; one cancels its operation without effect.
            for is_cancelled in [false, true] {
                let (request, completion) = start_generalized(scope, of());
                completion.complete();
                if is_cancelled {
                    drop(CancelGuard::from(request))
                } else {
                    drop(WaitGuard::from(request))
                }
            }
            assert_eq!((dropped.get(), asked.get()), (2, 2));
            // Completed before others, and after them.
            let (early, completion) = start_generalized(scope, of());
            completion.complete();
            assert!(early.test().is_ok());
            let (late, completion) = start_generalized(scope, of());
            assert!(late.get_status().is_none());
            receive.wait();
            let late = late.test().expect_err("not complete");
            completion.complete();
            late.wait();
            assert_eq!((dropped.get(), asked.get()), (4, 4));
            // Without a completion: dropped, and not queried.
            for _ in 0..3 {
                drop(start_generalized(scope, of()).0);
            }
            let (request, completion) = start_generalized(scope, of());
            std::mem::forget(request);
            completion.complete();
        });
        assert_eq!((dropped.get(), asked.get()), (8, 5));
        assert!(into.iter().all(|from| *from == left.rank()));
    });
}

#[test]
fn ranks_that_do_not_exist_are_refused_where_they_are_named() {
    let job = Cluster::new([2, 1, 1]).run(|node| {
        run(node, |universe| {
            universe.world().process_at_rank(2);
            0
        })
    });
    match job {
        Err(JobFailure::Panic { message, .. }) => {
            assert!(message.contains("there is no rank 2"), "{message}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn probes_see_what_a_receive_would_take() {
    everywhere(|universe| {
        let world = universe.world();
        let [right, left] = neighbours(&world);
        let data = vec![3i64; 77];
        mpi::request::scope(|scope| {
            drop(right.immediate_send_with_tag(scope, &data, 5));
            let status = world.any_process().probe();
            assert_eq!((status.source_rank(), status.tag()), (left.rank(), 5));
            assert_eq!(status.bytes(), 77 * 8);
            let mut got = vec![0i64; status.count(i64::equivalent_datatype()) as usize];
            left.receive_into_with_tag(&mut got, status.tag());
            assert_eq!(got, vec![3; 77]);
            assert_eq!(left.immediate_probe_with_tag(6), None);
        });
    });
}

#[test]
fn collectives_agree_with_the_obvious_computation() {
    everywhere(|universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        for len in [0, 1, 127, 128, 129, 700] {
            let mine: Vec<u64> = (0..len).map(|i| value(rank, i)).collect();
            for root in (0..size).map(|rank| world.process_at_rank(rank)) {
                let mut sum = vec![0; len];
                if root.is_self() {
                    root.reduce_into_root(&mine, &mut sum, SystemOperation::sum());
                    let all = |i| (0..size).map(|rank| value(rank, i)).sum::<u64>();
                    assert_eq!(sum, (0..len).map(all).collect::<Vec<_>>());
                } else {
                    root.reduce_into(&mine, SystemOperation::sum());
                }
                let mut data = mine.clone();
                root.broadcast_into(&mut data);
                let expected: Vec<u64> = (0..len).map(|i| value(root.rank(), i)).collect();
                assert_eq!(data, expected);
            }
            let mut most = vec![0u64; len];
            world.all_reduce_into(&mine, &mut most, SystemOperation::max());
            assert!(most.iter().zip(0..).all(|(x, i)| *x == value(size - 1, i)));

            let everybody: Vec<u64> = (0..size)
                .flat_map(|rank| (0..len).map(move |i| value(rank, i)))
                .collect();
            let mut all = vec![0; len * size as usize];
            world.all_gather_into(&mine, &mut all);
            assert_eq!(all, everybody);
            let root = world.process_at_rank(size - 1);
            let mut part = vec![0; len];
            if root.is_self() {
                all.fill(0);
                root.gather_into_root(&mine, &mut all);
                assert_eq!(all, everybody);
                root.scatter_into_root(&all, &mut part);
            } else {
                root.gather_into(&mine);
                root.scatter_into(&mut part);
            }
            assert_eq!(part, mine);
        }
    });
}

/// Returns `len` values of part `part` from process `from`.
fn given(from: Rank, part: usize, len: usize) -> Vec<u64> {
    (0..len).map(|i| value(from, part * 100 + i)).collect()
}

/// Tests the blocking and nonblocking neighbourhood collectives, with equal and unequal parts. Each process of `from`
/// sends its data to all, and the part with the second number to this process.
fn talk_with_neighbours(comm: &impl NeighborCollectives, destinations: usize, from: &[Option<(Rank, usize)>]) {
    let none = |len: usize| vec![7u64; len];
    let expected = |part: &dyn Fn(usize) -> usize, len: usize| -> Vec<u64> {
        let parts = from.iter().map(|source| match source {
            Some((source, number)) => given(*source, part(*number), len),
            None => none(len),
        });
        parts.collect::<Vec<_>>().concat()
    };
    for len in [0, 1, 40, 700] {
        let mine = given(comm.rank(), 0, len);
        let parts: Vec<u64> = (0..destinations)
            .flat_map(|part| given(comm.rank(), part, len))
            .collect();
        let places = len * from.len();
        let (mut all, mut each) = (none(places), none(places));
        comm.neighbor_all_gather_into(&mine, &mut all);
        comm.neighbor_all_to_all_into(&parts, &mut each);
        assert_eq!(all, expected(&|_| 0, len));
        assert_eq!(each, expected(&|part| part, len));
        let (mut later, mut after) = (none(places), none(places));
        mpi::request::scope(|scope| {
            let second = comm.immediate_neighbor_all_to_all_into(scope, &parts, &mut after);
            let first = comm.immediate_neighbor_all_gather_into(scope, &mine, &mut later);
            second.wait();
            drop(first);
        });
        assert_eq!((later, after), (all, each));

        // Listed parts with gaps of one element, the last part first.
        let listed = |count: usize| {
            let displs = (0..count).rev().map(|at| (at * (len + 1)) as i32);
            (vec![len as i32; count], displs.collect::<Vec<_>>())
        };
        let spread = |parts: &[u64], count: usize| {
            let mut spread = none(count * (len + 1));
            for (at, begin) in listed(count).1.into_iter().enumerate() {
                spread[begin as usize..][..len].copy_from_slice(&parts[at * len..][..len]);
            }
            spread
        };
        let (counts, begins) = listed(destinations);
        let parts = spread(&parts, destinations);
        let parts = Partition::new(&parts[..], counts, begins);
        let [mut all, mut each, mut later, mut after] = [(); 4].map(|()| none(from.len() * (len + 1)));
        let into = |buffer| {
            let (counts, displs) = listed(from.len());
            PartitionMut::new(buffer, counts, displs)
        };
        comm.neighbor_all_gather_varcount_into(&mine, &mut into(&mut all[..]));
        comm.neighbor_all_to_all_varcount_into(&parts, &mut into(&mut each[..]));
        let (mut to_first, mut to_second) = (into(&mut later[..]), into(&mut after[..]));
        mpi::request::scope(|scope| {
            comm.immediate_neighbor_all_gather_varcount_into(scope, &mine, &mut to_first)
                .wait();
            comm.immediate_neighbor_all_to_all_varcount_into(scope, &parts, &mut to_second)
                .wait();
        });
        assert_eq!(all, spread(&expected(&|_| 0, len), from.len()));
        assert_eq!(each, spread(&expected(&|part| part, len), from.len()));
        assert_eq!((later, after), (all, each));
        talk_in_many_types(comm, destinations, from, len);
    }
}

/// Same as [`talk_with_neighbours`], with a datatype per part: numbers; the even elements of a row of short ones, which
/// the receiver stores without holes; and bytes, received as booleans.
fn talk_in_many_types(
    comm: &impl NeighborCollectives,
    destinations: usize,
    from: &[Option<(Rank, usize)>],
    len: usize,
) {
    let short = |values: &[u64]| values.iter().map(|value| *value as u16).collect::<Vec<_>>();
    let bytes = |values: &[u64]| values.iter().map(|value| *value as u8 & 6).collect::<Vec<_>>();
    let numbers: Vec<Vec<u64>> = (0..destinations).map(|part| given(comm.rank(), part, len)).collect();
    let spread: Vec<Vec<u16>> = (numbers.iter())
        .map(|values| short(values).into_iter().flat_map(|value| [value, 77]).collect())
        .collect();
    let octets: Vec<Vec<u8>> = numbers.iter().map(|values| bytes(values)).collect();
    let even = UserDatatype::vector(len as i32, 1, 2, &u16::equivalent_datatype());
    let views: Vec<_> = (spread.iter())
        .map(|row| View::with_count_and_datatype(row, 1, &even))
        .collect();
    let sendbufs: Vec<AnyBuffer<'_>> = (0..destinations)
        .map(|part| match part % 3 {
            0 => AnyBuffer::new(&numbers[part]),
            1 => AnyBuffer::new(&views[part]),
            _ => AnyBuffer::new(&octets[part]),
        })
        .collect();
    type Row = (Vec<u64>, Vec<u16>, Vec<bool>);
    let kind = |at: usize| from[at].map_or(0, |(_, part)| part % 3);
    let mut rows: [Vec<Row>; 2] = [(); 2].map(|()| vec![(vec![7; len], vec![7; len], vec![true; len]); from.len()]);
    let each = |rows: &mut [Row], call: &mut dyn FnMut(&mut [AnyBufferMut<'_>])| {
        let recvbufs = rows.iter_mut().enumerate().map(|(at, row)| match kind(at) {
            0 => AnyBufferMut::new(&mut row.0),
            1 => AnyBufferMut::new(&mut row.1),
            _ => AnyBufferMut::new(&mut row.2),
        });
        call(&mut recvbufs.collect::<Vec<_>>());
    };
    let [blocking, later] = &mut rows;
    each(blocking, &mut |recvbufs| {
        // The same buffers twice: the received data is correct after each call.
        comm.neighbor_all_to_all_vartype_into(&sendbufs, recvbufs);
        comm.neighbor_all_to_all_vartype_into(&sendbufs, recvbufs);
    });
    each(later, &mut |recvbufs| {
        mpi::request::scope(|scope| {
            comm.immediate_neighbor_all_to_all_vartype_into(scope, &sendbufs, recvbufs)
                .wait();
        });
    });
    for row in rows {
        for (at, (numbers, shorts, truths)) in row.into_iter().enumerate() {
            let expected = from[at].map(|(source, part)| given(source, part, len));
            let (mut left, expected) = ((vec![7; len], vec![7; len], vec![true; len]), expected);
            match (kind(at), expected) {
                (0, Some(values)) => left.0 = values,
                (1, Some(values)) => left.1 = short(&values),
                (_, Some(values)) => left.2 = bytes(&values).iter().map(|byte| *byte != 0).collect(),
                (_, None) => {}
            }
            assert_eq!((numbers, shorts, truths), left, "{at}");
        }
    }
}

/// Creates two groups, the first ranks and the others, and returns whether this process is in the first one.
fn two_groups(world: &SimpleCommunicator, first: Rank) -> (InterCommunicator, bool) {
    let is_first = world.rank() < first;
    let half = world.split_by_color(Color::with_value(is_first.into()));
    let half = half.expect("every process has a color");
    // Each group's leader is its last process.
    let (own, _) = of_both(first - 1, world.size() - first - 1, is_first);
    let (_, other) = of_both(first - 1, world.size() - 1, is_first);
    let other = if half.rank() == own {
        world.process_at_rank(other)
    } else {
        world.null_process()
    };
    (half.create_intercommunicator(own, &other, 3), is_first)
}

/// Returns the values of the own and of the other group.
fn of_both<T>(first: T, second: T, is_first: bool) -> (T, T) {
    if is_first { (first, second) } else { (second, first) }
}

/// Returns the values of the other group's processes, in the order of their world ranks.
fn of_others<T>(both: &InterCommunicator, first: Rank, is_first: bool, has: impl Fn(Rank) -> T) -> Vec<T> {
    let begin = if is_first { first } else { 0 };
    (begin..begin + both.remote_size()).map(has).collect()
}

#[test]
fn two_groups_talk_to_each_other() {
    everywhere(|universe| {
        let world = universe.world();
        let sizes: Vec<Rank> = [1, world.size() / 2].into_iter().filter(|first| *first > 0).collect();
        for first in sizes {
            if first == world.size() {
                return;
            }
            let (both, is_first) = two_groups(&world, first);
            let (own, remote) = (both.size(), both.remote_size());
            assert_eq!((own, remote), of_both(first, world.size() - first, is_first));
            assert!(both.test_inter() && !world.test_inter());
            let others = of_others(&both, first, is_first, |rank| rank);
            let ranks: Vec<Rank> = (0..remote).collect();
            let in_world = both.remote_group().translate_ranks(&ranks, &world.group());
            assert_eq!(in_world, others.iter().map(|rank| Some(*rank)).collect::<Vec<_>>());
            assert_eq!(
                (both.group().rank(), both.remote_group().rank()),
                (Some(both.rank()), None)
            );

            // To every process of the other group, from any; the lengths differ.
            let mine: Vec<u64> = (0..40 * (world.rank() as usize + 1))
                .map(|i| value(world.rank(), i))
                .collect();
            mpi::request::scope(|scope| {
                for rank in 0..remote {
                    drop(both.process_at_rank(rank).immediate_send_with_tag(scope, &mine, 9));
                }
                for _ in 0..remote {
                    let (theirs, status) = both.any_process().receive_vec_with_tag::<u64>(9);
                    let from = others[status.source_rank() as usize];
                    assert_eq!(theirs.len(), 40 * (from as usize + 1));
                    assert_eq!((theirs[0], theirs[39]), (value(from, 0), value(from, 39)));
                }
            });
            let status = both.null_process().receive_into(&mut [0u8; 4]);
            assert_eq!(status.source_rank(), -3);
            both.null_process().send(&1u8);

            // With persistent messages between a pair.
            if both.rank() == 0 {
                let other = both.process_at_rank(0);
                let (mut send, mut receive) = (other.send_init(vec![world.rank(); 9]), other.receive_init(vec![-1; 9]));
                mpi::request::scope(|scope| {
                    let (gone, got) = (send.start(scope), receive.start(scope));
                    assert_eq!(got.wait().source_rank(), 0);
                    gone.wait();
                });
                assert_eq!(receive.buffer(), vec![others[0]; 9]);
            }
        }
    });
}

#[test]
fn collectives_give_to_one_group_what_the_other_one_has() {
    everywhere(|universe| {
        let world = universe.world();
        let first = (world.size() + 1) / 2;
        if first == world.size() {
            return;
        }
        let (both, is_first) = two_groups(&world, first);
        let remote = both.remote_size() as usize;
        let me = world.rank();
        let others = |has: &dyn Fn(Rank) -> Vec<u64>| of_others(&both, first, is_first, has).concat();
        for len in [0usize, 1, 40, 700] {
            both.barrier();
            let mine = given(me, 0, len);
            let mut all = vec![0; len * remote];
            both.all_gather_into(&mine, &mut all);
            assert_eq!(all, others(&|rank| given(rank, 0, len)));

            let parts: Vec<u64> = (0..remote).flat_map(|part| given(me, part, len)).collect();
            let mut each = vec![0; len * remote];
            both.all_to_all_into(&parts, &mut each);
            assert_eq!(each, others(&|rank| given(rank, both.rank() as usize, len)));

            let sum = |ranks: Vec<Vec<u64>>| {
                (0..len)
                    .map(|i| ranks.iter().map(|one| one[i]).sum())
                    .collect::<Vec<u64>>()
            };
            let theirs = sum(of_others(&both, first, is_first, |rank| given(rank, 0, len)));
            let mut total = vec![0; len];
            both.all_reduce_into(&mine, &mut total, SystemOperation::sum());
            assert_eq!(total, theirs);
            // Each process is the root once; other processes of the root's group do not call.
            for root in 0..world.size() {
                let root_is_first = root < first;
                let rank = if root_is_first { root } else { root - first };
                if me == root {
                    both.broadcast_root(&mine);
                    let mut all = vec![0; len * remote];
                    both.gather_root(&mut all);
                    assert_eq!(all, others(&|rank| given(rank, 0, len)));
                    both.scatter_root(&parts);
                    let mut total = vec![0; len];
                    both.reduce_root(&mut total);
                    assert_eq!(total, theirs);
                } else if root_is_first != is_first {
                    let root_process = both.process_at_rank(rank);
                    let mut got = vec![0; len];
                    root_process.broadcast_into(&mut got);
                    assert_eq!(got, given(root, 0, len));
                    root_process.gather_into(&mine);
                    root_process.scatter_into(&mut got);
                    assert_eq!(got, given(root, both.rank() as usize, len));
                    root_process.reduce_into(&mine, SystemOperation::sum());
                }
            }
        }
    });
}

#[test]
fn what_two_groups_cannot_divide_is_an_error_at_all_before_anything_is_sent() {
    let cluster = Cluster::new([3, 1, 1]).mpi_memory(32);
    let job: ExitStatuses = cluster.run(|node| {
        run(node, |universe| {
            let (both, is_first) = two_groups(&universe.world(), 1);
            // Three elements: all for the only process of the first group, halves for the other two.
            let mut result = vec![0u64; if is_first { 3 } else { 1 }];
            let sum = SystemOperation::sum();
            let expected = if is_first { 4 * 8 } else { 2 * 8 };
            assert_eq!(
                both.reduce_scatter_block(&[1u64; 3], &mut result, sum).try_run(),
                Err(Error::Lengths { expected, given: 3 * 8 })
            );
            let number = [7u64];
            let given: Vec<_> = (0..=both.remote_size()).map(|_| AnyBuffer::new(&number)).collect();
            let mut taken = [(); 2].map(|()| 0u64);
            let mut taken: Vec<_> = taken.iter_mut().map(AnyBufferMut::new).collect();
            let result = both.all_to_all_vartype(&given, &mut taken).try_run();
            assert!(matches!(result, Err(Error::Argument { .. })), "{result:?}");
            both.barrier();
            0
        })
    });
    assert_eq!(job, Ok(vec![0; 3]));
}

/// Returns part `to` of the data from process `from`; the rank's length may be zero, or more than a segment.
fn part_of(from: Rank, to: Rank) -> Vec<u64> {
    given(from, to as usize, [0, 3, 200, 1][to as usize % 4])
}

/// Returns the elementwise sum of the parts that these processes send to `to`.
fn sum_for(to: Rank, of: impl Iterator<Item = Rank>) -> Vec<u64> {
    let mut sum = vec![0; part_of(0, to).len()];
    for from in of {
        let part = part_of(from, to);
        sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    sum
}

/// Returns the parts that `from` sends to each rank, last rank first, with their displacements.
fn backwards(from: Rank, ranks: Rank) -> (Vec<u64>, Vec<i32>, Vec<i32>) {
    let (mut all, mut displs) = (Vec::new(), vec![0; ranks as usize]);
    for to in (0..ranks).rev() {
        displs[to as usize] = all.len() as i32;
        all.extend(part_of(from, to));
    }
    let counts = (0..ranks).map(|to| part_of(from, to).len() as i32);
    (all, counts.collect(), displs)
}

#[test]
fn a_reduction_is_scattered_in_parts_that_differ() {
    everywhere(|universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        let add = SystemOperation::sum;
        let (all, counts, displs) = backwards(rank, size);
        let parts = Partition::new(&all, counts, displs);
        let expected = sum_for(rank, 0..size);
        let mut sums = [(); 2].map(|()| vec![0; expected.len()]);
        let [blocking, started] = &mut sums;
        world.reduce_scatter_varcount_into(&parts, blocking, add());
        mpi::request::scope(|scope| {
            drop(world.immediate_reduce_scatter_varcount_into(scope, &parts, started, add()));
        });
        assert_eq!(sums, [expected.clone(), expected]);

        // In two groups each has parts for the other's processes.
        let first = (size + 1) / 2;
        if first == size {
            return;
        }
        let (both, is_first) = two_groups(&world, first);
        let (all, counts, displs) = backwards(rank, both.remote_size());
        let parts = Partition::new(&all, counts, displs);
        let others = of_others(&both, first, is_first, |rank| rank);
        let expected = sum_for(both.rank(), others.into_iter());
        let mut sums = [(); 2].map(|()| vec![0; expected.len()]);
        let [blocking, started] = &mut sums;
        both.reduce_scatter_varcount_into(&parts, blocking, add());
        mpi::request::scope(|scope| {
            drop(both.immediate_reduce_scatter_varcount_into(scope, &parts, started, add()));
        });
        assert_eq!(sums, [expected.clone(), expected]);
    });
}

#[test]
fn parts_of_a_reduction_that_do_not_fit_are_refused_before_anything_is_sent() {
    let cluster = Cluster::new([3, 1, 1]).mpi_memory(32);
    let job: ExitStatuses = cluster.run(|node| {
        run(node, |universe| {
            let world = universe.world();
            let (data, sum) = ([1u64; 6], SystemOperation::sum());
            let parts = Partition::new(&data, [1, 2, 3], [0, 1, 3]);
            let mut long = [0u64; 4];
            let given = world.reduce_scatter_varcount(&parts, &mut long, sum).try_run();
            let expected = 8 * (world.rank() as usize + 1);
            let refused = Err(Error::Lengths { expected, given: 32 });
            assert_eq!(given, refused);
            let few = Partition::new(&data, [3, 3], [0, 3]);
            let given = world
                .reduce_scatter_varcount(&few, &mut long, SystemOperation::sum())
                .try_run();
            assert!(matches!(given, Err(Error::Argument { .. })), "{given:?}");
            let (both, _) = two_groups(&world, 1);
            let given = both
                .reduce_scatter_varcount(&parts, &mut long, SystemOperation::sum())
                .try_run();
            assert!(matches!(given, Err(Error::Argument { .. })), "{given:?}");
            both.barrier();
            0
        })
    });
    assert_eq!(job, Ok(vec![0; 3]));
}

/// Two groups of one process each: the first one's result is longer than the second's data. Both get an error.
#[test]
fn parts_and_results_of_two_groups_that_differ_are_an_error() {
    let job: ExitStatuses = Cluster::new([2, 1, 1]).run(|node| {
        run(node, |universe| {
            let (both, is_first) = two_groups(&universe.world(), 1);
            let data = [1u64; 2];
            let parts = Partition::new(&data, [2], [0]);
            let mut result = vec![0u64; if is_first { 3 } else { 2 }];
            let ended = both
                .reduce_scatter_varcount(&parts, &mut result, SystemOperation::sum())
                .try_run();
            let differ = Err(Error::RemoteDiffers {
                rank: 0,
                expected: 24,
                given: Some(16),
            });
            assert_eq!(ended, if is_first { differ } else { Ok(()) });
            0
        })
    });
    assert_eq!(job, Ok(vec![0; 2]));
}

#[test]
fn an_intercommunicator_is_duplicated_split_and_merged() {
    everywhere(|universe| {
        let world = universe.world();
        let first = world.size() / 2;
        if first == 0 {
            return;
        }
        let (both, is_first) = two_groups(&world, first);
        both.set_name("both");
        let twin = both.duplicate();
        assert_eq!((both.get_name(), twin.get_name()), ("both".into(), String::new()));
        assert_eq!(both.compare(&both), CommunicatorRelation::Identical);
        assert_eq!(both.compare(&twin), CommunicatorRelation::Congruent);
        // A message of one communicator never matches in the other.
        if both.rank() == 0 {
            let other = both.process_at_rank(0);
            other.send_with_tag(&1u8, 1);
            twin.process_at_rank(0).send_with_tag(&2u8, 1);
            let (from_twin, _) = twin.any_process().receive::<u8>();
            let (from_both, _) = both.any_process().receive::<u8>();
            assert_eq!((from_both, from_twin), (1, 2));
        }
        for high_is_first in [true, false] {
            let order = if is_first == high_is_first {
                MergeOrder::High
            } else {
                MergeOrder::Low
            };
            let merged = twin.merge(order);
            let behind = is_first == high_is_first;
            let before = if behind { both.remote_size() } else { 0 };
            assert_eq!((merged.size(), merged.rank()), (world.size(), before + both.rank()));
            let mut ranks = vec![-1; world.size() as usize];
            merged.all_gather_into(&world.rank(), &mut ranks[..]);
            assert_eq!(ranks[merged.rank() as usize], world.rank());
        }
        drop(twin);
        // Even ranks meet even ones, the last one first; a color that the other group lacks yields none.
        let color = both.rank() % 2;
        let part = both.split_by_color_with_key(Color::with_value(color), -both.rank());
        let has_color = |size: Rank| (size + 1 - color) / 2;
        assert_eq!(part.is_some(), has_color(both.remote_size()) > 0);
        if let Some(part) = part {
            assert_eq!(
                (part.size(), part.remote_size()),
                (has_color(both.size()), has_color(both.remote_size()))
            );
            let mut ranks = vec![-1; part.remote_size() as usize];
            part.all_gather_into(&both.rank(), &mut ranks[..]);
            assert!(ranks.iter().all(|rank| rank % 2 == color) && ranks.is_sorted_by(|a, b| a > b));
        }
        assert!(both.split_by_color(Color::undefined()).is_none());
    });
}

#[test]
fn groups_that_cannot_meet_are_told_so() {
    everywhere(|universe| {
        let world = universe.world();
        if world.size() == 1 {
            return;
        }
        let own = world.process_at_rank(0);
        let wrong = world.try_create_intercommunicator(world.size(), &own, 0);
        assert!(matches!(wrong, Err(Error::Rank { .. })));
        // Both leaders are the same process: it is in both groups.
        let other = world.process_at_rank(0);
        let same = world.try_create_intercommunicator(0, &other, 0);
        assert!(matches!(same, Err(Error::Wrong { .. })));
        for (leader, tag) in [(world.null_process(), 0), (other, -1)] {
            let failed = world.try_create_intercommunicator(0, &leader, tag).err();
            match (world.rank(), tag) {
                (0, 0) => assert!(matches!(failed, Some(Error::Rank { rank: -3, .. }))),
                (0, tag) => assert_eq!(failed, Some(Error::Tag { tag })),
                _ => assert!(matches!(failed, Some(Error::Wrong { .. }))),
            }
        }
        let (both, is_first) = two_groups(&world, world.size() - 1);
        let none = both.null_process().broadcast(&mut [0u8; 3]).try_run();
        assert!(matches!(none, Err(Error::RemoteRank { rank: -3, .. })));
        let longer = both
            .all_reduce(&[1u32; 3], &mut [0u32; 4], SystemOperation::sum())
            .try_run();
        assert_eq!(
            longer,
            Err(Error::Lengths {
                expected: 12,
                given: 16
            })
        );
        let whole = vec![0u32; 2 * both.remote_size() as usize + 1];
        if both.remote_size() > 1 {
            let uneven = both.all_to_all(&whole, &mut whole.clone()).try_run();
            assert!(matches!(uneven, Err(Error::Lengths { .. })));
        }
        // The other group is one process, and no other process waits for it.
        if is_first && both.rank() == 0 {
            assert_eq!(both.broadcast_to_remote(&[1u32; 3]).try_run(), Ok(()));
        } else if !is_first {
            let shorter = both.process_at_rank(0).broadcast(&mut [0u32; 2]).try_run();
            let refused = matches!(
                shorter,
                Err(Error::RemoteDiffers {
                    rank: 0,
                    expected: 8,
                    ..
                } | Error::LocalDiffers { expected: 8, .. })
            );
            assert!(refused, "{shorter:?}");
        }
    });
}

#[test]
fn attributes_end_before_mpi_does() {
    /// Records its drop, in a communicator that still exists.
    #[derive(Clone)]
    struct AtEnd(Rc<SimpleCommunicator>, &'static str, Rc<RefCell<String>>);

    impl CommAttribute for AtEnd {}

    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.barrier();
            self.2.borrow_mut().push_str(self.1);
        }
    }

    everywhere(|universe| {
        let (world, said) = (universe.world(), Rc::new(RefCell::new(String::new())));
        let twin = Rc::new(world.duplicate());
        let at_end = |name| AtEnd(twin.clone(), name, said.clone());
        world.set_attr(at_end("world"));
        SimpleCommunicator::self_comm().set_attr(at_end("self "));
        let part = world.duplicate();
        part.set_attr(at_end("part "));
        drop(part);
        assert_eq!(*said.borrow(), "part ");
        SAID.with(|all| *all.borrow_mut() = said);
    });
    SAID.with(|said| assert_eq!(*said.borrow().borrow(), "part self world"));
}

#[test]
fn an_intercommunicator_has_attributes_too() {
    #[derive(Clone)]
    struct Name(&'static str);

    impl CommAttribute for Name {
        const CLONE_ON_DUP: bool = true;
    }

    everywhere(|universe| {
        let world = universe.world();
        if world.size() == 1 {
            return;
        }
        let (both, _) = two_groups(&world, 1);
        both.set_attr(Name("first"));
        both.set_attr(Name("both"));
        let twin = both.duplicate();
        assert_eq!(twin.get_attr::<Name>().unwrap().0, "both");
        assert!(twin.merge(MergeOrder::Low).get_attr::<Name>().is_none());
        assert_eq!(both.delete_attr::<Name>().unwrap().0, "both");
        assert!(both.get_attr::<Name>().is_none());
    });
}

#[test]
fn neighbours_in_a_grid_get_what_is_theirs() {
    everywhere(|universe| {
        let world = universe.world();
        let mut dims = [0; 2];
        dims_create(world.size(), &mut dims).expect("extents");
        for (periods, reorder) in [([true, false], false), ([true, true], true)] {
            let grid = world.create_cartesian_communicator(&dims, &periods, reorder);
            let grid = grid.expect("as many places as processes");
            let neighbours = (0..2).flat_map(|dimension| {
                let (below, above) = grid.shift(dimension, 1);
                // Data received from below was sent upwards.
                let part = 2 * dimension as usize;
                [below.map(|rank| (rank, part + 1)), above.map(|rank| (rank, part))]
            });
            talk_with_neighbours(&grid, 4, &neighbours.collect::<Vec<_>>());
        }
    });
}

#[test]
fn neighbours_in_a_graph_are_those_that_were_given() {
    everywhere(|universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        // To the right, and to process 0, which receives from all.
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        let mut sources = vec![left];
        if rank == 0 {
            sources.extend(0..size);
        }
        let graph = world.create_distributed_graph_adjacent(&sources, &[right, 0]);
        assert!(graph.sources().eq(sources.iter().copied()));
        assert!(graph.destinations().eq([right, 0]));
        let numbered = |sources: &mut dyn Iterator<Item = Rank>| {
            let mut seen = vec![0; size as usize];
            // Two edges from one process keep the order in which it specified them.
            let mut next = |source: Rank| {
                let both = (source + 1) % size == rank && rank == 0;
                let is_first = seen[source as usize] == 0;
                seen[source as usize] += 1;
                match (both, rank) {
                    (true, _) => usize::from(!is_first),
                    (false, 0) => 1,
                    (false, _) => 0,
                }
            };
            sources.map(|source| Some((source, next(source)))).collect::<Vec<_>>()
        };
        talk_with_neighbours(&graph, 2, &numbered(&mut graph.sources()));

        // The same edges, specified by the left neighbours of their sources.
        let beyond = (right + 1) % size;
        let graph = world.create_distributed_graph(&[(right, beyond), (right, 0)]);
        assert!(graph.destinations().eq([right, 0]));
        let mut known: Vec<Rank> = graph.sources().collect();
        known.sort();
        sources.sort();
        assert_eq!(known, sources);
        talk_with_neighbours(&graph, 2, &numbered(&mut graph.sources()));

        let twin = graph.duplicate();
        assert_eq!(twin.topology(), Topology::DistributedGraph);
        let IntoTopology::DistributedGraph(twin) = twin.into_topology() else {
            panic!("a duplicate has the same topology");
        };
        assert!(twin.sources().eq(graph.sources()));
        drop(graph);
        talk_with_neighbours(&twin, 2, &numbered(&mut twin.sources()));
    });
}

#[test]
fn edges_have_the_weights_that_were_given() {
    everywhere(|universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        // An edge's weight is specified by its end; each edge exists twice.
        let edges = |other: Rank, end: Rank| [(other, end), (other, end + 100)];
        let graph = world.create_weighted_distributed_graph_adjacent(&edges(left, rank), &edges(right, right));
        let weights = |end: Rank| Some(vec![end, end + 100]);
        let both = |graph: &DistributedGraphCommunicator| {
            (
                graph.source_weights().map(Vec::from_iter),
                graph.destination_weights().map(Vec::from_iter),
            )
        };
        assert_eq!(both(&graph), (weights(rank), weights(right)));
        assert!(graph.sources().eq([left; 2]) && graph.destinations().eq([right; 2]));
        talk_with_neighbours(&graph, 2, &[Some((left, 0)), Some((left, 1))]);

        let beyond = (right + 1) % size;
        let given = [(right, beyond, beyond), (right, beyond, beyond + 100)];
        let graph = world.create_weighted_distributed_graph(&given);
        assert_eq!(both(&graph), (weights(rank), weights(right)));
        let IntoTopology::DistributedGraph(twin) = graph.duplicate().into_topology() else {
            panic!("a duplicate has the same topology");
        };
        assert_eq!(both(&twin), both(&graph));
        assert_eq!(both(&world.create_distributed_graph(&[])), (None, None));
    });
}

#[test]
fn all_processes_know_a_graph() {
    everywhere(|universe| {
        let world = universe.world();
        let (rank, size) = (world.rank(), world.size());
        // A star: all but the last are adjacent to the first one, which is also its own neighbour.
        let nodes = (size - 1).max(1);
        let first: Vec<Rank> = (0..nodes).collect();
        let lists: Vec<Vec<Rank>> = (0..nodes)
            .map(|node| if node == 0 { first.clone() } else { vec![0] })
            .collect();
        let lists: Vec<&[Rank]> = lists.iter().map(|list| &list[..]).collect();
        let star = world.create_graph_communicator(&lists);
        assert_eq!(star.is_some(), rank < nodes);
        if let Some(star) = star {
            assert_eq!((star.size(), star.rank()), (nodes, rank));
            assert_eq!((star.num_nodes(), star.num_edges()), (nodes, 2 * nodes - 1));
            for node in 0..nodes {
                assert_eq!(star.neighbors(node), lists[node as usize]);
            }
            let own = lists[rank as usize];
            let parts: Vec<_> = own
                .iter()
                .map(|from| Some((*from, rank as usize * usize::from(*from == 0))))
                .collect();
            talk_with_neighbours(&star, own.len(), &parts);
            let twin = star.duplicate();
            assert_eq!(twin.topology(), Topology::Graph);
            drop(star);
            let IntoTopology::Graph(twin) = twin.into_topology() else {
                panic!("a duplicate has the same topology");
            };
            assert_eq!(twin.neighbors(0), first);
        }
        let nobody = world.try_create_graph_communicator(&[&[1]]).err();
        assert!(matches!(nobody, Some(Error::Wrong { .. })), "{nobody:?}");
        let lists = vec![&[][..]; size as usize + 1];
        let more = world.try_create_graph_communicator(&lists).err();
        assert!(matches!(more, Some(Error::Argument { .. })), "{more:?}");
        assert!(world.create_graph_communicator(&[]).is_none());
    });
}

#[test]
fn buffers_without_a_part_for_each_neighbour_are_refused() {
    everywhere(|universe| {
        let world = universe.world();
        let alone = world.create_distributed_graph(&[]);
        alone.neighbor_all_gather_into(&5u32, &mut [0u32; 0][..]);
        alone.neighbor_all_to_all_into(&[0u32; 0][..], &mut [0u32; 0][..]);
        let lengths = |expected, given| Err(Error::Lengths { expected, given });
        let mut some = [1u32; 3];
        let none = &mut [0u32; 0][..];
        assert_eq!(
            alone.neighbor_all_gather(&5u32, &mut some[..]).try_run(),
            lengths(0, 12)
        );
        assert_eq!(alone.neighbor_all_to_all(&some[..], none).try_run(), lengths(0, 12));
        let ring = world.create_cartesian_communicator(&[world.size()], &[true], false);
        let ring = ring.expect("as many places as processes");
        assert_eq!(
            ring.neighbor_all_gather(&5u32, &mut some[..]).try_run(),
            lengths(16, 12)
        );
        assert_eq!(some, [1; 3]);
        let shorter = ring.neighbor_all_gather(&[5u64; 2][..], &mut [0u64; 2][..]).try_run();
        assert!(
            matches!(shorter, Err(Error::CountsDiffer { expected: 8, .. })),
            "{shorter:?}"
        );
    });
}

#[test]
fn every_process_gives_every_other_a_datatype_of_its_own() {
    everywhere(|universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size() as usize);
        for len in [0, 1, 40, 700] {
            let truths = |rank: Rank| (0..len).map(move |i| value(rank, i).is_multiple_of(2));
            let numbers: Vec<Vec<u64>> = (0..size).map(|part| given(me, part, len)).collect();
            let own: Vec<bool> = truths(me).collect();
            // Numbers are sent to lower ranks, booleans to higher ones and to itself.
            let sendbufs: Vec<AnyBuffer<'_>> = (0..size)
                .map(|to| {
                    if to < me as usize {
                        AnyBuffer::new(&numbers[to])
                    } else {
                        AnyBuffer::new(&own)
                    }
                })
                .collect();
            let mut rows = [(); 2].map(|()| vec![(vec![0u64; len], vec![false; len]); size]);
            let [blocking, later] = &mut rows;
            let take = |rows: &mut [(Vec<u64>, Vec<bool>)], call: &mut dyn FnMut(&mut [AnyBufferMut<'_>])| {
                let each = rows.iter_mut().enumerate();
                let recvbufs = each.map(|(from, row)| {
                    if from > me as usize {
                        AnyBufferMut::new(&mut row.0)
                    } else {
                        AnyBufferMut::new(&mut row.1)
                    }
                });
                call(&mut recvbufs.collect::<Vec<_>>());
            };
            take(blocking, &mut |recvbufs| {
                world.all_to_all_vartype_into(&sendbufs, recvbufs);
            });
            take(later, &mut |recvbufs| {
                mpi::request::scope(|scope| {
                    world
                        .immediate_all_to_all_vartype_into(scope, &sendbufs, recvbufs)
                        .wait();
                });
            });
            for row in rows {
                for (from, (numbers, got)) in row.into_iter().enumerate() {
                    let expected = if from > me as usize {
                        (given(from as Rank, me as usize, len), vec![false; len])
                    } else {
                        (vec![0; len], truths(from as Rank).collect())
                    };
                    assert_eq!((numbers, got), expected, "from {from}");
                }
            }
        }
        let few = world.all_to_all_vartype(&[], &mut []).try_run();
        assert!(matches!(few, Err(Error::Argument { .. })), "{few:?}");
    });
}

#[test]
fn a_list_of_buffers_has_one_for_each_neighbour() {
    everywhere(|universe| {
        let world = universe.world();
        let ring = world.create_cartesian_communicator(&[world.size()], &[true], false);
        let ring = ring.expect("as many places as processes");
        let mine = 5u32;
        let given = [(); 3].map(|()| AnyBuffer::new(&mine));
        let mut theirs = [7u32; 3];
        let mut taken = theirs.each_mut().map(AnyBufferMut::new);
        for (gives, takes) in [(1, 2), (3, 2), (2, 1), (2, 3), (0, 0)] {
            let refused = ring
                .neighbor_all_to_all_vartype(&given[..gives], &mut taken[..takes])
                .try_run();
            assert!(
                matches!(refused, Err(Error::Argument { .. })),
                "{gives}, {takes}: {refused:?}"
            );
        }
        assert_eq!(
            ring.neighbor_all_to_all_vartype(&given[..2], &mut taken[..2]).try_run(),
            Ok(())
        );
        assert_eq!(theirs, [5, 5, 7]);
        let mut longer = [0u64; 2];
        let mut taken = longer.each_mut().map(AnyBufferMut::new);
        let differ = ring.neighbor_all_to_all_vartype(&given[..2], &mut taken).try_run();
        assert!(
            matches!(differ, Err(Error::CountsDiffer { expected: 8, .. })),
            "{differ:?}"
        );
    });
}

#[test]
fn a_sum_has_the_same_bits_at_every_root_and_under_every_seed() {
    let bits = |seed: u64, root: Rank| {
        let result = Mutex::new(0);
        let job = Cluster::new([5, 1, 1]).seed(seed).mpi_memory(64).run(|node| {
            run(node, |universe| {
                let world = universe.world();
                let root = world.process_at_rank(root);
                let mine = 0.1 * f64::from(world.rank() + 1).powi(7);
                let mut sum = 0.0f64;
                if root.is_self() {
                    root.reduce_into_root(&mine, &mut sum, SystemOperation::sum());
                    *result.lock().expect("one writer") = sum.to_bits();
                } else {
                    root.reduce_into(&mine, SystemOperation::sum());
                }
                0
            })
        });
        assert_eq!(job, Ok(vec![0; 5]));
        result.into_inner().expect("one writer")
    };
    let first = bits(1, 0);
    for seed in 2..8 {
        assert_eq!(bits(seed, (seed % 5) as Rank), first);
    }
}

#[test]
fn processes_that_disagree_on_a_length_are_told_so() {
    for (root, given) in [(3, Some(3)), (7, None)] {
        let job = Cluster::new([2, 1, 1]).run(|node| {
            run(node, |universe| {
                let world = universe.world();
                let mut data = vec![0u8; if world.rank() == 0 { root } else { 5 }];
                let ended = world.process_at_rank(0).broadcast(&mut data).try_run();
                let differ = Err(Error::CountsDiffer {
                    rank: 0,
                    expected: 5,
                    given,
                });
                let expected = if world.rank() == 0 { Ok(()) } else { differ };
                i32::from(ended != expected)
            })
        });
        assert_eq!(job, Ok(vec![0; 2]), "{root} bytes at the root");
    }
}

/// No process exits the n-th barrier before all have entered it, on tori and meshes, however unequal the processes are.
/// For all processes in rank order it sends no messages, on MPI_COMM_WORLD and on its duplicates; in another order it
/// does.
#[test]
fn a_barrier_is_left_when_all_have_entered_it() {
    const ROUNDS: usize = 12;
    let shapes = [
        ([1, 1, 1], [true; 3]),
        ([2, 1, 1], [false; 3]),
        ([3, 2, 1], [true, false, true]),
        ([2, 3, 4], [true; 3]),
        ([5, 1, 3], [false, true, true]),
        ([1, 4, 2], [true; 3]),
    ];
    for (seed, (shape, wraps)) in shapes.into_iter().enumerate() {
        let mut without = 0;
        for kind in ["world", "duplicate", "reversed"] {
            let entered = AtomicUsize::new(0);
            let nodes: usize = shape.iter().map(|extent| usize::from(*extent)).product();
            let program = |node: &SimProcess<'_, '_>, universe: &Universe| {
                let world = universe.world();
                let twin = world.duplicate();
                let backwards = -world.rank();
                let reversed = world.split_by_color_with_key(Color::with_value(0), backwards);
                let of = match kind {
                    "world" => world,
                    "duplicate" => twin,
                    _ => reversed.expect("all are in it"),
                };
                for round in 0..ROUNDS {
                    node.compute((node.rank() as usize * 7 + round * 5) % 11);
                    entered.fetch_add(1, Ordering::Relaxed);
                    of.barrier();
                    assert!(entered.load(Ordering::Relaxed) >= (round + 1) * nodes);
                }
                0
            };
            let cluster = Cluster::new(shape).wraps(wraps).seed(seed as u64);
            let (job, report) = cluster
                .mpi_memory(32)
                .run_and_report(|node| run(node, |universe| program(node, universe)));
            assert_eq!(job, Ok(vec![0; nodes]), "{shape:?} {kind}");
            // Creating the communicators requires messages.
            let messages: u64 = report.iter().map(|node| node.stats.messages_sent).sum();
            let barriers = ROUNDS as u64 * nodes as u64 * nodes.next_power_of_two().ilog2() as u64;
            match kind {
                "world" => without = messages,
                "duplicate" => assert_eq!(messages, without),
                _ => assert_eq!(messages - without, barriers),
            }
        }
    }
}

/// Short allreduces of all processes, with commutative built-in and user operations, send no messages. All processes
/// receive the same bits for every order of arrival.
#[test]
fn short_allreduces_of_all_processes_take_no_messages() {
    let shapes = [
        ([1, 1, 1], [true; 3]),
        ([2, 2, 2], [false; 3]),
        ([3, 2, 1], [true, false, true]),
        ([2, 3, 4], [true; 3]),
        ([5, 1, 3], [false, true, true]),
        ([1, 9, 2], [true; 3]),
    ];
    for (shape, wraps) in shapes {
        let nodes: usize = shape.iter().map(|extent| usize::from(*extent)).product();
        let results = Mutex::new(Vec::new());
        for seed in 0..4 {
            let program = |node: &SimProcess<'_, '_>, universe: &Universe| {
                let world = universe.world();
                let own = UserOperation::commutative(|x, y| {
                    let x: &[f64] = x.downcast().expect("numbers");
                    let y: &mut [f64] = y.downcast().expect("numbers");
                    y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
                });
                let mut bits = Vec::new();
                for round in 0..6 {
                    node.compute((node.rank() as usize * 7 + round * 5) % 11);
                    let mine = f64::from(world.rank() + 1) / 3.0;
                    let numbers = [mine, mine * 7.0, 1.0, -mine];
                    let length = round % 4 + 1;
                    let mut sums = [0.0; 4];
                    match round % 2 {
                        0 => world.all_reduce_into(&numbers[..length], &mut sums[..length], &own),
                        _ => world.all_reduce_into(&numbers[..length], &mut sums[..length], SystemOperation::sum()),
                    }
                    let all = (nodes * (nodes + 1) / 2) as f64 / 3.0;
                    assert!((sums[0] - all).abs() < 1e-9 * all, "{sums:?}");
                    bits.extend(sums.map(f64::to_bits));
                }
                results.lock().expect("no panic").push(bits);
                0
            };
            let cluster = Cluster::new(shape).wraps(wraps).seed(seed);
            let (job, report) = cluster
                .mpi_memory(32)
                .run_and_report(|node| run(node, |universe| program(node, universe)));
            assert_eq!(job, Ok(vec![0; nodes]), "{shape:?}");
            let messages: u64 = report.iter().map(|node| node.stats.messages_sent).sum();
            assert_eq!(messages, 0, "{shape:?}");
        }
        let results = results.into_inner().expect("no panic");
        assert_eq!(results.len(), 4 * nodes);
        assert!(results.iter().all(|bits| *bits == results[0]), "{shape:?}");
    }
}

/// If the counts differ, the allreduce returns an error at all processes.
#[test]
fn an_allreduce_of_different_counts_fails_everywhere() {
    for other in 0..6 {
        let job = Cluster::new([3, 2, 1]).run(|node| {
            run(node, |universe| {
                let world = universe.world();
                let count = if world.rank() == other { 3 } else { 1 };
                let (mine, mut sums) = ([1.0; 3], [0.0; 3]);
                let ended = world
                    .all_reduce(&mine[..count], &mut sums[..count], SystemOperation::sum())
                    .try_run();
                i32::from(!matches!(ended, Err(Error::Wrong { .. })))
            })
        });
        assert_eq!(job, Ok(vec![0; 6]), "rank {other}");
    }
}

/// Objects that outlive their process have no effect.
#[test]
fn objects_that_outlive_their_process_are_harmless() {
    let job = Cluster::new([2, 1, 1]).run(|node| {
        let (twin, future) = as_program(node, || {
            let universe = mpi::initialize().expect("once");
            let world = universe.world();
            (world.duplicate(), world.any_process().immediate_receive::<u64>())
        });
        assert_eq!(twin.rank(), node.rank() as Rank);
        assert!(matches!(twin.synchronize().try_run(), Err(Error::Order { .. })));
        drop((future, twin));
        0
    });
    assert_eq!(job, Ok(vec![0; 2]));
}

/// Returns the longest wait of all processes for some collectives, in nanoseconds of virtual time, after two
/// milliseconds of computation. Requests are waited for, dropped and forgotten.
fn waits(interrupt_percent: u64) -> Vec<(&'static str, u64)> {
    const LEN: usize = 2000;
    let longest = Mutex::new(Vec::new());
    let note = |name: &'static str, took: u64| {
        let mut all = longest.lock().unwrap();
        match all.iter_mut().find(|(of, _)| *of == name) {
            Some((_, most)) => *most = took.max(*most),
            None => all.push((name, took)),
        }
    };
    let program = |node: &SimProcess<'_, '_>, universe: &Universe| {
        let world = universe.world();
        let (rank, size, root) = (world.rank(), world.size(), world.process_at_rank(1));
        let before_wait = || {
            node.compute_ns(2_000_000);
            node.now_ns()
        };
        world.barrier();
        let request = world.immediate_barrier();
        let before = before_wait();
        request.wait();
        note("barrier", node.now_ns() - before);

        let mine: Vec<u64> = (0..LEN).map(|i| value(rank, i)).collect();
        let sum = |i: usize| (0..size).map(|rank| value(rank, i)).sum::<u64>();
        let mut all = vec![0u64; LEN];
        world.barrier();
        let before = mpi::request::scope(|scope| {
            let add = SystemOperation::sum();
            drop(world.immediate_all_reduce_into(scope, &mine[..], &mut all[..], add));
            before_wait()
        });
        note("allreduce, dropped", node.now_ns() - before);
        assert!((0..LEN).all(|i| all[i] == sum(i)));

        let mut part = vec![0u64; LEN];
        let parts: Vec<u64> = (0..size)
            .flat_map(|rank| (0..LEN).map(move |i| value(rank, i)))
            .collect();
        world.barrier();
        let before = mpi::request::scope(|scope| {
            std::mem::forget(if root.is_self() {
                root.immediate_scatter_into_root(scope, &parts[..], &mut part[..])
            } else {
                root.immediate_scatter_into(scope, &mut part[..])
            });
            before_wait()
        });
        note("scatter, forgotten", node.now_ns() - before);
        assert_eq!(part, mine);

        let own = UserOperation::commutative(|x, y| {
            let (x, y) = (x.downcast::<u64>().unwrap(), y.downcast::<u64>().unwrap());
            y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
        });
        all.fill(0);
        world.barrier();
        let before = mpi::request::scope(|scope| {
            let request = world.immediate_all_reduce_into(scope, &mine[..], &mut all[..], &own);
            let before = before_wait();
            request.wait();
            before
        });
        note("allreduce, own operation", node.now_ns() - before);
        assert!((0..LEN).all(|i| all[i] == sum(i)));
        0
    };
    let costs = OperationCosts {
        interrupt_percent,
        ..OperationCosts::BLUE_GENE
    };
    let job = Cluster::new([3, 2, 2])
        .costs(costs)
        .run(|node| run(node, |universe| program(node, universe)));
    assert_eq!(job, Ok(vec![0; 12]));
    longest.into_inner().unwrap()
}

/// Except for those that run a user function.
#[test]
fn collectives_go_on_while_all_processes_compute() {
    let (hidden, open) = (waits(100), waits(0));
    for ((name, took), (_, without)) in hidden.iter().zip(&open) {
        let is_hidden = *took <= 7 * 700 && *without > 14 * 700;
        let is_own = *name == "allreduce, own operation";
        assert_eq!(is_hidden, !is_own, "{name}: {took}, {without} without");
    }
    assert_eq!(hidden.len(), 4, "{hidden:?}");
}
