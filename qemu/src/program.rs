//! From a program's source to an image: the kernel as a static library, the program's object, the link.

use crate::image::Image;
use crate::setup::{TARGET, Tools};
use crate::size;
use crate::stop::{Doing, Stop};
use crate::sys;
use midplane_setup::fresh::Artifact;
use rustix::process::Signal;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice;

/// What both compiling and linking need to know; the same as the linker script says.
const MACHINE: [&str; 3] = ["-march=rv64imafdc", "-mabi=lp64d", "-mcmodel=medany"];

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
}

/// What one file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Source,
    Object,
    Rust,
    Image,
}

impl Kind {
    /// Tells by name and content.
    fn of(path: &Path) -> Result<Self, Stop> {
        let shown = path.display();
        let mut file = fs::File::open(path)
            .map_err(|error| Stop::usage(format!("cannot read the program {shown}: {error}")))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Stop::usage(format!("{shown} is a folder, not a program")));
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("c" | "s" | "S") => return Ok(Self::Source),
            Some("o" | "a") => return Ok(Self::Object),
            Some("rs") => return Ok(Self::Rust),
            _ => {}
        }
        let mut magic = [0; 4];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *b"\x7fELF" => Ok(Self::Image),
            _ => Err(Stop::usage(format!(
                "{shown} is neither C (.c, .o, .a), nor a Rust file (.rs), nor a linked image"
            ))),
        }
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

    /// Builds the image.
    pub fn build(&self, tools: &Tools, flags: &Flags) -> Result<Image, Stop> {
        if let Self::Image(path) = self {
            return Image::read(path);
        }
        let folder = self.folder(flags)?;
        let scratch = Scratch::new(&folder)?;
        let linked = scratch.0.join("image");
        let mut link = tools.gcc.command();
        link.args(MACHINE)
            .args(["-nostartfiles", "-static", "-T"])
            .arg(crate::root().join("kernel-rt/ld/virt.ld"))
            .args([
                "-Wl,--gc-sections,--no-warn-rwx-segments",
                "-Wl,--wrap=vfprintf",
            ]);
        if let Some(bytes) = flags.stack {
            link.arg(format!("-Wl,--defsym=MIDPLANE_STACK_BYTES={bytes}"));
        }
        match self {
            Self::Rust(path) => {
                let source = absolute(path)?;
                link.arg(self.rust_library(tools, &source, &folder)?);
            }
            Self::C(paths) => {
                for (at, path) in paths.iter().enumerate() {
                    if Kind::of(path)? == Kind::Object {
                        link.arg(path);
                        continue;
                    }
                    let object = scratch.0.join(format!("{at}.o"));
                    self.compile_c(tools, flags, path, &object)?;
                    link.arg(object);
                }
                // The compiler's own helpers first: Rust's library holds some of them too (complex
                // multiplication among them), built for another floating-point ABI.
                link.args(&flags.link)
                    .arg("-lgcc")
                    .arg(kernel_library(tools)?);
            }
            Self::Image(_) => {}
        }
        link.arg("-lm").arg("-o").arg(&linked);
        self.link(link)?;
        // In one step, so that whoever reads the file sees the old image or the new one.
        let image = folder.join(self.name()).with_extension("elf");
        fs::rename(&linked, &image).doing("put the image in its place")?;
        Image::read(&image)
    }

    fn compile_c(
        &self,
        tools: &Tools,
        flags: &Flags,
        source: &Path,
        object: &Path,
    ) -> Result<(), Stop> {
        let mut compile = tools.gcc.command();
        compile
            .args(MACHINE)
            // What picolibc's time.h hides, because it has neither, the kernel supplies.
            .args([
                "-D_POSIX_TIMERS=200809L",
                "-D_POSIX_MONOTONIC_CLOCK=200809L",
            ])
            .args(["-O2", "-g", "-ffunction-sections", "-fdata-sections"])
            .args(&flags.compile)
            .arg("-I")
            .arg(crate::root().join("mpi-adi/include"))
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(object);
        let said = Said::by(compile)?;
        eprint!("{}", said.words);
        match (said.success, said.unknown_to_the_compiler()) {
            (true, _) => Ok(()),
            (false, missing) if missing.is_empty() => Err(refused(source, "compile")),
            (false, missing) => Err(Stop::usage(format!(
                "{} uses {}, which Midplane does not have yet; what the compiler says is above",
                source.display(),
                missing.join(", ")
            ))),
        }
    }

    fn link(&self, command: Command) -> Result<(), Stop> {
        let said = Said::by(command)?;
        if said.success {
            eprint!("{}", said.words);
            return Ok(());
        }
        let undefined = said.undefined();
        let (mpi, others): (Vec<_>, Vec<_>) = undefined
            .into_iter()
            .partition(|(name, _)| name.starts_with("MPI_") || name.starts_with("PMPI_"));
        if !others.is_empty() || mpi.is_empty() {
            eprint!("{}", said.words);
        }
        let list = |names: &[(&str, &str)]| {
            let each = names.iter().map(|(name, place)| match *place {
                "" => (*name).to_string(),
                place => format!("{name} ({place})"),
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
        let library = Artifact {
            file: target.join(TARGET).join(format!("node/lib{name}.a")),
            root: crate::root().into(),
            beside: vec![package.join("Cargo.toml"), lock],
            with: tools.rust_version.clone(),
        };
        match library.is_fresh() || run_cargo(cargo, &library)? {
            true => Ok(library.file),
            false => Err(refused(source, "compile")),
        }
    }

    /// Where this program's image and what leads to it are kept.
    fn folder(&self, flags: &Flags) -> Result<PathBuf, Stop> {
        let mut hasher = DefaultHasher::new();
        let paths = match self {
            Self::C(paths) => &paths[..],
            Self::Rust(path) | Self::Image(path) => slice::from_ref(path),
        };
        for path in paths {
            absolute(path)?.hash(&mut hasher);
        }
        (&flags.compile, &flags.link).hash(&mut hasher);
        let folder = crate::target().join("midplane/programs").join(format!(
            "{}-{:016x}",
            self.name(),
            hasher.finish()
        ));
        fs::create_dir_all(&folder).doing(format_args!("create {}", folder.display()))?;
        Ok(folder)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    path.canonicalize()
        .doing(format_args!("find {}", path.display()))
}

fn refused(path: &Path, verb: &str) -> Stop {
    Stop::usage(format!(
        "{} does not {verb}; what the compiler says is above",
        path.display()
    ))
}

/// A line as it would be for a file: terminals' escape sequences (ESC, `[`, up to a letter) left out.
fn without_colors(line: &str) -> String {
    let mut pieces = line.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let text = piece.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(text.map_or("", |at| &piece[at + 1..]));
    }
    plain
}

/// What a compiler or linker said.
struct Said {
    success: bool,
    words: String,
}

impl Said {
    /// Runs it to its end. It says in English what it does not like, so that we can read it.
    fn by(mut command: Command) -> Result<Self, Stop> {
        if std::io::stderr().is_terminal() {
            command.arg("-fdiagnostics-color=always");
        }
        sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
        let output = command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .doing(format_args!("run {}", command.get_program().display()))?;
        Ok(Self {
            success: output.status.success(),
            words: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Undefined symbols, each once, with the first place (file and line) that names it, if it is said.
    fn undefined(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for line in self.words.lines() {
            let Some((place, rest)) = line.split_once("undefined reference to `") else {
                continue;
            };
            let name = rest.split('\'').next().unwrap_or(rest);
            if found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            // `/usr/bin/ld: folder/file.c:12: `, or a section's offset where there is no line.
            let place = place.trim_end().trim_end_matches(':');
            let place = place.rsplit_once(": ").map_or(place, |(_, place)| place);
            let has_line = place
                .rsplit_once(':')
                .is_some_and(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()));
            let file = place.rsplit('/').next().unwrap_or(place);
            found.push((name, if has_line { file } else { "" }));
        }
        found
    }

    /// Names of MPI that the header does not have, each once.
    fn unknown_to_the_compiler(&self) -> Vec<String> {
        let mut found = Vec::new();
        for line in self.words.lines() {
            let line = without_colors(line);
            let wrong = [
                "undeclared",
                "unknown type name",
                "implicit declaration of function",
            ];
            if !wrong.iter().any(|words| line.contains(words)) {
                continue;
            }
            let quoted = line.split('\'').skip(1).step_by(2);
            // The first name is the wrong one; another may be what the compiler would rather see.
            let Some(name) = quoted.into_iter().next() else {
                continue;
            };
            if name.starts_with("MPI_") && !found.iter().any(|known| known == name) {
                found.push(name.to_string());
            }
        }
        found
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
    let library = Artifact {
        file: target.join(TARGET).join("node/libkernel_rt.a"),
        root: crate::root().into(),
        beside: Vec::new(),
        with: tools.rust_version.clone(),
    };
    match library.is_fresh() || run_cargo(cargo, &library)? {
        true => Ok(library.file),
        false => Err(Stop::failure(
            "the runtime does not compile; what the compiler says is above",
        )),
    }
}

/// Cargo's folder for the nodes: its own, so that building for nodes never waits for building tests.
fn target_folder(tools: &Tools) -> PathBuf {
    crate::target().join("midplane").join(tools.rust.folder())
}

/// Runs cargo in the workspace, whose configuration it then finds, to build this file. Shows what it does,
/// but not that there was nothing to do.
fn run_cargo(mut cargo: Command, artifact: &Artifact) -> Result<bool, Stop> {
    let begun = artifact.begin();
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
    if let (true, Ok(begun)) = (status.success(), begun) {
        // Without the note, cargo is asked again the next time.
        let _ = artifact.succeeded(begun);
    }
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
            assert_eq!(error.status, crate::stop::USAGE, "{error}");
            assert!(!error.message.contains('\n'), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_read_from_what_the_tools_say() {
        let said = |words: &str| Said {
            success: false,
            words: words.into(),
        };
        let linker = said(
            "/usr/lib/ld: /tmp/0.o: in function `main':\n\
             /home/me/my prog.c:12: undefined reference to `MPI_Win_create'\n\
             /usr/lib/ld: /home/me/b.c:3: undefined reference to `helper'\n\
             /usr/lib/ld: /tmp/0.o:(.text+0x1a): undefined reference to `fork'\n\
             /home/me/b.c:14: undefined reference to `helper'\n\
             collect2: error: ld returned 1 exit status\n",
        );
        assert_eq!(
            linker.undefined(),
            [
                ("MPI_Win_create", "my prog.c:12"),
                ("helper", "b.c:3"),
                ("fork", "")
            ]
        );
        let compiler = said(
            "a.c:3:5: error: unknown type name 'MPI_Win'; did you mean 'MPI_Op'?\n\
             a.c:4:5: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K'\x1b[01m\x1b[KMPI_INFO_NULL\x1b[m\x1b[K' undeclared (first use in this function)\n\
             a.c:5:5: error: 'other' undeclared (first use in this function)\n\
             a.c:6:5: error: 'MPI_INFO_NULL' undeclared\n",
        );
        let missing = ["MPI_Win", "MPI_INFO_NULL"];
        assert_eq!(compiler.unknown_to_the_compiler(), missing);
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
