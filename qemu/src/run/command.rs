//! `midplane run`: from the command line to the exit status.

use crate::build::board::Board;
use crate::build::image::Image;
use crate::build::inputs::{self, BuildFlags, OptionScope};
use crate::build::linux::{self, ProcessContent};
use crate::build::shared_library;
use crate::build::source::Program;
use crate::host::capacity::{DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY, HostMachine, NodeMemory};
use crate::host::error::{CliError, FAILURE};
use crate::host::setup::{self, SystemTool, ToolSet};
use crate::host::signals::Signals;
use crate::host::size;
use crate::run::analysis::{Analysis, AnalysisOptions};
use crate::run::boxes::{self, InstanceBoxes};
use crate::run::debug::DebugSession;
use crate::run::faults::FaultOptions;
use crate::run::files::ServedDirectory;
use crate::run::hosts::division::HostPlan;
use crate::run::hosts::launch::{DEFAULT_COMMAND, LaunchMethod};
use crate::run::hosts::slurm;
use crate::run::job::{self, JobLimits, OnHang};
use crate::run::job_result::JobResult;
use crate::run::linux::universe::UniversePlan;
use crate::run::match_schedule::read_schedule;
use crate::run::outcome::JobOutcome;
use crate::run::output::{OutputSink, OutputStyle};
use crate::run::packets::PacketOptions;
use crate::run::plan::{self, Backend, JobPlan};
use crate::run::recording::Recording;
use crate::run::report::{self, JobFacts, ProgramFacts, picture};
use crate::run::serial_port::{check_console, parse_console};
use crate::run::{limits, topology, wiring};
use crate::show::console;
use crate::show::file::ResultFile;
use clap::{Args, ValueEnum};
use kernel_rt::memory_plan::{MPI_SHARE, MemoryNeeds};
use midplane_abi::boot_parameters::SerialConsole;
use midplane_device::MIN_MPI_MEMORY;
use midplane_engines::EngineChoice;
use midplane_lab::timed::{CostChange, OperationCosts};
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

/// Time limit of a job and report options.
#[derive(Args, Debug, Default)]
pub struct ReportOptions {
    /// End the job after this time and print the call of each rank
    #[arg(long, value_name = "SECONDS", value_parser = parse_timeout, allow_negative_numbers = true,
          help_heading = "Limits")]
    pub timeout: Option<Duration>,

    /// Write the report to this file as JSON (format: docs/reference/report.md)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// Draw the packets of each link to this file as SVG, for up to 512 nodes
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,

    /// Do not print the report's table
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Print a second table with packets and frames by link, direction and virtual channel
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub links: bool,
}

/// Files for the result of a job.
#[derive(Debug)]
pub struct ReportFiles {
    json: Option<ResultFile>,
    svg: Option<ResultFile>,
    pcap: Option<ResultFile>,
    analysis: Analysis,
}

impl ReportOptions {
    /// Returns the limits of a job with this reaction to a hang.
    pub fn limits(&self, on_hang: OnHang) -> JobLimits {
        JobLimits {
            timeout: self.timeout,
            on_hang,
        }
    }

    /// Opens the files before the job.
    ///
    /// # Errors
    /// Returns a usage error if a file cannot be written, if both are the same, and for a drawing of too many nodes.
    pub fn open_files(&self, shape: &Shape) -> Result<ReportFiles, CliError> {
        if self.svg.is_some() && shape.nodes() > picture::MAX_DRAWN_NODES {
            return Err(CliError::usage(format!(
                "--svg: a drawing contains at most {} nodes; omit it, or use --links",
                picture::MAX_DRAWN_NODES
            )));
        }
        let (json, svg) = ResultFile::open_both(self.report.as_ref(), self.svg.as_ref())?;
        Ok(ReportFiles {
            json,
            svg,
            pcap: None,
            analysis: Analysis::default(),
        })
    }
}

/// Options for the compilers of C, C++ and Fortran.
#[derive(Args, Debug)]
pub struct CompileOptions {
    /// Directory of headers and Fortran modules for the compilers
    #[arg(short = 'I', value_name = "DIRECTORY", help_heading = "Compilers")]
    include: Vec<OsString>,

    /// Macro for the compilers
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compilers")]
    define: Vec<OsString>,

    /// Library to link; the mathematical library (m) is always linked
    #[arg(short = 'l', value_name = "LIBRARY", help_heading = "Compilers")]
    library: Vec<OsString>,

    /// Additional options for the compilers, for example --cflags="-std=c99 -O3 -Wall" [default: -O2 -g]
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, value_parser = parse_flags,
          help_heading = "Compilers")]
    cflags: Vec<Vec<String>>,
}

impl CompileOptions {
    /// Returns the arguments of the compile step.
    pub fn compile(&self) -> Vec<OsString> {
        let given = self.cflags.iter().flatten().map(OsString::from);
        { with_letter("-I", &self.include).chain(with_letter("-D", &self.define)) }
            .chain(given)
            .collect()
    }

    /// Returns the arguments of the link step.
    pub fn link(&self) -> Vec<OsString> {
        with_letter("-l", &self.library).collect()
    }

    /// Returns each option with its scope, and whether it is specified.
    pub fn specified_options(&self) -> [(bool, OptionScope); 4] {
        [
            (!self.include.is_empty(), OptionScope::Compile("-I")),
            (!self.define.is_empty(), OptionScope::Compile("-D")),
            (!self.cflags.is_empty(), OptionScope::Compile("--cflags")),
            (!self.library.is_empty(), OptionScope::LinkC("-l")),
        ]
    }
}

/// Returns the values of an option as arguments of the compiler.
fn with_letter<'a>(letter: &'a str, values: &'a [OsString]) -> impl Iterator<Item = OsString> + 'a {
    values.iter().map(move |value| {
        let mut flag = OsString::from(letter);
        flag.push(value);
        flag
    })
}

/// Compiler option that reports each basic block that a program executes, for the cost `compute_ns_per_block`.
const COUNT_BLOCKS: &str = "-fsanitize-coverage=trace-pc";

