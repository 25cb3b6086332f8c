//! Command lines of compiler and linker, and handling of their diagnostics.

use crate::build::board::Board;
use crate::build::diagnostics::CompilerOutput;
use crate::build::headers;
use crate::build::inputs::BuildFlags;
use crate::build::language::{SourceLanguage, is_mpi_function, options_for};
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{self, ToolSet};
use crate::show::console::print_error_line;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Creates the command that compiles a source for nodes; the caller appends the file names.
pub(super) fn compile_c(tools: &ToolSet, flags: &BuildFlags, source: &Path) -> Result<Command, CliError> {
    if SourceLanguage::Cpp.is_of(source) {
        return Err(CliError::unusable(format!(
            "{} is C++, which nodes do not support yet; use --on linux or --on cluster",
            source.display()
        )));
    }
    let mut compile = tools.gcc.command();
    begin_compile(&mut compile);
    let words: Vec<OsString> = match flags.fortran {
        true => { options_for(SourceLanguage::C, &flags.compile).into_iter() }
            .map(OsStr::to_os_string)
            .collect(),
        false => flags.compile.clone(),
    };
    let options = without_openmp(&words).filter(|word| is_for_nodes(word));
    compile.arg("-O2").args(options);
    end_compile(&mut compile)?;
    Ok(compile)
}

/// Compiler options that nodes do not need: threads and the like are in their C library, images are neither shared nor
/// relocated, and the processor is fixed.
const LEFT_OUT: [&str; 17] = [
    "-pthread",
    "-lpthread",
    "-lrt",
    "-ldl",
    "-lutil",
    "-lgomp",
    "-lgfortran",
    "-lquadmath",
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

/// Checks whether the nodes' compiler supports this option.
pub(super) fn is_for_nodes(word: &OsStr) -> bool {
    !LEFT_OUT.iter().any(|out| word == *out)
}

/// Linker options that remove all symbols, and the one that removes debug information only. The tool uses the image's
/// symbols to find the shared records.
const STRIP: [&str; 2] = ["-s", "--strip-all"];
const STRIP_DEBUG: &str = "--strip-debug";

/// Replaces options that strip symbols, since images for nodes must keep them.
pub(super) fn with_symbols(words: &[OsString]) -> Vec<OsString> {
    let is_strip = |word: &OsStr| STRIP.iter().any(|strip| word == *strip);
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_linkers = at > 0 && words[at - 1] == "-Xlinker";
        let list = word.to_str().and_then(|word| word.strip_prefix("-Wl,"));
        kept.push(match list {
            _ if is_linkers && is_strip(word) => STRIP_DEBUG.into(),
            _ if word == "-s" => format!("-Wl,{STRIP_DEBUG}").into(),
            Some(list) if list.split(',').any(|word| is_strip(OsStr::new(word))) => {
                let words = list
                    .split(',')
                    .map(|word| if is_strip(OsStr::new(word)) { STRIP_DEBUG } else { word });
                format!("-Wl,{}", words.collect::<Vec<_>>().join(",")).into()
            }
            _ => word.clone(),
        });
    }
    kept
}

/// Compiler option for OpenMP. It is ignored for nodes, which have one thread: directives are then comments, and the
/// nodes' C library provides OpenMP's functions.
pub(super) const OPENMP: &str = "-fopenmp";

/// Replaces the OpenMP option by one that disables warnings about unknown directives.
pub(super) fn without_openmp(words: &[OsString]) -> impl Iterator<Item = &OsStr> {
    words.iter().map(|word| {
        if word == OPENMP {
            OsStr::new("-Wno-unknown-pragmas")
        } else {
            word
        }
    })
}

pub(super) fn warn_about_openmp() {
    print_error_line(format_args!(
        "midplane: {OPENMP}: a node has one thread; OpenMP directives are ignored, and its functions report one thread"
    ));
}

/// Appends the initial compiler options for C, before the user's.
pub fn begin_compile(compile: &mut Command) {
    compile
        .args(Board::chosen().machine_flags())
        // picolibc's time.h hides these functions, because it does not implement them; the kernel provides them.
        .args([
            "-D_POSIX_TIMERS=200809L",
            "-D_POSIX_MONOTONIC_CLOCK=200809L",
            "-D_POSIX_CPUTIME=200809L",
        ])
        .args(["-g", "-ffunction-sections", "-fdata-sections"]);
}

/// Appends the final compiler options: the header directories.
pub(super) fn end_compile(compile: &mut Command) -> Result<(), CliError> {
    compile.arg(headers::option()?);
    // Headers that picolibc lacks.
    let mut option = OsString::from("-I");
    option.push(crate::host::directories::root().join("kernel-rt/include"));
    compile.arg(option);
    Ok(())
}

/// Linker of a node's image.
pub enum Linker {
    /// The cross compiler's own.
    Gnu,
    /// LLVM's, in this directory of the Rust compiler's installation.
    Llvm(PathBuf),
}

/// Appends the initial linker options.
pub(super) fn begin_link(link: &mut Command, linker: &Linker) {
    let board = Board::chosen();
    let root = crate::host::directories::root();
    link.args(board.machine_flags()).args(["-nostartfiles", "-static"]);
    let behind = board.scripts_behind().map(|[gnu, llvm]| match linker {
        Linker::Gnu => gnu,
        Linker::Llvm(_) => llvm,
    });
    for script in [board.script()].into_iter().chain(behind) {
        link.arg("-T").arg(root.join(script));
    }
    link.args(board.link_flags());
    match linker {
        Linker::Gnu => link.arg("-Wl,--no-warn-rwx-segments"),
        // Discards the compiler's local labels; GNU's linker does so by default. Merges identical functions except
        // those whose addresses are compared, as in C programs.
        Linker::Llvm(dir) => link
            .args(["-fuse-ld=lld", "-Wl,--discard-locals,--icf=safe", "-B"])
            .arg(dir),
    };
}

