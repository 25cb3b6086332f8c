//! From a program's source to an image: the kernel as a static library, the program's object, the link.

use crate::image::Image;
use crate::setup::{TARGET, Tools};
use crate::size;
use crate::stop::{Doing, Stop};
use crate::sys;
use rustix::process::Signal;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What both compiling and linking need to know; the same as the linker script says.
const MACHINE: [&str; 4] = [
    "--specs=picolibc.specs",
    "-march=rv64imafdc",
    "-mabi=lp64d",
    "-mcmodel=medany",
];

/// What the user gave as a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// A C source file.
    C(PathBuf),
    /// A Rust source file with `kernel_rt::program!`.
    Rust(PathBuf),
    /// An image that has been linked already.
    Image(PathBuf),
}

impl Program {
    /// Tells by name and content what a file is.
    pub fn classify(path: &Path) -> Result<Self, Stop> {
        let shown = path.display();
        let mut file = fs::File::open(path)
            .map_err(|error| Stop::usage(format!("cannot read the program {shown}: {error}")))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Stop::usage(format!("{shown} is a folder, not a program")));
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("c") => return Ok(Self::C(path.into())),
            Some("rs") => return Ok(Self::Rust(path.into())),
            _ => {}
        }
        let mut magic = [0; 4];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *b"\x7fELF" => Ok(Self::Image(path.into())),
            _ => Err(Stop::usage(format!(
                "{shown} is neither a C file (.c), a Rust file (.rs) nor a linked image"
            ))),
        }
    }

    /// The file that the user gave.
    pub fn path(&self) -> &Path {
        match self {
            Self::C(path) | Self::Rust(path) | Self::Image(path) => path,
        }
    }

    /// The program's name: its file's without extension.
    pub fn name(&self) -> String {
        self.path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Builds the image, with a stack of `stack` bytes or the linker script's default.
    pub fn build(&self, tools: &Tools, stack: Option<u64>) -> Result<Image, Stop> {
        let source = match self {
            Self::Image(path) => return Image::read(path),
            Self::C(path) | Self::Rust(path) => path
                .canonicalize()
                .doing(format_args!("find {}", path.display()))?,
        };
        let folder = self.folder(&source)?;
        let scratch = Scratch::new(&folder)?;
        let linked = scratch.0.join("image");
        let mut link = Command::new(&tools.gcc);
        link.args(MACHINE)
            .args(["-nostartfiles", "-static", "-T"])
            .arg(crate::root().join("kernel-rt/ld/virt.ld"))
            .arg("-Wl,--gc-sections,--no-warn-rwx-segments");
        if let Some(bytes) = stack {
            link.arg(format!("-Wl,--defsym=MIDPLANE_STACK_BYTES={bytes}"));
        }
        match self {
            Self::Rust(_) => link.arg(self.rust_library(tools, &source, &folder)?),
            _ => {
                let object = scratch.0.join("program.o");
                self.compile_c(tools, &object)?;
                // The compiler's own helpers first: Rust's library holds some of them too (complex
                // multiplication among them), built for another floating-point ABI.
                link.arg(&object).arg("-lgcc").arg(kernel_library(tools)?)
            }
        };
        link.arg("-lm").arg("-o").arg(&linked);
        self.run(link, "link")?;
        // In one step, so that whoever reads the file sees the old image or the new one.
        let image = folder.join(self.name()).with_extension("elf");
        fs::rename(&linked, &image).doing("put the image in its place")?;
        Image::read(&image)
    }

    fn compile_c(&self, tools: &Tools, object: &Path) -> Result<(), Stop> {
        let mut compile = Command::new(&tools.gcc);
        compile
            .args(MACHINE)
            // What picolibc's time.h hides, because it has neither, the kernel supplies.
            .args([
                "-D_POSIX_TIMERS=200809L",
                "-D_POSIX_MONOTONIC_CLOCK=200809L",
            ])
            .args(["-O2", "-g", "-ffunction-sections", "-fdata-sections", "-I"])
            .arg(crate::root().join("mpi-adi/include"))
            .arg("-c")
            .arg(self.path())
            .arg("-o")
            .arg(object);
        self.run(compile, "compile")
    }

    /// Runs a compiler, which says itself what it does not like.
    fn run(&self, mut command: Command, verb: &str) -> Result<(), Stop> {
        sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
        let status = command
            .stdin(Stdio::null())
            .status()
            .doing(format_args!("run {}", command.get_program().display()))?;
        match status.success() {
            true => Ok(()),
            false => Err(self.refused(verb)),
        }
    }

    fn refused(&self, verb: &str) -> Stop {
        Stop::usage(format!(
            "{} does not {verb}; what the compiler says is above",
            self.path().display()
        ))
    }

    /// A package around a Rust file, compiled to a static library that holds the kernel too.
    fn rust_library(&self, tools: &Tools, source: &Path, folder: &Path) -> Result<PathBuf, Stop> {
        let name = crate_name(folder);
        let package = folder.join("package");
        fs::create_dir_all(&package).doing(format_args!("create {}", package.display()))?;
        write_if_changed(&package.join("Cargo.toml"), &manifest(&name, source))?;
        // The versions that the workspace was tested with; cargo drops those that are not needed.
        let lock = package.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(crate::root().join("Cargo.lock"), &lock).doing("copy Cargo.lock")?;
        }
        let mut cargo = tools.rust.cargo("build");
        let target = target_folder(tools);
        cargo
            .args(["--profile", "node", "--manifest-path"])
            .arg(package.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target);
        match run_cargo(cargo)? {
            true => Ok(target.join(TARGET).join(format!("node/lib{name}.a"))),
            false => Err(self.refused("compile")),
        }
    }

    /// Where this program's image and what leads to it are kept.
    fn folder(&self, source: &Path) -> Result<PathBuf, Stop> {
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let folder = crate::target().join("midplane/programs").join(format!(
            "{}-{:016x}",
            self.name(),
            hasher.finish()
        ));
        fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// Checks a stack size given by the user.
pub fn check_stack(bytes: u64) -> Result<(), Stop> {
    const LEAST: u64 = 16 << 10;
    const PAGE: u64 = 4096;
    if bytes >= LEAST && bytes.is_multiple_of(PAGE) {
        return Ok(());
    }
    Err(Stop::usage(format!(
        "--stack {} must be a multiple of 4K and at least {}",
        size::exact(bytes),
        size::exact(LEAST)
    )))
}

/// The kernel and all of the runtime as a static library for C programs.
fn kernel_library(tools: &Tools) -> Result<PathBuf, Stop> {
    let target = target_folder(tools);
    let mut cargo = tools.rust.cargo("rustc");
    cargo
        .args([
            "--package",
            "kernel-rt",
            "--lib",
            "--crate-type",
            "staticlib",
        ])
        .args(["--profile", "node", "--manifest-path"])
        .arg(crate::root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    match run_cargo(cargo)? {
        true => Ok(target.join(TARGET).join("node/libkernel_rt.a")),
        false => Err(Stop::failure(
            "the runtime does not compile; what the compiler says is above",
        )),
    }
}

/// Cargo's folder for the nodes: its own, so that building for nodes never waits for building tests.
fn target_folder(tools: &Tools) -> PathBuf {
    crate::target().join("midplane").join(tools.rust.folder())
}

/// Runs cargo in the workspace, whose configuration it then finds. Shows what it does, but not that there
/// was nothing to do.
fn run_cargo(mut cargo: Command) -> Result<bool, Stop> {
    let color = match std::io::stderr().is_terminal() {
        true => "always",
        false => "never",
    };
    cargo
        .current_dir(crate::root())
        .env("CARGO_TERM_COLOR", color)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    sys::bind_to_us(&mut cargo, Signal::TERM, Vec::new());
    let mut child = cargo
        .spawn()
        .doing(format_args!("run {}", cargo.get_program().display()))?;
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if !line.contains("Finished") {
                eprintln!("{line}");
            }
        }
    }
    let status = child.wait().doing("wait for cargo")?;
    Ok(status.success())
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

fn manifest(name: &str, source: &Path) -> String {
    let root = crate::root();
    let quoted = |path: &Path| toml_string(&path.to_string_lossy());
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
         kernel-rt = {{ path = {} }}\n\
         mpi-adi = {{ path = {} }}\n\n\
         [workspace]\n",
        quoted(source),
        quoted(&root.join("kernel-rt")),
        quoted(&root.join("mpi-adi")),
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
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> Result<Self, Stop> {
        let folder = parent.join(format!("build-{}", std::process::id()));
        fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the build folder, where nobody minds.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_or_content() {
        let folder = Scratch::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.0.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let c = file("a.c", b"");
        assert_eq!(Program::classify(&c), Ok(Program::C(c.clone())));
        let rust = file("a.rs", b"");
        assert_eq!(Program::classify(&rust), Ok(Program::Rust(rust.clone())));
        let image = file("a", b"\x7fELF....");
        assert_eq!(Program::classify(&image), Ok(Program::Image(image.clone())));
        for path in [
            file("a.txt", b"hello"),
            file("b", b""),
            folder.0.join("none.c"),
            folder.0.clone(),
        ] {
            let error = Program::classify(&path).unwrap_err();
            assert_eq!(error.status, crate::stop::USAGE, "{error}");
            assert!(!error.message.contains('\n'), "{error}");
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
    fn stacks_have_a_least_size_and_whole_pages() {
        assert!(check_stack(16 << 10).is_ok());
        assert!(check_stack(12 << 10).is_err());
        assert!(check_stack((16 << 10) + 1).is_err());
    }
}
