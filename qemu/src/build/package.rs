//! A binary of a cargo package: found by `cargo metadata`, compiled and linked by cargo.
//!
//! ```text
//!   directory, Cargo.toml, a file of a package   the user's package      its mpi, kernel-rt: with the features requested
//!   a single file                                a generated package     the same, as the tool writes it (program.rs)
//! ```
//! On Linux the crate `mpi` contains the node, and cargo links as usual. For nodes, the link uses the board's scripts
//! and the C library.

use crate::build::cargo::{BuildTrouble, Compiler, run_cargo};
use crate::build::compiler::absolute;
use crate::build::inputs::BuildFlags;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{no_cargo, own_cargo};
use crate::show::console::print_error_line;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Crates that provide MPI to programs, and that boot a node.
const MPI: &str = "mpi";
const KERNEL: &str = "kernel-rt";

/// Feature of the crate `mpi`: the process contains all nodes of a machine.
pub(super) const SIMULATOR: &str = "sim";
/// Feature of the crate `mpi`: the calls of the program are recorded.
pub(super) const RECORDED: &str = "options";
/// Variable that is set when the tool links for the board. A package's build script then omits its link options.
const LINKS: &str = "MIDPLANE_LINKS";

/// The runtime feature that a Linux process supports.
const FAULTS: &str = "faults";

/// A binary of a package.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Package {
    /// File or directory that the user specified.
    given: PathBuf,
    manifest: PathBuf,
    workspace: PathBuf,
    name: String,
    /// Cargo option that selects the binary, and the binary's name.
    target: (&'static str, String),
    /// Features that the binary requires.
    features: Vec<String>,
    /// Names of MPI and the kernel in the package.
    mpi: String,
    kernel: Option<String>,
}

/// Output of `cargo metadata`, reduced to the required fields.
#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<PackageMetadata>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct PackageMetadata {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<CargoTarget>,
    default_run: Option<String>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

impl CargoTarget {
    /// Returns the cargo option that selects the target, if it is a program.
    fn option(&self) -> Option<&'static str> {
        let is = |kind| self.kind.iter().any(|one| one == kind);
        match (is("bin"), is("example")) {
            (true, _) => Some("--bin"),
            (_, true) => Some("--example"),
            _ => None,
        }
    }

    fn is_binary(&self) -> bool {
        self.option() == Some("--bin")
    }
}

impl PackageMetadata {
    /// Returns the local name of its dependency `name`.
    fn knows(&self, name: &str) -> Option<(&str, &Dependency)> {
        let is_it = |one: &&Dependency| one.name == name && one.kind.is_none();
        let found = self.dependencies.iter().find(is_it)?;
        Some((found.rename.as_deref().unwrap_or(&found.name), found))
    }

    /// Returns the local name of Midplane's crate `mpi`.
    fn mpi(&self) -> Result<String, CliError> {
        let line = format!(
            "mpi = {{ path = \"{}\" }}",
            directories::root_for_packages().join("mpi-adi/mpi").display()
        );
        match self.knows(MPI) {
            Some((_, one)) if one.is_from_registry() => Err(CliError::unusable(format!(
                "the package {} depends on the mpi of a registry, which requires another MPI; for Midplane, use this \
                 line in Cargo.toml: {line}",
                self.name
            ))),
            Some((name, _)) => Ok(name.into()),
            None => Err(CliError::unusable(format!(
                "the package {} does not depend on mpi; add this line to its Cargo.toml: {line}",
                self.name
            ))),
        }
    }

    fn choose(self, target: &CargoTarget, given: &Path, workspace: &Path) -> Result<Package, CliError> {
        let option = target.option().unwrap_or("--bin");
        Ok(Package {
            given: given.into(),
            workspace: workspace.into(),
            target: (option, target.name.clone()),
            features: target.required_features.clone(),
            mpi: self.mpi()?,
            kernel: self.knows(KERNEL).map(|(name, _)| name.into()),
            manifest: self.manifest_path,
            name: self.name,
        })
    }
}

