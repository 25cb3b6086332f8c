//! Compiler wrapper `cargo midplane cc`, the `mpicc` of Midplane, for build systems. It accepts the compiler's
//! arguments and adds the options that a node's program requires before and after them.
//!
//! | arguments | action |
//! |---|---|
//! | with `-c`, `-S`, `-E`, `-M`, `-MM`, `-r` or `-fsyntax-only` | compiles, with the headers |
//! | no input, or a query such as `--version` | passes the query to the compiler |
//! | all others | compiles and links with the runtime to an image that `run` boots |
//!
//! The exit status and all output are the compiler's. The default is the nodes' C compiler. `--on linux` as the first
//! argument, or `MIDPLANE_ON=linux` in the environment, selects the host's `cc` for native processes.

use crate::build::compiler::{self, Linker, OPENMP, run_compiler, without_openmp};
use crate::build::diagnostics::CompilerOutput;
use crate::build::headers;
use crate::build::inputs::{BuildFlags, FileKind};
use crate::build::linux;
use crate::build::program::kernel_library;
use crate::build::unsupported;
use crate::host::directories::{self, SourceTree, write_atomically};
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup;
use crate::host::sys;
use crate::show::console::{self, print_error_line};
use midplane_setup::invocation::command_name;
use rustix::process::Signal;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment variable that selects the platform of programs.
pub const ON: &str = "MIDPLANE_ON";
/// Options whose argument is the next word.
const WITH_ARGUMENT: [&str; 31] = [
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-x",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-B",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "--param",
    "-aux-info",
    "-specs",
];
/// Options that prevent linking.
const NO_LINK: [&str; 7] = ["-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only"];
/// Queries that the compiler handles without an input file.
const QUESTIONS: [&str; 6] = [
    "--version",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpmachine",
    "-dumpspecs",
    "--target-help",
];

/// Requested action of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CompilerStep {
    /// Prints the reply to a query.
    Query,
    /// Creates any output other than a program.
    Compile,
    /// Creates a program.
    Link,
}

/// Information to print instead of running the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WrapperQuery {
    /// The complete command.
    Command,
    /// MPICH's -compile-info and -link-info: the compiler and its options for any program.
    Compiling,
    Linking,
    /// Open MPI's -showme:compile and -showme:link: the options without the compiler.
    CompileFlags,
    LinkFlags,
    /// Open MPI's options of the same names: compiler; header directories, library directories and libraries, without
    /// their option prefixes; version.
    Compiler,
    HeaderDirectories,
    LibraryDirectories,
    Libraries,
    Version,
}

impl WrapperQuery {
    fn from_argument(word: &OsStr) -> Option<WrapperQuery> {
        let word = word.to_str()?;
        let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        Some(match word {
            "show" | "showme" => WrapperQuery::Command,
            "compile-info" | "compile_info" => WrapperQuery::Compiling,
            "link-info" | "link_info" => WrapperQuery::Linking,
            "showme:compile" => WrapperQuery::CompileFlags,
            "showme:link" => WrapperQuery::LinkFlags,
            "showme:command" => WrapperQuery::Compiler,
            "showme:incdirs" => WrapperQuery::HeaderDirectories,
            "showme:libdirs" => WrapperQuery::LibraryDirectories,
            "showme:libs" => WrapperQuery::Libraries,
            "showme:version" => WrapperQuery::Version,
            _ => return None,
        })
    }
}

/// A parsed command line.
#[derive(Debug)]
struct WrapperArguments {
    on_linux: bool,
    is_cpp: bool,
    show: Option<WrapperQuery>,
    step: CompilerStep,
    words: Vec<OsString>,
}

