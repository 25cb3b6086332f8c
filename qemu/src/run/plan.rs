//! Plan of a job: the nodes to boot, and the boot parameters of each instance.

use crate::build::image::Image;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::SystemTool;
use crate::host::shared::memory_file;
use crate::run::boxes::InstanceBoxes;
use crate::run::debug::DebugSession;
use crate::run::hosts::division::HostPlan;
use crate::run::linux::universe::UniversePlan;
use crate::run::packets::PacketCapture;
use crate::run::recording::Recording;
use crate::run::serial_port::SerialPort;
use midplane_abi::boot_parameters::{
    AutoConfig, BootParameters, InstanceNodes, OutputTarget, ProgramList, ProgramSection, SerialConsole,
};
use midplane_abi::faults::LinkFaults;
use midplane_abi::personality::ExitAction;
use midplane_engines::EngineChoice;
use midplane_lab::timed::CostChange;
use net_torus::coord::{Coord, Shape};
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

/// A program of a job (MPI-3.1 section 8.8), for the ranks from `first` up to the next program's.
#[derive(Clone, Copy)]
pub struct PlannedApp<'a> {
    /// Image that its nodes run.
    pub image: &'a Image,
    /// First rank.
    pub first: u32,
    pub argv: &'a [Vec<u8>],
    /// Environment, each entry as NAME=VALUE.
    pub environment: &'a [Vec<u8>],
    /// Working directory of its processes. For native processes only.
    pub directory: Option<&'a Path>,
}

impl<'a> PlannedApp<'a> {
    /// Creates a program without arguments, for all ranks.
    pub fn from_image(image: &'a Image) -> Self {
        Self {
            image,
            first: 0,
            argv: &[],
            environment: &[],
            directory: None,
        }
    }
}

/// Plan of a job.
pub struct JobPlan<'a> {
    /// Platform of the nodes.
    pub backend: Backend<'a>,
    /// Programs in rank order, at least one.
    pub apps: Vec<PlannedApp<'a>>,
    /// Shape of the machine.
    pub shape: Shape,
    /// Division of the nodes among instances; `None`: one instance per node.
    pub boxes: Option<InstanceBoxes>,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Whether the user specified the memory of a node; native processes are not limited otherwise.
    pub limits_memory: bool,
    /// Stack of the program in bytes, if specified; images contain their default.
    pub stack: Option<u64>,
    /// Number of host processes that share a cluster's nodes.
    pub processors: usize,
    /// Changes to a cluster's cost model.
    pub costs: &'a [CostChange],
    /// File of the schedule that a cluster repeats.
    pub schedule: Option<&'a Path>,
    /// Command that starts each node's process; empty: none. For native processes only.
    pub under: &'a [String],
    /// Debugger of one rank. In QEMU each node then uses its own instance.
    pub debug: Option<&'a DebugSession>,
    /// Memory for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Maximum size of an eager message in bytes, if specified.
    pub eager: Option<u64>,
    /// Maximum share of CPU time in percent for interrupts while the program computes, if specified.
    pub interrupts: Option<u8>,
    /// Whether frames of in-memory links contain a checksum over all of their bytes.
    pub seal: bool,
    /// Whether the program's heap provides loans of free memory to MPI.
    pub mpi_borrow: bool,
    /// Matching engine of the image, if known, for a check by the nodes.
    pub matching: Option<EngineChoice>,
    /// Faults to inject into the links, if any.
    pub faults: Option<&'a LinkFaults>,
    /// Whether the nodes detect their coordinates from the wiring.
    pub auto: bool,
    /// Location of the boards' serial console, if it is their only output.
    pub console: Option<SerialConsole>,
    /// Whether the kernels' logs are enabled.
    pub log: bool,
    /// Whether the processors' instruction counters are exact.
    pub counted: bool,
    /// Whether the emulator supports its sandbox.
    pub sandbox: bool,
    /// Recording of the program's calls.
    pub recording: Option<&'a Recording>,
    /// Capture of the links' packets.
    pub capture: Option<&'a PacketCapture>,
    /// Program's file, for a job that `top` may observe.
    pub observed: Option<&'a str>,
    /// Hosts of the processes, if they are not on this host.
    pub hosts: Option<&'a HostPlan>,
    /// Universe of native processes that come and go; the shape includes its spare nodes. `None`: the job has one world.
    pub universe: Option<UniversePlan>,
}

