//! Provision of the required tools: detects them, and fetches the missing ones.
//!
//! The package `midplane-setup` detects the tools and plans the steps. This module executes the plan step by step, and
//! prints each command first ([`commands`]). Detection runs again after each step.

mod commands;
mod unpack;

use crate::host::error::{CliError, ErrorContext};
use crate::show::console::print_bytes;
use commands::{print_message, run_shown, run_uninterrupted};
use midplane_setup::apt::{self, PackageLists};
use midplane_setup::dependency::{ADD_SOURCES, FORTRAN_PACKAGES, MissingTool, MissingTools};
pub use midplane_setup::detect::ToolSet;
use midplane_setup::detect::{DetectedTools, fortran, qemu};
use midplane_setup::detection_result::ToolDetection;
use midplane_setup::invocation::command_name;
use midplane_setup::plan::{CompletedAttempts, HostMachine, PlanStep, plan};
pub use midplane_setup::query::{SystemTool, in_path};
pub use midplane_setup::rust::own_cargo;
use midplane_setup::rust::{self, RustChoice, RustSource};
use midplane_setup::toolchain::board_toolchain;
use midplane_setup::{CheckoutDirs, SetupError, doctor as examination, package_dir};
use std::path::{Path, PathBuf};
use std::process::Command;

impl From<SetupError> for CliError {
    fn from(SetupError(message): SetupError) -> Self {
        Self::unusable(message)
    }
}

fn places() -> CheckoutDirs {
    CheckoutDirs {
        root: crate::host::directories::root().into(),
        target: crate::host::directories::built(),
    }
}

/// Checks whether a supported QEMU is available.
pub fn has_qemu() -> bool {
    matches!(qemu(&places()), ToolDetection::Usable(_))
}

/// Returns the reason and the remedy if no QEMU is available.
pub fn no_qemu() -> String {
    format!(
        "QEMU is not installed (`{} doctor` lists missing tools)",
        command_name()
    )
}

/// Returns the directory of the LLVM linker in the Rust compiler's installation, if there is one.
pub fn llvm_linker() -> Option<PathBuf> {
    rust::own_llvm_linker(&places())
}

/// Returns the error for a failed start of [`own_cargo`].
pub fn no_cargo(error: std::io::Error) -> CliError {
    CliError::unusable(rust::no_cargo(&error))
}

/// Prints the detected tools and the actions that `run` would perform; returns true if nothing is missing.
pub fn doctor() -> Result<bool, CliError> {
    let report = examination::examine(&places())?;
    print_bytes(report.text.as_bytes())?;
    Ok(report.all_there)
}

/// Detects all tools and fetches the missing ones.
///
/// Blocks for commands that can run for minutes. A signal ends the process, but not during an installation: then the
/// signal's error is returned after the installation completes.
pub fn ensure() -> Result<ToolSet, CliError> {
    let choice = RustChoice::read()?;
    let mut fetching = ToolInstaller::new();
    let mut said = false;
    loop {
        let found = DetectedTools::detect(choice, &fetching.places);
        if let Some(tools) = found.tools() {
            if fetching.has_library_crates(&tools.rust)? {
                return Ok(tools);
            }
            continue;
        }
        let missing = found.missing(choice)?;
        let machine = HostMachine::with(fetching.lists.clone());
        let plan = plan(&missing, choice, &fetching.tried, &machine)?;
        let Some(step) = plan.steps.first() else {
            return Err(CliError::unusable(format!("missing: {missing}")));
        };
        if !said {
            print_message(&format!("missing: {missing}; fetching"));
            said = true;
        }
        fetching.execute_step(step).map_err(|stop| {
            if stop.message.is_empty() {
                stop
            } else {
                CliError::unusable(format!("{stop}; still missing: {missing}"))
            }
        })?;
    }
}

/// Detects the nodes' Fortran compiler and fetches it if it is missing. `program` is the Fortran file that requires it.
///
/// Blocks, and handles signals, as [`ensure`].
///
/// # Errors
/// Returns a usage error if the compiler is not available here.
pub fn ensure_fortran(gcc: &SystemTool, program: &Path) -> Result<SystemTool, CliError> {
    let mut fetching = ToolInstaller::new();
    let needs = || MissingTools(vec![MissingTool::Fortran]);
    loop {
        match fortran(gcc, &fetching.places) {
            ToolDetection::Usable((tool, _)) => return Ok(tool),
            ToolDetection::Broken(error) => return Err(CliError::unusable(error)),
            ToolDetection::Missing => {}
        }
        let program = program.display();
        if !apt::is_there() {
            let [compiler, library] = FORTRAN_PACKAGES[0];
            return Err(CliError::unusable(format!(
                "{program} is Fortran: install gfortran for Linux on {} with its static library (Debian: {compiler} \
                 and {library}), or use --on linux",
                board_toolchain().processor
            )));
        }
        let machine = HostMachine::with(fetching.lists.clone());
        let plan = plan(&needs(), RustChoice::read()?, &fetching.tried, &machine)
            .map_err(|SetupError(why)| CliError::unusable(format!("{program} is Fortran: {why}")))?;
        let Some(step) = plan.steps.first() else {
            return Err(CliError::unusable(format!("missing: {}", needs())));
        };
        print_message(&format!("{program} is Fortran; missing: {}; fetching", needs()));
        fetching.execute_step(step)?;
    }
}

