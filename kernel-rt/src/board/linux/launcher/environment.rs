//! The environment of a process that a launcher has started.

use std::env;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::str::FromStr;

use midplane_abi::boot_parameters::{BootRecord, flag};
use midplane_abi::size;
use net_torus::coord::Shape;

use super::pmi::PmiSession;
use super::pmix;

/// Set for the children of a rank: programs that it starts are jobs of their own.
const IN_JOB: &str = "MIDPLANE_IN_JOB";
/// Extents of the torus, as `--torus`. Default: those closest to a cube.
const TORUS: &str = "MIDPLANE_TORUS";
/// Region for incoming MPI traffic, as `--mpi-memory`.
const MPI_MEMORY: &str = "MIDPLANE_MPI_MEMORY";
/// Memory of a node, as `--node-memory`.
const NODE_MEMORY: &str = "MIDPLANE_NODE_MEMORY";
/// Default memory of a node in bytes.
const DEFAULT_NODE_MEMORY: u64 = 64 << 20;

/// A process's place in a job of a launcher.
pub struct LaunchedRank {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Name of the job, unique on the host while the job runs.
    pub job: String,
    /// Number of its program among those of the job (MPI_APPNUM).
    pub program: u32,
    /// Session with the launcher, which must be ended at the end of the program.
    pub session: Option<PmiSession>,
}

/// A launcher that has started this process as one of several, by the interface that it offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchedBy {
    /// PMI-1 over an inherited descriptor: MPICH's Hydra, `srun --mpi=pmi2`.
    Pmi { descriptor: i32 },
    /// PMIx: `srun --mpi=pmix`, `mpirun` and `prterun` of Open MPI.
    Pmix,
    /// The variables of a Slurm step: `srun` without a process management interface.
    SlurmStep,
    /// A launcher that offers none of these; the variable that shows it.
    Unknown { variable: &'static str },
}

/// Parses a variable of the environment. `None` if it is absent or not of this type.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// Parses a variable that the launcher must have set.
fn required<T: FromStr>(name: &str) -> Result<T, String> {
    match env::var(name) {
        Ok(text) => { text.parse() }.map_err(|_| format!("the launcher's {name}={text:?} is not valid")),
        Err(_) => Err(format!("the launcher has not set {name}")),
    }
}

/// Returns the launcher that has started this process as one of several; `None` for a process on its own.
pub fn find() -> Option<LaunchedBy> {
    if env::var_os(IN_JOB).is_some() {
        return None;
    }
    if let Some(descriptor) = variable("PMI_FD") {
        return (variable("PMI_SIZE") != Some(1u32)).then_some(LaunchedBy::Pmi { descriptor });
    }
    if env::var_os("PMIX_NAMESPACE").is_some() && env::var_os("PMIX_RANK").is_some() {
        return Some(LaunchedBy::Pmix);
    }
    let is_several = |name| variable::<u32>(name).is_some_and(|size| size > 1);
    if is_several("SLURM_STEP_NUM_TASKS") && env::var_os("SLURM_PROCID").is_some() {
        return Some(LaunchedBy::SlurmStep);
    }
    // Open MPI before version 5 without PMIx, a port instead of a descriptor (`mpiexec -pmi-port`).
    let unknown = |variable| LaunchedBy::Unknown { variable };
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
        .into_iter()
        .find(|name| is_several(name))
        .map(unknown)
}

/// Returns the name of this process for messages, as far as the launcher tells it.
pub fn name() -> String {
    let rank = ["PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"]
        .into_iter()
        .find_map(variable::<u32>);
    rank.map_or_else(|| "a process of a launcher".to_owned(), |rank| format!("rank {rank}"))
}

/// Makes programs that this process starts jobs of their own.
pub fn hide_from_children() {
    // SAFETY: there is one thread.
    unsafe { env::set_var(IN_JOB, "1") };
}

/// Returns whether the process manager ends with the status of a PMI abort. Slurm kills all ranks instead, and its status
/// is the highest of theirs: there the ranks' own exits tell more.
pub fn reports_status_of_abort() -> bool {
    env::var_os("PMI_JOBID").is_none()
}

fn one_host(hosts: u32) -> Result<(), String> {
    match hosts {
        0 | 1 => Ok(()),
        _ => Err(format!(
            "the launcher has started the job on {hosts} hosts, and all ranks must be on one; with Slurm: srun -N1, or \
             midplane run --on linux inside salloc, which uses all hosts"
        )),
    }
}

impl LaunchedBy {
    /// Returns the process's place in the job; `None` if the job has one process.
    pub fn place(self) -> Result<Option<LaunchedRank>, String> {
        let place = match self {
            Self::Pmi { descriptor } => place_by_pmi(descriptor)?,
            Self::Pmix => place_by_pmix()?,
            Self::SlurmStep => place_in_slurm_step()?,
            Self::Unknown { variable } => {
                return Err(format!(
                    "{variable} says that a launcher has started several processes, but it offers neither PMI-1 (PMI_FD) \
                     nor PMIx (PMIX_RANK); start the program by midplane run, srun, MPICH's mpiexec, or mpirun of Open MPI 5"
                ));
            }
        };
        if place.rank >= place.size {
            return Err(format!(
                "the launcher gives this process rank {} of {}",
                place.rank, place.size
            ));
        }
        Ok((place.size > 1).then_some(place))
    }
}