/// Platform of a job's nodes.
#[derive(Clone, Copy)]
pub enum Backend<'a> {
    /// Machines emulated by this QEMU.
    Qemu(&'a SystemTool),
    /// STM32F405 boards emulated by this QEMU.
    Boards(&'a SystemTool),
    /// Native processes.
    Linux,
    /// Coroutines in one native process, in virtual time.
    Cluster,
    /// Running boards, with their console at this port.
    Attached(&'a SerialPort),
}

impl<'a> JobPlan<'a> {
    /// Creates a plan for a machine of this shape and nodes with this much RAM; all else is minimal.
    pub fn for_machine(backend: Backend<'a>, image: &'a Image, shape: Shape, node_memory: u64) -> Self {
        Self {
            backend,
            apps: vec![PlannedApp::from_image(image)],
            shape,
            boxes: None,
            node_memory,
            limits_memory: false,
            stack: None,
            processors: 1,
            costs: &[],
            schedule: None,
            under: &[],
            debug: None,
            mpi_memory: 0,
            eager: None,
            interrupts: None,
            seal: false,
            mpi_borrow: false,
            matching: None,
            faults: None,
            auto: false,
            console: None,
            log: false,
            counted: false,
            sandbox: false,
            recording: None,
            capture: None,
            observed: None,
            hosts: None,
            universe: None,
        }
    }

    /// Returns the program of a rank, and its index.
    pub fn app(&self, rank: u32) -> (u32, &PlannedApp<'a>) {
        let later = { self.apps.iter().skip(1) }.take_while(|app| app.first <= rank);
        let number = later.count();
        (number as u32, &self.apps[number])
    }

    /// Returns the number of nodes that the tool starts by itself.
    pub fn ranks(&self) -> u32 {
        self.universe.map_or(self.shape.nodes(), |universe| universe.world)
    }

    /// Returns the image of a rank.
    pub fn image(&self, rank: u32) -> &'a Image {
        self.app(rank).1.image
    }
}

impl Backend<'_> {
    /// Returns the term for a process that contains nodes.
    pub fn process(self) -> &'static str {
        match self {
            Backend::Qemu(_) | Backend::Boards(_) => "QEMU process",
            Backend::Linux | Backend::Cluster => "process",
            Backend::Attached(_) => "board",
        }
    }
}

/// Returns the coordinates of a rank.
pub fn coord(shape: &Shape, rank: u32) -> Result<Coord, CliError> {
    let coord = shape.coord(rank);
    coord.ok_or_else(|| CliError::failure(format!("no rank {rank} in the machine")))
}

/// Checks whether each node has a host processor of its own. Only then a node may spin without taking time from others.
/// Exact instruction counts exclude spinning, because it would be counted.
fn has_processors(plan: &JobPlan<'_>) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    plan.boxes.is_some() && !plan.counted && plan.shape.nodes() as usize <= processors
}

/// Returns the range of ranks from the first to the last of these nodes; it may include others.
fn ranks(plan: &JobPlan<'_>, nodes: InstanceNodes) -> RangeInclusive<u32> {
    let rank = |coord: Coord| plan.shape.rank(coord).unwrap_or(0);
    match (nodes, plan.backend) {
        // One process contains all nodes.
        (_, Backend::Cluster) => 0..=plan.shape.nodes() - 1,
        (InstanceNodes::One(coord), _) => rank(coord)..=rank(coord),
        (InstanceNodes::Box(boxed), _) => {
            let within = boxed.nodes();
            let ranks = (0..within.nodes()).filter_map(|k| within.coord(k)).map(rank);
            let (first, last) = ranks.fold((u32::MAX, 0), |(first, last), rank| (first.min(rank), last.max(rank)));
            first.min(last)..=last
        }
    }
}

