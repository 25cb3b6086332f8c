//! Build of native programs, with nodes as Linux processes or as coroutines in one process. C, C++ and Fortran programs
//! are compiled and linked by the host's compilers with the runtime as a static library; Rust programs are built by cargo.

use crate::build::build_cache;
use crate::build::cargo::Compiler;
use crate::build::compiler::{OPENMP, ScratchDirectory, run_compiler};
use crate::build::fortran::FortranCompiler;
use crate::build::headers;
use crate::build::image::Image;
use crate::build::incremental::ImageBuild;
use crate::build::inputs::{BuildFlags, RuntimeFeatures};
use crate::build::language::{SourceLanguage, options_for};
use crate::build::package::RustLink;
use crate::build::program::{RuntimeDependencies, runtime_library};
use crate::build::recorder;
use crate::build::renamed::{Renaming, rename_symbols};
use crate::build::source::Program;
use crate::build::spawning;
use crate::build::thread_entries;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{in_path, own_cargo};
use crate::show::console::print_error_line;
use midplane_setup::invocation::command_name;
use midplane_setup::stamp::BuildArtifact;
use midplane_trace::Recorder;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Disables position-independent executables, so that run-time addresses equal those in the file and identify source
/// lines. A linker option, because CMake's FindMPI ignores others in the output of `-showme:link`.
pub(super) const FIXED: &str = "-Wl,-no-pie";
/// Wraps the exit functions that the runtime must handle.
pub(super) const WRAP: &str = "-Wl,--wrap=_exit,--wrap=_Exit,--wrap=abort";
/// Wraps start-up, exit functions and exit handlers where the process is an in-process cluster.
const WRAP_IN_CLUSTER: &str = "-Wl,-z,now,--wrap=main,--wrap=abort,--wrap=__cxa_atexit,--wrap=__cxa_thread_atexit";
/// Function that only executables for the in-process cluster contain.
const CLUSTER_SYMBOL: &str = "midplane_cluster";
/// End of the symbol of the allocator in Rust's library. The linker removes it from a program with another one.
const DEFAULT_ALLOCATOR: &str = "__rdl_alloc";
/// Linker script for an in-process cluster.
const SCRIPT_IN_CLUSTER: &str = "kernel-rt/ld/cluster.ld";
/// Libraries that stay shared in a cluster. The C library's state is kept per rank, within the limits of docs/scale.md
/// (kernel-rt/cluster/carrier); the last one's state is invisible to programs.
const SHARED_IN_CLUSTER: [&str; 11] = [
    "c", "m", "mvec", "pthread", "dl", "rt", "util", "anl", "gcc_s", "ld-linux", "ubsan",
];
/// Cargo's profile of the runtime, and of Rust programs (`.cargo/config.toml`).
const PROFILE: &str = "process";
/// Cargo's profile of a Rust program in a cluster.
const PROFILE_IN_CLUSTER: &str = "simulator";
/// Selects the linker whose scripts separate the thread-local variables of crates. Rust requests LLVM's.
const GNU_LINKER: &str = "-fuse-ld=bfd";
/// Libraries that the runtime requires.
const LIBRARIES: [&str; 4] = ["-lgcc_s", "-lpthread", "-ldl", "-lm"];
/// Options for static linking. `-static-pie` is replaced by `-static`, because its addresses would differ from those in
/// the file (see [`FIXED`]).
const STATIC: [&str; 3] = ["-static", "--static", "-static-pie"];

/// Returns the replacement of a compiler option in a link with the runtime.
pub(super) fn replace_option(word: &OsStr) -> &OsStr {
    if word == "-static-pie" {
        return OsStr::new("-static");
    }
    word
}

/// Returns the libraries that the runtime requires with these compiler options. The shared unwinder has no static
/// version; `libgcc_eh` replaces it. Without a frame table, static programs cannot unwind before their constructors
/// have run.
pub(super) fn libraries(words: &[OsString]) -> Vec<&'static str> {
    let is_static = words.iter().any(|word| STATIC.iter().any(|one| word == one));
    let [_, others @ ..] = LIBRARIES;
    let unwinder: &[&str] = if is_static {
        &["-Wl,--eh-frame-hdr", "-lgcc_eh"]
    } else if words.iter().any(|word| word == "-static-libgcc") {
        &["-lgcc_eh"]
    } else {
        &LIBRARIES[..1]
    };
    [unwinder, &others].concat()
}

