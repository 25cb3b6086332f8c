//! Build of an image: the kernel as a static library, the program's objects, and the link.

use crate::build::board::Board;
use crate::build::build_cache;
use crate::build::cargo::{BuildTrouble, Compiler, run_cargo};
use crate::build::compiler::{
    Linker, OPENMP, ScratchDirectory, absolute, begin_link, compile_c, end_link, is_for_nodes, link_c_library,
    llvm_linker, warn_about_openmp, write_if_changed,
};
use crate::build::fortran::FortranCompiler;
use crate::build::image::Image;
use crate::build::incremental::ImageBuild;
use crate::build::inputs::{BuildFlags, RuntimeFeatures};
use crate::build::language::SourceLanguage;
use crate::build::package::{self, RECORDED, RustLink, SIMULATOR, add_link, copy_program};
use crate::build::recorder;
use crate::build::source::Program;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::ToolSet;
use midplane_setup::stamp::BuildArtifact;
use midplane_setup::toolchain::board_toolchain;
use midplane_trace::Recorder;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;

impl Program {
    pub fn build(&self, tools: &ToolSet, flags: &BuildFlags) -> Result<Image, CliError> {
        if let Self::Image(path) = self {
            build_cache::use_image(path)?;
            return Image::read(path);
        }
        if flags.compile.iter().any(|word| word == OPENMP) {
            warn_about_openmp();
        }
        let mut flags = flags.for_nodes();
        let fortran = self.fortran_compiler(|file| FortranCompiler::for_nodes(tools, file))?;
        flags.fortran = fortran.is_some();
        let flags = &flags;
        let dir = self.build_directory(flags, board_toolchain().target)?;
        let image = dir.join(self.name()).with_extension("elf");
        if let Self::Rust(_) | Self::Package(_) = self {
            let mut link = link_words(tools, flags, &dir)?;
            if flags.recorder {
                let compiler = |source: &Path| compile_c(tools, &BuildFlags::default(), source);
                let object = recorder::object(Recorder::Rust, compiler, &BuildFlags::default())?;
                link.push(object.into());
            }
            let link = RustLink::Node(&link);
            self.build_rust(Compiler::for_nodes(tools, "rustc")?, flags, link, &image)?;
            return Image::read(&image);
        }
        let compiler = Compiler::for_nodes(tools, "build")?;
        let library = runtime_library(compiler, flags.runtime(), RuntimeDependencies::Kernel)?;
        let scripts = Board::chosen().scripts();
        let mut parts: Vec<&Path> = { scripts.iter().map(PathBuf::as_path) }.chain([&*library]).collect();
        parts.extend(fortran.as_ref().map(FortranCompiler::path));
        let gcc = &tools.gcc.path;
        if let Some(making) = ImageBuild::new(image.clone(), self, flags, gcc, &parts)? {
            let scratch = ScratchDirectory::new(&dir)?;
            self.build_cached(tools, flags, fortran.as_ref(), making, &library, &scratch)?;
        }
        Image::read(&image)
    }

    /// Builds a Rust program with cargo and copies it to `file`.
    pub(super) fn build_rust(
        &self,
        compiler: Compiler,
        flags: &BuildFlags,
        link: RustLink<'_>,
        file: &Path,
    ) -> Result<(), CliError> {
        match self {
            Self::Package(package) => {
                if link.is_for_nodes() {
                    package.check_for_nodes()?;
                }
                let features = package.features(flags, link);
                package.build(compiler, &features, link, file)
            }
            Self::Rust(path) => {
                let source = absolute(path)?;
                let dir = file.parent().unwrap_or(Path::new("."));
                let links = RuntimeDependencies::Binding {
                    is_in_cluster: link.is_in_cluster(),
                    is_recorded: flags.recorder,
                };
                match build_around(compiler, flags.runtime(), links, &source, dir, link)? {
                    Ok(built) => copy_program(&built, file),
                    Err(trouble) => Err(package::build_error(path, trouble, link.is_for_nodes())),
                }
            }
            Self::C(_) | Self::Image(_) | Self::Command(_) => Ok(()),
        }
    }

