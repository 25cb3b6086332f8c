//! Detection and planning of the tools that Midplane requires.
//!
//! Three tools are required in addition to the Rust toolchain of the host tool: a Rust compiler for the nodes, QEMU,
//! and a C compiler with picolibc for the nodes. This crate does not change the machine. It detects ([`detect`],
//! [`apt`]), plans ([`plan`]) and reports ([`doctor`]). The tool executes the plan.
//!
//! ```text
//! launcher ---- doctor --+-- detect (rust, package_dir)   installed tools
//!     |                  +-- dependency (toolchain)             missing tools and their packages
//!     |                  +-- plan (apt)             method and target of each installation
//!     +-------- stamp                               is the tool up to date?
//! ```
#![forbid(unsafe_code)]

pub mod apt;
pub mod dependency;
pub mod detect;
pub mod detection_result;
pub mod doctor;
pub mod invocation;
pub mod machine;
pub mod package_dir;
pub mod plan;
pub mod query;
pub mod rust;
pub mod stamp;
pub mod test_groups;
pub mod toolchain;

use std::fmt;
use std::path::{Path, PathBuf};

/// Minimum Rust version that builds Midplane, the workspace's `rust-version`.
pub const MIN_RUST_VERSION: (u32, u32) = (1, 95);
/// Variable in which the launcher passes the workspace's path to the tool. The path in a binary is that of its build:
/// cargo does not rebuild in a checkout that was moved.
pub const ROOT: &str = "MIDPLANE_ROOT";
/// Default RAM of a node in bytes. The host allocates it on first use.
pub const DEFAULT_NODE_MEMORY: u64 = 64 << 20;
/// Default upper limit of the node's MPI memory in bytes.
pub const DEFAULT_MPI_MEMORY: u64 = 1 << 20;

/// Reason why the machine cannot be used as requested, and the remedy: a message for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupError(pub String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Directories of this checkout.
#[derive(Clone, Debug)]
pub struct CheckoutDirs {
    /// Workspace.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target: PathBuf,
}

/// Checks that `root` is a checkout of this workspace. It is none if the checkout was moved after the calling program
/// was built in it.
///
/// # Errors
/// Returns a message with the remedy if `root` is no checkout.
pub fn check_root(root: &Path) -> Result<(), SetupError> {
    if root.join("kernel-rt/Cargo.toml").exists() {
        Ok(())
    } else {
        Err(SetupError(format!(
            "this command was built in {}, where there is no checkout of Midplane any more; run \
         `cargo midplane` in the checkout",
            root.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_rust_is_the_workspaces() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let (major, minor) = MIN_RUST_VERSION;
        let line = format!("rust-version = \"{major}.{minor}\"");
        assert!(manifest.lines().any(|l| l == line), "{line}");
    }

    #[test]
    fn a_checkout_that_was_moved_is_told_from_one_that_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(check_root(&root), Ok(()));
        let refusal = check_root(Path::new("/nonexistent/old")).unwrap_err();
        assert!(refusal.0.contains("/nonexistent/old"), "{refusal}");
        assert!(refusal.0.contains("cargo midplane"), "{refusal}");
    }
}
