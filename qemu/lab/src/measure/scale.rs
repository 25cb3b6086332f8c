//! Programs on simulated machines of any size, in virtual time: each node contains device, router and links, and runs
//! the program by the Rust binding. The result is a function of the arguments alone.
//!
//! [`timed`](super::timed) describes the cost model.
#![forbid(unsafe_code)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::as_program;
use midplane_cluster::{Cluster, JobFailure, JobProgress, SimProcess};
use midplane_rust::collective::SystemOperation;
use midplane_rust::point_to_point::send_receive_into_with_tags;
use midplane_rust::topology::SimpleCommunicator;
use midplane_rust::traits::*;
use midplane_rust::{Rank, initialize, request};

use super::timed::OperationCosts;

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScaleProgram {
    /// Every rank but 0 sends messages of tags 1 to N by MPI_Isend and waits for all; rank 0 receives them one by one,
    /// by source, in the reverse order of their tags (paper 004, section 5.1).
    Killer,
    /// MPI_Barrier.
    Barrier,
    /// MPI_Allreduce: the sums of 64-bit numbers.
    Allreduce,
    /// Every rank exchanges a message with every other, in turn: in step k with the ranks at distance k in both
    /// directions.
    AllToAll,
    /// Every rank sends a message to its neighbour along X and receives that of the opposite neighbour.
    Neighbour,
}

