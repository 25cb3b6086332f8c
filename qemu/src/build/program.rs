//! From a program's source to an image: the kernel as a static library, the program's object, the link.

use crate::build::board::Board;
use crate::build::image::Image;
use crate::build::making::Making;
use crate::build::said::Said;
use crate::build::unsupported;
use crate::host::setup::Tools;
use crate::host::size;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::show::say::complain;
use midplane_setup::fresh::Artifact;
use midplane_setup::kit::kit;
use mpi_adi::matching::Choice;
use rustix::process::Signal;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the user gave as a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// C source files (.c, .s, .S), objects (.o) and libraries (.a), at least one.
    C(Vec<PathBuf>),
    /// A Rust source file with `kernel_rt::program!`.
    Rust(PathBuf),
    /// An image that has been linked already.
    Image(PathBuf),
}

/// How the user wants it built.
#[derive(Clone, Default, Debug)]
pub struct Flags {
    /// More arguments for the C compiler, when it compiles.
    pub compile: Vec<OsString>,
    /// More arguments for it when it links.
    pub link: Vec<OsString>,
    /// Bytes of stack; the linker script's default when not given.
    pub stack: Option<u64>,
    /// The matching engine of the runtime.
    pub matching: Choice,
    /// Whether its links can be ordered to have faults.
    pub faults: bool,
    /// Whether its nodes can find their places out from the wires.
    pub auto: bool,
    /// Whether its machine can have a serial console.
    pub console: bool,
}

/// What the runtime is built with.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Runtime {
    /// The matching engine.
    pub(super) matching: Choice,
    /// Whether its links can be ordered to have faults.
    pub(super) faults: bool,
    /// Whether its nodes can find their places out from the wires.
    pub(super) auto: bool,
    /// Whether its machine can have a serial console.
    pub(super) console: bool,
}

impl Runtime {
    /// The features of its crate.
    pub(super) fn features(self) -> Vec<&'static str> {
        let more = [
            (self.faults, "faults"),
            (self.auto, "auto"),
            (self.console, "console"),
        ];
        let more = more
            .into_iter()
            .filter_map(|(has, name)| has.then_some(name));
        self.matching.feature().into_iter().chain(more).collect()
    }
}

impl Flags {
    /// The runtime that is asked for.
    pub(super) fn runtime(&self) -> Runtime {
        Runtime {
            matching: self.matching,
            faults: self.faults,
            auto: self.auto,
            console: self.console,
        }
    }
}

/// An option, by the step of building that heeds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heeded {
    /// Compiling C.
    Compile(&'static str),
    /// Linking a C program.
    LinkC(&'static str),
    /// Linking any program.
    Link(&'static str),
}

/// What one file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Source,
    Object,
    Rust,
    Image,
}

impl Kind {
    /// Whether a source is C++ by its name.
    pub(super) fn is_cpp(path: &Path) -> bool {
        matches!(
            path.extension().and_then(|e| e.to_str()),
            Some("cc" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "cp")
        )
    }

    /// Whether the compiler reads headers for a source.
    pub(super) fn reads_headers(path: &Path) -> bool {
        path.extension().is_none_or(|extension| extension != "s")
    }

    /// Tells by name and content.
    pub(super) fn of(path: &Path) -> Result<Self, Stop> {
        let shown = path.display();
        let mut file = fs::File::open(path)
            .map_err(|error| Stop::usage(format!("cannot read the program {shown}: {error}")))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Stop::usage(format!("{shown} is a folder, not a program")));
        }
        match path.extension().and_then(|e| e.to_str()) {
            _ if Self::is_cpp(path) => return Ok(Self::Source),
            Some("c" | "s" | "S") => return Ok(Self::Source),
            Some("o" | "a") => return Ok(Self::Object),
            Some("rs") => return Ok(Self::Rust),
            Some(extension) => {
                if let Some(language) = other_language(extension) {
                    return Err(Stop::usage(format!(
                        "{shown} is {language}, for which there is no library: programs are C (.c, .s, .S, .o, .a), \
                         Rust (.rs) or, with --on linux, C++ (.cpp); rewrite what calls MPI in C"
                    )));
                }
            }
            None => {}
        }
        let mut magic = [0; 4];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *b"\x7fELF" => Ok(Self::Image),
            _ => Err(Stop::usage(format!(
                "{shown} is neither C (.c, .s, .S, .o, .a), nor a Rust file (.rs), nor a linked image"
            ))),
        }
    }
}

