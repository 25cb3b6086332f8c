//! Missing tools and the Debian packages that contain them.

use crate::MIN_RUST_VERSION;
use crate::detection_result::MIN_QEMU_VERSION;
use crate::query::parse_version;
use crate::toolchain::board_toolchain;
use std::fmt;

/// Command that adds the library sources to rustup's compiler.
pub const ADD_SOURCES: &str = "rustup component add rust-src";

/// Debian packages of Rust with the core library's sources, in order of preference. The first set is kept recent for
/// browsers. The first package of a set specifies the version.
const RUST_PACKAGES: [[&str; 4]; 2] = [
    ["rustc-web", "cargo-web", "libstd-rust-web-dev", "rust-web-src"],
    ["rustc", "cargo", "libstd-rust-dev", "rust-src"],
];

/// Debian packages of gfortran for riscv64 and of its static library, in order of preference: the tested version first.
pub const FORTRAN_PACKAGES: [[&str; 2]; 3] = [
    ["gfortran-12-riscv64-linux-gnu", "libgfortran-12-dev-riscv64-cross"],
    ["gfortran-14-riscv64-linux-gnu", "libgfortran-14-dev-riscv64-cross"],
    ["gfortran-13-riscv64-linux-gnu", "libgfortran-13-dev-riscv64-cross"],
];

/// A missing tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingTool {
    /// The requested compiler's library for the target.
    Target,
    /// Rust compiler with its library for the nodes.
    Rust,
    /// Emulator.
    Qemu,
    /// C compiler.
    Gcc,
    /// C library.
    Picolibc,
    /// Fortran compiler, for programs in Fortran only.
    Fortran,
}

impl MissingTool {
    /// Returns the name of the directory for its unpacked packages.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Target | Self::Rust => "rust",
            Self::Qemu => board_toolchain().qemu_dir,
            Self::Gcc => board_toolchain().gcc_dir,
            Self::Picolibc => board_toolchain().picolibc_dir,
            Self::Fortran => "gfortran",
        }
    }

    /// Returns the Debian packages for it: alternatives in order of preference, each a set of packages that belong
    /// together. `candidate` returns the version that apt would install.
    ///
    /// # Errors
    /// Returns an error if no package is usable.
    pub fn packages(self, candidate: impl Fn(&str) -> Option<String>) -> Result<Vec<Vec<&'static str>>, NoPackage> {
        let known = |packages: &[&'static str]| {
            let known = packages.iter().filter(|p| candidate(p).is_some());
            known.map(|package| vec![*package]).collect::<Vec<_>>()
        };
        let alternatives = match self {
            Self::Target => Vec::new(),
            Self::Rust => rust_packages(candidate)?,
            Self::Qemu => known(board_toolchain().qemu_packages),
            Self::Gcc => known(&[board_toolchain().gcc_package]),
            Self::Picolibc => known(&[board_toolchain().picolibc_package]),
            Self::Fortran => { FORTRAN_PACKAGES.iter() }
                .filter(|packages| packages.iter().all(|package| candidate(package).is_some()))
                .map(|packages| packages.to_vec())
                .collect(),
        };
        if alternatives.is_empty() {
            Err(NoPackage::Unknown)
        } else {
            Ok(alternatives)
        }
    }

    /// Checks whether a package is of this kind. An installed package of the same kind can block the requested one; an
    /// unpacked package cannot.
    pub fn is_about(self, package: &str) -> bool {
        match self {
            Self::Target | Self::Rust => ["rustc", "cargo", "libstd-rust", "rust-"]
                .iter()
                .any(|begin| package.starts_with(begin)),
            Self::Qemu => package.starts_with("qemu"),
            Self::Gcc | Self::Picolibc => package.contains(board_toolchain().triple),
            Self::Fortran => package.contains("gfortran") && package.contains(board_toolchain().processor),
        }
    }
}

fn rust_packages(candidate: impl Fn(&str) -> Option<String>) -> Result<Vec<Vec<&'static str>>, NoPackage> {
    let mut recent = Vec::new();
    let mut too_old = None;
    for packages in RUST_PACKAGES {
        if !packages.iter().all(|package| candidate(package).is_some()) {
            continue;
        }
        let Some(version) = candidate(packages[0]) else {
            continue;
        };
        match parse_version(&version) {
            Some(found) if found >= MIN_RUST_VERSION => recent.push(packages.to_vec()),
            _ => too_old = too_old.or(Some(NoPackage::TooOld(packages[0], version))),
        }
    }
    match too_old {
        Some(too_old) if recent.is_empty() => Err(too_old),
        _ => Ok(recent),
    }
}

/// Returns all supported packages.
pub fn all_packages() -> impl Iterator<Item = &'static str> {
    let others = [board_toolchain().gcc_package, board_toolchain().picolibc_package];
    RUST_PACKAGES
        .into_iter()
        .flatten()
        .chain(board_toolchain().qemu_packages.iter().copied())
        .chain(others)
        .chain(FORTRAN_PACKAGES.into_iter().flatten())
}

/// Reason why a need has no package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPackage {
    /// The package lists contain none.
    Unknown,
    /// The lists contain this package, but its version is too old.
    TooOld(&'static str, String),
}

impl fmt::Display for NoPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the package lists have no package for it"),
            Self::TooOld(package, version) => write!(
                f,
                "{package} is {version} here, {}.{} or later is needed",
                MIN_RUST_VERSION.0, MIN_RUST_VERSION.1
            ),
        }
    }
}

