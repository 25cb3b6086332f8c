//! Read-only queries to apt: candidate versions in the package lists, and the effect of an installation.

use crate::dependency::all_packages;
use crate::query::{in_path, output, run_checked};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Package lists that apt reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackageLists {
    /// The system's package lists.
    System,
    /// Package lists in Midplane's own directory. An ordinary user can update them.
    Own(PathBuf),
}

impl PackageLists {
    /// Returns the apt options that select these lists.
    pub fn options(&self) -> Vec<String> {
        match self {
            Self::System => Vec::new(),
            Self::Own(directory) => [("State::Lists", "lists/"), ("Cache", "cache/")]
                .into_iter()
                .flat_map(|(what, name)| {
                    let place = directory.join(name);
                    ["-o".into(), format!("Dir::{what}={}", place.display())]
                })
                .collect(),
        }
    }

    /// Creates an apt command that uses these lists and prints English messages.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options()).env("LC_ALL", "C");
        command
    }
}

/// Checks whether this system uses apt.
pub fn is_there() -> bool {
    ["apt-get", "apt-cache", "dpkg-deb"]
        .into_iter()
        .all(|program| in_path(program).is_some())
}

/// Method of installing packages on this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Installer {
    /// This process runs as root.
    Root,
    /// sudo works without a password.
    Sudo,
}

impl Installer {
    /// Determines the method. Ignores a password that sudo has cached, because apt-get runs without a terminal.
    pub fn find() -> Option<Self> {
        // The owner of this directory is the effective user (proc(5)).
        if Path::new("/proc/self").metadata().is_ok_and(|m| m.uid() == 0) {
            return Some(Self::Root);
        }
        in_path("sudo")?;
        let asks_nothing = Command::new("sudo")
            .args(["-k", "-n", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        asks_nothing.is_ok_and(|status| status.success()).then_some(Self::Sudo)
    }

    /// Creates the command that runs apt-get with these arguments. It changes the system.
    pub fn apt_get(self, arguments: &[String]) -> Command {
        let mut command = match self {
            Self::Root => {
                let mut command = Command::new("apt-get");
                command.env("DEBIAN_FRONTEND", "noninteractive");
                command
            }
            Self::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
                command
            }
        };
        // Waits up to 300 s for the lock of another package manager, for example on a freshly booted machine.
        command
            .args(["--quiet", "-o", "DPkg::Lock::Timeout=300"])
            .args(arguments);
        command
    }
}

/// Returns the apt-get arguments that install packages. They also forbid the removals that the simulation checks for.
pub fn install(packages: &[&str]) -> Vec<String> {
    ["install", "--yes", "--no-remove", "--no-install-recommends"]
        .iter()
        .chain(packages)
        .map(|argument| (*argument).to_string())
        .collect()
}

/// Returns the candidate version of each supported package that the lists contain.
pub fn candidates(lists: &PackageLists) -> HashMap<String, String> {
    output(lists.command("apt-cache").arg("policy").args(all_packages()))
        .map(|text| parse_candidates(&text))
        .unwrap_or_default()
}

/// Parses the output of `apt-cache policy`.
fn parse_candidates(policy: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut package = "";
    for line in policy.lines() {
        if !line.starts_with(' ') {
            package = line.trim_end_matches(':');
        } else if let Some(version) = line.trim().strip_prefix("Candidate:") {
            let version = version.trim();
            if version != "(none)" {
                found.insert(package.to_string(), version.to_string());
            }
        }
    }
    found
}

/// Effect of an installation.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct InstallSimulation {
    /// Packages to install, each as `name=version`.
    pub install: Vec<String>,
    /// Packages to remove.
    pub remove: Vec<String>,
    /// Packages to downgrade.
    pub downgrade: Vec<String>,
}

impl InstallSimulation {
    /// Simulates an installation with apt. Requires neither `--yes` nor root.
    ///
    /// # Errors
    /// Returns apt's message if it cannot install the packages.
    pub fn run(packages: &[&str], lists: &PackageLists) -> Result<Self, String> {
        let mut command = lists.command("apt-get");
        command
            .args(["--simulate", "install", "--no-install-recommends"])
            .args(packages);
        run_checked(&mut command).map(|text| Self::read(&text))
    }

    /// Simulates an installation as if no package that `leave_out` selects were installed. The result contains all
    /// packages required for unpacking outside the system. Without this, a newer installed version can block the
    /// requested one.
    ///
    /// # Errors
    /// Returns apt's message if it finds no solution.
    pub fn simulate_without(
        packages: &[&str],
        lists: &PackageLists,
        leave_out: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let status = output(Command::new("apt-config").args(["shell", "FILE", "Dir::State::status/f"]))
            .and_then(|text| Some(text.strip_prefix("FILE='")?.strip_suffix('\'')?.to_string()))
            .unwrap_or_else(|| "/var/lib/dpkg/status".into());
        let installed = fs::read_to_string(&status).map_err(|e| format!("{status}: {e}"))?;
        let file = std::env::temp_dir().join(format!("midplane-status-{}", std::process::id()));
        let error = |e: std::io::Error| format!("{}: {e}", file.display());
        File::create_new(&file)
            .and_then(|mut file| file.write_all(without(&installed, leave_out).as_bytes()))
            .map_err(error)?;
        let mut command = lists.command("apt-get");
        command
            .arg("-o")
            .arg(format!("Dir::State::status={}", file.display()))
            .args(["--simulate", "install", "--no-install-recommends"])
            .args(packages);
        let simulated = run_checked(&mut command).map(|text| Self::read(&text));
        fs::remove_file(&file).map_err(error)?;
        simulated
    }

