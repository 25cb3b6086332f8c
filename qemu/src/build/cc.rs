//! Compiler wrapper `cargo midplane cc`, the `mpicc`, `mpicxx` and `mpifort` of Midplane, for build systems. It accepts the compiler's
//! arguments and adds the options that a node's program requires before and after them.
//!
//! | arguments | action |
//! |---|---|
//! | with `-c`, `-S`, `-E`, `-M`, `-MM`, `-r` or `-fsyntax-only` | compiles, with the headers |
//! | no input, or a query such as `--version` | passes the query to the compiler |
//! | all others | compiles and links with the runtime to an image that `run` boots |
//!
//! The exit status and all output are the compiler's. The default is the nodes' C compiler. `--on linux` as the first
//! argument, or `MIDPLANE_ON=linux` in the environment, selects the host's `cc` for native processes, and `cluster` for the
//! simulator. Fortran sources, and `--fortran`, select the Fortran compiler of the platform. `--record` or `MIDPLANE_RECORD`
//! adds the recorder of MPI calls.

use crate::build::build_cache;
use crate::build::compiler::{self, Linker, OPENMP, ScratchDirectory, without_openmp};
use crate::build::diagnostics::CompilerOutput;
use crate::build::fortran::{self, FortranCompiler, VARIABLE};
use crate::build::headers;
use crate::build::inputs::{BuildFlags, RECORD};
use crate::build::language::{SourceLanguage, is_mpi_function, options_for};
use crate::build::linux::{self, ProcessContent};
use crate::build::program::kernel_library;
use crate::build::recorder;
use crate::build::spawning;
use crate::build::thread_entries;
use crate::host::directories::{self, SourceTree, write_atomically};
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup;
use crate::host::sys;
use crate::show::console::{self, print_error_line};
use midplane_setup::invocation::command_name;
use midplane_trace::Recorder;
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
const WITH_ARGUMENT: [&str; 34] = [
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
    "-J",
    "-module-dir",
    "-fintrinsic-modules-path",
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

/// Platform of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WrapperTarget {
    /// Nodes in QEMU.
    Nodes,
    /// Linux processes, or the simulator.
    Process(ProcessContent),
}

impl WrapperTarget {
    /// Returns the target with this name; `None` for any other name.
    fn from_name(name: &OsStr) -> Option<Self> {
        Some(match name.as_bytes() {
            b"qemu" => Self::Nodes,
            b"linux" => Self::Process(ProcessContent::Node),
            b"cluster" => Self::Process(ProcessContent::Cluster),
            _ => return None,
        })
    }

    /// Returns its name.
    fn name(self) -> &'static str {
        match self {
            Self::Nodes => "qemu",
            Self::Process(ProcessContent::Node) => "linux",
            Self::Process(ProcessContent::Cluster) => "cluster",
        }
    }
}

/// A parsed command line.
#[derive(Debug)]
struct WrapperArguments {
    target: WrapperTarget,
    is_recorded: bool,
    is_cpp: bool,
    /// The program requires Fortran's library and MPI's functions for Fortran.
    is_fortran: bool,
    show: Option<WrapperQuery>,
    step: CompilerStep,
    words: Vec<OsString>,
}

/// Library of Fortran in the link options of a program whose other files are C.
const FORTRAN_LIBRARY: &str = "-lgfortran";

impl WrapperArguments {
    /// Parses a command line; `on` is the platform that the environment specifies, and `record` whether it enables the
    /// recorder.
    fn read(words: &[OsString], on: Option<&OsStr>, record: bool) -> Result<Self, CliError> {
        let mut on = on.filter(|on| !on.is_empty());
        let (mut rest, mut is_cpp, mut is_fortran, mut is_recorded) = (words, false, false, record);
        loop {
            rest = match rest {
                [word, place, rest @ ..] if word == "--on" => {
                    on = Some(place);
                    rest
                }
                [word] if word == "--on" => {
                    return Err(CliError::usage("--on: specify qemu, linux or cluster"));
                }
                [word, rest @ ..] if word == "--c++" => {
                    is_cpp = true;
                    rest
                }
                [word, rest @ ..] if word == FORTRAN => {
                    is_fortran = true;
                    rest
                }
                [word, rest @ ..] if word == "--record" => {
                    is_recorded = true;
                    rest
                }
                _ => break,
            };
        }
        let target = on.map_or(Some(WrapperTarget::Nodes), WrapperTarget::from_name);
        let target = target.ok_or_else(|| {
            CliError::usage(format!(
                "--on and {ON} must be qemu, linux or cluster, not `{}`",
                on.unwrap_or_default().display()
            ))
        })?;
        let is_for_nodes = target == WrapperTarget::Nodes;
        let show = rest.iter().find_map(|word| WrapperQuery::from_argument(word));
        is_fortran |= rest.iter().any(|word| word == FORTRAN_LIBRARY);
        let files = inputs(rest);
        is_fortran |= files.iter().any(|file| SourceLanguage::Fortran.is_of(Path::new(file)));
        let words: Vec<OsString> = { rest.iter() }
            .filter(|word| WrapperQuery::from_argument(word).is_none())
            .filter(|word| !is_for_nodes && *word != "-pie" || compiler::is_for_nodes(word))
            // Build systems add the libraries of `mpicc` to the link by `mpifort`.
            .filter(|word| !is_fortran || !is_runtime(word))
            .cloned()
            .collect();
        let words = if is_for_nodes {
            compiler::with_symbols(&words)
        } else {
            words
        };
        let inputs = inputs(&words);
        let has = |language: SourceLanguage| inputs.iter().any(|input| language.is_of(Path::new(input)));
        is_cpp |= has(SourceLanguage::Cpp);
        Ok(Self {
            target,
            is_recorded,
            is_cpp,
            is_fortran,
            show,
            step: step(&words, !inputs.is_empty()),
            words,
        })
    }