/// Appends the kernel after a C program's objects and libraries.
pub(super) fn end_link(link: &mut Command, kernel: &Path) {
    if Board::chosen() == Board::Virt {
        // The compiler's helper library comes first: Rust's library contains some of its functions too, for example
        // complex multiplication, built for another floating-point ABI. On the other board the ABI is the same, and
        // Rust's are shorter.
        link.arg("-lgcc");
    }
    link.arg(kernel);
}

/// Appends the C library, always the last.
pub(super) fn link_c_library(link: &mut Command, linker: &Linker) {
    link.arg("-lm");
    // picolibc's specs for this board nest groups of archives. LLVM's linker rejects such groups and does not need
    // them.
    if let (Linker::Llvm(_), Board::Stm32f405) = (linker, Board::chosen()) {
        link.args(["-nodefaultlibs", "-lc", "-lgcc"]);
    }
}

/// Compiles one source. Prints the compiler's diagnostics, and returns those of a success.
pub fn run_compiler(mut compile: Command, source: &Path) -> Result<String, CliError> {
    let said = CompilerOutput::by(&mut compile)?;
    said.print_messages();
    match (said.success, said.implicit_functions()) {
        (true, _) => Ok(said.into_messages()),
        (false, missing) if missing.is_empty() => Err(build_error(source, "compile")),
        (false, missing) => Err(CliError::unusable(format!(
            "{} uses {}, which Midplane does not have yet; see the compiler's messages above",
            source.display(),
            missing.join(", ")
        ))),
    }
}

/// Writes a file unless its content is unchanged, to preserve its modification time.
pub(super) fn write_if_changed(path: &Path, content: &str) -> Result<(), CliError> {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    fs::write(path, content).context(format_args!("write {}", path.display()))
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    path.canonicalize().context(format_args!("find {}", path.display()))
}

pub(super) fn build_error(path: &Path, verb: &str) -> CliError {
    CliError::unusable(format!(
        "{} does not {verb}; see the compiler's messages above",
        path.display()
    ))
}

/// Returns LLVM's linker, if it is available.
pub(super) fn llvm_linker() -> Option<Linker> {
    setup::llvm_linker().map(Linker::Llvm)
}

/// Links with LLVM's linker, if it is available; returns true after a link without diagnostics. Reports about missing
/// functions use GNU's messages instead.
pub(super) fn link_quickly(command: impl FnOnce(&Linker) -> Command, linked: &Path) -> Result<bool, CliError> {
    let Some(linker) = llvm_linker() else {
        return Ok(false);
    };
    let mut command = command(&linker);
    let said = CompilerOutput::by(command.arg("-o").arg(linked))?;
    Ok(said.success && said.is_silent())
}

/// Links this program, and reports missing functions in Midplane's own messages. Returns whether there was a diagnostic.
pub(super) fn run_linker(mut command: Command, program: &Path) -> Result<bool, CliError> {
    let said = CompilerOutput::by(&mut command)?;
    if said.success {
        said.print_messages();
        return Ok(!said.is_silent());
    }
    // The linker looks up lines for addresses after relaxation, in tables from before it. After a shortened call it
    // would report an earlier line.
    let said = CompilerOutput::by(command.arg("-Wl,--no-relax"))?;
    let undefined = said.undefined();
    let (mpi, others): (Vec<_>, Vec<_>) = undefined.into_iter().partition(|(name, _)| is_mpi_function(name));
    if !others.is_empty() || mpi.is_empty() {
        said.print_messages();
    }
    let list = |names: &[(&str, &str)]| {
        let each = names.iter().map(|(name, place)| match (*name, *place) {
            // The caller of `main` is not in the program.
            (name, "") | (name @ "main", _) => name.to_string(),
            (name, place) => format!("{name} ({place})"),
        });
        each.collect::<Vec<_>>().join(", ")
    };
    Err(match (&mpi[..], &others[..]) {
        ([], []) => build_error(program, "link"),
        ([], others) => CliError::unusable(format!(
            "{} does not link: neither the specified files nor the nodes' C library define {}",
            program.display(),
            list(others)
        )),
        (mpi, _) => CliError::unusable(format!(
            "the program calls {}, which Midplane does not have yet",
            list(mpi)
        )),
    })
}

/// A directory of this process, removed on drop.
#[derive(Debug)]
pub struct ScratchDirectory(pub PathBuf);

impl ScratchDirectory {
    pub fn new(parent: &Path) -> Result<Self, CliError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("build-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
        Ok(Self(dir))
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // A directory that cannot be removed stays in the build directory and is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_keeps_its_symbols() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let said = "-s -Wl,-s a.c -Xlinker -s -Xlinker --strip-all -Wl,-Map=m,--strip-all -S -Wl,-x -o -s.o";
        let kept = "-Wl,--strip-debug -Wl,--strip-debug a.c -Xlinker --strip-debug -Xlinker --strip-debug \
                    -Wl,-Map=m,--strip-debug -S -Wl,-x -o -s.o";
        assert_eq!(with_symbols(&words(said)), words(kept));
    }
}
