//! Report of `midplane doctor`. Installs nothing and writes nothing.

use crate::apt::PackageLists;
use crate::detect::{self, DetectedTools};
use crate::detection_result::ToolDetection;
use crate::invocation::command_name;
use crate::machine::{MachineResources, touched_bytes};
use crate::plan::{self, CompletedAttempts, HostMachine};
use crate::query::run_checked;
use crate::rust::{self, RustChoice, RustSource};
use crate::toolchain::{VIRT, board_toolchain};
use crate::{CheckoutDirs, DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY, SetupError};
use std::fmt::Write;
use std::process::Command;

/// Detected tools and planned actions.
pub struct DoctorReport {
    /// Lines to print.
    pub text: String,
    /// Whether every required tool is usable.
    pub all_there: bool,
}

/// Checks the machine and creates the report.
///
/// # Errors
/// Returns an error if the environment requests an unknown compiler.
pub fn examine(places: &CheckoutDirs) -> Result<DoctorReport, SetupError> {
    let choice = RustChoice::read()?;
    let found = DetectedTools::detect(choice, places);
    let mut text = String::new();
    let has_host_tools = host_tools(places, &mut text);
    text.push_str(&table(&found));
    fortran(&found, places, &mut text);
    let mebibytes = DEFAULT_NODE_MEMORY >> 20;
    let touched = touched_bytes(DEFAULT_NODE_MEMORY, DEFAULT_MPI_MEMORY);
    let nodes = MachineResources::read().capacity_shared(touched, 1);
    row(
        &mut text,
        "this machine",
        &format!("room for {nodes} nodes of {mebibytes}M now"),
    );
    let has_node_tools = what_would_be_done(&found, choice, places, &mut text);
    Ok(DoctorReport {
        text,
        all_there: has_host_tools && has_node_tools,
    })
}

/// Appends the compilers of the host, which every job requires and `run` does not install. Returns true if both work.
fn host_tools(places: &CheckoutDirs, text: &mut String) -> bool {
    let rust = rust::check_own(&places.root);
    let cc = run_checked(Command::new("cc").arg("--version"));
    let (state, cc_state) = (
        rust.clone().unwrap_or_else(|SetupError(why)| why),
        match &cc {
            Ok(version) => version.lines().next().unwrap_or_default().to_string(),
            Err(error) => format!("missing: cannot run `cc`: {error}; install a C compiler, for example gcc"),
        },
    );
    row(text, "Rust", &state);
    row(text, "host C compiler", &cc_state);
    rust.is_ok() && cc.is_ok()
}

fn row(text: &mut String, name: &str, state: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{name:<15} {state}");
}

/// Appends the Fortran compilers, which only programs in Fortran require.
fn fortran(found: &DetectedTools, places: &CheckoutDirs, text: &mut String) {
    let chosen = std::env::var_os("MIDPLANE_FC").filter(|name| !name.is_empty());
    let name = chosen.unwrap_or_else(|| "gfortran".into());
    let host = match run_checked(Command::new(&name).arg("--version")) {
        Ok(version) => version.lines().next().unwrap_or_default().to_string(),
        Err(_) => "missing (only Fortran programs require it); install gfortran".into(),
    };
    row(text, "host Fortran", &host);
    if board_toolchain() != &VIRT {
        return;
    }
    let nodes = match { found.gcc.usable() }.map(|(gcc, _)| detect::fortran(gcc, places)) {
        Some(ToolDetection::Usable((tool, version))) => format!("{version}, {}", tool.path.display()),
        Some(ToolDetection::Broken(error)) => format!("does not work: {error}"),
        Some(ToolDetection::Missing) | None => {
            "missing (only Fortran programs require it); fetched with the first one".into()
        }
    };
    row(text, "Fortran", &nodes);
}

fn table(found: &DetectedTools) -> String {
    fn state<T>(look: &ToolDetection<T>, shown: impl FnOnce(&T) -> String) -> String {
        match look {
            ToolDetection::Usable(found) => shown(found),
            ToolDetection::Missing => "missing".into(),
            ToolDetection::Broken(error) => format!("does not work: {error}"),
        }
    }
    let mut text = String::new();
    let target = board_toolchain().target;
    let rust = state(&found.rust, |(rust, version)| match rust {
        RustSource::Sources => format!("{version}, core library built for {target} from source"),
        RustSource::Installed => format!("{version}, target {target} installed"),
        RustSource::Debian(debian) => format!(
            "{version}, {}, core library built for {target} from source",
            debian.rustc.path.display()
        ),
    });
    let tool = |(tool, version): &(crate::query::SystemTool, String)| format!("{version}, {}", tool.path.display());
    row(&mut text, "Rust for nodes", &rust);
    row(&mut text, "QEMU", &state(&found.qemu, tool));
    row(&mut text, "C compiler", &state(&found.gcc, tool));
    let picolibc = state(&found.picolibc, |(_, specs, version)| {
        format!("{version}, {}", specs.display())
    });
    row(&mut text, "picolibc", &picolibc);
    text
}

/// Appends the actions that `run` would perform; returns true if there are none.
fn what_would_be_done(found: &DetectedTools, choice: RustChoice, places: &CheckoutDirs, text: &mut String) -> bool {
    let missing = match found.missing(choice) {
        Ok(missing) if missing.0.is_empty() => return true,
        Ok(missing) => missing,
        Err(refusal) => {
            text.push_str(&format!("{refusal}\n"));
            return false;
        }
    };
    let machine = HostMachine::with(PackageLists::System);
    match plan::plan(&missing, choice, &CompletedAttempts::default(), &machine) {
        Ok(plan) => {
            text.push_str(&format!("`{} run` would do this first:\n", command_name()));
            for line in plan.describe(&plan::own_dir(places)) {
                text.push_str(&format!("  {line}\n"));
            }
        }
        Err(refusal) => text.push_str(&format!("{refusal}\n")),
    }
    false
}
