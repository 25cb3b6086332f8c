//! What the command needs from the machine: finds it, and fetches what is missing.
//!
//! Three things are needed besides the Rust that built this command: a Rust compiler for the nodes, QEMU,
//! and a C compiler with picolibc for the nodes. The decisions ([`rust_in`], [`Missing`]) are pure; the
//! rest asks the machine.

use crate::host::capacity::DEFAULT_NODE_MEMORY;
use crate::host::capacity::Machine;
use crate::host::size;
use crate::host::stop::{Doing, Stop};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Rust target of the nodes.
pub const TARGET: &str = "riscv64gc-unknown-none-elf";
/// The emulator.
const QEMU: &str = "qemu-system-riscv64";
/// The least version of the emulator that this is tested with.
const QEMU_LEAST: (u32, u32) = (7, 2);
/// The C compiler of the nodes.
const GCC: &str = "riscv64-unknown-elf-gcc";
const GCC_PACKAGE: &str = "gcc-riscv64-unknown-elf";
const PICOLIBC_PACKAGE: &str = "picolibc-riscv64-unknown-elf";
/// Debian's packages of QEMU for this target: its own since Debian 13, one of several before.
const QEMU_PACKAGES: [&str; 2] = ["qemu-system-riscv", "qemu-system-misc"];
/// Debian's packages of a Rust recent enough, with the sources of the core library.
const RUST_PACKAGES: [&str; 4] = [
    "rustc-web",
    "cargo-web",
    "libstd-rust-web-dev",
    "rust-web-src",
];
/// Where Debian's Rust is.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
/// Chooses the Rust compiler for the nodes instead of the order in the module's text: `installed`,
/// `rustup` or `debian`.
pub const RUST_CHOICE: &str = "MIDPLANE_RUST";

/// How Rust code for the nodes is compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rust {
    /// By the compiler at hand, which has the target installed.
    Installed,
    /// By Debian's compiler, with the core library built from its sources.
    BuildStd,
}

/// All tools, found.
#[derive(Debug)]
pub struct Tools {
    /// The Rust compiler.
    pub rust: Rust,
    /// The emulator.
    pub qemu: PathBuf,
    /// The C compiler.
    pub gcc: PathBuf,
}

impl Rust {
    /// A cargo command that compiles for the nodes; more arguments are to follow `build` or `rustc`.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = match self {
            Self::Installed => Command::new(own_cargo()),
            Self::BuildStd => Command::new(DEBIAN_CARGO),
        };
        command.arg(subcommand).args(["--target", TARGET]);
        if *self == Self::BuildStd {
            command
                .arg("-Zbuild-std=core,alloc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTC", DEBIAN_RUSTC)
                .env_remove("RUSTUP_TOOLCHAIN");
        }
        // Flags for the host would replace those that .cargo/config.toml has for the nodes.
        command
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// A name for the folder of what it builds: results of different compilers do not mix.
    pub fn folder(&self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::BuildStd => "debian",
        }
    }
}

/// The cargo that runs us, or the one in the path.
pub fn own_cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Finds all tools; fetches those that are missing, each command printed first.
pub fn ensure() -> Result<Tools, Stop> {
    let choice = Choice::read()?;
    if let Some(tools) = Found::look(choice).tools() {
        return Ok(tools);
    }
    let mut found = Found::look(choice);
    if found.rust.is_none() && choice.rustup() && has_rustup() {
        let added = run_shown(Command::new("rustup").args(["target", "add", TARGET]));
        if added.is_err() {
            say("rustup cannot add the target; trying the system's packages");
        }
        found = Found::look(choice);
    }
    let missing = found.missing(choice);
    if !missing.0.is_empty() {
        fetch(&missing)?;
        found = Found::look(choice);
    }
    let missing = found.missing(choice);
    found.tools().ok_or_else(|| {
        Stop::usage(format!(
            "still missing after installing: {missing}; `cargo midplane doctor` shows what is found"
        ))
    })
}