/// Options of the runtime's own sources.
const NO_OPTIONS: [&str; 0] = [];

/// Functions of the C library that the runtime calls and that a program may define itself, with their reserved names
/// (C17 section 7.1.3).
const RESERVED: [(&str, &str); 7] = [
    ("backtrace", "__backtrace"),
    ("close", "__close"),
    ("getpid", "__getpid"),
    ("open64", "__open64"),
    ("read", "__read"),
    ("send", "__send"),
    ("sigaction", "__sigaction"),
];

/// Additional functions for the cluster. Its memory is separate from the running rank's, whose program may define its
/// own `malloc`; its system calls must not affect a rank's state.
const RESERVED_IN_CLUSTER: [(&str, &str); 7] = [
    ("calloc", "__libc_calloc"),
    ("free", "__libc_free"),
    ("malloc", "__libc_malloc"),
    ("mmap", "midplane_mmap"),
    ("posix_memalign", "midplane_posix_memalign"),
    ("realloc", "__libc_realloc"),
    ("sigaltstack", "midplane_sigaltstack"),
];

/// Content of one process of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessContent {
    Node,
    /// All nodes of a machine.
    Cluster,
}

impl ProcessContent {
    /// Returns the name of the directory with its files.
    pub(super) fn directory(self) -> &'static str {
        match self {
            ProcessContent::Node => "linux",
            ProcessContent::Cluster => "cluster",
        }
    }

    fn links(self) -> RuntimeDependencies {
        match self {
            ProcessContent::Node => RuntimeDependencies::Kernel,
            ProcessContent::Cluster => RuntimeDependencies::Cluster,
        }
    }

    /// Returns the linker option that wraps functions of the C library.
    pub(super) fn wrap(self) -> &'static str {
        match self {
            ProcessContent::Node => WRAP,
            ProcessContent::Cluster => WRAP_IN_CLUSTER,
        }
    }

    /// Returns the additional options of a link.
    pub(super) fn link_options(self, is_cpp: bool) -> Vec<OsString> {
        if self == ProcessContent::Node {
            return Vec::new();
        }
        let mut script = OsString::from("-Wl,-T,");
        script.push(directories::root().join(SCRIPT_IN_CLUSTER));
        let library = is_cpp.then(|| "-static-libstdc++".into());
        [script].into_iter().chain(library).collect()
    }

    /// Returns the replacement of a compiler option in a link with the runtime.
    pub(super) fn replace_option(self, word: &OsString) -> Vec<OsString> {
        match self {
            ProcessContent::Node => vec![replace_option(word).into()],
            ProcessContent::Cluster => static_options(word),
        }
    }

    /// Returns the functions that are renamed in the runtime.
    fn reserved(self) -> impl Iterator<Item = Renaming<'static>> {
        let (write, more) = match self {
            ProcessContent::Node => ("__write", &[][..]),
            ProcessContent::Cluster => ("midplane_write", &RESERVED_IN_CLUSTER[..]),
        };
        let more = more.iter().copied();
        RESERVED.into_iter().chain([("write", write)]).chain(more)
    }

    /// Returns the sources of the layer between the program and the host's C library.
    pub(super) fn start(self) -> &'static [&'static str] {
        match self {
            ProcessContent::Node => &["kernel-rt/ld/linux.c"],
            ProcessContent::Cluster => &[
                "kernel-rt/ld/cluster.c",
                "kernel-rt/ld/cluster_library.c",
                "kernel-rt/ld/cluster_system.c",
            ],
        }
    }
}