impl Dependency {
    fn is_from_registry(&self) -> bool {
        let source = self.source.as_deref().unwrap_or_default();
        source.starts_with("registry+") || source.starts_with("sparse+")
    }
}

/// Returns the packages of a manifest.
fn metadata(manifest: &Path) -> Result<CargoMetadata, CliError> {
    ask(manifest)?.map_err(|said| {
        said.lines().for_each(print_error_line);
        let shown = manifest.display();
        CliError::unusable(format!("cargo cannot use {shown}; see its messages above"))
    })
}

/// Returns the packages of a manifest, or cargo's error message about it.
fn ask(manifest: &Path) -> Result<Result<CargoMetadata, String>, CliError> {
    let mut cargo = Command::new(own_cargo());
    cargo
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(manifest)
        .current_dir(manifest.parent().unwrap_or(Path::new("/")))
        .stdin(Stdio::null());
    let output = cargo.output().map_err(no_cargo)?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let shown = manifest.display();
    serde_json::from_slice(&output.stdout)
        .map(Ok)
        .map_err(|error| CliError::failure(format!("cargo metadata of {shown}: {error}")))
}

impl Package {
    /// Finds the binary of this name in a package, or its only one. `manifest` is a `Cargo.toml`.
    pub fn find(given: &Path, manifest: &Path, name: Option<&str>) -> Result<Self, CliError> {
        let manifest = absolute(manifest)?;
        let found = metadata(&manifest)?;
        let shown = given.display();
        let is_own = |one: &PackageMetadata| one.manifest_path == manifest;
        // For a workspace without a root package, the members are searched.
        let has_own = found.packages.iter().any(is_own);
        let packages = { found.packages.into_iter() }.filter(|one| !has_own || is_own(one));
        let mut programs: Vec<(usize, usize)> = Vec::new();
        let mut packages: Vec<PackageMetadata> = packages.collect();
        for (at, package) in packages.iter().enumerate() {
            let binaries = package.targets.iter().enumerate();
            let binaries = binaries.filter(|(_, target)| target.is_binary());
            programs.extend(binaries.map(|(which, _)| (at, which)));
        }
        let name_of = |(at, which): &(usize, usize)| &packages[*at].targets[*which].name;
        let names = || {
            let names: Vec<&str> = programs.iter().map(|one| name_of(one).as_str()).collect();
            names.join(", ")
        };
        let default = packages.iter().find_map(|package| package.default_run.as_deref());
        let chosen: Vec<&(usize, usize)> = match name.or(default) {
            Some(name) => programs.iter().filter(|one| name_of(one) == name).collect(),
            None => programs.iter().collect(),
        };
        let (at, which) = match (&chosen[..], name) {
            ([one], _) => **one,
            _ if programs.is_empty() => {
                return Err(CliError::unusable(format!(
                    "{shown} has no binary: no src/main.rs, nothing in src/bin, and no [[bin]] in Cargo.toml"
                )));
            }
            ([], Some(name)) => {
                return Err(CliError::usage(format!(
                    "--bin {name}: {shown} has no such binary; available: {}",
                    names()
                )));
            }
            (_, Some(name)) => {
                return Err(CliError::usage(format!(
                    "--bin {name}: several packages of {shown} have such a binary; specify the directory of one of \
                     them"
                )));
            }
            _ => {
                return Err(CliError::usage(format!(
                    "{shown} has several binaries; use --bin with one of {}",
                    names()
                )));
            }
        };
        let mut package = packages.swap_remove(at);
        let target = package.targets.swap_remove(which);
        package.choose(&target, given, &found.workspace_root)
    }