    /// Compiles outdated sources and links with the runtime's library.
    fn build_cached(
        &self,
        tools: &ToolSet,
        flags: &BuildFlags,
        fortran: Option<&FortranCompiler>,
        mut making: ImageBuild,
        library: &Path,
        scratch: &ScratchDirectory,
    ) -> Result<(), CliError> {
        let objects = match self {
            Self::C(paths) => {
                let mut objects = making.objects(paths, scratch, |path| match fortran {
                    Some(fortran) if SourceLanguage::Fortran.is_of(path) => {
                        fortran.compile(&flags.compile, path, &scratch.0)
                    }
                    _ => compile_c(tools, flags, path),
                })?;
                if flags.recorder {
                    let plain = BuildFlags::default();
                    objects.push(recorder::object(
                        Recorder::C,
                        |source| compile_c(tools, &plain, source),
                        flags,
                    )?);
                }
                objects
            }
            Self::Rust(_) | Self::Package(_) | Self::Image(_) | Self::Command(_) => Vec::new(),
        };
        let libraries = fortran.map_or(Ok(Vec::new()), FortranCompiler::libraries)?;
        let link = |linker: &Linker| {
            let mut link = tools.gcc.command();
            begin_link(&mut link, linker);
            link.args(flags.symbols());
            link.args(&objects);
            link.args(flags.link.iter().filter(|word| is_for_nodes(word)));
            link.args(&libraries);
            end_link(&mut link, library);
            link_c_library(&mut link, linker);
            link
        };
        making.link_for_nodes(link, &scratch.0.join("image"), self.path())
    }

    /// Returns the directory for this program's image and intermediate files.
    pub(super) fn build_directory(&self, flags: &BuildFlags, machine: &str) -> Result<PathBuf, CliError> {
        let mut hasher = DefaultHasher::new();
        let paths = match self {
            Self::C(paths) => &paths[..],
            Self::Rust(path) | Self::Image(path) | Self::Command(path) => slice::from_ref(path),
            Self::Package(package) => {
                package.hash(&mut hasher);
                &[]
            }
        };
        for path in paths {
            absolute(path)?.hash(&mut hasher);
        }
        let asked = (flags.runtime(), flags.matching);
        (&flags.compile, &flags.link, asked, machine).hash(&mut hasher);
        (flags.recorder, flags.accesses).hash(&mut hasher);
        let name = format!("{}-{:016x}", self.name(), hasher.finish());
        let dir = directories::target().join("midplane").join(build_cache::PROGRAMS);
        let dir = dir.join(name);
        build_cache::use_directory(&dir)?;
        Ok(dir)
    }
}

/// Builds the kernel and the runtime as a static library for C programs on nodes.
pub(super) fn kernel_library(tools: &ToolSet, runtime: RuntimeFeatures) -> Result<PathBuf, CliError> {
    runtime_library(
        Compiler::for_nodes(tools, "build")?,
        runtime,
        RuntimeDependencies::Kernel,
    )
}

/// Builds the runtime library with this compiler. The generated package is like a Rust program's, so that dependencies
/// independent of the program and of the runtime's features are compiled once for all.
pub(super) fn runtime_library(
    compiler: Compiler,
    runtime: RuntimeFeatures,
    links: RuntimeDependencies,
) -> Result<PathBuf, CliError> {
    let (name, content) = match links {
        RuntimeDependencies::Cluster => (build_cache::RUNTIMES[1], "extern crate midplane_carrier as _;\n"),
        RuntimeDependencies::Kernel | RuntimeDependencies::Binding { .. } => (
            build_cache::RUNTIMES[0],
            "#![no_std]\nextern crate midplane_c as _;\nkernel_rt::hot_path!();\n",
        ),
    };
    let fortran = runtime.fortran.then_some((
        FORTRAN,
        "extern crate midplane_fortran as _;\nextern crate midplane_glibc as _;\n",
    ));
    let content = &[content, fortran.map_or("", |(_, content)| content)].concat();
    let name = [name].into_iter().chain(fortran.map(|(name, _)| name));
    let name = name.chain(runtime.features());
    let dir = directories::target()
        .join("midplane")
        .join(name.collect::<Vec<_>>().join("-"));
    build_cache::use_directory(&dir)?;
    if let Some(library) = install_compiled(&compiler, &dir)? {
        return Ok(library);
    }
    let source = dir.join("lib.rs");
    write_if_changed(&source, content)?;
    let built = build_around(compiler, runtime, links, &source, &dir, RustLink::Default)?;
    built.map_err(|_| CliError::failure("the runtime does not compile; see the compiler's messages above"))
}

/// Copies the runtime library of a release archive to the path that cargo would write. `None` if there is none with
/// these features.
fn install_compiled(compiler: &Compiler, dir: &Path) -> Result<Option<PathBuf>, CliError> {
    let name = format!("lib{}.a", build_cache::crate_name(dir));
    let file = compiler.output.join(name);
    let compiled = directories::compiled_runtimes().and_then(|compiled| fs::read(compiled.join(&file)).ok());
    let Some(bytes) = compiled else {
        return Ok(None);
    };
    let library = compiler.target.join(file);
    if !library.exists() {
        let parent = library.parent().unwrap_or(&compiler.target);
        fs::create_dir_all(parent).context(format_args!("create {}", parent.display()))?;
        directories::write_atomically(&library, bytes, 0o644)?;
    }
    Ok(Some(library))
}

