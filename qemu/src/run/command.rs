//! `midplane run`: from the command line to the exit status.

use crate::build::board::Board;
use crate::build::given::{self, Flags, Heeded, Program};
use crate::build::image::Image;
use crate::build::linux::{self, Carries};
use crate::host::capacity::{DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY, Machine, Memory};
use crate::host::setup::{self, SystemTool, ToolSet};
use crate::host::signals::Signals;
use crate::host::size;
use crate::host::stop::{FAILURE, Stop};
use crate::run::boxes::{self, Boxes};
use crate::run::debug::Debug;
use crate::run::ended::JobEnd;
use crate::run::faults::FaultOptions;
use crate::run::files::Folder;
use crate::run::job;
use crate::run::line::{check_console, parse_console};
use crate::run::output::{Sink, Style};
use crate::run::plan::{self, Backend, Plan};
use crate::run::report::{self, JobFacts, ProgramFacts};
use crate::run::verdict::Outcome;
use crate::run::{limits, topology, wiring};
use crate::show::file::ResultFile;
use crate::show::say;
use clap::{Args, ValueEnum};
use kernel_rt::memory_plan::{MPI_SHARE, MemoryNeeds};
use midplane_abi::boot_parameters::SerialConsole;
use midplane_device::MIN_MPI_MEMORY;
use midplane_engines::EngineChoice;
use midplane_lab::timed::CostChange;
use midplane_setup::toolchain;
use net_torus::coord::Shape;
use rustix::io::Errno;
use signal_hook::consts::SIGPIPE;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::slice;
use std::time::Duration;

/// How long a job has, and what is shown of it.
#[derive(Args, Debug)]
pub struct Watched {
    /// End after this many seconds and say where each rank was
    #[arg(long, value_name = "SECONDS", value_parser = parse_timeout, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,

    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Do not print the table of the report
    #[arg(short, long)]
    pub quiet: bool,

    /// Print a table of the links, too: packets and frames by direction and virtual channel
    #[arg(long, conflicts_with = "quiet")]
    pub links: bool,
}

/// Options of `midplane run`.
#[derive(Args, Debug)]
#[command(after_help = "Standard input goes to rank 0.\n\n\
                  Example: cargo midplane run --torus 2x2x2 tests/programs/killer.c -- 5 1024")]
pub struct Options {
    /// Extents of the machine along X, Y and Z, each 1 to 256; one node, one MPI rank, at each place
    #[arg(long, value_name = "XxYxZ", default_value = "2x2x2", value_parser = topology::parse_extents)]
    torus: [u16; 3],

