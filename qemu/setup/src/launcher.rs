//! Launcher `cargo midplane`: handles `doctor`, builds the tool if it is not up to date, and replaces itself with the
//! tool (`exec`).
//!
//! Cargo builds the launcher silently within a second and starts it in every case. The longer build of the tool is
//! visible: the launcher runs cargo with its messages on stderr. If nothing has changed, cargo is not called, so the
//! launcher does not wait for other builds.
#![forbid(unsafe_code)]

use midplane_setup::stamp::BuildArtifact;
use midplane_setup::{CheckoutDirs, ROOT, SetupError, check_root, doctor, invocation, rust, test_groups};
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Exit status for a machine that does not meet the requirements.
const USAGE: u8 = 2;
/// Exit status for a tool that does not compile.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match launch(&arguments) {
        Ok(status) => ExitCode::from(status),
        Err((status, SetupError(message))) => {
            // The exit status reports the failure even if stderr is closed.
            let _ = writeln!(io::stderr(), "midplane: {message}");
            ExitCode::from(status)
        }
    }
}

/// Returns only if the tool is not started.
fn launch(arguments: &[OsString]) -> Result<u8, (u8, SetupError)> {
    let usage = |refusal| (USAGE, refusal);
    let places = places();
    check_root(&places.root).map_err(usage)?;
    if arguments == ["doctor"] {
        return doctor(&places);
    }
    let profile = ToolProfile::from_arguments(arguments);
    let tool = profile.tool(&places);
    if !tool.is_fresh() {
        rust::check_own(&places.root).map_err(usage)?;
        build(profile, &tool, &places.root)?;
    }
    let mut command = Command::new(&tool.file);
    // The tool prints this name in help texts.
    command.arg0(invocation::LAUNCHED);
    let error = command.env(ROOT, &places.root).args(arguments).exec();
    let message = format!("cannot start {}: {error}", tool.file.display());
    Err((FAILURE, SetupError(message)))
}

/// Returns the package directory that cargo specifies; without cargo, the build-time directory.
fn places() -> CheckoutDirs {
    let package = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.ancestors().nth(2).map_or(package.clone(), Path::to_path_buf);
    // `target/launcher/midplane-launcher`; the name of a Rust target may be in between.
    let target = env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().nth(2).map(PathBuf::from))
        .unwrap_or_else(|| root.join("target"));
    CheckoutDirs { root, target }
}

fn doctor(places: &CheckoutDirs) -> Result<u8, (u8, SetupError)> {
    let report = doctor::examine(places).map_err(|refusal| (USAGE, refusal))?;
    let mut stdout = io::stdout();
    let written = { stdout.write_all(report.text.as_bytes()) }.and_then(|()| stdout.flush());
    // A closed pipe is no error: its reader needs no more output.
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let message = format!("cannot write to stdout: {error}");
        return Err((FAILURE, SetupError(message)));
    }
    Ok(u8::from(!report.all_there))
}

/// Build profile of the tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ToolProfile {
    /// For jobs, simulations and benchmarks.
    Release,
    /// For the tests.
    Dev,
}

impl ToolProfile {
    fn from_arguments(arguments: &[OsString]) -> Self {
        match arguments.first() {
            Some(command) if command == "test" => ToolProfile::Dev,
            _ => ToolProfile::Release,
        }
    }

    /// Returns cargo's arguments. The test profile builds the tests of jobs together with the tool.
    fn words(self) -> Vec<&'static str> {
        match self {
            ToolProfile::Release => vec!["--release", "--package", "midplane"],
            ToolProfile::Dev => test_groups::command_and_jobs(),
        }
    }

    /// Returns the tool at its path in cargo's target directory.
    fn tool(self, places: &CheckoutDirs) -> BuildArtifact {
        let file = match self {
            ToolProfile::Release => "release/midplane",
            ToolProfile::Dev => "debug/midplane",
        };
        BuildArtifact {
            file: places.target.join(file),
            root: places.root.clone(),
            beside: Vec::new(),
            with: String::new(),
        }
    }
}

/// Builds the tool with cargo and shows cargo's messages.
fn build(profile: ToolProfile, tool: &BuildArtifact, root: &Path) -> Result<(), (u8, SetupError)> {
    if !tool.file.exists() {
        let _ = writeln!(
            io::stderr(),
            "midplane: building the command; the first time this takes one to two minutes"
        );
    }
    let begun = tool.begin();
    let mut cargo = Command::new(rust::own_cargo());
    cargo
        .arg("build")
        .args(profile.words())
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .stdin(std::process::Stdio::null())
        .stdout(io::stderr());
    // The outer cargo's variables for its programs must not reach the inner cargo.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    let status = cargo
        .status()
        .map_err(|error| (USAGE, SetupError(rust::no_cargo(&error))))?;
    if !status.success() {
        let message = "the command does not compile; what cargo says is above";
        return Err((FAILURE, SetupError(message.into())));
    }
    if let Ok(begun) = begun {
        // Without the stamp, cargo is called again the next time.
        let _ = tool.succeeded(begun);
    }
    Ok(())
}