impl WrapperArguments {
    /// Parses a command line; `on` is the platform that the environment specifies.
    fn read(words: &[OsString], on: Option<&OsStr>) -> Result<Self, CliError> {
        let mut on = on.filter(|on| !on.is_empty());
        let (mut rest, mut is_cpp) = (words, false);
        loop {
            rest = match rest {
                [word, place, rest @ ..] if word == "--on" => {
                    on = Some(place);
                    rest
                }
                [word] if word == "--on" => {
                    return Err(CliError::usage("--on: specify qemu or linux"));
                }
                [word, rest @ ..] if word == "--c++" => {
                    is_cpp = true;
                    rest
                }
                _ => break,
            };
        }
        let on_linux = match on.map(OsStr::as_bytes) {
            None | Some(b"qemu") => false,
            Some(b"linux") => true,
            Some(_) => {
                return Err(CliError::usage(format!(
                    "--on and {ON} must be qemu or linux, not `{}`",
                    on.unwrap_or_default().display()
                )));
            }
        };
        let show = rest.iter().find_map(|word| WrapperQuery::from_argument(word));
        let words: Vec<OsString> = { rest.iter() }
            .filter(|word| WrapperQuery::from_argument(word).is_none())
            .filter(|word| on_linux && *word != "-pie" || compiler::is_for_nodes(word))
            .cloned()
            .collect();
        let words = if on_linux {
            words
        } else {
            compiler::with_symbols(&words)
        };
        let inputs = inputs(&words);
        is_cpp |= inputs.iter().any(|input| FileKind::is_cpp(Path::new(input)));
        Ok(Self {
            on_linux,
            is_cpp,
            show,
            step: step(&words, !inputs.is_empty()),
            words,
        })
    }
}

/// Returns the arguments that are neither options nor option values.
fn inputs(words: &[OsString]) -> Vec<&OsStr> {
    let mut inputs = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if WITH_ARGUMENT.iter().any(|option| word == option) {
            rest.next();
        } else if word == "-" || !word.as_bytes().starts_with(b"-") {
            inputs.push(word.as_os_str());
        }
    }
    inputs
}

fn step(words: &[OsString], has_input: bool) -> CompilerStep {
    let is_one_of = |word: &OsString, list: &[&str]| list.iter().any(|one| word == one);
    let asks = |word: &OsString| is_one_of(word, &QUESTIONS) || word.as_bytes().starts_with(b"-print-");
    if words.iter().any(asks) {
        CompilerStep::Query
    } else if words.iter().any(|word| is_one_of(word, &NO_LINK)) {
        CompilerStep::Compile
    } else if has_input {
        CompilerStep::Link
    } else {
        CompilerStep::Query
    }
}

/// Runs the compiler wrapper with `words`; returns the exit status.
///
/// # Errors
/// Returns an error for unsupported arguments, missing tools, or a runtime that does not compile.
pub fn run(words: &[OsString]) -> Result<u8, CliError> {
    if words.iter().any(|word| word == "--help") {
        return console::print_bytes(help().as_bytes()).map(|()| 0);
    }
    if words == ["--path"] {
        let path = write_wrappers()?;
        return show(&path.display().to_string());
    }
    if words.last().is_some_and(|word| word == PKG_CONFIG) {
        return show_pkg_config(&words[..words.len() - 1]);
    }
    // The compiler would accept `--path` as its own option, and report the next argument as a missing file.
    if words.iter().any(|word| word == "--path") {
        return Err(CliError::usage(format!(
            "--path must be the only argument; to select a platform, call the created files with --on as their first \
             argument, or set {ON}"
        )));
    }
    let on = std::env::var_os(ON);
    let line = WrapperArguments::read(words, on.as_deref())?;
    if line.show == Some(WrapperQuery::Version) {
        return show(VERSION);
    }
    check(&line)?;
    let is_link = line.show.is_none() && line.step == CompilerStep::Link;
    if !line.on_linux && is_link && link_quickly(&line)? {
        return Ok(0);
    }
    let mut command = prepare_command(&line)?;
    match (line.show, line.step) {
        (Some(shown), _) => show(&query_text(shown, &command)),
        (None, CompilerStep::Link) => link(&mut command),
        (None, CompilerStep::Query | CompilerStep::Compile) => {
            // Replaces this process with the compiler.
            let error = command.exec();
            Err(error).context(format_args!("run {}", command.get_program().display()))
        }
    }
}