/// Returns the linker driver and its arguments for a Rust program on nodes.
fn link_words(tools: &ToolSet, flags: &BuildFlags, dir: &Path) -> Result<Vec<OsString>, CliError> {
    let gcc = tools.gcc.command();
    // The driver may require arguments and environment variables of its own.
    let quoted = |word: &OsStr| shell_words::quote(&word.to_string_lossy()).into_owned();
    let mut script = String::from("#!/bin/sh\n");
    for (name, value) in gcc.get_envs() {
        let value = quoted(value.unwrap_or_default());
        script.push_str(&format!("export {}={value}\n", name.display()));
    }
    let words = [gcc.get_program()].into_iter().chain(gcc.get_args());
    let words: Vec<String> = words.map(quoted).collect();
    script.push_str(&format!("exec {} \"$@\"\n", words.join(" ")));
    let driver = dir.join("linker");
    write_if_changed(&driver, &script)?;
    fs::set_permissions(&driver, Permissions::from_mode(0o755)).context("make a script")?;
    // LLVM's linker confuses the program's `__real_main` with a wrapped `main` if one object contains both.
    let linker = match Board::chosen() {
        Board::Virt => llvm_linker().unwrap_or(Linker::Gnu),
        Board::Stm32f405 => Linker::Gnu,
    };
    let mut link = Command::new(&driver);
    begin_link(&mut link, &linker);
    link.args(flags.symbols());
    link.args(&flags.link);
    if let Linker::Gnu = linker {
        // Rust requests LLVM's linker.
        link.arg("-fuse-ld=bfd");
    }
    // Rust requests an unused table, and omits the libraries.
    link.args(["-Wl,--no-eh-frame-hdr", "-lm", "-lc", "-lgcc"]);
    let words = [link.get_program()].into_iter().chain(link.get_args());
    Ok(words.map(OsStr::to_os_string).collect())
}

/// Dependencies of a generated package.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RuntimeDependencies {
    /// The kernel alone.
    Kernel,
    /// The kernel and the Rust binding of MPI; in a cluster also the simulator. The binding may record its calls.
    Binding { is_in_cluster: bool, is_recorded: bool },
    /// The kernel and the in-process cluster.
    Cluster,
}

