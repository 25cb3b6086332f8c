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
//! | `install` | completions, man pages, new projects                                          |
//! | `show`  | output for users: lines, tables, drawings, result files                           |
#![deny(unsafe_code)]

mod build;
mod host;
mod install;
mod lab;
mod probe;
#[cfg(test)]
mod reference;
mod run;
mod show;

use build::carried::provide_sources;
use build::{cc, shared_library};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use host::error::{self, CliError, HelpPage};
use host::invocation::{help_page, one_line, with_name};
use host::setup;
use install::{CompletionArgs, ManArgs, NewArgs};
use lab::{bench, cluster, memory, prove, sim, size, soak, suite};
use midplane_setup::invocation::{INSTALLED, command_name};
use probe::{explain, flash, image};
use run::hosts::agent;
use run::hosts::launch::AgentArgs;
use run::linux::supervisor;
use run::packets::dissector;
use run::{attach, command, debug, explore, mpiexec, top};
use show::console::{self, print_error_line, stdout_error};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind as IoErrorKind;
use std::process::ExitCode;

/// Bare-metal MPI on a 3-D torus of emulated nodes.
#[derive(Parser)]
#[command(
    name = "midplane",
    bin_name = "cargo midplane",
    version,
    arg_required_else_help = true
)]
#[command(
    after_help = "Installation: `cargo midplane completions` prints completions for bash, zsh and fish, `cargo midplane \
                  man` writes man pages.\n\nExit status: the program's exit status; 1 if the job or a test failed; 2 if the command line, the \
                  program or the machine cannot be used as specified."
)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Compile a program, boot a torus of nodes and run the program on it
    Run(Box<command::RunOptions>),
    /// Compile and link C and Fortran programs as mpicc and mpifort do, for make, CMake and configure
    ///
    /// Accepts the compiler's command-line arguments. `cargo midplane help cc` lists the additional options.
    Cc(CcArgs),
    /// Start one or several programs with the options of other implementations' mpiexec
    ///
    /// `cargo midplane help mpiexec` lists the options.
    Mpiexec(CcArgs),
    /// Simulate only the routers of a machine, with synthetic traffic
    Sim(sim::SimArgs),
    /// Simulate a machine of up to 65,536 nodes in one process, in virtual time
    Cluster(Box<cluster::ClusterArgs>),
    /// Run a program in C, Fortran or Rust in every order in which its messages can match, and report the first that fails or differs
    Explore(Box<explore::ExploreOptions>),
    /// Print the memory budget of a node, term by term
    Memory(memory::MemoryArgs),
    /// Print the size of a program's image by layer and module
    Size(size::SizeArgs),
    /// Build MPI as shared libraries of this host: libmpi_abi.so.1 with the standard ABI, libmpi.so.12 with that of MPICH
    ///
    /// Prints the paths of the libraries. `run --on linux` provides programs that need one with its own copy.
    Lib(shared_library::LibraryArgs),
    /// Create an image for one board, including the node's boot configuration: ELF, binary and Intel HEX
    Image(image::ImageArgs),
    /// Create an image for one board and write it to the board's flash with probe-rs
    Flash(flash::FlashArgs),
    /// Show output and report of boards through the serial console of one of them
    Attach(attach::AttachArgs),
    /// Show the ranks of a running job: calls, queues, memory, packets
    ///
    /// The table is updated once a second until the job ends or Ctrl-C.
    Top(top::command::TopArgs),
    /// Print a dissector of the links' packets for Wireshark (`run --pcap`), a program in Lua
    Dissector,
    /// Decode the failure record of a standalone node
    Explain(explain::ExplainArgs),
    /// Measure the memory protocol, the matching engines and communication
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Prove the memory protocol for any number of messages, nodes and restarts with an SMT solver
    ///
    /// Prints one line for each theorem, with the time and the solver. The exit status is 0 if all theorems are proved,
    /// 1 if one is not, and 2 if the solver is not installed. A query that takes longer than 5 seconds counts as not
    /// proved.
    Prove(prove::ProveArgs),
    /// Run random jobs and long explorations of the memory protocol for a specified time
    Soak(soak::SoakArgs),
    /// Create a project: a C or Rust program with a test, in a new directory
    ///
    /// The project uses this command outside the checkout. The command prints how to test the program and how to run
    /// it on nodes.
    New(NewArgs),
    /// Run all tests of this repository: host, cluster and QEMU
    ///
    /// Requires a checkout. Installs missing tools first, as `run` does. The last line contains the number of passed, failed and skipped
    /// tests. The exit status is 1 if a test failed. Without --all, tests that take minutes are skipped.
    Test(suite::TestArgs),
    /// Check the required tools and print the commands that `run` would use to install missing ones
    ///
    /// The exit status is 0 if all tools are available, otherwise 1. This command installs and writes nothing. `run`
    /// and `test` install missing tools with rustup, and with apt-get as root or with sudo if no password is required.
    /// They use apt-get only if it removes and downgrades no package. Other packages are unpacked in
    /// $XDG_CACHE_HOME/midplane or ~/.cache/midplane. The variable MIDPLANE_RUST selects the Rust compiler for nodes:
    /// `installed` uses the installed library of the target, `rustup` builds the library from the sources that rustup
    /// adds, and `debian` uses Debian's compiler.
    Doctor,
    /// Print a script with which a shell completes commands, options and values
    #[command(hide = true)]
    Completions(CompletionArgs),
    /// Write man pages of all commands to a directory, or print that of `midplane`
    #[command(hide = true)]
    Man(ManArgs),
    /// Start the process of a debugged rank (`run --debug`)
    #[command(hide = true)]
    Debugged(debug::DebuggedArgs),
    /// Run the ranks of one host (`run --hosts`)
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Supervise the wrapper command of a rank (`run --under`)
    #[command(hide = true)]
    Kept(supervisor::SupervisedArgs),
}

