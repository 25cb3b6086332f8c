//! Every matching engine produces the same results: random jobs, the protocol's exploration, and programs on in-process
//! clusters.
#![forbid(unsafe_code)]

use std::sync::Mutex;

use midplane_engines::EngineChoice;
use midplane_lab::explore::{CaseRow, ExpectedResult, cases, never_stop};
use midplane_lab::sim::SeededJob;
use midplane_lab::{Cluster, SimProcess, as_program};
use mpi::Tag;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::{Color, Process};
use mpi::traits::*;

/// Random jobs for each engine in a bounded run; `cargo midplane soak --matching NAME` runs more.
const JOBS: u64 = 300;

#[test]
fn random_jobs_complete_with_every_engine() {
    let failure = |choice, seed| {
        let failure = SeededJob::draw(seed).with_matching(choice).run().err()?;
        Some(format!("{choice}, seed {seed}: {failure}"))
    };
    let failures: Vec<String> = { EngineChoice::ALL.iter() }
        .flat_map(|&choice| (0..JOBS).filter_map(move |seed| failure(choice, seed)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The device's states are those of the protocol: an engine adds none.
#[test]
fn every_engine_leads_through_the_same_states() {
    let groups = [
        cases::one_sender(),
        cases::one_sender_reversed(),
        cases::any_tag(),
        cases::two_senders_and_one_record(),
        cases::cancelled_sends(),
        cases::cancelled_receives(),
    ];
    let rows: Vec<CaseRow> = groups.into_iter().flatten().filter(is_small).collect();
    assert!(rows.len() > 10, "{}", rows.len());
    for row in &rows {
        let explored = |choice: EngineChoice| {
            let explored = row.clone().with_matching(choice).explore(&mut never_stop);
            explored.unwrap_or_else(|surprise| panic!("{}, {choice}: {surprise}", row.name))
        };
        let first = explored(EngineChoice::List);
        for &choice in EngineChoice::ALL {
            assert_eq!(explored(choice), first, "{}, {choice}", row.name);
        }
    }
}

/// Checks whether the row has few enough states to be explored once per engine.
fn is_small(row: &CaseRow) -> bool {
    matches!(row.expected, ExpectedResult::Holds { reduced, .. } if reduced < 20_000)
}

type Outputs = Vec<Vec<u64>>;

struct Programs {
    extents: [u16; 3],
    mpi_memory: usize,
    seed: u64,
}

impl Programs {
    fn run(&self, choice: EngineChoice) -> Outputs {
        let nodes: usize = self.extents.iter().map(|n| usize::from(*n)).product();
        let outputs = Mutex::new(vec![Vec::new(); nodes]);
        let run = |node: &SimProcess<'_, '_>| {
            let output = as_program(node, || program(&mpi::initialize().expect("once")));
            outputs.lock().expect("no panic")[node.rank() as usize] = output;
            0
        };
        let cluster = Cluster::new(self.extents)
            .mpi_memory(self.mpi_memory)
            .seed(self.seed)
            .matching(choice);
        let (job, reports) = cluster.run_and_report(run);
        assert_eq!(job, Ok(vec![0; nodes]), "{choice}");
        for report in reports {
            assert_eq!((report.posted, report.unexpected), (0, 0), "{choice}");
        }
        outputs.into_inner().expect("no panic")
    }
}

/// Runs all parts, one after the other.
fn program(universe: &Universe) -> Vec<u64> {
    let world = universe.world();
    let mut output = Vec::new();
    point_to_point(&world, &mut output);
    wildcards(&world, &mut output);
    collectives(&world, &mut output);
    cancels(&world, &mut output);
    // Reuses contexts, and creates communicators from others.
    for round in 0..2 {
        let duplicate = world.duplicate();
        point_to_point(&duplicate, &mut output);
        let color = Color::with_value(world.rank() % 2);
        let part = world.split_by_color_with_key(color, -world.rank());
        let part = part.expect("a part for every color");
        wildcards(&part, &mut output);
        collectives(&part, &mut output);
        output.push(round);
    }
    output
}

/// Returns the right and the left neighbour.
fn neighbours(comm: &impl Communicator) -> [Process<'_>; 2] {
    let (rank, size) = (comm.rank(), comm.size());
    [(rank + 1) % size, (rank + size - 1) % size].map(|rank| comm.process_at_rank(rank))
}

/// Sends many messages to the neighbour, received in reverse order of their tags; some are long, some posted early.
fn point_to_point(comm: &impl Communicator, output: &mut Vec<u64>) {
    const MESSAGES: usize = 12;
    let [right, left] = neighbours(comm);
    let out: Vec<Vec<u64>> = (0..MESSAGES)
        .map(|i| vec![comm.rank() as u64 * 100 + i as u64; [1, 40, 700][i % 3]])
        .collect();
    let mut into = vec![vec![0u64; 700]; MESSAGES];
    mpi::request::scope(|scope| {
        for (i, data) in out.iter().enumerate() {
            drop(right.immediate_send_with_tag(scope, data, i as Tag % 7));
        }
        for (i, buffer) in into.iter_mut().enumerate().rev() {
            let request = left.immediate_receive_into_with_tag(scope, buffer, i as Tag % 7);
            if i % 2 == 0 {
                let status = request.wait();
                output.push(status.count(u64::equivalent_datatype()) as u64);
            }
        }
    });
    output.extend(into.iter().map(|buffer| buffer.iter().sum::<u64>()));
}

/// Rank 0 receives from any source. Messages of different sources are unordered, those of each source are ordered.
fn wildcards(comm: &impl Communicator, output: &mut Vec<u64>) {
    const EACH: u64 = 5;
    let (rank, size) = (comm.rank(), comm.size());
    if rank != 0 {
        for i in 0..EACH {
            comm.process_at_rank(0).send_with_tag(&[rank as u64, i], i as Tag % 3);
        }
        return comm.barrier();
    }
    let anyone = comm.any_process();
    let mut next = vec![[0; 3]; size as usize];
    let mut sums = vec![0; size as usize];
    for i in 0..(size as u64 - 1) * EACH {
        let mut got = [0_u64; 2];
        let status = if i % 2 == 0 {
            anyone.receive_into(&mut got)
        } else {
            let tag = anyone.probe().tag();
            anyone.receive_into_with_tag(&mut got, tag)
        };
        let (source, tag) = (status.source_rank() as usize, status.tag() as usize);
        assert_eq!(source as u64, got[0]);
        let last = &mut next[source][tag];
        assert!(*last <= got[1] && got[1] % 3 == tag as u64);
        *last = got[1] + 1;
        sums[source] += got[1];
    }
    assert_eq!(anyone.immediate_probe(), None);
    output.extend(sums);
    comm.barrier();
}

fn collectives(comm: &impl Communicator, output: &mut Vec<u64>) {
    let (rank, size) = (comm.rank(), comm.size());
    for len in [1, 130] {
        let mine: Vec<u64> = (0..len).map(|i| rank as u64 * 7 + i).collect();
        for root in [0, size / 2] {
            let root_process = comm.process_at_rank(root);
            let mut data = mine.clone();
            root_process.broadcast_into(&mut data);
            let mut all = Vec::new();
            if rank == root {
                all = vec![0; mine.len() * size as usize];
                root_process.gather_into_root(&mine, &mut all);
            } else {
                root_process.gather_into(&mine);
            }
            output.extend([data.iter().sum::<u64>(), all.iter().sum::<u64>()]);
        }
        let mut sum = vec![0; mine.len()];
        comm.all_reduce_into(&mine, &mut sum, SystemOperation::sum());
        let mut all = vec![0; mine.len() * size as usize];
        comm.all_gather_into(&mine, &mut all);
        output.extend(sum.iter().chain(&all));
    }
}

/// Cancels receives from any source among others, and sends messages that arrive afterwards.
fn cancels(comm: &impl Communicator, output: &mut Vec<u64>) {
    let rank = comm.rank() as u64;
    let [right, left] = neighbours(comm);
    let mut kept = [[0u64; 1]; 20];
    let mut dropped = [[0u64; 1]; 20];
    mpi::request::scope(|scope| {
        let mut requests = Vec::new();
        for (i, (kept, dropped)) in (0..).zip(kept.iter_mut().zip(&mut dropped)) {
            let back = match i % 2 {
                0 => {
                    let anyone = comm.any_process();
                    anyone.immediate_receive_into_with_tag(scope, dropped, 50 + i)
                }
                _ => left.immediate_receive_into_with_tag(scope, dropped, 50 + i),
            };
            requests.push(back);
            drop(left.immediate_receive_into_with_tag(scope, kept, 20 + i));
        }
        for request in requests {
            request.cancel();
            output.push(u64::from(request.wait().is_cancelled()));
        }
        comm.barrier();
        for i in (0..20).rev() {
            right.send_with_tag(&[rank * 1000 + i as u64], 20 + i);
        }
    });
    output.extend(kept.as_flattened());
}

#[test]
fn programs_write_the_same_with_every_engine() {
    let settings = [
        ([2, 2, 1], 32, 1),
        ([2, 2, 1], 64 << 10, 2),
        ([3, 2, 1], 512, 3),
        // Enough processes for the 4-D queue to create cubes.
        ([3, 3, 3], 1 << 10, 4),
    ];
    for (extents, mpi_memory, seed) in settings {
        let programs = Programs {
            extents,
            mpi_memory,
            seed,
        };
        let first = programs.run(EngineChoice::List);
        for choice in &EngineChoice::ALL[1..] {
            assert!(programs.run(*choice) == first, "{extents:?}, {choice}");
        }
    }
}
