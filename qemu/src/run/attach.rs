//! `midplane attach`: shows the boards' output from the serial console of their machine, in the format of `run`.

use crate::build::board::Board;
use crate::build::image::Image;
use crate::host::error::CliError;
use crate::host::signals::Signals;
use crate::run::command::{self, DisplayOptions, ReportOptions};
use crate::run::job::OnHang;
use crate::run::output::OutputStyle;
use crate::run::plan::{Backend, JobPlan};
use crate::run::serial_port::SerialPort;
use crate::run::topology;
use clap::Args;
use kernel_rt::board::stm32f405::memory::BAUD;
use kernel_rt::memory_plan::MPI_SHARE;
use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::stm32f405::RAM;
use midplane_setup::invocation::command_name;
use net_torus::coord::Shape;
use std::path::PathBuf;

/// Options of `midplane attach`.
#[derive(Args, Debug)]
#[command(
    after_help = "Create the boards' images with --console (`image` or `flash`). The boards buffer their output until \
                  this command reads it; start it before the boards or soon after.\n\nExample: cargo midplane attach \
                  --serial /dev/ttyUSB0 node0.elf"
)]
pub struct AttachArgs {
    /// Serial port of the console
    #[arg(long, value_name = "PATH", help_heading = "Machine")]
    serial: PathBuf,

    /// Bit rate of the console in bits per second; it equals that of the boards' links
    #[arg(long, value_name = "NUMBER", default_value_t = BAUD, help_heading = "Machine")]
    baud: u32,

    /// Extents of the machine, required for images that were created with --auto
    #[arg(long, value_name = "XxYxZ", value_parser = topology::parse_extents, help_heading = "Machine")]
    torus: Option<[u16; 3]>,

    /// Dimensions of such a machine without wrap-around links, for example z or xyz [default: none]
    #[arg(long, value_name = "DIMENSIONS", requires = "torus", default_value = "", hide_default_value = true,
          value_parser = topology::parse_mesh,
          help_heading = "Machine")]
    mesh: [bool; 3],

    #[command(flatten)]
    watched: ReportOptions,

    /// ELF file of any of the boards, as written by `image`
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
}

/// Shows the boards' output until their job completes; returns its exit status.
pub fn run(options: &AttachArgs) -> Result<u8, CliError> {
    midplane_setup::toolchain::choose(Board::Stm32f405.toolchain());
    let image = Image::read(&options.image)?;
    let shown = options.image.display();
    let refused = |why: &str| CliError::usage(format!("{shown}: {why}"));
    let record = image.personality().ok_or_else(|| {
        let name = command_name();
        refused(&format!(
            "it contains no boot configuration of a node; create one with `{name} image`"
        ))
    })?;
    let boot = BootParameters::read(record).map_err(|why| refused(&why.to_string()))?;
    if boot.console.is_none() && !boot.auto.is_some_and(|auto| auto.has_console) {
        return Err(refused(
            "it was made without --console: its boards have no serial console",
        ));
    }
    let shape = match (boot.auto, options.torus) {
        (None, None) => boot.shape,
        (Some(_), Some(extents)) => Shape::new(extents, options.mesh.map(|mesh| !mesh))
            .ok_or_else(|| CliError::usage("--torus: extents are 1 to 256"))?,
        (None, Some(_)) => return Err(refused("it specifies the machine's extents; omit --torus")),
        (Some(_), None) => {
            return Err(refused(
                "its boards detect their coordinates; specify the machine's extents with --torus and --mesh",
            ));
        }
    };
    let report_files = options.watched.open_files(&shape)?;
    let port = SerialPort::open(&options.serial, options.baud)?.with_greeting(boot.auto.is_some());
    let mpi_memory = boot.mpi_memory.unwrap_or(RAM.len() / MPI_SHARE);
    let plan = JobPlan {
        mpi_memory,
        mpi_borrow: boot.mpi_borrow,
        ..JobPlan::for_machine(Backend::Attached(&port), &image, shape, RAM.len())
    };
    let arguments = boot.programs.for_rank(0).arguments;
    let shown = DisplayOptions {
        quiet: options.watched.quiet,
        links: options.watched.links,
        program: shown.to_string(),
        style: OutputStyle::Prefixed,
        programs: Vec::new(),
        // The first argument is the program's name.
        arguments: { arguments.iter().skip(1) }
            .map(|argument| String::from_utf8_lossy(argument).into_owned())
            .collect(),
    };
    let signals = Signals::catch()?;
    command::show(
        &plan,
        None,
        // Serial links retransmit, and the copies of the boards' records are old.
        options.watched.limits(OnHang::Wait),
        &signals,
        &shown,
        report_files,
        &mut |_| (),
    )
}