impl CliCommand {
    /// Checks whether the command reads the sources of the runtime, or a directory next to them. The others work where
    /// nothing can be written.
    fn requires_sources(&self) -> bool {
        !matches!(
            self,
            CliCommand::Sim(_)
                | CliCommand::Memory(_)
                | CliCommand::Prove(_)
                | CliCommand::Attach(_)
                | CliCommand::Top(_)
                | CliCommand::Explain(_)
                | CliCommand::Dissector
                | CliCommand::Doctor
                | CliCommand::Completions(_)
                | CliCommand::Man(_)
                | CliCommand::Debugged(_)
                | CliCommand::Kept(_)
                | CliCommand::Agent(_)
        )
    }
}

#[derive(Args)]
#[command(disable_help_flag = true)]
struct CcArgs {
    /// Arguments for the compiler or for mpiexec
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// A command that parses its own arguments; returns the exit status.
type CommandRunner = fn(&[OsString]) -> Result<u8, CliError>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Bypasses clap: every argument is for the compiler or the launcher.
    let run: Option<CommandRunner> = match arguments.first() {
        Some(command) if command == "cc" => Some(cc::run),
        Some(command) if command == "mpiexec" => Some(|words| mpiexec::run(words, run_options)),
        _ => None,
    };
    if let Some(run) = run {
        return end(provide_sources().and_then(|()| run(&arguments[1..])), &arguments);
    }
    if let [help, command] = &arguments[..]
        && help == "help"
        && let Some(text) = own_help(command)
    {
        return end(console::print_bytes(text.as_bytes()).map(|()| 0), &arguments);
    }
    let cli = match parse(as_mpirun(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return report_parse_error(&error, &arguments),
    };
    if cli.command.requires_sources()
        && let Err(stop) = provide_sources()
    {
        return end(Err(stop), &arguments);
    }
    let status = match cli.command {
        CliCommand::Run(options) => command::run(&options),
        CliCommand::Cc(options) => cc::run(&options.words),
        CliCommand::Mpiexec(options) => mpiexec::run(&options.words, run_options),
        CliCommand::Sim(options) => sim::run(&options),
        CliCommand::Cluster(options) => cluster::run(&options),
        CliCommand::Explore(options) => explore::run(&options),
        CliCommand::Memory(options) => memory::run(&options),
        CliCommand::Size(options) => size::run(&options),
        CliCommand::Lib(options) => shared_library::run(&options),
        CliCommand::Image(options) => image::run(&options),
        CliCommand::Flash(options) => flash::run(&options),
        CliCommand::Attach(options) => attach::run(&options),
        CliCommand::Top(options) => top::command::run(&options),
        CliCommand::Dissector => dissector::print(),
        CliCommand::Explain(options) => explain::run(&options),
        CliCommand::Bench(bench) => bench::run(&bench),
        CliCommand::Prove(options) => prove::run(&options),
        CliCommand::Soak(options) => soak::run(&options),
        CliCommand::Test(options) => suite::run(&options),
        CliCommand::New(options) => install::create_project(&options),
        CliCommand::Completions(options) => install::print_completions(&options, command_line_of(INSTALLED)),
        CliCommand::Man(options) => install::write_pages(&options, command_line_of(INSTALLED)),
        CliCommand::Debugged(options) => debug::become_process(&options),
        CliCommand::Agent(options) => agent::run(&options),
        CliCommand::Kept(options) => supervisor::supervise(&options),
        CliCommand::Doctor => setup::doctor().map(|all_there| u8::from(!all_there)),
    };
    end(status, &arguments)
}

/// Returns the command line's definition, with the name by which the user called the command.
fn command_line() -> clap::Command {
    command_line_of(command_name())
}

fn command_line_of(name: &'static str) -> clap::Command {
    with_name(Cli::command().bin_name(name), name)
}

/// Parses a command line whose first word is the command's name.
fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut matches = command_line().try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command_line()))
}