/// Prints what is found and what is missing; true when nothing is missing.
pub fn doctor() -> Result<bool, Stop> {
    let choice = Choice::read()?;
    let found = Found::look(choice);
    let rust = match &found.rust {
        Some((Rust::Installed, version)) => Some(format!("{version}, target {TARGET} installed")),
        Some((Rust::BuildStd, version)) => Some(format!(
            "{version}, {DEBIAN_RUSTC}, core library built for {TARGET} from source"
        )),
        None => None,
    };
    let qemu = found.qemu.as_ref().map(|(path, version)| match version {
        Some((major, minor)) => format!("{major}.{minor}, {}", path.display()),
        None => format!("of unknown version, {}", path.display()),
    });
    let gcc = found
        .gcc
        .as_ref()
        .map(|(path, version)| format!("{version}, {}", path.display()));
    let picolibc = found
        .picolibc
        .as_ref()
        .map(|(path, version)| format!("{version}, {}", path.display()));
    for (name, state) in [
        ("Rust for nodes", rust),
        ("QEMU", qemu),
        ("C compiler", gcc),
        ("picolibc", picolibc),
    ] {
        println!("{name:<15} {}", state.as_deref().unwrap_or("missing"));
    }
    println!(
        "{:<15} room for {} nodes of {} now",
        "this machine",
        Machine::look().capacity(DEFAULT_NODE_MEMORY),
        size::exact(DEFAULT_NODE_MEMORY),
    );
    let missing = found.missing(choice);
    if missing.0.is_empty() {
        return Ok(true);
    }
    println!("missing: {missing}");
    if found.rust.is_none() && choice.rustup() && has_rustup() {
        println!("`cargo midplane run` tries first: rustup target add {TARGET}");
    }
    println!("{}", how_to_install(&missing));
    Ok(false)
}

/// Which compilers may be used for the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Any,
    Installed,
    Rustup,
    Debian,
}

impl Choice {
    fn read() -> Result<Self, Stop> {
        match std::env::var(RUST_CHOICE).as_deref() {
            Err(_) | Ok("") => Ok(Self::Any),
            Ok("installed") => Ok(Self::Installed),
            Ok("rustup") => Ok(Self::Rustup),
            Ok("debian") => Ok(Self::Debian),
            Ok(other) => Err(Stop::usage(format!(
                "{RUST_CHOICE}={other}: give installed, rustup or debian"
            ))),
        }
    }

    fn rustup(self) -> bool {
        matches!(self, Self::Any | Self::Rustup)
    }
}

/// Whether there is a QEMU at all.
pub fn has_qemu() -> bool {
    in_path(QEMU).is_some()
}

/// What is on the machine.
#[derive(Default, Debug)]
struct Found {
    rust: Option<(Rust, String)>,
    qemu: Option<(PathBuf, Option<(u32, u32)>)>,
    gcc: Option<(PathBuf, String)>,
    picolibc: Option<(PathBuf, String)>,
}

impl Found {
    fn look(choice: Choice) -> Self {
        let qemu = in_path(QEMU).map(|path| {
            let version =
                output(Command::new(&path).arg("--version")).and_then(|text| version_in(&text));
            (path, version)
        });
        let gcc = in_path(GCC).map(|path| {
            let version = output(Command::new(&path).arg("-dumpfullversion")).unwrap_or_default();
            (path, version)
        });
        Self {
            rust: rust_in(choice, installed_rust(), debian_rust()),
            qemu,
            picolibc: gcc.as_ref().and_then(|(gcc, _)| picolibc(gcc)),
            gcc,
        }
    }

    fn tools(self) -> Option<Tools> {
        let (rust, _) = self.rust?;
        let (qemu, _) = self.qemu.filter(|(_, version)| recent_enough(*version))?;
        let (gcc, _) = self.gcc?;
        self.picolibc.map(|_| Tools { rust, qemu, gcc })
    }