/// Returns the text of `--help`.
pub fn help() -> String {
    format!(
        "Compile and link C programs as mpicc does, for make, CMake and configure\n\n\
         Usage: {0} cc [--on WHERE] [--c++] [COMPILER OPTIONS] [FILES]\n       \
         {0} cc --path\n       \
         {0} cc [--on WHERE] [--c++] --pkg-config\n\n\
         The command passes the compiler's options (-c, -o, -I, -D, -O2, -l and so on) to the compiler, and adds the options\n\
         that a program for nodes requires. Without -c it links an image that `{0} run` boots.\n\n\
         Options, in front of the compiler's options:\n  \
         --on WHERE\n          \
         Platform of the program: qemu or linux [default: the variable {ON}, or qemu]\n  \
         --c++\n          \
         Use the C++ compiler, as mpicxx does; requires --on linux\n  \
         --path\n          \
         Write mpicc, mpicxx, mpiexec, mpirun and midplane as files, and print the path of mpicc\n  \
         --pkg-config\n          \
         Write mpi.pc for pkg-config, and print its directory\n  \
         --help\n          \
         Print this help\n\n\
         Options that print the command or a part of it, without compiling:\n  \
         -show, -showme\n          \
         Complete command\n  \
         -compile-info, -link-info\n          \
         Compiler with the options for compiling or linking\n  \
         -showme:compile, -showme:link\n          \
         Options for compiling or linking, without the compiler\n  \
         -showme:command, -showme:incdirs, -showme:libdirs, -showme:libs, -showme:version\n          \
         Compiler, header directories, library directories, libraries, version\n\n\
         The option --target-help prints the compiler's own options.\n",
        command_name()
    )
}

/// Creates the requested command. Progress output of the runtime's build and of downloads is shown only on a terminal,
/// because build systems parse the reply to a query.
fn prepare_command(line: &WrapperArguments) -> Result<Command, CliError> {
    let prepare = || {
        if line.on_linux {
            on_linux(line)
        } else {
            for_nodes(line, &Linker::Gnu)
        }
    };
    let is_seen = line.show.is_none() && line.step == CompilerStep::Link && std::io::stderr().is_terminal();
    if is_seen {
        prepare()
    } else {
        console::with_buffered_stderr(prepare)
    }
}

/// Returns the requested information about a command.
fn query_text(shown: WrapperQuery, command: &Command) -> String {
    let words = || command.get_args().map(|word| word.to_string_lossy());
    // Collects the values of an option, in the same word or the next one.
    let behind = |option: &'static str| {
        let mut words = words();
        let mut values = Vec::new();
        while let Some(word) = words.next() {
            match word.strip_prefix(option) {
                Some("") => values.extend(words.next().map(|word| word.into_owned())),
                Some(value) => values.push(value.to_string()),
                None => {}
            }
        }
        values.join(" ")
    };
    match shown {
        WrapperQuery::Command | WrapperQuery::Compiling | WrapperQuery::Linking => {
            let program = command.get_program().to_string_lossy();
            join_words([program].into_iter().chain(words()))
        }
        WrapperQuery::CompileFlags | WrapperQuery::LinkFlags => join_words(words()),
        WrapperQuery::Compiler => command.get_program().display().to_string(),
        WrapperQuery::HeaderDirectories => behind("-I"),
        WrapperQuery::LibraryDirectories => behind("-L"),
        WrapperQuery::Libraries => behind("-l"),
        WrapperQuery::Version => VERSION.into(),
    }
}

