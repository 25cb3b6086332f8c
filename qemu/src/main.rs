//! The command `midplane`: builds images for bare-metal nodes, boots tori of QEMU instances, shows their output, and
//! reports the result.
//!
//! ```text
//! program.c -> program.rs -> image.rs -> instance.rs (topology.rs, wiring.rs) -> job.rs -> report.rs
//!              compile, link  check, cut  a box of nodes                         one loop
//! ```
//!
//! | module  | content                                                                           |
//! |---------|-----------------------------------------------------------------------------------|
//! | `build` | from a program's source to an image                                               |
//! | `run`   | a job in QEMU: instances, the event loop over them, output, verdict, report       |
//! | `probe` | physical boards: image files, flashing                                            |
//! | `lab`   | measurements and tests: simulation, benchmarks, soak, memory sums, the test suite |
//! | `host`  | the host machine: capacity, signals, processes, directories, sizes, errors        |
//! | `show`  | output for users: lines, tables, drawings, result files                           |
#![deny(unsafe_code)]

mod build;
mod host;
mod lab;
mod probe;
mod run;
mod show;

use build::cc;
use cap::Cap;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use host::folders::root;
use host::setup;
use host::stop::{self, Stop};
use lab::{bench, cluster, memory, sim, size, soak, suite};
use probe::{explain, flash, image};
use run::linux::keep;
use run::{attach, command, debug, mpiexec};
use show::say::{complain, unwritable};
use std::alloc::System;
use std::ffi::OsString;
use std::io::ErrorKind as IoErrorKind;
use std::process::ExitCode;

/// Heap with an allocation counter: `bench matching` reports the memory of the engines.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Bare-metal MPI on a 3-D torus of emulated nodes.
#[derive(Parser)]
#[command(
    name = "midplane",
    bin_name = "cargo midplane",
    version,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit status: 0 or the program's own; 1 when the job or a test failed; 2 when the \
                        command line, the program or the machine cannot be used as asked."
)]
struct Cli {
    #[command(subcommand)]
    command: Sub,
}

#[derive(Subcommand)]
enum Sub {
    /// Compile a program, boot a torus of nodes and run it
    Run(Box<command::Options>),
    /// Compile and link C as mpicc does, for make, CMake and configure
    ///
    /// Takes the compiler's own words (-c, -o, -I, -D, -O2, -l and so on) and -show. Without -c it links an image that
    /// `run` boots. `--on linux` in front of them, or MIDPLANE_ON=linux in the environment, makes a program for processes
    /// of this machine. `--path` alone writes mpicc, mpicxx, mpiexec, mpirun and midplane as files and prints the path of mpicc;
    /// `--pkg-config` alone writes mpi.pc for pkg-config, and prints its folder.
    Cc(CcArgs),
    /// Start a program, or several, as other implementations' mpiexec does
    ///
    /// `mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]..`: what `cc --path` writes as mpiexec and
    /// mpirun. `cargo midplane mpiexec --help` has its options.
    Mpiexec(CcArgs),
    /// Simulate the nodes' routers alone, under synthetic traffic
    Sim(sim::SimArgs),
    /// Run a program on whole machines of up to 65,536 nodes in this process, in virtual time
    Cluster(Box<cluster::ClusterArgs>),
    /// Show what a node's memory is used for, term by term
    Memory(memory::MemoryArgs),
    /// Show what a program's image is made of, by layer and by part
    Size(size::SizeArgs),
    /// Make an image for a board with one node's personality in it: ELF, binary and Intel HEX
    Image(image::ImageArgs),
    /// Make such an image and write it into a board's flash, by probe-rs
    Flash(flash::FlashArgs),
    /// Show what boards print and report by the serial console of one of them
    Attach(attach::AttachArgs),
    /// Put in words what a node without a tool has printed of its failure
    Explain(explain::ExplainArgs),
    /// Measure the memory protocol and matching
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Run random jobs and long explorations of the memory protocol until the time is up
    Soak(soak::SoakArgs),
    /// Run all tests of this repository: host, cluster and QEMU
    ///
    /// Fetches what is missing first, as `run` does. Ends with a line of counts; exit status 1 if a test
    /// failed. Tests that take minutes are left out, and counted as skipped, without --all.
    Test(suite::TestArgs),
    /// Show which tools are found, what is missing, and what `run` would do about it
    ///
    /// Exit status 0 when everything is there, else 1. Installs nothing and writes nothing, but says what
    /// `run` and `test` would do first: which commands, which packages, where to. They install by rustup, and
    /// by apt-get as root or by sudo without a password where nothing is removed or downgraded; the rest they
    /// unpack in $XDG_CACHE_HOME/midplane or ~/.cache/midplane. MIDPLANE_RUST=installed, rustup or debian
    /// chooses the Rust compiler for the nodes: with the library that is installed for their target, or with
    /// its sources, which rustup adds, or Debian's.
    Doctor,
    /// What a debugger starts a rank's process by (`run --debug`)
    #[command(hide = true)]
    Debugged(debug::Debugged),
    /// What stands between us and a command that ranks run under (`run --under`)
    #[command(hide = true)]
    Kept(keep::Kept),
}

