//! Selection of the Rust compiler for the nodes.

use crate::dependency::MissingTool;
use crate::detection_result::ToolDetection;
use crate::query::{SystemTool, in_path, output, parse_version, run_checked};
use crate::toolchain::board_toolchain;
use crate::{CheckoutDirs, MIN_RUST_VERSION, SetupError, package_dir};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of Debian's Rust compiler, from the file system's root.
const DEBIAN_RUSTC: &str = "usr/bin/rustc";
const DEBIAN_CARGO: &str = "usr/bin/cargo";
/// Environment variable that selects the Rust compiler for the nodes instead of the order of [`RustSource`]: `installed`,
/// `rustup` or `debian`.
pub const RUST_CHOICE: &str = "MIDPLANE_RUST";
/// Cargo configuration for builds of the library from source, relative to the workspace.
pub const ALONG: &str = ".cargo/along.toml";

/// Method of compiling Rust code for the nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RustSource {
    /// The default compiler builds its own library from source.
    Sources,
    /// The default compiler uses the library installed for the target.
    Installed,
    /// Debian's compiler builds its library from source.
    Debian(DebianRust),
}

/// Debian's Rust: the system's, or unpacked into Midplane's directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebianRust {
    /// Compiler.
    pub rustc: SystemTool,
    /// Its cargo.
    pub cargo: SystemTool,
}

impl DebianRust {
    fn rustc(&self) -> Command {
        let mut command = self.rustc.command();
        command.env_remove("RUSTUP_TOOLCHAIN");
        command
    }
}

impl RustSource {
    /// Creates a cargo command that compiles for the nodes with the configuration of the workspace `root`. The
    /// subcommand is `build`, `rustc` or `fetch`; the caller appends arguments. `target` is a target's name or a target
    /// description file.
    pub fn cargo(&self, root: &Path, subcommand: &str, target: &OsStr) -> Command {
        let mut command = match self {
            Self::Sources | Self::Installed => Command::new(own_cargo()),
            Self::Debian(debian) => debian.cargo.command(),
        };
        command.arg(subcommand).arg("--target").arg(target);
        if Path::new(target).extension().is_some() {
            command.arg("-Zjson-target-spec");
        }
        if *self != Self::Installed {
            command
                .arg("--config")
                .arg(root.join(ALONG))
                .env("RUSTC_BOOTSTRAP", "1");
        }
        if let Self::Debian(debian) = self {
            command.env("RUSTC", &debian.rustc.path).env_remove("RUSTUP_TOOLCHAIN");
        }
        // Flags for the host would override the nodes' flags in .cargo/config.toml.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// Returns the compiler's JSON description of the nodes' target; `None` if the compiler provides none.
    pub fn description(&self, root: &Path) -> Option<String> {
        let mut rustc = match self {
            Self::Sources | Self::Installed => own_rustc(root),
            Self::Debian(debian) => debian.rustc(),
        };
        rustc.args(["-Zunstable-options", "--print", "target-spec-json"]);
        rustc.args(["--target", board_toolchain().target]);
        output(rustc.env("RUSTC_BOOTSTRAP", "1"))
    }

    /// Returns the directory name of its build results: those of different compilers are kept apart.
    pub fn directory(&self) -> &'static str {
        match self {
            Self::Sources => "sources",
            Self::Installed => "installed",
            Self::Debian(_) => "debian",
        }
    }
}

/// Returns the cargo that runs this process, or `cargo` in the path.
pub fn own_cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Returns the message for a failed start of [`own_cargo`].
pub fn no_cargo(error: &std::io::Error) -> String {
    let cargo = own_cargo();
    format!(
        "cannot run {}: {error}; have its directory in PATH, or install Rust (https://rustup.rs)",
        cargo.display()
    )
}

/// Creates a command of the default compiler: the one that cargo would use.
fn own_rustc(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    // An installed command unpacks its sources before the first build.
    command.current_dir(if root.is_dir() { root } else { Path::new("/") });
    command
}

/// Checks that the default compiler can build the host tool and the runtime; returns its version string.
///
/// # Errors
/// Returns a message with the remedy if it does not work or is too old.
pub fn check_own(root: &Path) -> Result<String, SetupError> {
    let said = run_checked(own_rustc(root).arg("--version")).map_err(|error| {
        SetupError(format!(
            "the Rust compiler at hand does not work: {error}; https://rustup.rs has Rust"
        ))
    })?;
    check_version(&said)?;
    Ok(said)
}

fn check_version(said: &str) -> Result<(), SetupError> {
    let (major, minor) = MIN_RUST_VERSION;
    match parse_version(said) {
        Some(version) if version < MIN_RUST_VERSION => Err(SetupError(format!(
            "Rust {major}.{minor} or later is needed, and the compiler at hand is {said}; `rustup update \
             stable` gets the newest, https://rustup.rs has rustup"
        ))),
        // A compiler of unknown version is accepted.
        _ => Ok(()),
    }
}

