//! Name by which the user called the command, and the help page of a command line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// Argument 0 from the launcher `cargo midplane`; also the name in help texts.
const LAUNCHER: &str = "cargo midplane";

/// Returns the command's name: `cargo midplane` if the launcher has started it, otherwise `midplane`.
pub fn command_name() -> &'static str {
    let first = std::env::args_os().next().unwrap_or_default();
    match Path::new(&first).file_name() {
        Some(name) if name == LAUNCHER => LAUNCHER,
        _ => "midplane",
    }
}

/// Replaces the launcher's name in the examples of a command and its subcommands.
pub fn with_name(command: clap::Command, name: &'static str) -> clap::Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(text.replace(LAUNCHER, name)),
        None => command,
    };
    let names: Vec<String> = { command.get_subcommands() }
        .map(|sub| sub.get_name().to_string())
        .collect();
    names.into_iter().fold(command, |command, sub| {
        command.mut_subcommand(sub, |sub| with_name(sub, name))
    })
}

/// Returns the command line that prints the help page for these arguments, for example `midplane help bench killer`.
pub fn help_page(root: &clap::Command, arguments: &[OsString]) -> String {
    let mut page = format!("{} help", command_name());
    let mut command = root;
    for argument in arguments {
        let Some(sub) = command.find_subcommand(argument).filter(|sub| !sub.is_hide_set()) else {
            break;
        };
        page.push(' ');
        page.push_str(sub.get_name());
        command = sub;
    }
    page
}

/// Joins the useful paragraphs of a parser's error in one line.
pub fn one_line(error: &clap::Error) -> String {
    let message = error.to_string();
    let mut words = Vec::new();
    for line in message.lines().map(str::trim) {
        if line.is_empty() || line.starts_with("Usage:") || line.starts_with("For more information") {
            continue;
        }
        words.push(line.strip_prefix("error: ").unwrap_or(line));
    }
    let mut line = words.join("; ").replace(":; ", ": ");
    if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && !argument.starts_with('-')
    {
        line.push_str("; the program's own arguments follow `--`");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_page_is_that_of_the_innermost_command() {
        let bench = clap::Command::new("bench").subcommand(clap::Command::new("killer"));
        let root = clap::Command::new("midplane")
            .subcommand(bench)
            .subcommand(clap::Command::new("secret").hide(true));
        for (arguments, page) in [
            (&["bench", "killer", "--runs"][..], "midplane help bench killer"),
            (&["bench", "-x"], "midplane help bench"),
            (&["secret"], "midplane help"),
            (&[], "midplane help"),
        ] {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(help_page(&root, &arguments), page);
        }
    }
}