#[derive(Args)]
#[command(disable_help_flag = true)]
struct CcArgs {
    /// What the compiler, or mpiexec, is told
    #[arg(
        value_name = "WORDS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// A command that parses its own arguments; returns the exit status.
type Command = fn(&[OsString]) -> Result<u8, Stop>;

fn main() -> ExitCode {
    // Bypasses clap: every argument is for the compiler or the launcher.
    let mut arguments = std::env::args_os().skip(1);
    let run: Option<Command> = match arguments.next() {
        Some(command) if command == "cc" => Some(cc::run),
        Some(command) if command == "mpiexec" => Some(|words| mpiexec::run(words, run_options)),
        _ => None,
    };
    if let Some(run) = run {
        let words: Vec<OsString> = arguments.collect();
        return end(checked().and_then(|()| run(&words)));
    }
    let cli = match Cli::try_parse_from(as_mpirun(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    if let Err(stop) = checked() {
        return end(Err(stop));
    }
    let status = match cli.command {
        Sub::Run(options) => command::run(&options),
        Sub::Cc(options) => cc::run(&options.words),
        Sub::Mpiexec(options) => mpiexec::run(&options.words, run_options),
        Sub::Sim(options) => sim::run(&options),
        Sub::Cluster(options) => cluster::run(&options),
        Sub::Memory(options) => memory::run(&options),
        Sub::Size(options) => size::run(&options),
        Sub::Image(options) => image::run(&options),
        Sub::Flash(options) => flash::run(&options),
        Sub::Attach(options) => attach::run(&options),
        Sub::Explain(options) => explain::run(&options),
        Sub::Bench(bench) => bench::run(&bench),
        Sub::Soak(options) => soak::run(&options),
        Sub::Test(options) => suite::run(&options),
        Sub::Debugged(options) => debug::become_process(&options),
        Sub::Kept(options) => keep::keep(&options),
        Sub::Doctor => setup::doctor().map(|all_there| u8::from(!all_there)),
    };
    end(status)
}

/// Parses the options of `run` from a command line whose first word is the command's name.
fn run_options(words: &[OsString]) -> Result<command::Options, Stop> {
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Sub::Run(options)) => Ok(*options),
        Ok(_) => Err(Stop::usage("give a program")),
        Err(error) => Err(Stop::usage(one_line(&error))),
    }
}

/// Checks that there is a checkout to build from.
fn checked() -> Result<(), Stop> {
    midplane_setup::check_root(root()).map_err(Stop::from)
}

/// Converts the result to the exit status and prints the message.
fn end(status: Result<u8, Stop>) -> ExitCode {
    match status {
        Ok(status) => ExitCode::from(status),
        Err(Stop { status, message }) => {
            if !message.is_empty() {
                complain(format_args!("midplane: {message}"));
            }
            ExitCode::from(status)
        }
    }
}

/// Replaces mpirun's `run -np 4` by `run -n 4`. Arguments after `--` belong to the program.
fn as_mpirun(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.collect();
    if words.get(1).is_some_and(|command| command == "run") {
        let options = words.iter_mut().take_while(|word| *word != "--");
        for word in options.filter(|word| *word == "-np") {
            *word = "-n".into();
        }
    }
    words
}

/// Prints requested help; reports any other error in one line with a remedy.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match error.print() {
                Err(error) if error.kind() != IoErrorKind::BrokenPipe => {
                    complain(format_args!("midplane: {}", unwritable(error)));
                    ExitCode::from(stop::FAILURE)
                }
                // A closed pipe is no error: its reader needs no more output.
                _ => ExitCode::SUCCESS,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(stop::USAGE)
        }
        _ => {
            complain(format_args!("midplane: {}", one_line(error)));
            ExitCode::from(stop::USAGE)
        }
    }
}

