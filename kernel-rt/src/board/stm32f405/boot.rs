//! Boot from reset to the program.
//!
//! cortex-m-rt's reset handler initializes data and floating point and calls `main`, a name that belongs to the
//! program. The image is linked with `--wrap=main`, so the handler calls this module, and [`libc::run`] calls the
//! program's function.
//!
//! Boot order: clocks, personality, output, guards, memory plan, heap, links, router, device, interrupts, program. A
//! failure on the way is reported on the blackboard as [`End::Boot`](midplane_abi::blackboard::FailureCode::Boot).

use core::cell::Cell;
use core::ffi::c_char;
use core::mem::MaybeUninit;

use alloc::boxed::Box;
// Reset and the vector table.
use cortex_m_rt as _;
use critical_section::Mutex;
use midplane_abi::boot_parameters::{BootParameters, InstanceNodes, OutputTarget, RecordError};
use midplane_abi::failure::BootFailure;
use midplane_abi::personality::{LOGS, Personality};
use midplane_abi::stm32f405::{FLASH, PERSONALITY, RAM};
use midplane_device::Adi;
#[cfg(feature = "faults")]
use net_torus::Direction;
#[cfg(not(feature = "faults"))]
use net_torus::reliable::ReliableLink;
use net_torus::reliable::RetryConfig;
use net_torus::router::Router;
use net_torus::torus::Torus;
use net_torus::wire::DirectionSet;

#[cfg(not(feature = "faults"))]
use super::memory::WINDOW_MEMORY;
use super::memory::{self, HeapNeeds, ROUTER};
use super::platform::{BoardLink, BoardNode, BoardPlatform};
use super::{clocks, lines, semihosting, uart};
use crate::abort;
use crate::board::device::boxed_device;
use crate::board::start::{boot_failed, leak, or_fail, strings};
use crate::board::{hot_path, matching};
use crate::dev::serial::{self, SerialLink};
use crate::heap_loan::NodeMemory;
use crate::memory_plan::MPI_SHARE;
use crate::node::NodeHost;
use crate::records::{MIDPLANE_BLACKBOARD, set_personality};
use crate::running;
use crate::{arch, clock, console, heap, libc, log};

/// Factor of the acknowledgement timeout in an emulator, compared with wires.
const EMULATED_PATIENCE: u64 = 25;

#[unsafe(export_name = "__wrap_main")]
extern "C" fn boot() -> ! {
    clocks::start();
    arch::start_clock(clocks::CORE_HZ);
    arch::arm_interrupts();
    arch::protect(FLASH, RAM);
    MIDPLANE_BLACKBOARD.begin();
    let boot = or_fail(boot_parameters());
    let is_attached = boot.output != OutputTarget::Uart && semihosting::open();
    if is_attached {
        console::attach(0)
    } else {
        uart::open()
    }
    if LOGS && (!is_attached || boot.output == (OutputTarget::Rings { log: true })) {
        log::enable();
    }
    let calendar = semihosting::calendar_seconds() * 1_000_000_000;
    clock::set(arch::TICKS_PER_SECOND.into(), calendar, arch::ticks());
    #[cfg(feature = "options")]
    let boot = super::coord_discovery::discover_parameters(boot);
    let who = identify(&boot);
    set_personality(who);
    MIDPLANE_BLACKBOARD.set_rank(who.rank);
    MIDPLANE_BLACKBOARD.set_matching(matching::kind().name);
    or_fail(boot.check_matching(matching::kind().name));
    let needs = HeapNeeds::in_machine(matching::kind(), links_of(&who).count(), who.mpi_memory, &who.shape);
    match boot.auto {
        None => super::heap::start(needs),
        // The heap was already created.
        Some(_) => drop(or_fail(memory::heap(arch::image_end() as u64, needs))),
    }
    #[cfg(feature = "options")]
    if let Some(console) = boot.console {
        or_fail(super::attach::open(who.shape, who.coord, console, running::is_at_work));
    }
    start_node(&who, &boot);
    let program = boot.programs.for_rank(who.rank);
    let argv = strings(program.arguments, 1);
    let environment = strings(program.environment, 0);
    arch::enable_interrupts();
    midplane_objects::installed::set_appnum(program.number);
    midplane_objects::installed::install(hot_path::env());
    MIDPLANE_BLACKBOARD.running();
    console::ring();
    let words = ProgramArguments { argv, environment };
    critical_section::with(|cs| WORDS.borrow(cs).set(Some(words)));
    // SAFETY: the only call, outside interrupts; all later state lives in the heap and in statics.
    unsafe { arch::run_on_program_stack(run) }
}

