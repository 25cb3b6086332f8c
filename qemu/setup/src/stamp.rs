//! Check whether a cargo build is up to date, without a call of cargo.
//!
//! Cargo acquires a lock and requires half a second even for a build that is up to date. A stamp file is therefore kept
//! next to each built file. Its time is the start of the build. It contains the built file's identity and all
//! dependencies that are not files. The build is up to date while all inputs are older than the stamp. In case of
//! doubt, cargo is called.

use crate::rust::ALONG;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Prefixes of the environment variables that configure cargo, in addition to its files.
const VARIABLES: [&str; 8] = [
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "DEFMT_",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// File that cargo builds.
#[derive(Clone, Debug)]
pub struct BuildArtifact {
    /// Path of the file. Cargo writes its dependencies next to it, with the extension `d`.
    pub file: PathBuf,
    /// Workspace. Files in it, and in the directories between it and a source, configure the build.
    pub root: PathBuf,
    /// Additional input files.
    pub beside: Vec<PathBuf>,
    /// Additional dependencies, for example the compiler's version.
    pub with: String,
}

/// A started build.
pub struct StartedBuild {
    stamp: PathBuf,
    began: SystemTime,
}

impl Drop for StartedBuild {
    fn drop(&mut self) {
        // Fails harmlessly after the rename; removes the file of a failed build.
        let _ = fs::remove_file(&self.stamp);
    }
}

impl BuildArtifact {
    /// Checks whether the file exists and no input has changed since the start of its build.
    pub fn is_fresh(&self) -> bool {
        let Ok(stamp) = fs::read_to_string(self.stamp()) else {
            return false;
        };
        let Some(began) = changed(&self.stamp()) else {
            return false;
        };
        stamp == self.content()
            && self
                .inputs()
                .is_some_and(|inputs| inputs.iter().all(|input| changed(input).is_some_and(|at| at < began)))
    }

    /// Records the start of a build.
    ///
    /// # Errors
    /// Returns an error if the stamp cannot be written. The build does not require it.
    pub fn begin(&self) -> io::Result<StartedBuild> {
        let stamp = self.stamp();
        if let Some(directory) = stamp.parent() {
            fs::create_dir_all(directory)?;
        }
        let stamp = stamp.with_extension(format!("stamp-{}", std::process::id()));
        // Uses the file system's clock, because the inputs' times come from it.
        let began = File::create(&stamp)?.metadata()?.modified()?;
        Ok(StartedBuild { stamp, began })
    }

    /// Records the success of a build.
    ///
    /// # Errors
    /// Returns an error if the stamp cannot be written. Cargo is then called again the next time.
    pub fn succeeded(&self, begun: StartedBuild) -> io::Result<()> {
        fs::write(&begun.stamp, self.content())?;
        File::options()
            .write(true)
            .open(&begun.stamp)?
            .set_modified(begun.began)?;
        // Atomic: a reader finds the old stamp or the new one.
        fs::rename(&begun.stamp, self.stamp())
    }

    fn stamp(&self) -> PathBuf {
        self.file.with_extension("stamp")
    }

    /// Returns the stamp's content: the built file's identity and all dependencies that are not files.
    fn content(&self) -> String {
        let mut text = match self.file.metadata() {
            Ok(m) => format!("{} {}.{:09}\n", m.len(), m.mtime(), m.mtime_nsec()),
            Err(_) => "no file\n".to_string(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}\n{}", self.root.display(), self.with);
        let mut variables: Vec<_> = std::env::vars_os()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                VARIABLES.iter().any(|begin| name.starts_with(begin))
            })
            .collect();
        variables.sort();
        for (name, value) in variables {
            let _ = writeln!(text, "{name:?}={value:?}");
        }
        text
    }

    /// Returns all input files; `None` if cargo's dependency file is missing.
    fn inputs(&self) -> Option<Vec<PathBuf>> {
        let said = fs::read_to_string(self.file.with_extension("d")).ok()?;
        let sources = dependencies(&said)?;
        let mut inputs = self.beside.clone();
        inputs.extend([
            self.root.join("Cargo.lock"),
            self.root.join(".cargo/config.toml"),
            self.root.join(ALONG),
        ]);
        // A package's manifest is in a directory between a source and the workspace.
        let mut directories: Vec<&Path> = sources
            .iter()
            .flat_map(|source| source.ancestors().skip(1))
            .filter(|directory| directory.starts_with(&self.root))
            .collect();
        directories.sort_unstable();
        directories.dedup();
        let manifests = directories.iter().map(|directory| directory.join("Cargo.toml"));
        inputs.extend(manifests.filter(|manifest| manifest.exists()));
        inputs.extend(sources);
        Some(inputs)
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// Parses the prerequisites of a `make` rule. A space in a path is written `\\ `.
fn dependencies(rule: &str) -> Option<Vec<PathBuf>> {
    let (_, list) = rule.lines().next()?.split_once(": ")?;
    let mut files = Vec::new();
    let mut file = String::new();
    let mut characters = list.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&' ') => {
                file.push(' ');
                characters.next();
            }
            ' ' => files.push(std::mem::take(&mut file)),
            c => file.push(c),
        }
    }
    files.push(file);
    let files = files.into_iter().filter(|file| !file.is_empty());
    Some(files.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A workspace of one source, and its build result.
    struct BuiltWorkspace {
        directory: PathBuf,
        artifact: BuildArtifact,
    }

    impl BuiltWorkspace {
        fn new(name: &str) -> Self {
            let directory = std::env::temp_dir().join(format!("midplane-{name}-{}", std::process::id()));
            let artifact = BuildArtifact {
                file: directory.join("target/tool"),
                root: directory.clone(),
                beside: vec![directory.join("beside")],
                with: "rustc 1".into(),
            };
            let built = Self { directory, artifact };
            for file in ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", ALONG, "beside"] {
                built.write(file, -10);
            }
            built.write("pack age/Cargo.toml", -10);
            built.write("pack age/src/main.rs", -10);
            built
        }

        /// Writes a file whose time is `seconds` from now.
        fn write(&self, name: &str, seconds: i64) {
            let file = self.directory.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let second = Duration::from_secs(seconds.unsigned_abs());
            let now = SystemTime::now();
            let at = if seconds < 0 { now - second } else { now + second };
            File::create(file).unwrap().set_modified(at).unwrap();
        }

        /// Builds as cargo does.
        fn build(&self) {
            let begun = self.artifact.begin().unwrap();
            self.write("target/tool", 0);
            let source = self.directory.join("pack age/src/main.rs");
            let source = source.display().to_string().replace(' ', "\\ ");
            let rule = format!("{}: {source}\n", self.artifact.file.display());
            fs::write(self.directory.join("target/tool.d"), rule).unwrap();
            self.artifact.succeeded(begun).unwrap();
        }
    }

    impl Drop for BuiltWorkspace {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    #[test]
    fn what_was_built_is_fresh_until_an_input_changes() {
        let built = BuiltWorkspace::new("fresh");
        assert!(!built.artifact.is_fresh(), "nothing was built");
        for input in [
            "pack age/src/main.rs",
            "pack age/Cargo.toml",
            "Cargo.toml",
            "Cargo.lock",
            ".cargo/config.toml",
            ALONG,
            "beside",
        ] {
            built.build();
            assert!(built.artifact.is_fresh(), "{input}");
            built.write(input, 10);
            assert!(!built.artifact.is_fresh(), "{input}");
            built.write(input, -10);
            assert!(built.artifact.is_fresh(), "{input}");
            fs::remove_file(built.directory.join(input)).unwrap();
            let optional = ["pack age/Cargo.toml", "Cargo.toml"].contains(&input);
            assert_eq!(built.artifact.is_fresh(), optional, "{input}");
            built.write(input, -10);
        }
    }

    #[test]
    fn a_change_during_the_build_is_not_missed() {
        let built = BuiltWorkspace::new("during");
        let begun = built.artifact.begin().unwrap();
        built.write("pack age/src/main.rs", 0);
        let source = built.directory.join("pack age/src/main.rs");
        let source = source.display().to_string().replace(' ', "\\ ");
        built.write("target/tool", 1);
        fs::write(built.directory.join("target/tool.d"), format!("x: {source}\n")).unwrap();
        built.artifact.succeeded(begun).unwrap();
        assert!(!built.artifact.is_fresh());
    }

    #[test]
    fn another_file_compiler_or_place_is_not_fresh() {
        let built = BuiltWorkspace::new("other");
        built.build();
        let compiler = BuildArtifact {
            with: "rustc 2".into(),
            ..built.artifact.clone()
        };
        assert!(!compiler.is_fresh());
        built.write("target/tool", -5);
        assert!(!built.artifact.is_fresh(), "another build put its file there");
        built.build();
        assert!(built.artifact.is_fresh());
        fs::remove_file(&built.artifact.file).unwrap();
        assert!(!built.artifact.is_fresh(), "the file is gone");
        // A checkout that was copied with its file times.
        let moved = BuildArtifact {
            root: "/elsewhere".into(),
            ..built.artifact.clone()
        };
        built.build();
        assert!(built.artifact.is_fresh() && !moved.is_fresh());
    }

    #[test]
    fn files_with_spaces_are_read_from_what_cargo_writes() {
        let rule = "/t/a\\ b: /s/one.rs /s/two\\ words.rs /s/back\\slash.rs\n";
        let files = ["/s/one.rs", "/s/two words.rs", "/s/back\\slash.rs"];
        let found = dependencies(rule).unwrap();
        assert_eq!(found, files.map(PathBuf::from));
        assert_eq!(dependencies("nothing"), None);
    }
}