/// Joins the useful paragraphs of a message in one line.
fn one_line(error: &clap::Error) -> String {
    let message = error.to_string();
    let mut words = Vec::new();
    for line in message.lines().map(str::trim) {
        if line.is_empty() || line.starts_with("Usage:") || line.starts_with("For more information")
        {
            continue;
        }
        words.push(line.strip_prefix("error: ").unwrap_or(line));
    }
    let mut line = words.join("; ").replace(":; ", ": ");
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && !argument.starts_with('-')
    {
        line.push_str("; the program's own arguments follow `--`");
    }
    line.push_str(" (`cargo midplane help` explains)");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_documented() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        for sub in command.get_subcommands() {
            assert!(sub.get_about().is_some(), "{}", sub.get_name());
            for argument in sub.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    sub.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    /// Help texts change only on purpose: `INSTA_UPDATE=always cargo test -p midplane` updates the snapshot.
    #[test]
    fn help_of_the_commands_that_run_something() {
        let mut command = Cli::command().term_width(80);
        command.build();
        for name in ["run", "attach", "sim", "memory", "soak"] {
            let sub = command.find_subcommand_mut(name).expect("a subcommand");
            insta::assert_snapshot!(format!("help_{name}"), sub.render_long_help());
        }
    }

    #[test]
    fn words_of_usage_errors() {
        let said = |arguments: &[&str]| {
            let all = ["midplane"].iter().chain(arguments);
            one_line(&Cli::try_parse_from(all).err().expect("refused"))
        };
        let lines = [
            said(&["run"]),
            said(&["run", "--nonsense", "a.c"]),
            said(&["run", "a.c", "--mesh", "xx"]),
            said(&["run", "--mpi-memory", "1", "a.c"]),
            said(&["run", "--links", "--quiet", "a.c"]),
            said(&["run", "--matching", "fast", "a.c"]),
            said(&["memory", "--nodes", "257"]),
            said(&["bench", "killer", "--no-qemu", "--runs", "2"]),
            said(&["sim", "--packets", "5"]),
        ];
        insta::assert_snapshot!("usage_errors", lines.join("\n"));
    }

    #[test]
    fn the_number_of_ranks_can_be_said_as_mpirun_has_it() {
        let words = |text: &str| as_mpirun(text.split(' ').map(OsString::from)).join(" ".as_ref());
        for (said, meant) in [
            ("midplane run -np 4 a.c", "midplane run -n 4 a.c"),
            ("midplane run a.c -- -np 4", "midplane run a.c -- -np 4"),
            ("midplane cc -np a.c", "midplane cc -np a.c"),
            ("midplane", "midplane"),
        ] {
            assert_eq!(words(said), meant);
        }
    }

    #[test]
    fn usage_errors_are_one_line_that_names_what_is_wrong() {
        for (arguments, word) in [
            (&["run", "--torus", "0x2x2", "a.c"][..], "0"),
            (&["run", "--torus", "2x2", "a.c"], "2x2x2"),
            (&["run", "--torus", "axb", "a.c"], "axb"),
            (&["run", "--mpi-memory", "4X", "a.c"], "4X"),
            (&["run", "--mesh", "w", "a.c"], "w"),
            (&["run", "--nonsense", "a.c"], "--nonsense"),
            (&["run"], "PROGRAM"),
            (&["rum"], "rum"),
            (&["run", "--cflags", "-D'x", "a.c"], "quote"),
            (&["run", "--timeout", "0", "a.c"], "timeout"),
        ] {
            let all = ["midplane"].iter().chain(arguments);
            let error = Cli::try_parse_from(all).err().expect("refused");
            let line = one_line(&error);
            assert!(line.contains(word) && !line.contains('\n'), "{line}");
        }
    }
}
