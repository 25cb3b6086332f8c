//! Plan of the steps that provide the missing tools.
//!
//! The system's package manager is used only with sufficient rights and if it removes and downgrades nothing. All other
//! packages are unpacked into Midplane's own directory (see [`package_dir`]).

use crate::apt::{self, InstallSimulation, Installer, PackageLists};
use crate::dependency::ADD_SOURCES;
use crate::dependency::{MissingTool, MissingTools, NoPackage};
use crate::invocation::command_name;
use crate::query::{in_path, line};
use crate::rust::RustChoice;
use crate::{CheckoutDirs, SetupError, package_dir};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

/// Completed attempts, to prevent repetition.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CompletedAttempts {
    /// rustup was asked for the library's sources.
    pub rustup: bool,
    /// The package lists were updated.
    pub update: bool,
    /// Needs whose packages were installed or unpacked.
    pub needs: Vec<MissingTool>,
}

/// A step of the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanStep {
    /// rustup adds the sources of the compiler's library.
    Rustup,
    /// Updates the system's package lists.
    Update(Installer),
    /// Updates package lists in Midplane's directory.
    UpdateOwn,
    /// Installs packages.
    Install {
        /// Installation method.
        by: Installer,
        /// Needs that the packages provide.
        needs: Vec<MissingTool>,
        /// Package names.
        packages: Vec<&'static str>,
    },
    /// Fetches packages and unpacks them into Midplane's directory.
    Unpack {
        /// Need that the packages provide.
        need: MissingTool,
        /// Packages as `name=version`: the requested one and its dependencies, without those of the system.
        packages: Vec<String>,
        /// The requested package.
        name: &'static str,
        /// Reason why they are not installed.
        why: String,
    },
}

/// Steps in order. Detection runs again after each step, because a step may make the next one unnecessary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallPlan {
    /// The steps.
    pub steps: Vec<PlanStep>,
    /// Reason why the plan is incomplete until the package lists are updated.
    pub more_after_update: Option<String>,
}

/// Machine properties that a plan depends on.
pub trait MachineInfo {
    /// Checks whether rustup is available.
    fn has_rustup(&self) -> bool;
    /// Checks whether this system uses apt.
    fn has_apt(&self) -> bool;
    /// Returns the installation method.
    fn installer(&self) -> Option<Installer>;
    /// Returns a package's candidate version.
    fn candidate(&self, package: &str) -> Option<String>;
    /// Simulates an installation of packages.
    ///
    /// # Errors
    /// Returns apt's message if they cannot be installed.
    fn simulate(&self, packages: &[&str]) -> Result<InstallSimulation, String>;
    /// Returns the packages, each as `name=version`, to unpack for this need outside the system.
    ///
    /// # Errors
    /// Returns apt's message if they conflict.
    fn unpackable(&self, need: MissingTool, packages: &[&str]) -> Result<Vec<String>, String>;
}

/// Creates the plan.
///
/// # Errors
/// Returns an error if a missing tool is not available here, or is still missing after its installation. The message
/// contains the commands to type.
pub fn plan(
    missing: &MissingTools,
    choice: RustChoice,
    tried: &CompletedAttempts,
    machine: &dyn MachineInfo,
) -> Result<InstallPlan, SetupError> {
    let refuse = |why: &str| Err(SetupError(format!("missing: {missing}; {why}")));
    let mut steps = Vec::new();
    let mut needs = missing.0.clone();
    if !tried.rustup && choice.rustup() && machine.has_rustup() && needs.iter().any(is_rust) {
        steps.push(PlanStep::Rustup);
        needs.retain(|need| !is_rust(need));
    }
    let done = |steps| InstallPlan {
        steps,
        more_after_update: None,
    };
    if needs.is_empty() {
        return Ok(done(steps));
    }
    if needs.contains(&MissingTool::Target) {
        return if machine.has_apt() || needs == [MissingTool::Target] {
            refuse(&format!("install the library's sources with: {ADD_SOURCES}"))
        } else {
            refuse(&MissingTools(needs).by_hand())
        };
    }
    if !machine.has_apt() {
        return refuse(&missing.by_hand());
    }
    if needs.iter().any(|need| tried.needs.contains(need)) {
        return refuse(&format!(
            "still missing after installing; `{} doctor` prints the detected tools",
            command_name()
        ));
    }
    let installer = machine.installer();
    let update = || match installer {
        Some(by) => PlanStep::Update(by),
        None => PlanStep::UpdateOwn,
    };
    match divide(&needs, installer, machine) {
        Ok(divided) => {
            steps.extend(divided);
            Ok(done(steps))
        }
        // The lists may be empty, as in a container, or older than a package.
        Err(why) if !tried.update => {
            steps.push(update());
            Ok(InstallPlan {
                steps,
                more_after_update: Some(why),
            })
        }
        Err(why) => refuse(&why),
    }
}