    /// What the nodes are: emulated machines, or processes of this one, which need no emulator and which debuggers,
    /// valgrind and sanitizers know
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = On::Qemu)]
    on: On,

    /// What the emulated machines are
    #[arg(long, value_name = "BOARD", value_enum, default_value_t = Board::Virt)]
    board: Board,

    /// With --on linux, start each rank's process by this command, for example --under="valgrind -q"
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, value_parser = parse_flags)]
    under: Vec<Vec<String>>,

    /// Start gdb on this rank, at its program's first line, while the others run. gdb reads standard input, and rank 0
    /// reads nothing; the job lasts until gdb ends. With --on qemu each node is an instance of its own
    #[arg(long, value_name = "RANK", conflicts_with_all = ["under", "instances"])]
    debug: Option<u32>,

    /// The debugger, told what to do as gdb is, for example --debugger="gdb -tui" [default: gdb; with --on qemu
    /// gdb-multiarch or the C compiler's]
    #[arg(long, value_name = "COMMAND", requires = "debug", allow_hyphen_values = true, value_parser = parse_flags)]
    debugger: Vec<Vec<String>>,

    /// Number of nodes instead, arranged as nearly as a cube as they can be; -np is the same
    #[arg(short = 'n', long, value_name = "NODES", conflicts_with = "torus", value_parser = topology::parse_nodes)]
    nodes: Option<[u16; 3]>,

    /// Number of QEMU processes among which the nodes are divided, in boxes of equal size: 1 to the number of
    /// nodes; each takes at most 512 nodes [default: as few as can be]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    instances: Option<u32>,

    /// Dimensions that do not wrap around, for example z or xyz
    #[arg(long, value_name = "DIMENSIONS", default_value = "", value_parser = topology::parse_mesh)]
    mesh: Mesh,

    /// The boards find their places out from the wires, as they do with `flash --auto`; only --board stm32f405
    #[arg(long)]
    auto: bool,

    /// What the boards print and report comes by one serial console, as with `flash --console` and `attach`: the line in
    /// this direction of the node at 0,0,0, or of another, which has no link there; only --board stm32f405
    #[arg(long, value_name = "[X,Y,Z:]DIRECTION", conflicts_with_all = ["files", "verbose"], value_parser = parse_console)]
    console: Option<SerialConsole>,

    /// RAM of a node: image, stack, heap and MPI memory, for example 8M; what is not touched takes nothing of this
    /// machine's [default: 64M, and --mpi-memory besides when that is more than 1M]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    node_memory: Option<u64>,

    /// Region in each node for everything that grows with incoming messages, for example 4K or 16M
    /// [default: 1M, or an eighth of --node-memory where that is less]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_mpi_memory)]
    mpi_memory: Option<u64>,

    /// Beyond that, borrow from the program's heap what it can spare: up to three quarters of it, while
    /// the program does not need it
    #[arg(long)]
    mpi_borrow: bool,

    /// Greatest message whose data is sent without waiting for the receiver's answer, at most 64K
    /// [default: 8K]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_eager)]
    eager: Option<u64>,

    /// How many percent of a node's processor interrupts take at most while its program computes; with 0 messages, also
    /// those that pass through, go on in calls only [default: 100]. With --on linux there are none
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    interrupts: Option<u8>,

    /// Seal what nodes write into the memory that they share with neighbours: a wild store there ends the job, and changes no
    /// message. Without effect on boards and with --on cluster, whose nodes share none
    #[arg(long)]
    seal: bool,

    /// Matching engine of the nodes, which are built for it and carry no other [default: default, on
    /// stm32f405 list]
    #[arg(long, value_name = "NAME", value_parser = limits::matching())]
    matching: Option<EngineChoice>,

    /// Stack of the program, a multiple of 4K [default: 512K]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    stack: Option<u64>,

    /// With --on cluster: processors of this machine to use, each for a part of the ranks; what happens is the same
    /// [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = limits::processors())]
    processors: Option<usize>,

    /// With --on cluster: another cost in virtual time than Blue Gene/L's. The names are link_ns_per_byte, hop_ns, packet_ns,
    /// call_ns, search_ns, copy_ns_per_byte, interrupt_ns, and compute_percent: how much of the processor time that a
    /// program takes here, its computing takes in virtual time [default: 0]
    #[arg(long, value_name = "NAME=VALUE", value_parser = CostChange::parse)]
    cost: Vec<CostChange>,

    #[command(flatten)]
    faults: FaultOptions,

    /// Variable of the program's environment on every node, at most 128; of several with one name the last counts.
    /// With --on linux a process has this command's environment besides
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,

    /// The same with the value that the variable has here; with a value, as --env
    #[arg(short = 'x', value_name = "NAME[=VALUE]")]
    export: Vec<OsString>,

    /// Folder in which the nodes may read, write and make files, and nowhere else; to the program it is /. Without it no
    /// file can be opened. With --on linux the program has this machine's files
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,

    #[command(flatten)]
    watched: Watched,

    /// Show the kernels' logs on stderr
    #[arg(short, long, visible_alias = "log")]
    verbose: bool,

    /// Have each node's counter of instructions (`instret`) count exactly, and its clock go by one nanosecond for each;
    /// the job takes longer
    #[arg(long)]
    count_instructions: bool,

    /// Folder in which the C compiler looks for headers
    #[arg(
        short = 'I',
        value_name = "FOLDER",
        help_heading = "Options for C programs"
    )]
    include: Vec<OsString>,

    /// Macro for the C compiler
    #[arg(
        short = 'D',
        value_name = "NAME[=VALUE]",
        help_heading = "Options for C programs"
    )]
    define: Vec<OsString>,

    /// Library of the C compiler to link with; the mathematical one (m) always is
    #[arg(
        short = 'l',
        value_name = "LIBRARY",
        help_heading = "Options for C programs"
    )]
    library: Vec<OsString>,

    /// More options for the C compiler, for example --cflags="-std=c99 -O3 -Wall" [default: -O2 -g]
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, value_parser = parse_flags,
        help_heading = "Options for C programs")]
    cflags: Vec<Vec<String>>,

    /// Pass on what ranks write byte for byte, without the rank in front of each line; so it is for one rank
    #[arg(long, overrides_with_all = ["prefix", "no_prefix"])]
    no_prefix: bool,

    /// Put the rank in front of each line that it writes; so it is for several ranks
    #[arg(long, overrides_with_all = ["prefix", "no_prefix"])]
    prefix: bool,

    /// Several programs of `mpiexec`; `program` is then the first and does not apply to all ranks.
    #[arg(skip)]
    pub apps: Vec<AppOptions>,

    /// Binary of a package, where it has several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// The program: C files (.c, also .o and .a), a Rust file (.rs), the folder or Cargo.toml of a package of cargo's, or a
    /// linked image
    #[arg(value_name = "PROGRAM", required = true)]
    program: Vec<PathBuf>,

    /// The program's arguments
    #[arg(value_name = "ARGUMENTS", last = true)]
    arguments: Vec<OsString>,
}