    fn missing(&self, choice: Choice) -> Missing {
        let mut missing = Vec::new();
        if self.rust.is_none() {
            missing.push(match choice {
                Choice::Installed | Choice::Rustup => Need::Target,
                Choice::Any | Choice::Debian => Need::Rust,
            });
        }
        if !matches!(&self.qemu, Some((_, version)) if recent_enough(*version)) {
            missing.push(Need::Qemu);
        }
        if self.gcc.is_none() {
            missing.push(Need::Gcc);
        }
        if self.picolibc.is_none() {
            missing.push(Need::Picolibc);
        }
        Missing(missing)
    }
}

/// Which compiler is used: an installed target, else Debian's packages where they are.
fn rust_in(
    choice: Choice,
    installed: Option<String>,
    debian: Option<String>,
) -> Option<(Rust, String)> {
    let installed = installed
        .filter(|_| choice != Choice::Debian)
        .map(|version| (Rust::Installed, version));
    let debian = debian
        .filter(|_| matches!(choice, Choice::Any | Choice::Debian))
        .map(|version| (Rust::BuildStd, version));
    installed.or(debian)
}

/// A QEMU whose version cannot be read is tried; it will say itself what it does not know.
fn recent_enough(version: Option<(u32, u32)>) -> bool {
    version.is_none_or(|version| version >= QEMU_LEAST)
}

/// One thing that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    /// The target, by the compiler that was asked for.
    Target,
    Rust,
    Qemu,
    Gcc,
    Picolibc,
}

/// What is not there.
#[derive(PartialEq, Eq, Debug)]
struct Missing(Vec<Need>);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, need) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match need {
                Need::Target | Need::Rust => write!(f, "a Rust compiler for {TARGET}")?,
                Need::Qemu => write!(f, "{QEMU} {}.{} or later", QEMU_LEAST.0, QEMU_LEAST.1)?,
                Need::Gcc => f.write_str(GCC)?,
                Need::Picolibc => f.write_str("picolibc for riscv64")?,
            }
        }
        Ok(())
    }
}

impl Missing {
    /// Debian's packages for it; `available` tells whether the package lists have one.
    fn packages(&self, available: impl Fn(&str) -> bool) -> Vec<&'static str> {
        let mut packages = Vec::new();
        for need in &self.0 {
            match need {
                Need::Target => {}
                Need::Rust => packages.extend(RUST_PACKAGES),
                Need::Qemu => packages.push(
                    QEMU_PACKAGES
                        .into_iter()
                        .find(|package| available(package))
                        .unwrap_or(QEMU_PACKAGES[QEMU_PACKAGES.len() - 1]),
                ),
                Need::Gcc => packages.push(GCC_PACKAGE),
                Need::Picolibc => packages.push(PICOLIBC_PACKAGE),
            }
        }
        packages
    }
}

/// How packages can be installed here.
enum Installer {
    /// We are root.
    Root,
    /// By sudo, which asks for no password.
    Sudo,
}