/// Creates a memory file with the boot parameters of an instance with these nodes.
pub fn record_file(plan: &JobPlan<'_>, nodes: InstanceNodes) -> Result<File, CliError> {
    let mut file = memory_file("midplane-boot-parameters")?;
    file.write_all(&boot_record(plan, nodes)?)
        .context("copy boot parameters into memory")?;
    Ok(file)
}

/// Returns the boot parameter record of an instance with these nodes.
pub fn boot_record(plan: &JobPlan<'_>, nodes: InstanceNodes) -> Result<Vec<u8>, CliError> {
    let ranks = ranks(plan, nodes);
    // Numbered so that the detected coordinates equal the tool's: the minimum is the origin of the rings.
    let auto = match nodes {
        InstanceNodes::One(coord) if plan.auto => Some(AutoConfig {
            nodes: plan.shape.nodes(),
            number: plan.shape.rank(coord).map(|rank| rank + 1),
            has_console: plan.console.is_some(),
        }),
        _ => None,
    };
    let parameters = BootParameters {
        shape: plan.shape,
        nodes,
        auto,
        console: plan.console.filter(|_| !plan.auto),
        mpi_memory: Some(plan.mpi_memory),
        mpi_borrow: plan.mpi_borrow,
        eager: plan.eager,
        interrupts: plan.interrupts,
        watch: has_processors(plan),
        // Boards use serial links and do not support the flag.
        seal: plan.seal && !matches!(plan.backend, Backend::Boards(_)),
        matching: plan.matching.map(|choice| choice.name().as_bytes()),
        faults: plan.faults.cloned(),
        output: match plan.backend {
            // As on standalone boards.
            Backend::Boards(_) if plan.console.is_some() => OutputTarget::Uart,
            Backend::Qemu(_) | Backend::Boards(_) => OutputTarget::Rings { log: plan.log },
            // The process uses its standard streams.
            Backend::Linux | Backend::Cluster | Backend::Attached(_) => OutputTarget::default(),
        },
        exit: ExitAction::Stay,
        programs: ProgramList::default(),
    };
    let programs = programs(plan, &ranks);
    let mut record = Vec::new();
    parameters.write(&programs, &mut record);
    // The node parses it with the same code and limits, so errors are reported here.
    match BootParameters::read(&record) {
        Ok(_) => Ok(record),
        Err(error) => Err(CliError::usage(format!(
            "the program's arguments or environment: {error}"
        ))),
    }
}

/// Returns the program sections of these ranks.
fn programs<'p>(plan: &'p JobPlan<'_>, ranks: &RangeInclusive<u32>) -> Vec<ProgramSection<'p, Vec<u8>>> {
    // A native process receives arguments and environment directly; a cluster's process only the environment.
    let (has_arguments, has_environment) = match plan.backend {
        Backend::Qemu(_) | Backend::Boards(_) => (true, true),
        Backend::Cluster => (true, false),
        Backend::Linux | Backend::Attached(_) => (false, false),
    };
    let (first, last) = (plan.app(*ranks.start()).0, plan.app(*ranks.end()).0);
    let apps = (first..=last).zip(&plan.apps[first as usize..]);
    let sections = apps.map(|(number, app)| ProgramSection {
        // Extended to all earlier ranks; this instance contains none of them.
        first: if number == first { 0 } else { app.first },
        number,
        environment: if has_environment { app.environment } else { &[] },
        arguments: if has_arguments { app.argv } else { &[] },
    });
    sections.collect()
}