/// Builds a program.
///
/// # Errors
/// Returns an error for an unsupported program, a missing compiler or a failed compilation.
pub fn build(program: &Program, flags: &BuildFlags, carries: ProcessContent) -> Result<Image, CliError> {
    if carries == ProcessContent::Cluster {
        check_for_cluster(program, flags)?;
    }
    if let Program::Image(path) | Program::Command(path) = program {
        build_cache::use_image(path)?;
        let image = Image::read_process(path)?;
        check_linked(&image, carries)?;
        return Ok(image);
    }
    let fortran = program.fortran_compiler(FortranCompiler::for_host)?;
    let flags = &BuildFlags {
        fortran: fortran.is_some(),
        ..flags.for_processes()
    };
    let dir = program.build_directory(flags, carries.directory())?;
    let file = dir.join(program.name());
    if let Program::Rust(_) | Program::Package(_) = program {
        build_rust(program, flags, carries, &file)?;
        let image = Image::read_process(&file)?;
        if carries == ProcessContent::Cluster {
            check_allocator(&image)?;
            check_libraries(&image.bytes)?;
        }
        return Ok(image);
    }
    let library = library(flags.runtime(), carries)?;
    let cc = in_path(driver(program)).unwrap_or_default();
    let start = start_objects(carries)?;
    let script = directories::root().join(SCRIPT_IN_CLUSTER);
    let mut parts: Vec<&Path> = vec![&library, &script];
    parts.extend(start.iter().map(PathBuf::as_path));
    parts.extend(fortran.as_ref().map(FortranCompiler::path));
    if let Some(making) = ImageBuild::new(file.clone(), program, flags, &cc, &parts)? {
        let scratch = ScratchDirectory::new(&dir)?;
        let compilers = HostCompilers {
            flags,
            fortran: fortran.as_ref(),
            modules: &scratch.0,
        };
        let runtime = ProcessRuntime {
            content: carries,
            library: &library,
            start: &start,
        };
        build_program(program, compilers, making, runtime, &scratch)?;
    }
    let image = Image::read_process(&file)?;
    if carries == ProcessContent::Cluster {
        check_libraries(&image.bytes)?;
    }
    Ok(image)
}

/// Checks that a cluster's program uses no shared library, whose variables all ranks would share.
fn check_libraries(program: &[u8]) -> Result<(), CliError> {
    let shared = |name: &&String| {
        let stem = name.split(".so").next().unwrap_or_default();
        let stem = stem.strip_prefix("lib").unwrap_or(stem);
        !{ SHARED_IN_CLUSTER.iter() }.any(|known| stem == *known || *known == "ld-linux" && stem.starts_with(known))
    };
    match needed_libraries(program).unwrap_or_default().iter().find(shared) {
        None => Ok(()),
        Some(name) => Err(CliError::unusable(format!(
            "the program needs {name}, a shared library: all ranks of the simulator would share its variables; link \
             the static library (.a), or use --on linux"
        ))),
    }
}

/// Returns the names of the shared libraries that a native program requires.
pub(super) fn needed_libraries(program: &[u8]) -> object::Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(program)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let Some((entries, strings)) = sections.dynamic(endian, program)? else {
        return Ok(Vec::new());
    };
    let strings = sections.strings(endian, program, strings)?;
    { entries.iter() }
        .filter(|entry| entry.tag(endian) == DT_NEEDED)
        .map(|entry| {
            let name = entry.string(endian, strings)?;
            Ok(String::from_utf8_lossy(name).into_owned())
        })
        .collect()
}

/// Encloses a library argument in options for static linking, so that each rank of a cluster has its own variables. The
/// C library's own libraries stay shared.
fn static_options(word: &OsString) -> Vec<OsString> {
    let name = word.to_str().and_then(|word| word.strip_prefix("-l"));
    match name {
        Some(name) if !SHARED_IN_CLUSTER.contains(&name) => {
            ["-Wl,-Bstatic".into(), word.clone(), "-Wl,-Bdynamic".into()].into()
        }
        _ => vec![word.clone()],
    }
}

/// Runtime that a C program is linked with.
struct ProcessRuntime<'a> {
    content: ProcessContent,
    library: &'a Path,
    start: &'a [PathBuf],
}

/// Returns the objects of the layer between programs and the host's C library, after compiling those that are out of
/// date. They are compiled without a program's options, which could redefine names or include other headers first, and
/// all programs use the same ones.
///
/// # Errors
/// Returns a failure if an object cannot be compiled or written.
pub(super) fn start_objects(content: ProcessContent) -> Result<Vec<PathBuf>, CliError> {
    let dir = directories::target().join("midplane").join(content.directory());
    fs::create_dir_all(&dir).map_err(|error| build_cache::not_created(&dir, &error))?;
    let object = |(at, source)| start_object(dir.join(format!("start-{at}.o")), &directories::root().join(source));
    content.start().iter().enumerate().map(object).collect()
}

