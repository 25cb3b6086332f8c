//! Detection of the installed tools.

use crate::ask::{Tool, in_path, output, version_in, works};
use crate::kit::kit;
use crate::look::{Look, QEMU_LEAST};
use crate::need::{Missing, Need};
use crate::rust::{self, Choice, Rust};
use crate::{Places, Refusal, folder};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The complete set of tools.
#[derive(Debug)]
pub struct Tools {
    /// Rust compiler.
    pub rust: Rust,
    /// Version string of the Rust compiler.
    pub rust_version: String,
    /// Emulator.
    pub qemu: Tool,
    /// C compiler, including the arguments that select picolibc.
    pub gcc: Tool,
}

/// A tool and its displayed version.
pub type Versioned = (Tool, String);

/// Result of the detection.
#[derive(Debug)]
pub struct Found {
    /// Rust compiler for the nodes.
    pub rust: Look<(Rust, String)>,
    /// Emulator of a supported version.
    pub qemu: Look<Versioned>,
    /// C compiler.
    pub gcc: Look<Versioned>,
    /// C compiler arguments that select picolibc, path of the specs file, and version.
    pub picolibc: Look<(Vec<OsString>, PathBuf, String)>,
}

impl Found {
    /// Detects the tools on this machine.
    pub fn look(choice: Choice, places: &Places) -> Self {
        let gcc = gcc(places);
        Self {
            rust: rust::look(choice, places),
            qemu: qemu(places),
            picolibc: match gcc.there() {
                Some((gcc, _)) => picolibc(gcc, places),
                None => Look::Missing,
            },
            gcc,
        }
    }

    /// Returns the tools if all are usable.
    pub fn tools(&self) -> Option<Tools> {
        let (gcc, _) = self.gcc.there()?;
        let (arguments, _, _) = self.picolibc.there()?;
        let (rust, rust_version) = self.rust.there()?.clone();
        let mut gcc = gcc.clone();
        gcc.arguments.extend(arguments.iter().cloned());
        Some(Tools {
            rust,
            rust_version,
            qemu: self.qemu.there()?.0.clone(),
            gcc,
        })
    }

    /// Returns the missing tools.
    ///
    /// # Errors
    /// Returns an error if a tool exists and does not work, because the missing parts are unknown then.
    pub fn missing(&self, choice: Choice) -> Result<Missing, Refusal> {
        let broken = |name: &str, error: &str| {
            Err(Refusal(format!(
                "{name} is there and does not work, so nothing is installed; {error}"
            )))
        };
        let mut missing = Vec::new();
        match &self.rust {
            Look::There(_) => {}
            Look::Broken(error) => return broken("the Rust compiler", error),
            Look::Missing if choice.debian() => missing.push(Need::Rust),
            Look::Missing => missing.push(Need::Target),
        }
        match &self.qemu {
            Look::There(_) => {}
            Look::Missing => missing.push(Need::Qemu),
            Look::Broken(error) => return broken("QEMU", error),
        }
        match &self.gcc {
            Look::There(_) => {}
            Look::Missing => missing.push(Need::Gcc),
            Look::Broken(error) => return broken("the C compiler", error),
        }
        match &self.picolibc {
            Look::There(_) => {}
            Look::Missing => missing.push(Need::Picolibc),
            Look::Broken(error) => return broken("picolibc", error),
        }
        Ok(Missing(missing))
    }
}

/// Finds the emulator: the system's, or the unpacked one where the system has none of a supported version.
pub fn qemu(places: &Places) -> Look<Versioned> {
    let system = in_path(kit().qemu).map(Tool::of_the_system);
    let own = || {
        let root = folder::of(places, Need::Qemu)?;
        let mut tool = own_tool(&root, kit().qemu)?;
        // An unpacked QEMU searches for its firmware in the system's directory.
        tool.arguments = vec!["-L".into(), root.join("usr/share/qemu").into()];
        Some(tool)
    };
    first_usable(system, own, "--version", |said| {
        let version = version_in(said);
        // A QEMU of unknown version is accepted; it reports unsupported options itself.
        let usable = version.is_none_or(|version| version >= QEMU_LEAST);
        usable.then(|| match version {
            Some((major, minor)) => format!("{major}.{minor}"),
            None => "of unknown version".into(),
        })
    })
}

fn gcc(places: &Places) -> Look<Versioned> {
    let system = in_path(kit().gcc).map(Tool::of_the_system);
    let own = || own_tool(&folder::of(places, Need::Gcc)?, kit().gcc);
    first_usable(system, own, "-dumpfullversion", |said| Some(said.into()))
}

/// Returns a program in a directory of unpacked packages.
fn own_tool(root: &Path, name: &str) -> Option<Tool> {
    let path = root.join("usr/bin").join(name);
    path.exists().then(|| Tool {
        path,
        arguments: Vec::new(),
        libraries: folder::libraries(root),
    })
}