/// Returns the help text of a command that parses its own arguments.
fn own_help(command: &OsStr) -> Option<String> {
    match command.to_str() {
        Some("cc") => Some(cc::help()),
        Some("mpiexec") => Some(mpiexec::help()),
        _ => None,
    }
}

/// Parses the options of `run` from a command line whose first word is the command's name.
fn run_options(words: &[OsString]) -> Result<command::RunOptions, CliError> {
    let usage = |message: String| CliError {
        help: HelpPage::Run,
        ..CliError::usage(message)
    };
    match parse(words.iter().cloned()).map(|cli| cli.command) {
        Ok(CliCommand::Run(options)) => Ok(*options),
        Ok(_) => Err(usage("give a program".into())),
        Err(error) => Err(usage(one_line(&error))),
    }
}

/// Converts the result to the exit status and prints the message. `arguments` are those of the command line.
fn end(status: Result<u8, CliError>, arguments: &[OsString]) -> ExitCode {
    match status {
        Ok(status) => ExitCode::from(status),
        Err(stop) => {
            if !stop.message.is_empty() {
                print_error_line(format_args!("midplane: {stop}{}", pointer(&stop, arguments)));
            }
            ExitCode::from(stop.status)
        }
    }
}

/// Returns the reference to the help page of an error.
fn pointer(stop: &CliError, arguments: &[OsString]) -> String {
    match stop.help {
        HelpPage::None => String::new(),
        HelpPage::Called => format!(" (see '{}')", help_page(&Cli::command(), arguments)),
        HelpPage::Run => format!(" (see '{} help run')", command_name()),
    }
}

/// Replaces mpirun's `run -np 4` by `run -n 4`, also for `explore`. Arguments after `--` belong to the program.
fn as_mpirun(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.collect();
    if words
        .get(1)
        .is_some_and(|command| command == "run" || command == "explore")
    {
        let options = words.iter_mut().take_while(|word| *word != "--");
        for word in options.filter(|word| *word == "-np") {
            *word = "-n".into();
        }
    }
    words
}

/// Prints requested help; reports any other error in one line with a remedy.
fn report_parse_error(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match error.print() {
                Err(error) if error.kind() != IoErrorKind::BrokenPipe => {
                    print_error_line(format_args!("midplane: {}", stdout_error(error)));
                    ExitCode::from(error::FAILURE)
                }
                // A closed pipe is no error: its reader needs no more output.
                _ => ExitCode::SUCCESS,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(error::USAGE)
        }
        _ => end(Err(CliError::usage(one_line(error))), arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_reference_page_is_up_to_date() {
        let name = "docs/reference/cli.md";
        let present = std::fs::read_to_string(host::directories::root().join(name)).expect("the page");
        let mut command = command_line();
        command.build();
        reference::check_file(name, &reference::page(&present, &command));
    }

    /// Help texts change only on purpose: `INSTA_UPDATE=always cargo test -p midplane` updates the snapshot.
    #[test]
    fn help_of_the_commands_that_run_something() {
        let mut command = command_line().term_width(80);
        command.build();
        for name in ["run", "explore", "attach", "sim", "memory", "soak"] {
            let sub = command.find_subcommand_mut(name).expect("a subcommand");
            insta::assert_snapshot!(format!("help_{name}"), sub.render_long_help());
        }
    }

    #[test]
    fn words_of_usage_errors() {
        let said = |arguments: &[&str]| {
            let all = ["midplane"].iter().chain(arguments);
            let error = parse(all.map(OsString::from)).err().expect("refused");
            let stop = CliError::usage(one_line(&error));
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            format!("{stop}{}", pointer(&stop, &arguments))
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
            said(&["image", "--board", "virt", "a.c"]),
            said(&["rum"]),
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
