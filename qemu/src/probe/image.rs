//! `midplane image`: creates a board image that contains one node's personality (boot configuration), as ELF, binary
//! and Intel HEX.
//!
//! The personality is a separate section. The linker places it in the flash sector in which the node expects it. A
//! debug probe or a boot loader writes the files' content.

use crate::build::board::Board;
use crate::build::compiler;
use crate::build::image::Image;
use crate::build::inputs::{self, BuildFlags};
use crate::build::source::Program;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{self, ToolSet};
use crate::host::size;
use crate::host::sys;
use crate::run::notation::parse_coord;
use crate::run::serial_port::{check_console, parse_console};
use crate::run::{limits, topology};
use crate::show::console::print_line;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use kernel_rt::memory_plan::MPI_SHARE;
use midplane_abi::boot_parameters::{
    AutoConfig, BootParameters, InstanceNodes, OutputTarget, ProgramSection, SerialConsole,
};
use midplane_abi::personality::ExitAction;
use midplane_abi::stm32f405::{FLASH, PERSONALITY, RAM};
use midplane_engines::EngineChoice;
use net_torus::coord::{Coord, Shape};
use object::Endianness;
use object::elf::PT_LOAD;
use object::read::elf::{ElfFile32, ProgramHeader};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

/// Options of a board image and its node.
#[derive(Args, Debug)]
pub struct ImageOptions {
    /// Board
    #[arg(long, value_name = "BOARD", value_parser = board(), default_value = "stm32f405", help_heading = "Machine")]
    board: Board,

    /// Extents of the machine along X, Y and Z, each 1 to 256
    #[arg(long, value_name = "XxYxZ", default_value = "2x2x2", value_parser = topology::parse_extents,
          help_heading = "Machine")]
    torus: [u16; 3],

    /// Dimensions without wrap-around links, for example z or xyz [default: none]
    #[arg(long, value_name = "DIMENSIONS", default_value = "", hide_default_value = true,
          value_parser = topology::parse_mesh,
          help_heading = "Machine")]
    mesh: [bool; 3],

    /// Coordinates of the node
    #[arg(long, value_name = "X,Y,Z", default_value = "0,0,0", value_parser = parse_node, help_heading = "Machine")]
    node: Coord,

    /// Create one image for all nodes, which detect extents and coordinates from the wiring
    #[arg(long, conflicts_with_all = ["torus", "mesh", "node"], help_heading = "Machine")]
    auto: bool,

    /// Serial console for the output of all boards, read by `attach`. Specify an unused link direction of the node at
    /// 0,0,0 or of another node; all images of a machine require the same value. With --auto, specify `auto`: the
    /// boards wait until `attach` reads one of their lines
    #[arg(long, value_name = "[X,Y,Z:]DIRECTION", value_parser = parse_console_location, help_heading = "Machine")]
    console: Option<ConsoleLocation>,

    /// Memory for records and buffers of incoming messages, for example 4K [default: 16K]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_mpi_memory, help_heading = "Memory")]
    mpi_memory: Option<u64>,

    /// Allocate additional MPI memory from the program's heap
    #[arg(long, help_heading = "Memory")]
    mpi_borrow: bool,

    /// Enable the kernel's log, which a debug probe can show
    #[arg(long, help_heading = "Debugging")]
    log: bool,

    /// Stack of the program, a multiple of 8 [default: 20K]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Memory")]
    stack: Option<u64>,

    /// Matching engine [default: list]
    #[arg(long, value_name = "NAME", value_parser = limits::matching(), help_heading = "Messages")]
    matching: Option<EngineChoice>,

    /// Binary of a package that contains several
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    bin: Option<String>,

    /// C files (.c, .o, .a), a Rust file (.rs), or the directory of a cargo package
    #[arg(value_name = "PROGRAM", required = true)]
    program: Vec<PathBuf>,

    /// Arguments of the program
    #[arg(value_name = "ARGUMENTS", last = true)]
    arguments: Vec<OsString>,
}

/// Options of `midplane image`.
#[derive(Args, Debug)]
#[command(after_help = "Example: cargo midplane image --torus 2x2x1 --node 1,0,0 -o node1 main.c -- arguments")]
pub struct ImageArgs {
    /// Path of the files without extension; .elf, .bin and .hex are added [default: name of the program and coordinates
    /// of the node]
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    what: ImageOptions,
}

/// An image for one node of one machine.
pub struct BoardImage {
    /// Image, including the personality.
    pub image: Image,
    /// Name: the program's, and the node's coordinates.
    pub name: String,
    tools: ToolSet,
}

