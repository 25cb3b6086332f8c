//! `mpiexec` and `mpirun`: command lines of MPICH, Open MPI and others, run as a job of [`command`](super::command).
//! They are parsed here instead of by clap: options use one dash or two, some require two values, and a colon separates
//! programs (MPI-3.1 section 8.8).

use crate::host::error::CliError;
use crate::run::command::{AppOptions, RunOptions};
use crate::show::console::print_error_line;
use clap::Args;
use midplane_setup::invocation::command_name;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Action of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OptionAction {
    /// Sets the number of ranks.
    Ranks,
    /// Sets a variable, given as name and value in two words: for one program, or for all.
    Set {
        all: bool,
    },
    /// Exports a variable by name, or sets NAME=VALUE.
    Export,
    /// Exports variables, as a comma-separated list of names.
    ExportList {
        all: bool,
    },
    /// Sets the working directory.
    Directory,
    /// Specifies hosts: only this one is accepted.
    Hosts,
    /// Specifies a file of hosts.
    HostFile,
    /// Sets a timeout in seconds.
    Timeout,
    /// Enables or disables rank prefixes.
    Prefix(bool),
    /// Specifies a file of programs (form B).
    ConfigFile,
    Verbose,
    /// Requests the default; no effect.
    Default,
    /// Not supported; a message reports it.
    Ignored,
    /// Prints the version or help.
    Version,
    Help,
}

/// An option: its names without dashes, number of values, action, and help text.
struct LauncherOption {
    names: &'static [&'static str],
    values: usize,
    does: OptionAction,
    help: &'static str,
}

const fn word(names: &'static [&'static str], values: usize, does: OptionAction, help: &'static str) -> LauncherOption {
    LauncherOption {
        names,
        values,
        does,
        help,
    }
}

/// All options except those of `run`.
const WORDS: &[LauncherOption] = &[
    word(
        &["n", "np", "c"],
        1,
        OptionAction::Ranks,
        "NUMBER: ranks of the following program [default: 1]",
    ),
    word(
        &["x"],
        1,
        OptionAction::Export,
        "NAME[=VALUE]: variable of this program's environment; without value, the current one",
    ),
    word(
        &["env"],
        2,
        OptionAction::Set { all: false },
        "NAME VALUE: variable of this program's environment",
    ),
    word(
        &["envlist"],
        1,
        OptionAction::ExportList { all: false },
        "NAME,..: export variables of this program's environment with their current values",
    ),
    word(
        &["genv"],
        2,
        OptionAction::Set { all: true },
        "NAME VALUE: variable of all programs' environment",
    ),
    word(
        &["genvlist"],
        1,
        OptionAction::ExportList { all: true },
        "NAME,..: export variables of all programs' environment with their current values",
    ),
    word(
        &["wdir", "wd", "chdir", "cd"],
        1,
        OptionAction::Directory,
        "DIRECTORY: working directory of this program's processes",
    ),
    word(
        &["l", "prepend-rank", "tag-output", "prefix"],
        0,
        OptionAction::Prefix(true),
        "print the rank in front of each line of its output",
    ),
    word(
        &["no-prefix"],
        0,
        OptionAction::Prefix(false),
        "print the ranks' output unchanged [default]",
    ),
    word(
        &["timeout"],
        1,
        OptionAction::Timeout,
        "SECONDS: end the job after this time and print the call of each rank",
    ),
    word(
        &["configfile"],
        1,
        OptionAction::ConfigFile,
        "FILE: file of programs, one per line, each with its options; replaces programs on the command line",
    ),
    word(
        &["host", "hosts", "H"],
        1,
        OptionAction::Hosts,
        "NAMES: hosts; only localhost and this machine's name are supported",
    ),
    word(
        &["hostfile", "machinefile", "f"],
        1,
        OptionAction::HostFile,
        "FILE: file of such names, one per line",
    ),
    word(
        &["v", "verbose"],
        0,
        OptionAction::Verbose,
        "also print the report's table",
    ),
    word(
        &["q", "quiet"],
        0,
        OptionAction::Default,
        "no effect: this is the default",
    ),
    word(
        &[
            "oversubscribe",
            "allow-run-as-root",
            "use-hwthread-cpus",
            "genvall",
            "envall",
        ],
        0,
        OptionAction::Default,
        "",
    ),
    word(&["V", "version"], 0, OptionAction::Version, "print the version"),
    word(&["h", "help"], 0, OptionAction::Help, "print this help"),
    // Options of other launchers for hosts, processors, networks and remote start.
    word(
        &[
            "nooversubscribe",
            "report-bindings",
            "nolocal",
            "bynode",
            "byslot",
            "bycore",
            "enable-x",
            "disable-x",
            "info",
            "print-all-exitcodes",
            "print-rank-map",
            "display-map",
            "display-allocation",
            "bind-to-core",
            "bind-to-socket",
            "bind-to-none",
            "genvnone",
            "envnone",
            "disable-auto-cleanup",
            "disable-hostname-propagation",
            "enable-recovery",
            "do-not-launch",
        ],
        0,
        OptionAction::Ignored,
        "",
    ),
    word(
        &[
            "ppn",
            "perhost",
            "npernode",
            "N",
            "npersocket",
            "cpus-per-proc",
            "cpus-per-rank",
            "bind-to",
            "binding",
            "map-by",
            "rank-by",
            "membind",
            "topolib",
            "iface",
            "launcher",
            "launcher-exec",
            "bootstrap",
            "bootstrap-exec",
            "rmk",
            "demux",
            "usize",
            "order-nodes",
            "localhost",
            "path",
            "stdin",
            "am",
            "tune",
            "output-filename",
            "outfile-pattern",
            "errfile-pattern",
            "prepend-pattern",
            "pmi-port",
            "rankfile",
            "rf",
            "cpu-set",
            "output",
            "display",
            "runtime-options",
        ],
        1,
        OptionAction::Ignored,
        "",
    ),
    word(&["mca", "gmca", "pmca", "prtemca"], 2, OptionAction::Ignored, ""),
];