/// Options of `midplane run`.
#[derive(Args, Debug)]
#[command(after_help = "Standard input goes to rank 0.\n\n\
                  Example: cargo midplane run --torus 2x2x2 main.c -- arguments")]
pub struct RunOptions {
    /// Extents of the machine along X, Y and Z, each 1 to 256. Each node runs one MPI rank
    #[arg(long, value_name = "XxYxZ", default_value = "2x2x2", value_parser = topology::parse_extents,
          help_heading = "Machine")]
    torus: [u16; 3],

    /// Platform of the nodes. Use `linux` with debuggers, valgrind or sanitizers; it requires no emulator
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = RunPlatform::Qemu, help_heading = "Machine")]
    on: RunPlatform,

    /// Emulated machine
    #[arg(long, value_name = "BOARD", value_enum, default_value_t = Board::Virt, help_heading = "Machine")]
    board: Board,

    /// With --on linux: start each rank with this command, for example --under="valgrind -q"
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, value_parser = parse_flags,
          help_heading = "Debugging")]
    under: Vec<Vec<String>>,

    /// Start gdb on this rank, at the program's first line. The other ranks run. gdb reads the standard input, rank 0
    /// receives none, and the job ends with gdb. With --on qemu, each node runs in a separate instance
    #[arg(long, value_name = "RANK", conflicts_with_all = ["under", "instances"], help_heading = "Debugging")]
    debug: Option<u32>,

    /// Debugger that accepts gdb's options, for example --debugger="gdb -tui" [default: gdb; with --on qemu,
    /// gdb-multiarch or the C compiler's gdb]
    #[arg(long, value_name = "COMMAND", requires = "debug", allow_hyphen_values = true, value_parser = parse_flags,
          help_heading = "Debugging")]
    debugger: Vec<Vec<String>>,

    /// Number of nodes, arranged as nearly as possible as a cube. Replaces --torus; -np is an alias
    #[arg(short = 'n', long, value_name = "NODES", conflicts_with = "torus", value_parser = topology::parse_nodes,
          help_heading = "Machine")]
    nodes: Option<[u16; 3]>,

    /// Number of QEMU processes, 1 to the number of nodes. Each runs an equal box of at most 512 nodes [default: the
    /// minimum]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Machine")]
    instances: Option<u32>,

    /// With --on linux: run the ranks on these hosts, for example a,b. The torus is divided into equal boxes with as few
    /// links between hosts as possible [default: the hosts of the Slurm job, or this host]
    #[arg(long, value_name = "HOST,HOST", value_delimiter = ',', help_heading = "Hosts")]
    hosts: Vec<String>,

    /// Command to which a host and a command line are appended, to execute it there, for example
    /// --host-command="ssh -q" [default: ssh]
    #[arg(long, value_name = "COMMAND", requires = "hosts", allow_hyphen_values = true, value_parser = parse_flags,
          help_heading = "Hosts")]
    host_command: Vec<Vec<String>>,

    /// Print the ranks of each host and the commands that start its agent, and start nothing
    #[arg(long, help_heading = "Hosts")]
    dry_run: bool,

    /// With --on linux: number of spare nodes, in which processes that MPI_Comm_spawn starts run. The nodes form a line, of at
    /// most 256 nodes with the spare ones. 0: none, and the nodes form a torus [default: for a program that may call
    /// MPI_Comm_spawn, on one host and for at most 64 ranks, as many as possible; else 0]
    #[arg(long, value_name = "NODES", help_heading = "Machine")]
    spare: Option<u32>,

    /// Dimensions without wrap-around links, for example z or xyz [default: none]
    #[arg(long, value_name = "DIMENSIONS", default_value = "", hide_default_value = true,
          value_parser = topology::parse_mesh,
          help_heading = "Machine")]
    mesh: MeshDimensions,

    /// With --board stm32f405: boards detect their coordinates from the wiring, as with `flash --auto`
    #[arg(long, help_heading = "Machine")]
    auto: bool,

    /// With --board stm32f405: use one serial console for the output and the reports of all boards, as `flash
    /// --console` and `attach` do. Specify an unused link direction of the node at 0,0,0 or of another node
    #[arg(long, value_name = "[X,Y,Z:]DIRECTION", conflicts_with_all = ["files", "verbose"],
          value_parser = parse_console,
          help_heading = "Machine")]
    console: Option<SerialConsole>,

    /// RAM of a node for image, stack, heap and MPI memory, for example 8M. The host allocates a page at its first use
    /// [default: 64M; if --mpi-memory exceeds 1M, 64M plus --mpi-memory]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Memory")]
    node_memory: Option<u64>,

    /// Memory of each node for records and buffers of incoming messages, for example 4K or 16M [default: 1M, or an
    /// eighth of --node-memory if that is less]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_mpi_memory, help_heading = "Memory")]
    mpi_memory: Option<u64>,

    /// Allocate additional MPI memory from the program's heap, up to 3/4 of it, while the program does not use it
    #[arg(long, help_heading = "Memory")]
    mpi_borrow: bool,

    /// Maximum size of an eager message, at most 64K. Larger messages wait for the receiver's CTS [default: 8K]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_eager, help_heading = "Messages")]
    eager: Option<u64>,

    /// Maximum share of CPU time, in percent, that interrupt handling may use while the program computes. At 0,
    /// messages (including forwarded ones) make progress only inside MPI calls. No effect with --on linux [default:
    /// 100]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100),
          help_heading = "Messages")]
    interrupts: Option<u8>,

    /// Check every frame in shared memory, so that a wild store ends the job and corrupts no message. No effect on
    /// boards and with --on cluster, which use no shared memory
    #[arg(long, help_heading = "Messages")]
    seal: bool,

    /// Matching engine, selected when the program is linked [default: default; on stm32f405: list]
    #[arg(long, value_name = "NAME", value_parser = limits::matching(), help_heading = "Messages")]
    matching: Option<EngineChoice>,

    /// Stack of the program, a multiple of 4K [default: 512K]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Memory")]
    stack: Option<u64>,

    /// With --on cluster: number of host processors. The result does not depend on it [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = limits::processors(), help_heading = "Simulator")]
    processors: Option<usize>,

    /// With --on cluster: change a value of the cost model, which describes Blue Gene/L. Names: link_ns_per_byte,
    /// hop_ns, packet_ns, call_ns, search_ns, copy_ns_per_byte, interrupt_ns, compute_percent, compute_ns_per_block.
    /// compute_percent converts the program's CPU time on this host to virtual time; compute_ns_per_block is the time of
    /// a basic block that the program executes (default of both: 0)
    #[arg(long, value_name = "NAME=VALUE", value_parser = CostChange::parse, help_heading = "Simulator")]
    cost: Vec<CostChange>,

    /// With --on cluster: match messages as in this file, which `explore` has written
    #[arg(long, value_name = "FILE", conflicts_with = "processors", help_heading = "Simulator")]
    schedule: Option<PathBuf>,

    #[command(flatten)]
    faults: FaultOptions,

    /// Variable of the program's environment on every node, at most 128. The last one of several with the same name is
    /// used. With --on linux, the processes also inherit this command's environment
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Program")]
    env: Vec<OsString>,

    /// Export a variable with its current value; with a value, the same as --env
    #[arg(short = 'x', value_name = "NAME[=VALUE]", help_heading = "Program")]
    export: Vec<OsString>,

    /// Directory that the nodes may read and write; the program sees it as /. Without this option, nodes cannot open
    /// files. With --on linux, programs use the host's files
    #[arg(long, value_name = "DIRECTORY", help_heading = "Program")]
    files: Option<PathBuf>,

    #[command(flatten)]
    watched: ReportOptions,

    #[command(flatten)]
    analysis: AnalysisOptions,

    #[command(flatten)]
    packets: PacketOptions,

    /// Reaction when each rank is blocked in MPI and no packet moves
    #[arg(
        long,
        value_name = "REACTION",
        value_enum,
        default_value = "report",
        help_heading = "Limits"
    )]
    on_hang: OnHang,

    /// Print the log of the kernels to stderr
    #[arg(short, long, visible_alias = "log", help_heading = "Debugging")]
    verbose: bool,

    /// Count instructions exactly (counter `instret`), and advance a node's clock by 1 ns per instruction. The job
    /// takes longer
    #[arg(long, help_heading = "Debugging")]
    count_instructions: bool,

    #[command(flatten)]
    compile: CompileOptions,

    /// Print the ranks' output unchanged, without the rank in front of each line [default for one rank]
    #[arg(long, overrides_with_all = ["prefix", "no_prefix"], help_heading = "Output")]
    no_prefix: bool,

    /// Print the rank in front of each line of its output [default for several ranks]
    #[arg(long, overrides_with_all = ["prefix", "no_prefix"], help_heading = "Output")]
    prefix: bool,

    /// Several programs of `mpiexec`; `program` is then the first and does not apply to all ranks.
    #[arg(skip)]
    pub apps: Vec<AppOptions>,

    /// Binary of a package that contains several
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    bin: Option<String>,

    /// Files in C and Fortran (.c, .f90, .o, .a), a Rust file (.rs), the directory or Cargo.toml of a cargo package, or a linked image
    #[arg(value_name = "PROGRAM", required_unless_present = "arguments")]
    program: Vec<PathBuf>,

    /// Arguments of the program. With --on linux and without PROGRAM, a command of this host and its arguments, for
    /// example `python3 script.py`: a program that loads MPI as a shared library
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
struct AppRequest {
    program: Program,
    first: u32,
    ranks: u32,
    argv: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    directory: Option<PathBuf>,
}