    /// Finds the binary or example whose main file this is, in a package that depends on MPI. `None`: a single file.
    pub fn from_file(file: &Path) -> Result<Option<Self>, CliError> {
        let path = absolute(file)?;
        let mut dirs = path.ancestors().skip(1);
        let manifest = dirs.find_map(|dir| {
            let manifest = dir.join("Cargo.toml");
            manifest.is_file().then_some(manifest)
        });
        let Some(manifest) = manifest else {
            return Ok(None);
        };
        let within = path.strip_prefix(manifest.parent().unwrap_or(Path::new("/")));
        let is_usual = within.is_ok_and(|path| path.starts_with("src") || path.starts_with("examples"));
        let found = if is_usual {
            metadata(&manifest)?
        } else {
            // The manifest of a parent directory may be unrelated.
            match ask(&manifest)? {
                Ok(found) => found,
                Err(_) => return Ok(None),
            }
        };
        let is_it = |target: &CargoTarget| target.src_path == path && target.option().is_some();
        for mut package in found.packages {
            let Some(at) = package.targets.iter().position(is_it) else {
                continue;
            };
            if package.knows(MPI).is_none() {
                return Ok(None);
            }
            let target = package.targets.swap_remove(at);
            return package.choose(&target, file, &found.workspace_root).map(Some);
        }
        Ok(None)
    }

    /// Returns the file or directory that the user specified.
    pub fn specified_path(&self) -> &Path {
        &self.given
    }

    /// Returns the binary's name.
    pub fn binary(&self) -> &str {
        &self.target.1
    }

    /// Returns the directory of its manifest.
    fn directory(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new("/"))
    }

    /// Returns an error if the package has no kernel and so does not boot on a node.
    pub(super) fn check_for_nodes(&self) -> Result<(), CliError> {
        if self.kernel.is_some() {
            return Ok(());
        }
        Err(CliError::unusable(format!(
            "the package {} does not depend on kernel-rt, which boots a node; add this line to its Cargo.toml: \
             kernel-rt = {{ path = \"{}\" }} (docs/rust.md describes its main file), or use --on linux",
            self.name,
            directories::root_for_packages().join("kernel-rt").display()
        )))
    }

    /// Returns the features to build with.
    pub(super) fn features(&self, flags: &BuildFlags, link: RustLink<'_>) -> String {
        let asked = flags.runtime().features().into_iter();
        let asked = asked.filter_map(|feature| match (&self.kernel, link.is_for_nodes()) {
            (Some(kernel), true) => Some(format!("{kernel}/{feature}")),
            _ if feature == FAULTS => Some(format!("{}/{feature}", self.mpi)),
            _ => None,
        });
        let simulator = link.is_in_cluster().then(|| format!("{}/{SIMULATOR}", self.mpi));
        let recorded = flags.recorder.then(|| format!("{}/{RECORDED}", self.mpi));
        let all: Vec<String> = { self.features.iter().cloned() }
            .chain(asked)
            .chain(simulator)
            .chain(recorded)
            .collect();
        all.join(",")
    }

    /// Initializes the lock file with the dependency versions that this workspace was tested with.
    fn begin_versions(&self) {
        let lock = self.workspace.join("Cargo.lock");
        if !lock.exists()
            && let Ok(versions) = fs::read(directories::root().join("Cargo.lock"))
        {
            // Another command's cargo may read it at this time. Cargo itself reports a read-only directory.
            let _ = directories::write_atomically(&lock, versions, 0o644);
        }
    }

    /// Builds the user's package with cargo and copies the binary to `file`.
    pub(super) fn build(
        &self,
        compiler: Compiler,
        features: &str,
        link: RustLink<'_>,
        file: &Path,
    ) -> Result<(), CliError> {
        let mut cargo = if self.manifest.starts_with(directories::root()) {
            compiler.cargo
        } else {
            // In addition to the user's configuration; below the workspace cargo finds it itself.
            configured(&compiler.cargo)
        };
        self.begin_versions();
        cargo.current_dir(self.directory()).env(LINKS, "1");
        let (option, name) = &self.target;
        cargo
            .args(["--profile", compiler.profile, "--manifest-path"])
            .arg(&self.manifest)
            .args([*option, name.as_str()])
            .arg("--target-dir")
            .arg(&compiler.target);
        if !features.is_empty() {
            cargo.args(["--features", features]);
        }
        add_link(&mut cargo, link);
        // Cargo uses the same output file for another package's binary of the same name.
        let lock = compiler.target.join("packages.lock");
        fs::create_dir_all(&compiler.target).context("create cargo's directory")?;
        let lock = File::create(lock).context("create a lock")?;
        lock.lock().context("lock cargo's directory")?;
        if let Some(trouble) = run_cargo(cargo, None)? {
            return Err(build_error(&self.given, trouble, link.is_for_nodes()));
        }
        let dir = if *option == "--bin" { "." } else { "examples" };
        let built = compiler.target.join(compiler.output).join(dir);
        copy_program(&built.join(name), file)
    }
}