/// Finds the option of this name, given without dashes.
fn find(name: &str) -> Option<&'static LauncherOption> {
    WORDS.iter().find(|word| word.names.contains(&name))
}

/// A parsed command line.
#[derive(Default, Debug)]
struct LaunchRequest {
    /// Arguments of `run`.
    run: Vec<OsString>,
    /// Whether `run` receives the machine's extents.
    has_torus: bool,
    /// Programs; `ranks` is 0 if it was not specified.
    apps: Vec<AppOptions>,
    /// Options without effect.
    ignored: Vec<String>,
    /// A file of programs that replaces them.
    config_file: Option<PathBuf>,
    /// Whether the version or help was requested.
    asked: Option<OptionAction>,
}

impl LaunchRequest {
    /// Parses all programs and their options.
    fn read(words: &[OsString]) -> Result<Self, CliError> {
        let mut request = LaunchRequest::default();
        for segment in words.split(|word| word == ":") {
            request.read_app(segment)?;
            if request.asked.is_some() {
                return Ok(request);
            }
        }
        if let Some(file) = request.config_file.take() {
            let is_said = |app: &AppOptions| {
                let has_variables = !(app.env.is_empty() && app.export.is_empty());
                let is_named = !app.program.as_os_str().is_empty();
                is_named || has_variables || app.ranks > 0 || app.directory.is_some()
            };
            if request.apps.len() > 1 || request.apps.iter().any(is_said) {
                return Err(usage("-configfile is used in place of programs and their options"));
            }
            request.apps.clear();
            request.read_config(&file)?;
        }
        for app in &request.apps {
            if app.program.as_os_str().is_empty() {
                return Err(usage("give a program, one on each side of a `:`"));
            }
        }
        Ok(request)
    }