    /// Parses a command line with the variables of the environment.
    fn from_environment(words: &[OsString]) -> Result<Self, CliError> {
        let record = std::env::var_os(RECORD).is_some_and(|value| !value.is_empty());
        Self::read(words, std::env::var_os(ON).as_deref(), record)
    }

    fn is_for_nodes(&self) -> bool {
        self.target == WrapperTarget::Nodes
    }

    /// Checks whether one of the files is a source in this language.
    fn has_source(&self, language: SourceLanguage) -> bool {
        let inputs = inputs(&self.words);
        inputs.iter().any(|input| language.is_of(Path::new(input)))
    }

    /// Checks whether the compiler is the one for Fortran. The link of a C++ program requires the C++ compiler, and
    /// C sources without others the C compiler.
    fn uses_fortran_compiler(&self) -> bool {
        let is_c = self.has_source(SourceLanguage::C) && !self.has_source(SourceLanguage::Fortran);
        self.is_fortran && !self.is_cpp && !is_c
    }

    /// Checks whether all files are objects and libraries.
    fn has_only_objects(&self) -> bool {
        let is_object = |input: &&OsStr| {
            let extension = Path::new(input).extension();
            extension.is_some_and(|extension| ["o", "a", "so"].iter().any(|one| extension == *one))
        };
        inputs(&self.words).iter().all(is_object)
    }

    /// Returns the file or the option that requires Fortran.
    fn fortran_file(&self) -> PathBuf {
        let inputs = inputs(&self.words);
        let file = inputs
            .iter()
            .find(|input| SourceLanguage::Fortran.is_of(Path::new(input)));
        file.map_or(FORTRAN.into(), PathBuf::from)
    }
}