/// Creates the files and prints their names; returns the exit status.
pub fn run(options: &ImageArgs) -> Result<u8, CliError> {
    let made = options.what.build()?;
    let stem = match &options.output {
        Some(path) => path.clone(),
        None => PathBuf::from(&made.name),
    };
    let file = |extension: &str| {
        let mut name = stem.clone().into_os_string();
        name.push(extension);
        PathBuf::from(name)
    };
    let elf = file(".elf");
    fs::write(&elf, &made.image.bytes).context(format_args!("write {}", elf.display()))?;
    let (bin, hex) = (file(".bin"), file(".hex"));
    let binary =
        binary(&made.image.bytes).ok_or_else(|| CliError::failure("the image contains sections outside of flash"))?;
    fs::write(&bin, binary).context(format_args!("write {}", bin.display()))?;
    let objcopy = objcopy(&made.tools)?;
    let mut command = Command::new(&objcopy);
    command.args(["-O", "ihex"]).arg(&elf).arg(&hex);
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let status = command.status().context(format_args!("run {}", objcopy.display()))?;
    if !status.success() {
        return Err(CliError::failure(format!("cannot make {}", hex.display())));
    }
    for extension in [".elf", ".bin", ".hex"] {
        let file = file(extension);
        let bytes = fs::metadata(&file)
            .context(format_args!("read {}", file.display()))?
            .len();
        print_line(format_args!("{} {bytes} bytes", file.display()))?;
    }
    Ok(0)
}

impl ImageOptions {
    /// Builds the image.
    ///
    /// # Errors
    /// Returns usage errors: a node outside the machine, insufficient memory with the sum, and compiler errors.
    pub fn build(&self) -> Result<BoardImage, CliError> {
        midplane_setup::toolchain::choose(self.board.toolchain());
        let shape = Shape::new(self.torus, self.mesh.map(|mesh| !mesh))
            .ok_or_else(|| CliError::usage("--torus: extents are 1 to 256"))?;
        let Coord { x, y, z } = self.node;
        if shape.rank(self.node).is_none() {
            return Err(CliError::usage(format!("--node {x},{y},{z} is outside the torus")));
        }
        match (self.console, self.auto) {
            (None, _) | (Some(ConsoleLocation::Detected), true) => {}
            (Some(ConsoleLocation::At(console)), false) => check_console(console, &shape)?,
            (Some(ConsoleLocation::At(_)), true) => {
                return Err(CliError::usage(
                    "--console: with --auto, boards also detect their console; use --console auto",
                ));
            }
            (Some(ConsoleLocation::Detected), false) => {
                return Err(CliError::usage("--console auto is for images with --auto"));
            }
        }
        self.stack.map_or(Ok(()), inputs::check_stack)?;
        let program = Program::classify(&self.program, self.bin.as_deref())?;
        if let Program::Image(path) = &program {
            return Err(CliError::usage(format!(
                "{} has been linked already, without a boot configuration; specify its source",
                path.display()
            )));
        }
        let tools = setup::ensure()?;
        let personality = self.personality(&program, shape)?;
        let object = assemble_personality(&tools, &personality)?;
        let flags = BuildFlags {
            link: vec![object.into()],
            stack: self.stack,
            matching: self.matching(),
            auto: self.auto,
            console: self.console.is_some(),
            log: self.log,
            borrow: self.mpi_borrow,
            ..BuildFlags::default()
        };
        let image = program.build(&tools, &flags)?;
        let (links, place) = if self.auto {
            (6, "auto".into())
        } else {
            (shape.links(self.node).iter().count(), format!("{x}-{y}-{z}"))
        };
        image.check_fits_board(links, self.mpi_bytes(), shape.nodes())?;
        Ok(BoardImage {
            image,
            name: format!("{}-{place}", program.name()),
            tools,
        })
    }

    fn matching(&self) -> EngineChoice {
        self.matching.unwrap_or_else(|| Board::chosen().matching())
    }

    fn mpi_bytes(&self) -> u64 {
        self.mpi_memory.unwrap_or(RAM.len() / MPI_SHARE)
    }

