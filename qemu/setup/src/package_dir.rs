//! Midplane's own package directory. Packages are unpacked there where they cannot be installed.
//!
//! ```text
//! $XDG_CACHE_HOME/midplane, else ~/.cache/midplane, else target/midplane/packages
//!     qemu/  gcc/  picolibc/  gfortran/  rust/    one per need, those of other boards with their processor's name, each with the file `packages`, written last
//!     apt/                             package lists, where the system's cannot be updated
//!     no-sources                       Rust compiler whose library sources are not available
//! ```
//!
//! The same directory contains `target-*`: build results of a read-only checkout.
//!
//! The directory belongs to the user and not to the checkout. `cargo clean` or a second clone thus require no second
//! download. It can be removed at any time.

use crate::CheckoutDirs;
use crate::dependency::MissingTool;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File in a need's directory that lists its packages. It is written after all of them are unpacked.
pub const PACKAGES: &str = "packages";
/// File that contains the version of a Rust compiler whose library cannot be built from source. It prevents a new
/// attempt in each run.
pub const NO_SOURCES: &str = "no-sources";

/// Returns the candidate directories in search order. Packages are unpacked into the first one that can be created.
pub fn candidates(places: &CheckoutDirs) -> Vec<PathBuf> {
    let own = places.target.join("midplane/packages");
    user_dir().into_iter().chain([own]).collect()
}

/// Returns the user's directory; `None` without a home directory.
pub fn user_dir() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    user_dir_from(variable("XDG_CACHE_HOME"), variable("HOME"))
}

fn user_dir_from(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    // Relative paths are ignored (XDG Base Directory Specification, "Environment variables").
    let cache = cache.filter(|cache| cache.is_absolute());
    // A missing home directory is not created.
    let home = home.filter(|home| home.is_absolute() && home.is_dir());
    let user = cache.or_else(|| home.map(|home| home.join(".cache")));
    user.map(|cache| cache.join("midplane"))
}

/// Returns the directory that contains this need's unpacked packages.
pub fn find_dir(places: &CheckoutDirs, need: MissingTool) -> Option<PathBuf> {
    candidates(places)
        .into_iter()
        .map(|directory| directory.join(need.directory()))
        .find(|directory| directory.join(PACKAGES).exists())
}

/// Returns the content of [`NO_SOURCES`], if the file exists.
pub fn no_sources(places: &CheckoutDirs) -> Option<String> {
    let directories = candidates(places);
    let mut files = directories.iter().map(|directory| directory.join(NO_SOURCES));
    files.find_map(|file| std::fs::read_to_string(file).ok())
}

/// Returns the library directories below a file system root, for `LD_LIBRARY_PATH`. Searches `lib`, `usr/lib` and two
/// levels below (`x86_64-linux-gnu`, and private directories of packages).
pub fn libraries(root: &Path) -> Option<OsString> {
    let mut found = Vec::new();
    for top in ["usr/lib", "lib"] {
        collect_libraries(&root.join(top), 2, &mut found);
    }
    std::env::join_paths(found).ok()
}

fn collect_libraries(directory: &Path, levels: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    let mut below = Vec::new();
    let mut has_libraries = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => below.push(entry.path()),
            _ => has_libraries |= name.starts_with("lib") && name.contains(".so"),
        }
    }
    if has_libraries {
        found.push(directory.into());
    }
    below.sort();
    for directory in below.iter().filter(|_| levels > 0) {
        collect_libraries(directory, levels - 1, found);
    }
}

