//! Name by which the user called the command.

use std::ffi::OsStr;
use std::path::Path;

/// Name of the command that cargo starts in the checkout. The launcher passes it to the tool as argument 0.
pub const LAUNCHED: &str = "cargo midplane";
/// Name of the installed command, also of the tool if it is started directly.
pub const INSTALLED: &str = "midplane";
/// File name of the launcher.
const LAUNCHER: &str = "midplane-launcher";

/// Returns the command's name for messages and help texts.
pub fn command_name() -> &'static str {
    name_from(&std::env::args_os().next().unwrap_or_default())
}

fn name_from(argument: &OsStr) -> &'static str {
    match Path::new(argument).file_name() {
        Some(name) if name == LAUNCHED || name == LAUNCHER => LAUNCHED,
        _ => INSTALLED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_call() {
        for (argument, name) in [
            ("cargo midplane", "cargo midplane"),
            ("target/launcher/midplane-launcher", "cargo midplane"),
            ("midplane", "midplane"),
            ("/usr/local/bin/midplane", "midplane"),
            ("/usr/local/bin/other", "midplane"),
            ("", "midplane"),
        ] {
            assert_eq!(name_from(OsStr::new(argument)), name, "{argument}");
        }
    }
}
