//! Where this command builds, and what it builds from.

use std::path::{Path, PathBuf};

/// The workspace that this command was built from, and builds from.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's folder for build results: where we have been built, else the workspace's own.
pub fn target() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().nth(2).map(PathBuf::from))
        .filter(|target| target.join("CACHEDIR.TAG").exists())
        .unwrap_or_else(|| root().join("target"))
}
