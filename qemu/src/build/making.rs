//! What is made once and kept: an image to which nothing has happened that it was made of is not made again.
//!
//! The compiler says which headers it has read (`-MD`). An image is made again when one of them, a source, an object, the
//! runtime, the linker's script, a compiler or this command has changed, or when the options are others; and whenever the
//! last making of it had something to say, so that a warning is said each time. Libraries that the user's options
//! name are not followed: with them, too, it is made each time.

use crate::build::compiler::{Linker, Scratch, absolute, link_quickly, run_compiler, run_linker};
use crate::build::given::{Flags, Kind, Program};
use crate::build::headers;
use crate::host::folders;
use crate::host::stop::{Doing, Stop};
use midplane_setup::fresh::{Artifact, Begun};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where compilers and linkers look, beside what their options say.
const VARIABLES: [&str; 7] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "PATH",
];

/// The making of an image.
pub(super) struct Making {
    artifact: Artifact,
    /// When it began, if what comes of it can be kept.
    begun: Option<Begun>,
    /// What the compilers have read.
    read: String,
}

impl Making {
    /// Begins to make an image in `file`, by `compiler`, of a program and these `parts`; `None` when it is there and would
    /// be the same if it were made now.
    pub(super) fn new(
        file: PathBuf,
        (program, flags): (&Program, &Flags),
        compiler: &Path,
        parts: &[&Path],
    ) -> Result<Option<Self>, Stop> {
        // Written before the making begins, or they would be younger than what is made of them.
        headers::folder()?;
        let own = std::env::current_exe().doing("find this command")?;
        let mut beside = vec![own.clone(), compiler.into()];
        beside.extend(parts.iter().map(|part| part.to_path_buf()));
        if let Program::C(paths) = program {
            for path in paths {
                beside.push(absolute(path)?);
            }
        }
        let length = own.metadata().map_or(0, |metadata| metadata.len());
        let variables = VARIABLES.map(std::env::var_os);
        let artifact = Artifact {
            file,
            root: folders::root().into(),
            beside,
            with: format!("{own:?} {length}\n{compiler:?}\n{flags:?}\n{variables:?}"),
        };
        let is_followed = flags.link.iter().all(|word| word == "-lm");
        if is_followed && artifact.is_fresh() {
            return Ok(None);
        }
        let begun = is_followed.then(|| artifact.begin().ok()).flatten();
        Ok(Some(Self {
            artifact,
            begun,
            read: String::new(),
        }))
    }

    /// Runs the compiler for one source.
    pub(super) fn compile(
        &mut self,
        mut compile: Command,
        source: &Path,
        object: &Path,
    ) -> Result<(), Stop> {
        let list = object.with_extension("d");
        if Kind::reads_headers(source) {
            compile.arg("-MD").arg("-MF").arg(&list);
        }
        compile.arg("-c").arg(source).arg("-o").arg(object);
        if run_compiler(compile, source)? {
            self.begun = None;
        }
        if Kind::reads_headers(source) {
            let rule = fs::read_to_string(&list).doing("read which headers were read")?;
            let rule = rule.replace("\\\n", " ");
            let (_, files) = rule.split_once(": ").unwrap_or_default();
            self.read.push_str(&format!(" {}", files.trim_end()));
        }
        Ok(())
    }

    /// Compiles the sources among these files, by what `compiler` has for each; what the linker is to be given in their
    /// places.
    pub(super) fn objects(
        &mut self,
        paths: &[PathBuf],
        scratch: &Scratch,
        compiler: impl Fn(&Path) -> Result<Command, Stop>,
    ) -> Result<Vec<PathBuf>, Stop> {
        let mut objects = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            if Kind::of(path)? == Kind::Object {
                objects.push(path.clone());
                continue;
            }
            let object = scratch.0.join(format!("{at}.o"));
            self.compile(compiler(path)?, path, &object)?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Links a node's image: `link` is the command for a linker.
    pub(super) fn link_for_nodes(
        self,
        link: impl Fn(&Linker) -> Command,
        linked: &Path,
        program: &Path,
    ) -> Result<(), Stop> {
        match link_quickly(&link, linked)? {
            true => self.put_in_place(linked),
            false => self.link(link(&Linker::Gnu), linked, program),
        }
    }

    /// Runs the linker and puts what it makes, `linked`, in the image's place.
    pub(super) fn link(
        mut self,
        mut link: Command,
        linked: &Path,
        program: &Path,
    ) -> Result<(), Stop> {
        link.arg("-o").arg(linked);
        if run_linker(link, linked, program)? {
            self.begun = None;
        }
        self.put_in_place(linked)
    }

    fn put_in_place(self, linked: &Path) -> Result<(), Stop> {
        let file = &self.artifact.file;
        // In one step, so that a reader of the file finds the old image or the new one.
        fs::rename(linked, file).doing("put the image in its place")?;
        if let Some(begun) = self.begun {
            let rule = format!("image:{}\n", self.read);
            let list = fs::write(file.with_extension("d"), rule);
            // Without the note, the image is made again.
            let _ = list.and_then(|()| self.artifact.succeeded(begun));
        }
        Ok(())
    }
}
