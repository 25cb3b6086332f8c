//! Directories of the sources and of the build results.

use crate::host::error::{CliError, ErrorContext};
use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the workspace: the launcher's path, else the build-time path.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| root_from(std::env::var_os(midplane_setup::ROOT)))
}

fn root_from(told: Option<OsString>) -> PathBuf {
    let told = told.map(PathBuf::from).filter(|root| root.is_absolute());
    told.unwrap_or_else(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        package.parent().unwrap_or(Path::new(".")).into()
    })
}

/// Returns cargo's target directory: [the one that contains this program](built), or a directory of the user for this
/// checkout if the former is read-only.
pub fn target() -> PathBuf {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let built = built();
        if is_writable(&built) {
            built
        } else {
            user_cache(root()).unwrap_or(built)
        }
    });
    target.clone()
}

/// Checks whether programs can be built in it.
fn is_writable(target: &Path) -> bool {
    let ours = target.join("midplane");
    std::fs::create_dir_all(&ours).is_ok() && access(&ours, Access::WRITE_OK).is_ok()
}

/// Returns the user's directory for the build results of a checkout, if it can be created.
fn user_cache(root: &Path) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    let folder = midplane_setup::package_dir::user_dir()?;
    let folder = folder.join(format!("target-{:016x}", hasher.finish()));
    std::fs::create_dir_all(&folder).ok()?;
    is_writable(&folder).then_some(folder)
}

/// Returns the target directory that contains this program, else the workspace's.
pub fn built() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.ancestors().nth(2).map(PathBuf::from))
        .filter(|target| target.join("CACHEDIR.TAG").exists())
        .unwrap_or_else(|| root().join("target"))
}

/// Writes a file atomically: a reader finds the old file or the new one.
pub fn write_atomically(file: &Path, text: &str, mode: u32) -> Result<(), CliError> {
    let mut new = file.as_os_str().to_os_string();
    new.push(format!(".{}", std::process::id()));
    let written = fs::write(&new, text)
        .and_then(|()| fs::set_permissions(&new, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&new, file));
    written.context(format_args!("write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_checkout_that_was_moved_the_launcher_is_believed() {
        assert_eq!(root_from(Some("/moved".into())), Path::new("/moved"));
        for told in [None, Some("relative".into())] {
            assert!(midplane_setup::check_root(&root_from(told)).is_ok());
        }
    }
}