impl Installer {
    fn find() -> Option<Self> {
        if rustix::process::geteuid().is_root() {
            return Some(Self::Root);
        }
        let asks_nothing = Command::new("sudo")
            .args(["-n", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        asks_nothing
            .is_ok_and(|status| status.success())
            .then_some(Self::Sudo)
    }

    fn apt(&self, arguments: &[&str]) -> Result<(), Stop> {
        let mut command = match self {
            Self::Root => {
                let mut command = Command::new("apt-get");
                command.env("DEBIAN_FRONTEND", "noninteractive");
                command
            }
            Self::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
                command
            }
        };
        // Another package manager at work, as on a machine that has just been started, is waited for.
        command
            .args(["--quiet", "-o", "DPkg::Lock::Timeout=300"])
            .args(arguments);
        run_shown(&mut command)
    }
}

fn fetch(missing: &Missing) -> Result<(), Stop> {
    let refuse = |why: &str| {
        Stop::usage(format!(
            "missing: {missing}{why}\n{}",
            how_to_install(missing)
        ))
    };
    if !has_apt() || missing.0.contains(&Need::Target) {
        return Err(refuse(""));
    }
    let installer = Installer::find()
        .ok_or_else(|| refuse("; fetching it needs root, or sudo without a password"))?;
    say(&format!("missing: {missing}; fetching"));
    install(&installer, missing)
        .map_err(|stop| Stop::usage(format!("{stop}; still missing: {missing}")))
}

/// Installs Debian's packages for what is missing.
fn install(installer: &Installer, missing: &Missing) -> Result<(), Stop> {
    let mut packages = missing.packages(is_available);
    if !packages.iter().all(|package| is_available(package)) {
        installer.apt(&["update"])?;
        packages = missing.packages(is_available);
    }
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(packages);
    if installer.apt(&install).is_err() {
        // The lists may name versions that the server no longer has.
        installer.apt(&["update"])?;
        installer.apt(&install)?;
    }
    Ok(())
}

/// Exactly what to type or, on a system that we do not know, what to look for.
fn how_to_install(missing: &Missing) -> String {
    let rustup = format!("rustup target add {TARGET}");
    if missing.0 == [Need::Target] {
        return format!("install it with: {rustup}");
    }
    if has_apt() {
        return format!(
            "install it with: sudo apt-get install --no-install-recommends {}",
            missing.packages(is_available).join(" ")
        );
    }
    let mut lines = vec![
        "this system's package manager is not known here (apt-get is); install with yours:"
            .to_string(),
    ];
    lines.extend(missing.0.iter().map(|need| match need {
        Need::Target | Need::Rust => format!("  the Rust target: {rustup}"),
        Need::Qemu => format!("  QEMU for riscv64 ({QEMU}), often called qemu-system-riscv"),
        Need::Gcc => format!("  GCC for bare-metal riscv64 ({GCC}), often called riscv64-elf-gcc"),
        Need::Picolibc => "  picolibc for riscv64 (picolibc.specs in that GCC's folders)".into(),
    }));
    lines.join("\n")
}

fn has_apt() -> bool {
    in_path("apt-get").is_some() && in_path("apt-cache").is_some()
}

fn has_rustup() -> bool {
    in_path("rustup").is_some()
}

/// Whether apt's package lists have a version of a package to install.
fn is_available(package: &str) -> bool {
    output(
        Command::new("apt-cache")
            .args(["policy", package])
            .env("LC_ALL", "C"),
    )
    .is_some_and(|text| has_candidate(&text))
}

fn has_candidate(policy: &str) -> bool {
    policy
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Candidate:"))
        .any(|candidate| candidate.trim() != "(none)")
}

/// The version of the compiler at hand, if it has the target.
fn installed_rust() -> Option<String> {
    let rustc = || {
        let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command.current_dir(crate::host::folders::root());
        command
    };
    let folder = output(rustc().args(["--print", "target-libdir", "--target", TARGET]))?;
    let has_core = std::fs::read_dir(folder).ok()?.flatten().any(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b"libcore-")
    });
    let version = output(rustc().arg("--version"))?;
    has_core.then_some(version)
}