    fn read(text: &str) -> Self {
        let mut simulation = Self::default();
        let mut is_downgrade_list = false;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                // `Inst NAME [OLD] (NEW ARCHIVE [ARCHITECTURE])`; `[OLD]` is optional.
                Some("Inst") => {
                    let name = words.next().unwrap_or_default();
                    let version = words.find_map(|word| word.strip_prefix('('));
                    simulation.install.push(match version {
                        Some(version) => format!("{name}={version}"),
                        None => name.to_string(),
                    });
                }
                Some("Remv") => simulation.remove.extend(words.next().map(String::from)),
                _ => {}
            }
            if !line.starts_with(' ') {
                is_downgrade_list = line.ends_with("will be DOWNGRADED:");
            } else if is_downgrade_list {
                let names = line.split_whitespace().map(String::from);
                simulation.downgrade.extend(names);
            }
        }
        simulation
    }

    /// Describes removals and downgrades; `None` if there are none.
    pub fn harm(&self) -> Option<String> {
        let parts = [("remove", &self.remove), ("downgrade", &self.downgrade)]
            .into_iter()
            .filter(|(_, packages)| !packages.is_empty())
            .map(|(verb, packages)| format!("{verb} {}", packages.join(", ")))
            .collect::<Vec<_>>();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

/// Removes some packages from dpkg's status file, paragraph by paragraph.
fn without(status: &str, leave_out: impl Fn(&str) -> bool) -> String {
    status
        .split_inclusive("\n\n")
        .filter(|paragraph| {
            let name = paragraph.lines().find_map(|line| line.strip_prefix("Package:"));
            name.is_none_or(|name| !leave_out(name.trim()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian 12 without any of the packages.
    const CLEAN: &str = include_str!("../tests/apt/clean.txt");
    /// Debian 12 with qemu-utils 10.0 from the backports.
    const REMOVES: &str = include_str!("../tests/apt/removes.txt");
    /// The same machine; Debian 12's qemu-utils is requested.
    const DOWNGRADES: &str = include_str!("../tests/apt/downgrades.txt");
    const POLICY: &str = include_str!("../tests/apt/policy.txt");

    #[test]
    fn a_clean_machine_is_not_harmed() {
        let simulation = InstallSimulation::read(CLEAN);
        assert_eq!(simulation.harm(), None);
        let package = "picolibc-riscv64-unknown-elf=1.8-1";
        assert!(simulation.install.iter().any(|p| p == package));
        assert_eq!(simulation.install.len(), 63);
    }

    #[test]
    fn a_newer_package_that_would_go_is_seen() {
        let simulation = InstallSimulation::read(REMOVES);
        assert_eq!(simulation.harm().as_deref(), Some("remove qemu-utils"));
        assert_eq!(simulation.install.len(), 25);
        assert_eq!(simulation.install[0], "libbrlapi0.8=6.5-7+deb12u1");
    }

    #[test]
    fn a_downgrade_is_seen() {
        let simulation = InstallSimulation::read(DOWNGRADES);
        assert_eq!(simulation.harm().as_deref(), Some("downgrade qemu-utils"));
        // The new version, not the installed one.
        let package = "qemu-utils=1:7.2+dfsg-7+deb12u18+b3";
        assert_eq!(simulation.install, [package]);
    }

    #[test]
    fn candidates_are_read_and_a_package_without_one_is_not_available() {
        let found = parse_candidates(POLICY);
        let version = |package: &str| found.get(package).map(String::as_str);
        assert_eq!(version("rustc-web"), Some("1.96.0+dfsg1-1~deb12u2"));
        assert_eq!(version("qemu-system-riscv"), None);
        assert_eq!(version("qemu-system-misc"), Some("1:7.2+dfsg-7+deb12u18+b3"));
        let none = "pkg:\n  Installed: 1\n  Candidate: (none)\n";
        assert!(parse_candidates(none).is_empty() && parse_candidates("").is_empty());
    }

    #[test]
    fn installed_packages_are_left_out_by_name() {
        let paragraph = |name: &str| format!("Package: {name}\nStatus: install ok installed\n\n");
        let [a, b, c] = ["libc6", "qemu-utils", "zlib1g"].map(paragraph);
        let status = format!("{a}{b}{c}");
        assert_eq!(without(&status, |name| name == "qemu-utils"), a + &c);
    }

    #[test]
    fn lists_of_our_own_are_named_to_apt() {
        assert!(PackageLists::System.options().is_empty());
        let own = PackageLists::Own("/c/apt".into());
        let options = [
            "-o",
            "Dir::State::Lists=/c/apt/lists/",
            "-o",
            "Dir::Cache=/c/apt/cache/",
        ];
        assert_eq!(own.options(), options);
    }

    #[test]
    fn what_installs_cannot_remove() {
        let line = crate::query::line(&Installer::Root.apt_get(&install(&["a"])));
        assert!(line.contains("--no-remove"), "{line}");
        assert!(!line.contains("sudo"), "{line}");
    }
}
