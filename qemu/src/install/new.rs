//! `midplane new`: creates a project outside the checkout, with a program, a test and the commands that run them.

use crate::build::cc;
use crate::host::directories::{self, SourceTree};
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::in_path;
use crate::show::console;
use clap::{Args, ValueEnum};
use midplane_setup::invocation::INSTALLED;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Options of `midplane new`.
#[derive(Args, Debug)]
#[command(after_help = "Examples: cargo midplane new hello\n          cargo midplane new --lang rust hello")]
pub struct NewArgs {
    /// Directory to create. Its last part is the name of the program
    #[arg(value_name = "NAME")]
    directory: PathBuf,

    /// Language of the program
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t = ProjectLanguage::C)]
    lang: ProjectLanguage,
}

/// Languages of projects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ProjectLanguage {
    /// A Makefile that compiles with `midplane cc`
    C,
    /// A package of cargo that depends on the crate `mpi`
    Rust,
}

/// A file of a project: its name and its text, in which `@WORD@` stands for a value.
type Template = (&'static str, &'static str);

const C_FILES: [Template; 4] = [
    ("main.c", include_str!("templates/c/main.c")),
    ("Makefile", include_str!("templates/c/Makefile")),
    ("README.md", include_str!("templates/c/README.md")),
    (".gitignore", include_str!("templates/c/gitignore")),
];

const RUST_FILES: [Template; 7] = [
    ("Cargo.toml", include_str!("templates/rust/Cargo.toml")),
    (".cargo/config.toml", include_str!("templates/rust/config.toml")),
    ("src/lib.rs", include_str!("templates/rust/src/lib.rs")),
    ("src/main.rs", include_str!("templates/rust/src/main.rs")),
    ("tests/ring.rs", include_str!("templates/rust/tests/ring.rs")),
    ("README.md", include_str!("templates/rust/README.md")),
    (".gitignore", include_str!("templates/rust/gitignore")),
];

/// Names that make or cargo use for something else.
const RESERVED: [&str; 10] = [
    "build",
    "clean",
    "core",
    "deps",
    "examples",
    "incremental",
    "kernel-rt",
    "mpi",
    "std",
    "test",
];

impl ProjectLanguage {
    fn files(self) -> &'static [Template] {
        match self {
            Self::C => &C_FILES,
            Self::Rust => &RUST_FILES,
        }
    }

    /// Returns the commands that test the program and run it on nodes.
    fn commands(self, midplane: &str) -> [String; 2] {
        let (test, program) = match self {
            Self::C => ("make test", "main.c"),
            Self::Rust => ("cargo test", "."),
        };
        [test.into(), format!("{midplane} run --torus 2x2x1 {program}")]
    }
}

/// Creates the project and prints the next commands.
///
/// # Errors
/// Returns a usage error for a directory that exists and for a name that make or cargo cannot use.
pub fn create_project(options: &NewArgs) -> Result<u8, CliError> {
    check_name(&options.directory)?;
    create_for(options, &portable_command()?)
}

/// Creates a project that starts this program with the command `midplane`.
fn create_for(options: &NewArgs, midplane: &str) -> Result<u8, CliError> {
    let directory = &options.directory;
    let name = check_name(directory)?;
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).context(format_args!("create {}", parent.display()))?;
    }
    fs::create_dir(directory).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliError::usage(format!(
            "{} exists already; give a directory that does not exist",
            directory.display()
        )),
        _ => CliError::failure(format!("cannot create {}: {error}", directory.display())),
    })?;
    let sources = directories::root_for_packages();
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    let values = [
        ("@NAME@", name.to_string()),
        ("@CRATE@", name.replace('-', "_")),
        ("@MIDPLANE@", midplane.to_string()),
        ("@RUNNER@", format!("{midplane:?}")),
        ("@MPI@", quoted(&sources.join("mpi-adi/mpi"))),
        ("@KERNEL@", quoted(&sources.join("kernel-rt"))),
    ];
    for (file, text) in options.lang.files() {
        let text = { values.iter() }.fold(text.to_string(), |text, (word, value)| text.replace(word, value));
        write(&directory.join(file), text.as_bytes())?;
    }
    if options.lang == ProjectLanguage::Rust {
        // The versions of the dependencies that this command was tested with.
        let versions = fs::read(directories::root().join("Cargo.lock")).context("read Cargo.lock")?;
        write(&directory.join("Cargo.lock"), &versions)?;
    }
    let [test, run] = options.lang.commands(midplane);
    console::print_line(format_args!(
        "{} is created. Test it, and run it on emulated nodes:\n  cd {}\n  {test}\n  {run}",
        directory.display(),
        shell_words::quote(&directory.display().to_string())
    ))?;
    Ok(0)
}

