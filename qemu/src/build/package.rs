//! A binary of a package of cargo's: found by what `cargo metadata` says, compiled and linked by cargo.
//!
//! ```text
//!   folder, Cargo.toml, a file of a package      the user's package      its mpi, kernel-rt: with the features asked for
//!   a file alone                                 a package around it     the same, as the tool writes it (program.rs)
//! ```
//! On Linux the crate `mpi` has the node in it, and cargo links as ever. For nodes the link has the board's scripts and
//! the C library.

use crate::build::compiler::absolute;
use crate::build::given::Runtime;
use crate::build::program::{Compiler, Trouble, run_cargo};
use crate::host::folders;
use crate::host::setup::{no_cargo, own_cargo};
use crate::host::stop::{Doing, Stop};
use crate::show::say::complain;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The crate that programs know as MPI, and the one that a node boots by.
const MPI: &str = "mpi";
const KERNEL: &str = "kernel-rt";

/// Set where the tool links for the board: a package's build script says nothing of the link then.
const LINKS: &str = "MIDPLANE_LINKS";

/// The feature of the runtime that a process of Linux can have.
const FAULTS: &str = "faults";

/// A binary of a package.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Package {
    /// The file or folder that the user gave.
    given: PathBuf,
    manifest: PathBuf,
    workspace: PathBuf,
    name: String,
    /// The option of cargo by which it is chosen, and its name.
    target: (&'static str, String),
    /// Features that it cannot be built without.
    features: Vec<String>,
    /// The names by which the package knows MPI and the kernel.
    mpi: String,
    kernel: Option<String>,
}

/// The answer of `cargo metadata`, as far as it is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
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
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

impl Target {
    /// The option of cargo by which it is chosen, if it is a program.
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

impl Described {
    /// The name by which it knows the package `name`, which it depends on.
    fn knows(&self, name: &str) -> Option<(&str, &Dependency)> {
        let is_it = |one: &&Dependency| one.name == name && one.kind.is_none();
        let found = self.dependencies.iter().find(is_it)?;
        Some((found.rename.as_deref().unwrap_or(&found.name), found))
    }

    /// The same of the crate `mpi` of Midplane.
    fn mpi(&self) -> Result<String, Stop> {
        let line = format!(
            "mpi = {{ path = \"{}\" }}",
            folders::root().join("mpi-adi/mpi").display()
        );
        match self.knows(MPI) {
            Some((_, one)) if one.is_from_registry() => Err(Stop::usage(format!(
                "the package {} depends on the mpi of a registry, which needs another MPI; its line in Cargo.toml for \
                 this one is {line}",
                self.name
            ))),
            Some((name, _)) => Ok(name.into()),
            None => Err(Stop::usage(format!(
                "the package {} does not depend on mpi; the line in its Cargo.toml is {line}",
                self.name
            ))),
        }
    }

