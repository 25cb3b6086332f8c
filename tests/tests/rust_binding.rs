//! The Rust binding and the collectives over the whole stack, on clusters of every small shape, with MPI
//! memory from one record to plenty.

use std::sync::atomic::{AtomicUsize, Ordering};

use midplane_tests::{Cluster, Node, Statuses};
use mpi_adi::{Communicator, Error, Mpi, Op, Source, TagSelector};

const SHAPES: [[u16; 3]; 6] = [
    [1, 1, 1],
    [2, 1, 1],
    [3, 1, 1],
    [2, 2, 1],
    [5, 1, 1],
    [2, 2, 2],
];

/// Runs `program` on every shape with different seeds and amounts of memory; it must end well everywhere.
fn everywhere(program: impl Fn(Mpi<'_>) -> Result<(), Error> + Sync) {
    for (i, shape) in SHAPES.into_iter().enumerate() {
        for (j, memory) in [32, 256, 65536].into_iter().enumerate() {
            let seed = (i * 3 + j) as u64;
            let nodes = shape.iter().map(|extent| usize::from(*extent)).product();
            let run = |node: &Node<'_, '_>| {
                let mpi = Mpi::new(node);
                program(mpi)
                    .and_then(|()| mpi.finalize())
                    .map_or_else(|error| panic!("rank {}: {error}", node.rank()), |()| 0)
            };
            let job: Statuses = Cluster::new(shape).seed(seed).mpi_memory(memory).run(run);
            assert_eq!(
                job,
                Ok(vec![0; nodes]),
                "shape {shape:?}, {memory} bytes, seed {seed}"
            );
        }
    }
}

fn neighbours(world: &Communicator<'_>) -> (u32, u32) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

/// What `rank` gives at place `i`.
fn value(rank: u32, i: usize) -> u64 {
    u64::from(rank) * 1000 + i as u64 + 1
}

#[test]
fn a_ring_of_sendrecv_hands_on_what_it_got() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (right, left) = neighbours(&world);
        for len in [0, 1, 30, 31, 300, 5000] {
            let mine: Vec<u64> = (0..len).map(|i| value(world.rank(), i)).collect();
            let mut got = vec![0u64; len + 1];
            let status = world.sendrecv(&mine, right, 7, &mut got, left, 7)?;
            assert_eq!((status.source, status.tag), (left, 7));
            assert_eq!(status.count::<u64>(), Some(len));
            let expected: Vec<u64> = (0..len).map(|i| value(left, i)).collect();
            assert_eq!(&got[..len], expected);
            assert_eq!(got[len], 0, "nothing behind the message");
        }
        Ok(())
    });
}

#[test]
fn requests_in_a_scope_borrow_and_give_back() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (right, left) = neighbours(&world);
        let out: Vec<Vec<u32>> = (0..6)
            .map(|i| vec![world.rank() * 10 + i; 100 * i as usize])
            .collect();
        let mut into: Vec<Vec<u32>> = (0..6).map(|i| vec![0; 100 * i + 5]).collect();
        world.scope(|scope| {
            // Received in the reverse order of sending; every second request is left to the scope's end.
            for (i, data) in out.iter().enumerate() {
                let request = scope.isend(data, right, i as i32)?;
                if i % 2 == 0 {
                    drop(request);
                }
            }
            for (i, buffer) in into.iter_mut().enumerate().rev() {
                let request = scope.irecv(buffer, left, i as i32)?;
                if i % 2 == 0 {
                    let (status, buffer) = request.wait()?;
                    assert_eq!(status.count::<u32>(), Some(100 * i));
                    assert!(buffer[..100 * i].iter().all(|x| *x == left * 10 + i as u32));
                }
            }
            Ok::<_, Error>(())
        })??;
        for (i, buffer) in into.iter().enumerate() {
            assert!(buffer[..100 * i].iter().all(|x| *x == left * 10 + i as u32));
            assert!(buffer[100 * i..].iter().all(|x| *x == 0));
        }
        Ok(())
    });
}

#[test]
fn a_receive_in_a_scope_can_be_taken_back() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (right, left) = neighbours(&world);
        let mut never = [1u8; 4];
        world.scope(|scope| {
            let request = scope.irecv(&mut never, Source::Any, 99)?;
            assert!(!request.is_done());
            let (status, buffer) = request.cancel()?;
            assert_eq!((status, &*buffer), (None, &[1u8; 4][..]));
            Ok::<_, Error>(())
        })??;
        world.barrier()?;
        let mut got = [0u8];
        world.sendrecv(&[5u8], right, 99, &mut got, left, 99)?;
        assert_eq!(got, [5]);
        Ok(())
    });
}