fn place_by_pmi(descriptor: i32) -> Result<LaunchedRank, String> {
    // SAFETY: the launcher passes this descriptor, and nothing else owns it.
    let stream = unsafe {
        libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        File::from_raw_fd(descriptor)
    };
    let (mut session, job) = PmiSession::begin(stream)?;
    one_host(session.hosts()?)?;
    let program = session.program()?;
    Ok(LaunchedRank {
        rank: required("PMI_RANK")?,
        size: required("PMI_SIZE")?,
        job: format!("pmi/{job}"),
        program,
        session: Some(session),
    })
}

fn place_by_pmix() -> Result<LaunchedRank, String> {
    let sizes = pmix::sizes()?;
    if sizes.on_host != sizes.job {
        return Err(format!(
            "the launcher has started {} of the job's {} processes on this host, and all ranks must be on one",
            sizes.on_host, sizes.job
        ));
    }
    Ok(LaunchedRank {
        rank: required("PMIX_RANK")?,
        size: sizes.job,
        job: format!("pmix/{}", required::<String>("PMIX_NAMESPACE")?),
        program: sizes.program,
        session: None,
    })
}

fn place_in_slurm_step() -> Result<LaunchedRank, String> {
    one_host(required("SLURM_STEP_NUM_NODES")?)?;
    let [job, step] = ["SLURM_JOB_ID", "SLURM_STEP_ID"].map(required::<String>);
    Ok(LaunchedRank {
        rank: required("SLURM_PROCID")?,
        size: required("SLURM_STEP_NUM_TASKS")?,
        job: format!("slurm/{}.{}", job?, step?),
        program: 0,
        session: None,
    })
}

/// Settings of a job that the tool has not started, from the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobSettings {
    /// The torus.
    pub shape: Shape,
    /// Memory of a node in bytes.
    pub node_memory: u64,
    /// The environment has set it: the process's data are limited to it, as by the tool.
    limits_memory: bool,
    mpi_memory: Option<u64>,
}

impl JobSettings {
    /// Reads the settings of a job of `ranks` ranks.
    pub fn read(ranks: u32) -> Result<Self, String> {
        let bytes = |name: &str| match env::var(name) {
            Ok(text) => { size::parse(&text) }
                .map(Some)
                .ok_or_else(|| format!("{name}={text:?} is not a size; specify bytes or K, M, G, for example 64K")),
            Err(_) => Ok(None),
        };
        let extents = match env::var(TORUS) {
            Ok(text) => {
                extents(&text).ok_or_else(|| format!("{TORUS}={text:?} is not of the form XxYxZ, for example 2x2x2"))?
            }
            Err(_) => Shape::extents_closest_to_cube(ranks)
                .ok_or_else(|| format!("{ranks} ranks form no torus: each of its three extents is at most 256"))?,
        };
        let shape = Shape::new(extents, [true; 3]).filter(|shape| shape.nodes() == ranks);
        let [x, y, z] = extents;
        let node_memory = bytes(NODE_MEMORY)?;
        Ok(Self {
            shape: shape.ok_or_else(|| format!("{TORUS}: a torus of {x}x{y}x{z} nodes has no {ranks} ranks"))?,
            node_memory: node_memory.unwrap_or(DEFAULT_NODE_MEMORY),
            limits_memory: node_memory.is_some(),
            mpi_memory: bytes(MPI_MEMORY)?,
        })
    }

    /// Limits the data of this process to the node memory, if the environment has set it.
    ///
    /// # Errors
    /// If the limit of the system is lower.
    pub fn limit_memory(&self) -> Result<(), String> {
        let limit = libc::rlimit {
            rlim_cur: self.node_memory,
            rlim_max: self.node_memory,
        };
        // SAFETY: a structure that is there.
        if self.limits_memory && unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(format!(
                "{NODE_MEMORY}: cannot limit the data to {} bytes: {why}",
                self.node_memory
            ));
        }
        Ok(())
    }

    /// Returns the record of the boot parameters of a rank, which is below the number of ranks.
    pub fn record(&self, rank: u32) -> Vec<u8> {
        let at = self.shape.coord(rank).unwrap_or_default();
        let [x, y, z] = flag::WRAPS;
        let record = BootRecord {
            extents: self.shape.extents(),
            flags: x | y | z,
            coord: [at.x, at.y, at.z, 0],
            ..BootRecord::SINGLE
        };
        let record = self.mpi_memory.map_or(record, |bytes| record.mpi_memory(bytes));
        record.to_bytes().to_vec()
    }
}

/// Parses `XxYxZ`.
fn extents(text: &str) -> Option<[u16; 3]> {
    let mut parts = text.split(['x', 'X']).map(|part| part.parse().ok());
    let extents = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(extents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::boot_parameters::{BootParameters, InstanceNodes};
    use net_torus::coord::Coord;

    #[test]
    fn a_rank_has_the_coordinates_of_its_place_in_the_torus() {
        let settings = JobSettings {
            shape: Shape::new([3, 2, 1], [true; 3]).unwrap(),
            node_memory: 1 << 20,
            limits_memory: false,
            mpi_memory: Some(32),
        };
        let bytes = settings.record(4);
        let boot = BootParameters::read(&bytes).unwrap();
        assert_eq!(boot.shape, settings.shape);
        assert!(matches!(boot.nodes, InstanceNodes::One(Coord { x: 1, y: 1, z: 0 })));
        assert_eq!(boot.mpi_memory, Some(32));
    }

    #[test]
    fn extents_are_three_numbers() {
        assert_eq!(extents("4x2X1"), Some([4, 2, 1]));
        for text in ["", "4x2", "4x2x1x1", "axbxc", "4x-2x1", "70000x1x1"] {
            assert_eq!(extents(text), None, "{text}");
        }
    }
}