/// Joins words in a line. Quotes only words that a shell would split: CMake does not recognize quoted options.
fn join_words<'a>(words: impl Iterator<Item = Cow<'a, str>>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    let quoted = words.map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            shell_words::quote(&word).into_owned().into()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// In the format of Open MPI's wrappers.
const VERSION: &str = concat!("mpicc: Midplane ", env!("CARGO_PKG_VERSION"));

/// Argument that requests a file for pkg-config.
const PKG_CONFIG: &str = "--pkg-config";

/// Writes `mpi.pc` for pkg-config, with the link options of programs that `words` select; prints its directory.
fn show_pkg_config(words: &[OsString]) -> Result<u8, CliError> {
    let on = std::env::var_os(ON);
    let flags = |question: &str| {
        let words: Vec<OsString> = words.iter().cloned().chain([question.into()]).collect();
        let line = WrapperArguments::read(&words, on.as_deref())?;
        if !line.words.is_empty() {
            return Err(CliError::usage(format!(
                "{PKG_CONFIG}: only --on and --c++ may precede it"
            )));
        }
        check(&line)?;
        let shown = line.show.unwrap_or(WrapperQuery::CompileFlags);
        Ok((line.on_linux, query_text(shown, &prepare_command(&line)?)))
    };
    let (on_linux, compile) = flags("-showme:compile")?;
    let (_, link) = flags("-showme:link")?;
    let dir = directories::target()
        .join("midplane/pkgconfig")
        .join(if on_linux { "linux" } else { "qemu" });
    fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
    // Build systems search for other MPIs by these names.
    for name in ["mpi", "ompi", "ompi-c", "ompi-cxx", "mpich"] {
        let text = format!(
            "Name: {name}\nDescription: Midplane, an MPI\nVersion: {}\nCflags: {compile}\nLibs: {link}\n",
            env!("CARGO_PKG_VERSION")
        );
        write_atomically(&dir.join(format!("{name}.pc")), &text, 0o644)?;
    }
    show(&dir.display().to_string())
}

fn show(line: &str) -> Result<u8, CliError> {
    crate::show::console::print_line(line).map(|()| 0)
}

/// Returns the required parts of the command: compile options, link options, the user's arguments.
fn parts(line: &WrapperArguments) -> [bool; 3] {
    match line.show {
        // Options that any program is compiled and linked with.
        Some(WrapperQuery::Command) if line.words.is_empty() => [true, true, false],
        None | Some(WrapperQuery::Command) => [line.step != CompilerStep::Query, line.step == CompilerStep::Link, true],
        Some(WrapperQuery::Compiling | WrapperQuery::CompileFlags | WrapperQuery::HeaderDirectories) => {
            [true, false, false]
        }
        Some(
            WrapperQuery::Linking
            | WrapperQuery::LinkFlags
            | WrapperQuery::LibraryDirectories
            | WrapperQuery::Libraries,
        ) => [false, true, false],
        Some(WrapperQuery::Compiler | WrapperQuery::Version) => [false; 3],
    }
}

/// Returns an error for features that nodes do not support, and warns about ignored options.
fn check(line: &WrapperArguments) -> Result<(), CliError> {
    if line.on_linux {
        return Ok(());
    }
    if line.is_cpp {
        return Err(CliError::usage(format!(
            "nodes do not support C++ yet; to compile C++ programs for Linux processes, use --on linux as the first \
             argument, or {ON}=linux"
        )));
    }
    if line.words.iter().any(|word| word == "-shared") {
        return Err(CliError::usage(
            "-shared: nodes do not support shared libraries; create a static one (ar)",
        ));
    }
    if line.step == CompilerStep::Link && line.show.is_none() && line.words.iter().any(|w| w == OPENMP) {
        compiler::warn_about_openmp();
    }
    Ok(())
}