/// Checks whether a word names a library of the runtime, which this command adds itself.
fn is_runtime(word: &OsStr) -> bool {
    let name = match word.to_str().and_then(|word| word.strip_prefix("-l")) {
        Some(name) => name.into(),
        None => { Path::new(word).file_stem().unwrap_or_default() }.to_string_lossy(),
    };
    let name = name.strip_prefix("lib").unwrap_or(&name);
    name.starts_with(&build_cache::crate_name(Path::new(build_cache::RUNTIMES[0])))
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
    let line = WrapperArguments::from_environment(words)?;
    if line.show == Some(WrapperQuery::Version) {
        return show(VERSION);
    }
    check(&line)?;
    let is_link = line.show.is_none() && line.step == CompilerStep::Link;
    let scratch;
    let line = if is_link && line.is_for_nodes() && line.has_source(SourceLanguage::Fortran) {
        scratch = ScratchDirectory::new(&std::env::temp_dir())?;
        match with_fortran_objects(line, &scratch.0)? {
            Ok(line) => line,
            Err(status) => return Ok(status),
        }
    } else {
        line
    };
    if line.is_for_nodes() && is_link && link_quickly(&line)? {
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
        "Compile and link C and Fortran programs as mpicc and mpifort do, for make, CMake and configure\n\n\
         Usage: {0} cc [--on WHERE] [--record] [--c++ | --fortran] [COMPILER OPTIONS] [FILES]\n       \
         {0} cc --path\n       \
         {0} cc [--on WHERE] [--record] [--c++ | --fortran] --pkg-config\n\n\
         The command passes the compiler's options (-c, -o, -I, -D, -O2, -l and so on) to the compiler, and adds the options\n\
         that a program for nodes requires. Without -c it links an image that `{0} run` boots.\n\n\
         Options, in front of the compiler's options:\n  \
         --on WHERE\n          \
         Platform of the program: qemu, linux or cluster [default: the variable {ON}, or qemu]\n  \
         --record\n          \
         Link the recorder of `run --trace`, --html and --check; the same as a nonempty variable {RECORD}\n  \
         --c++\n          \
         Use the C++ compiler, as mpicxx does; requires --on linux\n  \
         --fortran\n          \
         Use the Fortran compiler, as mpifort does, and link the program with Fortran's library [default: for files\n          \
         with an extension of Fortran]; on Linux, the variable {VARIABLE} selects gfortran or flang\n  \
         --path\n          \
         Write mpicc, mpicxx, mpifort, mpif77, mpif90, mpiexec, mpirun and midplane as files, and print the path of\n          \
         mpicc\n  \
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
    let prepare = || match line.target {
        WrapperTarget::Process(content) => for_process(line, content),
        WrapperTarget::Nodes => for_nodes(line, &Linker::Gnu),
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

/// Argument that selects the Fortran compiler.
const FORTRAN: &str = "--fortran";

/// In the format of Open MPI's wrappers.
const VERSION: &str = concat!("mpicc: Midplane ", env!("CARGO_PKG_VERSION"));

/// Argument that requests a file for pkg-config.
const PKG_CONFIG: &str = "--pkg-config";

/// Writes `mpi.pc` for pkg-config, with the link options of programs that `words` select; prints its directory.
fn show_pkg_config(words: &[OsString]) -> Result<u8, CliError> {
    let flags = |question: &str| {
        let words: Vec<OsString> = words.iter().cloned().chain([question.into()]).collect();
        let line = WrapperArguments::from_environment(&words)?;
        if !line.words.is_empty() {
            return Err(CliError::usage(format!(
                "{PKG_CONFIG}: only --on, --record, --c++ and {FORTRAN} may precede it"
            )));
        }
        check(&line)?;
        let shown = line.show.unwrap_or(WrapperQuery::CompileFlags);
        Ok((line.target, query_text(shown, &prepare_command(&line)?)))
    };
    let (target, compile) = flags("-showme:compile")?;
    let (_, link) = flags("-showme:link")?;
    let dir = directories::target().join("midplane/pkgconfig").join(target.name());
    fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
    // Build systems search for other MPIs by these names.
    let names: &[&str] = if words.iter().any(|word| word == FORTRAN) {
        &["mpi-fort", "ompi-fort", "ompi-f77", "ompi-f90"]
    } else {
        &["mpi", "ompi", "ompi-c", "ompi-cxx", "mpich"]
    };
    for name in names {
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

/// Returns an error for unsupported options and for features that nodes do not support, and warns about ignored options.
fn check(line: &WrapperArguments) -> Result<(), CliError> {
    if line.is_fortran {
        fortran::check_options(&line.words)?;
    }
    if line.target == WrapperTarget::Process(ProcessContent::Cluster) && line.is_fortran {
        return Err(CliError::usage(format!(
            "--on cluster does not link Fortran programs; specify their sources for `{} run --on cluster`",
            command_name()
        )));
    }
    if !line.is_for_nodes() {
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
    let fortran = line
        .is_fortran
        .then(|| FortranCompiler::for_nodes(&tools, &line.fortran_file()));
    let fortran = fortran.transpose()?;
    if let Some(fortran) = fortran.as_ref().filter(|_| !links && line.uses_fortran_compiler()) {
        return fortran_for_nodes(line, fortran);
    }
    let mut command = tools.gcc.command();
    if compiles {
        compiler::begin_compile(&mut command);
    }
    if links {
        compiler::begin_link(&mut command, linker);
    }
    if words {
        let words: Vec<OsString> = match &fortran {
            Some(_) => { options_for(SourceLanguage::C, &line.words).into_iter() }
                .map(OsStr::to_os_string)
                .collect(),
            None => line.words.clone(),
        };
        command.args(without_openmp(&words));
    }
    if compiles {
        compiler::end_compile(&mut command)?;
    }
    if links {
        end_languages(line, &mut command);
        // The job's options are not known here.
        let flags = BuildFlags {
            instances: true,
            fortran: fortran.is_some(),
            ..BuildFlags::default()
        };
        let runtime = flags.for_nodes().runtime();
        if let Some(fortran) = &fortran {
            command.args(fortran.libraries()?);
        }
        if line.is_recorded {
            let plain = BuildFlags::default();
            command.arg(recorder::object(
                Recorder::C,
                |source| compiler::compile_c(&tools, &plain, source),
                &flags,
            )?);
        }
        compiler::end_link(&mut command, &kernel_library(&tools, runtime)?);
        compiler::link_c_library(&mut command, linker);
    }
    Ok(command)
}

/// Creates the command that compiles Fortran sources for nodes, or that answers a query.
fn fortran_for_nodes(line: &WrapperArguments, fortran: &FortranCompiler) -> Result<Command, CliError> {
    let [compiles, _, words] = parts(line);
    let mut command = fortran.command();
    if compiles {
        fortran.begin_compile(&mut command);
    }
    if words {
        command.args(line.words.iter().filter(|word| *word != OPENMP));
    }
    if compiles {
        fortran.end_compile(&mut command)?;
    }
    Ok(command)
}

/// Compiles the Fortran sources of a program for nodes into `scratch`, in their order, because the C compiler links the
/// program. Returns the command line with the objects in their places, or the exit status of a compiler that fails.
fn with_fortran_objects(line: WrapperArguments, scratch: &Path) -> Result<Result<WrapperArguments, u8>, CliError> {
    let tools = setup::ensure()?;
    let fortran = FortranCompiler::for_nodes(&tools, &line.fortran_file())?;
    let sources: Vec<OsString> = { inputs(&line.words).into_iter() }
        .filter(|input| SourceLanguage::Fortran.is_of(Path::new(input)))
        .map(OsStr::to_os_string)
        .collect();
    let options = compile_options(&line.words);
    let mut words = line.words.clone();
    for (at, source) in sources.iter().enumerate() {
        let object = scratch.join(format!("{at}.o")).into_os_string();
        let mut compile = fortran.command();
        fortran.begin_compile(&mut compile);
        compile.args(&options);
        fortran.end_compile(&mut compile)?;
        compile.arg("-c").arg(source).arg("-o").arg(&object);
        sys::bind_to_this_process(&mut compile, Signal::TERM, Vec::new());
        let status = compile.status().context("run the Fortran compiler")?;
        if !status.success() {
            return Ok(Err(status.code().map_or(1, |code| code as u8)));
        }
        { words.iter_mut() }
            .filter(|word| *word == source)
            .for_each(|word| word.clone_from(&object));
    }
    Ok(Ok(WrapperArguments { words, ..line }))
}

/// Returns the options among these words, without the output file.
fn compile_options(words: &[OsString]) -> Vec<OsString> {
    let mut options = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let has_argument = WITH_ARGUMENT.iter().any(|option| word == option);
        let argument = rest.as_slice().first().filter(|_| has_argument);
        if has_argument {
            rest.next();
        }
        let bytes = word.as_bytes();
        if bytes.starts_with(b"-") && bytes != b"-" && !bytes.starts_with(b"-o") && word != OPENMP {
            options.push(word.clone());
            options.extend(argument.cloned());
        }
    }
    options
}

fn for_process(line: &WrapperArguments, content: ProcessContent) -> Result<Command, CliError> {
    let [compiles, links, words] = parts(line);
    let links = links && line.words.iter().all(|word| word != "-shared");
    let fortran = line.is_fortran.then(|| FortranCompiler::for_host(&line.fortran_file()));
    let fortran = fortran.transpose()?;
    let driver = fortran.as_ref().filter(|_| line.uses_fortran_compiler());
    // C's compiler reports options for Fortran as unknown.
    let only_fortran = driver.filter(|_| !line.has_source(SourceLanguage::C));
    // flang warns about unused options.
    let compiles = compiles && (driver.is_none() || line.show.is_some() || !line.has_only_objects());
    let mut command = match driver {
        Some(fortran) => fortran.command(),
        None => Command::new(if line.is_cpp { "c++" } else { "cc" }),
    };
    match only_fortran {
        Some(fortran) if compiles => fortran.begin_compile(&mut command),
        None if compiles => _ = command.args(["-g", "-fno-pie"]),
        _ => {}
    }
    if links {
        command.args([linux::FIXED, content.wrap()]);
        command.args(content.link_options(line.is_cpp));
    }
    let flags = BuildFlags {
        fortran: fortran.is_some(),
        ..BuildFlags::default()
    };
    // FindMPI and meson accept the objects only as a linker argument.
    let mut start = OsString::from("-Wl");
    if links {
        for object in start_objects(content, line.is_recorded, &flags)? {
            start.push(",");
            start.push(object);
        }
    }
    if words {
        // A build system that queried the link options may repeat this one.
        let words = line.words.iter().filter(|word| **word != start);
        command.args(words.flat_map(|word| content.replace_option(word)));
    }
    if compiles && only_fortran.is_none() {
        command.arg(headers::option()?);
    }
    if let (true, Some(fortran)) = (compiles, &fortran) {
        fortran.end_compile(&mut command)?;
    }
    if links {
        end_languages(line, &mut command);
        let runtime = flags.for_processes().runtime();
        if let (Some(fortran), None) = (&fortran, driver) {
            command.args(fortran.libraries()?);
        }
        let mut library = linux::library(runtime, content)?;
        if content == ProcessContent::Node
            && !line.is_recorded
            && thread_entries::may_be_requested(linux::static_libraries(&line.words))
        {
            let (entries, renamed) = thread_entries::object_and_library(&library, linux::compile_plain)?;
            start.push(",");
            start.push(entries);
            library = renamed;
        }
        if content == ProcessContent::Node {
            command.args(spawning::link_option(linux::static_libraries(&line.words)));
        }
        command.arg(start);
        add_library(&library, &mut command);
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

/// Returns the start-up objects of native programs, and the recorder, after compiling those that are out of date.
fn start_objects(content: ProcessContent, is_recorded: bool, flags: &BuildFlags) -> Result<Vec<PathBuf>, CliError> {
    let mut objects = Vec::new();
    if is_recorded {
        objects.push(recorder::object(Recorder::C, linux::compile_plain, flags)?);
    }
    objects.extend(linux::start_objects(content)?);
    Ok(objects)
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
    let is_done = output.status.success() && output.stdout.is_empty();
    if is_done {
        // The exit status reports success even if stderr is closed.
        let _ = std::io::stderr().write_all(&output.stderr);
    }
    Ok(is_done)
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
    let missing: Vec<&str> = { said.undefined().into_iter() }
        .map(|(name, _)| name)
        .filter(|name| is_mpi_function(name))
        .collect();
    if !missing.is_empty() {
        print_error_line(format_args!(
            "midplane: the program calls {}, which Midplane does not have yet",
            missing.join(", ")
        ));
    }
}

/// Writes the wrapper scripts `mpicc`, `mpicxx`, `mpifort` (also as `mpif77` and `mpif90`), `mpiexec` and `mpirun` for
/// build systems, and `midplane`, to run this command from any directory. Returns the path of the first.
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
    let fortran = format!("{start}exec {tool} cc {FORTRAN} \"$@\"\n");
    let scripts = [
        ("mpifort", fortran.clone()),
        ("mpif77", fortran.clone()),
        ("mpif90", fortran),
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
        WrapperArguments::read(&words, None, false)
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
    fn the_place_comes_first_or_from_the_environment() {
        let target = |line: &str| read(line).unwrap().target;
        for name in ["qemu", "linux", "cluster"] {
            assert_eq!(target(&format!("--on {name} a.c")).name(), name);
        }
        assert!(read("--on moon a.c").unwrap_err().message.contains("moon"));
        let on = |on| WrapperArguments::read(&["a.c".into()], Some(OsStr::new(on)), false).unwrap();
        assert!(!on("linux").is_for_nodes() && on("").is_for_nodes());
        assert!(read("--record --on linux a.c").unwrap().is_recorded && !read("a.c --record").unwrap().is_recorded);
        assert!(read("--on linux a.cpp").unwrap().is_cpp);
        assert!(read("--c++ a.o").unwrap().is_cpp);
        for line in ["--fortran a.o", "a.f90", "a.o -lgfortran", "--fortran a.c"] {
            assert!(read(line).unwrap().is_fortran, "{line}");
        }
        assert!(!read("a.c").unwrap().is_fortran);
        for library in [
            "-lprogram_runtime_borrow_apart",
            "/a/libprogram_runtime_options_borrow.a",
        ] {
            let words = |option: &str| read(&format!("{option} a.o {library} -lm")).unwrap().words;
            assert_eq!(words("--fortran"), ["a.o", "-lm"]);
            assert_eq!(words("-g").len(), 4, "{library}");
        }
        let compiler = |line| read(line).unwrap().uses_fortran_compiler();
        assert!(compiler("--fortran a.o") && compiler("a.c b.f90") && compiler("-J f.f90 b.f90"));
        assert!(!compiler("--fortran a.c") && !compiler("a.o") && !compiler("a.cpp b.f90"));
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
    fn options_of_a_compilation_are_without_files() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let options = compile_options(&words("-O3 a.f90 -o prog -I inc -oprog2 b.o -J mods -fopenmp -lm"));
        assert_eq!(options, words("-O3 -I inc -J mods -lm"));
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