/// The missing tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingTools(pub Vec<MissingTool>);

impl fmt::Display for MissingTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, need) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match need {
                MissingTool::Target | MissingTool::Rust => {
                    write!(f, "a Rust compiler for {}", board_toolchain().target)?
                }
                MissingTool::Qemu => {
                    let (major, minor) = MIN_QEMU_VERSION;
                    write!(f, "{} {major}.{minor} or later", board_toolchain().qemu)?
                }
                MissingTool::Gcc => f.write_str(board_toolchain().gcc)?,
                MissingTool::Picolibc => write!(f, "picolibc for {}", board_toolchain().processor)?,
                MissingTool::Fortran => write!(f, "gfortran for {}", board_toolchain().processor)?,
            }
        }
        Ok(())
    }
}

impl MissingTools {
    /// Returns instructions for a system with an unknown package manager.
    pub fn by_hand(&self) -> String {
        let toolchain = board_toolchain();
        let mut lines =
            vec!["this system's package manager is not known here (apt-get is); install with yours:".to_string()];
        lines.extend(self.0.iter().map(|need| match need {
            MissingTool::Target | MissingTool::Rust => {
                format!("  the sources of Rust's own library: {ADD_SOURCES}")
            }
            MissingTool::Qemu => format!(
                "  QEMU for {} ({}), often called {}",
                toolchain.processor, toolchain.qemu, toolchain.qemu_elsewhere
            ),
            MissingTool::Gcc => format!(
                "  GCC for bare-metal {} ({}), often called {}",
                toolchain.processor, toolchain.gcc, toolchain.gcc_elsewhere
            ),
            MissingTool::Picolibc => format!(
                "  picolibc for {} (picolibc.specs in that GCC's directories)",
                toolchain.processor
            ),
            MissingTool::Fortran => format!(
                "  gfortran for Linux on {} (riscv64-linux-gnu-gfortran) with its static library",
                toolchain.processor
            ),
        }));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists<'a>(known: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |package| {
            let (_, version) = known.iter().find(|(name, _)| *name == package)?;
            Some((*version).into())
        }
    }

    #[test]
    fn qemu_comes_in_the_package_that_the_lists_have() {
        let packages = |known: &[&'static str]| {
            let known: Vec<_> = known.iter().map(|name| (*name, "1")).collect();
            MissingTool::Qemu.packages(lists(&known))
        };
        let alone = vec![vec!["qemu-system-misc"]];
        assert_eq!(packages(&["qemu-system-misc"]), Ok(alone));
        let both = vec![vec!["qemu-system-riscv"], vec!["qemu-system-misc"]];
        assert_eq!(packages(&["qemu-system-misc", "qemu-system-riscv"]), Ok(both));
        assert_eq!(packages(&[]), Err(NoPackage::Unknown));
    }

    #[test]
    fn a_fortran_compiler_comes_with_its_library() {
        let [[compiler, library], [other, other_library], _] = FORTRAN_PACKAGES;
        let packages = |known: &[&'static str]| {
            let known: Vec<_> = known.iter().map(|name| (*name, "1")).collect();
            MissingTool::Fortran.packages(lists(&known))
        };
        assert_eq!(packages(&[compiler, other_library]), Err(NoPackage::Unknown));
        let both = vec![vec![compiler, library], vec![other, other_library]];
        assert_eq!(packages(&[other, other_library, library, compiler]), Ok(both));
    }

    #[test]
    fn packages_of_one_kind_are_told_from_others() {
        for (need, own, other) in [
            (MissingTool::Qemu, "qemu-utils", "libslirp0"),
            (MissingTool::Gcc, "binutils-riscv64-unknown-elf", "binutils"),
            (MissingTool::Rust, "libstd-rust-web-1.96", "librust-libc-dev"),
            (MissingTool::Fortran, FORTRAN_PACKAGES[0][1], "libgfortran-12-dev"),
        ] {
            assert!(need.is_about(own) && !need.is_about(other), "{need:?}");
        }
    }

    #[test]
    fn a_rust_that_would_be_rejected_is_not_installed() {
        let web = |version| RUST_PACKAGES[0].map(|package| (package, version));
        let plain = |version| RUST_PACKAGES[1].map(|package| (package, version));
        // Debian 12 with its security updates, and without them.
        let recent = [&web("1.96.0+dfsg1-1~deb12u2")[..], &plain("1.63.0+dfsg1-2")].concat();
        assert_eq!(
            MissingTool::Rust.packages(lists(&recent)),
            Ok(vec![RUST_PACKAGES[0].to_vec()])
        );
        let old = [&web("1.85.0+dfsg3-1~deb12u3")[..], &plain("1.63.0+dfsg1-2")].concat();
        let refused = MissingTool::Rust.packages(lists(&old)).unwrap_err();
        assert!(matches!(refused, NoPackage::TooOld("rustc-web", _)));
        assert!(refused.to_string().contains("1.95 or later"), "{refused}");
        // A Debian with a recent Rust of its own.
        assert_eq!(
            MissingTool::Rust.packages(lists(&plain("1.100.0+dfsg1-1"))),
            Ok(vec![RUST_PACKAGES[1].to_vec()])
        );
        // A compiler without its library's sources is useless.
        assert_eq!(
            MissingTool::Rust.packages(lists(&web("1.96.0")[..3])),
            Err(NoPackage::Unknown)
        );
    }
}
