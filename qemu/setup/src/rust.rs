//! Which Rust compiler is used for the nodes.

use crate::ask::{Tool, in_path, output, version_in, works};
use crate::kit::kit;
use crate::look::Look;
use crate::need::Need;
use crate::{Places, RUST_LEAST, Refusal, folder};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's Rust is, from the root of its file system.
const DEBIAN_RUSTC: &str = "usr/bin/rustc";
const DEBIAN_CARGO: &str = "usr/bin/cargo";
/// Chooses the Rust compiler for the nodes instead of the order of [`Rust`]: `installed`, `rustup` or
/// `debian`.
pub const RUST_CHOICE: &str = "MIDPLANE_RUST";

/// How Rust code for the nodes is compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rust {
    /// By the compiler at hand, which has the target installed.
    Installed,
    /// By Debian's compiler, with the core library built from its sources.
    BuildStd(Debian),
}

/// Debian's Rust: of the system, or unpacked into our folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Debian {
    /// The compiler.
    pub rustc: Tool,
    /// Its cargo.
    pub cargo: Tool,
}

impl Rust {
    /// A cargo command that compiles for the nodes; more arguments are to follow `build` or `rustc`.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = match self {
            Self::Installed => Command::new(own_cargo()),
            Self::BuildStd(debian) => debian.cargo.command(),
        };
        command.arg(subcommand).args(["--target", kit().target]);
        if let Self::BuildStd(debian) = self {
            command
                .arg("-Zbuild-std=core,alloc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTC", &debian.rustc.path)
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
            Self::BuildStd(_) => "debian",
        }
    }
}

/// The cargo that runs us, or the one in the path.
pub fn own_cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// The compiler at hand: the one that cargo would use.
fn own_rustc(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(root);
    command
}

/// Checks that the compiler at hand can build Midplane's tool.
///
/// # Errors
/// It does not work, or is too old; the message says what to do.
pub fn check_own(root: &Path) -> Result<(), Refusal> {
    let said = works(own_rustc(root).arg("--version"))
        .map_err(|error| Refusal(format!("the Rust compiler at hand does not work: {error}")))?;
    check_version(&said)
}

fn check_version(said: &str) -> Result<(), Refusal> {
    let (major, minor) = RUST_LEAST;
    match version_in(said) {
        Some(version) if version < RUST_LEAST => Err(Refusal(format!(
            "Rust {major}.{minor} or later is needed, and the compiler at hand is {said}; `rustup update \
             stable` gets the newest, https://rustup.rs has rustup"
        ))),
        // One whose version cannot be read is tried.
        _ => Ok(()),
    }
}

/// Which compilers may be used for the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// An installed target, else rustup's, else Debian's.
    Any,
    /// Only the compiler at hand.
    Installed,
    /// Only the compiler at hand; rustup may add the target.
    Rustup,
    /// Only Debian's.
    Debian,
}

impl Choice {
    /// Reads the environment.
    ///
    /// # Errors
    /// The variable has a value that is none of the choices.
    pub fn read() -> Result<Self, Refusal> {
        match std::env::var(RUST_CHOICE).as_deref() {
            Err(_) | Ok("") => Ok(Self::Any),
            Ok("installed") => Ok(Self::Installed),
            Ok("rustup") => Ok(Self::Rustup),
            Ok("debian") => Ok(Self::Debian),
            Ok(other) => Err(Refusal(format!(
                "{RUST_CHOICE}={other}: give installed, rustup or debian"
            ))),
        }
    }

    /// Whether rustup may add the target.
    pub fn rustup(self) -> bool {
        matches!(self, Self::Any | Self::Rustup)
    }

    /// Whether Debian's compiler may be used.
    pub fn debian(self) -> bool {
        matches!(self, Self::Any | Self::Debian)
    }
}

/// Looks for the compiler for the nodes: how it is used, and what it says its version is.
pub fn look(choice: Choice, places: &Places) -> Look<(Rust, String)> {
    let installed = match choice {
        Choice::Debian => Look::Missing,
        _ => installed(&places.root),
    };
    let debian = || {
        let own = || debian_in(&folder::of(places, Need::Rust)?);
        debian_in(Path::new("/")).or_else(own)
    };
    choose(installed, || choice.debian().then(debian).flatten())
}