#[test]
fn a_cancelled_send_is_received_or_not_and_its_sender_knows() {
    const LENGTHS: [usize; 6] = [0, 3, 200, 600, 5000, 20_000];
    const COUNT: usize = 30;
    everywhere(|mpi| {
        let world = mpi.world();
        let (right, left) = neighbours(&world);
        let length = |i: usize| LENGTHS[i * 5 % LENGTHS.len()];
        let of = |rank: u32, i: usize| vec![(rank as usize * 31 + i) as u8; length(i)];
        let out: Vec<Vec<u8>> = (0..COUNT).map(|i| of(world.rank(), i)).collect();
        let mut kept = [1u8; COUNT];
        world.scope(|scope| {
            let mut cancelled = Vec::new();
            for (i, data) in out.iter().enumerate() {
                // Several of a tag, so that those taken back lie between others.
                let tag = i as i32 % 4;
                let request = match i % 5 {
                    0 => scope.issend(data, right, tag)?,
                    _ => scope.isend(data, right, tag)?,
                };
                if i % 3 != 1 {
                    cancelled.push((i, request));
                }
            }
            for (i, request) in cancelled.into_iter().rev() {
                kept[i] = u8::from(!request.cancel());
            }
            let mut expected = [0u8; COUNT];
            world.sendrecv(&kept, right, 9, &mut expected, left, 9)?;
            for tag in [2, 0, 3, 1] {
                let wanted = (0..COUNT).filter(|i| i % 4 == tag && expected[*i] == 1);
                for i in wanted {
                    let mut data = vec![0; 20_000];
                    let status = world.recv(&mut data, left, tag as i32)?;
                    assert_eq!(&data[..status.bytes], of(left, i), "{i}");
                }
                assert_eq!(world.iprobe(left, tag as i32)?, None);
            }
            Ok::<_, Error>(())
        })?
    });
}

#[test]
fn a_truncated_message_is_an_error_wherever_it_is_waited_for() {
    everywhere(|mpi| {
        let own = mpi.own();
        let long = [9u16; 50];
        let mut short = [0u16; 3];
        let truncated = Err(Error::Truncated {
            source: 0,
            tag: 4,
            room: 6,
        });
        let waited = own.scope(|scope| {
            let send = scope.isend(&long, 0, 4)?;
            let result = own.recv(&mut short, 0, TagSelector::Any);
            send.wait();
            result
        })?;
        assert_eq!(waited, truncated);
        assert_eq!(short, [9; 3]);
        let at_the_end = own.scope(|scope| {
            let _ = scope.irecv(&mut short, 0, 4)?;
            let _ = scope.isend(&long, 0, 4)?;
            Ok::<_, Error>(())
        });
        assert_eq!(at_the_end.map(|_| ()), truncated.map(|_| ()));
        Ok(())
    });
}

#[test]
fn mistakes_are_refused_before_anything_happens() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (size, mut got) = (world.size(), [0i32]);
        let nobody = Error::Rank {
            rank: size.into(),
            size,
        };
        assert_eq!(world.send(&[1i32], size, 0), Err(nobody));
        assert_eq!(world.recv(&mut got, size, 0), Err(nobody));
        assert_eq!(world.send(&[1i32], 0, -1), Err(Error::Tag { tag: -1 }));
        assert_eq!(world.recv(&mut got, 0, -9), Err(Error::Tag { tag: -9 }));
        let root = Error::Root {
            root: size.into(),
            size,
        };
        assert_eq!(world.bcast(&mut got, size), Err(root));
        assert_eq!(
            world.allreduce(&[1.5f64], &mut [0.0], Op::Band),
            Err(Error::Undefined)
        );
        let lengths = Error::Lengths {
            expected: 8,
            given: 4,
        };
        assert_eq!(world.allreduce(&[1i32, 2], &mut got, Op::Sum), Err(lengths));
        Ok(())
    });
}

#[test]
fn probes_see_what_a_receive_would_take() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (right, left) = neighbours(&world);
        let data = vec![3i64; 77];
        world.scope(|scope| {
            drop(scope.isend(&data, right, 5)?);
            let status = world.probe(Source::Any, TagSelector::Any)?;
            assert_eq!((status.source, status.tag, status.bytes), (left, 5, 77 * 8));
            let mut got = vec![0i64; status.count::<i64>().expect("whole numbers")];
            world.recv(&mut got, status.source, status.tag)?;
            assert_eq!(got, vec![3; 77]);
            assert_eq!(world.iprobe(left, 6)?, None);
            Ok::<_, Error>(())
        })?
    });
}