    /// Form B: each line is a program with its options.
    fn read_config(&mut self, file: &Path) -> Result<(), CliError> {
        let shown = file.display();
        let text = fs::read_to_string(file).map_err(|error| usage(format_args!("-configfile {shown}: {error}")))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words = shell_words::split(line).map_err(|_| {
                usage(format_args!(
                    "-configfile {shown}, line {number}: a quote is not closed"
                ))
            })?;
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            if words.iter().any(|word| word == ":") {
                return Err(usage(format_args!(
                    "-configfile {shown}, line {number}: specify one program per line, without `:`"
                )));
            }
            self.read_app(&words)?;
            if self.config_file.is_some() || self.asked.is_some() {
                return Err(usage(format_args!(
                    "-configfile {shown}, line {number}: give a program"
                )));
            }
        }
        if self.apps.is_empty() {
            return Err(usage(format_args!("-configfile {shown}: the file contains no program")));
        }
        Ok(())
    }

    fn read_app(&mut self, words: &[OsString]) -> Result<(), CliError> {
        let mut app = AppOptions {
            ranks: 0,
            program: PathBuf::new(),
            arguments: Vec::new(),
            env: Vec::new(),
            export: Vec::new(),
            directory: None,
        };
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = after;
            let Some(name) = option_name(word) else {
                app.program = word.into();
                app.arguments = rest.to_vec();
                break;
            };
            if word == "--" {
                continue;
            }
            // `--name=value`; short options do not support it.
            let (name, joined) = match name.split_once('=').filter(|_| word.as_bytes().starts_with(b"--")) {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (name, None),
            };
            let Some(option) = find(name) else {
                rest = self.pass_to_run(word, name, joined, rest)?;
                continue;
            };
            let mut values: Vec<OsString> = joined.into_iter().collect();
            let missing = option.values.saturating_sub(values.len());
            if values.len() > option.values || rest.len() < missing {
                let plural = if option.values == 1 { "" } else { "s" };
                return Err(usage(format_args!(
                    "{} requires {} value{plural}",
                    word.display(),
                    option.values
                )));
            }
            values.extend_from_slice(&rest[..missing]);
            rest = &rest[missing..];
            self.apply_option(option.does, word, &values, &mut app)?;
            if self.asked.is_some() {
                return Ok(());
            }
        }
        self.apps.push(app);
        Ok(())
    }

    fn apply_option(
        &mut self,
        does: OptionAction,
        word: &OsStr,
        values: &[OsString],
        app: &mut AppOptions,
    ) -> Result<(), CliError> {
        let shown = word.display();
        match (does, values) {
            (OptionAction::Ranks, [number]) => {
                let ranks = number.to_str().and_then(|text| text.parse().ok());
                app.ranks = ranks.filter(|ranks| *ranks > 0).ok_or_else(|| {
                    usage(format_args!(
                        "{shown} {}: specify a number of ranks, 1 or more",
                        number.display()
                    ))
                })?;
            }
            (OptionAction::Set { all }, [name, value]) => {
                let mut variable = name.clone();
                variable.push("=");
                variable.push(value);
                if all {
                    self.run.extend(["--env".into(), variable])
                } else {
                    app.env.push(variable)
                }
            }
            (OptionAction::Export, [variable]) => app.export.push(variable.clone()),
            (OptionAction::ExportList { all }, [names]) => {
                let names = names.as_bytes().split(|byte| *byte == b',');
                for name in names.filter(|name| !name.is_empty()).map(OsStr::from_bytes) {
                    if all {
                        self.run.extend(["-x".into(), name.into()])
                    } else {
                        app.export.push(name.into())
                    }
                }
            }
            (OptionAction::Directory, [directory]) => app.directory = Some(directory.into()),
            (OptionAction::Timeout, [seconds]) => self.run.extend(["--timeout".into(), seconds.clone()]),
            (OptionAction::Hosts, [names]) => {
                let names = names.to_string_lossy();
                names
                    .split(',')
                    .try_for_each(|name| check_host(&shown.to_string(), name))?;
            }
            (OptionAction::HostFile, [file]) => check_hosts(&shown.to_string(), Path::new(file))?,
            (OptionAction::ConfigFile, [file]) => self.config_file = Some(file.into()),
            (OptionAction::Prefix(wanted), _) => {
                self.run.push(if wanted { "--prefix" } else { "--no-prefix" }.into());
            }
            (OptionAction::Verbose, _) => self.run.push("--no-quiet".into()),
            (OptionAction::Ignored, _) => self.ignored.push(shown.to_string()),
            (OptionAction::Version | OptionAction::Help, _) => self.asked = Some(does),
            _ => {}
        }
        Ok(())
    }

    /// Passes long options to `run`; returns the remaining arguments.
    fn pass_to_run<'a>(
        &mut self,
        word: &OsStr,
        name: &str,
        joined: Option<OsString>,
        rest: &'a [OsString],
    ) -> Result<&'a [OsString], CliError> {
        let run = RunOptions::augment_args(clap::Command::new("run"));
        let option = { run.get_arguments() }
            .filter(|_| word.as_bytes().starts_with(b"--"))
            .find(|option| option.get_long() == Some(name));
        let Some(option) = option else {
            return Err(usage(format_args!("unknown option {}", word.display())));
        };
        self.has_torus |= matches!(name, "torus" | "nodes");
        self.run.push(format!("--{name}").into());
        match (option.get_action().takes_values(), joined, rest) {
            (false, None, rest) => Ok(rest),
            (true, Some(value), rest) => {
                self.run.push(value);
                Ok(rest)
            }
            (true, None, [value, rest @ ..]) => {
                self.run.push(value.clone());
                Ok(rest)
            }
            (true, None, []) => Err(usage(format_args!("--{name} requires a value"))),
            (false, Some(_), _) => Err(usage(format_args!("--{name} takes no value"))),
        }
    }

    /// Returns the job's options; `place` is the default platform.
    fn options(mut self, place: Option<OsString>, read: ReadOptions) -> Result<RunOptions, CliError> {
        if !self.ignored.is_empty() {
            self.ignored.sort_unstable();
            self.ignored.dedup();
            print_error_line(format_args!("mpiexec: ignored options: {}", self.ignored.join(", ")));
        }
        let mut words: Vec<OsString> = ["midplane", "run", "--no-prefix"].map(OsString::from).to_vec();
        match self.run.iter().position(|word| word == "--no-quiet") {
            None => words.push("--quiet".into()),
            Some(_) => self.run.retain(|word| word != "--no-quiet"),
        }
        if let Some(place) = place.filter(|_| !self.run.iter().any(|word| word == "--on")) {
            words.extend(["--on".into(), place]);
        }
        let is_said = self.apps.iter().any(|app| app.ranks > 0);
        let is_one = self.apps.len() == 1;
        for app in &mut self.apps {
            app.program = find_program(&app.program, app.directory.as_deref())?;
            app.ranks = app.ranks.max(1);
        }
        let ranks = self.apps.iter().try_fold(0_u32, |sum, app| sum.checked_add(app.ranks));
        let ranks = ranks.ok_or_else(|| usage("-n: too many ranks"))?;
        if !self.has_torus {
            words.extend(["-n".into(), ranks.to_string().into()]);
        }
        words.append(&mut self.run);
        let first = &self.apps[0];
        words.push(first.program.clone().into());
        let mut options = read(&words)?;
        if self.has_torus && is_one && !is_said {
            self.apps[0].ranks = options.ranks();
        }
        options.apps = self.apps;
        Ok(options)
    }
}

