//! Directories of the sources and of the build results.

use crate::host::error::{CliError, ErrorContext};
use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Location of the sources that this command compiles for programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceTree {
    /// Checkout that the launcher or a build of this command belongs to.
    Checkout(PathBuf),
    /// Copy that an installed command contains, unpacked into this directory of the user; `None` if the user has none.
    Carried(Option<PathBuf>),
}

/// Directory of the sources within the directory of an installed command; also the name of the link to them.
pub const SOURCES: &str = "sources";

impl SourceTree {
    /// Returns the sources of this process.
    pub fn current() -> &'static Self {
        static TREE: OnceLock<SourceTree> = OnceLock::new();
        TREE.get_or_init(|| {
            let told = std::env::var_os(midplane_setup::ROOT);
            let executable = std::env::current_exe().ok();
            Self::locate(told, executable.as_deref(), midplane_setup::package_dir::user_dir())
        })
    }

    /// Selects the launcher's checkout, else the checkout in whose target directory the executable is. Any other
    /// executable is installed and uses its own copy.
    fn locate(told: Option<OsString>, executable: Option<&Path>, user: Option<PathBuf>) -> Self {
        if let Some(root) = told.map(PathBuf::from).filter(|root| root.is_absolute()) {
            return Self::Checkout(root);
        }
        if executable.is_some_and(|executable| cargo_target(executable).is_some()) {
            let package = Path::new(env!("CARGO_MANIFEST_DIR"));
            return Self::Checkout(package.parent().unwrap_or(package).into());
        }
        let version = concat!(env!("CARGO_PKG_VERSION"), "-", env!("MIDPLANE_SOURCES"));
        Self::Carried(user.map(|user| user.join(version)))
    }
}

/// Returns the target directory of cargo that contains an executable or a test.
fn cargo_target(executable: &Path) -> Option<PathBuf> {
    let profile = executable.parent()?;
    let profile = if profile.ends_with("deps") {
        profile.parent()?
    } else {
        profile
    };
    let target = profile.parent()?;
    // Cargo writes the tag only into a directory that it creates itself.
    let marks = [target.join("CACHEDIR.TAG"), profile.join(".fingerprint")];
    marks.iter().any(|mark| mark.exists()).then(|| target.into())
}

/// Returns the directory of the sources: a checkout, or the unpacked copy of an installed command.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| match SourceTree::current() {
        SourceTree::Checkout(root) => root.clone(),
        SourceTree::Carried(Some(directory)) => directory.join(SOURCES),
        // Commands that require the sources are refused (`build::carried`).
        SourceTree::Carried(None) => "/".into(),
    })
}

/// Returns the directory of the sources for manifests of packages. It does not depend on the version of the command.
pub fn root_for_packages() -> PathBuf {
    match SourceTree::current() {
        SourceTree::Carried(Some(directory)) => directory.with_file_name(SOURCES),
        _ => root().into(),
    }
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
    let dir = midplane_setup::package_dir::user_dir()?;
    let dir = dir.join(format!("target-{:016x}", hasher.finish()));
    std::fs::create_dir_all(&dir).ok()?;
    is_writable(&dir).then_some(dir)
}

/// Returns the target directory that contains this program, else that of the sources.
pub fn built() -> PathBuf {
    if let SourceTree::Carried(Some(directory)) = SourceTree::current() {
        return directory.join("target");
    }
    let executable = std::env::current_exe().ok();
    let target = executable.and_then(|executable| cargo_target(&executable));
    target.unwrap_or_else(|| root().join("target"))
}

/// Returns the directory of the compiled runtimes of a release archive: next to that of the executable, with the version
/// of its sources. Its layout is that of cargo's target directory.
pub fn compiled_runtimes() -> Option<PathBuf> {
    let SourceTree::Carried(Some(directory)) = SourceTree::current() else {
        return None;
    };
    let executable = std::env::current_exe().ok()?;
    let prefix = executable.parent()?.parent()?;
    Some(prefix.join("lib/midplane").join(directory.file_name()?))
}

/// Writes a file atomically: a reader finds the old file or the new one.
pub fn write_atomically(file: &Path, text: impl AsRef<[u8]>, mode: u32) -> Result<(), CliError> {
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

    fn checkout(told: Option<&str>, executable: &Path) -> Option<PathBuf> {
        match SourceTree::locate(told.map(OsString::from), Some(executable), Some("/cache".into())) {
            SourceTree::Checkout(root) => Some(root),
            SourceTree::Carried(directory) => {
                let directory = directory.expect("a directory of the user");
                assert!(directory.starts_with("/cache/"), "{}", directory.display());
                None
            }
        }
    }

    #[test]
    fn a_command_in_a_target_directory_uses_the_checkout_and_an_installed_one_its_copy() {
        let this = std::env::current_exe().unwrap();
        assert!(checkout(None, &this).is_some_and(|root| midplane_setup::check_root(&root).is_ok()));
        assert_eq!(checkout(None, Path::new("/usr/local/bin/midplane")), None);
        for executable in [&this, Path::new("/usr/local/bin/midplane")] {
            assert_eq!(checkout(Some("/moved"), executable), Some("/moved".into()));
            assert_eq!(checkout(Some("relative"), executable), checkout(None, executable));
        }
    }

    #[test]
    fn a_user_without_a_directory_is_told_apart() {
        let tree = SourceTree::locate(None, Some(Path::new("/bin/midplane")), None);
        assert_eq!(tree, SourceTree::Carried(None));
    }
}