#[test]
fn collectives_agree_with_the_obvious_computation() {
    everywhere(|mpi| {
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        world.barrier()?;
        for len in [0, 1, 127, 128, 129, 700] {
            for root in 0..size {
                let mut data: Vec<u64> = (0..len).map(|i| value(rank, i)).collect();
                let mut sum = vec![0; len];
                let here = rank == root;
                world.reduce(&data, here.then_some(&mut sum[..]), Op::Sum, root)?;
                if here {
                    let all = |i| (0..size).map(|rank| value(rank, i)).sum::<u64>();
                    assert_eq!(sum, (0..len).map(all).collect::<Vec<_>>());
                }
                world.bcast(&mut data, root)?;
                assert_eq!(data, (0..len).map(|i| value(root, i)).collect::<Vec<_>>());
            }
            let data: Vec<u64> = (0..len).map(|i| value(rank, i)).collect();
            let mut most = vec![0; len];
            world.allreduce(&data, &mut most, Op::Max)?;
            assert_eq!(
                most,
                (0..len).map(|i| value(size - 1, i)).collect::<Vec<_>>()
            );

            let everybody: Vec<u64> = (0..size)
                .flat_map(|rank| (0..len).map(move |i| value(rank, i)))
                .collect();
            let mut all = vec![0; len * size as usize];
            world.allgather(&data, &mut all)?;
            assert_eq!(all, everybody);
            let root = size - 1;
            all.fill(0);
            world.gather(&data, if rank == root { &mut all } else { &mut [] }, root)?;
            assert!(rank != root || all == everybody);
            let mut part = vec![0; len];
            world.scatter(if rank == root { &all } else { &[] }, &mut part, root)?;
            assert_eq!(part, data);
        }
        Ok(())
    });
}

#[test]
fn a_sum_has_the_same_bits_at_every_root_and_under_every_seed() {
    let bits = |seed: u64, root: u32| {
        let result = std::sync::Mutex::new(0);
        let job = Cluster::new([5, 1, 1])
            .seed(seed)
            .mpi_memory(64)
            .run(|node| {
                let world = Mpi::new(node).world();
                let mine = [0.1 * f64::from(world.rank() + 1).powi(7)];
                let mut sum = [0.0];
                let here = world.rank() == root;
                world
                    .reduce(&mine, here.then_some(&mut sum[..]), Op::Sum, root)
                    .expect("a sum");
                if here {
                    *result.lock().expect("one writer") = sum[0].to_bits();
                }
                0
            });
        assert_eq!(job, Ok(vec![0; 5]));
        result.into_inner().expect("one writer")
    };
    let first = bits(1, 0);
    for seed in 2..8 {
        assert_eq!(bits(seed, (seed % 5) as u32), first);
    }
}

#[test]
fn processes_that_disagree_on_a_length_are_told_so() {
    for (root, given) in [(3, Some(3)), (7, None)] {
        let job = Cluster::new([2, 1, 1]).run(|node| {
            let world = Mpi::new(node).world();
            let mut data = vec![0u8; if world.rank() == 0 { root } else { 5 }];
            let ended = world.bcast(&mut data, 0);
            let differ = Err(Error::CountsDiffer {
                rank: 0,
                expected: 5,
                given,
            });
            let expected = if world.rank() == 0 { Ok(()) } else { differ };
            i32::from(ended != expected)
        });
        assert_eq!(job, Ok(vec![0; 2]), "{root} bytes at the root");
    }
}

/// Nobody leaves the n-th barrier before everybody has entered it, on tori and meshes, however unequal the
/// processes are, and it takes no messages: of all processes along the torus, of a duplicate by messages.
#[test]
fn nobody_leaves_a_barrier_before_all_have_entered_it() {
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
        for duplicate in [false, true] {
            let entered = AtomicUsize::new(0);
            let nodes: usize = shape.iter().map(|extent| usize::from(*extent)).product();
            let run = |node: &Node<'_, '_>| {
                let mpi = Mpi::new(node);
                let world = mpi.world();
                let twin = world.duplicate().expect("a duplicate");
                let of = if duplicate { twin.get() } else { world };
                for round in 0..ROUNDS {
                    node.compute((node.rank() as usize * 7 + round * 5) % 11);
                    entered.fetch_add(1, Ordering::Relaxed);
                    of.barrier().expect("a barrier");
                    assert!(entered.load(Ordering::Relaxed) >= (round + 1) * nodes);
                }
                0
            };
            let cluster = Cluster::new(shape).wraps(wraps).seed(seed as u64);
            let (job, report) = cluster.mpi_memory(32).run_and_report(run);
            assert_eq!(job, Ok(vec![0; nodes]), "{shape:?} {duplicate}");
            // Making the duplicate takes messages, and so do the barriers on it alone.
            let messages: u64 = report.iter().map(|node| node.stats.messages_sent).sum();
            let barriers = ROUNDS as u64 * nodes as u64 * nodes.next_power_of_two().ilog2() as u64;
            match duplicate {
                false => without = messages,
                true => assert_eq!(messages - without, barriers),
            }
        }
    }
}