/// An installed target comes first. A compiler that does not work is no reason to install another.
fn choose(
    installed: Look<String>,
    debian: impl FnOnce() -> Option<(Debian, String)>,
) -> Look<(Rust, String)> {
    match installed {
        Look::There(version) => Look::There((Rust::Installed, version)),
        other => match (debian(), other) {
            (Some((debian, version)), _) => Look::There((Rust::BuildStd(debian), version)),
            (None, Look::Broken(error)) => Look::Broken(error),
            (None, _) => Look::Missing,
        },
    }
}

/// The version of the compiler at hand, if it has the target.
fn installed(root: &Path) -> Look<String> {
    let chosen = std::env::var_os("RUSTC");
    if chosen.is_none() && in_path("rustc").is_none() {
        return Look::Missing;
    }
    // Rustup answers for a compiler that it does not find, for example when HOME is not there.
    let version = match works(own_rustc(root).arg("--version")) {
        Ok(version) => version,
        Err(error) => return Look::Broken(format!("`rustc --version` says: {error}")),
    };
    let arguments = ["--print", "target-libdir", "--target", kit().target];
    let has_core = output(own_rustc(root).args(arguments)).is_some_and(|folder| {
        std::fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| {
                    entry
                        .file_name()
                        .as_encoded_bytes()
                        .starts_with(b"libcore-")
                })
            })
        })
    });
    match has_core {
        true => Look::There(version),
        false => Look::Missing,
    }
}

/// Debian's compiler in a file system, if it is recent enough and the library's sources are there.
fn debian_in(root: &Path) -> Option<(Debian, String)> {
    let libraries = match root == Path::new("/") {
        true => None,
        false => folder::libraries(root),
    };
    let tool = |path| Tool {
        path: root.join(path),
        arguments: Vec::new(),
        libraries: libraries.clone(),
    };
    let (rustc, cargo) = (tool(DEBIAN_RUSTC), tool(DEBIAN_CARGO));
    let ask = |arguments: &[&str]| {
        let mut command = rustc.command();
        output(command.env_remove("RUSTUP_TOOLCHAIN").args(arguments))
    };
    let version = ask(&["--version"])?;
    let recent = version_in(&version)? >= RUST_LEAST;
    let sysroot = ask(&["--print", "sysroot"])?;
    let sources = Path::new(&sysroot).join("lib/rustlib/src/rust/library/core/src/lib.rs");
    (recent && sources.exists() && cargo.path.exists())
        .then_some((Debian { rustc, cargo }, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_target_comes_first_and_a_broken_compiler_is_no_missing_one() {
        let debian = || {
            let tool = |path: &str| Tool::of_the_system(path.into());
            let (rustc, cargo) = (tool("/usr/bin/rustc"), tool("/usr/bin/cargo"));
            Some((Debian { rustc, cargo }, "b".to_string()))
        };
        let build_std = || debian().map(|(debian, version)| (Rust::BuildStd(debian), version));
        let there = || Look::There("a".to_string());
        let broken = || Look::Broken("no default".to_string());
        let a = Look::There((Rust::Installed, "a".to_string()));
        assert_eq!(choose(there(), debian), a);
        assert_eq!(choose(there(), || None), a);
        assert_eq!(
            Some(choose(Look::Missing, debian)),
            build_std().map(Look::There)
        );
        assert_eq!(Some(choose(broken(), debian)), build_std().map(Look::There));
        assert_eq!(choose(broken(), || None), Look::Broken("no default".into()));
        assert_eq!(choose(Look::Missing, || None), Look::Missing);
    }

    #[test]
    fn a_rust_that_is_too_old_is_refused_with_what_to_do() {
        let refusal = check_version("rustc 1.85.0 (4d91de4e4 2025-02-17)").unwrap_err();
        for word in ["1.95 or later", "rustc 1.85.0", "rustup update stable"] {
            assert!(refusal.0.contains(word), "{refusal}");
        }
        for enough in [
            "rustc 1.95.0 (a 2026-04-14)",
            "rustc 1.100.0",
            "rustc 2.0.0",
            "?",
        ] {
            assert_eq!(check_version(enough), Ok(()), "{enough}");
        }
    }
}
