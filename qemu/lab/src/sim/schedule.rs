//! Schedule of a job: every choice is drawn from one seed.
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, RandomStream};

use super::check::{MemoryFailure, Violation};
use super::net::JobNetwork;
use super::process::{JobRecords, RankProcess};
use super::setup::JobSetup;

/// Relative speeds, redrawn from time to time.
struct SpeedTable {
    deliver: u32,
    poll: u32,
    step: u32,
    /// Ranks that sleep, and paused channels.
    asleep: u64,
    paused: u64,
    /// Maximum number of packets that one poll receives and injects.
    burst: usize,
}

impl SpeedTable {
    fn draw(random: &mut Random) -> SpeedTable {
        let weight = |random: &mut Random| random.pick(&[1, 1, 3, 10, 40]);
        let mask = |random: &mut Random| match random.below(4) {
            0 => random.bits(),
            1 => random.bits() & random.bits(),
            _ => 0,
        };
        SpeedTable {
            deliver: weight(random),
            poll: weight(random),
            step: weight(random),
            asleep: mask(random),
            paused: mask(random),
            burst: random.pick(&[1, 1, 2, 4, 64]),
        }
    }
}

fn poll(process: &mut RankProcess<'_>, net: &mut impl JobNetwork, take: usize, inject: usize) -> bool {
    let RankProcess { rank, adi, buffers, .. } = process;
    let moved = net.poll(rank.index() as usize, take, inject, adi, buffers);
    process.polled() || moved
}

/// Consecutive choices without effect before everything has a turn.
const PATIENCE: u32 = 100;

/// Runs until every program has ended and nothing can move. Returns the number of choices made, and the call that
/// lacked memory when nothing could move without it.
pub(super) fn run(
    processes: &mut [RankProcess<'_>],
    net: &mut impl JobNetwork,
    records: &mut JobRecords,
    setup: &JobSetup,
    limit: u64,
) -> Result<(u64, Option<MemoryFailure>), Violation> {
    let random = &mut Random::new(setup.seed, RandomStream::Schedule);
    let mut tempo = SpeedTable::draw(random);
    let mut in_vain = 0;
    for steps in 1..=limit {
        if steps % 64 == 0 && random.chance(0.3) {
            tempo = SpeedTable::draw(random);
        }
        if setup.lends > 0 && random.chance(0.02) {
            let at = random.index(processes.len());
            processes[at].change_heap(random.below(setup.lends + 1));
        }
        let moved = choose(processes, net, records, &tempo, random)?;
        in_vain = if moved { 0 } else { in_vain + 1 };
        if in_vain > PATIENCE {
            in_vain = 0;
            tempo = SpeedTable::draw(random);
            if move_all(processes, net, records)? {
                continue;
            }
            match short(processes) {
                Some(_) if processes[0].heap.extend() => {}
                short => {
                    return check_finished(processes, short.is_some()).map(|()| (steps, short));
                }
            }
        }
    }
    Err(Violation::Endless { steps: limit + 1 })
}

/// Makes one choice; returns whether something moved.
fn choose(
    processes: &mut [RankProcess<'_>],
    net: &mut impl JobNetwork,
    records: &mut JobRecords,
    tempo: &SpeedTable,
    random: &mut Random,
) -> Result<bool, Violation> {
    let drawn = random.below(tempo.deliver + tempo.poll + tempo.step);
    if drawn < tempo.deliver {
        return Ok(net.deliver(random, tempo.paused));
    }
    let at = random.index(processes.len());
    if tempo.asleep >> (at % 64) & 1 != 0 {
        return Ok(false);
    }
    if drawn < tempo.deliver + tempo.poll {
        let take = random.index(tempo.burst + 1);
        let inject = random.index(tempo.burst + 1);
        return Ok(poll(&mut processes[at], net, take, inject));
    }
    processes[at].step(records)
}

/// Gives every process a turn and delivers every packet. If nothing moves now, nothing ever will.
fn move_all(
    processes: &mut [RankProcess<'_>],
    net: &mut impl JobNetwork,
    records: &mut JobRecords,
) -> Result<bool, Violation> {
    let mut moved = false;
    for process in processes.iter_mut() {
        moved |= process.step(records)?;
        moved |= poll(process, net, 1, usize::MAX);
    }
    Ok(moved | net.deliver_all())
}

/// Returns a call that waits for memory.
fn short(processes: &[RankProcess<'_>]) -> Option<MemoryFailure> {
    processes.iter().find_map(|process| {
        let (at, what) = process.short()?;
        let rank = process.rank;
        Some(MemoryFailure { rank, at, what })
    })
}

/// Checks a job in which nothing moves: every program must have ended, unless one lacks memory.
fn check_finished(processes: &[RankProcess<'_>], is_short: bool) -> Result<(), Violation> {
    match processes.iter().find_map(RankProcess::stuck) {
        Some(stuck) if !is_short => Err(stuck),
        _ => Ok(()),
    }
}
