//! What Midplane needs of the machine: what is there, what is missing, and what would be done about it.
//!
//! Three things are needed besides the Rust that builds the tool: a Rust compiler for the nodes, QEMU, and a
//! C compiler with picolibc for the nodes. Nothing in this crate changes the machine: it looks ([`found`],
//! [`apt`]), decides ([`plan`]), and says ([`doctor`]). The tool carries a plan out.
//!
//! ```text
//! launcher ---- doctor --+-- found (rust, folder)   what is there
//!     |                  +-- need (kit)             what is missing, in which packages
//!     |                  +-- plan (apt)             who would install which of them where
//!     +-------- fresh                               has the tool been built from these sources?
//! ```
#![forbid(unsafe_code)]

pub mod apt;
pub mod ask;
pub mod doctor;
pub mod folder;
pub mod found;
pub mod fresh;
pub mod kit;
pub mod look;
pub mod machine;
pub mod need;
pub mod parts;
pub mod plan;
pub mod rust;

use std::fmt;
use std::path::{Path, PathBuf};

/// The least version of Rust that builds Midplane, the workspace's `rust-version`.
pub const RUST_LEAST: (u32, u32) = (1, 95);
/// Variable by which the launcher tells the tool where the workspace is. What stands in a binary is where it
/// was when it was built: cargo does not build again in a checkout that was moved.
pub const ROOT: &str = "MIDPLANE_ROOT";
/// RAM of a node in bytes when no option says otherwise. What a node does not touch takes nothing of this machine's.
pub const DEFAULT_NODE_MEMORY: u64 = 64 << 20;
/// The greatest part of it, in bytes, that is MPI memory when no option says otherwise.
pub const DEFAULT_MPI_MEMORY: u64 = 1 << 20;

/// Why the machine cannot be used as asked, and what to do: a message for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where this checkout keeps what.
#[derive(Clone, Debug)]
pub struct Places {
    /// The workspace.
    pub root: PathBuf,
    /// Cargo's folder for build results.
    pub target: PathBuf,
}

/// Checks that `root` is a checkout of this workspace. It is not when the checkout was moved after the
/// program that looks had been built in it.
///
/// # Errors
/// It is no checkout; the message says what to do.
pub fn check_root(root: &Path) -> Result<(), Refusal> {
    match root.join("kernel-rt/Cargo.toml").exists() {
        true => Ok(()),
        false => Err(Refusal(format!(
            "this command was built in {}, where there is no checkout of Midplane any more; run \
             `cargo midplane` in the checkout",
            root.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_rust_is_the_workspaces() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let (major, minor) = RUST_LEAST;
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