/// A program that `mpiexec` starts.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// Number of ranks that run it.
    pub ranks: u32,
    /// File of the program.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Additional environment variables of the program, as for the option `--env`.
    pub env: Vec<OsString>,
    /// The same, as for `-x`.
    pub export: Vec<OsString>,
    /// Working directory of its processes.
    pub directory: Option<PathBuf>,
}

/// A program to build, with its arguments.
struct App {
    program: Program,
    first: u32,
    ranks: u32,
    argv: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    directory: Option<PathBuf>,
}

impl App {
    fn facts(&self) -> ProgramFacts {
        let words = self.argv.iter().skip(1);
        ProgramFacts {
            program: self.program.path().display().to_string(),
            arguments: words
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
            first_rank: self.first,
            ranks: self.ranks,
        }
    }
}

/// What the nodes of a job are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum On {
    /// Bare machines that QEMU emulates
    Qemu,
    /// Processes of this machine
    Linux,
    /// Coroutines in one process of this machine, in virtual time: C programs on up to 65,536 nodes
    Cluster,
}

impl On {
    /// Returns the content of a native program's process.
    fn carries(self) -> Carries {
        match self {
            On::Cluster => Carries::Cluster,
            On::Linux | On::Qemu => Carries::Node,
        }
    }
}

impl Options {
    /// Returns the build options.
    fn flags(&self) -> Flags {
        let with = |letter: &str, values: &[OsString]| {
            let flag = |value: &OsString| {
                let mut flag = OsString::from(letter);
                flag.push(value);
                flag
            };
            values.iter().map(flag).collect::<Vec<_>>()
        };
        let given = self.cflags.iter().flatten().map(OsString::from);
        Flags {
            compile: [with("-I", &self.include), with("-D", &self.define)]
                .into_iter()
                .flatten()
                .chain(given)
                .collect(),
            link: with("-l", &self.library),
            stack: self.stack,
            matching: { self.matching }.unwrap_or_else(|| Board::chosen().matching()),
            faults: self.faults.given().is_some(),
            auto: self.auto,
            console: self.console.is_some(),
            instances: false,
            log: false,
            borrow: self.mpi_borrow,
        }
    }

    /// Returns the programs of a machine with this many nodes, after checking them.
    fn apps(&self, nodes: u32) -> Result<Vec<App>, Stop> {
        if self.apps.is_empty() {
            let program = Program::classify(&self.program, self.bin.as_deref())?;
            return Ok(vec![App {
                argv: argv(&program, &self.arguments),
                environment: self.environment(&[], &[])?,
                program,
                first: 0,
                ranks: nodes,
                directory: None,
            }]);
        }
        let mut apps = Vec::new();
        let mut first = 0;
        for app in &self.apps {
            let program = Program::classify(slice::from_ref(&app.program), None)?;
            if let Some(directory) = app.directory.as_ref().filter(|path| !path.is_dir()) {
                let directory = directory.display();
                return Err(Stop::usage(format!(
                    "-wdir {directory}: there is no such folder"
                )));
            }
            apps.push(App {
                argv: argv(&program, &app.arguments),
                environment: self.environment(&app.export, &app.env)?,
                program,
                first,
                ranks: app.ranks,
                directory: app.directory.clone(),
            });
            first += app.ranks;
        }
        if first != nodes {
            return Err(Stop::usage(format!(
                "-n: the programs have {first} ranks in all, and the machine has {nodes} nodes, one for each"
            )));
        }
        self.check_apps(&apps)?;
        Ok(apps)
    }

