//! Helpers that locate programs, run them and parse their output.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Searches the path for a program.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Returns a command's trimmed output, or `None` if it fails.
pub fn output(command: &mut Command) -> Option<String> {
    run_checked(command).ok()
}

/// Returns a command's trimmed output.
///
/// # Errors
/// Returns one line if the command does not start or fails: its first message on stderr and its status.
pub fn run_checked(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(match said.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{} ({})", line.trim(), output.status),
        None => output.status.to_string(),
    })
}

/// Returns the first version `a.b` in a text.
pub fn parse_version(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

/// Formats a command as on a command line.
pub fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A system program, or a program unpacked into Midplane's own directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemTool {
    /// Path of the executable.
    pub path: PathBuf,
    /// Arguments that precede all others.
    pub arguments: Vec<OsString>,
    /// Library directories for `LD_LIBRARY_PATH`; `None`: use the system's.
    pub libraries: Option<OsString>,
}

impl SystemTool {
    /// Creates a tool from a system program.
    pub fn from_path(path: PathBuf) -> Self {
        Self {
            path,
            arguments: Vec::new(),
            libraries: None,
        }
    }

    /// Creates a command; the caller appends arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        for (text, version) in [
            ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", (7, 2)),
            ("QEMU emulator version 10.0.50", (10, 0)),
            ("rustc 1.96.0-web (abc 2026-01-01)", (1, 96)),
            ("1.96.0+dfsg1-1~deb12u2", (1, 96)),
            ("1.95", (1, 95)),
        ] {
            assert_eq!(parse_version(text), Some(version), "{text}");
        }
        assert_eq!(parse_version("no version"), None);
    }

    #[test]
    fn a_program_that_fails_is_told_by_its_own_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo; echo one >&2; echo two >&2; exit 3"]);
        let error = run_checked(&mut command).unwrap_err();
        assert!(error.starts_with("one (") && error.contains('3'), "{error}");
        assert!(run_checked(&mut Command::new("/nonexistent/program")).is_err());
        assert_eq!(run_checked(Command::new("echo").arg(" a ")), Ok("a".into()));
    }
}