fn is_rust(need: &MissingTool) -> bool {
    matches!(need, MissingTool::Rust | MissingTool::Target)
}

fn without_package(need: MissingTool, why: &NoPackage) -> String {
    match need {
        MissingTool::Rust => {
            format!("{why}; with rustup (https://rustup.rs) install the library's sources with: {ADD_SOURCES}")
        }
        need => format!("{}: {why}", MissingTools(vec![need])),
    }
}

/// Packages that the system can install for a need, or the reason for unpacking them instead.
type SafePackages = Result<Vec<&'static str>, String>;

/// Installs all harmless packages in one step, and unpacks the rest.
fn divide(
    needs: &[MissingTool],
    installer: Option<Installer>,
    machine: &dyn MachineInfo,
) -> Result<Vec<PlanStep>, String> {
    let mut harmless = Vec::new();
    for need in needs {
        harmless.push((*need, harmless_packages(*need, installer, machine)?));
    }
    let together: Vec<_> = harmless
        .iter()
        .flat_map(|(_, packages)| packages.iter().flatten().copied())
        .collect();
    let mut steps = Vec::new();
    if let (Some(by), false) = (installer, together.is_empty()) {
        // Harmless one by one; together they may conflict.
        match without_harm(&together, machine) {
            Ok(()) => {
                let installed = harmless.iter().filter(|(_, packages)| packages.is_ok());
                steps.push(PlanStep::Install {
                    by,
                    needs: installed.map(|(need, _)| *need).collect(),
                    packages: together,
                });
                harmless.retain(|(_, packages)| packages.is_err());
            }
            Err(why) => {
                for (_, packages) in &mut harmless {
                    *packages = packages.clone().and_then(|_| Err(why.clone()));
                }
            }
        }
    }
    for (need, packages) in harmless {
        let why = packages.err().unwrap_or_default();
        steps.push(unpack(need, why, machine)?);
    }
    Ok(steps)
}

/// Returns the first alternative that the system can install without harm.
fn harmless_packages(
    need: MissingTool,
    installer: Option<Installer>,
    machine: &dyn MachineInfo,
) -> Result<SafePackages, String> {
    let alternatives = alternatives(need, machine)?;
    if need == MissingTool::Fortran {
        return Ok(Err(
            "of the packages that it depends on, only its library is required".into()
        ));
    }
    if installer.is_none() {
        return Ok(Err("installing needs root, or sudo without a password".into()));
    }
    let mut harm = None;
    for packages in alternatives {
        match without_harm(&packages, machine) {
            Ok(()) => return Ok(Ok(packages)),
            // Reports the last reason: most systems have the last alternative.
            Err(why) => harm = Some(why),
        }
    }
    Ok(Err(harm.unwrap_or_default()))
}

fn alternatives(need: MissingTool, machine: &dyn MachineInfo) -> Result<Vec<Vec<&'static str>>, String> {
    need.packages(|package| machine.candidate(package))
        .map_err(|why| without_package(need, &why))
}

fn without_harm(packages: &[&str], machine: &dyn MachineInfo) -> Result<(), String> {
    match machine.simulate(packages) {
        Ok(simulation) => match simulation.harm() {
            Some(harm) => Err(format!("installing would {harm}")),
            None => Ok(()),
        },
        Err(error) => Err(format!("it cannot be installed beside what is there: {error}")),
    }
}

/// Unpacks the first alternative without a conflict.
fn unpack(need: MissingTool, why: String, machine: &dyn MachineInfo) -> Result<PlanStep, String> {
    let mut error = String::new();
    for alternative in alternatives(need, machine)? {
        let name = alternative[0];
        match machine.unpackable(need, &alternative) {
            Ok(mut packages) => {
                // Picolibc depends on the compiler, unpacked in a separate directory. gfortran depends on a C compiler
                // and a C library for another system.
                if matches!(need, MissingTool::Picolibc | MissingTool::Fortran) {
                    packages.retain(|package| {
                        let package = package.split('=').next().unwrap_or(package);
                        alternative.contains(&package)
                    });
                }
                return Ok(PlanStep::Unpack {
                    need,
                    packages,
                    name,
                    why,
                });
            }
            Err(words) => error = format!("apt-get cannot have {name}: {words}"),
        }
    }
    Err(error)
}