/// The language of files with this extension, where it is one that MPI programs are written in but nodes do not
/// run.
fn other_language(extension: &str) -> Option<&'static str> {
    match extension {
        "f" | "for" | "ftn" | "f77" | "f90" | "f95" | "f03" | "f08" | "F" | "FOR" | "F77"
        | "F90" | "F95" | "F03" | "F08" => Some("Fortran"),
        "cu" => Some("CUDA"),
        "py" => Some("Python"),
        _ => None,
    }
}

impl Program {
    /// Tells what the files make up.
    pub fn classify(paths: &[PathBuf]) -> Result<Self, Stop> {
        let Some((first, others)) = paths.split_first() else {
            return Err(Stop::usage("give a program"));
        };
        let kind = Kind::of(first)?;
        if let Some(missing) = others.iter().find(|path| !path.exists()) {
            return Err(Stop::usage(format!(
                "cannot read {}: there is no such file; the program's own arguments follow `--`",
                missing.display()
            )));
        }
        let kinds = others
            .iter()
            .map(|path| Kind::of(path))
            .collect::<Result<Vec<_>, _>>()?;
        let is_c = |kind: Kind| matches!(kind, Kind::Source | Kind::Object);
        if is_c(kind) && kinds.iter().all(|kind| is_c(*kind)) {
            return Ok(Self::C(paths.to_vec()));
        }
        match (kind, others) {
            (Kind::Rust, []) => Ok(Self::Rust(first.clone())),
            (Kind::Image, []) => Ok(Self::Image(first.clone())),
            _ => Err(Stop::usage(
                "several files make up one program only if all are C (.c, .o, .a); the program's own \
                 arguments follow `--`",
            )),
        }
    }

    /// Refuses options that this program would not heed.
    ///
    /// # Errors
    /// A usage error that names the option and why it does nothing.
    pub fn check_flags(&self, given: &[Heeded]) -> Result<(), Stop> {
        let has_source = |paths: &[PathBuf]| {
            paths
                .iter()
                .any(|path| matches!(Kind::of(path), Ok(Kind::Source)))
        };
        for option in given {
            let (option, why) = match (option, self) {
                (Heeded::Compile(option), Self::C(paths)) if !has_source(paths) => {
                    (option, "has been compiled already")
                }
                (Heeded::Compile(option) | Heeded::LinkC(option), Self::Rust(_)) => (
                    option,
                    "is a Rust program, and this option is for C programs",
                ),
                (
                    Heeded::Compile(option) | Heeded::LinkC(option) | Heeded::Link(option),
                    Self::Image(_),
                ) => (option, "has been linked already"),
                _ => continue,
            };
            return Err(Stop::usage(format!(
                "{option} does nothing here: {} {why}; leave it out",
                self.path().display()
            )));
        }
        Ok(())
    }

    /// The file that the user gave first.
    pub fn path(&self) -> &Path {
        match self {
            Self::C(paths) => &paths[0],
            Self::Rust(path) | Self::Image(path) => path,
        }
    }

