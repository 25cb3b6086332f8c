//! Every matching engine carries the same jobs to the same ends: random jobs, the protocol's exploration, and programs
//! on clusters in one process.
#![forbid(unsafe_code)]

use std::sync::Mutex;

use midplane_lab::explore::{Expected, Row, cases, unwatched};
use midplane_lab::sim::Seeded;
use midplane_lab::{Cluster, Node};
use mpi_adi::matching::Choice;
use mpi_adi::{Communicator, Error, Mpi, Op, Source, TagSelector};

/// Random jobs for each engine in a bounded run; `cargo midplane soak --matching NAME` goes on.
const JOBS: u64 = 300;

#[test]
fn random_jobs_complete_with_every_engine() {
    let failure = |choice, seed| {
        let failure = Seeded::draw(seed).with_matching(choice).run().err()?;
        Some(format!("{choice}, seed {seed}: {failure}"))
    };
    let failures: Vec<String> = { Choice::ALL.iter() }
        .flat_map(|&choice| (0..JOBS).filter_map(move |seed| failure(choice, seed)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The states that the device can be in are those of the protocol: an engine adds none.
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
    let rows: Vec<Row> = groups.into_iter().flatten().filter(is_small).collect();
    assert!(rows.len() > 10, "{}", rows.len());
    for row in &rows {
        let explored = |choice: Choice| {
            let explored = row.clone().with_matching(choice).explore(&mut unwatched);
            explored.unwrap_or_else(|surprise| panic!("{}, {choice}: {surprise}", row.name))
        };
        let first = explored(Choice::List);
        for &choice in Choice::ALL {
            assert_eq!(explored(choice), first, "{}, {choice}", row.name);
        }
    }
}

/// Few enough states to be explored once for each engine.
fn is_small(row: &Row) -> bool {
    matches!(row.expected, Expected::Holds { reduced, .. } if reduced < 20_000)
}

/// What each process has written, by rank.
type Outputs = Vec<Vec<u64>>;

struct Programs {
    extents: [u16; 3],
    mpi_memory: usize,
    seed: u64,
}

impl Programs {
    fn run(&self, choice: Choice) -> Outputs {
        let nodes: usize = self.extents.iter().map(|n| usize::from(*n)).product();
        let outputs = Mutex::new(vec![Vec::new(); nodes]);
        let run = |node: &Node<'_, '_>| {
            let mpi = Mpi::new(node);
            let output = program(mpi).and_then(|output| mpi.finalize().map(|()| output));
            let output = output.unwrap_or_else(|error| panic!("rank {}: {error}", node.rank()));
            outputs.lock().expect("no panic")[node.rank() as usize] = output;
            0
        };
        let cluster = Cluster::new(self.extents)
            .mpi_memory(self.mpi_memory)
            .seed(self.seed)
            .matching(choice);
        let (job, reports) = cluster.run_and_report(run);
        assert_eq!(job, Ok(vec![0; nodes]), "{}", choice);
        for report in reports {
            assert_eq!((report.posted, report.unexpected), (0, 0), "{}", choice);
        }
        outputs.into_inner().expect("no panic")
    }
}

/// All parts, one after the other.
fn program(mpi: Mpi<'_>) -> Result<Vec<u64>, Error> {
    let world = mpi.world();
    let mut output = Vec::new();
    point_to_point(&world, &mut output)?;
    wildcards(&world, &mut output)?;
    collectives(&world, &mut output)?;
    cancels(&world, &mut output)?;
    // Contexts are used again, and further communicators are made of others.
    for round in 0..2 {
        let duplicate = world.duplicate()?;
        point_to_point(&duplicate.get(), &mut output)?;
        let part = world.split(Some(world.rank() % 2), -(world.rank() as i32))?;
        let part = part.expect("a part for every color");
        wildcards(&part.get(), &mut output)?;
        collectives(&part.get(), &mut output)?;
        output.push(round);
    }
    Ok(output)
}

/// Many messages to the neighbour, received in the reverse order of their tags, some of them long, some posted early.
fn point_to_point(comm: &Communicator<'_>, output: &mut Vec<u64>) -> Result<(), Error> {
    const MESSAGES: usize = 12;
    let (rank, size) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let out: Vec<Vec<u64>> = (0..MESSAGES)
        .map(|i| vec![u64::from(rank) * 100 + i as u64; [1, 40, 700][i % 3]])
        .collect();
    let mut into = vec![vec![0u64; 700]; MESSAGES];
    comm.scope(|scope| {
        for (i, data) in out.iter().enumerate() {
            drop(scope.isend(data, right, i as i32 % 7)?);
        }
        for (i, buffer) in into.iter_mut().enumerate().rev() {
            let request = scope.irecv(buffer, left, i as i32 % 7)?;
            if i % 2 == 0 {
                let (status, buffer) = request.wait()?;
                output.extend([status.bytes as u64, buffer[0]]);
            }
        }
        Ok::<_, Error>(())
    })??;
    output.extend(into.iter().map(|buffer| buffer.iter().sum::<u64>()));
    Ok(())
}

/// Rank 0 takes from any source: what comes is not in a fixed order between sources, but it is within each.
fn wildcards(comm: &Communicator<'_>, output: &mut Vec<u64>) -> Result<(), Error> {
    const EACH: u64 = 5;
    let (rank, size) = (comm.rank(), comm.size());
    if rank != 0 {
        for i in 0..EACH {
            comm.send(&[u64::from(rank), i], 0, i as i32 % 3)?;
        }
        return comm.barrier();
    }
    let mut next = vec![[0; 3]; size as usize];
    let mut sums = vec![0; size as usize];
    for i in 0..u64::from(size - 1) * EACH {
        let tag = if i % 2 == 0 {
            TagSelector::Any
        } else {
            comm.probe(Source::Any, TagSelector::Any)?.tag.into()
        };
        let mut got = [0; 2];
        let status = comm.recv(&mut got, Source::Any, tag)?;
        assert_eq!(u64::from(status.source), got[0]);
        let last = &mut next[status.source as usize][status.tag as usize];
        assert!(*last <= got[1] && got[1] % 3 == status.tag as u64);
        *last = got[1] + 1;
        sums[status.source as usize] += got[1];
    }
    assert_eq!(comm.iprobe(Source::Any, TagSelector::Any)?, None);
    output.extend(sums);
    comm.barrier()
}

fn collectives(comm: &Communicator<'_>, output: &mut Vec<u64>) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    for len in [1, 130] {
        let mine: Vec<u64> = (0..len).map(|i| u64::from(rank) * 7 + i).collect();
        for root in [0, size / 2] {
            let mut data = mine.clone();
            comm.bcast(&mut data, root)?;
            let mut all = vec![
                0;
                if rank == root {
                    mine.len() * size as usize
                } else {
                    0
                }
            ];
            comm.gather(&mine, &mut all, root)?;
            output.extend([data.iter().sum::<u64>(), all.iter().sum::<u64>()]);
        }
        let mut sum = vec![0; mine.len()];
        comm.allreduce(&mine, &mut sum, Op::Sum)?;
        let mut all = vec![0; mine.len() * size as usize];
        comm.allgather(&mine, &mut all)?;
        output.extend(sum.iter().chain(&all));
    }
    Ok(())
}

/// Receives of any source that are taken back among others, and messages of theirs that come afterwards.
fn cancels(comm: &Communicator<'_>, output: &mut Vec<u64>) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut kept = [[0u64; 1]; 20];
    let mut dropped = [[0u64; 1]; 20];
    comm.scope(|scope| {
        let mut requests = Vec::new();
        for (i, (kept, dropped)) in kept.iter_mut().zip(&mut dropped).enumerate() {
            let back = match i % 2 {
                0 => scope.irecv(dropped, Source::Any, 50 + i as i32)?,
                _ => scope.irecv(dropped, left, 50 + i as i32)?,
            };
            requests.push(back);
            drop(scope.irecv(kept, left, 20 + i as i32)?);
        }
        for request in requests {
            let (status, _) = request.cancel()?;
            output.push(u64::from(status.is_none()));
        }
        comm.barrier()?;
        for i in (0..20).rev() {
            comm.send(&[u64::from(rank) * 1000 + i], right, 20 + i as i32)?;
        }
        Ok::<_, Error>(())
    })??;
    output.extend(kept.as_flattened());
    Ok(())
}

#[test]
fn programs_write_the_same_with_every_engine() {
    let settings = [
        ([2, 2, 1], 32, 1),
        ([2, 2, 1], 64 << 10, 2),
        ([3, 2, 1], 512, 3),
        // As many processes as the 4-D queue needs for having cubes.
        ([3, 3, 3], 1 << 10, 4),
    ];
    for (extents, mpi_memory, seed) in settings {
        let programs = Programs {
            extents,
            mpi_memory,
            seed,
        };
        let first = programs.run(Choice::List);
        for choice in &Choice::ALL[1..] {
            assert!(programs.run(*choice) == first, "{extents:?}, {choice}");
        }
    }
}