/// Checks whether a package's file is required, by its path from the root. The omitted files are four fifths of the 1.4
/// GB: other emulators, C and compiler libraries for other processors and ABIs, C++, and documentation.
pub fn is_wanted(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let name = parts.last().copied().unwrap_or_default();
    let starts = |prefix: &[&str]| parts.starts_with(prefix);
    let documentation = ["doc", "man", "info", "locale", "lintian"]
        .iter()
        .any(|directory| starts(&["usr", "share", directory]));
    let other_emulator =
        starts(&["usr", "bin"]) && name.starts_with("qemu-") && name != crate::toolchain::board_toolchain().qemu;
    // Directories `rv64imafdc/lp64d`: processor and ABI. A directory `release`, a second C library, may be in between.
    let other_machine = parts.iter().enumerate().any(|(at, part)| {
        (part.starts_with("rv32") || part.starts_with("rv64"))
            && (*part != "rv64imafdc" || parts.get(at + 1).is_some_and(|abi| *abi != "lp64d"))
    });
    let picolibc = starts(&["usr", "lib", "picolibc"]) && parts.contains(&"release");
    let gcc = starts(&["usr", "lib", "gcc"])
        && (name == "cc1plus" || parts.contains(&"plugin") && !name.starts_with("liblto_plugin"))
        || name.ends_with("-lto-dump");
    !(documentation || other_emulator || other_machine || picolibc || gcc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_the_users_where_there_is_a_user() {
        let here = std::env::temp_dir();
        let home = Some(here.clone());
        assert_eq!(
            user_dir_from(Some("/c".into()), home.clone()),
            Some("/c/midplane".into())
        );
        for cache in [None, Some("relative".into())] {
            let own = here.join(".cache/midplane");
            assert_eq!(user_dir_from(cache, home.clone()), Some(own));
        }
        for home in [None, Some("/nonexistent/home".into()), Some("home".into())] {
            assert_eq!(user_dir_from(None, home), None);
        }
    }

    /// Paths of Debian's packages.
    #[test]
    fn what_other_machines_need_is_left_out() {
        for wanted in [
            "./",
            "./usr/bin/",
            "./usr/bin/qemu-system-riscv64",
            "./usr/bin/riscv64-unknown-elf-gcc",
            "./usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin",
            "./usr/lib/x86_64-linux-gnu/libslirp.so.0",
            "./lib/x86_64-linux-gnu/libnl-3.so.200",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/cc1",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/liblto_plugin.so",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/libgcc.a",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/rv64imafdc/lp64d/libgcc.a",
            "./usr/lib/picolibc/riscv64-unknown-elf/lib/libc.a",
            "./usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs",
            "./usr/lib/picolibc/riscv64-unknown-elf/lib/rv64imafdc/lp64d/libc.a",
            "./usr/lib/picolibc/riscv64-unknown-elf/include/stdio.h",
            "./usr/bin/riscv64-linux-gnu-gfortran-12",
            "./usr/lib/gcc-cross/riscv64-linux-gnu/12/f951",
            "./usr/lib/gcc-cross/riscv64-linux-gnu/12/libgfortran.a",
            "./usr/lib/gcc-cross/riscv64-linux-gnu/12/finclude/ieee_arithmetic.mod",
        ] {
            assert!(is_wanted(wanted), "{wanted}");
        }
        for other in [
            "./usr/bin/qemu-system-xtensa",
            "./usr/bin/qemu-system-riscv32",
            "./usr/share/doc/qemu-system-misc/copyright",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/cc1plus",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/rv32imac/ilp32/libgcc.a",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/rv64imafdc/lp64f/libgcc.a",
            "./usr/lib/gcc/riscv64-unknown-elf/12.2.0/plugin/gtype.state",
            "./usr/lib/picolibc/riscv64-unknown-elf/lib/rv64imac/lp64/libc.a",
            "./usr/lib/picolibc/riscv64-unknown-elf/lib/release/libc.a",
            "./usr/bin/riscv64-unknown-elf-lto-dump",
        ] {
            assert!(!is_wanted(other), "{other}");
        }
    }

    #[test]
    fn library_directories_are_found_two_levels_deep() {
        let root = std::env::temp_dir().join(format!("midplane-libraries-{}", std::process::id()));
        for file in [
            "usr/lib/x86_64-linux-gnu/liba.so.1",
            "usr/lib/x86_64-linux-gnu/pulse/libb.so",
            "usr/lib/x86_64-linux-gnu/empty/readme",
            "lib/x86_64-linux-gnu/libc.so.2",
        ] {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let found = libraries(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        let directories = std::env::split_paths(&found)
            .map(|f| f.strip_prefix(&root).unwrap().display().to_string())
            .collect::<Vec<_>>();
        let usr = "usr/lib/x86_64-linux-gnu";
        assert_eq!(
            directories,
            [usr, "usr/lib/x86_64-linux-gnu/pulse", "lib/x86_64-linux-gnu"]
        );
    }
}
