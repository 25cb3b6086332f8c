//! Report of `midplane doctor`. Installs nothing and writes nothing.

use crate::apt::Lists;
use crate::found::Found;
use crate::kit::kit;
use crate::look::Look;
use crate::machine::{Machine, touched};
use crate::plan::{self, ThisMachine, Tried};
use crate::rust::{Choice, Rust};
use crate::{DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY, Places, Refusal};
use std::fmt::Write;

/// Detected tools and planned actions.
pub struct Report {
    /// Lines to print.
    pub text: String,
    /// Whether every required tool is usable.
    pub all_there: bool,
}

/// Checks the machine and creates the report.
///
/// # Errors
/// Returns an error if the environment requests an unknown compiler.
pub fn examine(places: &Places) -> Result<Report, Refusal> {
    let choice = Choice::read()?;
    let found = Found::look(choice, places);
    let mut text = table(&found);
    let mebibytes = DEFAULT_NODE_MEMORY >> 20;
    let touched = touched(DEFAULT_NODE_MEMORY, DEFAULT_MPI_MEMORY);
    let nodes = Machine::look().capacity_shared(touched, 1);
    row(
        &mut text,
        "this machine",
        &format!("room for {nodes} nodes of {mebibytes}M now"),
    );
    let all_there = what_would_be_done(&found, choice, places, &mut text);
    Ok(Report { text, all_there })
}

fn row(text: &mut String, name: &str, state: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{name:<15} {state}");
}

fn table(found: &Found) -> String {
    fn state<T>(look: &Look<T>, shown: impl FnOnce(&T) -> String) -> String {
        match look {
            Look::There(found) => shown(found),
            Look::Missing => "missing".into(),
            Look::Broken(error) => format!("does not work: {error}"),
        }
    }
    let mut text = String::new();
    let target = kit().target;
    let rust = state(&found.rust, |(rust, version)| match rust {
        Rust::Sources => format!("{version}, core library built for {target} from source"),
        Rust::Installed => format!("{version}, target {target} installed"),
        Rust::Debian(debian) => format!(
            "{version}, {}, core library built for {target} from source",
            debian.rustc.path.display()
        ),
    });
    let tool = |(tool, version): &(crate::ask::Tool, String)| {
        format!("{version}, {}", tool.path.display())
    };
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
fn what_would_be_done(found: &Found, choice: Choice, places: &Places, text: &mut String) -> bool {
    let missing = match found.missing(choice) {
        Ok(missing) if missing.0.is_empty() => return true,
        Ok(missing) => missing,
        Err(refusal) => {
            text.push_str(&format!("{refusal}\n"));
            return false;
        }
    };
    let machine = ThisMachine::with(Lists::System);
    match plan::plan(&missing, choice, &Tried::default(), &machine) {
        Ok(plan) => {
            text.push_str("`cargo midplane run` and `test` would do this first:\n");
            for line in plan.describe(&plan::own_folder(places)) {
                text.push_str(&format!("  {line}\n"));
            }
        }
        Err(refusal) => text.push_str(&format!("{refusal}\n")),
    }
    false
}