impl AppRequest {
    fn facts(&self) -> ProgramFacts {
        let words = self.argv.iter().skip(1);
        ProgramFacts {
            program: self.program.path().display().to_string(),
            arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
            first_rank: self.first,
            ranks: self.ranks,
        }
    }
}

/// Platform of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RunPlatform {
    /// Bare-metal nodes that QEMU emulates
    Qemu,
    /// Native Linux processes, one for each rank
    Linux,
    /// Simulator in one process, in virtual time: programs in C, C++ or Fortran on up to 65,536 nodes
    Cluster,
}

impl RunPlatform {
    /// Returns the content of a native program's process.
    fn process_content(self) -> ProcessContent {
        match self {
            RunPlatform::Cluster => ProcessContent::Cluster,
            RunPlatform::Linux | RunPlatform::Qemu => ProcessContent::Node,
        }
    }
}

impl RunOptions {
    /// Returns the build options.
    fn flags(&self) -> BuildFlags {
        let counts_blocks = OperationCosts::counts_blocks(&self.cost);
        let mut compile = self.compile.compile();
        compile.extend(counts_blocks.then(|| COUNT_BLOCKS.into()));
        BuildFlags {
            compile,
            link: self.compile.link(),
            stack: self.stack,
            matching: { self.matching }.unwrap_or_else(|| Board::chosen().matching()),
            faults: self.faults.first_specified().is_some(),
            auto: self.auto,
            console: self.console.is_some(),
            instances: false,
            log: false,
            borrow: self.mpi_borrow,
            recorder: self.analysis.is_recorded(),
            accesses: self.analysis.is_checked() && self.on != RunPlatform::Qemu,
            fortran: false,
        }
    }