/// The version of Debian's compiler, if it is recent enough and the library's sources are there.
fn debian_rust() -> Option<String> {
    let least = version_in(env!("CARGO_PKG_RUST_VERSION"))?;
    let rustc = || {
        let mut command = Command::new(DEBIAN_RUSTC);
        command.env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    let version = output(rustc().arg("--version"))?;
    let recent = version_in(&version)? >= least;
    let sysroot = output(rustc().args(["--print", "sysroot"]))?;
    let sources = Path::new(&sysroot).join("lib/rustlib/src/rust/library/core/src/lib.rs");
    (recent && sources.exists() && Path::new(DEBIAN_CARGO).exists()).then_some(version)
}

/// picolibc's specification for the C compiler, and its version.
fn picolibc(gcc: &Path) -> Option<(PathBuf, String)> {
    let specs = output(Command::new(gcc).arg("--print-file-name=picolibc.specs"))?;
    // The compiler repeats the bare name when it finds no such file.
    let specs = PathBuf::from(specs);
    if !specs.is_absolute() {
        return None;
    }
    let macros = output(
        Command::new(gcc)
            .args([
                "--specs=picolibc.specs",
                "-dM",
                "-E",
                "-include",
                "picolibc.h",
            ])
            .args(["-x", "c", "/dev/null"]),
    )?;
    let version = macros
        .lines()
        .find_map(|line| line.strip_prefix("#define __PICOLIBC_VERSION__ "))
        .map_or_else(
            || "of unknown version".into(),
            |v| v.trim_matches('"').to_string(),
        );
    Some((specs, version))
}

/// The first `a.b` in a text.
fn version_in(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

/// The program of this name in the path.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// What a command prints, trimmed, if it succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

/// Runs a command, printed first, its output on our stderr.
fn run_shown(command: &mut Command) -> Result<(), Stop> {
    let line = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ");
    eprintln!("+ {line}");
    // A package manager is not taken down with us: half an installation is worse than one too many.
    let status = command
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .doing(format_args!("run `{line}`"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Stop::usage(format!("`{line}` failed ({status})"))),
    }
}

fn say(text: &str) {
    eprintln!("midplane: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_target_comes_first_unless_debian_is_asked_for() {
        let (a, b) = (|| Some("a".to_string()), || Some("b".to_string()));
        let kind = |found: Option<(Rust, String)>| found.map(|(rust, _)| rust);
        assert_eq!(kind(rust_in(Choice::Any, a(), b())), Some(Rust::Installed));
        assert_eq!(kind(rust_in(Choice::Any, None, b())), Some(Rust::BuildStd));
        assert_eq!(
            kind(rust_in(Choice::Debian, a(), b())),
            Some(Rust::BuildStd)
        );
        assert_eq!(kind(rust_in(Choice::Debian, a(), None)), None);
        assert_eq!(kind(rust_in(Choice::Rustup, None, b())), None);
        assert_eq!(
            kind(rust_in(Choice::Installed, a(), b())),
            Some(Rust::Installed)
        );
    }

    #[test]
    fn packages_are_those_of_what_is_missing() {
        let found = Found::default();
        let missing = found.missing(Choice::Any);
        let packages = missing.packages(|package| package == "qemu-system-misc");
        assert!(packages.contains(&"rustc-web") && packages.contains(&"qemu-system-misc"));
        assert!(packages.contains(&GCC_PACKAGE) && packages.contains(&PICOLIBC_PACKAGE));
        let packages = missing.packages(|_| true);
        assert!(packages.contains(&"qemu-system-riscv"));
        assert!(!packages.contains(&"qemu-system-misc"));
        assert!(
            found
                .missing(Choice::Rustup)
                .packages(|_| true)
                .iter()
                .all(|p| !p.contains("rust"))
        );
    }

    #[test]
    fn an_old_qemu_counts_as_missing() {
        let found = Found {
            rust: Some((Rust::Installed, String::new())),
            qemu: Some(("qemu".into(), Some((7, 1)))),
            gcc: Some(("gcc".into(), String::new())),
            picolibc: Some(("specs".into(), String::new())),
        };
        assert_eq!(found.missing(Choice::Any), Missing(vec![Need::Qemu]));
        assert!(found.tools().is_none());
    }

    #[test]
    fn versions_are_found_in_what_tools_print() {
        for (text, version) in [
            ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", (7, 2)),
            ("QEMU emulator version 10.0.50", (10, 0)),
            ("rustc 1.96.0-web (abc 2026-01-01)", (1, 96)),
            ("1.95", (1, 95)),
        ] {
            assert_eq!(version_in(text), Some(version), "{text}");
        }
        assert_eq!(version_in("no version"), None);
    }

    #[test]
    fn a_package_without_candidate_is_not_available() {
        assert!(has_candidate(
            "pkg:\n  Installed: (none)\n  Candidate: 1.2\n"
        ));
        assert!(!has_candidate(
            "pkg:\n  Installed: (none)\n  Candidate: (none)\n"
        ));
        assert!(!has_candidate(""));
    }
}
