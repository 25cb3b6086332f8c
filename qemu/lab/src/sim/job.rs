//! A job: a program and its setup, over real devices.
#![forbid(unsafe_code)]

use midplane_device::envelope::Rank;
use midplane_device::{Adi, DeviceConfig, DeviceMemory, DeviceStats};
use net_torus::{BufferSizes, Shape};

use super::check::{self, MemoryFailure, ReceiveResult, Violation};
use super::collectives::CollectiveCall;
use super::net::PacketNetwork;
use super::process::{JobRecords, RankProcess};
use super::program::RankPrograms;
use super::schedule;
use super::setup::{JobSetup, ProgramHeaps, UnlimitedHeaps};
use super::torus::{RouterMemory, RouterNetwork};

/// Result of a finished job.
#[derive(Clone, Debug)]
pub struct JobReport {
    /// The call that lacked memory in a job that did not complete.
    pub short: Option<MemoryFailure>,
    /// Results, by receive.
    pub got: Vec<Option<ReceiveResult>>,
    /// Index of each message among its rank's sends, by message.
    pub sent: Vec<u64>,
    /// Device counters, by rank.
    pub stats: Vec<DeviceStats>,
    /// Number of choices made.
    pub steps: u64,
    /// Number of times that an interrupt advanced a collective.
    pub meanwhile: u64,
}

/// A job that can be run.
#[derive(Clone, Debug)]
pub struct SimJob<'a> {
    /// The program of all ranks.
    pub program: &'a RankPrograms,
    /// Its setup.
    pub setup: JobSetup,
}

/// Minimum limit of a job's choices; each message and each of its packets adds to it.
const MIN_LIMIT: u64 = 200_000;
const LIMIT_PER_MESSAGE: u64 = 20_000;
const BYTES_PER_STEP: u64 = 4;
/// Factor of the limit with bad links.
const BAD_LINKS: u64 = 20;

impl SimJob<'_> {
    /// Runs the job to its end and checks its results. Only the setup's request slots limit the programs' requests.
    pub fn run(&self) -> Result<JobReport, Violation> {
        self.run_in(&UnlimitedHeaps)
    }

    fn process<'a>(&'a self, shape: Shape, rank: Rank, heap: &'a dyn ProgramHeaps) -> RankProcess<'a> {
        let SimJob { program, setup } = self;
        let config = DeviceConfig {
            shape,
            rank,
            request_slots: setup.request_slots,
        };
        let peers = shape.nodes() as usize;
        let memory =
            DeviceMemory::with_engine(&setup.matching.kind(), setup.mpi_memory, peers).expect("the host's memory");
        let adi = Adi::new(config, memory);
        let mut adi = adi.expect("a rank of the machine");
        adi.set_eager_limit(setup.eager);
        RankProcess::new(rank, program, adi, heap, setup.numbers_alike)
    }

    /// Returns the maximum number of steps; a job with more is stuck.
    fn most_steps(&self) -> u64 {
        let program = &self.program;
        let mut bytes: usize = program.messages.iter().map(|m| m.len).sum();
        let mut messages = program.messages.len() as u64;
        for (more_bytes, more) in program.collectives.iter().map(CollectiveCall::traffic) {
            bytes += more_bytes;
            messages += more;
        }
        let calls = program.windows.scripts.iter().map(Vec::len).sum::<usize>();
        messages += calls as u64;
        MIN_LIMIT + LIMIT_PER_MESSAGE * messages + bytes as u64 / BYTES_PER_STEP
    }

    /// Runs the job like [`SimJob::run`], with the programs' requests allocated from `heap`.
    pub fn run_in(&self, heap: &dyn ProgramHeaps) -> Result<JobReport, Violation> {
        let SimJob { program, setup } = self;
        let ranks = u16::try_from(program.ops.len()).expect("at most 256 ranks");
        let shape = Shape::new([ranks, 1, 1], [true; 3]).expect("at most 256 ranks");
        let mut records = JobRecords {
            got: vec![None; program.receives.len()],
            sent: vec![0; program.messages.len()],
        };
        let mut processes: Vec<RankProcess<'_>> = (0..u32::from(ranks))
            .map(|rank| self.process(shape, Rank::new(rank), heap))
            .collect();
        let limit = self.most_steps();
        let (steps, short) = if setup.bad_links {
            let mut memory = RouterMemory::new(ranks.into(), BufferSizes::BLUE_GENE);
            let mut routers = RouterNetwork::new(shape, &mut memory, setup.seed);
            let limit = BAD_LINKS * limit;
            schedule::run(&mut processes, &mut routers, &mut records, setup, limit)?
        } else {
            let mut net = PacketNetwork::new(shape, setup.capacity, setup.order);
            schedule::run(&mut processes, &mut net, &mut records, setup, limit)?
        };
        let completed = short.is_none();
        let devices = processes.iter().map(|p| (&p.adi, p.buffers.lent()));
        check::at_rest(devices, setup.mpi_memory, completed)?;
        for process in processes.iter_mut().filter(|_| completed) {
            if !process.is_idle_in_windows() {
                let (rank, what) = (process.rank, "something in a window");
                return Err(Violation::Left { rank, what });
            }
        }
        if let Some((rank, what)) = processes.iter().find_map(|p| Some((p.rank, p.buffers.fault()?))) {
            return Err(Violation::Buffer { rank, what });
        }
        check::matching(program, &records.got, &records.sent, completed)?;
        if completed {
            let byte = |rank: u32, at| processes[rank as usize].byte(at);
            let race = program.windows.check(byte);
            race.map_err(|what| Violation::Race { what })?;
        }
        let meanwhile = processes.iter().map(|p| p.meanwhile).sum();
        let stats = processes.iter().map(|p| *p.adi.stats()).collect();
        Ok(JobReport {
            short,
            got: records.got,
            sent: records.sent,
            stats,
            steps,
            meanwhile,
        })
    }
}