    /// Returns the programs of a machine with this many nodes, after checking them.
    fn apps(&self, nodes: u32) -> Result<Vec<AppRequest>, CliError> {
        if self.apps.is_empty() {
            let (program, argv) = self.program()?;
            return Ok(vec![AppRequest {
                argv,
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
                return Err(CliError::usage(format!(
                    "-wdir {directory}: there is no such directory"
                )));
            }
            apps.push(AppRequest {
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
            return Err(CliError::usage(format!(
                "-n: the programs have {first} ranks in total, but the machine has {nodes} nodes, one per rank"
            )));
        }
        self.check_apps(&apps)?;
        Ok(apps)
    }

    /// Returns the program of all ranks and its argv.
    fn program(&self) -> Result<(Program, Vec<Vec<u8>>), CliError> {
        let command = self.arguments.first().filter(|_| self.program.is_empty());
        let Some(command) = command else {
            let program = Program::classify(&self.program, self.bin.as_deref())?;
            let argv = argv(&program, &self.arguments);
            return Ok((program, argv));
        };
        if self.on != RunPlatform::Linux {
            return Err(CliError::usage(format!(
                "a command of this host, {}, runs with --on linux only; else specify a program before `--`",
                command.display()
            )));
        }
        let words = self.arguments.iter().cloned().map(OsString::into_vec);
        Ok((Program::from_command(command)?, words.collect()))
    }

    /// Checks that the programs' individual settings are supported by the platform.
    fn check_apps(&self, apps: &[AppRequest]) -> Result<(), CliError> {
        if self.on == RunPlatform::Qemu && apps.iter().any(|app| app.directory.is_some()) {
            console::print_error_line(
                "midplane: -wdir does nothing for nodes; use --files DIRECTORY to provide a directory",
            );
        }
        let Some((first, others)) = apps.split_first().filter(|_| self.on == RunPlatform::Cluster) else {
            return Ok(());
        };
        let has_one = |same: fn(&AppRequest, &AppRequest) -> bool| others.iter().all(|other| same(first, other));
        let several = [
            (has_one(|a, b| a.program == b.program), "programs"),
            (has_one(|a, b| a.environment == b.environment), "environments"),
            (has_one(|a, b| a.directory == b.directory), "directories"),
        ];
        match several.iter().find(|(is_one, _)| !is_one) {
            Some((_, what)) => Err(CliError::usage(format!(
                "with --on cluster, all ranks run in one process, which cannot have several {what}; use --on linux"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the recording of the program's calls, if an analysis requires it.
    fn recording(&self) -> Result<Option<Recording>, CliError> {
        match self.on {
            _ if !self.analysis.is_recorded() => Ok(None),
            RunPlatform::Qemu => Ok(Some(Recording::Rings)),
            RunPlatform::Linux | RunPlatform::Cluster => Recording::of_processes().map(Some),
        }
    }

    /// Returns the number of ranks, one per node.
    pub fn ranks(&self) -> u32 {
        let extents = self.nodes.unwrap_or(self.torus);
        extents.into_iter().map(u32::from).product()
    }

    /// Returns the output style for this many nodes.
    fn style(&self, nodes: u32) -> OutputStyle {
        OutputStyle::for_ranks(nodes, self.prefix || !self.no_prefix && nodes > 1)
    }

    /// Returns a program's environment, each entry as NAME=VALUE. The program's own variables override the others.
    fn environment(&self, export: &[OsString], env: &[OsString]) -> Result<Vec<Vec<u8>>, CliError> {
        let mut variables = BTreeMap::new();
        Self::add_variables(&self.export, &self.env, &mut variables)?;
        Self::add_variables(export, env, &mut variables)?;
        Ok(joined(variables))
    }

    /// Adds variables: exported ones with their current values, and those with explicit values.
    fn add_variables(
        export: &[OsString],
        env: &[OsString],
        variables: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(), CliError> {
        for word in export {
            let (name, value) = match split_variable(word) {
                Some((name, value)) => (name, value.to_vec()),
                None => {
                    let value = std::env::var_os(word).ok_or_else(|| {
                        CliError::usage(format!(
                            "-x {0}: the variable {0} is not set; specify a value with --env {0}=VALUE",
                            word.display()
                        ))
                    })?;
                    (word.as_bytes(), value.into_vec())
                }
            };
            variables.insert(name.to_vec(), value);
        }
        for word in env {
            let Some((name, value)) = split_variable(word) else {
                return Err(CliError::usage(format!(
                    "--env {0}: the form is NAME=VALUE; to export the current value, use -x {0}",
                    word.display()
                )));
            };
            variables.insert(name.to_vec(), value.to_vec());
        }
        Ok(())
    }

    /// Returns the specified options that only some kinds of programs support.
    fn specified_options(&self) -> Vec<OptionScope> {
        let own = [
            (
                OperationCosts::counts_blocks(&self.cost),
                OptionScope::Compile("--cost compute_ns_per_block"),
            ),
            (self.stack.is_some(), OptionScope::Link("--stack")),
            (
                self.matching.is_some() && self.on == RunPlatform::Qemu,
                OptionScope::Link("--matching"),
            ),
            (self.auto, OptionScope::Link("--auto")),
            (self.console.is_some(), OptionScope::Link("--console")),
        ];
        { self.compile.specified_options().into_iter().chain(own) }
            .filter_map(|(given, option)| given.then_some(option))
            .chain(self.faults.first_specified().map(OptionScope::Link))
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
        self.node_memory.unwrap_or(DEFAULT_NODE_MEMORY.saturating_add(beside))
    }

    /// Returns the MPI memory of nodes with `memory` bytes of RAM.
    fn mpi_memory_for(&self, memory: u64) -> u64 {
        self.mpi_memory
            .unwrap_or_else(|| (memory / MPI_SHARE).clamp(MIN_MPI_MEMORY as u64, DEFAULT_MPI_MEMORY))
    }
}

/// Returns a program's argv.
pub fn argv(program: &Program, arguments: &[OsString]) -> Vec<Vec<u8>> {
    let words = arguments.iter().cloned().map(OsString::into_vec);
    [program.name().into_bytes()].into_iter().chain(words).collect()
}

/// Returns a program's environment from values of `--env`, each entry as NAME=VALUE.
///
/// # Errors
/// Returns a usage error if one has another form.
pub fn environment(env: &[OsString]) -> Result<Vec<Vec<u8>>, CliError> {
    let mut variables = BTreeMap::new();
    RunOptions::add_variables(&[], env, &mut variables)?;
    Ok(joined(variables))
}

/// Joins names and values.
fn joined(variables: BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<Vec<u8>> {
    let join = |(name, value): (Vec<u8>, Vec<u8>)| [&name[..], b"=", &value].concat();
    variables.into_iter().map(join).collect()
}

/// Splits NAME=VALUE; `None` for any other format.
fn split_variable(variable: &OsStr) -> Option<(&[u8], &[u8])> {
    let bytes = variable.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    (at > 0).then(|| (&bytes[..at], &bytes[at + 1..]))
}

/// Dimensions without wrap-around links.
type MeshDimensions = [bool; 3];

fn parse_flags(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|_| format!("a quote in `{text}` is not closed"))
}

/// Parses a timeout in seconds.
pub fn parse_timeout(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a timeout; specify seconds above 0"))
}

/// Runs the command; returns the exit status.
pub fn run(options: &RunOptions) -> Result<u8, CliError> {
    run_and_observe(options, &mut |_| ())
}

/// Runs the command and passes the job's result to `look`.
pub fn run_and_observe(options: &RunOptions, look: &mut dyn FnMut(&JobResult)) -> Result<u8, CliError> {
    let shape = checked(options)?;
    let hosts = host_plan(options, shape)?;
    if options.dry_run {
        return print_division(hosts.as_ref()).map(|()| 0);
    }
    let node_memory = options.node_memory();
    let faults = options.faults.configured_faults(&shape)?;
    let recording = options.recording()?;
    let capture = options.packets.prepare(&shape, options.processors.unwrap_or(1))?;
    let mut apps = options.apps(shape.nodes())?;
    if let Some(variable) = recording.as_ref().map(Recording::variable).transpose()? {
        for app in &mut apps {
            app.environment.push(variable.clone());
        }
    }
    for app in &apps {
        app.program.check_flags(&options.specified_options())?;
        if options.on == RunPlatform::Qemu {
            app.program.check_board()?;
        }
    }
    // The first entry with the same program: each program is built once.
    let image_of = |at: usize| {
        let is_same = |app: &AppRequest| app.program == apps[at].program;
        apps.iter().position(is_same).unwrap_or(at)
    };
    let image_of: Vec<usize> = (0..apps.len()).map(image_of).collect();
    let starts: Vec<u32> = { 1..apps.len() }
        .filter(|at| image_of[*at] != image_of[at - 1])
        .map(|at| apps[at].first)
        .collect();
    let dir = { options.files.as_deref() }.map(ServedDirectory::open).transpose()?;
    let report_files = ReportFiles {
        analysis: options.analysis.open_files()?,
        pcap: options.packets.open_file()?,
        ..options.watched.open_files(&shape)?
    };
    let division = match options.board {
        Board::Virt if options.debug.is_some() => None,
        Board::Virt => boxes::divide(shape, options.instances, &starts)?,
        Board::Stm32f405 => None,
    };
    check_captured(options, &shape, division.is_some())?;
    let flags = options.flags();
    let tools = match options.on {
        RunPlatform::Qemu => {
            let instances = division.map(|division| division.instances().into());
            Some(tools_for_nodes(options, &shape, instances)?)
        }
        RunPlatform::Linux => {
            let hosts = hosts.as_ref().map_or(1, |hosts| hosts.names.len() as u64);
            HostMachine::detect().check_processes(u64::from(shape.nodes()) / hosts)?;
            None
        }
        RunPlatform::Cluster => None,
    };
    let mut images: Vec<Option<Image>> = Vec::new();
    for (at, app) in apps.iter().enumerate() {
        images.push(match (image_of[at] == at, &tools) {
            (false, _) => None,
            (true, Some(tools)) => {
                let is_several = division.is_none_or(|division| division.instances() > 1);
                Some(build_for_nodes(options, tools, &app.program, &shape, is_several)?)
            }
            (true, None) => Some(linux::build(&app.program, &flags, options.on.process_content())?),
        });
    }
    for (at, app) in apps.iter_mut().enumerate() {
        if let Some(image) = &images[image_of[at]] {
            app.environment
                .extend(shared_library::search_variable(&app.program, image, &app.environment)?);
        }
    }
    if let Some(option) = options.analysis.first_specified() {
        images
            .iter()
            .flatten()
            .try_for_each(|image| image.check_records(option))?;
    }
    let debug = debugger(options, &shape)?;
    let planned = apps.iter().enumerate().filter_map(|(at, app)| {
        Some(plan::PlannedApp {
            image: images[image_of[at]].as_ref()?,
            first: app.first,
            argv: &app.argv,
            environment: &app.environment,
            directory: app.directory.as_deref(),
        })
    });
    let facts: Vec<ProgramFacts> = apps.iter().map(AppRequest::facts).collect();
    let may_spawn = { apps.iter().enumerate() }.any(|(at, app)| {
        let image = images[image_of[at]].as_ref();
        image.is_some_and(|image| shared_library::may_spawn(&app.program, image))
    });
    let universe = universe(options, &shape, hosts.as_ref(), may_spawn)?;
    let plan = JobPlan {
        backend: backend(options, tools.as_ref()),
        limits_memory: options.node_memory.is_some(),
        stack: options.stack,
        processors: options.processors.unwrap_or(1),
        costs: &options.cost,
        schedule: options.schedule.as_deref(),
        under: &options.under.concat(),
        debug: debug.as_ref(),
        apps: planned.collect(),
        shape: universe.map_or(shape, |(_, shape)| shape),
        universe: universe.map(|(universe, _)| universe),
        boxes: division.map(|division| InstanceBoxes::new(division, node_memory)),
        node_memory,
        mpi_memory: options.mpi_memory_for(node_memory),
        mpi_borrow: options.mpi_borrow,
        eager: options.eager,
        interrupts: options.interrupts,
        seal: options.seal,
        matching: match options.on {
            RunPlatform::Qemu => { apps.iter() }
                .map(|app| app.program.matching(&flags))
                .reduce(Option::and)
                .flatten(),
            RunPlatform::Linux | RunPlatform::Cluster => Some(flags.matching),
        },
        faults: faults.as_ref(),
        auto: options.auto,
        console: options.console,
        log: options.verbose,
        counted: options.count_instructions,
        sandbox: tools.as_ref().is_some_and(|tools| supports_sandbox(&tools.qemu)),
        recording: recording.as_ref(),
        capture: capture.as_ref(),
        observed: Some(&facts[0].program),
        hosts: hosts.as_ref(),
    };
    let signals = match debug {
        // The debugger reads from the terminal and handles its keys.
        Some(_) if stdin().is_terminal() => Signals::catch_but_keys()?,
        _ => Signals::catch()?,
    };
    let shown = DisplayOptions {
        quiet: options.watched.quiet,
        links: options.watched.links,
        style: options.style(shape.nodes()),
        program: facts[0].program.clone(),
        arguments: facts[0].arguments.clone(),
        programs: if facts.len() > 1 { facts.clone() } else { Vec::new() },
    };
    show(
        &plan,
        dir,
        options.watched.limits(options.on_hang),
        &signals,
        &shown,
        report_files,
        look,
    )
}

/// Display options of a job.
pub struct DisplayOptions {
    /// Whether to omit the report's table.
    pub quiet: bool,
    /// Whether to add a table of the links.
    pub links: bool,
    /// Output style of the ranks.
    pub style: OutputStyle,
    /// The program's file, for the report.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All programs, if there are several.
    pub programs: Vec<ProgramFacts>,
}

/// Runs a job, and shows its output and result; returns the exit status. The nodes may access the files in a directory;
/// `limits` apply to the job.
pub fn show(
    plan: &JobPlan<'_>,
    dir: Option<ServedDirectory>,
    limits: JobLimits,
    signals: &Signals,
    shown: &DisplayOptions,
    report_files: ReportFiles,
    look: &mut dyn FnMut(&JobResult),
) -> Result<u8, CliError> {
    let (stdout, stderr) = (stdout(), stderr());
    let (mut out, mut err) = (
        OutputSink::new(&stdout, shown.style),
        OutputSink::new(&stderr, shown.style),
    );
    let end = job::run(plan, dir, limits, signals, &mut out, &mut err)?;
    look(&end);
    let status = print_report(shown, plan, &end, report_files, &mut err);
    job::flush(signals, &mut out, &mut err);
    Ok(status_after_output(status, end.outcome, &mut out, &mut err, signals))
}

/// Checks all options that can be rejected before a build; returns the machine's shape.
fn checked(options: &RunOptions) -> Result<Shape, CliError> {
    let extents = options.nodes.unwrap_or(options.torus);
    let shape = Shape::new(extents, options.mesh.map(|mesh| !mesh))
        .ok_or_else(|| CliError::usage("--torus: extents are 1 to 256"))?;
    toolchain::choose(options.board.toolchain());
    check_board(options)?;
    if let Some(console) = options.console {
        check_console(console, &shape)?;
    }
    let node_memory = options.node_memory();
    check_memory(node_memory, options.mpi_memory_for(node_memory))?;
    options.stack.map_or(Ok(()), inputs::check_stack)?;
    check_platform(options)?;
    Ok(shape)
}

/// Returns the hosts of the job; `None` if all ranks run on this host.
fn host_plan(options: &RunOptions, shape: Shape) -> Result<Option<HostPlan>, CliError> {
    if options.on != RunPlatform::Linux {
        let given = [(!options.hosts.is_empty(), "--hosts"), (options.dry_run, "--dry-run")];
        return match given.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(CliError::usage(format!(
                "{option} is for Linux processes; omit it, or use --on linux"
            ))),
            None => Ok(None),
        };
    }
    let command = options.host_command.concat();
    let plan = if options.hosts.is_empty() {
        let Some(names) = slurm::allocated_hosts()? else {
            return Ok(None);
        };
        HostPlan::for_allocation(names, shape)
    } else {
        let command = if command.is_empty() {
            vec![DEFAULT_COMMAND.into()]
        } else {
            command
        };
        Some(HostPlan::new(
            options.hosts.clone(),
            shape,
            LaunchMethod::Command(command),
        )?)
    };
    let analysis = options.analysis.first_specified();
    let local = [
        (!options.under.is_empty(), "--under"),
        (options.debug.is_some(), "--debug"),
        (analysis.is_some(), analysis.unwrap_or_default()),
    ];
    match (&plan, local.iter().find(|(given, _)| *given)) {
        (Some(_), Some((_, option))) => Err(CliError::usage(format!(
            "{option} requires all ranks on one host; omit it, or run the job on one host"
        ))),
        _ => Ok(plan),
    }
}

/// Returns the universe of a job whose processes come and go, and its shape. The job has spare nodes by default only where
/// nothing depends on the torus or on the number of nodes.
fn universe(
    options: &RunOptions,
    shape: &Shape,
    hosts: Option<&HostPlan>,
    may_spawn: bool,
) -> Result<Option<(UniversePlan, Shape)>, CliError> {
    let analysis = options.analysis.first_specified();
    let faults = options.faults.first_specified();
    let without = [
        (options.on != RunPlatform::Linux, "without --on linux"),
        (hosts.is_some(), "on several hosts"),
        (options.debug.is_some(), "with --debug"),
        (analysis.is_some(), analysis.unwrap_or_default()),
        (faults.is_some(), faults.unwrap_or_default()),
    ];
    match (without.iter().find(|(is_given, _)| *is_given), options.spare) {
        (Some((_, how)), Some(1..)) => Err(CliError::usage(format!(
            "--spare: a job has no spare nodes {how}; omit one of both"
        ))),
        (Some(_), _) => Ok(None),
        (None, spare) => UniversePlan::new(shape.nodes(), spare, may_spawn),
    }
}

/// Prints the division among the hosts, and how the agents are started.
fn print_division(hosts: Option<&HostPlan>) -> Result<(), CliError> {
    let lines = match hosts {
        Some(hosts) => hosts.describe()?,
        None => vec!["all ranks run on this host".into()],
    };
    console::print_bytes(format!("{}\n", lines.join("\n")).as_bytes())
}

/// Returns the back end, with the tools that it requires.
fn backend<'a>(options: &RunOptions, tools: Option<&'a ToolSet>) -> Backend<'a> {
    match (tools, options.board) {
        (None, _) if options.on == RunPlatform::Cluster => Backend::Cluster,
        (None, _) => Backend::Linux,
        (Some(tools), Board::Virt) => Backend::Qemu(&tools.qemu),
        (Some(tools), Board::Stm32f405) => Backend::Boards(&tools.qemu),
    }
}

/// Returns the requested debugger.
fn debugger(options: &RunOptions, shape: &Shape) -> Result<Option<DebugSession>, CliError> {
    let Some(rank) = options.debug else {
        return Ok(None);
    };
    let why_not = match (options.on, options.board) {
        (RunPlatform::Cluster, _) => Some("all ranks run in one process, on which gdb can be started"),
        (_, Board::Stm32f405) => Some("the other boards treat a silent link as cut"),
        _ => None,
    };
    if let Some(why) = why_not {
        return Err(CliError::usage(format!(
            "--debug is not supported: {why}; use --on linux, or omit --board"
        )));
    }
    if rank >= shape.nodes() {
        return Err(CliError::usage(format!(
            "--debug {rank}: the ranks are 0 to {}",
            shape.nodes() - 1
        )));
    }
    DebugSession::find(rank, &options.debugger.concat(), options.on == RunPlatform::Linux).map(Some)
}

/// Describes the platform on which an option for QEMU has no effect.
const fn platform_phrase(on: RunPlatform) -> &'static str {
    match on {
        RunPlatform::Cluster => "in the simulator",
        RunPlatform::Linux | RunPlatform::Qemu => "for processes",
    }
}

/// Checks that all options have an effect on the job's platform.
fn check_platform(options: &RunOptions) -> Result<(), CliError> {
    if !options.under.is_empty() && options.on == RunPlatform::Qemu {
        return Err(CliError::usage(
            "--under does nothing for nodes in QEMU; omit it, or use --on linux",
        ));
    }
    if options.on != RunPlatform::Qemu {
        let only_in_qemu = [
            (options.instances.is_some(), "--instances"),
            (options.count_instructions, "--count-instructions"),
            (options.files.is_some(), "--files"),
        ];
        if let Some((_, option)) = only_in_qemu.iter().find(|(given, _)| *given) {
            return Err(CliError::usage(format!(
                "{option} does nothing {}; omit it, or use --on qemu",
                platform_phrase(options.on)
            )));
        }
    }
    if options.processors.is_some() && options.on != RunPlatform::Cluster {
        return Err(CliError::usage(
            "--processors is for the simulator; omit it, or use --on cluster",
        ));
    }
    if !options.cost.is_empty() && options.on != RunPlatform::Cluster {
        return Err(CliError::usage(
            "--cost is for the simulator, which uses virtual time; omit it, or use --on cluster",
        ));
    }
    if let Some(file) = &options.schedule {
        if options.on != RunPlatform::Cluster {
            return Err(CliError::usage(
                "--schedule is for the simulator, which can repeat it; use --on cluster",
            ));
        }
        read_schedule(file)?;
    }
    if options.on == RunPlatform::Cluster {
        let faults = options.faults.first_specified();
        let not_there = [
            (!options.under.is_empty(), "--under"),
            (options.mpi_borrow, "--mpi-borrow"),
            (options.node_memory.is_some(), "--node-memory"),
            (faults.is_some(), faults.unwrap_or_default()),
        ];
        if let Some((_, option)) = not_there.iter().find(|(given, _)| *given) {
            return Err(CliError::usage(format!(
                "{option} does nothing in the simulator; omit it, or use --on linux"
            )));
        }
    }
    Ok(())
}

/// Returns the tools that build and run images for nodes. Fails if the host's capacity is exceeded.
fn tools_for_nodes(options: &RunOptions, shape: &Shape, instances: Option<u64>) -> Result<ToolSet, CliError> {
    let node_memory = options.node_memory();
    let memory = NodeMemory {
        node: node_memory,
        mpi: options.mpi_memory_for(node_memory),
    };
    HostMachine::detect().check(shape.nodes().into(), memory, instances)?;
    setup::ensure()
}

/// Builds a program's image for the nodes. Fails if it does not fit in a node's memory.
fn build_for_nodes(
    options: &RunOptions,
    tools: &ToolSet,
    program: &Program,
    shape: &Shape,
    is_several: bool,
) -> Result<Image, CliError> {
    let node_memory = options.node_memory();
    let mpi_memory = options.mpi_memory_for(node_memory);
    let flags = BuildFlags {
        instances: options.board == Board::Virt && is_several,
        log: options.verbose,
        ..options.flags()
    };
    let image = program.build(tools, &flags)?;
    image.check_has(&flags)?;
    if image.has_personality {
        return Err(CliError::usage(format!(
            "{} is for one node of a board machine and contains its boot configuration; specify its source",
            image.path.display()
        )));
    }
    let links = busiest_node_links(shape);
    match options.board {
        Board::Virt => image.check_fits(node_memory, |memory| MemoryNeeds {
            links,
            mpi: options.mpi_memory_for(memory),
            tables: 0,
        })?,
        Board::Stm32f405 => image.check_fits_board(links, mpi_memory, shape.nodes())?,
    }
    Ok(image)
}

/// Checks that the links of the job transmit frames that can be captured. `is_boxed` specifies whether nodes share
/// instances.
fn check_captured(options: &RunOptions, shape: &Shape, is_boxed: bool) -> Result<(), CliError> {
    let why_not = match (options.on, options.board) {
        _ if !options.packets.is_specified() => None,
        (RunPlatform::Cluster, _) => None,
        (RunPlatform::Linux, _) => Some("the links between processes are shared memory".into()),
        (RunPlatform::Qemu, Board::Stm32f405) => Some("the links between boards are serial lines".into()),
        (RunPlatform::Qemu, Board::Virt) if is_boxed => Some(format!(
            "the links inside a QEMU process are shared memory; start one for each node with --instances {}",
            shape.nodes()
        )),
        (RunPlatform::Qemu, Board::Virt) => None,
    };
    match why_not {
        Some(why) => Err(CliError::usage(format!("--pcap: {why}; or use --on cluster"))),
        None => Ok(()),
    }
}

/// Checks that the board supports all options.
fn check_board(options: &RunOptions) -> Result<(), CliError> {
    if options.board == Board::Virt {
        let only_boards = [
            (options.auto, "--auto", "wires"),
            (options.console.is_some(), "--console", "serial lines"),
        ];
        return match only_boards.iter().find(|(given, ..)| *given) {
            Some((_, option, what)) => Err(CliError::usage(format!(
                "{option} does nothing without --board stm32f405: other nodes have no {what}"
            ))),
            None => Ok(()),
        };
    }
    if options.on != RunPlatform::Qemu {
        return Err(CliError::usage(format!(
            "--board does nothing {}; omit it, or use --on qemu",
            platform_phrase(options.on)
        )));
    }
    let only_virt = [
        (
            options.instances.is_some(),
            "--instances",
            "because each node is a separate board",
        ),
        (options.node_memory.is_some(), "--node-memory", "which has 128K"),
        (
            options.count_instructions,
            "--count-instructions",
            "whose processor has no such counter",
        ),
    ];
    let analysis = options.analysis.first_specified();
    let analysis = analysis.map(|option| (true, option, "whose RAM has no space for the records"));
    match only_virt.iter().chain(&analysis).find(|(given, ..)| *given) {
        Some((_, option, why)) => Err(CliError::usage(format!(
            "{option} does nothing for the board stm32f405, {why}; omit it"
        ))),
        None => Ok(()),
    }
}

/// Checks whether this QEMU supports its sandbox.
fn supports_sandbox(qemu: &SystemTool) -> bool {
    // QEMU prints its version only after accepting the preceding options.
    let mut command = qemu.command();
    command.args(["-sandbox", wiring::SANDBOX, "-version"]);
    midplane_setup::query::run_checked(&mut command).is_ok()
}

/// Shows the job's result and writes its report; returns the preliminary exit status.
fn print_report(
    shown: &DisplayOptions,
    plan: &JobPlan<'_>,
    end: &JobResult,
    report_files: ReportFiles,
    err: &mut OutputSink<'_>,
) -> u8 {
    if !shown.quiet && end.outcome != JobOutcome::Interrupted {
        let links = shown.links.then(|| report::link_table(&plan.shape, end));
        for line in report::table(end).iter().chain(links.iter().flatten()) {
            err.lines.add_line(line);
        }
    }
    if !shown.quiet {
        for link in report::cut_links(&plan.shape, end) {
            err.lines
                .add_line(&format!("midplane: {link} is cut; its packets are rerouted"));
        }
    }
    if let Some(message) = &end.message {
        err.lines.add_line(&format!("midplane: {message}"));
    }
    let facts = JobFacts {
        program: shown.program.clone(),
        arguments: shown.arguments.clone(),
        programs: shown.programs.clone(),
        hosts: plan.hosts.map(HostPlan::facts).unwrap_or_default(),
        node_memory: plan.node_memory,
        mpi_memory: plan.mpi_memory,
        mpi_borrow: plan.mpi_borrow,
        matching: report::matching(end).map(Into::into),
        ..JobFacts::of_shape(&plan.shape)
    };
    let ReportFiles {
        json,
        svg,
        pcap,
        analysis,
    } = report_files;
    let json = json.map(|file| report::write(file, &facts, end));
    let svg = svg.map(|file| file.write(&picture::draw(&plan.shape, &facts, end)?));
    let pcap = pcap
        .zip(plan.capture)
        .map(|(file, capture)| capture.write(file, &mut err.lines));
    let mut status = end.status;
    let findings = analysis.write(plan, &facts, end, &mut err.lines);
    if findings.as_ref().is_ok_and(|number| *number > 0) {
        status = or_failure(status);
    }
    let analysis = findings.map(|_| ());
    for error in [json, svg, pcap, Some(analysis)]
        .into_iter()
        .flatten()
        .filter_map(Result::err)
    {
        err.lines.add_line(&format!("midplane: {error}"));
        status = or_failure(end.status);
    }
    status
}

/// Returns the exit status after output was written or has failed.
fn status_after_output(
    status: u8,
    outcome: JobOutcome,
    out: &mut OutputSink<'_>,
    err: &mut OutputSink<'_>,
    signals: &Signals,
) -> u8 {
    // Errors that ended the job were reported before.
    let late = out.write_error().filter(|_| outcome == JobOutcome::Ended);
    let status = match late {
        None => status,
        Some(Errno::PIPE) if status == 0 => CliError::signal(SIGPIPE).status,
        Some(Errno::PIPE) => status,
        Some(error) => {
            let stop = console::stdout_error(error.into());
            err.lines.add_line(&format!("midplane: {stop}"));
            job::flush(signals, out, err);
            or_failure(status)
        }
    };
    match err.write_error() {
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

fn check_memory(node_memory: u64, mpi_memory: u64) -> Result<(), CliError> {
    const PAGE: u64 = 4096;
    if !node_memory.is_multiple_of(PAGE) || node_memory == 0 {
        return Err(CliError::usage(format!(
            "--node-memory {} must be a multiple of 4K",
            size::exact(node_memory)
        )));
    }
    if mpi_memory >= node_memory {
        return Err(CliError::usage(format!(
            "--mpi-memory {} does not fit into --node-memory {}; decrease --mpi-memory or increase --node-memory",
            size::exact(mpi_memory),
            size::exact(node_memory)
        )));
    }
    Ok(())
}