fn usage(what: impl std::fmt::Display) -> CliError {
    CliError {
        message: format!("mpiexec: {what}"),
        ..CliError::usage("")
    }
}

/// Returns the name of an option without dashes.
fn option_name(word: &OsStr) -> Option<&str> {
    let text = word.to_str()?;
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
    (text != "-").then_some(name)
}

/// Checks that a host is this one; a number of ranks may follow the name.
fn check_host(option: &str, name: &str) -> Result<(), CliError> {
    let name = name.split([':', ' ', '\t']).next().unwrap_or_default();
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = own.trim();
    let short = own.split('.').next().unwrap_or_default();
    match name {
        "" | "localhost" | "127.0.0.1" | "::1" => Ok(()),
        name if name == own || name == short => Ok(()),
        name => Err(usage(format_args!(
            "{option} {name}: ranks run on this machine only; omit {option}, or use localhost"
        ))),
    }
}

fn check_hosts(option: &str, file: &Path) -> Result<(), CliError> {
    let text = fs::read_to_string(file).map_err(|error| usage(format_args!("{option} {}: {error}", file.display())))?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    { lines.filter(|line| !line.is_empty()) }.try_for_each(|line| check_host(option, line))
}

/// Finds a program's file. A name without a directory is searched for in PATH first, as in MPICH. All names are then
/// resolved in the processes' working directory, and last in the current directory.
fn find_program(program: &Path, directory: Option<&Path>) -> Result<PathBuf, CliError> {
    let there = directory.map(|directory| directory.join(program));
    let near = there.into_iter().chain([program.to_path_buf()]);
    if program.as_os_str().as_bytes().contains(&b'/') {
        let found = near.clone().find(|file| file.is_file());
        // Errors are reported when it is read.
        return Ok(found.unwrap_or_else(|| program.into()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = dirs.iter().map(|dir| dir.join(program));
    let is_executable = |file: &PathBuf| {
        let found = file.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let found = { named.filter(is_executable) }.chain(near.filter(|file| file.is_file()));
    { found }.next().ok_or_else(|| {
        usage(format_args!(
            "cannot find the program {}: it is neither in PATH nor in the -wdir directory nor in the current directory",
            program.display()
        ))
    })
}

/// Returns the text of `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "Start one or several programs (MPI-3.1 section 8.8) with the options of other implementations' mpiexec\n\n\
         Usage: mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]..\n\n\
         The environment variable MIDPLANE_ON selects the platform: qemu, linux or cluster. A PROGRAM without a directory\n\
         is searched for in PATH, then in the -wdir directory, then in the current directory.\n\nOptions:\n",
    );
    for word in WORDS.iter().filter(|word| !word.help.is_empty()) {
        let names: Vec<String> = { word.names.iter() }
            .map(|name| format!("{}{name}", if name.len() > 4 { "--" } else { "-" }))
            .collect();
        text.push_str(&format!("  {}\n          {}\n", names.join(", "), word.help));
    }
    let name = command_name();
    text.push_str(&format!(
        "\nAll long options of `{name} run` are also accepted (see '{name} help run').\n"
    ));
    for (does, title) in [
        (
            OptionAction::Default,
            "Accepted without effect, because they specify the default",
        ),
        (OptionAction::Ignored, "Ignored with a message"),
    ] {
        let words = WORDS.iter().filter(|word| word.help.is_empty() && word.does == does);
        let names: Vec<&str> = words.flat_map(|word| word.names).copied().collect();
        text.push_str(&format!("\n{title}, with one dash or two:\n"));
        text.push_str(&fill_lines(&names));
    }
    text
}

/// Returns words in lines of at most 80 characters.
fn fill_lines(words: &[&str]) -> String {
    let mut text = String::new();
    let mut line = String::from(" ");
    for word in words {
        if line.len() + 1 + word.len() > 80 {
            text.push_str(&line);
            text.push('\n');
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(word);
    }
    text + &line + "\n"
}

/// Parses the options of `run` from a command line whose first word is the command's name.
pub type ReadOptions = fn(&[OsString]) -> Result<RunOptions, CliError>;

/// Runs the programs on the command line, with the options of `run` as `read` parses them; returns the exit status.
///
/// # Errors
/// Returns an error for unknown options, other hosts, missing programs, and a failed job.
pub fn run(words: &[OsString], read: ReadOptions) -> Result<u8, CliError> {
    let request = LaunchRequest::read(words)?;
    match request.asked {
        Some(OptionAction::Help) => {
            crate::show::console::print_bytes(help().as_bytes())?;
            return Ok(0);
        }
        Some(_) => {
            crate::show::console::print_line(format_args!("mpiexec (Midplane) {}", env!("CARGO_PKG_VERSION")))?;
            return Ok(0);
        }
        None => {}
    }
    let place = std::env::var_os(crate::build::cc::ON).filter(|place| !place.is_empty());
    crate::run::command::run(&request.options(place, read)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<LaunchRequest, CliError> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        LaunchRequest::read(&words)
    }

    fn shown(apps: &[AppOptions]) -> Vec<String> {
        let each = |app: &AppOptions| {
            let words: Vec<_> = app.arguments.iter().map(|word| word.to_string_lossy()).collect();
            let mut more: Vec<_> = [&app.env[..], &app.export[..]].concat();
            more.extend(app.directory.iter().map(OsString::from));
            let more: Vec<_> = more.iter().map(|word| word.to_string_lossy()).collect();
            format!(
                "{} {} [{}] {}",
                app.ranks,
                app.program.display(),
                words.join(" "),
                more.join(" ")
            )
        };
        apps.iter().map(each).collect()
    }

    #[test]
    fn programs_have_ranks_arguments_and_variables_of_their_own() {
        let request = read("-n 1 -env A 1 a -n 3 : --np=2 -x B -wdir /tmp b x -- : c").unwrap();
        assert_eq!(shown(&request.apps), ["1 a [-n 3] A=1", "2 b [x --] B /tmp", "0 c [] "]);
        assert!(request.run.is_empty() && request.ignored.is_empty());
        let request = read("-genv A 1 --timeout=5 -l --torus 2x1x1 --mpi-borrow a").unwrap();
        let words: Vec<_> = request.run.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(
            words.join(" "),
            "--env A=1 --timeout 5 --prefix --torus 2x1x1 --mpi-borrow"
        );
        assert!(request.has_torus);
    }

    #[test]
    fn options_of_other_launchers_are_taken() {
        let line = "--oversubscribe -ppn 2 -hosts localhost --host localhost:4 --bind-to core --map-by node \
                    --rank-by core --mca btl self,tcp -genvall -print-rank-map --allow-run-as-root -iface lo \
                    -launcher fork --use-hwthread-cpus --report-bindings -n 2 a";
        let request = read(line).unwrap();
        assert_eq!(shown(&request.apps), ["2 a [] "]);
        assert!(request.run.is_empty());
        let ignored = request.ignored.join(" ");
        assert_eq!(
            ignored,
            "-ppn --bind-to --map-by --rank-by --mca -print-rank-map -iface -launcher --report-bindings"
        );
        assert_eq!(read("-n 4 --version a").unwrap().asked, Some(OptionAction::Version));
        assert_eq!(read("-h").unwrap().asked, Some(OptionAction::Help));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, word) in [
            ("", "give a program"),
            ("-n 2", "give a program"),
            ("a :", "give a program"),
            (": a", "give a program"),
            ("-n 0 a", "-n 0"),
            ("-n x a", "-n x"),
            ("-n", "-n requires 1 value"),
            ("-env A", "-env requires 2 values"),
            ("--oversubscribe=3 a", "--oversubscribe"),
            ("--nonsense a", "unknown option --nonsense"),
            ("-torus 2x2x2 a", "unknown option -torus"),
            ("-hosts localhost,far a", "far: ranks run on this machine"),
            ("-f /nonexistent/hosts a", "/nonexistent/hosts"),
            ("-configfile /nonexistent/file", "/nonexistent/file"),
            ("-configfile /nonexistent/file a", "in place of programs"),
            ("-n 2 -configfile /nonexistent/file", "in place of programs"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.message.contains(word), "{line}: {error}");
            assert_eq!(error.status, crate::host::error::USAGE, "{line}");
        }
    }

    #[test]
    fn names_are_each_options_own() {
        let mut names: Vec<&str> = WORDS.iter().flat_map(|word| word.names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
