//! The command `midplane`: builds images for bare-metal nodes, boots tori of QEMU instances, shows what
//! they say, and reports.
//!
//! ```text
//! program.c -> program.rs -> image.rs -> instance.rs (topology.rs, wiring.rs) -> job.rs -> report.rs
//!              compile, link  check, cut  one QEMU per node                      one loop
//! ```
#![deny(unsafe_code)]

mod bench;
mod capacity;
mod decode;
mod host;
mod image;
mod input;
mod instance;
mod job;
mod memory;
mod output;
mod program;
mod report;
mod run;
mod signals;
mod sim;
mod size;
mod soak;
mod stop;
mod suite;
#[allow(unsafe_code)]
mod sys;
mod topology;
mod verdict;
mod wiring;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use host::setup;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use stop::Stop;

pub use midplane_setup::DEFAULT_NODE_MEMORY;

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
    Run(run::Options),
    /// Simulate the nodes' routers alone, under synthetic traffic
    Sim(sim::SimArgs),
    /// Show what a node's memory is used for, term by term
    Memory(memory::MemoryArgs),
    /// Measure the memory protocol
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Run random jobs and long explorations of the memory protocol until the time is up
    Soak(soak::SoakArgs),
    /// Run all tests of this repository: host, cluster and QEMU
    ///
    /// Fetches what is missing first, as `run` does. Ends with a line of counts; exit status 1 if a test
    /// failed.
    Test,
    /// Show which tools are found, what is missing, and what `run` would do about it
    ///
    /// Exit status 0 when everything is there, else 1. Installs nothing and writes nothing, but says what
    /// `run` and `test` would do first: which commands, which packages, where to. They install by rustup, and
    /// by apt-get as root or by sudo without a password where nothing is removed or downgraded; the rest they
    /// unpack in $XDG_CACHE_HOME/midplane or ~/.cache/midplane. MIDPLANE_RUST=installed, rustup or debian
    /// chooses the Rust compiler for the nodes.
    Doctor,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    if let Err(midplane_setup::Refusal(message)) = midplane_setup::check_root(root()) {
        eprintln!("midplane: {message}");
        return ExitCode::from(stop::USAGE);
    }
    let status = match cli.command {
        Sub::Run(options) => run::run(&options),
        Sub::Sim(options) => sim::run(&options),
        Sub::Memory(options) => memory::run(&options),
        Sub::Bench(bench) => bench::run(&bench),
        Sub::Soak(options) => soak::run(&options),
        Sub::Test => suite::run(),
        Sub::Doctor => setup::doctor().map(|all_there| u8::from(!all_there)),
    };
    match status {
        Ok(status) => ExitCode::from(status),
        Err(Stop { status, message }) => {
            if !message.is_empty() {
                eprintln!("midplane: {message}");
            }
            ExitCode::from(status)
        }
    }
}

/// Help as asked for; anything else is one line on how to do better.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody left to tell when stdout is closed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(stop::USAGE)
        }
        _ => {
            eprintln!("midplane: {}", one_line(error));
            ExitCode::from(stop::USAGE)
        }
    }
}

/// The words of a message of several paragraphs that help, in one line.
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

/// The workspace that this command builds from: the launcher's word, else where it was built itself.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| root_of(std::env::var_os(midplane_setup::ROOT)))
}

fn root_of(told: Option<OsString>) -> PathBuf {
    let told = told.map(PathBuf::from).filter(|root| root.is_absolute());
    told.unwrap_or_else(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        package.parent().unwrap_or(Path::new(".")).into()
    })
}

/// Cargo's folder for build results: where we have been built, else the workspace's own.
pub fn target() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().nth(2).map(PathBuf::from))
        .filter(|target| target.join("CACHEDIR.TAG").exists())
        .unwrap_or_else(|| root().join("target"))
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

    #[test]
    fn in_a_checkout_that_was_moved_the_launcher_is_believed() {
        assert_eq!(root_of(Some("/moved".into())), Path::new("/moved"));
        for told in [None, Some("relative".into())] {
            assert!(midplane_setup::check_root(&root_of(told)).is_ok());
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
