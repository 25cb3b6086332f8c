//! Build of native programs, with nodes as Linux processes or as coroutines in one process. C programs are compiled and
//! linked by the host's compiler with the runtime as a static library; Rust programs are built by cargo.

use crate::build::build_cache;
use crate::build::cargo::Compiler;
use crate::build::compiler::{OPENMP, ScratchDirectory};
use crate::build::headers;
use crate::build::image::Image;
use crate::build::incremental::ImageBuild;
use crate::build::inputs::{BuildFlags, FileKind, RuntimeFeatures};
use crate::build::program::{RuntimeDependencies, runtime_library};
use crate::build::recorder;
use crate::build::source::Program;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{in_path, own_cargo};
use crate::show::console::print_error_line;
use midplane_setup::stamp::BuildArtifact;
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
/// Linker script for an in-process cluster.
const SCRIPT_IN_CLUSTER: &str = "kernel-rt/ld/cluster.ld";
/// Libraries that stay shared in a cluster. The C library's state is kept per rank, within the limits of docs/scale.md
/// (kernel-rt/cluster/carrier); the last one's state is invisible to programs.
const SHARED_IN_CLUSTER: [&str; 11] = [
    "c", "m", "mvec", "pthread", "dl", "rt", "util", "anl", "gcc_s", "ld-linux", "ubsan",
];
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
    fn directory(self) -> &'static str {
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

    fn wrap(self) -> &'static str {
        match self {
            ProcessContent::Node => WRAP,
            ProcessContent::Cluster => WRAP_IN_CLUSTER,
        }
    }

    /// Returns the functions that are renamed in the runtime.
    fn reserved(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (write, more) = match self {
            ProcessContent::Node => ("__write", &[][..]),
            ProcessContent::Cluster => ("midplane_write", &RESERVED_IN_CLUSTER[..]),
        };
        let more = more.iter().copied();
        RESERVED.into_iter().chain([("write", write)]).chain(more)
    }

    /// Returns the sources of the layer between the program and the host's C library.
    fn start(self) -> &'static [&'static str] {
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
    if let Program::Image(path) = program {
        build_cache::use_image(path)?;
        return Image::read_process(path);
    }
    let flags = &flags.for_processes();
    let dir = program.build_directory(flags, carries.directory())?;
    let file = dir.join(program.name());
    if let Program::Rust(_) | Program::Package(_) = program {
        program.build_rust(compiler("rustc"), flags, &[], &file)?;
        return Image::read_process(&file);
    }
    let library = runtime_library(compiler("build"), flags.runtime(), carries.links())?;
    let library = rename_reserved(&library, carries)?;
    let cc = in_path(driver(program)).unwrap_or_default();
    let script = directories::root().join(SCRIPT_IN_CLUSTER);
    if let Some(making) = ImageBuild::new(file.clone(), program, flags, &cc, &[&library, &script])? {
        let scratch = ScratchDirectory::new(&dir)?;
        build_program(program, flags, making, carries, &library, &scratch)?;
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
fn needed_libraries(program: &[u8]) -> object::Result<Vec<String>> {
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

/// Compiles outdated sources and links with the runtime's library.
fn build_program(
    program: &Program,
    flags: &BuildFlags,
    mut making: ImageBuild,
    carries: ProcessContent,
    library: &Path,
    scratch: &ScratchDirectory,
) -> Result<(), CliError> {
    let mut link = Command::new(driver(program));
    link.args([FIXED, carries.wrap()])
        .args(flags.compile.iter().map(|word| replace_option(word)));
    for (at, start) in carries.start().iter().enumerate() {
        let source = directories::root().join(start);
        let object = scratch.0.join(format!("start-{at}.o"));
        // Compiled without the program's options: these could redefine its names or include other headers first.
        making.compile(compile(&[], &source)?, &source, &object)?;
        link.arg(object);
    }
    if carries == ProcessContent::Cluster {
        link.arg("-T").arg(directories::root().join(SCRIPT_IN_CLUSTER));
        if driver(program) == "c++" {
            link.arg("-static-libstdc++");
        }
    }
    match program {
        Program::C(paths) => {
            let objects = making.objects(paths, scratch, |path| {
                let mut command = compile(&flags.compile, path)?;
                command.args(flags.accesses.then_some(recorder::REPORT_ACCESSES));
                Ok(command)
            })?;
            if flags.recorder {
                link.arg(recorder::object(|source| compile(&[], source), flags.accesses)?);
            }
            link.args(objects);
            match carries {
                ProcessContent::Node => link.args(&flags.link),
                ProcessContent::Cluster => link.args(flags.link.iter().flat_map(static_options)),
            };
            link.arg(library);
        }
        Program::Rust(_) | Program::Package(_) | Program::Image(_) => {}
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

/// Checks that the program supports ranks that share a process.
fn check_for_cluster(program: &Program, flags: &BuildFlags) -> Result<(), CliError> {
    let what = match program {
        Program::C(_) if flags.compile.iter().any(|word| word == OPENMP) => {
            format!("{OPENMP} creates threads, which have state")
        }
        Program::C(_) => return Ok(()),
        Program::Rust(_) | Program::Package(_) => {
            format!("{} is Rust, whose library keeps state", program.path().display())
        }
        Program::Image(path) => {
            return Err(CliError::unusable(format!(
                "{} is linked already, and not for --on cluster: specify its source",
                path.display()
            )));
        }
    };
    Err(CliError::unusable(format!(
        "{what} outside the separate data of each rank; --on cluster supports C and C++ (.c, .cpp, .o, .a); use --on \
         linux for this program"
    )))
}

/// Returns the compiler driver that links the program.
fn driver(program: &Program) -> &'static str {
    match program {
        Program::C(paths) if paths.iter().any(|path| FileKind::is_cpp(path)) => "c++",
        _ => "cc",
    }
}

/// Returns the Rust compiler for this host, for a cargo subcommand and in a separate target directory. The target is
/// explicit, because a package's configuration may specify another one.
fn compiler(command: &str) -> Compiler {
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
        profile: "process",
        output: Path::new(&target).join("process"),
        version: String::new(),
    }
}

/// Creates the command that compiles a source with these options; the caller appends the file names.
fn compile(words: &[OsString], source: &Path) -> Result<Command, CliError> {
    let compiler = if FileKind::is_cpp(source) { "c++" } else { "cc" };
    let mut compile = Command::new(compiler);
    compile
        .args(["-O2", "-g", "-fno-pie"])
        .args(words)
        .arg(headers::option()?);
    Ok(compile)
}

/// Builds the runtime library with these features.
pub(super) fn library(runtime: RuntimeFeatures) -> Result<PathBuf, CliError> {
    let library = runtime_library(compiler("build"), runtime, RuntimeDependencies::Kernel)?;
    rename_reserved(&library, ProcessContent::Node)
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
    let words: Vec<_> = carries
        .reserved()
        .map(|(name, reserved)| format!("--redefine-sym={name}={reserved}"))
        .collect();
    let artifact = BuildArtifact {
        // CMake would parse a second dot as the start of an extension.
        file: sibling_path(library, "_apart.a"),
        root: directories::root().into(),
        beside: vec![library.into()],
        with: format!("{words:?}"),
    };
    if artifact.is_fresh() {
        return Ok(artifact.file);
    }
    let begun = artifact.begin();
    let made = artifact.file.with_extension(std::process::id().to_string());
    let mut rename = Command::new("objcopy");
    let status = rename.args(words).arg(library).arg(&made).status();
    if !status.context("run objcopy")?.success() {
        return Err(CliError::failure(
            "objcopy cannot convert the runtime's library; see its messages above",
        ));
    }
    // Atomic: a reader finds the old library or the new one.
    fs::rename(&made, &artifact.file).context("rename the runtime's library")?;
    let rule = format!("apart: {}\n", library.display());
    let list = fs::write(artifact.file.with_extension("d"), rule);
    // Without the stamp, the file is created again.
    let _ = list.and_then(|()| artifact.succeeded(begun?));
    Ok(artifact.file)
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