/// Builds a package in `dir` around a Rust file: a program, or a static library that contains the kernel. Each
/// package has a unique name and thus a unique file in cargo's shared target directory. Common dependencies are
/// compiled once.
fn build_around(
    compiler: Compiler,
    runtime: RuntimeFeatures,
    links: RuntimeDependencies,
    source: &Path,
    dir: &Path,
    link: RustLink<'_>,
) -> Result<Result<PathBuf, BuildTrouble>, CliError> {
    let Compiler {
        mut cargo,
        target,
        profile,
        output,
        version,
    } = compiler;
    let name = build_cache::crate_name(dir);
    let package = dir.join("package");
    fs::create_dir_all(&package).context(format_args!("create {}", package.display()))?;
    write_if_changed(&package.join("Cargo.toml"), &manifest(&name, source, runtime, links))?;
    let lock = package.join("Cargo.lock");
    keep_versions(&package, &lock)?;
    cargo
        .args(["--profile", profile, "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    add_link(&mut cargo, link);
    let file = match links {
        RuntimeDependencies::Binding { .. } => name,
        RuntimeDependencies::Kernel | RuntimeDependencies::Cluster => format!("lib{name}.a"),
    };
    let mut beside = vec![package.join("Cargo.toml"), lock];
    match link {
        RustLink::Node(_) => beside.extend(Board::chosen().scripts()),
        RustLink::Cluster { parts, .. } => beside.extend(parts.iter().cloned()),
        RustLink::Default | RustLink::Process(_) => {}
    }
    let built = BuildArtifact {
        file: target.join(output).join(file),
        root: directories::root().into(),
        beside,
        with: format!("{version} {:?}", link.words()),
    };
    if !built.is_fresh()
        && let Some(trouble) = run_cargo(cargo, Some(&built))?
    {
        return Ok(Err(trouble));
    }
    Ok(Ok(built.file))
}

/// Uses the dependency versions that the workspace was tested with: copies the workspace's lock file after each change
/// of it. Cargo drops unused entries, so the original copy is kept next to it.
fn keep_versions(package: &Path, lock: &Path) -> Result<(), CliError> {
    let tested = fs::read(directories::root().join("Cargo.lock")).context("read the workspace's Cargo.lock")?;
    let origin = package.join("workspace.lock");
    if lock.exists() && fs::read(&origin).is_ok_and(|last| last == tested) {
        return Ok(());
    }
    for path in [lock, &origin] {
        fs::write(path, &tested).context(format_args!("write {}", path.display()))?;
    }
    Ok(())
}

/// Part of a directory's name for a runtime with MPI's functions for Fortran.
const FORTRAN: &str = "fortran";
/// Kernel feature with the texts of panics.
const PANIC_TEXT: &str = "panic-text";

/// Returns the manifest of the generated package. It requests only the features that the job requires, so that C and
/// Rust programs share the compiled device.
fn manifest(name: &str, source: &Path, runtime: RuntimeFeatures, links: RuntimeDependencies) -> String {
    let root = directories::root();
    let quoted = |path: &Path| toml_string(&path.to_string_lossy());
    let mut features = runtime.features();
    let binding = match links {
        // C programs do not require panic messages.
        RuntimeDependencies::Kernel => {
            format!("midplane-c = {{ path = {} }}\n", quoted(&root.join("mpi-adi/c")))
        }
        RuntimeDependencies::Binding {
            is_in_cluster,
            is_recorded,
        } => {
            features.push(PANIC_TEXT);
            let chosen = [(is_in_cluster, SIMULATOR), (is_recorded, RECORDED)];
            let chosen: Vec<String> = { chosen.iter() }
                .filter(|(is_chosen, _)| *is_chosen)
                .map(|(_, name)| format!("\"{name}\""))
                .collect();
            let features = if chosen.is_empty() {
                String::new()
            } else {
                format!(", features = [{}]", chosen.join(", "))
            };
            format!("mpi = {{ path = {}{features} }}\n", quoted(&root.join("mpi-adi/mpi")))
        }
        RuntimeDependencies::Cluster => {
            features.push(PANIC_TEXT);
            format!(
                "midplane-carrier = {{ path = {} }}\n",
                quoted(&root.join("kernel-rt/cluster/carrier"))
            )
        }
    };
    let fortran = match runtime.fortran {
        true => format!(
            "midplane-fortran = {{ path = {} }}\nmidplane-glibc = {{ path = {} }}\n",
            quoted(&root.join("mpi-adi/fortran")),
            quoted(&root.join("kernel-rt/glibc"))
        ),
        false => String::new(),
    };
    let features = match &features[..] {
        [] => String::new(),
        features => format!(", features = [\"{}\"]", features.join("\", \"")),
    };
    format!(
        "# Made by `midplane` around one source file.\n\
         [package]\n\
         name = \"{name}\"\n\
         version = \"0.0.0\"\n\
         edition = \"2024\"\n\
         publish = false\n\n\
         {}\n\
         path = {}\n\n\
         [dependencies]\n\
         kernel-rt = {{ path = {}{features}, default-features = false }}\n\
         {binding}{fortran}\n\
         [workspace]\n",
        match links {
            RuntimeDependencies::Binding { .. } => format!("[[bin]]\nname = \"{name}\""),
            RuntimeDependencies::Kernel | RuntimeDependencies::Cluster => "[lib]\ncrate-type = [\"staticlib\"]".into(),
        },
        quoted(source),
        quoted(&root.join("kernel-rt")),
    )
}

/// Formats a basic TOML string.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_names_are_identifiers_and_paths_are_quoted() {
        assert_eq!(
            build_cache::crate_name(Path::new("/a/my-prog.x-12")),
            "program_my_prog_x_12"
        );
        assert_eq!(toml_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000A\"");
    }

    #[test]
    fn a_package_follows_the_versions_of_the_workspace() {
        let dir = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let lock = dir.0.join("Cargo.lock");
        keep_versions(&dir.0, &lock).unwrap();
        let tested = fs::read(&lock).unwrap();
        fs::write(&lock, "less").unwrap();
        keep_versions(&dir.0, &lock).unwrap();
        assert_eq!(fs::read(&lock).unwrap(), b"less", "what cargo has dropped");
        fs::write(dir.0.join("workspace.lock"), "older").unwrap();
        keep_versions(&dir.0, &lock).unwrap();
        assert_eq!(fs::read(&lock).unwrap(), tested);
    }

    #[test]
    fn a_package_has_the_features_of_its_runtime() {
        for (all, features) in [(false, ""), (true, "\"faults\", \"options\", \"borrow\"")] {
            let runtime = RuntimeFeatures {
                faults: all,
                options: all,
                borrow: all,
                fortran: false,
            };
            let features_of = |links| {
                let manifest = manifest("a", Path::new("/a.rs"), runtime, links);
                assert!(manifest.contains("default-features = false }"), "{manifest}");
                let (_, features) = manifest.split_once("features = [").unwrap_or_default();
                features.split(']').next().unwrap_or_default().to_string()
            };
            assert_eq!(features_of(RuntimeDependencies::Kernel), features);
            let with_text = [features, "\"panic-text\""].into_iter().filter(|text| !text.is_empty());
            assert_eq!(
                features_of(RuntimeDependencies::Binding {
                    is_in_cluster: false,
                    is_recorded: false
                }),
                with_text.collect::<Vec<_>>().join(", ")
            );
        }
    }
}
