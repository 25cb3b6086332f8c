//! Status of this node on the machine's serial console: the program's output, the blackboard and, for a failed node,
//! its stacks and registers (`dev/console_relay.rs`; the other end is `midplane attach`).

use core::cell::RefCell;

use critical_section::Mutex;
use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{self, NodeState};
use midplane_abi::boot_parameters::SerialConsole;
use midplane_abi::failure::BootFailure;
use midplane_abi::outbox::OutputStream;
use midplane_abi::stm32f405::RAM;
use midplane_abi::{backtrace, failed_malloc};
use net_torus::{Coord, Direction, Shape};

use super::lines::{self, UsartLine};
use super::memory::{BAUD, CHAIN_BYTES};
use crate::dev::console_relay::{self, ConsoleRelay, MemoryRange, RelayHost};
use crate::dev::serial::{self, FrameCollector, SerialLine};
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, MIDPLANE_FAILED_MALLOC};
use crate::{arch, clock};

/// Poll interval of a node that waits for space to print, in nanoseconds.
const FULL_NS: u64 = 1_000_000;

struct RelayState {
    chain: ConsoleRelay,
    /// Collector for the line up if the node's link does not receive from it: the line is the console, or the node
    /// cannot poll the link.
    collector: FrameCollector,
    is_console: bool,
    lines: [bool; 6],
    /// The last state sent.
    shown: Option<NodeState>,
    /// Checks whether the node is in use, so that it called the caller.
    is_node_in_use: fn() -> bool,
}

/// An `Option` whose empty value is all zeros, so that it uses no space in the image's data.
#[repr(u8)]
#[expect(clippy::large_enum_variant, reason = "there is one, and it is a static")]
enum RelaySlot {
    Empty = 0,
    Relay(RelayState) = 1,
}

const _: () = assert!(size_of::<RelaySlot>() <= CHAIN_BYTES);
static CHAIN: Mutex<RefCell<RelaySlot>> = Mutex::new(RefCell::new(RelaySlot::Empty));

/// Access to this node's lines and memory.
struct LocalNode;

impl RelayHost for LocalNode {
    fn send(&mut self, line: usize, frame: &[u8]) -> bool {
        serial::send(&mut UsartLine::for_direction(line), |out| {
            out[..frame.len()].copy_from_slice(frame);
            frame.len()
        })
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        for (offset, byte) in out.iter_mut().enumerate() {
            let address = RAM.start as usize + at as usize + offset;
            let place = core::ptr::with_exposed_provenance::<u8>(address);
            // SAFETY: a byte of RAM without a guard: the ranges are those below.
            *byte = unsafe { place.read_volatile() };
        }
    }
}

impl RelayState {
    /// Handles the relay's frames received on the line up; all others are lost.
    fn listen(&mut self) {
        let mut line = UsartLine::for_direction(self.chain.line_up());
        while let Some(size) = self.collector.next_frame(&mut line) {
            let frame = self.collector.frame(size);
            let now = clock::now_ns();
            self.chain.on_frame(self.chain.line_up(), frame, now, &mut LocalNode);
        }
    }

    fn advance(&mut self) {
        if self.is_console {
            self.listen();
        }
        self.chain.advance(clock::now_ns(), &mut LocalNode);
        arch::wake_by(clock::ticks_of(self.chain.next_ns()));
    }

    /// Sends the node's account through the relay: immediately, with the memory that explains it, if its state has
    /// changed.
    fn show(&mut self) {
        let state = MIDPLANE_BLACKBOARD.state();
        if self.shown == state {
            return self.chain.changed();
        }
        self.shown = state;
        let (stack, trap_stack) = (used(arch::stack()), used(arch::trap_stack()));
        let callers = part((&raw const MIDPLANE_CALLERS).addr(), backtrace::BYTES);
        let failed = (&raw const MIDPLANE_FAILED_MALLOC).addr();
        let failed = part(failed, failed_malloc::BYTES);
        let now = clock::now_ns();
        match state {
            Some(NodeState::Failed) => self.chain.show(&[stack, trap_stack, callers, failed], now),
            Some(NodeState::Done) => self.chain.show(&[stack, trap_stack].map(first_word), now),
            _ => self.chain.show(&[], now),
        }
    }

    fn used(&self) -> impl Iterator<Item = usize> + use<> {
        let lines = self.lines;
        (0..lines.len()).filter(move |at| lines[*at])
    }
}

/// Runs `f` on the relay. Returns `None` if the machine has no console, or the node has failed inside such a call.
fn with<R>(f: impl FnOnce(&mut RelayState) -> R) -> Option<R> {
    critical_section::with(|cs| match &mut *CHAIN.borrow(cs).try_borrow_mut().ok()? {
        RelaySlot::Empty => None,
        RelaySlot::Relay(held) => Some(f(held)),
    })
}

/// Runs `f` on a failed node's relay, even if it failed inside such a call, for example by a stack overflow.
fn with_last<R>(f: impl FnOnce(&mut RelayState) -> R) -> Option<R> {
    critical_section::with(|cs| {
        // SAFETY: the node's interrupt is disabled forever, those of the lines do not use the relay, and any other
        // borrower never resumes. A change that it left incomplete is plain data: at worst a record is duplicated, or
        // contains another's bytes.
        match unsafe { &mut *CHAIN.borrow(cs).as_ptr() } {
            RelaySlot::Empty => None,
            RelaySlot::Relay(held) => Some(f(held)),
        }
    })
}

