//! `midplane completions`: scripts with which a shell completes commands, options and their values.

use crate::host::error::CliError;
use crate::show::console;
use clap::{Args, ValueEnum};
use clap_complete::aot::{self, Generator};
use midplane_setup::invocation::INSTALLED;

/// Options of `midplane completions`.
#[derive(Args, Debug)]
pub struct CompletionArgs {
    /// Shell that reads the script
    #[arg(value_name = "SHELL", value_enum)]
    shell: ShellKind,
}

/// Shells whose completion is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

impl ShellKind {
    fn generator(self) -> aot::Shell {
        match self {
            Self::Bash => aot::Shell::Bash,
            Self::Zsh => aot::Shell::Zsh,
            Self::Fish => aot::Shell::Fish,
        }
    }
}

/// Prints the script for the definition of the command line.
pub fn print_completions(options: &CompletionArgs, command: clap::Command) -> Result<u8, CliError> {
    console::print_bytes(&script(options.shell, command)).map(|()| 0)
}

/// Returns the script. Shells complete the installed command only: `cargo midplane` belongs to cargo.
fn script(shell: ShellKind, command: clap::Command) -> Vec<u8> {
    let mut command = command.name(INSTALLED).bin_name(INSTALLED);
    command.build();
    let mut text = Vec::new();
    shell.generator().generate(&command, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;
    use crate::host::setup::in_path;
    use std::fs;
    use std::process::Command;

    fn text(shell: ShellKind) -> String {
        String::from_utf8(script(shell, crate::command_line())).unwrap()
    }

    /// Runs a shell on the script, then on `words`; returns the output. `None`: the shell is not installed.
    fn shell(kind: ShellKind, options: &[&str], words: &str) -> Option<String> {
        let name = kind.to_possible_value().unwrap().get_name().to_string();
        if in_path(&name).is_none() {
            eprintln!("left out: {name} is not installed");
            return None;
        }
        let scratch = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = scratch.0.join("_midplane");
        fs::write(&file, text(kind)).unwrap();
        let output = Command::new(&name)
            .args(options)
            .args(["-c", &words.replace("SCRIPT", &file.display().to_string())])
            .env("HOME", &scratch.0)
            .current_dir(&scratch.0)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn every_option_is_in_each_script() {
        let mut command = crate::command_line();
        command.build();
        for kind in ShellKind::value_variants() {
            let text = text(*kind);
            let mut options = 0;
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                assert!(text.contains(sub.get_name()), "{kind:?}: {}", sub.get_name());
                for long in sub.get_arguments().filter_map(clap::Arg::get_long) {
                    options += 1;
                    // fish has a separate word for the name.
                    let is_there = text.contains(&format!("--{long}")) || text.contains(&format!("-l {long} "));
                    assert!(
                        is_there || text.contains(&format!("-l {long}\n")),
                        "{kind:?}: {} --{long}",
                        sub.get_name()
                    );
                }
            }
            assert!(options > 100, "{options} options");
        }
    }

    #[test]
    fn bash_completes() {
        let words = "set -e; source SCRIPT; COMP_WORDS=(midplane run --tor); COMP_CWORD=2; \
                     _midplane midplane --tor run; echo \"${COMPREPLY[@]}\"; \
                     COMP_WORDS=(midplane run --on c); COMP_CWORD=3; _midplane midplane c --on; \
                     echo \"${COMPREPLY[@]}\"; complete -p midplane";
        if let Some(said) = shell(ShellKind::Bash, &["--norc"], words) {
            let lines: Vec<&str> = said.lines().collect();
            assert_eq!(lines[..2], ["--torus", "cluster"], "{said}");
            assert!(lines[2].contains("-F _midplane"), "{said}");
        }
    }

    #[test]
    fn zsh_loads_the_script() {
        let words = "autoload -U compinit && compinit -u -D && source SCRIPT && whence -w _midplane \
                     && echo $_comps[midplane]";
        if let Some(said) = shell(ShellKind::Zsh, &["-f"], words) {
            assert_eq!(said, "_midplane: function\n_midplane\n");
        }
    }

    #[test]
    fn fish_completes() {
        let words = "source SCRIPT; complete --do-complete 'midplane run --tor'; \
                     complete --do-complete 'midplane run --on c'";
        if let Some(said) = shell(ShellKind::Fish, &["--no-config"], words) {
            let words: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
            assert_eq!(words, ["--torus", "cluster"], "{said}");
        }
    }
}
