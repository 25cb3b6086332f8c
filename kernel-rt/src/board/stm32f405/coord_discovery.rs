//! Discovery of the node's coordinates from the wiring, if its personality does not specify them
//! ([`flag::AUTO`](midplane_abi::boot_parameters::flag::AUTO)).

use alloc::boxed::Box;
use alloc::vec::Vec;

use midplane_abi::boot_parameters::{AutoConfig, BootParameters, InstanceNodes, SerialConsole};
use midplane_abi::stm32f405::RAM;
use net_torus::discover::Discovery;
use net_torus::wiring::{LinkAccount, MapEntry, WireEnd};
use net_torus::{Coord, Direction, Link, Shape};

use super::memory::HeapNeeds;
use super::{heap, start_line};
use crate::board::matching;
use crate::board::start::{boot_failed_in_words, or_fail};
use crate::dev::serial::SerialLink;
use crate::memory_plan::MPI_SHARE;
use crate::{arch, clock};

/// Maximum number of nodes, if their number is not specified.
const MAX_NODES: usize = 512;
/// Time without changes after which all expected nodes count as present: boards are switched on almost simultaneously.
const QUIET_NS: u64 = 3_000_000_000;
/// Maximum wait for missing nodes.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Address of the chip's unique ID, of 96 bits (RM0090, 39.1).
const UNIQUE: usize = 0x1fff_7a10;

/// Returns the same parameters and, if they were to be discovered, the machine's shape and the node's coordinates. In
/// that case it initializes the heap.
pub fn discover_parameters(boot: BootParameters<'static>) -> BootParameters<'static> {
    let Some(auto) = boot.auto else {
        return boot;
    };
    let mpi = boot.mpi_memory.unwrap_or(RAM.len() / MPI_SHARE);
    heap::start(HeapNeeds::for_node(
        matching::kind(),
        Direction::ALL.len(),
        mpi,
        auto.nodes.max(1),
    ));
    let (shape, coord, console) = discover(auto);
    BootParameters {
        shape,
        nodes: InstanceNodes::One(coord),
        console,
        ..boot
    }
}

fn discover(auto: AutoConfig) -> (Shape, Coord, Option<SerialConsole>) {
    let expected = auto.nodes as usize;
    // The ID is inside the guarded range, because a stack overflow would reach it.
    let number = { auto.number }.unwrap_or_else(|| arch::with_guards_disabled(unique_number));
    let mut room = Vec::new();
    let most = if expected > 0 { expected } else { MAX_NODES };
    if room.try_reserve_exact(most).is_err() {
        boot_failed_in_words(format_args!("no memory for the accounts of {most} nodes"));
    }
    let nobody = LinkAccount {
        node: 0,
        version: 0,
        heard: [None; 6],
    };
    room.resize(most, MapEntry::new(nobody));
    let mut links = Direction::ALL.map(|link| Box::new(SerialLink::new(start_line(link))));
    let Some(mut discovery) = Discovery::new(number, &mut room, clock::now_ns()) else {
        boot_failed_in_words(format_args!("no room for nodes"));
    };
    loop {
        let now = clock::now_ns();
        for (link, line) in Direction::ALL.into_iter().zip(&mut links) {
            while line.receive(|frame| discovery.on_frame(link, frame, now)) {}
            if let Some(frame) = discovery.due(link, now) {
                line.transmit(|bytes| {
                    bytes[..frame.len()].copy_from_slice(&frame);
                    frame.len()
                });
            }
        }
        if discovery.is_full() {
            speak(number, &discovery);
            boot_failed_in_words(format_args!("more than {most} nodes are wired together"));
        }
        let is_short = discovery.count() < expected;
        let quiet = if is_short { PATIENCE_NS } else { QUIET_NS };
        let is_heard = discovery.console().is_some() || !auto.has_console;
        if is_heard && discovery.is_over(now, quiet) {
            break;
        }
        arch::wake_by(clock::ticks_of(discovery.next_ns()));
        arch::wait_for_interrupt();
        arch::acknowledge_call();
    }
    let count = discovery.count();
    let found = discovery.solve();
    if found.is_err() || count < expected {
        speak(number, &discovery);
    }
    let (shape, coord) = match found {
        Ok(place) => place,
        Err(why) => boot_failed_in_words(format_args!("{why}")),
    };
    if count < expected {
        boot_failed_in_words(format_args!("{count} of {expected} nodes are wired together"));
    }
    let console = discovery.console().filter(|_| auto.has_console);
    let console = console.and_then(|WireEnd { node, link }| {
        let at = discovery.place(node)?;
        Some(SerialConsole { at, direction: link })
    });
    (shape, coord, console)
}

/// Reports an invalid machine, where nodes have no coordinates. The console's node prints as if it were alone.
fn speak(number: u32, discovery: &Discovery<'_>) {
    #[cfg(feature = "options")]
    if let Some(WireEnd { link, .. }) = discovery.console().filter(|end| end.node == number) {
        use midplane_abi::boot_parameters::single;
        let at = Coord::default();
        let direction = link;
        // There is no node yet.
        or_fail(super::attach::open(
            single(),
            at,
            SerialConsole { at, direction },
            || false,
        ));
    }
    let _ = (number, discovery);
}

/// Returns a hash of the chip's unique ID (among 512 chips, two have the same with a probability of 1 in 30,000).
fn unique_number() -> u32 {
    let word = |at: usize| {
        let address = core::ptr::with_exposed_provenance::<u32>(UNIQUE + 4 * at);
        // SAFETY: read-only memory of the chip.
        unsafe { address.read_volatile() }
    };
    // FNV-1a, by words.
    let words = (0..3).map(word);
    words.fold(0x811c_9dc5, |sum, word| {
        (sum ^ word ^ word >> 16).wrapping_mul(0x0100_0193)
    })
}