struct ProgramArguments {
    argv: &'static mut [*mut c_char],
    environment: &'static mut [*mut c_char],
}

// SAFETY: the pointers are to memory that belongs to the program from its start on.
unsafe impl Send for ProgramArguments {}

/// The program's arguments, passed from one stack to the other.
static WORDS: Mutex<Cell<Option<ProgramArguments>>> = Mutex::new(Cell::new(None));

extern "C" fn run() -> ! {
    arch::protect_below_trap_stack(arch::trap_guard());
    let words = critical_section::with(|cs| WORDS.borrow(cs).take());
    let Some(ProgramArguments { argv, environment }) = words else {
        arch::park()
    };
    // SAFETY: the only call, with everything set up; the arguments live forever.
    unsafe { libc::run(argv, environment) }
}

fn boot_parameters() -> Result<BootParameters<'static>, RecordError> {
    let start = core::ptr::with_exposed_provenance::<u8>(PERSONALITY.start as usize);
    // SAFETY: flash, which nothing writes while this runs.
    let sector = unsafe { core::slice::from_raw_parts(start, PERSONALITY.len() as usize) };
    BootParameters::read(sector)
}

fn identify(boot: &BootParameters<'_>) -> Personality {
    let InstanceNodes::One(coord) = boot.nodes else {
        boot_failed(BootFailure::NoBox);
    };
    let Some(rank) = boot.shape.rank(coord) else {
        // `BootParameters::read` has rejected coordinates outside the shape.
        boot_failed(BootFailure::Outside);
    };
    Personality {
        shape: boot.shape,
        coord,
        rank,
        clock_hz: arch::TICKS_PER_SECOND.into(),
        memory: RAM.len(),
        mpi_memory: boot.mpi_memory.unwrap_or(RAM.len() / MPI_SHARE),
        mpi_borrow: boot.mpi_borrow,
        eager: boot.eager,
        interrupts: boot.interrupts.unwrap_or(100),
        exit: boot.exit,
    }
}

fn links_of(who: &Personality) -> DirectionSet {
    who.shape.links(who.coord)
}

/// Assembles the node's parts in the heap, one after the other: the stack is too small for more. The boot runs from the
/// top of the interrupt stack and, before there is a guard, continues into the program's stack.
fn start_node(who: &Personality, boot: &BootParameters<'_>) {
    let torus = torus(who, boot);
    let adi = mpi_device(who);
    if LOGS {
        defmt::info!(
            "rank {=u32} at ({=u8},{=u8},{=u8}) up: {=usize} links, heap {=usize} KiB, MPI memory {=u64} bytes",
            who.rank,
            who.coord.x,
            who.coord.y,
            who.coord.z,
            links_of(who).count(),
            heap::size() / 1024,
            who.mpi_memory
        );
    }
    install(adi, torus, who);
    if cfg!(feature = "borrow") {
        heap::call_when_freed(hot_path::heap_freed);
    }
    abort::publish_with(hot_path::publish);
}