/// A program with its machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScaleRun {
    /// The machine, a torus of at least two nodes.
    pub extents: [u16; 3],
    /// The program.
    pub program: ScaleProgram,
    /// Repetitions: messages of each sender of [`ScaleProgram::Killer`], calls of a collective; at least 1.
    pub repeats: u32,
    /// Message size in bytes; for [`ScaleProgram::Allreduce`] in multiples of 8, at least one.
    pub bytes: usize,
    /// MPI memory of rank 0, the receiver of the killer, in bytes.
    pub mpi_memory: usize,
    /// MPI memory of each other node in bytes.
    pub others_memory: usize,
    /// Cost model.
    pub costs: OperationCosts,
    /// The seed of the devices' tables.
    pub seed: u64,
    /// Number of threads, each with a block of the nodes; the result does not depend on it.
    pub processors: usize,
}

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaleResult {
    /// Virtual time in nanoseconds: until rank 0 has received everything, or the mean time of one collective until the
    /// last process has completed it.
    pub ns: u64,
    /// Messages sent by all devices.
    pub messages: u64,
    /// Rejections (NCTS, no clear to send) by all devices.
    pub refusals: u64,
    /// Restarts (resend requests) sent by all devices.
    pub restarts: u64,
    /// Peak MPI memory of a node in bytes.
    pub peak_bytes: usize,
    /// Peak size of a node's peer table in bytes.
    pub peer_bytes: usize,
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunProgress {
    /// Virtual time in nanoseconds.
    pub now_ns: u64,
    /// Share of the program's operations that are complete, 0 to 1.
    pub part: f64,
}

impl ScaleRun {
    /// Runs the program; `watch` is called from time to time and decides whether to continue. Returns the error of the
    /// job: also [`JobFailure::Panic`] for corrupted data.
    ///
    /// # Panics
    /// When the extents are not a machine, and when the host has no memory for it.
    pub fn run(&self, watch: &mut dyn FnMut(RunProgress) -> bool) -> Result<ScaleResult, JobFailure> {
        let nodes: u64 = self.extents.map(u64::from).iter().product();
        let steps = match self.program {
            ScaleProgram::Killer => (nodes - 1) * u64::from(self.repeats),
            ScaleProgram::Barrier | ScaleProgram::Allreduce | ScaleProgram::Neighbour => {
                nodes * u64::from(self.repeats)
            }
            ScaleProgram::AllToAll => nodes * (nodes - 1) * u64::from(self.repeats),
        };
        let done = AtomicU64::new(0);
        let began = Mutex::new(0);
        let step = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        let run = |node: &SimProcess<'_, '_>| {
            as_program(node, || {
                let universe = initialize().expect("once");
                self.program_of(node, &universe.world(), &began, &step);
            });
            0
        };
        let cluster = Cluster::new(self.extents)
            .mpi_memory(self.others_memory)
            .mpi_memory_of(0, self.mpi_memory)
            .costs(self.costs)
            .seed(self.seed)
            .processors(self.processors);
        let (job, reports) = cluster.run_watched(run, &mut |JobProgress { now_ns, .. }| {
            let part = done.load(Ordering::Relaxed) as f64 / steps as f64;
            watch(RunProgress { now_ns, part })
        });
        job?;
        let began = *began.lock().unwrap_or_else(|held| held.into_inner());
        let last = reports.iter().filter_map(|report| report.end_ns).max();
        let sum = |of: fn(&midplane_device::DeviceStats) -> u64| reports.iter().map(|r| of(&r.stats)).sum();
        Ok(ScaleResult {
            ns: match self.program {
                ScaleProgram::Killer => reports[0].end_ns.unwrap_or(0),
                _ => (last.unwrap_or(0) - began) / u64::from(self.repeats),
            },
            messages: sum(|stats| stats.messages_sent),
            refusals: sum(|stats| stats.ncts_sent),
            restarts: sum(|stats| stats.restarts_sent),
            peak_bytes: reports.iter().map(|r| r.peak_bytes).max().unwrap_or(0),
            peer_bytes: reports.iter().map(|r| r.peer_bytes).max().unwrap_or(0),
        })
    }

    fn program_of(&self, node: &SimProcess<'_, '_>, world: &SimpleCommunicator, began: &Mutex<u64>, step: &dyn Fn()) {
        if self.program == ScaleProgram::Killer {
            return self.killer(world, step);
        }
        // A barrier synchronizes the start as closely as possible.
        world.barrier();
        {
            let mut began = began.lock().unwrap_or_else(|held| held.into_inner());
            *began = node.now_ns().max(*began);
        }
        for _ in 0..self.repeats {
            match self.program {
                ScaleProgram::Barrier => world.barrier(),
                ScaleProgram::Allreduce => self.allreduce(world),
                ScaleProgram::Neighbour => {
                    let x = Rank::from(self.extents[0]);
                    let (place, row) = (world.rank() % x, world.rank() / x * x);
                    let (to, from) = ((place + 1) % x, (place + x - 1) % x);
                    self.exchange(world, row + to, row + from);
                }
                _ => {
                    self.all_to_all(world, step);
                    continue;
                }
            }
            step();
        }
    }

    fn killer(&self, world: &SimpleCommunicator, step: &dyn Fn()) {
        let tags = 1..=self.repeats as i32;
        if world.rank() > 0 {
            let data: Vec<Vec<u8>> = tags
                .clone()
                .map(|tag| self.bytes_of(world.rank(), tag as u32))
                .collect();
            let receiver = world.process_at_rank(0);
            return request::scope(|scope| {
                for (tag, data) in tags.zip(&data) {
                    drop(receiver.immediate_send_with_tag(scope, data, tag));
                }
            });
        }
        let mut got = vec![0; self.bytes];
        for source in 1..world.size() {
            for tag in tags.clone().rev() {
                let sender = world.process_at_rank(source);
                sender.receive_into_with_tag(&mut got, tag);
                assert!(
                    got == self.bytes_of(source, tag as u32),
                    "wrong bytes from rank {source} with tag {tag}"
                );
                step();
            }
        }
    }

    fn allreduce(&self, world: &SimpleCommunicator) {
        let count = (self.bytes / size_of::<u64>()).max(1);
        let mine = vec![world.rank() as u64 + 1; count];
        let mut sum = vec![0; count];
        world.all_reduce_into(&mine, &mut sum, SystemOperation::sum());
        let size = world.size() as u64;
        assert!(
            sum.iter().all(|&sum| sum == size * (size + 1) / 2),
            "a wrong sum at rank {}",
            world.rank()
        );
    }

    fn all_to_all(&self, world: &SimpleCommunicator, step: &dyn Fn()) {
        let (rank, size) = (world.rank(), world.size());
        for distance in 1..size {
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            self.exchange(world, to, from);
            step();
        }
    }

    /// Sends a message to one rank and receives one from another.
    fn exchange(&self, world: &SimpleCommunicator, to: Rank, from: Rank) {
        let rank = world.rank();
        let mut got = vec![0; self.bytes];
        let mine = self.bytes_of(rank, to as u32);
        let [to, other] = [to, from].map(|rank| world.process_at_rank(rank));
        send_receive_into_with_tags(&mine, &to, 1, &mut got, &other, 1);
        assert!(
            got == self.bytes_of(from, rank as u32),
            "wrong bytes from rank {from} at rank {rank}"
        );
    }

    /// Returns the data of `source` with this number.
    fn bytes_of(&self, source: Rank, number: u32) -> Vec<u8> {
        let first = (source as u32).wrapping_mul(31) ^ number.wrapping_mul(0x9E37_79B9);
        (0..self.bytes as u32)
            .map(|at| (first.wrapping_add(at * 7) >> (at % 4)) as u8)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(program: ScaleProgram) -> ScaleRun {
        ScaleRun {
            extents: [4, 2, 2],
            program,
            repeats: 2,
            bytes: 1024,
            mpi_memory: 4 << 10,
            others_memory: 4 << 10,
            costs: OperationCosts::BLUE_GENE,
            seed: 1,
            processors: 1,
        }
    }

    fn run(scale: ScaleRun) -> ScaleResult {
        scale.run(&mut |_| true).expect("a job that ends")
    }

    #[test]
    fn a_run_is_the_same_each_time() {
        for program in [
            ScaleProgram::Killer,
            ScaleProgram::Barrier,
            ScaleProgram::Allreduce,
            ScaleProgram::AllToAll,
            ScaleProgram::Neighbour,
        ] {
            let [one, other] = [scale(program), scale(program)].map(run);
            assert_eq!(one, other);
            for processors in [2, 3] {
                let several = ScaleRun {
                    processors,
                    ..scale(program)
                };
                assert_eq!(run(several), one, "{processors}");
            }
            assert!(one.ns > 0 && one.peak_bytes <= 4 << 10, "{one:?}");
        }
    }

    /// 15 x 2 messages arrive, and there is space for 8 records.
    #[test]
    fn scarce_memory_refuses_and_restarts_and_takes_longer() {
        let scarce = run(ScaleRun {
            mpi_memory: 256,
            ..scale(ScaleProgram::Killer)
        });
        let ample = run(ScaleRun {
            mpi_memory: 1 << 20,
            ..scale(ScaleProgram::Killer)
        });
        assert_eq!((ample.refusals, ample.restarts), (0, 0));
        assert!(scarce.refusals > 0 && scarce.restarts > 0, "{scarce:?}");
        assert!(scarce.ns > ample.ns && scarce.peak_bytes <= 256, "{scarce:?}");
        assert_eq!(scarce.messages, ample.messages);
    }

    /// The farthest node is 4 hops away: no barrier is shorter than a round trip of a packet.
    #[test]
    fn a_barrier_takes_the_time_of_the_way() {
        let barrier = run(scale(ScaleProgram::Barrier));
        let costs = OperationCosts::BLUE_GENE;
        assert!(barrier.ns > 4 * costs.hop_ns + 2 * costs.packet_ns, "{barrier:?}");
    }

    #[test]
    fn what_watches_can_stop_it() {
        let mut seen = Vec::new();
        let long = ScaleRun {
            repeats: 2_000,
            ..scale(ScaleProgram::Barrier)
        };
        let stopped = long.run(&mut |far| {
            seen.push(far.part);
            seen.len() < 3
        });
        assert_eq!(stopped, Err(JobFailure::Stopped));
        assert!(seen.is_sorted() && seen.len() == 3 && seen[2] > 0.0, "{seen:?}");
    }
}