fn for_nodes(line: &WrapperArguments, linker: &Linker) -> Result<Command, CliError> {
    let tools = setup::ensure()?;
    let [compiles, links, words] = parts(line);
    let mut command = tools.gcc.command();
    if compiles {
        compiler::begin_compile(&mut command);
    }
    if links {
        compiler::begin_link(&mut command, linker);
    }
    if words {
        command.args(without_openmp(&line.words));
    }
    if compiles {
        compiler::end_compile(&mut command)?;
    }
    if links {
        end_languages(line, &mut command);
        // The job's options are not known here.
        let flags = BuildFlags {
            instances: true,
            ..BuildFlags::default()
        };
        let runtime = flags.for_nodes().runtime();
        compiler::end_link(&mut command, &kernel_library(&tools, runtime)?);
        compiler::link_c_library(&mut command, linker);
    }
    Ok(command)
}

fn on_linux(line: &WrapperArguments) -> Result<Command, CliError> {
    let [compiles, links, words] = parts(line);
    let is_shared = line.words.iter().any(|word| word == "-shared");
    let mut command = Command::new(if line.is_cpp { "c++" } else { "cc" });
    if compiles {
        command.args(["-g", "-fno-pie"]);
    }
    if links && !is_shared {
        command.args([linux::FIXED, linux::WRAP]);
    }
    // FindMPI and meson accept the object only as a linker argument.
    let mut start = OsString::from("-Wl,");
    if links && !is_shared {
        start.push(start_object()?);
    }
    if words {
        // A build system that queried the link options may repeat this one.
        let words = line.words.iter().filter(|word| **word != start);
        command.args(words.map(|word| linux::replace_option(word)));
    }
    if compiles {
        command.arg(headers::option()?);
    }
    if links && !is_shared {
        end_languages(line, &mut command);
        let runtime = BuildFlags::default().for_processes().runtime();
        command.arg(start);
        add_library(&linux::library(runtime)?, &mut command);
        command.args(linux::libraries(&line.words));
    }
    Ok(command)
}

/// Adds a library by directory and name, because meson ignores file paths.
fn add_library(library: &Path, command: &mut Command) {
    let stem = library.file_stem().and_then(OsStr::to_str);
    let name = stem.and_then(|stem| stem.strip_prefix("lib"));
    match (library.parent(), name) {
        (Some(dir), Some(name)) => {
            let mut option = OsString::from("-L");
            option.push(dir);
            command.arg(option).arg(format!("-l{name}"));
        }
        _ => {
            command.arg(library);
        }
    }
}

/// Ends a `-x` option: later files are recognized by their extensions again.
fn end_languages(line: &WrapperArguments, command: &mut Command) {
    if line.words.iter().any(|word| word.as_bytes().starts_with(b"-x")) {
        command.args(["-x", "none"]);
    }
}

/// Returns the start-up object of native programs. Compiles it if it is missing or older than its source.
fn start_object() -> Result<PathBuf, CliError> {
    let source = directories::root().join("kernel-rt/ld/linux.c");
    let dir = directories::target().join("midplane/linux");
    let object = dir.join("start.o");
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    if time(&object) >= time(&source) && object.exists() {
        return Ok(object);
    }
    fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
    // Other processes may do the same at the same time.
    let new = dir.join(format!("start.{}.o", std::process::id()));
    let mut compile = Command::new("cc");
    compile
        .args(["-O2", "-g", "-fno-pie", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&new);
    run_compiler(compile, &source)?;
    fs::rename(&new, &object).context("rename an object file")?;
    Ok(object)
}

/// Compiles, and links with LLVM's linker. Returns false if that fails or if the user would miss a diagnostic. Then all
/// is repeated with GNU's linker for its messages.
fn link_quickly(line: &WrapperArguments) -> Result<bool, CliError> {
    // Excludes standard input, since it cannot be read twice, and relocatable output (`-r`), a task for GNU's linker.
    let is_usual = line.words.iter().all(|word| word != "-" && word != "-r");
    let linker = is_usual.then(compiler::llvm_linker).flatten();
    let Some(linker) = linker else {
        return Ok(false);
    };
    let prepare = || for_nodes(line, &linker);
    let mut command = if std::io::stderr().is_terminal() {
        prepare()?
    } else {
        console::with_buffered_stderr(prepare)?
    };
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let output = command.stdin(Stdio::null()).output();
    let output = output.context(format_args!("run {}", command.get_program().display()))?;
    // Output of the linker itself (`-Wl,--version`) must come from GNU's.
    let is_done = output.status.success() && output.stdout.is_empty() && !unsupported::is_any_in(result(&line.words));
    if is_done {
        // The exit status reports success even if stderr is closed.
        let _ = std::io::stderr().write_all(&output.stderr);
    }
    Ok(is_done)
}

/// Returns the requested output file.
fn result(words: &[OsString]) -> &Path {
    let mut named = Path::new("a.out");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        named = match word.as_bytes() {
            b"-o" => words.next().map_or(named, Path::new),
            [b'-', b'o', name @ ..] => Path::new(OsStr::from_bytes(name)),
            _ => named,
        };
    }
    named
}