    /// Returns the personality record.
    fn personality(&self, program: &Program, shape: Shape) -> Result<Vec<u8>, CliError> {
        let parameters = BootParameters {
            shape,
            nodes: InstanceNodes::One(self.node),
            auto: self.auto.then(|| AutoConfig {
                has_console: self.console.is_some(),
                ..AutoConfig::default()
            }),
            console: match self.console {
                Some(ConsoleLocation::At(console)) => Some(console),
                Some(ConsoleLocation::Detected) | None => None,
            },
            mpi_memory: Some(self.mpi_bytes()),
            mpi_borrow: self.mpi_borrow,
            matching: Some(self.matching().name().as_bytes()),
            // A physical board runs standalone, without the tool.
            output: OutputTarget::Uart,
            exit: ExitAction::Stay,
            ..BootParameters::default()
        };
        let name = program.name();
        let words = self.arguments.iter().map(|word| word.as_bytes());
        let argv: Vec<&[u8]> = std::iter::once(name.as_bytes()).chain(words).collect();
        let program = ProgramSection {
            first: 0,
            number: 0,
            environment: &[],
            arguments: &argv,
        };
        let mut record = Vec::new();
        parameters.write(&[program], &mut record);
        match BootParameters::read(&record) {
            Ok(_) => Ok(record),
            Err(error) => Err(CliError::usage(format!("the program's arguments: {error}"))),
        }
    }
}

/// Creates a parser for the boards that have a flash memory.
fn board() -> impl TypedValueParser<Value = Board> {
    let values = [Board::Stm32f405].iter().filter_map(Board::to_possible_value);
    // The parser accepts these names only.
    PossibleValuesParser::new(values).map(|_| Board::Stm32f405)
}

/// Parses coordinates.
fn parse_node(text: &str) -> Result<Coord, String> {
    parse_coord(text).ok_or_else(|| format!("`{text}` are not coordinates; use the form 1,0,0"))
}

/// Location of a machine's console.
#[derive(Clone, Copy, Debug)]
enum ConsoleLocation {
    /// At this line.
    At(SerialConsole),
    /// The boards detect it, as they do their coordinates.
    Detected,
}

fn parse_console_location(text: &str) -> Result<ConsoleLocation, String> {
    match text {
        "auto" => Ok(ConsoleLocation::Detected),
        _ => parse_console(text).map(ConsoleLocation::At),
    }
}

/// Creates an object file with the personality as its only section.
fn assemble_personality(tools: &ToolSet, record: &[u8]) -> Result<PathBuf, CliError> {
    assert!(record.len() as u64 <= PERSONALITY.len(), "limited by the reader");
    // Named by its content, so that concurrent commands do not interfere.
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    let dir = directories::target()
        .join("midplane/personalities")
        .join(format!("{:016x}", hasher.finish()));
    fs::create_dir_all(&dir).context(format_args!("create {}", dir.display()))?;
    let source = dir.join("personality.S");
    let bytes: Vec<String> = record.iter().map(u8::to_string).collect();
    let lines = bytes.chunks(16).map(|line| format!(".byte {}\n", line.join(",")));
    let code: String = [".section .personality, \"a\", %progbits\n".to_string()]
        .into_iter()
        .chain(lines)
        .collect();
    fs::write(&source, code).context(format_args!("write {}", source.display()))?;
    let object = dir.join("personality.o");
    let mut compile = tools.gcc.command();
    compiler::begin_compile(&mut compile);
    compile.arg("-c").arg(&source).arg("-o").arg(&object);
    compiler::run_compiler(compile, &source)?;
    Ok(object)
}

/// Returns the content of flash from its start, with gaps as erased bytes; `None` if a segment is outside of flash.
/// (objcopy would extend the output up to RAM, where the linker places empty sections.)
fn binary(elf: &[u8]) -> Option<Vec<u8>> {
    const ERASED: u8 = 0xff;
    let elf = ElfFile32::<Endianness>::parse(elf).ok()?;
    let mut flash = Vec::new();
    for segment in elf.elf_program_headers() {
        let data = segment.data(elf.endian(), elf.data()).ok()?;
        if segment.p_type(elf.endian()) != PT_LOAD || data.is_empty() {
            continue;
        }
        let address = u64::from(segment.p_paddr(elf.endian()));
        let start = address.checked_sub(FLASH.start)? as usize;
        let end = start + data.len();
        if end as u64 > FLASH.len() {
            return None;
        }
        flash.resize(flash.len().max(end), ERASED);
        flash[start..end].copy_from_slice(data);
    }
    Some(flash)
}

/// Returns the path of the compiler's objcopy.
fn objcopy(tools: &ToolSet) -> Result<PathBuf, CliError> {
    let mut command = tools.gcc.command();
    command.arg("-print-prog-name=objcopy");
    let output = command.output().context("query the C compiler for objcopy")?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if path.is_empty() {
        Err(CliError::failure("the C compiler has no objcopy"))
    } else {
        Ok(path.into())
    }
}