    fn choose(self, target: &Target, given: &Path, workspace: &Path) -> Result<Package, Stop> {
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

/// The packages that cargo finds by a manifest.
fn metadata(manifest: &Path) -> Result<Metadata, Stop> {
    ask(manifest)?.map_err(|said| {
        said.lines().for_each(complain);
        let shown = manifest.display();
        Stop::usage(format!("cargo cannot use {shown}; what it says is above"))
    })
}

/// The same, or what cargo says against the manifest.
fn ask(manifest: &Path) -> Result<Result<Metadata, String>, Stop> {
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
        .map_err(|error| Stop::failure(format!("cargo metadata of {shown}: {error}")))
}

impl Package {
    /// The binary of this name of a package, or its only one. `manifest` is a `Cargo.toml`.
    pub fn find(given: &Path, manifest: &Path, name: Option<&str>) -> Result<Self, Stop> {
        let manifest = absolute(manifest)?;
        let found = metadata(&manifest)?;
        let shown = given.display();
        let is_own = |one: &Described| one.manifest_path == manifest;
        // A workspace without a package of its own has those of its members.
        let has_own = found.packages.iter().any(is_own);
        let packages = { found.packages.into_iter() }.filter(|one| !has_own || is_own(one));
        let mut programs: Vec<(usize, usize)> = Vec::new();
        let mut packages: Vec<Described> = packages.collect();
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
        let default = packages
            .iter()
            .find_map(|package| package.default_run.as_deref());
        let chosen: Vec<&(usize, usize)> = match name.or(default) {
            Some(name) => programs.iter().filter(|one| name_of(one) == name).collect(),
            None => programs.iter().collect(),
        };
        let (at, which) = match (&chosen[..], name) {
            ([one], _) => **one,
            _ if programs.is_empty() => {
                return Err(Stop::usage(format!(
                    "{shown} has no binary: no src/main.rs, nothing in src/bin, and no [[bin]] in Cargo.toml"
                )));
            }
            ([], Some(name)) => {
                return Err(Stop::usage(format!(
                    "--bin {name}: {shown} has no such binary, but {}",
                    names()
                )));
            }
            (_, Some(name)) => {
                return Err(Stop::usage(format!(
                    "--bin {name}: several packages of {shown} have such a binary; give the folder of one of them"
                )));
            }
            _ => {
                return Err(Stop::usage(format!(
                    "{shown} has several binaries; give --bin and one of {}",
                    names()
                )));
            }
        };
        let mut package = packages.swap_remove(at);
        let target = package.targets.swap_remove(which);
        package.choose(&target, given, &found.workspace_root)
    }

    /// The binary or example whose first file this is, of a package that depends on MPI. `None`: it is a file alone.
    pub fn of_file(file: &Path) -> Result<Option<Self>, Stop> {
        let path = absolute(file)?;
        let mut folders = path.ancestors().skip(1);
        let manifest = folders.find_map(|folder| {
            let manifest = folder.join("Cargo.toml");
            manifest.is_file().then_some(manifest)
        });
        let Some(manifest) = manifest else {
            return Ok(None);
        };
        let within = path.strip_prefix(manifest.parent().unwrap_or(Path::new("/")));
        let is_usual =
            within.is_ok_and(|path| path.starts_with("src") || path.starts_with("examples"));
        let found = match is_usual {
            true => metadata(&manifest)?,
            // Some folder above has a manifest, which may be anything.
            false => match ask(&manifest)? {
                Ok(found) => found,
                Err(_) => return Ok(None),
            },
        };
        let is_it = |target: &Target| target.src_path == path && target.option().is_some();
        for mut package in found.packages {
            let Some(at) = package.targets.iter().position(is_it) else {
                continue;
            };
            if package.knows(MPI).is_none() {
                return Ok(None);
            }
            let target = package.targets.swap_remove(at);
            return package
                .choose(&target, file, &found.workspace_root)
                .map(Some);
        }
        Ok(None)
    }

    /// The file or folder that the user gave.
    pub fn given(&self) -> &Path {
        &self.given
    }

    /// The binary's name.
    pub fn binary(&self) -> &str {
        &self.target.1
    }

    /// The folder of its manifest.
    fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new("/"))
    }

    /// Refuses what no node boots.
    pub(super) fn check_for_nodes(&self) -> Result<(), Stop> {
        if self.kernel.is_some() {
            return Ok(());
        }
        Err(Stop::usage(format!(
            "the package {} does not depend on kernel-rt, by which a node boots it; the line in its Cargo.toml is \
             kernel-rt = {{ path = \"{}\" }} (docs/rust.md has the head of its main file), or give --on linux",
            self.name,
            folders::root().join("kernel-rt").display()
        )))
    }

    /// The features that it is built with, for a runtime with these.
    pub(super) fn features(&self, runtime: Runtime, is_for_nodes: bool) -> String {
        let asked = runtime.features().into_iter();
        let asked = asked.filter_map(|feature| match (&self.kernel, is_for_nodes) {
            (Some(kernel), true) => Some(format!("{kernel}/{feature}")),
            _ if feature == FAULTS => Some(format!("{}/{feature}", self.mpi)),
            _ => None,
        });
        let all: Vec<String> = self.features.iter().cloned().chain(asked).collect();
        all.join(",")
    }

