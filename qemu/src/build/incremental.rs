//! Incremental builds: an image is rebuilt only if one of its inputs has changed.
//!
//! The compiler lists the headers that it has read (`-MD`). An image is rebuilt after a change of a header, source,
//! object, runtime, linker script, compiler, option or this command. The compilers' warnings are stored beside the image,
//! and printed each time. An image with a diagnostic of the linker is always rebuilt. Libraries in the user's options are
//! not tracked; with them the image is always rebuilt, too.
//!
//! All sources are compiled for a rebuild, in the order of the command line. The users of a Fortran module are thus
//! compiled with it. A Fortran program with options for directories is always rebuilt, because these can contain
//! module files.

use crate::build::compiler::{Linker, ScratchDirectory, absolute, link_quickly, run_compiler, run_linker};
use crate::build::fortran;
use crate::build::fortran_includes::included_files;
use crate::build::headers;
use crate::build::inputs::{BuildFlags, FileKind};
use crate::build::language::SourceLanguage;
use crate::build::source::Program;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::show::console::print_error_line;
use midplane_setup::stamp::{BuildArtifact, StartedBuild};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variables that add search directories to compiler and linker.
const VARIABLES: [&str; 7] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "PATH",
];

/// Build of an image.
pub(super) struct ImageBuild {
    artifact: BuildArtifact,
    /// The start record, if the result may be reused.
    begun: Option<StartedBuild>,
    /// Headers that the compilers have read.
    read: String,
    /// Warnings of the compilers.
    warnings: String,
}

impl ImageBuild {
    /// Begins the build of an image in `file` from a program and these `parts`, with `compiler`. Returns `None` if the
    /// image is up to date.
    pub(super) fn new(
        file: PathBuf,
        program: &Program,
        flags: &BuildFlags,
        compiler: &Path,
        parts: &[&Path],
    ) -> Result<Option<Self>, CliError> {
        // Created before the build starts; they must not be newer than its outputs.
        headers::directory()?;
        let own = std::env::current_exe().context("find this command")?;
        let mut beside = vec![own.clone(), compiler.into()];
        beside.extend(parts.iter().map(|part| part.to_path_buf()));
        if let Program::C(paths) = program {
            for path in paths {
                beside.push(absolute(path)?);
            }
        }
        let length = own.metadata().map_or(0, |metadata| metadata.len());
        let variables = VARIABLES.map(std::env::var_os);
        let artifact = BuildArtifact {
            file,
            root: directories::root().into(),
            beside,
            with: format!("{own:?} {length}\n{compiler:?}\n{flags:?}\n{variables:?}"),
        };
        let has_directories = flags.compile.iter().any(|word| {
            let word = word.to_string_lossy();
            ["-I", "-J", "-module"].iter().any(|option| word.starts_with(option))
        });
        let is_followed = flags.link.iter().all(|word| word == "-lm") && !(flags.fortran && has_directories);
        if is_followed && artifact.is_fresh() {
            let warnings = fs::read_to_string(warnings_of(&artifact.file)).unwrap_or_default();
            warnings.lines().for_each(print_error_line);
            return Ok(None);
        }
        let begun = is_followed.then(|| artifact.begin().ok()).flatten();
        Ok(Some(Self {
            artifact,
            begun,
            read: String::new(),
            warnings: String::new(),
        }))
    }

    pub(super) fn compile(&mut self, mut compile: Command, source: &Path, object: &Path) -> Result<(), CliError> {
        let list = object.with_extension("d");
        if FileKind::lists_headers(source) {
            compile.arg("-MD").arg("-MF").arg(&list);
        }
        compile.arg("-c");
        if !SourceLanguage::Fortran.is_of(source) {
            compile.arg(source);
        }
        compile.arg("-o").arg(object);
        self.warnings.push_str(&run_compiler(compile, source)?);
        if SourceLanguage::Fortran.is_of(source) {
            self.follow_includes(source)?;
        }
        if FileKind::lists_headers(source) {
            let rule = fs::read_to_string(&list).context("read the list of headers")?;
            let rule = rule.replace("\\\n", " ");
            let (_, files) = rule.split_once(": ").unwrap_or_default();
            self.read.push_str(&format!(" {}", files.trim_end()));
        }
        Ok(())
    }

    /// Records the files that a Fortran source includes. If they are not known, the image is rebuilt each time.
    fn follow_includes(&mut self, source: &Path) -> Result<(), CliError> {
        let Some(files) = included_files(source, &fortran::PROVIDED) else {
            self.begun = None;
            return Ok(());
        };
        for file in { files.iter().map(PathBuf::as_path) }.chain([source]) {
            let file = absolute(file)?.display().to_string();
            self.read.push_str(&format!(" {}", file.replace(' ', "\\ ")));
        }
        Ok(())
    }

    /// Compiles the sources among these files with the command that `compiler` returns for each. Returns the objects
    /// for the linker.
    pub(super) fn objects(
        &mut self,
        paths: &[PathBuf],
        scratch: &ScratchDirectory,
        compiler: impl Fn(&Path) -> Result<Command, CliError>,
    ) -> Result<Vec<PathBuf>, CliError> {
        let mut objects = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            if FileKind::from_path(path)? == FileKind::Object {
                objects.push(path.clone());
                continue;
            }
            let object = scratch.0.join(format!("{at}.o"));
            self.compile(compiler(path)?, path, &object)?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Links a node's image; `link` creates the command for a linker.
    pub(super) fn link_for_nodes(
        self,
        link: impl Fn(&Linker) -> Command,
        linked: &Path,
        program: &Path,
    ) -> Result<(), CliError> {
        if link_quickly(&link, linked)? {
            self.rename_into_place(linked)
        } else {
            self.link(link(&Linker::Gnu), linked, program)
        }
    }

    /// Runs the linker, and renames its output `linked` to the image's file.
    pub(super) fn link(mut self, mut link: Command, linked: &Path, program: &Path) -> Result<(), CliError> {
        link.arg("-o").arg(linked);
        if run_linker(link, program)? {
            self.begun = None;
        }
        self.rename_into_place(linked)
    }

    fn rename_into_place(self, linked: &Path) -> Result<(), CliError> {
        let file = &self.artifact.file;
        // Atomic: a reader finds the old image or the new one.
        fs::rename(linked, file).context("rename the image")?;
        if let Some(begun) = self.begun {
            let rule = format!("image:{}\n", self.read);
            let list = fs::write(file.with_extension("d"), rule);
            let warnings = fs::write(warnings_of(file), self.warnings);
            // Without the stamp, the image is built again.
            let _ = list.and(warnings).and_then(|()| self.artifact.succeeded(begun));
        }
        Ok(())
    }
}

/// Returns the file of the compilers' warnings about an image.
fn warnings_of(image: &Path) -> PathBuf {
    image.with_extension("warnings")
}
