//! Cargo as the compiler of the runtime and of Rust programs.

use crate::build::board::Board;
use crate::build::target;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{ToolSet, no_cargo};
use crate::host::sys;
use crate::show::console::print_error_line;
use midplane_setup::stamp::BuildArtifact;
use midplane_setup::toolchain::board_toolchain;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiler of a Rust library or program.
pub(super) struct Compiler {
    /// The cargo command for the target.
    pub(super) cargo: Command,
    /// Cargo's shared target directory.
    pub(super) target: PathBuf,
    pub(super) profile: &'static str,
    /// Output directory of the profile, relative to `target`.
    pub(super) output: PathBuf,
    /// Version of the compiler.
    pub(super) version: String,
}

impl Compiler {
    /// Creates the nodes' compiler for this cargo subcommand.
    pub(super) fn for_nodes(tools: &ToolSet, command: &str) -> Result<Self, CliError> {
        let profile = Board::chosen().profile();
        let dir = target_directory(tools);
        let target = target::to_compile_for(tools, &dir)?;
        Ok(Compiler {
            cargo: tools.rust.cargo(directories::root(), command, &target),
            target: dir,
            profile,
            output: Path::new(board_toolchain().target).join(profile),
            version: format!("{} {}", tools.rust_version, target.display()),
        })
    }
}

/// Returns the target directory of cargo for nodes.
pub(super) fn target_directory(tools: &ToolSet) -> PathBuf {
    directories::target().join("midplane").join(tools.rust.directory())
}

/// Reason of a failed build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BuildTrouble {
    /// Rust's standard library is required, but not available.
    LacksStd,
    /// A package is missing or cannot be fetched.
    LacksPackage,
    /// The compiler or the linker reports an error.
    Compiler,
}

/// Runs cargo to build this file, by default in the workspace to use its configuration. Shows cargo's output except the
/// messages of a build without work. Returns `None` on success.
pub(super) fn run_cargo(
    mut cargo: Command,
    artifact: Option<&BuildArtifact>,
) -> Result<Option<BuildTrouble>, CliError> {
    let begun = artifact.map(BuildArtifact::begin);
    let color = if std::io::stderr().is_terminal() {
        "always"
    } else {
        "never"
    };
    if cargo.get_current_dir().is_none() {
        cargo.current_dir(directories::root());
    }
    cargo
        .env("CARGO_TERM_COLOR", color)
        // Incremental builds, if the user's environment enables them, disable optimization across crates and enlarge
        // images.
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    sys::bind_to_this_process(&mut cargo, Signal::TERM, Vec::new());
    let mut child = cargo.spawn().map_err(no_cargo)?;
    let mut hearing = CargoFilter::default();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if hearing.is_news(&line) {
                print_error_line(line);
            }
        }
    }
    let status = child.wait().context("wait for cargo")?;
    if let (true, Some(artifact), Some(Ok(begun))) = (status.success(), artifact, begun) {
        // Without the stamp, cargo is called again the next time.
        let _ = artifact.succeeded(begun);
    }
    let trouble = hearing.trouble.unwrap_or(BuildTrouble::Compiler);
    Ok((!status.success()).then_some(trouble))
}

/// Filter of cargo's output.
#[derive(Default)]
struct CargoFilter {
    /// Whether the current line belongs to a suppressed warning.
    is_amid: bool,
    /// The first reason found.
    trouble: Option<BuildTrouble>,
}

/// Cargo's messages about a package that cannot be fetched.
const LACKS_PACKAGE: [&str; 6] = [
    "no matching package",
    "failed to get `",
    "failed to download",
    "failed to select a version",
    "failed to load source",
    "Unable to update",
];

impl CargoFilter {
    /// Checks whether a line is useful to the user. Suppresses messages of a build without work, and the compiler's
    /// warning for each package that the processor features in `.cargo/along.toml` are unstable.
    fn is_news(&mut self, line: &str) -> bool {
        let trouble = match line {
            line if line.contains("can't find crate for `std`") => Some(BuildTrouble::LacksStd),
            line if LACKS_PACKAGE.iter().any(|words| line.contains(words)) => Some(BuildTrouble::LacksPackage),
            _ => None,
        };
        self.trouble = self.trouble.or(trouble);
        if self.is_amid {
            self.is_amid = !line.is_empty();
            return false;
        }
        self.is_amid = line.contains("unstable feature specified for `-Ctarget-feature`");
        let counts = [") generated ", "warning"].iter().all(|words| line.contains(words));
        !self.is_amid && !counts && !line.contains("Finished")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_is_passed_on_where_it_is_news() {
        let said = "   Compiling a v0.1.0\n\
            warning: unstable feature specified for `-Ctarget-feature`: `relax`\n  |\n  = note: this\n\n\
            warning: `a` (lib) generated 2 warnings (1 duplicate)\n\
            warning: unused variable: `x`\n --> src/main.rs:1:1\n\n    Finished `node` profile";
        let mut hearing = CargoFilter::default();
        let news: Vec<&str> = said.lines().filter(|line| hearing.is_news(line)).collect();
        let unused = ["warning: unused variable: `x`", " --> src/main.rs:1:1", ""];
        assert_eq!(news[0].trim(), "Compiling a v0.1.0");
        assert_eq!(news[1..], unused);
    }
}