/// Permitted compilers for the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RustChoice {
    /// The default compiler, for which rustup may add the library's sources; else Debian's.
    Any,
    /// Only the default compiler, with the library installed for the target.
    Installed,
    /// Only the default compiler; rustup may add the sources.
    Rustup,
    /// Only Debian's.
    Debian,
}

impl RustChoice {
    /// Reads the choice from the environment.
    ///
    /// # Errors
    /// Returns an error if the variable's value is unknown.
    pub fn read() -> Result<Self, SetupError> {
        match std::env::var(RUST_CHOICE).as_deref() {
            Err(_) | Ok("") => Ok(Self::Any),
            Ok("installed") => Ok(Self::Installed),
            Ok("rustup") => Ok(Self::Rustup),
            Ok("debian") => Ok(Self::Debian),
            Ok(other) => Err(SetupError(format!(
                "{RUST_CHOICE}={other}: give installed, rustup or debian"
            ))),
        }
    }

    /// Checks whether rustup may add the library's sources.
    pub fn rustup(self) -> bool {
        matches!(self, Self::Any | Self::Rustup)
    }

    /// Checks whether Debian's compiler is permitted.
    pub fn debian(self) -> bool {
        matches!(self, Self::Any | Self::Debian)
    }
}

/// Detects the compiler for the nodes; returns its method of use and its version string.
pub fn detect_rust(choice: RustChoice, places: &CheckoutDirs) -> ToolDetection<(RustSource, String)> {
    let at_hand = match choice {
        RustChoice::Debian => ToolDetection::Missing,
        _ => at_hand(choice, places),
    };
    let debian = || {
        let own = || find_debian_in(&package_dir::find_dir(places, MissingTool::Rust)?);
        find_debian_in(Path::new("/")).or_else(own)
    };
    choose(at_hand, || choice.debian().then(debian).flatten())
}

/// Prefers the default compiler. Another one is not installed because the default one is broken.
fn choose(
    at_hand: ToolDetection<(RustSource, String)>,
    debian: impl FnOnce() -> Option<(DebianRust, String)>,
) -> ToolDetection<(RustSource, String)> {
    match at_hand {
        ToolDetection::Usable(found) => ToolDetection::Usable(found),
        other => match (debian(), other) {
            (Some((debian, version)), _) => ToolDetection::Usable((RustSource::Debian(debian), version)),
            (None, ToolDetection::Broken(error)) => ToolDetection::Broken(error),
            (None, _) => ToolDetection::Missing,
        },
    }
}

/// Returns the default compiler and its version, if it has the library for the nodes.
fn at_hand(choice: RustChoice, places: &CheckoutDirs) -> ToolDetection<(RustSource, String)> {
    let root = &places.root;
    let chosen = std::env::var_os("RUSTC");
    if chosen.is_none() && in_path("rustc").is_none() {
        return ToolDetection::Missing;
    }
    // rustup reports an error for a compiler that it does not find, for example without HOME.
    let version = match run_checked(own_rustc(root).arg("--version")) {
        Ok(version) => version,
        Err(error) => return ToolDetection::Broken(format!("`rustc --version` says: {error}")),
    };
    let library = LibraryState {
        sources: choice != RustChoice::Installed && has_sources(own_rustc(root)),
        in_vain: package_dir::no_sources(places).is_some_and(|of| of == version),
        rustup: choice.rustup() && in_path("rustup").is_some(),
        target: has_target(root),
    };
    match library.best() {
        Some(rust) => ToolDetection::Usable((rust, version)),
        None => ToolDetection::Missing,
    }
}

/// State of the default compiler's library.
#[derive(Clone, Copy)]
struct LibraryState {
    /// Its sources are installed.
    sources: bool,
    /// An earlier attempt failed to provide the sources, or the crates to build them with.
    in_vain: bool,
    /// rustup may add them.
    rustup: bool,
    /// The library for the nodes' target is installed.
    target: bool,
}

impl LibraryState {
    /// Prefers the sources, because the library is then built for the nodes' exact processor. The installed library is
    /// used where the sources are not available.
    fn best(self) -> Option<RustSource> {
        match self {
            Self {
                in_vain: false,
                sources: true,
                ..
            } => Some(RustSource::Sources),
            Self {
                in_vain: false,
                rustup: true,
                ..
            } => None,
            Self { target, .. } => target.then_some(RustSource::Installed),
        }
    }
}

/// Returns the default compiler's version string.
pub fn own_version(places: &CheckoutDirs) -> Option<String> {
    output(own_rustc(&places.root).arg("--version"))
}

