//! `midplane attach`: shows the boards' output from the serial console of their machine, in the format of `run`.

use crate::build::board::Board;
use crate::build::image::Image;
use crate::host::signals::Signals;
use crate::host::stop::Stop;
use crate::run::command::{self, Shown, Watched};
use crate::run::line::Port;
use crate::run::output::Style;
use crate::run::plan::{Backend, Plan};
use crate::run::topology;
use crate::show::file::ResultFile;
use clap::Args;
use kernel_rt::board::stm32f405::memory::BAUD;
use kernel_rt::memory_plan::MPI_SHARE;
use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::stm32f405::RAM;
use net_torus::coord::Shape;
use std::path::PathBuf;

/// Options of `midplane attach`.
#[derive(Args, Debug)]
#[command(
    after_help = "The boards' images are made with --console by `cargo midplane image` or `flash`. They wait with what \
                  they print until this command reads it; start it before them, or soon after.\n\n\
                  Example: cargo midplane attach --serial /dev/ttyUSB0 node0.elf"
)]
pub struct AttachArgs {
    /// Serial port that the console is wired to
    #[arg(long, value_name = "PATH")]
    serial: PathBuf,

    /// Bits per second of the console, which are those of the boards' links
    #[arg(long, value_name = "NUMBER", default_value_t = BAUD)]
    baud: u32,

    /// Extents of the machine, where its boards find their places out (images made with --auto)
    #[arg(long, value_name = "XxYxZ", value_parser = topology::parse_extents)]
    torus: Option<[u16; 3]>,

    /// Dimensions of such a machine that do not wrap around, for example z or xyz
    #[arg(long, value_name = "DIMENSIONS", requires = "torus", default_value = "", value_parser = topology::parse_mesh)]
    mesh: [bool; 3],

    #[command(flatten)]
    watched: Watched,

    /// The ELF file of one of the boards, whichever: what `cargo midplane image` has written
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
}

/// Shows the boards' output until their job completes; returns its exit status.
pub fn run(options: &AttachArgs) -> Result<u8, Stop> {
    midplane_setup::toolchain::choose(Board::Stm32f405.kit());
    let image = Image::read(&options.image)?;
    let shown = options.image.display();
    let refused = |why: &str| Stop::usage(format!("{shown}: {why}"));
    let record = image.personality().ok_or_else(|| {
        refused("it holds no node's personality; `cargo midplane image` makes one that does")
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
            .ok_or_else(|| Stop::usage("--torus: extents are 1 to 256"))?,
        (None, Some(_)) => return Err(refused("it says the machine's extents; leave --torus out")),
        (Some(_), None) => {
            return Err(refused(
                "its boards find their places out; say the machine's extents by --torus, and --mesh",
            ));
        }
    };
    let report_file = ResultFile::open_if_given(options.watched.report.as_ref())?;
    let port = Port::open(&options.serial, options.baud)?.greeting(boot.auto.is_some());
    let mpi_memory = boot.mpi_memory.unwrap_or(RAM.len() / MPI_SHARE);
    let plan = Plan {
        mpi_memory,
        mpi_borrow: boot.mpi_borrow,
        ..Plan::of_machine(Backend::Attached(&port), &image, shape, RAM.len())
    };
    let arguments = boot.programs.for_rank(0).arguments;
    let shown = Shown {
        quiet: options.watched.quiet,
        links: options.watched.links,
        program: shown.to_string(),
        style: Style::Prefixed,
        programs: Vec::new(),
        // The first argument is the program's name.
        arguments: { arguments.iter().skip(1) }
            .map(|argument| String::from_utf8_lossy(argument).into_owned())
            .collect(),
    };
    let signals = Signals::catch()?;
    command::show(
        &plan,
        (None, options.watched.timeout),
        &signals,
        (&shown, report_file),
        &mut |_| (),
    )
}
