//! What is to be booted, and what each instance of it is told.

use crate::build::image::Image;
use crate::host::setup::Tool;
use crate::host::shared::memory_file;
use crate::host::stop::{Doing, Stop};
use crate::run::boxes::Boxes;
use crate::run::debug::Debug;
use crate::run::line::Port;
use midplane_abi::boot_parameters::{
    Auto, BootParameters, Console, Nodes, Output, ProgramSection, Programs,
};
use midplane_abi::faults::Faults;
use midplane_abi::personality::Exit;
use midplane_device::matching::Choice;
use midplane_lab::timed::Change;
use net_torus::coord::{Coord, Shape};
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

/// One of the programs that a job is started with (MPI-3.1 section 8.8), for the ranks from `first` on up to the next
/// one's.
#[derive(Clone, Copy)]
pub struct App<'a> {
    /// What its nodes run.
    pub image: &'a Image,
    /// Its first rank.
    pub first: u32,
    /// Its argv.
    pub argv: &'a [Vec<u8>],
    /// Its environment, NAME=VALUE each.
    pub environment: &'a [Vec<u8>],
    /// Where its processes start, when said. For processes of this machine only.
    pub directory: Option<&'a Path>,
}

impl<'a> App<'a> {
    /// A program without words, for all ranks.
    pub fn of_image(image: &'a Image) -> Self {
        Self {
            image,
            first: 0,
            argv: &[],
            environment: &[],
            directory: None,
        }
    }
}

/// What to boot.
pub struct Plan<'a> {
    /// What the nodes are.
    pub backend: Backend<'a>,
    /// What the nodes run, at least one, by rank.
    pub apps: Vec<App<'a>>,
    /// The machine.
    pub shape: Shape,
    /// How nodes share instances; without it each has one to itself.
    pub boxes: Option<Boxes>,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Whether the user said how much memory a node has: a process is given more otherwise.
    pub limits_memory: bool,
    /// Stack of the program in bytes, when said; images have theirs built in.
    pub stack: Option<u64>,
    /// Processes that are to have the nodes of a cluster.
    pub processors: usize,
    /// What costs other than the cost model's in a cluster.
    pub costs: &'a [Change],
    /// What starts each node's process; empty: nothing. For processes of this machine only.
    pub under: &'a [String],
    /// The rank that has a debugger. In QEMU each node is then an instance of its own.
    pub debug: Option<&'a Debug>,
    /// Region for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// How many percent of a processor interrupts take at most while the program computes, when said.
    pub interrupts: Option<u8>,
    /// Whether frames of links in memory have a seal over all of their bytes.
    pub seal: bool,
    /// Whether the program's heap lends to MPI what it can spare.
    pub mpi_borrow: bool,
    /// The matching engine that the image was built for, when it is known: the nodes check it.
    pub matching: Option<Choice>,
    /// The faults that the links are to have, if any.
    pub faults: Option<&'a Faults>,
    /// Whether the nodes find their places out from the wires.
    pub auto: bool,
    /// Where the nodes, which are boards, have their serial console, if that is what is shown of them.
    pub console: Option<Console>,
    /// Whether the kernels' logs are wanted.
    pub log: bool,
    /// Whether the processors' counters of instructions are exact.
    pub counted: bool,
    /// Whether the emulator can lock itself in.
    pub sandbox: bool,
}

/// What the nodes of a job are.
#[derive(Clone, Copy)]
pub enum Backend<'a> {
    /// Machines that this emulator emulates.
    Qemu(&'a Tool),
    /// Boards that this emulator emulates, each an STM32F405.
    Boards(&'a Tool),
    /// Processes of this machine.
    Linux,
    /// Coroutines in one process of this machine, in virtual time.
    Cluster,
    /// Boards that have been started already, whose console this port is at.
    Attached(&'a Port),
}

impl<'a> Plan<'a> {
    /// For a machine of this shape, of nodes with so much RAM; all else is as little as can be.
    pub fn of_machine(
        backend: Backend<'a>,
        image: &'a Image,
        shape: Shape,
        node_memory: u64,
    ) -> Self {
        Self {
            backend,
            apps: vec![App::of_image(image)],
            shape,
            boxes: None,
            node_memory,
            limits_memory: false,
            stack: None,
            processors: 1,
            costs: &[],
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
        }
    }

    /// The program of a rank, and its number.
    pub fn app(&self, rank: u32) -> (u32, &App<'a>) {
        let later = { self.apps.iter().skip(1) }.take_while(|app| app.first <= rank);
        let number = later.count();
        (number as u32, &self.apps[number])
    }

    /// What a rank runs.
    pub fn image(&self, rank: u32) -> &'a Image {
        self.app(rank).1.image
    }
}

impl Backend<'_> {
    /// What a process that carries nodes is called.
    pub fn process(self) -> &'static str {
        match self {
            Backend::Qemu(_) | Backend::Boards(_) => "QEMU process",
            Backend::Linux | Backend::Cluster => "process",
            Backend::Attached(_) => "board",
        }
    }
}