/// Runs a link command. Forwards its messages as they arrive, and lists missing MPI functions again at the end.
fn link(command: &mut Command) -> Result<u8, CliError> {
    sys::bind_to_this_process(command, Signal::TERM, Vec::new());
    let program = command.get_program().to_os_string();
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .context(format_args!("run {}", program.display()))?;
    let mut words = Vec::new();
    if let Some(stderr) = &mut child.stderr {
        let mut piece = [0; 4096];
        while let Ok(bytes @ 1..) = stderr.read(&mut piece) {
            // The exit status reports the result even if stderr is closed.
            let _ = std::io::stderr().write_all(&piece[..bytes]);
            words.extend_from_slice(&piece[..bytes]);
        }
    }
    let status = child.wait().context("wait for the compiler")?;
    let said = CompilerOutput::new(status.success(), String::from_utf8_lossy(&words).into_owned());
    if !said.success {
        print_missing_functions(&said);
    }
    let by_signal = || status.signal().map_or(1, |signal| 128 + signal);
    Ok(status.code().unwrap_or_else(by_signal) as u8)
}

fn print_missing_functions(said: &CompilerOutput) {
    let is_mpi = |name: &&str| name.starts_with("MPI_") || name.starts_with("PMPI_");
    let missing: Vec<&str> = { said.undefined().into_iter() }
        .map(|(name, _)| name)
        .filter(is_mpi)
        .collect();
    if !missing.is_empty() {
        print_error_line(format_args!(
            "midplane: the program calls {}, which Midplane does not have yet",
            missing.join(", ")
        ));
    }
}