/// State of a fetch operation.
struct ToolInstaller {
    places: CheckoutDirs,
    tried: CompletedAttempts,
    lists: PackageLists,
}

impl ToolInstaller {
    fn new() -> Self {
        Self {
            places: places(),
            tried: CompletedAttempts::default(),
            lists: PackageLists::System,
        }
    }

    fn execute_step(&mut self, step: &PlanStep) -> Result<(), CliError> {
        match step {
            PlanStep::Rustup => {
                self.tried.rustup = true;
                let mut words = ADD_SOURCES.split(' ');
                let mut rustup = Command::new(words.next().unwrap_or_default());
                rustup.args(words);
                match run_shown(rustup) {
                    Err(stop) if stop.message.is_empty() => Err(stop),
                    Ok(()) if rust::has_own_sources(&self.places) => Ok(()),
                    _ => self.continue_without_sources("rustup cannot add the sources of Rust's library"),
                }
            }
            PlanStep::Update(by) => {
                self.tried.update = true;
                run_uninterrupted(by.apt_get(&["update".into()]))
            }
            PlanStep::UpdateOwn => self.update_own(),
            PlanStep::Install { by, needs, packages } => {
                let installed = run_uninterrupted(by.apt_get(&apt::install(packages)));
                self.retry_with_update(installed, needs, PlanStep::Update(*by))
            }
            PlanStep::Unpack { need, packages, .. } => {
                let unpacked = self
                    .package_directory()
                    .and_then(|dir| unpack::unpack(&dir, *need, packages, &self.lists));
                self.retry_with_update(unpacked, &[*need], PlanStep::UpdateOwn)
            }
        }
    }

    /// Checks whether the crates for a build of the compiler's library are available. Cargo fetches all of them before
    /// the first build. If that fails, for example without a network, the library is not built from source.
    fn has_library_crates(&self, rust: &RustSource) -> Result<bool, CliError> {
        let built = self.places.target.join("midplane").join(rust.directory());
        if *rust != RustSource::Sources || built.exists() {
            return Ok(true);
        }
        let mut fetch = rust.cargo(&self.places.root, "fetch", board_toolchain().target.as_ref());
        fetch.args(["--quiet", "--manifest-path", "kernel-rt/Cargo.toml"]);
        fetch.current_dir(&self.places.root);
        match run_shown(fetch) {
            Ok(()) => Ok(true),
            Err(stop) if stop.message.is_empty() => Err(stop),
            Err(_) => {
                self.continue_without_sources("cargo cannot fetch the dependencies of Rust's library")?;
                Ok(false)
            }
        }
    }

    /// Falls back to an installed target or to Debian's compiler.
    fn continue_without_sources(&self, why: &str) -> Result<(), CliError> {
        let note = self.package_directory()?.join(package_dir::NO_SOURCES);
        let version = rust::own_version(&self.places).unwrap_or_default();
        std::fs::write(&note, version).context(format_args!("write {}", note.display()))?;
        print_message(&format!("{why}; doing without, while {} is available", note.display()));
        Ok(())
    }

    /// Package lists may contain versions that the server no longer provides. They are updated once, then planning
    /// starts again.
    fn retry_with_update(
        &mut self,
        done: Result<(), CliError>,
        needs: &[MissingTool],
        update: PlanStep,
    ) -> Result<(), CliError> {
        match done {
            Err(stop) if !stop.message.is_empty() && !self.tried.update => {
                print_message(&format!("{stop}; retrying with new package lists"));
                self.execute_step(&update)
            }
            Err(stop) => Err(stop),
            Ok(()) => {
                self.tried.needs.extend(needs);
                Ok(())
            }
        }
    }

    fn update_own(&mut self) -> Result<(), CliError> {
        self.tried.update = true;
        let dir = self.package_directory()?.join("apt");
        for part in ["lists/partial", "cache/archives/partial"] {
            let part = dir.join(part);
            std::fs::create_dir_all(&part)
                .map_err(|error| CliError::unusable(format!("cannot create {}: {error}", part.display())))?;
        }
        self.lists = PackageLists::Own(dir);
        let mut update = self.lists.command("apt-get");
        update.args(["--quiet", "update"]);
        run_shown(update)
    }

    /// Creates and returns Midplane's own directory.
    fn package_directory(&self) -> Result<PathBuf, CliError> {
        let mut why = String::new();
        for dir in package_dir::candidates(&self.places) {
            match std::fs::create_dir_all(&dir) {
                Ok(()) => return Ok(dir),
                Err(error) => why = format!("cannot create {}: {error}", dir.display()),
            }
        }
        Err(CliError::unusable(why))
    }
}