/// The place of a rank.
pub fn coord(shape: &Shape, rank: u32) -> Result<Coord, Stop> {
    let coord = shape.coord(rank);
    coord.ok_or_else(|| Stop::failure(format!("no rank {rank} in the machine")))
}

/// Whether each node has a processor of this machine to itself. One that watches takes it from nobody then; where
/// instructions are counted, those in vain would count.
fn has_processors(plan: &Plan<'_>) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    plan.boxes.is_some() && !plan.counted && plan.shape.nodes() as usize <= processors
}

/// The ranks from the first of these nodes to their last; some between may be others'.
fn ranks(plan: &Plan<'_>, nodes: Nodes) -> RangeInclusive<u32> {
    let rank = |coord: Coord| plan.shape.rank(coord).unwrap_or(0);
    match (nodes, plan.backend) {
        // One process has all of them.
        (_, Backend::Cluster) => 0..=plan.shape.nodes() - 1,
        (Nodes::One(coord), _) => rank(coord)..=rank(coord),
        (Nodes::Box(boxed), _) => {
            let within = boxed.nodes();
            let ranks = (0..within.nodes())
                .filter_map(|k| within.coord(k))
                .map(rank);
            let (first, last) = ranks.fold((u32::MAX, 0), |(first, last), rank| {
                (first.min(rank), last.max(rank))
            });
            first.min(last)..=last
        }
    }
}

/// A file in memory with the boot parameters of an instance with these nodes.
pub fn record_file(plan: &Plan<'_>, nodes: Nodes) -> Result<File, Stop> {
    let mut file = memory_file("midplane-boot-parameters")?;
    file.write_all(&boot_record(plan, nodes)?)
        .doing("copy boot parameters into memory")?;
    Ok(file)
}

/// The record of the boot parameters of an instance with these nodes.
fn boot_record(plan: &Plan<'_>, nodes: Nodes) -> Result<Vec<u8>, Stop> {
    let ranks = ranks(plan, nodes);
    // Numbers are such that the places are those that the tool knows: the least is where rings begin.
    let auto = match nodes {
        Nodes::One(coord) if plan.auto => Some(Auto {
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
        // Boards are joined by lines, and do not support the flag.
        seal: plan.seal && !matches!(plan.backend, Backend::Boards(_)),
        matching: plan.matching.map(|choice| choice.name().as_bytes()),
        faults: plan.faults.cloned(),
        output: match plan.backend {
            // As without a tool.
            Backend::Boards(_) if plan.console.is_some() => Output::Uart,
            Backend::Qemu(_) | Backend::Boards(_) => Output::Rings { log: plan.log },
            // The process has streams of its own.
            Backend::Linux | Backend::Cluster | Backend::Attached(_) => Output::default(),
        },
        exit: Exit::Stay,
        programs: Programs::default(),
    };
    let programs = programs(plan, &ranks);
    let mut record = Vec::new();
    parameters.write(&programs, &mut record);
    // The node reads with the same code and the same limits: better refused here than there.
    match BootParameters::read(&record) {
        Ok(_) => Ok(record),
        Err(error) => Err(Stop::usage(format!(
            "the program's arguments or environment: {error}"
        ))),
    }
}

/// The programs of these ranks.
fn programs<'p>(
    plan: &'p Plan<'_>,
    ranks: &RangeInclusive<u32>,
) -> Vec<ProgramSection<'p, Vec<u8>>> {
    // A process has arguments and an environment of its own; that of a cluster has the environment.
    let (has_arguments, has_environment) = match plan.backend {
        Backend::Qemu(_) | Backend::Boards(_) => (true, true),
        Backend::Cluster => (true, false),
        Backend::Linux | Backend::Attached(_) => (false, false),
    };
    let (first, last) = (plan.app(*ranks.start()).0, plan.app(*ranks.end()).0);
    let apps = (first..=last).zip(&plan.apps[first as usize..]);
    let sections = apps.map(|(number, app)| ProgramSection {
        // It is that of all ranks before, too, of which none is here.
        first: if number == first { 0 } else { app.first },
        number,
        environment: if has_environment {
            app.environment
        } else {
            &[]
        },
        arguments: if has_arguments { app.argv } else { &[] },
    });
    sections.collect()
}