/// Compiles a source to the object `file`, unless it is up to date, and returns `file`.
fn start_object(file: PathBuf, source: &Path) -> Result<PathBuf, CliError> {
    let mut compile = compile_plain(source)?;
    compile.arg("-c").arg(source);
    let mut beside = vec![source.into()];
    beside.extend(in_path("cc"));
    let artifact = BuildArtifact {
        file,
        root: directories::root().into(),
        beside,
        with: format!("{compile:?}"),
    };
    if artifact.is_fresh() {
        return Ok(artifact.file);
    }
    let begun = artifact.begin();
    // Other processes may compile the same object.
    let made = artifact.file.with_extension(std::process::id().to_string());
    let headers = made.with_extension("headers");
    compile.arg("-MD").arg("-MF").arg(&headers).arg("-o").arg(&made);
    run_compiler(compile, source)?;
    fs::rename(&made, &artifact.file).context("rename an object")?;
    let rule = fs::read_to_string(&headers).map(|rule| rule.replace("\\\n", " "));
    let list = rule.and_then(|rule| fs::write(artifact.file.with_extension("d"), rule));
    let _ = fs::remove_file(&headers);
    // Without the stamp, the object is compiled again.
    let _ = list.and_then(|()| artifact.succeeded(begun?));
    Ok(artifact.file)
}

/// Builds a Rust program with cargo. For a cluster its process has the same start as that of a C program, and the same
/// linker script.
fn build_rust(program: &Program, flags: &BuildFlags, carries: ProcessContent, file: &Path) -> Result<(), CliError> {
    let recorder = match flags.recorder {
        true => vec![OsString::from(recorder_for_rust()?)],
        false => Vec::new(),
    };
    if carries == ProcessContent::Node {
        let link = RustLink::Process(&recorder);
        return program.build_rust(compiler("rustc", PROFILE), flags, link, file);
    }
    let mut words: Vec<OsString> = vec!["cc".into(), GNU_LINKER.into(), FIXED.into(), carries.wrap().into()];
    words.extend(carries.link_options(false));
    let mut parts = start_objects(carries)?;
    words.extend(parts.iter().map(OsString::from));
    parts.push(directories::root().join(SCRIPT_IN_CLUSTER));
    words.extend(recorder);
    words.extend(libraries(&[]).into_iter().map(OsString::from));
    let compiler = compiler("rustc", PROFILE_IN_CLUSTER);
    let link = RustLink::Cluster {
        words: &words,
        parts: &parts,
    };
    program.build_rust(compiler, flags, link, file)
}

/// Returns the recorder's object for a Rust program, after compiling it if necessary.
fn recorder_for_rust() -> Result<PathBuf, CliError> {
    let compiler = |source: &Path| {
        let mut compile = compile_plain(source)?;
        // Rust programs are position-independent.
        compile.arg("-fPIE");
        Ok(compile)
    };
    recorder::object(Recorder::Rust, compiler, &BuildFlags::default())
}

