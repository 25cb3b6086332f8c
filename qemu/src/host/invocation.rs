//! Help texts under the name by which the user called the command, and the help page of a command line.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use midplane_setup::invocation::{LAUNCHED, command_name};
use std::ffi::OsString;

/// Replaces the launcher's name, by which help texts refer to the command, in a command and its subcommands.
pub fn with_name(command: clap::Command, name: &'static str) -> clap::Command {
    let named = |text: &StyledStr| text.ansi().to_string().replace(LAUNCHED, name);
    let texts = [
        command.get_about(),
        command.get_long_about(),
        command.get_after_help(),
        command.get_after_long_help(),
    ];
    let [about, long_about, after_help, after_long_help] = texts.map(|text| text.map(named));
    let mut command = command;
    if let Some(text) = about {
        command = command.about(text);
    }
    if let Some(text) = long_about {
        command = command.long_about(text);
    }
    if let Some(text) = after_help {
        command = command.after_help(text);
    }
    if let Some(text) = after_long_help {
        command = command.after_long_help(text);
    }
    let command = command.mut_args(|argument| {
        let [help, long_help] = [argument.get_help(), argument.get_long_help()].map(|text| text.map(named));
        let argument = match help {
            Some(text) => argument.help(text),
            None => argument,
        };
        match long_help {
            Some(text) => argument.long_help(text),
            None => argument,
        }
    });
    command.mut_subcommands(|sub| with_name(sub, name))
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
    fn help_texts_contain_the_name_of_the_call() {
        let run = clap::Command::new("run")
            .about("See `cargo midplane help run`")
            .long_about("See `cargo midplane help run`.")
            .arg(clap::arg!(--file <FILE> "Output of `cargo midplane image`"))
            .after_help("Example: cargo midplane run a.c");
        let root = clap::Command::new("midplane").subcommand(run);
        for (name, count) in [("midplane", 0), ("cargo midplane", 3)] {
            let mut named = with_name(root.clone(), name);
            let run = named.find_subcommand_mut("run").unwrap();
            let text = run.render_long_help().to_string();
            assert_eq!(text.matches("cargo midplane ").count(), count, "{text}");
            assert_eq!(text.matches("midplane ").count(), 3, "{text}");
        }
    }

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
