//! Detection of the installed tools.

use crate::dependency::{MissingTool, MissingTools};
use crate::detection_result::{MIN_QEMU_VERSION, ToolDetection};
use crate::query::{SystemTool, in_path, output, parse_version, run_checked};
use crate::rust::{self, RustChoice, RustSource};
use crate::toolchain::board_toolchain;
use crate::{CheckoutDirs, SetupError, package_dir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The complete set of tools.
#[derive(Debug)]
pub struct ToolSet {
    /// Rust compiler.
    pub rust: RustSource,
    /// Version string of the Rust compiler.
    pub rust_version: String,
    /// Emulator.
    pub qemu: SystemTool,
    /// C compiler, including the arguments that select picolibc.
    pub gcc: SystemTool,
}

/// A tool and its displayed version.
pub type VersionedTool = (SystemTool, String);

/// Result of the detection.
#[derive(Debug)]
pub struct DetectedTools {
    /// Rust compiler for the nodes.
    pub rust: ToolDetection<(RustSource, String)>,
    /// Emulator of a supported version.
    pub qemu: ToolDetection<VersionedTool>,
    /// C compiler.
    pub gcc: ToolDetection<VersionedTool>,
    /// C compiler arguments that select picolibc, path of the specs file, and version.
    pub picolibc: ToolDetection<(Vec<OsString>, PathBuf, String)>,
}

impl DetectedTools {
    /// Detects the tools on this machine.
    pub fn detect(choice: RustChoice, places: &CheckoutDirs) -> Self {
        let gcc = gcc(places);
        Self {
            rust: rust::detect_rust(choice, places),
            qemu: qemu(places),
            picolibc: match gcc.usable() {
                Some((gcc, _)) => picolibc(gcc, places),
                None => ToolDetection::Missing,
            },
            gcc,
        }
    }

    /// Returns the tools if all are usable.
    pub fn tools(&self) -> Option<ToolSet> {
        let (gcc, _) = self.gcc.usable()?;
        let (arguments, _, _) = self.picolibc.usable()?;
        let (rust, rust_version) = self.rust.usable()?.clone();
        let mut gcc = gcc.clone();
        gcc.arguments.extend(arguments.iter().cloned());
        Some(ToolSet {
            rust,
            rust_version,
            qemu: self.qemu.usable()?.0.clone(),
            gcc,
        })
    }

    /// Returns the missing tools.
    ///
    /// # Errors
    /// Returns an error if a tool exists and does not work, because the missing parts are unknown then.
    pub fn missing(&self, choice: RustChoice) -> Result<MissingTools, SetupError> {
        let broken = |name: &str, error: &str| {
            Err(SetupError(format!(
                "{name} is there and does not work, so nothing is installed; {error}"
            )))
        };
        let mut missing = Vec::new();
        match &self.rust {
            ToolDetection::Usable(_) => {}
            ToolDetection::Broken(error) => return broken("the Rust compiler", error),
            ToolDetection::Missing if choice.debian() => missing.push(MissingTool::Rust),
            ToolDetection::Missing => missing.push(MissingTool::Target),
        }
        match &self.qemu {
            ToolDetection::Usable(_) => {}
            ToolDetection::Missing => missing.push(MissingTool::Qemu),
            ToolDetection::Broken(error) => return broken("QEMU", error),
        }
        match &self.gcc {
            ToolDetection::Usable(_) => {}
            ToolDetection::Missing => missing.push(MissingTool::Gcc),
            ToolDetection::Broken(error) => return broken("the C compiler", error),
        }
        match &self.picolibc {
            ToolDetection::Usable(_) => {}
            ToolDetection::Missing => missing.push(MissingTool::Picolibc),
            ToolDetection::Broken(error) => return broken("picolibc", error),
        }
        Ok(MissingTools(missing))
    }
}

/// Finds the emulator: the system's, or the unpacked one where the system has none of a supported version.
pub fn qemu(places: &CheckoutDirs) -> ToolDetection<VersionedTool> {
    let system = in_path(board_toolchain().qemu).map(SystemTool::from_path);
    let own = || {
        let root = package_dir::find_dir(places, MissingTool::Qemu)?;
        let mut tool = own_tool(&root, board_toolchain().qemu)?;
        // An unpacked QEMU searches for its firmware in the system's directory.
        tool.arguments = vec!["-L".into(), root.join("usr/share/qemu").into()];
        Some(tool)
    };
    first_usable(system, own, "--version", |said| {
        let version = parse_version(said);
        // A QEMU of unknown version is accepted; it reports unsupported options itself.
        let usable = version.is_none_or(|version| version >= MIN_QEMU_VERSION);
        usable.then(|| match version {
            Some((major, minor)) => format!("{major}.{minor}"),
            None => "of unknown version".into(),
        })
    })
}

fn gcc(places: &CheckoutDirs) -> ToolDetection<VersionedTool> {
    let system = in_path(board_toolchain().gcc).map(SystemTool::from_path);
    let own = || own_tool(&package_dir::find_dir(places, MissingTool::Gcc)?, board_toolchain().gcc);
    first_usable(system, own, "-dumpfullversion", |said| Some(said.into()))
}

/// Names of gfortran for Linux on the nodes' processor, the tested version first.
const FORTRAN: [&str; 4] = [
    "riscv64-linux-gnu-gfortran-12",
    "riscv64-linux-gnu-gfortran-14",
    "riscv64-linux-gnu-gfortran-13",
    "riscv64-linux-gnu-gfortran",
];

/// Finds the Fortran compiler for nodes with its static library: the system's or the unpacked one. It uses the
/// assembler of the nodes' C compiler.
pub fn fortran(gcc: &SystemTool, places: &CheckoutDirs) -> ToolDetection<VersionedTool> {
    let system = FORTRAN.iter().find_map(|name| in_path(name)).map(SystemTool::from_path);
    let own = || {
        let root = package_dir::find_dir(places, MissingTool::Fortran)?;
        FORTRAN.iter().find_map(|name| own_tool(&root, name))
    };
    let assembler = output(gcc.command().arg("-print-prog-name=as")).map(PathBuf::from);
    let mut option = OsString::from("-B");
    option.push(
        assembler
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(Path::new("/usr/bin")),
    );
    let complete = |mut tool: SystemTool| {
        // The driver searches for its plugin even if it does not link.
        tool.arguments.extend([option.clone(), "-fno-use-linker-plugin".into()]);
        // The assembler may be an unpacked one, and requires the libraries beside it.
        tool.libraries = gcc.libraries.clone();
        tool
    };
    let has_library = |tool: &SystemTool| {
        let library = output(tool.command().arg("-print-file-name=libgfortran.a"));
        library.is_some_and(|library| Path::new(&library).is_absolute())
    };
    let system = system.map(complete).filter(has_library);
    let own = || own().map(complete).filter(has_library);
    first_usable(system, own, "-dumpfullversion", |said| Some(said.into()))
}

/// Returns a program in a directory of unpacked packages.
fn own_tool(root: &Path, name: &str) -> Option<SystemTool> {
    let path = root.join("usr/bin").join(name);
    path.exists().then(|| SystemTool {
        path,
        arguments: Vec::new(),
        libraries: package_dir::libraries(root),
    })
}

/// Returns the first working tool whose version is accepted. `option` makes the tool print its version.
fn first_usable(
    system: Option<SystemTool>,
    own: impl FnOnce() -> Option<SystemTool>,
    option: &str,
    accept: impl Fn(&str) -> Option<String>,
) -> ToolDetection<VersionedTool> {
    let ask = |tool: SystemTool| match run_checked(tool.command().arg(option)) {
        Ok(said) => match accept(&said) {
            Some(version) => ToolDetection::Usable((tool, version)),
            None => ToolDetection::Missing,
        },
        Err(error) => ToolDetection::Broken(format!("`{} {option}` says: {error}", tool.path.display())),
    };
    let system = system.map_or(ToolDetection::Missing, ask);
    if let ToolDetection::Usable(_) = system {
        return system;
    }
    // The unpacked tool fails after a change of the system's libraries. It is then unpacked again.
    match own().map(ask) {
        Some(ToolDetection::Usable(tool)) => ToolDetection::Usable(tool),
        _ => system,
    }
}

/// Finds picolibc: the compiler's own, the system's for a compiler in Midplane's directory, or the unpacked one.
fn picolibc(gcc: &SystemTool, places: &CheckoutDirs) -> ToolDetection<(Vec<OsString>, PathBuf, String)> {
    let beside = |usr: PathBuf| {
        let specs = usr.join(board_toolchain().picolibc_specs);
        let arguments = [("--specs=", &specs), ("--picolibc-prefix=", &usr)].map(|(option, path)| {
            let mut argument = OsString::from(option);
            argument.push(path);
            argument
        });
        (arguments.to_vec(), specs)
    };
    // The compiler prints the bare file name if the file does not exist.
    let known = output(gcc.command().arg("--print-file-name=picolibc.specs"))
        .map(PathBuf::from)
        .filter(|specs| specs.is_absolute())
        .map(|specs| (vec!["--specs=picolibc.specs".into()], specs));
    let own = package_dir::find_dir(places, MissingTool::Picolibc).map(|root| root.join("usr"));
    let others = [Some(PathBuf::from("/usr")), own];
    known
        .into_iter()
        .chain(others.into_iter().flatten().map(beside))
        .filter(|(_, specs)| specs.exists())
        .find_map(|(arguments, specs)| {
            let version = picolibc_version(gcc, &arguments)?;
            Some((arguments, specs, version))
        })
        .map_or(ToolDetection::Missing, ToolDetection::Usable)
}

/// Returns the version of picolibc if the compiler finds its headers with these arguments.
fn picolibc_version(gcc: &SystemTool, arguments: &[OsString]) -> Option<String> {
    let preprocess = ["-dM", "-E", "-include", "picolibc.h", "-x", "c", "/dev/null"];
    let macros = output(gcc.command().args(arguments).args(preprocess))?;
    Some(
        macros
            .lines()
            .find_map(|line| line.strip_prefix("#define __PICOLIBC_VERSION__ "))
            .map_or_else(
                || "of unknown version".into(),
                |version| version.trim_matches('"').to_string(),
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> DetectedTools {
        let tool = |name: &str| SystemTool::from_path(name.into());
        DetectedTools {
            rust: ToolDetection::Usable((RustSource::Installed, "1.95".into())),
            qemu: ToolDetection::Usable((tool("qemu"), "7.2".into())),
            gcc: ToolDetection::Usable((tool("gcc"), "12".into())),
            picolibc: ToolDetection::Usable((vec!["--specs=x".into()], "x".into(), "1.8".into())),
        }
    }

    #[test]
    fn what_is_missing_is_listed_and_what_does_not_work_is_not_taken_for_missing() {
        let all = found();
        assert_eq!(all.missing(RustChoice::Any), Ok(MissingTools(vec![])));
        let tools = all.tools().unwrap();
        assert_eq!(tools.gcc.arguments, ["--specs=x"]);
        let without = DetectedTools {
            rust: ToolDetection::Missing,
            qemu: ToolDetection::Missing,
            ..found()
        };
        assert!(without.tools().is_none());
        let missing = |choice| without.missing(choice).unwrap().0;
        assert_eq!(missing(RustChoice::Any), [MissingTool::Rust, MissingTool::Qemu]);
        assert_eq!(missing(RustChoice::Rustup), [MissingTool::Target, MissingTool::Qemu]);
        let broken = DetectedTools {
            gcc: ToolDetection::Broken("`gcc -dumpfullversion` says: no".into()),
            picolibc: ToolDetection::Missing,
            ..found()
        };
        let refusal = broken.missing(RustChoice::Any).unwrap_err();
        assert!(refusal.0.contains("nothing is installed"), "{refusal}");
        assert!(refusal.0.contains("says: no"), "{refusal}");
    }

    #[test]
    fn an_old_tool_is_missing_and_ours_takes_its_place() {
        let tool = |name: &str| SystemTool::from_path(name.into());
        let recent = |said: &str| {
            let version = parse_version(said)?;
            (version >= MIN_QEMU_VERSION).then(|| said.to_string())
        };
        let echo = |version: &str| SystemTool {
            arguments: vec![version.into()],
            ..tool("/bin/echo")
        };
        let look = |system, own: Option<SystemTool>| first_usable(system, || own, "x", recent);
        assert_eq!(look(None, None), ToolDetection::Missing);
        assert_eq!(look(Some(echo("6.2")), None), ToolDetection::Missing);
        assert!(matches!(look(Some(echo("7.2")), None), ToolDetection::Usable(_)));
        let own = echo("8.0");
        assert_eq!(
            look(Some(echo("6.2")), Some(own.clone())),
            ToolDetection::Usable((own.clone(), "8.0 x".into()))
        );
        let broken = tool("/bin/false");
        assert!(matches!(look(Some(broken.clone()), None), ToolDetection::Broken(_)));
        assert!(matches!(
            look(Some(broken.clone()), Some(own)),
            ToolDetection::Usable(_)
        ));
        assert_eq!(look(None, Some(broken)), ToolDetection::Missing);
    }
}