/// Checks whether the default compiler has the sources of its library.
pub fn has_own_sources(places: &CheckoutDirs) -> bool {
    has_sources(own_rustc(&places.root))
}

/// Checks whether a compiler has the sources of its library.
fn has_sources(rustc: Command) -> bool {
    let library = "lib/rustlib/src/rust/library/core/src/lib.rs";
    sysroot(rustc).is_some_and(|sysroot| sysroot.join(library).exists())
}

/// Returns a compiler's installation directory.
fn sysroot(mut rustc: Command) -> Option<PathBuf> {
    output(rustc.args(["--print", "sysroot"])).map(PathBuf::from)
}

/// Returns the directory that contains the compiler's copy of LLVM's linker, `ld.lld`. Distribution packages omit it.
pub fn own_llvm_linker(places: &CheckoutDirs) -> Option<PathBuf> {
    let targets = sysroot(own_rustc(&places.root))?.join("lib/rustlib");
    let targets = std::fs::read_dir(targets).ok()?.flatten();
    let mut directories = targets.map(|target| target.path().join("bin/gcc-ld"));
    directories.find(|directory| directory.join("ld.lld").exists())
}

/// Checks whether the default compiler has the library for the nodes' target.
fn has_target(root: &Path) -> bool {
    let arguments = ["--print", "target-libdir", "--target", board_toolchain().target];
    output(own_rustc(root).args(arguments)).is_some_and(|directory| {
        std::fs::read_dir(directory).is_ok_and(|mut entries| {
            entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"libcore-")))
        })
    })
}

/// Returns Debian's compiler in a file system, if its version is supported and it has the library's sources.
fn find_debian_in(root: &Path) -> Option<(DebianRust, String)> {
    let libraries = if root == Path::new("/") {
        None
    } else {
        package_dir::libraries(root)
    };
    let tool = |path| SystemTool {
        path: root.join(path),
        arguments: Vec::new(),
        libraries: libraries.clone(),
    };
    let debian = DebianRust {
        rustc: tool(DEBIAN_RUSTC),
        cargo: tool(DEBIAN_CARGO),
    };
    let version = output(debian.rustc().arg("--version"))?;
    let recent = parse_version(&version)? >= MIN_RUST_VERSION;
    (recent && has_sources(debian.rustc()) && debian.cargo.path.exists()).then_some((debian, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_at_hand_comes_first_and_a_broken_one_is_no_missing_one() {
        let debian = || {
            let tool = |path: &str| SystemTool::from_path(path.into());
            let (rustc, cargo) = (tool("/usr/bin/rustc"), tool("/usr/bin/cargo"));
            Some((DebianRust { rustc, cargo }, "b".to_string()))
        };
        let second = || debian().map(|(debian, version)| (RustSource::Debian(debian), version));
        let a = || ToolDetection::Usable((RustSource::Sources, "a".to_string()));
        let broken = || ToolDetection::Broken("no default".to_string());
        assert_eq!(choose(a(), debian), a());
        assert_eq!(choose(a(), || None), a());
        assert_eq!(
            Some(choose(ToolDetection::Missing, debian)),
            second().map(ToolDetection::Usable)
        );
        assert_eq!(Some(choose(broken(), debian)), second().map(ToolDetection::Usable));
        assert_eq!(choose(broken(), || None), ToolDetection::Broken("no default".into()));
        assert_eq!(choose(ToolDetection::Missing, || None), ToolDetection::Missing);
    }

    #[test]
    fn the_library_is_built_along_unless_its_sources_cannot_be_had() {
        let library = |[sources, in_vain, rustup, target]: [bool; 4]| {
            let library = LibraryState {
                sources,
                in_vain,
                rustup,
                target,
            };
            library.best()
        };
        for target in [false, true] {
            let installed = target.then_some(RustSource::Installed);
            for rustup in [false, true] {
                assert_eq!(library([true, false, rustup, target]), Some(RustSource::Sources));
                // Both attempts were made before.
                assert_eq!(library([true, true, rustup, target]), installed);
                assert_eq!(library([false, true, rustup, target]), installed);
            }
            assert_eq!(library([false, false, true, target]), None, "rustup is asked");
            assert_eq!(library([false, false, false, target]), installed);
        }
    }

    #[test]
    fn a_rust_that_is_too_old_is_refused_with_what_to_do() {
        let refusal = check_version("rustc 1.85.0 (4d91de4e4 2025-02-17)").unwrap_err();
        for word in ["1.95 or later", "rustc 1.85.0", "rustup update stable"] {
            assert!(refusal.0.contains(word), "{refusal}");
        }
        for enough in ["rustc 1.95.0 (a 2026-04-14)", "rustc 1.100.0", "rustc 2.0.0", "?"] {
            assert_eq!(check_version(enough), Ok(()), "{enough}");
        }
    }
}