/// Compiles outdated sources and links with the runtime's library.
fn build_program(
    program: &Program,
    compilers: HostCompilers<'_>,
    mut making: ImageBuild,
    runtime: ProcessRuntime<'_>,
    scratch: &ScratchDirectory,
) -> Result<(), CliError> {
    let flags = compilers.flags;
    let carries = runtime.content;
    let mut library = runtime.library.to_path_buf();
    let mut link = Command::new(driver(program));
    link.args([FIXED, carries.wrap()])
        .args(compilers.options(SourceLanguage::C).map(replace_option));
    link.args(runtime.start);
    link.args(carries.link_options(driver(program) == "c++"));
    match program {
        Program::C(paths) => {
            let objects = making.objects(paths, scratch, |path| compilers.compile(path))?;
            if flags.recorder {
                link.arg(recorder::object(Recorder::C, compile_plain, flags)?);
            }
            let inputs = objects.iter().map(PathBuf::from).chain(static_libraries(&flags.link));
            // The recorder is for one thread.
            if carries == ProcessContent::Node && !flags.recorder && thread_entries::may_be_requested(inputs) {
                let (entries, renamed) = thread_entries::object_and_library(&library, compile_plain)?;
                link.arg(entries);
                library = renamed;
            }
            let inputs = objects.iter().map(PathBuf::from).chain(static_libraries(&flags.link));
            link.args(spawning::link_option(inputs));
            link.args(objects);
            let libraries = compilers.libraries()?;
            let libraries = flags.link.iter().chain(&libraries);
            link.args(libraries.flat_map(|word| carries.replace_option(word)));
            link.arg(library);
        }
        Program::Rust(_) | Program::Package(_) | Program::Image(_) | Program::Command(_) => {}
    }
    link.args(libraries(&[&flags.compile[..], &flags.link].concat()));
    let linked = making.link(link, &scratch.0.join("program"), program.path());
    let is_static = |word: &OsString| static_options(word).len() > 1;
    if linked.is_err() && carries == ProcessContent::Cluster && flags.link.iter().any(is_static) {
        print_error_line(
            "note: with --on cluster, -l requires a static library (.a), so that each rank has a separate copy of its \
             variables",
        );
    }
    linked
}

/// Returns the files that these words of a link may name: files, and static libraries of `-l` in the directories of `-L`.
pub(super) fn static_libraries(words: &[OsString]) -> Vec<PathBuf> {
    let value = |option: &'static str| {
        words.iter().enumerate().filter_map(move |(at, word)| {
            let word = word.to_str()?;
            match word.strip_prefix(option)? {
                "" => words.get(at + 1)?.to_str().map(str::to_owned),
                value => Some(value.to_owned()),
            }
        })
    };
    let named = value("-l").flat_map(|name| {
        let directories = value("-L");
        directories.map(move |directory| Path::new(&directory).join(format!("lib{name}.a")))
    });
    let files = words.iter().map(PathBuf::from);
    files.filter(|file| file.is_file()).chain(named).collect()
}

/// Checks that the program supports ranks that share a process.
fn check_for_cluster(program: &Program, flags: &BuildFlags) -> Result<(), CliError> {
    if !matches!(program, Program::C(_)) || !flags.compile.iter().any(|word| word == OPENMP) {
        return Ok(());
    }
    Err(CliError::unusable(format!(
        "{OPENMP} creates threads, which have state outside the separate data of each rank; use --on linux for this \
         program"
    )))
}

/// Checks that a Rust program has the allocator of Rust's library. The simulator uses the same allocator, and variables of
/// another one would be separate for each rank.
fn check_allocator(image: &Image) -> Result<(), CliError> {
    if image.has_symbol(|name| name.ends_with(DEFAULT_ALLOCATOR)) {
        return Ok(());
    }
    Err(CliError::unusable(format!(
        "{} defines a global allocator, whose variables the ranks of the simulator cannot share; use --on linux for \
         this program",
        image.display()
    )))
}

/// Checks that an executable was linked for this kind of process.
fn check_linked(image: &Image, carries: ProcessContent) -> Result<(), CliError> {
    let is_cluster = image.symbol(CLUSTER_SYMBOL).is_some();
    let wanted = match carries {
        ProcessContent::Cluster if is_cluster => return check_libraries(&image.bytes),
        ProcessContent::Node if !is_cluster => return Ok(()),
        ProcessContent::Cluster => "cluster",
        ProcessContent::Node => "linux",
    };
    Err(CliError::unusable(format!(
        "{} was linked for another platform; link it with `{} cc --on {wanted}`, or specify its source",
        image.display(),
        command_name()
    )))
}

/// Returns the compiler driver that links the program.
fn driver(program: &Program) -> &'static str {
    match program {
        Program::C(paths) if paths.iter().any(|path| SourceLanguage::Cpp.is_of(path)) => "c++",
        _ => "cc",
    }
}