fn write(file: &Path, content: &[u8]) -> Result<(), CliError> {
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(file, content))
        .context(format_args!("write {}", file.display()))
}

/// Returns the name of the program, which is a file name for make and a package name for cargo.
fn check_name(directory: &Path) -> Result<&str, CliError> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_plain) {
        return Err(CliError::usage(format!(
            "{}: the name of a program starts with a letter and contains letters, digits, - and _",
            directory.display()
        )));
    }
    if RESERVED.contains(&name) {
        return Err(CliError::usage(format!(
            "{name}: make or cargo use this name; give another name"
        )));
    }
    Ok(name)
}

/// Returns a command that starts this program in every directory: its name if the shell finds it, else its path. The
/// launcher works in the checkout only, and a script replaces it.
fn portable_command() -> Result<String, CliError> {
    let path = match SourceTree::current() {
        SourceTree::Checkout(_) => cc::write_wrappers()?.with_file_name(INSTALLED),
        SourceTree::Carried(_) => {
            let this = std::env::current_exe().context("find this command")?;
            let found = in_path(INSTALLED).and_then(|found| fs::canonicalize(found).ok());
            if found.is_some_and(|found| found == this) {
                return Ok(INSTALLED.into());
            }
            this
        }
    };
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;
    use crate::host::error::USAGE;

    fn create(directory: &Path, lang: ProjectLanguage) -> Result<u8, CliError> {
        let directory = directory.into();
        create_for(&NewArgs { directory, lang }, INSTALLED)
    }

    #[test]
    fn a_project_contains_no_placeholder() {
        let scratch = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        for lang in ProjectLanguage::value_variants() {
            let directory = scratch.0.join(format!("below/my-{lang:?}"));
            assert_eq!(create(&directory, *lang), Ok(0));
            for (file, _) in lang.files() {
                let text = fs::read_to_string(directory.join(file)).unwrap();
                let words = text.split('@').skip(1).step_by(2);
                let placeholders: Vec<_> = words.filter(|word| word.chars().all(|c| c.is_uppercase())).collect();
                assert!(placeholders.is_empty(), "{file}: {placeholders:?}");
            }
            let readme = fs::read_to_string(directory.join("README.md")).unwrap();
            assert!(readme.starts_with(&format!("# my-{lang:?}")), "{readme}");
        }
    }

    #[test]
    fn an_existing_directory_is_refused_and_unchanged() {
        let scratch = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let directory = scratch.0.join("there");
        fs::create_dir(&directory).unwrap();
        let stop = create(&directory, ProjectLanguage::C).unwrap_err();
        assert_eq!(stop.status, USAGE);
        assert!(stop.message.contains("exists already"), "{stop}");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        let stop = create(Path::new("/dev/null/there"), ProjectLanguage::C).unwrap_err();
        assert!(stop.message.contains("/dev/null"), "{stop}");
    }

    #[test]
    fn names_that_make_or_cargo_cannot_use_are_refused() {
        for name in ["", "1a", "a b", "..", "ä", "a.c", "test", "mpi"] {
            assert_eq!(
                check_name(Path::new(name)).map_err(|stop| stop.status),
                Err(USAGE),
                "{name}"
            );
        }
        for name in ["a", "my-program_2", "some/where/hello"] {
            assert!(check_name(Path::new(name)).is_ok(), "{name}");
        }
    }
}