/// Makes the node part of the relay to this console. `is_node_in_use` checks whether the node called the caller.
///
/// # Errors
/// [`BootFailure::NoConsole`]: the node is not in this machine.
pub fn open(
    shape: Shape,
    coord: Coord,
    console: SerialConsole,
    is_node_in_use: fn() -> bool,
) -> Result<(), BootFailure<'static>> {
    let up = console_relay::up(&shape, coord, console.at);
    let line_up = up.unwrap_or(console.direction) as usize;
    let rank = shape.rank(coord).and_then(|rank| u16::try_from(rank).ok());
    let rank = rank.ok_or(BootFailure::NoConsole)?;
    let has_link = |d| shape.neighbour(coord, d).is_some();
    let account = part((&raw const MIDPLANE_BLACKBOARD).addr(), blackboard::BYTES);
    let chain = ConsoleRelay::new(rank, line_up, account, shape.nodes(), BAUD);
    let mut held = RelaySlot::Relay(RelayState {
        chain,
        collector: FrameCollector::new(),
        is_console: up.is_none(),
        lines: Direction::ALL.map(|d| d as usize == line_up || has_link(d)),
        shown: None,
        is_node_in_use,
    });
    if up.is_none() {
        lines::start(console.direction);
    }
    critical_section::with(|cs| core::mem::swap(&mut *CHAIN.borrow_ref_mut(cs), &mut held));
    show();
    Ok(())
}

/// Starts the line in this direction, for a link: the relay receives its own frames.
pub fn start(direction: Direction) -> UsartLine {
    lines::start(direction).shared_with(on_frame)
}

/// Handles a frame received on a link's line; returns false if it does not belong to the relay.
fn on_frame(line: usize, frame: &[u8]) -> bool {
    let is_of_chain = console_relay::is_of_chain(frame);
    if is_of_chain {
        with(|held| {
            held.chain.on_frame(line, frame, clock::now_ns(), &mut LocalNode);
            held.advance();
        });
    }
    is_of_chain
}

/// Advances the relay after an interrupt.
pub fn advance_relay() {
    with(RelayState::advance);
}

/// Prints `bytes`; returns false if the machine has no console. Blocks while there is no free space, like
/// `console::write`.
pub fn print(stream: OutputStream, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = with(|held| {
            let taken = held.chain.print(stream, rest);
            held.advance();
            taken
        });
        let Some(taken) = taken else {
            return false;
        };
        rest = rest.get(taken..).unwrap_or_default();
        if taken == 0 {
            wait();
        }
    }
    true
}

/// Waits for an interrupt, handled after this function.
fn wait() {
    critical_section::with(|_| {
        arch::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
        arch::wait_for_interrupt();
    });
    if with(|held| (held.is_node_in_use)()) == Some(true) {
        // The program prints in a callback of the device: until it returns, the links do not receive. Lost frames are
        // retransmitted.
        arch::acknowledge_call();
        with(RelayState::listen);
        arch::call_node();
    }
}

/// Sends a changed blackboard. A new state is sent immediately, with the memory that explains it.
pub fn show() {
    with(|held| {
        held.show();
        held.advance();
    });
}

/// Runs a failed node: sends its last output and forwards the others' records. Returns immediately if the machine has
/// no console.
pub fn finish() {
    cortex_m::interrupt::disable();
    // SAFETY: never released, so that the node's interrupt stays disabled.
    let _ = unsafe { critical_section::acquire() };
    if with_last(RelayState::show).is_some() {
        // SAFETY: interrupts are disabled, and the caller never resumes.
        unsafe { arch::run_on_trap_stack(pass_on) }
    }
}

/// Forwards records forever. The links no longer receive, so each line has a collector here. Lines and clock keep their
/// interrupts, the node does not.
extern "C" fn pass_on() -> ! {
    let mut collectors = [const { FrameCollector::new() }; 6];
    // Terminates a frame that the node was sending.
    with_last(|held| {
        for at in held.used() {
            UsartLine::for_direction(at).put(&[0]);
        }
    });
    loop {
        arch::acknowledge_call();
        with_last(|held| {
            for at in held.used() {
                let mut line = UsartLine::for_direction(at);
                while let Some(size) = collectors[at].next_frame(&mut line) {
                    let frame = collectors[at].frame(size);
                    held.chain.on_frame(at, frame, clock::now_ns(), &mut LocalNode);
                }
            }
            held.chain.advance(clock::now_ns(), &mut LocalNode);
            arch::wake_by(clock::ticks_of(held.chain.next_ns()));
        });
        arch::wait_for_interrupt();
    }
}

/// Returns the range of `bytes` bytes of RAM from an address.
fn part(address: usize, bytes: usize) -> MemoryRange {
    let start = (address as u64 - RAM.start) as u32;
    MemoryRange {
        start,
        end: start + bytes as u32,
    }
}

/// Returns the used part of a stack: from the first non-zero word.
fn used(stack: AddressRange) -> MemoryRange {
    const WORD: u64 = 4;
    let words = (stack.start..stack.end).step_by(WORD as usize);
    let is_used = |address: &u64| {
        let place = core::ptr::with_exposed_provenance::<u32>(*address as usize);
        // SAFETY: an aligned word of RAM without a guard.
        unsafe { place.read_volatile() != 0 }
    };
    let first = { words }.find(is_used).unwrap_or(stack.end);
    part(first as usize, (stack.end - first) as usize)
}

/// Returns the range that shows the tool how far a stack was used.
fn first_word(used: MemoryRange) -> MemoryRange {
    let end = used.end.min(used.start + size_of::<u64>() as u32);
    MemoryRange { end, ..used }
}