/// Returns the error for a failed build.
pub(super) fn build_error(given: &Path, trouble: BuildTrouble, is_for_nodes: bool) -> CliError {
    let given = given.display();
    CliError::unusable(match trouble {
        BuildTrouble::LacksStd if is_for_nodes => format!(
            "{given} does not compile for nodes, which have no std: the package and its dependencies must be no_std \
             (docs/rust.md); or use --on linux; see the compiler's messages above"
        ),
        BuildTrouble::LacksPackage => {
            format!("{given} does not compile, because cargo cannot fetch its dependencies; see cargo's messages above")
        }
        BuildTrouble::LacksStd | BuildTrouble::Compiler => {
            format!("{given} does not compile; see the compiler's messages above")
        }
    })
}

/// Inserts the workspace's configuration before cargo's other options. The compiler's arguments then equal those of a
/// build inside the workspace, and nothing is compiled twice.
fn configured(cargo: &Command) -> Command {
    let mut words = cargo.get_args();
    let mut changed = Command::new(cargo.get_program());
    changed
        .args(words.next())
        .arg("--config")
        .arg(directories::root().join(".cargo/config.toml"))
        .args(words);
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => changed.env(name, value),
            None => changed.env_remove(name),
        };
    }
    changed
}

/// Link of a Rust program. Words are the linker driver, if it is not cargo's, then its arguments.
#[derive(Clone, Copy)]
pub(super) enum RustLink<'a> {
    /// Cargo's own, with cargo's default linker.
    Default,
    /// The same, with these arguments.
    Process(&'a [OsString]),
    /// An image of a node.
    Node(&'a [OsString]),
    /// An executable with all nodes of a machine, which also depends on these files.
    Cluster {
        words: &'a [OsString],
        parts: &'a [PathBuf],
    },
}

impl RustLink<'_> {
    pub(super) fn words(&self) -> &[OsString] {
        match self {
            Self::Default => &[],
            Self::Process(words) | Self::Node(words) | Self::Cluster { words, .. } => words,
        }
    }

    pub(super) fn is_for_nodes(self) -> bool {
        matches!(self, Self::Node(_))
    }

    pub(super) fn is_in_cluster(self) -> bool {
        matches!(self, Self::Cluster { .. })
    }
}

/// Appends the linker driver, if it is not cargo's, and its arguments as compiler options.
pub(super) fn add_link(cargo: &mut Command, link: RustLink<'_>) {
    let joined = |name: &str, word: &OsStr| {
        let mut joined = OsString::from(name);
        joined.push(word);
        joined
    };
    let words = match (link, link.words()) {
        (_, []) => return,
        (RustLink::Process(_), words) => {
            cargo.arg("--");
            words
        }
        (_, [driver, words @ ..]) => {
            cargo.args(["--", "-C", "linker-flavor=gcc", "-C"]);
            cargo.arg(joined("linker=", driver));
            words
        }
    };
    for word in words {
        cargo.arg("-C").arg(joined("link-arg=", word));
    }
}

/// Copies a file to its destination atomically.
pub(super) fn copy_program(built: &Path, file: &Path) -> Result<(), CliError> {
    let made = file.with_extension(std::process::id().to_string());
    let put = fs::copy(built, &made).and_then(|_| fs::rename(&made, file));
    put.context(format_args!("write the program to {}", file.display()))
}
