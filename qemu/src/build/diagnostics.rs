//! Diagnostics of compiler and linker, and the missing symbols that they report.

use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use crate::show::console::print_error_line;
use rustix::process::Signal;
use std::io::{ErrorKind, IsTerminal};
use std::process::{Command, Stdio};

/// Removes terminal escape sequences (ESC, `[`, up to a letter) from a line.
fn without_colors(line: &str) -> String {
    let mut pieces = line.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let text = piece.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(text.map_or("", |at| &piece[at + 1..]));
    }
    plain
}

/// Returns file and line of a location in the linker's format: `/usr/bin/ld: dir/file.c:12: `. Since binutils 2.44 a
/// section offset follows (`file.c:12:(.text+0x1a): `). Empty if the location is only an offset.
fn file_and_line(place: &str) -> &str {
    let place = place.trim_end().trim_end_matches(':');
    let place = place.rsplit_once(": ").map_or(place, |(_, place)| place);
    let place = place.split_once(":(").map_or(place, |(place, _)| place);
    let has_line = place
        .rsplit_once(':')
        .is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()));
    if has_line {
        place.rsplit('/').next().unwrap_or(place)
    } else {
        ""
    }
}

/// Diagnostics of a compiler or linker.
pub struct CompilerOutput {
    /// Whether the command succeeded.
    pub success: bool,
    words: String,
}

impl CompilerOutput {
    /// Runs the command to completion. Selects English messages, so that they can be parsed.
    pub fn by(command: &mut Command) -> Result<Self, CliError> {
        if std::io::stderr().is_terminal() {
            command.arg("-fdiagnostics-color=always");
        }
        sys::bind_to_this_process(command, Signal::TERM, Vec::new());
        let output = command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output();
        if matches!(&output, Err(error) if error.kind() == ErrorKind::NotFound) {
            return Err(CliError::unusable(format!(
                "the compiler {} is not installed; install it (Debian: apt-get install gcc g++)",
                command.get_program().display()
            )));
        }
        let output = output.context(format_args!("run {}", command.get_program().display()))?;
        Ok(Self {
            success: output.status.success(),
            words: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Creates a value from messages that were already shown.
    pub fn new(success: bool, words: String) -> Self {
        Self { success, words }
    }

    /// Checks whether there are no messages.
    pub fn is_silent(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the messages.
    pub fn into_messages(self) -> String {
        self.words
    }

    /// Prints the messages.
    pub fn print_messages(&self) {
        self.words.lines().for_each(print_error_line);
    }

    /// Returns undefined symbols: each once, with the first location (file and line) if known.
    pub fn undefined(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for line in self.words.lines() {
            let Some((place, rest)) = line.split_once("undefined reference to `") else {
                continue;
            };
            let name = rest.split('\'').next().unwrap_or(rest);
            if found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            found.push((name, file_and_line(place)));
        }
        found
    }

    /// Returns MPI names that the header does not contain, each once.
    pub fn implicit_functions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for line in self.words.lines() {
            let line = without_colors(line);
            let wrong = ["undeclared", "unknown type name", "implicit declaration of function"];
            if !wrong.iter().any(|words| line.contains(words)) {
                continue;
            }
            let quoted = line.split('\'').skip(1).step_by(2);
            // The first name is the unknown one; the second may be the compiler's suggestion.
            let Some(name) = quoted.into_iter().next() else {
                continue;
            };
            if name.starts_with("MPI_") && !found.iter().any(|known| known == name) {
                found.push(name.to_string());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_read_from_what_the_tools_say() {
        let said = |words: &str| CompilerOutput {
            success: false,
            words: words.into(),
        };
        let linker = said(
            "/usr/lib/ld: /tmp/0.o: in function `main':\n\
             /home/me/my prog.c:12: undefined reference to `MPI_Win_create'\n\
             /usr/lib/ld: /home/me/b.c:3: undefined reference to `helper'\n\
             /usr/lib/ld: /tmp/0.o:(.text+0x1a): undefined reference to `fork'\n\
             /home/me/b.c:14: undefined reference to `helper'\n\
             /home/me/b.c:15:(.text.startup.main+0x40): undefined reference to `area'\n\
             collect2: error: ld returned 1 exit status\n",
        );
        assert_eq!(
            linker.undefined(),
            [
                ("MPI_Win_create", "my prog.c:12"),
                ("helper", "b.c:3"),
                ("fork", ""),
                ("area", "b.c:15")
            ]
        );
        let compiler = said(
            "a.c:3:5: error: unknown type name 'MPI_Win'; did you mean 'MPI_Op'?\n\
             a.c:4:5: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K'\x1b[01m\x1b[KMPI_INFO_NULL\x1b[m\x1b[K' undeclared \
             (first use in this function)\n\
             a.c:5:5: error: 'other' undeclared (first use in this function)\n\
             a.c:6:5: error: 'MPI_INFO_NULL' undeclared\n",
        );
        let missing = ["MPI_Win", "MPI_INFO_NULL"];
        assert_eq!(compiler.implicit_functions(), missing);
    }
}