/// Returns the Rust compiler for this host, for a cargo subcommand and profile, and in a separate target directory. The target is
/// explicit, because a package's configuration may specify another one.
fn compiler(command: &str, profile: &'static str) -> Compiler {
    let machine = match std::env::consts::ARCH {
        "riscv64" => "riscv64gc",
        machine => machine,
    };
    let target = format!("{machine}-unknown-linux-gnu");
    let mut cargo = Command::new(own_cargo());
    cargo.args([command, "--target", &target]);
    Compiler {
        cargo,
        target: directories::target().join("midplane/linux"),
        profile,
        output: Path::new(&target).join(profile),
        version: String::new(),
    }
}

/// Compilers of a program's sources, and their options.
#[derive(Clone, Copy)]
struct HostCompilers<'a> {
    flags: &'a BuildFlags,
    fortran: Option<&'a FortranCompiler>,
    /// Directory of the program's Fortran modules.
    modules: &'a Path,
}

impl HostCompilers<'_> {
    /// Creates the command that compiles a source of the program; the caller appends the file names.
    fn compile(&self, source: &Path) -> Result<Command, CliError> {
        let mut command = match (SourceLanguage::from_path(source), self.fortran) {
            (Some(SourceLanguage::Fortran), Some(fortran)) => {
                fortran.compile(&self.flags.compile, source, self.modules)?
            }
            (language, _) => compile(self.options(language.unwrap_or(SourceLanguage::C)), source)?,
        };
        command.args(self.flags.accesses.then_some(recorder::REPORT_ACCESSES));
        Ok(command)
    }

    /// Returns the user's options for a language, without those that only other languages of the program have.
    fn options(&self, language: SourceLanguage) -> impl Iterator<Item = &OsStr> {
        let words = &self.flags.compile;
        match self.fortran {
            Some(_) => options_for(language, words),
            None => words.iter().map(OsString::as_os_str).collect(),
        }
        .into_iter()
    }

    /// Returns the linker's options for the libraries of the program's languages.
    fn libraries(&self) -> Result<Vec<OsString>, CliError> {
        self.fortran.map_or(Ok(Vec::new()), FortranCompiler::libraries)
    }
}

/// Creates the command that compiles a source of the runtime in C; the caller appends the file names.
pub(super) fn compile_plain(source: &Path) -> Result<Command, CliError> {
    compile(NO_OPTIONS, source)
}

/// Creates the command that compiles a source in C or C++ with these options; the caller appends the file names.
fn compile(words: impl IntoIterator<Item = impl AsRef<OsStr>>, source: &Path) -> Result<Command, CliError> {
    let compiler = if SourceLanguage::Cpp.is_of(source) { "c++" } else { "cc" };
    let mut compile = Command::new(compiler);
    compile
        .args(["-O2", "-g", "-fno-pie"])
        .args(words)
        .arg(headers::option()?);
    Ok(compile)
}

/// Builds the runtime library of a process with these features.
pub(super) fn library(runtime: RuntimeFeatures, content: ProcessContent) -> Result<PathBuf, CliError> {
    let library = runtime_library(compiler("build", PROFILE), runtime, content.links())?;
    rename_reserved(&library, content)
}

/// Returns the path of a file in the same directory whose name ends in `end`.
fn sibling_path(file: &Path, end: &str) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_os_string();
    name.push(end);
    file.with_file_name(name)
}

/// Renames the C library's functions in the runtime library to reserved names. A program's own `read`, for example,
/// then does not replace the runtime's.
fn rename_reserved(library: &Path, carries: ProcessContent) -> Result<PathBuf, CliError> {
    let reserved: Vec<Renaming<'_>> = carries.reserved().collect();
    // CMake would parse a second dot as the start of an extension.
    let file = sibling_path(library, "_apart.a");
    rename_symbols(Command::new("objcopy"), &reserved, library, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_has_the_static_unwinder() {
        let of = |words: &str| libraries(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("a.c -O2")[0], "-lgcc_s");
        for words in ["-static a.c", "a.c --static", "-static-pie"] {
            assert_eq!(of(words)[..2], ["-Wl,--eh-frame-hdr", "-lgcc_eh"], "{words}");
        }
        assert_eq!(of("-static-libgcc")[..2], ["-lgcc_eh", "-lpthread"]);
        assert_eq!(replace_option(OsStr::new("-static-pie")), "-static");
        assert_eq!(replace_option(OsStr::new("-static-libgcc")), "-static-libgcc");
    }
}