impl InstallPlan {
    /// Describes the plan, one line per step. `directory` is the directory for unpacked packages.
    pub fn describe(&self, directory: &std::path::Path) -> Vec<String> {
        let mut lines: Vec<String> = self.steps.iter().map(|step| step.describe(directory)).collect();
        if let Some(why) = &self.more_after_update {
            lines.push(format!("then look again what the package lists have: now {why}"));
        }
        lines
    }
}

impl PlanStep {
    fn describe(&self, directory: &std::path::Path) -> String {
        match self {
            Self::Rustup => ADD_SOURCES.into(),
            Self::Update(by) => line(&by.apt_get(&["update".into()])),
            Self::UpdateOwn => format!("fetch package lists into {}", directory.join("apt").display()),
            Self::Install { by, packages, .. } => line(&by.apt_get(&apt::install(packages))),
            Self::Unpack {
                need,
                packages,
                name,
                why,
            } => format!(
                "fetch {name} ({} with what it depends on) and unpack it in {}: {why}",
                CountedNoun(packages.len(), "package"),
                directory.join(need.directory()).display()
            ),
        }
    }
}

/// A count with its noun.
struct CountedNoun(usize, &'static str);

impl fmt::Display for CountedNoun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, noun) = self;
        write!(f, "{number} {noun}{}", if *number == 1 { "" } else { "s" })
    }
}

/// This machine, with cached candidate versions.
pub struct HostMachine {
    lists: PackageLists,
    candidates: HashMap<String, String>,
}

impl HostMachine {
    /// Creates the view of this machine through these package lists.
    pub fn with(lists: PackageLists) -> Self {
        let candidates = if apt::is_there() {
            apt::candidates(&lists)
        } else {
            HashMap::new()
        };
        Self { lists, candidates }
    }
}

impl MachineInfo for HostMachine {
    fn has_rustup(&self) -> bool {
        in_path("rustup").is_some()
    }

    fn has_apt(&self) -> bool {
        apt::is_there()
    }

    fn installer(&self) -> Option<Installer> {
        Installer::find()
    }

    fn candidate(&self, package: &str) -> Option<String> {
        self.candidates.get(package).cloned()
    }

    fn simulate(&self, packages: &[&str]) -> Result<InstallSimulation, String> {
        InstallSimulation::run(packages, &self.lists)
    }

    fn unpackable(&self, need: MissingTool, packages: &[&str]) -> Result<Vec<String>, String> {
        let leave_out = |package: &str| need.is_about(package);
        InstallSimulation::simulate_without(packages, &self.lists, leave_out).map(|simulation| simulation.install)
    }
}