    /// The versions of what it depends on begin as those that this workspace was tested with.
    fn begin_versions(&self) {
        let lock = self.workspace.join("Cargo.lock");
        if !lock.exists() {
            // Where that cannot be written, cargo says why.
            let _ = fs::copy(folders::root().join("Cargo.lock"), lock);
        }
    }

    /// Has cargo build the user's package, and puts the binary in `file`. `link` are words for the linker's driver, which
    /// comes first; none of either where cargo's own will do.
    pub(super) fn build(
        &self,
        compiler: Compiler,
        features: &str,
        link: &[OsString],
        file: &Path,
    ) -> Result<(), Stop> {
        let is_for_nodes = !link.is_empty();
        let mut cargo = match self.manifest.starts_with(folders::root()) {
            true => compiler.cargo,
            // Beside the user's own; below the workspace cargo finds it.
            false => configured(&compiler.cargo),
        };
        self.begin_versions();
        cargo.current_dir(self.folder()).env(LINKS, "1");
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
        // Of another package's binary of the same name cargo puts the file in the same place.
        let lock = compiler.target.join("packages.lock");
        fs::create_dir_all(&compiler.target).doing("create cargo's folder")?;
        let lock = File::create(lock).doing("create a lock")?;
        lock.lock().doing("lock cargo's folder")?;
        if let Some(trouble) = run_cargo(cargo, None)? {
            return Err(refused(&self.given, trouble, is_for_nodes));
        }
        let folder = if *option == "--bin" { "." } else { "examples" };
        let built = compiler.target.join(compiler.output).join(folder);
        put(&built.join(name), file)
    }
}

/// Why cargo does not build what the user gave.
pub(super) fn refused(given: &Path, trouble: Trouble, is_for_nodes: bool) -> Stop {
    let given = given.display();
    Stop::usage(match trouble {
        Trouble::LacksStd if is_for_nodes => format!(
            "{given} does not compile for nodes, which have no std: it and what it depends on must be no_std \
             (docs/rust.md), or give --on linux; what the compiler says is above"
        ),
        Trouble::LacksPackage => format!(
            "{given} does not compile, because cargo does not get what it depends on; what it says is above"
        ),
        Trouble::LacksStd | Trouble::Compiler => {
            format!("{given} does not compile; what the compiler says is above")
        }
    })
}

/// The command with the workspace's configuration, in front of what it has of its own: so the compiler is given the same
/// words as where cargo finds that by itself, and nothing is compiled a second time.
fn configured(cargo: &Command) -> Command {
    let mut words = cargo.get_args();
    let mut changed = Command::new(cargo.get_program());
    changed
        .args(words.next())
        .arg("--config")
        .arg(folders::root().join(".cargo/config.toml"))
        .args(words);
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => changed.env(name, value),
            None => changed.env_remove(name),
        };
    }
    changed
}

/// Words for the linker's driver, the first of which names it, as those of the compiler.
pub(super) fn add_link(cargo: &mut Command, link: &[OsString]) {
    let Some((driver, words)) = link.split_first() else {
        return;
    };
    let joined = |name: &str, word: &OsStr| {
        let mut joined = OsString::from(name);
        joined.push(word);
        joined
    };
    cargo.args(["--", "-C", "linker-flavor=gcc", "-C"]);
    cargo.arg(joined("linker=", driver));
    for word in words {
        cargo.arg("-C").arg(joined("link-arg=", word));
    }
}

/// Puts a copy in its place, in one step.
pub(super) fn put(built: &Path, file: &Path) -> Result<(), Stop> {
    let made = file.with_extension(std::process::id().to_string());
    let put = fs::copy(built, &made).and_then(|_| fs::rename(&made, file));
    put.doing(format_args!("put the program in {}", file.display()))
}
