//! `midplane man`: a man page of the command and one of each subcommand.

use crate::host::error::{CliError, ErrorContext};
use crate::show::console;
use clap::Args;
use clap_mangen::Man;
use midplane_setup::invocation::INSTALLED;
use std::fs;
use std::path::PathBuf;

/// Options of `midplane man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Directory for all pages, for example ~/.local/share/man/man1. Without it, the page of `midplane` is printed
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

/// Writes the pages for the definition of the command line.
pub fn write_pages(options: &ManArgs, command: clap::Command) -> Result<u8, CliError> {
    let command = command.name(INSTALLED).bin_name(INSTALLED);
    let Some(directory) = &options.directory else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).context("create the man page")?;
        return console::print_bytes(&page).map(|()| 0);
    };
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .context(format_args!("write the man pages to {}", directory.display()))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;

    #[test]
    fn each_command_has_a_page_with_its_options() {
        let scratch = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let directory = Some(scratch.0.join("share/man1"));
        assert_eq!(write_pages(&ManArgs { directory }, crate::command_line()), Ok(0));
        let mut command = crate::command_line();
        command.build();
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            if sub.get_name() == "help" {
                continue;
            }
            let page = scratch.0.join(format!("share/man1/midplane-{}.1", sub.get_name()));
            let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            for long in sub.get_arguments().filter_map(clap::Arg::get_long) {
                let roff = long.replace('-', "\\-");
                assert!(page.contains(&format!("\\-\\-{roff}")), "{} --{long}", sub.get_name());
            }
        }
        assert!(scratch.0.join("share/man1/midplane.1").exists());
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_named() {
        let directory = Some(PathBuf::from("/dev/null/man1"));
        let stop = write_pages(&ManArgs { directory }, crate::command_line()).unwrap_err();
        assert!(stop.message.contains("/dev/null/man1"), "{stop}");
        assert_eq!(stop.status, crate::host::error::FAILURE);
    }
}