/// Returns the first working tool whose version is accepted. `option` makes the tool print its version.
fn first_usable(
    system: Option<Tool>,
    own: impl FnOnce() -> Option<Tool>,
    option: &str,
    accept: impl Fn(&str) -> Option<String>,
) -> Look<Versioned> {
    let ask = |tool: Tool| match works(tool.command().arg(option)) {
        Ok(said) => match accept(&said) {
            Some(version) => Look::There((tool, version)),
            None => Look::Missing,
        },
        Err(error) => Look::Broken(format!("`{} {option}` says: {error}", tool.path.display())),
    };
    let system = system.map_or(Look::Missing, ask);
    if let Look::There(_) = system {
        return system;
    }
    // The unpacked tool fails after a change of the system's libraries. It is then unpacked again.
    match own().map(ask) {
        Some(Look::There(tool)) => Look::There(tool),
        _ => system,
    }
}

/// Finds picolibc: the compiler's own, the system's for a compiler in Midplane's directory, or the unpacked one.
fn picolibc(gcc: &Tool, places: &Places) -> Look<(Vec<OsString>, PathBuf, String)> {
    let beside = |usr: PathBuf| {
        let specs = usr.join(kit().picolibc_specs);
        let arguments =
            [("--specs=", &specs), ("--picolibc-prefix=", &usr)].map(|(option, path)| {
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
    let own = folder::of(places, Need::Picolibc).map(|root| root.join("usr"));
    let others = [Some(PathBuf::from("/usr")), own];
    known
        .into_iter()
        .chain(others.into_iter().flatten().map(beside))
        .filter(|(_, specs)| specs.exists())
        .find_map(|(arguments, specs)| {
            let version = picolibc_version(gcc, &arguments)?;
            Some((arguments, specs, version))
        })
        .map_or(Look::Missing, Look::There)
}

/// Returns the version of picolibc if the compiler finds its headers with these arguments.
fn picolibc_version(gcc: &Tool, arguments: &[OsString]) -> Option<String> {
    let preprocess = [
        "-dM",
        "-E",
        "-include",
        "picolibc.h",
        "-x",
        "c",
        "/dev/null",
    ];
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

    fn found() -> Found {
        let tool = |name: &str| Tool::of_the_system(name.into());
        Found {
            rust: Look::There((Rust::Installed, "1.95".into())),
            qemu: Look::There((tool("qemu"), "7.2".into())),
            gcc: Look::There((tool("gcc"), "12".into())),
            picolibc: Look::There((vec!["--specs=x".into()], "x".into(), "1.8".into())),
        }
    }

    #[test]
    fn what_is_missing_is_listed_and_what_does_not_work_is_not_taken_for_missing() {
        let all = found();
        assert_eq!(all.missing(Choice::Any), Ok(Missing(vec![])));
        let tools = all.tools().unwrap();
        assert_eq!(tools.gcc.arguments, ["--specs=x"]);
        let without = Found {
            rust: Look::Missing,
            qemu: Look::Missing,
            ..found()
        };
        assert!(without.tools().is_none());
        let missing = |choice| without.missing(choice).unwrap().0;
        assert_eq!(missing(Choice::Any), [Need::Rust, Need::Qemu]);
        assert_eq!(missing(Choice::Rustup), [Need::Target, Need::Qemu]);
        let broken = Found {
            gcc: Look::Broken("`gcc -dumpfullversion` says: no".into()),
            picolibc: Look::Missing,
            ..found()
        };
        let refusal = broken.missing(Choice::Any).unwrap_err();
        assert!(refusal.0.contains("nothing is installed"), "{refusal}");
        assert!(refusal.0.contains("says: no"), "{refusal}");
    }

    #[test]
    fn an_old_tool_is_missing_and_ours_takes_its_place() {
        let tool = |name: &str| Tool::of_the_system(name.into());
        let recent = |said: &str| {
            let version = version_in(said)?;
            (version >= QEMU_LEAST).then(|| said.to_string())
        };
        let echo = |version: &str| Tool {
            arguments: vec![version.into()],
            ..tool("/bin/echo")
        };
        let look = |system, own: Option<Tool>| first_usable(system, || own, "x", recent);
        assert_eq!(look(None, None), Look::Missing);
        assert_eq!(look(Some(echo("6.2")), None), Look::Missing);
        assert!(matches!(look(Some(echo("7.2")), None), Look::There(_)));
        let own = echo("8.0");
        assert_eq!(
            look(Some(echo("6.2")), Some(own.clone())),
            Look::There((own.clone(), "8.0 x".into()))
        );
        let broken = tool("/bin/false");
        assert!(matches!(look(Some(broken.clone()), None), Look::Broken(_)));
        assert!(matches!(
            look(Some(broken.clone()), Some(own)),
            Look::There(_)
        ));
        assert_eq!(look(None, Some(broken)), Look::Missing);
    }
}