/// Creates the torus. Router and links are boxed on the way, so that no stack frame contains two copies.
#[inline(never)]
fn torus(who: &Personality, boot: &BootParameters<'_>) -> Box<Torus<'static, BoardLink>> {
    let lines = wait_for_handshakes(start_links(who));
    let mut retry = serial::retry(memory::BAUD);
    if semihosting::is_there() {
        // In an emulator each byte passes four threads that share processors with those of the other nodes. Early
        // retransmissions only lengthen the queue.
        retry.timeout_ns *= EMULATED_PATIENCE;
        retry.retries /= EMULATED_PATIENCE as u32;
    }
    let links = wires(lines, retry, who, boot);
    build_torus(router(who), links)
}

#[inline(never)]
fn build_torus(router: Box<Router<'static>>, links: Box<NodeLinks>) -> Box<Torus<'static, BoardLink>> {
    let place = Box::new_uninit();
    Box::write(place, or_fail(Torus::new(*router, *links)))
}

#[inline(never)]
fn router(who: &Personality) -> Box<Router<'static>> {
    let chunks = leak(ROUTER.chunks());
    let place = Box::new_uninit();
    Box::write(place, or_fail(Router::new(who.shape, who.coord, ROUTER, chunks)))
}

#[cfg(not(feature = "faults"))]
#[inline(never)]
fn wires(lines: SerialLinks, retry: RetryConfig, _: &Personality, _: &BootParameters<'_>) -> Box<NodeLinks> {
    let mut links: Box<NodeLinks> = Box::new([const { None }; 6]);
    for (link, line) in links.iter_mut().zip(lines) {
        if let Some(line) = line {
            let window = leak(WINDOW_MEMORY);
            *link = Some(or_fail(ReliableLink::with_frames(*line, retry, window)));
        }
    }
    links
}

/// Creates the links with the faults that the personality specifies.
#[cfg(feature = "faults")]
#[inline(never)]
fn wires(lines: SerialLinks, retry: RetryConfig, who: &Personality, boot: &BootParameters<'_>) -> Box<NodeLinks> {
    use crate::dev::faults::{self, RETRIES};
    let faults = faults::requested_faults(boot);
    let retry = RetryConfig {
        // Frames lost on purpose use a shorter timeout.
        timeout_ns: retry.timeout_ns / 5,
        retries: RETRIES,
    };
    let mut links: Box<NodeLinks> = Box::new([const { None }; 6]);
    for ((direction, line), link) in Direction::ALL.into_iter().zip(lines).zip(links.iter_mut()) {
        if let Some(line) = line {
            let memory = leak(faults::memory(serial::MTU, memory::WINDOW));
            let repaired_link = faults::repaired_link(line, &faults, retry, &who.shape, who.coord, direction, memory);
            *link = Some(or_fail(repaired_link));
        }
    }
    links
}

#[inline(never)]
fn mpi_device(who: &Personality) -> Box<Adi> {
    // An emulator lacks the chip's random numbers; the time until all neighbours were up is unknown to a program's
    // author.
    let seed = arch::ticks() ^ clock::wall_clock_ns();
    or_fail(boxed_device(who, matching::kind(), seed))
}

#[inline(never)]
fn install(adi: Box<Adi>, torus: Box<Torus<'static, BoardLink>>, who: &Personality) {
    let memory = NodeMemory { lends: who.mpi_borrow };
    let mut node = Box::<BoardNode>::new_uninit();
    let place = node.as_mut_ptr();
    let adi = Box::into_raw(adi);
    // SAFETY: both parts of the target are written, once each. The device moves there from its own box, which is then
    // empty and returned to the heap.
    let mut node = unsafe {
        (&raw mut (*place).adi).copy_from_nonoverlapping(adi, 1);
        drop(Box::from_raw(adi.cast::<MaybeUninit<Adi>>()));
        (&raw mut (*place).host).write(NodeHost::new(*torus, BoardPlatform { memory }));
        node.assume_init()
    };
    node.host.limit_interrupts(who.interrupts);
    running::set(node);
}

type NodeLinks = [Option<BoardLink>; 6];
type SerialLinks = [Option<Box<SerialLink<lines::UsartLine>>>; 6];

fn start_links(who: &Personality) -> SerialLinks {
    let mut links = [const { None }; 6];
    for direction in links_of(who).iter() {
        let link = SerialLink::new(super::start_line(direction));
        links[direction as usize] = Some(Box::new(link));
    }
    links
}

/// Waits until all neighbours have completed the handshake, then returns the links. The host displays a waiting node as
/// booting.
fn wait_for_handshakes(mut links: SerialLinks) -> SerialLinks {
    loop {
        let now = clock::now_ns();
        let mut next = None;
        for link in links.iter_mut().flatten() {
            if let Some(at) = link.greet(now) {
                next = Some(next.map_or(at, |next: u64| next.min(at)));
            } else {
                // Its neighbour may not know that this end is up.
                link.answer_late();
            }
        }
        let Some(next) = next else {
            return links;
        };
        #[cfg(feature = "options")]
        super::attach::advance_relay();
        arch::wake_by(clock::ticks_of(next));
        arch::wait_for_interrupt();
        arch::acknowledge_call();
    }
}