/// Writes the wrapper scripts `mpicc`, `mpicxx`, `mpiexec` and `mpirun` for build systems, and `midplane`, to run this
/// command from any directory. Returns the path of the first.
pub fn write_wrappers() -> Result<PathBuf, CliError> {
    let tool = std::env::current_exe().context("find this command")?;
    let dir = directories::target().join("midplane/bin");
    fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
    let quote = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let mut start = format!("#!/bin/sh\n# Written by `{} cc --path`.\n", command_name());
    if let SourceTree::Checkout(root) = SourceTree::current() {
        start.push_str(&format!("export {}={}\n", midplane_setup::ROOT, quote(root)));
    }
    let tool = quote(&tool);
    let scripts = [
        ("mpicc", format!("{start}exec {tool} cc \"$@\"\n")),
        ("mpicxx", format!("{start}exec {tool} cc --c++ \"$@\"\n")),
        ("mpiexec", format!("{start}exec {tool} mpiexec \"$@\"\n")),
        ("mpirun", format!("{start}exec {tool} mpiexec \"$@\"\n")),
        ("midplane", format!("{start}exec {tool} \"$@\"\n")),
    ];
    for (name, text) in scripts {
        write_atomically(&dir.join(name), &text, 0o755)?;
    }
    Ok(dir.join("mpicc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<WrapperArguments, CliError> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        WrapperArguments::read(&words, None)
    }

    #[test]
    fn what_is_wanted_is_read_from_the_words() {
        for (line, step) in [
            ("a.c b.c -o prog -lm", CompilerStep::Link),
            ("-c a.c -o a.o", CompilerStep::Compile),
            ("-E -", CompilerStep::Compile),
            ("-MM a.c", CompilerStep::Compile),
            ("-", CompilerStep::Link),
            ("", CompilerStep::Query),
            ("-v", CompilerStep::Query),
            ("-o prog -I include -D X", CompilerStep::Query),
            ("--version", CompilerStep::Query),
            ("--target-help", CompilerStep::Query),
            ("-print-prog-name=ld a.c", CompilerStep::Query),
            ("-Wl,--version a.o", CompilerStep::Link),
        ] {
            assert_eq!(read(line).unwrap().step, step, "{line}");
        }
    }

    #[test]
    fn the_file_to_be_made_is_found_among_the_words() {
        for (line, file) in [
            ("a.c", "a.out"),
            ("a.c -o b c.c", "b"),
            ("-ob a.c", "b"),
            ("-o", "a.out"),
        ] {
            assert_eq!(result(&read(line).unwrap().words), Path::new(file), "{line}");
        }
    }

    #[test]
    fn the_place_comes_first_or_from_the_environment() {
        assert!(read("--on linux a.c").unwrap().on_linux);
        assert!(!read("--on qemu a.c").unwrap().on_linux);
        assert!(read("--on moon a.c").unwrap_err().message.contains("moon"));
        let on = |on| WrapperArguments::read(&["a.c".into()], Some(OsStr::new(on))).unwrap();
        assert!(on("linux").on_linux && !on("").on_linux);
        assert!(read("--on linux a.cpp").unwrap().is_cpp);
        assert!(read("--c++ a.o").unwrap().is_cpp);
    }

    #[test]
    fn what_needs_nothing_of_a_node_is_left_out() {
        let line = read("-pthread a.c -fopenmp -lpthread -lm -lgomp -rdynamic").unwrap();
        assert_eq!(line.words, ["a.c", "-fopenmp", "-lm"]);
        let words: Vec<&OsStr> = without_openmp(&line.words).collect();
        assert_eq!(words, ["a.c", "-Wno-unknown-pragmas", "-lm"]);
        let line = read("-O3 -march=native -m64 a.c -lutil").unwrap();
        assert_eq!(line.words, ["-O3", "a.c"]);
        let line = read("--on linux -pthread a.c -pie").unwrap();
        assert_eq!(line.words, ["-pthread", "a.c"]);
    }

    #[test]
    fn what_is_to_be_shown_is_no_word_of_the_compilers() {
        let line = read("-show a.c").unwrap();
        assert_eq!(
            (line.show, line.step),
            (Some(WrapperQuery::Command), CompilerStep::Link)
        );
        assert_eq!(line.words, ["a.c"]);
        assert_eq!(read("-showme:link").unwrap().show, Some(WrapperQuery::LinkFlags));
        assert_eq!(read("--showme:version").unwrap().show, Some(WrapperQuery::Version));
    }

    #[test]
    fn answers_are_without_options_where_these_are_asked_for() {
        let mut command = Command::new("cc");
        command.args(["-I", "/a b", "-I/c", "-L/d", "-lone", "-l", "two", "-Wl,--wrap=x"]);
        for (shown, said) in [
            (WrapperQuery::Compiler, "cc"),
            (WrapperQuery::HeaderDirectories, "/a b /c"),
            (WrapperQuery::LibraryDirectories, "/d"),
            (WrapperQuery::Libraries, "one two"),
            (WrapperQuery::LinkFlags, "-I '/a b' -I/c -L/d -lone -l two -Wl,--wrap=x"),
        ] {
            assert_eq!(query_text(shown, &command), said);
        }
    }
}
