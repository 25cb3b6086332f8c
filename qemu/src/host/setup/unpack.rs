//! Unpacking of packages into Midplane's own directory.

use super::commands::{print_message, run_shown};
use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use midplane_setup::apt::PackageLists;
use midplane_setup::dependency::MissingTool;
use midplane_setup::package_dir::{PACKAGES, is_wanted};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name prefix of incomplete directories.
const UNDER_WAY: &str = ".under-way-";

/// Fetches packages, each as `name=version`, and unpacks the required files into the need's directory below `dir`.
/// The directory appears atomically. Waits for other processes that do the same.
pub fn unpack(dir: &Path, need: MissingTool, packages: &[String], lists: &PackageLists) -> Result<(), CliError> {
    if packages.is_empty() {
        return Err(CliError::unusable(
            "apt-get reports the package as installed, but its content was not found",
        ));
    }
    let lock = dir.join("lock");
    let lock = File::create(&lock).context(format_args!("create {}", lock.display()))?;
    if lock.try_lock().is_err() {
        print_message("waiting for another process that installs packages");
        lock.lock().context("wait for a lock")?;
    }
    let place = dir.join(need.directory());
    remove_leftovers(dir)?;
    let scratch = dir.join(format!("{UNDER_WAY}{}", need.directory()));
    let (archives, root) = (scratch.join("archives"), scratch.join("root"));
    for part in [&archives, &root] {
        fs::create_dir_all(part).context(format_args!("create {}", part.display()))?;
    }
    let mut download = lists.command("apt-get");
    download
        .args(["--quiet", "-o", "APT::Sandbox::User=root", "download"])
        .args(packages.iter().filter(|package| !is_base(package)))
        .current_dir(&archives);
    run_shown(download)?;
    print_message(&format!("unpacking in {}", place.display()));
    for archive in files(&archives)? {
        unpack_archive(&archive, &root, &scratch)?;
    }
    let names = packages.join("\n") + "\n";
    fs::write(root.join(PACKAGES), names).context("record the unpacked packages")?;
    if place.exists() {
        let old = dir.join(format!("{UNDER_WAY}old"));
        fs::rename(&place, &old).context(format_args!("move {} away", place.display()))?;
    }
    fs::rename(&root, &place).context(format_args!("create {}", place.display()))?;
    remove_leftovers(dir)
}

/// The C library must match the loader; both are the system's.
fn is_base(package: &str) -> bool {
    let name = package.split('=').next().unwrap_or(package);
    matches!(name, "libc6" | "libc-bin")
}

/// Removes the files of an interrupted process. The caller holds the lock.
fn remove_leftovers(dir: &Path) -> Result<(), CliError> {
    for entry in files(dir)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(UNDER_WAY) {
            fs::remove_dir_all(&entry).context(format_args!("remove {}", entry.display()))?;
        }
    }
    Ok(())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .context(format_args!("read {}", dir.display()))
}

/// Unpacks the required files of one archive.
fn unpack_archive(archive: &Path, root: &Path, scratch: &Path) -> Result<(), CliError> {
    let listed = tar(archive, &["--list"])?;
    let wanted: String = listed
        .lines()
        // tar creates directories on demand.
        .filter(|path| is_wanted(path) && !path.ends_with('/'))
        .flat_map(|path| [path, "\n"])
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let list = scratch.join("wanted");
    File::create(&list)
        .and_then(|mut file| file.write_all(wanted.as_bytes()))
        .context(format_args!("write {}", list.display()))?;
    let argument = |option: &str, path: &Path| format!("{option}={}", path.display());
    let arguments = [
        "--extract".to_string(),
        "--no-same-owner".to_string(),
        argument("--directory", root),
        "--verbatim-files-from".to_string(),
        argument("--files-from", &list),
    ];
    tar(archive, &arguments.each_ref().map(String::as_str)).map(|_| ())
}

/// Runs tar on a package's files and returns its output.
fn tar(archive: &Path, arguments: &[&str]) -> Result<String, CliError> {
    let mut open = Command::new("dpkg-deb");
    open.arg("--fsys-tarfile")
        .arg(archive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    sys::bind_to_this_process(&mut open, Signal::TERM, Vec::new());
    let mut opened = open.spawn().context("run dpkg-deb")?;
    let files = opened
        .stdout
        .take()
        .ok_or_else(|| CliError::failure("dpkg-deb has no output"))?;
    let mut tar = Command::new("tar");
    tar.args(arguments).stdin(files).stderr(Stdio::piped());
    // File names stay unquoted in any locale.
    tar.env("LC_ALL", "C").env("TAR_OPTIONS", "--quoting-style=literal");
    sys::bind_to_this_process(&mut tar, Signal::TERM, Vec::new());
    let output = tar.output().context("run tar")?;
    // tar may end before dpkg-deb has written the archive's padding.
    drop(tar);
    let opened = opened.wait().context("wait for dpkg-deb")?;
    if !output.status.success() || !opened.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(CliError::unusable(format!(
            "cannot unpack {}: {}",
            archive.display(),
            said.lines().next().unwrap_or("dpkg-deb failed")
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_never_unpacked() {
        assert!(is_base("libc6=2.36-9") && is_base("libc6"));
        assert!(!is_base("libcapstone4=4.0.2-5"));
    }

    /// Uses a package created here, since no other one is sure to exist.
    #[test]
    fn only_what_is_wanted_is_unpacked() {
        if super::super::in_path("dpkg-deb").is_none() {
            // This path requires Debian or a derivative.
            return;
        }
        let dir = std::env::temp_dir().join(format!("midplane-unpack-{}", std::process::id()));
        let files = [
            (
                "DEBIAN/control",
                "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: a\n",
            ),
            ("usr/bin/qemu-system-riscv64", "wanted"),
            ("usr/bin/qemu-system-avr", "other"),
            ("usr/share/doc/a/copyright", "other"),
            ("usr/share/qemu/two words", "wanted"),
        ];
        let package = dir.join("package");
        for (name, content) in files {
            let file = package.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        let archive = dir.join("a.deb");
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([&package, &archive])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let root = dir.join("root");
        fs::create_dir_all(&root).unwrap();
        unpack_archive(&archive, &root, &dir).unwrap();
        for (name, content) in &files[1..] {
            assert_eq!(root.join(name).exists(), *content == "wanted", "{name}");
        }
        fs::write(&archive, "no archive").unwrap();
        let stop = unpack_archive(&archive, &root, &dir).unwrap_err();
        assert!(stop.message.contains("a.deb"), "{stop}");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_was_broken_off_is_removed() {
        let dir = std::env::temp_dir().join(format!("midplane-left-{}", std::process::id()));
        for name in [".under-way-qemu/root", ".under-way-old", "gcc/usr"] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        remove_leftovers(&dir).unwrap();
        assert_eq!(files(&dir).unwrap(), [dir.join("gcc")]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