/// Returns Midplane's own directory: the first candidate.
pub fn own_dir(places: &CheckoutDirs) -> PathBuf {
    package_dir::candidates(places).swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with the given package lists. With `conflict`, QEMU's package removes another; with `refuses`, apt
    /// finds no solution.
    struct FakeMachine {
        rustup: bool,
        apt: bool,
        installer: Option<Installer>,
        lists: &'static [(&'static str, &'static str)],
        conflict: bool,
        refuses: bool,
    }

    const DEBIAN_12: &[(&str, &str)] = &[
        ("qemu-system-misc", "1:7.2"),
        ("gcc-riscv64-unknown-elf", "12.2.0"),
        ("picolibc-riscv64-unknown-elf", "1.8"),
        ("rustc-web", "1.85.0"),
        ("cargo-web", "1.85.0"),
        ("libstd-rust-web-dev", "1.85.0"),
        ("rust-web-src", "1.85.0"),
    ];

    const CLEAN: FakeMachine = FakeMachine {
        rustup: true,
        apt: true,
        installer: Some(Installer::Root),
        lists: DEBIAN_12,
        conflict: false,
        refuses: false,
    };

    impl MachineInfo for FakeMachine {
        fn has_rustup(&self) -> bool {
            self.rustup
        }

        fn has_apt(&self) -> bool {
            self.apt
        }

        fn installer(&self) -> Option<Installer> {
            self.installer
        }

        fn candidate(&self, package: &str) -> Option<String> {
            let (_, version) = self.lists.iter().find(|(name, _)| *name == package)?;
            Some((*version).into())
        }

        fn simulate(&self, packages: &[&str]) -> Result<InstallSimulation, String> {
            let qemu = packages.contains(&"qemu-system-misc");
            if self.refuses {
                return Err("E: held packages".into());
            }
            let remove = (qemu && self.conflict).then(|| "qemu-utils".to_string());
            Ok(InstallSimulation {
                install: packages.iter().map(|p| format!("{p}=1")).collect(),
                remove: remove.into_iter().collect(),
                downgrade: Vec::new(),
            })
        }

        fn unpackable(&self, need: MissingTool, packages: &[&str]) -> Result<Vec<String>, String> {
            if packages == ["qemu-system-riscv"] {
                return Err("E: unmet dependencies".into());
            }
            // As in Debian, picolibc depends on the compiler.
            let compiler = matches!(need, MissingTool::Picolibc | MissingTool::Fortran).then_some(C[0]);
            let all = compiler.iter().chain(packages);
            Ok(all.map(|p| format!("{p}=1")).collect())
        }
    }

    /// Debian 12 with the packages of Fortran.
    const WITH_FORTRAN: &[(&str, &str)] = &[
        ("gfortran-12-riscv64-linux-gnu", "12.2.0"),
        ("libgfortran-12-dev-riscv64-cross", "12.2.0"),
    ];

    const ALL: [MissingTool; 4] = [
        MissingTool::Rust,
        MissingTool::Qemu,
        MissingTool::Gcc,
        MissingTool::Picolibc,
    ];
    const C: [&str; 2] = ["gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"];

    fn steps(machine: &FakeMachine, needs: &[MissingTool], tried: &CompletedAttempts) -> Result<Vec<PlanStep>, String> {
        plan(&MissingTools(needs.to_vec()), RustChoice::Any, tried, machine)
            .map(|plan| plan.steps)
            .map_err(|refusal| refusal.0)
    }

    #[test]
    fn on_a_clean_machine_rustup_adds_the_sources_and_apt_the_rest() {
        let install = PlanStep::Install {
            by: Installer::Root,
            needs: ALL[1..].to_vec(),
            packages: [&["qemu-system-misc"], &C[..]].concat(),
        };
        let planned = steps(&CLEAN, &ALL, &CompletedAttempts::default());
        assert_eq!(planned, Ok(vec![PlanStep::Rustup, install]));
    }

    #[test]
    fn what_would_remove_something_is_unpacked_and_the_rest_installed() {
        let machine = FakeMachine {
            conflict: true,
            ..CLEAN
        };
        let planned = steps(&machine, &ALL[1..], &CompletedAttempts::default()).unwrap();
        let [PlanStep::Install { packages, .. }, PlanStep::Unpack { need, why, .. }] = &planned[..] else {
            panic!("{planned:?}");
        };
        assert_eq!(*packages, C);
        assert_eq!(*need, MissingTool::Qemu);
        assert_eq!(why, "installing would remove qemu-utils");
    }

    /// Debian 12 with backports in its lists; their QEMU conflicts with the other packages.
    #[test]
    fn what_apt_refuses_to_install_is_unpacked_in_the_version_that_fits_together() {
        const BACKPORTS: &[(&str, &str)] = &[("qemu-system-riscv", "1:10.0"), ("qemu-system-misc", "1:7.2")];
        let machine = FakeMachine {
            lists: BACKPORTS,
            refuses: true,
            ..CLEAN
        };
        let planned = steps(&machine, &[MissingTool::Qemu], &CompletedAttempts::default()).unwrap();
        let [PlanStep::Unpack { packages, why, .. }] = &planned[..] else {
            panic!("{planned:?}");
        };
        assert_eq!(packages[..], ["qemu-system-misc=1"]);
        assert!(why.contains("beside what is there: E: held"), "{why}");
    }

    #[test]
    fn without_root_everything_is_unpacked() {
        let machine = FakeMachine {
            installer: None,
            ..CLEAN
        };
        let planned = steps(&machine, &ALL[1..], &CompletedAttempts::default()).unwrap();
        let needs = planned.iter().map(|step| match step {
            PlanStep::Unpack { need, why, .. } if why.contains("needs root") => Some(*need),
            _ => None,
        });
        assert_eq!(needs.collect::<Option<Vec<_>>>().unwrap(), ALL[1..]);
        let Some(PlanStep::Unpack { packages, .. }) = planned.last() else {
            panic!("{planned:?}");
        };
        assert_eq!(packages[..], ["picolibc-riscv64-unknown-elf=1"], "the compiler twice");
    }

    #[test]
    fn lists_that_lack_something_are_brought_up_to_date_once() {
        let empty = FakeMachine { lists: &[], ..CLEAN };
        let user = FakeMachine {
            installer: None,
            ..empty
        };
        let none = CompletedAttempts::default();
        let [qemu] = [MissingTool::Qemu];
        let update = PlanStep::Update(Installer::Root);
        assert_eq!(steps(&empty, &[qemu], &none), Ok(vec![update.clone()]));
        assert_eq!(steps(&user, &[qemu], &none), Ok(vec![PlanStep::UpdateOwn]));
        let updated = CompletedAttempts {
            update: true,
            ..none.clone()
        };
        let refusal = steps(&empty, &[qemu], &updated).unwrap_err();
        assert!(refusal.contains("no package"), "{refusal}");
        // Debian's Rust is too old in the current lists; security updates may contain a newer one.
        let no_rustup = FakeMachine { rustup: false, ..CLEAN };
        assert_eq!(steps(&no_rustup, &[MissingTool::Rust], &none), Ok(vec![update]));
        let refusal = steps(&no_rustup, &[MissingTool::Rust], &updated).unwrap_err();
        for word in ["rustc-web is 1.85.0", "1.95 or later", ADD_SOURCES] {
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn of_fortran_only_the_compiler_and_its_library_are_unpacked() {
        let machine = FakeMachine {
            lists: WITH_FORTRAN,
            ..CLEAN
        };
        let planned = steps(&machine, &[MissingTool::Fortran], &CompletedAttempts::default()).unwrap();
        let [PlanStep::Unpack { packages, name, .. }] = &planned[..] else {
            panic!("{planned:?}");
        };
        assert_eq!(*name, WITH_FORTRAN[0].0);
        let expected: Vec<String> = WITH_FORTRAN.iter().map(|(name, _)| format!("{name}=1")).collect();
        assert_eq!(*packages, expected);
    }

    #[test]
    fn what_is_still_missing_is_not_installed_again() {
        let tried = CompletedAttempts {
            needs: vec![MissingTool::Gcc],
            ..CompletedAttempts::default()
        };
        let refusal = steps(&CLEAN, &[MissingTool::Gcc], &tried).unwrap_err();
        assert!(refusal.contains("still missing"), "{refusal}");
        assert!(steps(&CLEAN, &[MissingTool::Picolibc], &tried).is_ok());
    }

    #[test]
    fn a_system_that_is_not_known_is_told_what_to_install() {
        let unknown = FakeMachine {
            apt: false,
            rustup: false,
            ..CLEAN
        };
        let refusal = steps(&unknown, &ALL, &CompletedAttempts::default()).unwrap_err();
        for word in ["not known here", ADD_SOURCES, "qemu-system-riscv64"] {
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn only_rustup_is_asked_for_sources_that_rustup_was_chosen_for() {
        let only = |rustup| {
            let machine = FakeMachine { rustup, ..CLEAN };
            let missing = MissingTools(vec![MissingTool::Target]);
            plan(&missing, RustChoice::Rustup, &CompletedAttempts::default(), &machine)
        };
        assert_eq!(only(true).unwrap().steps, [PlanStep::Rustup]);
        assert!(only(false).unwrap_err().0.contains(ADD_SOURCES));
    }

    #[test]
    fn a_plan_is_told_by_commands_and_reasons() {
        let machine = FakeMachine {
            conflict: true,
            ..CLEAN
        };
        let plan = plan(
            &MissingTools(ALL.to_vec()),
            RustChoice::Any,
            &CompletedAttempts::default(),
            &machine,
        )
        .unwrap();
        let lines = plan.describe(std::path::Path::new("/c"));
        assert_eq!(lines[0], "rustup component add rust-src");
        assert!(lines[1].starts_with("apt-get ") && lines[1].contains(C[0]), "{lines:?}");
        let unpack = "fetch qemu-system-misc (1 package with what it depends on) and unpack it in \
                      /c/qemu: installing would remove qemu-utils";
        assert_eq!(lines[2], unpack);
    }
}
