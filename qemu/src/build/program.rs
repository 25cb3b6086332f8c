//! From a program's source to an image: the kernel as a static library, the program's object, the link.

use crate::build::board::Board;
use crate::build::compiler::{
    Linker, OPENMP, Scratch, absolute, begin_link, compile_c, end_link, is_for_nodes,
    link_c_library, refused, say_that_openmp_is_left_out,
};
use crate::build::given::{Flags, Program, Runtime};
use crate::build::image::Image;
use crate::build::kept;
use crate::build::making::Making;
use crate::build::target;
use crate::host::setup::Tools;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::show::say::complain;
use midplane_setup::fresh::Artifact;
use midplane_setup::kit::kit;
use midplane_setup::rust;
use rustix::process::Signal;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice;

impl Program {
    /// Builds the image.
    pub fn build(&self, tools: &Tools, flags: &Flags) -> Result<Image, Stop> {
        if let Self::Image(path) = self {
            kept::use_image(path)?;
            return Image::read(path);
        }
        if flags.compile.iter().any(|word| word == OPENMP) {
            say_that_openmp_is_left_out();
        }
        let folder = self.folder(flags, kit().target)?;
        let image = folder.join(self.name()).with_extension("elf");
        let with = (flags.runtime(), Links::Kernel);
        let library = self.library(Compiler::for_nodes(tools)?, with, &folder)?;
        let scripts = Board::chosen().scripts();
        let parts: Vec<&Path> = { scripts.iter().map(PathBuf::as_path) }
            .chain([&*library])
            .collect();
        let gcc = &tools.gcc.path;
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
        let objects = match self {
            Self::C(paths) => {
                making.objects(paths, scratch, |path| compile_c(tools, flags, path))?
            }
            Self::Rust(_) | Self::Image(_) => Vec::new(),
        };
        let link = |linker: &Linker| {
            let mut link = tools.gcc.command();
            begin_link(&mut link, linker);
            if let Some(bytes) = flags.stack {
                link.arg(format!("-Wl,--defsym=MIDPLANE_STACK_BYTES={bytes}"));
            }
            link.args(&objects);
            match self {
                Self::C(_) => {
                    link.args(flags.link.iter().filter(|word| is_for_nodes(word)));
                    end_link(&mut link, library);
                }
                Self::Rust(_) | Self::Image(_) => {
                    link.arg(library);
                }
            }
            link_c_library(&mut link, linker);
            link
        };
        making.link_for_nodes(link, &scratch.0.join("image"), self.path())
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
        kept::use_folder(&folder)?;
        Ok(folder)
    }
}

/// The kernel and all of the runtime as a static library for C programs on nodes.
pub(super) fn kernel_library(tools: &Tools, runtime: Runtime) -> Result<PathBuf, Stop> {
    runtime_library(Compiler::for_nodes(tools)?, (runtime, Links::Kernel))
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
    fn for_nodes(tools: &Tools) -> Result<Self, Stop> {
        let profile = Board::chosen().profile();
        let folder = target_folder(tools);
        let target = target::to_compile_for(tools, &folder)?;
        Ok(Compiler {
            cargo: tools.rust.cargo("build", &target),
            target: folder,
            profile,
            output: Path::new(kit().target).join(profile),
            version: format!("{} {}", tools.rust_version, target.display()),
        })
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
        .map_err(|error| Stop::usage(rust::no_cargo(&error)))?;
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
pub(super) fn write_if_changed(path: &Path, content: &str) -> Result<(), Stop> {
    if fs::read(path).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    fs::write(path, content).doing(format_args!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_adi::matching::Choice;

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
                instances: faults,
                log: faults,
                borrow: faults,
                has_room: faults,
            };
            let of = |links| manifest("a", Path::new("/a.rs"), (runtime, links));
            assert!(of(Links::Kernel).contains("default-features = false }"));
            let manifest = of(Links::Binding);
            assert!(!manifest.contains("default-features"), "{manifest}");
            let features = manifest
                .lines()
                .filter_map(|line| line.split_once("features = "));
            let said: Vec<&str> = features.map(|(_, said)| said).collect();
            let expected = matching.feature().map(|feature| {
                format!(
                    "[\"{feature}\", \"faults\", \"auto\", \"console\", \"instances\", \"log\", \
                     \"borrow\", \"short-ways\", \"peer-pages\"] }}"
                )
            });
            assert_eq!(said, expected.as_deref().into_iter().collect::<Vec<_>>());
        }
    }
}