    /// Checks that the programs' individual settings are supported by the platform.
    fn check_apps(&self, apps: &[App]) -> Result<(), Stop> {
        if self.on == On::Qemu && apps.iter().any(|app| app.directory.is_some()) {
            say::complain(
                "midplane: -wdir does nothing for nodes; --files FOLDER gives them a folder to work in",
            );
        }
        let Some((first, others)) = apps.split_first().filter(|_| self.on == On::Cluster) else {
            return Ok(());
        };
        let has_one = |same: fn(&App, &App) -> bool| others.iter().all(|other| same(first, other));
        let several = [
            (has_one(|a, b| a.program == b.program), "programs"),
            (
                has_one(|a, b| a.environment == b.environment),
                "environments",
            ),
            (has_one(|a, b| a.directory == b.directory), "folders"),
        ];
        match several.iter().find(|(is_one, _)| !is_one) {
            Some((_, what)) => Err(Stop::usage(format!(
                "the ranks of a cluster are in one process, which cannot have several {what}; give --on linux"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the number of ranks, one per node.
    pub fn ranks(&self) -> u32 {
        let extents = self.nodes.unwrap_or(self.torus);
        extents.into_iter().map(u32::from).product()
    }

    /// Returns the output style for this many nodes.
    fn style(&self, nodes: u32) -> Style {
        Style::of(nodes, self.prefix || !self.no_prefix && nodes > 1)
    }

    /// Returns a program's environment, each entry as NAME=VALUE. The program's own variables override the others.
    fn environment(&self, export: &[OsString], env: &[OsString]) -> Result<Vec<Vec<u8>>, Stop> {
        let mut variables = BTreeMap::new();
        Self::add_variables((&self.export, &self.env), &mut variables)?;
        Self::add_variables((export, env), &mut variables)?;
        let join = |(name, value): (Vec<u8>, Vec<u8>)| [&name[..], b"=", &value].concat();
        Ok(variables.into_iter().map(join).collect())
    }

    /// Adds variables: exported ones with their current values, and those with explicit values.
    fn add_variables(
        (export, env): (&[OsString], &[OsString]),
        variables: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(), Stop> {
        for word in export {
            let (name, value) = match divided(word) {
                Some((name, value)) => (name, value.to_vec()),
                None => {
                    let value = std::env::var_os(word).ok_or_else(|| {
                        Stop::usage(format!(
                            "-x {0}: there is no variable {0} here; give it a value with --env {0}=VALUE",
                            word.display()
                        ))
                    })?;
                    (word.as_bytes(), value.into_vec())
                }
            };
            variables.insert(name.to_vec(), value);
        }
        for word in env {
            let Some((name, value)) = divided(word) else {
                return Err(Stop::usage(format!(
                    "--env {0}: give it as NAME=VALUE; for a variable as it is here, -x {0}",
                    word.display()
                )));
            };
            variables.insert(name.to_vec(), value.to_vec());
        }
        Ok(())
    }

    /// Returns the specified options that only some kinds of programs support.
    fn given(&self) -> Vec<Heeded> {
        [
            (!self.include.is_empty(), Heeded::Compile("-I")),
            (!self.define.is_empty(), Heeded::Compile("-D")),
            (!self.cflags.is_empty(), Heeded::Compile("--cflags")),
            (!self.library.is_empty(), Heeded::LinkC("-l")),
            (self.stack.is_some(), Heeded::Link("--stack")),
            (
                self.matching.is_some() && self.on == On::Qemu,
                Heeded::Link("--matching"),
            ),
            (self.auto, Heeded::Link("--auto")),
            (self.console.is_some(), Heeded::Link("--console")),
        ]
        .into_iter()
        .filter_map(|(given, option)| given.then_some(option))
        .chain(self.faults.given().map(Heeded::Link))
        .collect()
    }

    /// Returns the RAM of a node in bytes.
    fn node_memory(&self) -> u64 {
        if let Some(bytes) = self.board.fixed_memory() {
            return bytes;
        }
        let beside = self
            .mpi_memory
            .filter(|bytes| *bytes > DEFAULT_MPI_MEMORY)
            .and_then(|bytes| bytes.checked_next_multiple_of(1 << 20))
            .unwrap_or(0);
        self.node_memory
            .unwrap_or(DEFAULT_NODE_MEMORY.saturating_add(beside))
    }

    /// Returns the MPI memory of nodes with `memory` bytes of RAM.
    fn mpi_memory_of(&self, memory: u64) -> u64 {
        self.mpi_memory.unwrap_or_else(|| {
            (memory / MPI_SHARE).clamp(MIN_MPI_MEMORY as u64, DEFAULT_MPI_MEMORY)
        })
    }
}

/// Returns a program's argv.
fn argv(program: &Program, arguments: &[OsString]) -> Vec<Vec<u8>> {
    let words = arguments.iter().cloned().map(OsString::into_vec);
    [program.name().into_bytes()]
        .into_iter()
        .chain(words)
        .collect()
}

/// Splits NAME=VALUE; `None` for any other format.
fn divided(variable: &OsStr) -> Option<(&[u8], &[u8])> {
    let bytes = variable.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    (at > 0).then(|| (&bytes[..at], &bytes[at + 1..]))
}

/// Dimensions without wrap-around links.
type Mesh = [bool; 3];

fn parse_flags(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|_| format!("a quote in `{text}` is not closed"))
}

/// Parses a timeout in seconds.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a timeout; give seconds, more than 0"))
}

/// Runs the command; returns the exit status.
pub fn run(options: &Options) -> Result<u8, Stop> {
    run_and_look(options, &mut |_| ())
}

/// Runs the command and passes the job's result to `look`.
pub fn run_and_look(options: &Options, look: &mut dyn FnMut(&JobEnd)) -> Result<u8, Stop> {
    let shape = checked(options)?;
    let node_memory = options.node_memory();
    let faults = options.faults.order(&shape)?;
    let apps = options.apps(shape.nodes())?;
    for app in &apps {
        app.program.check_flags(&options.given())?;
    }
    // The first entry with the same program: each program is built once.
    let image_of = |at: usize| {
        let is_same = |app: &App| app.program == apps[at].program;
        apps.iter().position(is_same).unwrap_or(at)
    };
    let starts: Vec<u32> = { 1..apps.len() }
        .filter(|at| image_of(*at) != image_of(at - 1))
        .map(|at| apps[at].first)
        .collect();
    let folder = { options.files.as_deref() }.map(Folder::open).transpose()?;
    let report_file = ResultFile::open_if_given(options.watched.report.as_ref())?;
    let division = match options.board {
        Board::Virt if options.debug.is_some() => None,
        Board::Virt => boxes::divide(shape, options.instances, &starts)?,
        Board::Stm32f405 => None,
    };
    let flags = options.flags();
    let tools = match options.on {
        On::Qemu => {
            let instances = division.map(|division| division.instances().into());
            Some(tools_for_nodes(options, &shape, instances)?)
        }
        On::Linux => {
            Machine::look().check_processes(shape.nodes().into())?;
            None
        }
        On::Cluster => None,
    };
    let mut images: Vec<Option<Image>> = Vec::new();
    for (at, app) in apps.iter().enumerate() {
        images.push(match (image_of(at) == at, &tools) {
            (false, _) => None,
            (true, Some(tools)) => {
                let is_several = division.is_none_or(|division| division.instances() > 1);
                Some(build_for_nodes(
                    options,
                    (tools, &app.program),
                    &shape,
                    is_several,
                )?)
            }
            (true, None) => Some(linux::build(&app.program, &flags, options.on.carries())?),
        });
    }
    let debug = debugger(options, &shape)?;
    let planned = apps.iter().enumerate().filter_map(|(at, app)| {
        Some(plan::App {
            image: images[image_of(at)].as_ref()?,
            first: app.first,
            argv: &app.argv,
            environment: &app.environment,
            directory: app.directory.as_deref(),
        })
    });
    let plan = Plan {
        backend: backend(options, tools.as_ref()),
        limits_memory: options.node_memory.is_some(),
        stack: options.stack,
        processors: options.processors.unwrap_or(1),
        costs: &options.cost,
        under: &options.under.concat(),
        debug: debug.as_ref(),
        apps: planned.collect(),
        shape,
        boxes: division.map(|division| Boxes::new(division, node_memory)),
        node_memory,
        mpi_memory: options.mpi_memory_of(node_memory),
        mpi_borrow: options.mpi_borrow,
        eager: options.eager,
        interrupts: options.interrupts,
        seal: options.seal,
        matching: match options.on {
            On::Qemu => { apps.iter() }
                .map(|app| app.program.matching(&flags))
                .reduce(Option::and)
                .flatten(),
            On::Linux | On::Cluster => Some(flags.matching),
        },
        faults: faults.as_ref(),
        auto: options.auto,
        console: options.console,
        log: options.verbose,
        counted: options.count_instructions,
        sandbox: tools.as_ref().is_some_and(|tools| can_lock_in(&tools.qemu)),
    };
    let signals = match debug {
        // The debugger reads from the terminal and handles its keys.
        Some(_) if stdin().is_terminal() => Signals::catch_but_keys()?,
        _ => Signals::catch()?,
    };
    let facts: Vec<ProgramFacts> = apps.iter().map(App::facts).collect();
    let shown = Shown {
        quiet: options.watched.quiet,
        links: options.watched.links,
        style: options.style(shape.nodes()),
        program: facts[0].program.clone(),
        arguments: facts[0].arguments.clone(),
        programs: if facts.len() > 1 { facts } else { Vec::new() },
    };
    let limits = (folder, options.watched.timeout);
    show(&plan, limits, &signals, (&shown, report_file), look)
}

/// Display options of a job.
pub struct Shown {
    /// Whether to omit the report's table.
    pub quiet: bool,
    /// Whether to add a table of the links.
    pub links: bool,
    /// Output style of the ranks.
    pub style: Style,
    /// The program's file, for the report.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All programs, if there are several.
    pub programs: Vec<ProgramFacts>,
}

/// Runs a job, and shows its output and result; returns the exit status. The nodes may access the files in a directory;
/// the timeout limits the job's duration.
pub fn show(
    plan: &Plan<'_>,
    (folder, timeout): (Option<Folder>, Option<Duration>),
    signals: &Signals,
    (shown, report_file): (&Shown, Option<ResultFile>),
    look: &mut dyn FnMut(&JobEnd),
) -> Result<u8, Stop> {
    let (stdout, stderr) = (stdout(), stderr());
    let (mut out, mut err) = (
        Sink::new(&stdout, shown.style),
        Sink::new(&stderr, shown.style),
    );
    let end = job::run(plan, folder, timeout, signals, &mut out, &mut err)?;
    look(&end);
    let status = tell(shown, plan, &end, report_file, &mut err);
    job::flush(signals, &mut out, &mut err);
    Ok(written(status, end.outcome, &mut out, &mut err, signals))
}

/// Checks all options that can be rejected before a build; returns the machine's shape.
fn checked(options: &Options) -> Result<Shape, Stop> {
    let extents = options.nodes.unwrap_or(options.torus);
    let shape = Shape::new(extents, options.mesh.map(|mesh| !mesh))
        .ok_or_else(|| Stop::usage("--torus: extents are 1 to 256"))?;
    toolchain::choose(options.board.kit());
    check_board(options)?;
    if let Some(console) = options.console {
        check_console(console, &shape)?;
    }
    let node_memory = options.node_memory();
    check_memory(node_memory, options.mpi_memory_of(node_memory))?;
    options.stack.map_or(Ok(()), given::check_stack)?;
    check_place(options)?;
    Ok(shape)
}

/// Returns the back end, with the tools that it requires.
fn backend<'a>(options: &Options, tools: Option<&'a ToolSet>) -> Backend<'a> {
    match (tools, options.board) {
        (None, _) if options.on == On::Cluster => Backend::Cluster,
        (None, _) => Backend::Linux,
        (Some(tools), Board::Virt) => Backend::Qemu(&tools.qemu),
        (Some(tools), Board::Stm32f405) => Backend::Boards(&tools.qemu),
    }
}

/// Returns the requested debugger.
fn debugger(options: &Options, shape: &Shape) -> Result<Option<Debug>, Stop> {
    let Some(rank) = options.debug else {
        return Ok(None);
    };
    let why_not = match (options.on, options.board) {
        (On::Cluster, _) => Some("all ranks are in one process, which gdb can be started on"),
        (_, Board::Stm32f405) => {
            Some("the other boards take links for cut that say nothing for long")
        }
        _ => None,
    };
    if let Some(why) = why_not {
        return Err(Stop::usage(format!(
            "--debug is not there: {why}; give --on linux, or leave --board out"
        )));
    }
    if rank >= shape.nodes() {
        return Err(Stop::usage(format!(
            "--debug {rank}: the ranks are 0 to {}",
            shape.nodes() - 1
        )));
    }
    Debug::find(rank, &options.debugger.concat(), options.on == On::Linux).map(Some)
}

/// Describes the platform on which an option for QEMU has no effect.
const fn without_qemu(on: On) -> &'static str {
    match on {
        On::Cluster => "in a cluster",
        On::Linux | On::Qemu => "for processes",
    }
}

/// Checks that all options have an effect on the job's platform.
fn check_place(options: &Options) -> Result<(), Stop> {
    if !options.under.is_empty() && options.on == On::Qemu {
        return Err(Stop::usage(
            "--under does nothing for nodes in QEMU; leave it out, or give --on linux",
        ));
    }
    if options.on != On::Qemu {
        let only_in_qemu = [
            (options.instances.is_some(), "--instances"),
            (options.count_instructions, "--count-instructions"),
            (options.files.is_some(), "--files"),
        ];
        if let Some((_, option)) = only_in_qemu.iter().find(|(given, _)| *given) {
            return Err(Stop::usage(format!(
                "{option} does nothing {}; leave it out, or give --on qemu",
                without_qemu(options.on)
            )));
        }
    }
    if options.processors.is_some() && options.on != On::Cluster {
        return Err(Stop::usage(
            "--processors is for clusters; leave it out, or give --on cluster",
        ));
    }
    if !options.cost.is_empty() && options.on != On::Cluster {
        return Err(Stop::usage(
            "--cost is for clusters, whose time is virtual; leave it out, or give --on cluster",
        ));
    }
    if options.on == On::Cluster {
        let faults = options.faults.given();
        let not_there = [
            (!options.under.is_empty(), "--under"),
            (options.mpi_borrow, "--mpi-borrow"),
            (options.node_memory.is_some(), "--node-memory"),
            (faults.is_some(), faults.unwrap_or_default()),
        ];
        if let Some((_, option)) = not_there.iter().find(|(given, _)| *given) {
            return Err(Stop::usage(format!(
                "{option} does nothing in a cluster; leave it out, or give --on linux"
            )));
        }
    }
    Ok(())
}

/// Returns the tools that build and run images for nodes. Fails if the host's capacity is exceeded.
fn tools_for_nodes(
    options: &Options,
    shape: &Shape,
    instances: Option<u64>,
) -> Result<ToolSet, Stop> {
    let node_memory = options.node_memory();
    let memory = Memory {
        node: node_memory,
        mpi: options.mpi_memory_of(node_memory),
    };
    Machine::look().check(shape.nodes().into(), memory, instances)?;
    setup::ensure()
}

/// Builds a program's image for the nodes. Fails if it does not fit in a node's memory.
fn build_for_nodes(
    options: &Options,
    (tools, program): (&ToolSet, &Program),
    shape: &Shape,
    is_several: bool,
) -> Result<Image, Stop> {
    let node_memory = options.node_memory();
    let mpi_memory = options.mpi_memory_of(node_memory);
    let flags = Flags {
        instances: options.board == Board::Virt && is_several,
        log: options.verbose,
        ..options.flags()
    };
    let image = program.build(tools, &flags)?;
    image.check_has(&flags)?;
    if image.has_personality {
        return Err(Stop::usage(format!(
            "{} is for one node of another machine, whose personality it holds; give what it was made from",
            image.path.display()
        )));
    }
    let links = busiest_node_links(shape);
    match options.board {
        Board::Virt => image.check_fits(node_memory, |memory| MemoryNeeds {
            links,
            mpi: options.mpi_memory_of(memory),
            tables: 0,
        })?,
        Board::Stm32f405 => image.check_fits_board(links, mpi_memory, shape.nodes())?,
    }
    Ok(image)
}

/// Checks that the board supports all options.
fn check_board(options: &Options) -> Result<(), Stop> {
    if options.board == Board::Virt {
        let only_boards = [
            (options.auto, "--auto", "wires"),
            (options.console.is_some(), "--console", "serial lines"),
        ];
        return match only_boards.iter().find(|(given, ..)| *given) {
            Some((_, option, what)) => Err(Stop::usage(format!(
                "{option} does nothing without --board stm32f405: other nodes have no {what}"
            ))),
            None => Ok(()),
        };
    }
    if options.on != On::Qemu {
        return Err(Stop::usage(format!(
            "--board does nothing {}; leave it out, or give --on qemu",
            without_qemu(options.on)
        )));
    }
    let only_virt = [
        (
            options.instances.is_some(),
            "--instances",
            "each node is a board of its own",
        ),
        (
            options.node_memory.is_some(),
            "--node-memory",
            "it has 128K",
        ),
        (
            options.count_instructions,
            "--count-instructions",
            "its processor has no such counter",
        ),
    ];
    match only_virt.iter().find(|(given, ..)| *given) {
        Some((_, option, why)) => Err(Stop::usage(format!(
            "{option} does nothing for the board stm32f405, {why}; leave it out"
        ))),
        None => Ok(()),
    }
}

/// Checks whether this QEMU supports its sandbox.
fn can_lock_in(qemu: &SystemTool) -> bool {
    // QEMU prints its version only after accepting the preceding options.
    let mut command = qemu.command();
    command.args(["-sandbox", wiring::SANDBOX, "-version"]);
    midplane_setup::query::run_checked(&mut command).is_ok()
}

/// Shows the job's result and writes its report; returns the preliminary exit status.
fn tell(
    shown: &Shown,
    plan: &Plan<'_>,
    end: &JobEnd,
    report_file: Option<ResultFile>,
    err: &mut Sink<'_>,
) -> u8 {
    if !shown.quiet && end.outcome != Outcome::Interrupted {
        let links = shown.links.then(|| report::link_table(&plan.shape, end));
        for line in report::table(end).iter().chain(links.iter().flatten()) {
            err.lines.note(line);
        }
    }
    if !shown.quiet {
        for link in report::cut_links(&plan.shape, end) {
            err.lines.note(&format!(
                "midplane: {link} is cut; what would go over it goes another way"
            ));
        }
    }
    if let Some(message) = &end.message {
        err.lines.note(&format!("midplane: {message}"));
    }
    let Some(report_file) = report_file else {
        return end.status;
    };
    let facts = JobFacts {
        program: shown.program.clone(),
        arguments: shown.arguments.clone(),
        programs: shown.programs.clone(),
        node_memory: plan.node_memory,
        mpi_memory: plan.mpi_memory,
        mpi_borrow: plan.mpi_borrow,
        matching: report::matching(end).map(Into::into),
        ..JobFacts::of_shape(&plan.shape)
    };
    match report::write(report_file, &facts, end) {
        Ok(()) => end.status,
        Err(stop) => {
            err.lines.note(&format!("midplane: {stop}"));
            or_failure(end.status)
        }
    }
}

/// Returns the exit status after output was written or has failed.
fn written(
    status: u8,
    outcome: Outcome,
    out: &mut Sink<'_>,
    err: &mut Sink<'_>,
    signals: &Signals,
) -> u8 {
    // Errors that ended the job were reported before.
    let late = out.broken().filter(|_| outcome == Outcome::Ended);
    let status = match late {
        None => status,
        Some(Errno::PIPE) if status == 0 => Stop::signal(SIGPIPE).status,
        Some(Errno::PIPE) => status,
        Some(error) => {
            let stop = say::unwritable(error.into());
            err.lines.note(&format!("midplane: {stop}"));
            job::flush(signals, out, err);
            or_failure(status)
        }
    };
    match err.broken() {
        // No stream remains for a report.
        Some(error) if error != Errno::PIPE => or_failure(status),
        _ => status,
    }
}

/// Returns a status that reports failure.
fn or_failure(status: u8) -> u8 {
    match status {
        0 => FAILURE,
        status => status,
    }
}

/// Returns the maximum number of links of a node.
fn busiest_node_links(shape: &Shape) -> usize {
    let links = |extent: u16, wraps: bool| match extent {
        1 => 0,
        2 if !wraps => 1,
        _ => 2,
    };
    shape
        .extents()
        .into_iter()
        .zip(shape.wraps())
        .map(|(extent, wraps)| links(extent, wraps))
        .sum()
}

fn check_memory(node_memory: u64, mpi_memory: u64) -> Result<(), Stop> {
    const PAGE: u64 = 4096;
    if !node_memory.is_multiple_of(PAGE) || node_memory == 0 {
        return Err(Stop::usage(format!(
            "--node-memory {} must be a multiple of 4K",
            size::exact(node_memory)
        )));
    }
    if mpi_memory >= node_memory {
        return Err(Stop::usage(format!(
            "--mpi-memory {} does not fit into --node-memory {}; give a smaller one or more node memory",
            size::exact(mpi_memory),
            size::exact(node_memory)
        )));
    }
    Ok(())
}