    /// The program's name: its first file's without extension.
    pub fn name(&self) -> String {
        self.path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// The matching engine of its image, unless that was linked before.
    pub fn matching(&self, flags: &Flags) -> Option<Choice> {
        (!matches!(self, Self::Image(_))).then_some(flags.matching)
    }

    /// Builds the image.
    pub fn build(&self, tools: &Tools, flags: &Flags) -> Result<Image, Stop> {
        if let Self::Image(path) = self {
            return Image::read(path);
        }
        if flags.compile.iter().any(|word| word == OPENMP) {
            say_that_openmp_is_left_out();
        }
        let folder = self.folder(flags, kit().target)?;
        let image = folder.join(self.name()).with_extension("elf");
        let with = (flags.runtime(), Links::Kernel);
        let library = self.library(Compiler::for_nodes(tools), with, &folder)?;
        let script = crate::host::folders::root().join(Board::chosen().script());
        let (gcc, parts) = (&tools.gcc.path, [&*library, &script]);
        if let Some(making) = Making::new(image.clone(), (self, flags), gcc, &parts)? {
            self.make(tools, flags, making, &library, &Scratch::new(&folder)?)?;
        }
        Image::read(&image)
    }

    /// What it is linked with: a library of its own, if it is in Rust, or the runtime's.
    pub(super) fn library(
        &self,
        compiler: Compiler,
        (runtime, links): (Runtime, Links),
        folder: &Path,
    ) -> Result<PathBuf, Stop> {
        let Self::Rust(path) = self else {
            return runtime_library(compiler, (runtime, links));
        };
        let source = absolute(path)?;
        let library = package_library(compiler, (runtime, Links::Binding), &source, folder)?;
        library.ok_or_else(|| refused(&source, "compile"))
    }

    /// Compiles what has not been, and links it with the runtime's library.
    fn make(
        &self,
        tools: &Tools,
        flags: &Flags,
        mut making: Making,
        library: &Path,
        scratch: &Scratch,
    ) -> Result<(), Stop> {
        let mut link = tools.gcc.command();
        begin_link(&mut link);
        if let Some(bytes) = flags.stack {
            link.arg(format!("-Wl,--defsym=MIDPLANE_STACK_BYTES={bytes}"));
        }
        match self {
            Self::C(paths) => {
                making.add(&mut link, paths, scratch, |path| {
                    compile_c(tools, flags, path)
                })?;
                link.args(flags.link.iter().filter(|word| is_for_nodes(word)));
                end_link(&mut link, library);
            }
            Self::Rust(_) | Self::Image(_) => {
                link.arg(library);
            }
        }
        link.arg("-lm");
        making.link(link, &scratch.0.join("image"), self)
    }

    /// Runs the linker, whose output `linked` is; what is missing, and what is there but not supported, is told in our
    /// words. Returns whether there was anything to tell.
    pub(super) fn link(&self, mut command: Command, linked: &Path) -> Result<bool, Stop> {
        let said = Said::by(&mut command)?;
        if said.success {
            said.pass_on_the_rest();
            let tells = unsupported::tell(&said, linked);
            return Ok(tells || !said.is_silent());
        }
        // The linker looks for lines with the addresses that instructions have after relaxation, in tables from
        // before it: behind a call that became shorter it names an earlier line.
        let said = Said::by(command.arg("-Wl,--no-relax"))?;
        let undefined = said.undefined();
        let (mpi, others): (Vec<_>, Vec<_>) = undefined
            .into_iter()
            .partition(|(name, _)| name.starts_with("MPI_") || name.starts_with("PMPI_"));
        if !others.is_empty() || mpi.is_empty() {
            said.pass_on();
        }
        let list = |names: &[(&str, &str)]| {
            let each = names.iter().map(|(name, place)| match (*name, *place) {
                // What calls `main` is no line of the program's.
                (name, "") | (name @ "main", _) => name.to_string(),
                (name, place) => format!("{name} ({place})"),
            });
            each.collect::<Vec<_>>().join(", ")
        };
        Err(match (&mpi[..], &others[..]) {
            ([], []) => refused(self.path(), "link"),
            ([], others) => Stop::usage(format!(
                "{} does not link: neither the files given nor the nodes' C library have {}",
                self.path().display(),
                list(others)
            )),
            (mpi, _) => Stop::usage(format!(
                "the program calls {}, which Midplane does not have yet",
                list(mpi)
            )),
        })
    }

    /// Where this program's image and what leads to it are kept.
    pub(super) fn folder(&self, flags: &Flags, machine: &str) -> Result<PathBuf, Stop> {
        let mut hasher = DefaultHasher::new();
        let paths = match self {
            Self::C(paths) => &paths[..],
            Self::Rust(path) | Self::Image(path) => slice::from_ref(path),
        };
        for path in paths {
            absolute(path)?.hash(&mut hasher);
        }
        (&flags.compile, &flags.link, flags.runtime(), machine).hash(&mut hasher);
        let folder = crate::host::folders::target()
            .join("midplane/programs")
            .join(format!("{}-{:016x}", self.name(), hasher.finish()));
        fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// What compiles a source for nodes; the names of files are to follow.
fn compile_c(tools: &Tools, flags: &Flags, source: &Path) -> Result<Command, Stop> {
    if Kind::is_cpp(source) {
        return Err(Stop::usage(format!(
            "{} is C++, which the nodes do not have yet; it runs with --on linux",
            source.display()
        )));
    }
    let mut compile = tools.gcc.command();
    begin_compile(&mut compile);
    let options = without_openmp(&flags.compile).filter(|word| is_for_nodes(word));
    compile.arg("-O2").args(options);
    end_compile(&mut compile);
    Ok(compile)
}

/// Words for the compiler that a node needs nothing for: threads and the like are in its C library, no image is shared or
/// moved, and it is compiled for no other processor than the node's own.
const LEFT_OUT: [&str; 15] = [
    "-pthread",
    "-lpthread",
    "-lrt",
    "-ldl",
    "-lutil",
    "-lgomp",
    "-rdynamic",
    "-pie",
    "-lmpi",
    "-lmpich",
    "-lmpi_mt",
    "-march=native",
    "-mtune=native",
    "-mcpu=native",
    "-m64",
];

/// Whether the nodes' compiler is to see this word.
pub(super) fn is_for_nodes(word: &OsStr) -> bool {
    !LEFT_OUT.iter().any(|out| word == *out)
}

/// The compiler's option for OpenMP. It is left out for nodes, whose programs have one thread: without it directives are
/// comments, and OpenMP's functions are those of the nodes' C library.
pub(super) const OPENMP: &str = "-fopenmp";

/// The compiler's words with another in its place, by which directives are comments without a warning.
pub(super) fn without_openmp(words: &[OsString]) -> impl Iterator<Item = &OsStr> {
    words.iter().map(|word| match word == OPENMP {
        true => OsStr::new("-Wno-unknown-pragmas"),
        false => word,
    })
}

pub(super) fn say_that_openmp_is_left_out() {
    complain(format_args!(
        "midplane: {OPENMP}: a node has one thread; OpenMP's directives are not compiled, and its functions say that \
         there is one thread"
    ));
}

/// What compiling C begins with, in front of the user's options.
pub fn begin_compile(compile: &mut Command) {
    compile
        .args(Board::chosen().machine_flags())
        // What picolibc's time.h hides, because it has neither, the kernel supplies.
        .args([
            "-D_POSIX_TIMERS=200809L",
            "-D_POSIX_MONOTONIC_CLOCK=200809L",
            "-D_POSIX_CPUTIME=200809L",
        ])
        .args(["-g", "-ffunction-sections", "-fdata-sections"]);
}

/// What is behind them: the folders of headers.
pub(super) fn end_compile(compile: &mut Command) {
    let root = crate::host::folders::root();
    compile.arg("-I").arg(root.join("mpi-adi/include"));
    // What picolibc lacks.
    compile.arg("-I").arg(root.join("kernel-rt/include"));
}

/// What linking begins with.
pub(super) fn begin_link(link: &mut Command) {
    let board = Board::chosen();
    link.args(board.machine_flags())
        .args(["-nostartfiles", "-static", "-T"])
        .arg(crate::host::folders::root().join(board.script()))
        .args(board.link_flags());
}

/// What is behind a C program's objects and libraries.
pub(super) fn end_link(link: &mut Command, kernel: &Path) {
    // The compiler's own helpers first: Rust's library holds some of them too (complex multiplication among them),
    // built for another floating-point ABI.
    link.arg("-lgcc").arg(kernel);
}

/// Runs the compiler for one source. Returns whether it had anything to say.
pub fn run_compiler(mut compile: Command, source: &Path) -> Result<bool, Stop> {
    let said = Said::by(&mut compile)?;
    said.pass_on();
    match (said.success, said.unknown_to_the_compiler()) {
        (true, _) => Ok(!said.is_silent()),
        (false, missing) if missing.is_empty() => Err(refused(source, "compile")),
        (false, missing) => Err(Stop::usage(format!(
            "{} uses {}, which Midplane does not have yet; what the compiler says is above",
            source.display(),
            missing.join(", ")
        ))),
    }
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    path.canonicalize()
        .doing(format_args!("find {}", path.display()))
}

pub(super) fn refused(path: &Path, verb: &str) -> Stop {
    Stop::usage(format!(
        "{} does not {verb}; what the compiler says is above",
        path.display()
    ))
}

/// Checks a stack size given by the user.
pub fn check_stack(bytes: u64) -> Result<(), Stop> {
    let (least, unit) = Board::chosen().least_stack();
    if bytes >= least && bytes.is_multiple_of(unit) {
        return Ok(());
    }
    Err(Stop::usage(format!(
        "--stack {} must be a multiple of {} and at least {}",
        size::exact(bytes),
        size::exact(unit),
        size::exact(least)
    )))
}

/// The kernel and all of the runtime as a static library for C programs on nodes.
pub(super) fn kernel_library(tools: &Tools, runtime: Runtime) -> Result<PathBuf, Stop> {
    runtime_library(Compiler::for_nodes(tools), (runtime, Links::Kernel))
}

/// The same, by this compiler: a package like a Rust program's, so that what depends neither on the program nor on the
/// runtime's features is compiled once for all.
pub(super) fn runtime_library(
    compiler: Compiler,
    (runtime, links): (Runtime, Links),
) -> Result<PathBuf, Stop> {
    let (name, content) = match links {
        Links::Cluster => ("cluster", "extern crate midplane_carrier as _;\n"),
        Links::Kernel | Links::Binding => ("runtime", "#![no_std]\nkernel_rt::steps!();\n"),
    };
    let name = [name].into_iter().chain(runtime.features());
    let folder = crate::host::folders::target()
        .join("midplane")
        .join(name.collect::<Vec<_>>().join("-"));
    fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
    let source = folder.join("lib.rs");
    write_if_changed(&source, content)?;
    let built = package_library(compiler, (runtime, links), &source, &folder)?;
    built.ok_or_else(|| {
        Stop::failure("the runtime does not compile; what the compiler says is above")
    })
}

/// Where a Rust program's library is compiled, and by what.
pub(super) struct Compiler {
    /// `cargo build`, for the target.
    pub(super) cargo: Command,
    /// The folder that cargo has for all.
    pub(super) target: PathBuf,
    /// The profile of what it makes.
    pub(super) profile: &'static str,
    /// The folder in it of what the profile makes.
    pub(super) output: PathBuf,
    /// The compiler's version.
    pub(super) version: String,
}

impl Compiler {
    fn for_nodes(tools: &Tools) -> Self {
        let profile = Board::chosen().profile();
        Compiler {
            cargo: tools.rust.cargo("build"),
            target: target_folder(tools),
            profile,
            output: Path::new(kit().target).join(profile),
            version: tools.rust_version.clone(),
        }
    }
}

/// What a package is linked with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// The kernel alone.
    Kernel,
    /// The Rust binding of MPI, too.
    Binding,
    /// The in-process cluster around it.
    Cluster,
}

/// A package in `folder` around a Rust file, compiled to a static library that holds the kernel too: `None` when it
/// does not compile. Each has a name of its own, and so its own file in the folder that cargo has for all: what does
/// not depend on the matching engine is compiled once, and nothing is compiled again for another engine.
fn package_library(
    compiler: Compiler,
    (runtime, links): (Runtime, Links),
    source: &Path,
    folder: &Path,
) -> Result<Option<PathBuf>, Stop> {
    let Compiler {
        mut cargo,
        target,
        profile,
        output,
        version,
    } = compiler;
    let name = crate_name(folder);
    let package = folder.join("package");
    fs::create_dir_all(&package).doing(format_args!("create {}", package.display()))?;
    write_if_changed(
        &package.join("Cargo.toml"),
        &manifest(&name, source, (runtime, links)),
    )?;
    let lock = package.join("Cargo.lock");
    keep_versions(&package, &lock)?;
    cargo
        .args(["--profile", profile, "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    let library = Artifact {
        file: target.join(output).join(format!("lib{name}.a")),
        root: crate::host::folders::root().into(),
        beside: vec![package.join("Cargo.toml"), lock],
        with: version,
    };
    let built = library.is_fresh() || run_cargo(cargo, &library)?;
    Ok(built.then_some(library.file))
}

/// The package has the versions that the workspace was tested with, and none is looked for elsewhere: its lock file begins as
/// the workspace's, whenever that has changed. Cargo drops what is not needed, so what it began as stands beside it.
fn keep_versions(package: &Path, lock: &Path) -> Result<(), Stop> {
    let tested = fs::read(crate::host::folders::root().join("Cargo.lock"))
        .doing("read the workspace's Cargo.lock")?;
    let origin = package.join("workspace.lock");
    if lock.exists() && fs::read(&origin).is_ok_and(|last| last == tested) {
        return Ok(());
    }
    for path in [lock, &origin] {
        fs::write(path, &tested).doing(format_args!("write {}", path.display()))?;
    }
    Ok(())
}

/// Cargo's folder for the nodes: its own, so that building for nodes never waits for building tests.
fn target_folder(tools: &Tools) -> PathBuf {
    crate::host::folders::target()
        .join("midplane")
        .join(tools.rust.folder())
}

/// Runs cargo in the workspace, whose configuration it then finds, to build this file. Shows what it does,
/// but not that there was nothing to do.
pub(super) fn run_cargo(mut cargo: Command, artifact: &Artifact) -> Result<bool, Stop> {
    let begun = artifact.begin();
    let color = match std::io::stderr().is_terminal() {
        true => "always",
        false => "never",
    };
    cargo
        .current_dir(crate::host::folders::root())
        .env("CARGO_TERM_COLOR", color)
        // What others like to build with makes images bigger: it undoes the optimisation across crates.
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    sys::bind_to_us(&mut cargo, Signal::TERM, Vec::new());
    let mut child = cargo
        .spawn()
        .doing(format_args!("run {}", cargo.get_program().display()))?;
    if let Some(stderr) = child.stderr.take() {
        let mut hearing = Hearing::default();
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if hearing.is_news(&line) {
                complain(line);
            }
        }
    }
    let status = child.wait().doing("wait for cargo")?;
    if let (true, Ok(begun)) = (status.success(), begun) {
        // Without the note, cargo is asked again the next time.
        let _ = artifact.succeeded(begun);
    }
    Ok(status.success())
}

/// Listens to cargo.
#[derive(Default)]
struct Hearing {
    /// Amid a warning that is no news.
    is_amid: bool,
}

impl Hearing {
    /// Whether a line tells the user anything. That there was nothing to do does not, nor does what the compiler says of
    /// each package: that it does not promise to know for ever what `.cargo/along.toml` says of the processor.
    fn is_news(&mut self, line: &str) -> bool {
        if self.is_amid {
            self.is_amid = !line.is_empty();
            return false;
        }
        self.is_amid = line.contains("unstable feature specified for `-Ctarget-feature`");
        let counts = line.contains("(lib) generated ") && line.contains(" warning");
        !self.is_amid && !counts && !line.contains("Finished")
    }
}

/// The name of the package around the program in `folder`: a Rust identifier.
fn crate_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let word: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("program_{word}")
}

fn manifest(name: &str, source: &Path, (runtime, links): (Runtime, Links)) -> String {
    let root = crate::host::folders::root();
    let quoted = |path: &Path| toml_string(&path.to_string_lossy());
    let features = match &runtime.features()[..] {
        [] => String::new(),
        features => format!(", features = [\"{}\"]", features.join("\", \"")),
    };
    let (defaults, binding) = match links {
        // A C program does without the words of panics.
        Links::Kernel => (", default-features = false", String::new()),
        Links::Binding => (
            "",
            format!("mpi = {{ path = {} }}\n", quoted(&root.join("mpi-adi/mpi"))),
        ),
        Links::Cluster => (
            "",
            format!(
                "midplane-carrier = {{ path = {} }}\n",
                quoted(&root.join("tests/carrier"))
            ),
        ),
    };
    format!(
        "# Made by `midplane` around one source file.\n\
         [package]\n\
         name = \"{name}\"\n\
         version = \"0.0.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\n\
         [lib]\n\
         path = {}\n\
         crate-type = [\"staticlib\"]\n\n\
         [dependencies]\n\
         kernel-rt = {{ path = {}{features}{defaults} }}\n\
         {binding}\n\
         [workspace]\n",
        quoted(source),
        quoted(&root.join("kernel-rt")),
    )
}

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Leaves a file's time of change alone when its content stays the same.
fn write_if_changed(path: &Path, content: &str) -> Result<(), Stop> {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    fs::write(path, content).doing(format_args!("write {}", path.display()))
}

/// A folder of this process alone, removed when done.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(parent: &Path) -> Result<Self, Stop> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("build-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the build folder, where it does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_is_passed_on_where_it_is_news() {
        let said = "   Compiling a v0.1.0\n\
            warning: unstable feature specified for `-Ctarget-feature`: `relax`\n  |\n  = note: this\n\n\
            warning: `a` (lib) generated 2 warnings (1 duplicate)\n\
            warning: unused variable: `x`\n --> src/main.rs:1:1\n\n    Finished `node` profile";
        let mut hearing = Hearing::default();
        let news: Vec<&str> = said.lines().filter(|line| hearing.is_news(line)).collect();
        let unused = ["warning: unused variable: `x`", " --> src/main.rs:1:1", ""];
        assert_eq!(news[0].trim(), "Compiling a v0.1.0");
        assert_eq!(news[1..], unused);
    }

    #[test]
    fn a_program_is_known_by_its_name_or_content() {
        let folder = Scratch::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.0.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let is = |path: &PathBuf| Program::classify(slice::from_ref(path));
        let c = file("a.c", b"");
        assert_eq!(is(&c), Ok(Program::C(vec![c.clone()])));
        let several = [c.clone(), file("b.o", b""), file("c.S", b"")];
        assert_eq!(
            Program::classify(&several),
            Ok(Program::C(several.to_vec()))
        );
        let rust = file("a.rs", b"");
        assert_eq!(is(&rust), Ok(Program::Rust(rust.clone())));
        let image = file("a", b"\x7fELF....");
        assert_eq!(is(&image), Ok(Program::Image(image.clone())));
        let none = folder.0.join("none.c");
        for paths in [
            vec![file("a.txt", b"hello")],
            vec![file("b", b"")],
            vec![none.clone()],
            vec![folder.0.clone()],
            vec![c.clone(), rust.clone()],
            vec![rust, c.clone()],
            vec![image, c.clone()],
            vec![c, none],
            vec![],
        ] {
            let error = Program::classify(&paths).unwrap_err();
            assert_eq!(error.status, crate::host::stop::USAGE, "{error}");
            assert!(!error.message.contains('\n'), "{error}");
        }
    }

    #[test]
    fn other_languages_are_named_with_what_is_supported() {
        let folder = Scratch::new(&std::env::temp_dir()).unwrap();
        for (name, language) in [("a.f90", "Fortran"), ("a.F", "Fortran"), ("a.cu", "CUDA")] {
            let path = folder.0.join(name);
            fs::write(&path, "").unwrap();
            let error = Program::classify(slice::from_ref(&path)).unwrap_err();
            for word in [
                &format!("{name} is {language},"),
                "C (.c",
                "Rust (.rs)",
                "C++ (.cpp)",
            ] {
                assert!(error.message.contains(word), "{error}");
            }
            assert_eq!(error.status, crate::host::stop::USAGE);
        }
    }

    #[test]
    fn options_that_a_program_does_not_heed_are_refused() {
        let folder = Scratch::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str| {
            let path = folder.0.join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let compile = Heeded::Compile("-D");
        let (link_c, link) = (Heeded::LinkC("-l"), Heeded::Link("--stack"));
        let (source, object) = (file("a.c"), file("b.o"));
        for (program, heeded, not) in [
            (
                Program::C(vec![object.clone(), source]),
                &[compile, link_c, link][..],
                &[][..],
            ),
            (Program::C(vec![object]), &[link_c, link], &[compile]),
            (Program::Rust("a.rs".into()), &[link], &[compile, link_c]),
            (Program::Image("a".into()), &[], &[compile, link_c, link]),
        ] {
            assert_eq!(program.check_flags(heeded), Ok(()), "{program:?}");
            for &option in not {
                let stop = program.check_flags(&[option]).unwrap_err();
                assert_eq!(stop.status, crate::host::stop::USAGE);
                assert!(stop.message.contains("does nothing here"), "{stop}");
            }
        }
    }

    #[test]
    fn package_names_are_identifiers_and_paths_are_quoted() {
        assert_eq!(
            crate_name(Path::new("/a/my-prog.x-12")),
            "program_my_prog_x_12"
        );
        assert_eq!(toml_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000A\"");
    }

    #[test]
    fn a_package_follows_the_versions_of_the_workspace() {
        let folder = Scratch::new(&std::env::temp_dir()).unwrap();
        let lock = folder.0.join("Cargo.lock");
        keep_versions(&folder.0, &lock).unwrap();
        let tested = fs::read(&lock).unwrap();
        fs::write(&lock, "less").unwrap();
        keep_versions(&folder.0, &lock).unwrap();
        assert_eq!(fs::read(&lock).unwrap(), b"less", "what cargo has dropped");
        fs::write(folder.0.join("workspace.lock"), "older").unwrap();
        keep_versions(&folder.0, &lock).unwrap();
        assert_eq!(fs::read(&lock).unwrap(), tested);
    }

    #[test]
    fn a_package_has_the_features_of_its_runtime() {
        for &matching in Choice::ALL {
            let faults = matching != Choice::default();
            let runtime = Runtime {
                matching,
                faults,
                auto: faults,
                console: faults,
            };
            let of = |links| manifest("a", Path::new("/a.rs"), (runtime, links));
            assert!(of(Links::Kernel).contains("default-features = false }"));
            let manifest = of(Links::Binding);
            assert!(!manifest.contains("default-features"), "{manifest}");
            let features = manifest
                .lines()
                .filter_map(|line| line.split_once("features = "));
            let said: Vec<&str> = features.map(|(_, said)| said).collect();
            let expected = matching
                .feature()
                .map(|feature| format!("[\"{feature}\", \"faults\", \"auto\", \"console\"] }}"));
            assert_eq!(said, expected.as_deref().into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn stacks_have_a_least_size_and_whole_pages() {
        assert!(check_stack(16 << 10).is_ok());
        assert!(check_stack(12 << 10).is_err());
        assert!(check_stack((16 << 10) + 1).is_err());
    }
}
