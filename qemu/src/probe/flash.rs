//! `midplane flash`: builds an image for one node and writes it to the board's flash with probe-rs.

use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use crate::probe::image::ImageOptions;
use crate::show::console::print_line;
use clap::Args;
use rustix::process::Signal;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

/// probe-rs's name of the chip.
const CHIP: &str = "STM32F405RG";
const PROBE_RS: &str = "probe-rs";

/// Options of `midplane flash`.
#[derive(Args, Debug)]
#[command(
    after_help = "Requires probe-rs (https://probe.rs) and a debug probe.\n\nExample: cargo midplane flash --torus \
                  2x2x1 --node 1,0,0 tests/programs/killer.c -- 5 64"
)]
pub struct FlashArgs {
    /// Debug probe in the notation of `probe-rs list` (VID:PID or VID:PID:serial) [default: the only one]
    #[arg(long, value_name = "PROBE", help_heading = "Machine")]
    probe: Option<String>,

    #[command(flatten)]
    what: ImageOptions,
}

/// Builds and flashes the image; returns the exit status.
pub fn run(options: &FlashArgs) -> Result<u8, CliError> {
    let made = options.what.build()?;
    let shown = made.image.path.display();
    print_line(format_args!("built {shown}"))?;
    check_probe()?;
    let mut selected = vec!["--chip", CHIP];
    if let Some(probe) = &options.probe {
        selected.extend(["--probe", probe]);
    }
    for step in ["download", "reset"] {
        let mut command = Command::new(PROBE_RS);
        command.arg(step).args(&selected);
        if step == "download" {
            command.arg(&made.image.path);
        }
        sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
        let status = command.stdin(Stdio::null()).status().map_err(missing)?;
        if !status.success() {
            return Err(CliError::failure(format!(
                "`probe-rs {step}` failed; see its messages above"
            )));
        }
    }
    print_line(format_args!("flashed {}; the node runs", made.name))?;
    Ok(0)
}

/// Checks that probe-rs and a debug probe are available.
fn check_probe() -> Result<(), CliError> {
    let mut command = Command::new(PROBE_RS);
    command.arg("list").stdin(Stdio::null());
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let Output { status, stdout, stderr } = command.output().map_err(missing)?;
    let said = [stdout, stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if !status.success() {
        return Err(CliError::failure(format!("`probe-rs list` failed: {}", said.trim())));
    }
    if said.contains("No debug probes") {
        Err(CliError::failure(
            "no debug probe was found; connect one (ST-Link, J-Link or CMSIS-DAP) to this machine and to the board, \
             and check the output of `probe-rs list`",
        ))
    } else {
        Ok(())
    }
}

/// Returns the error of a program that does not start.
fn missing(error: std::io::Error) -> CliError {
    match error.kind() {
        ErrorKind::NotFound => CliError::unusable(
            "probe-rs is missing; it writes flash through a debug probe; install it with `cargo install \
             probe-rs-tools`, or see https://probe.rs",
        ),
        _ => match Err::<(), _>(error).context("run probe-rs") {
            Err(stop) => stop,
            Ok(()) => CliError::failure("probe-rs does not start"),
        },
    }
}
