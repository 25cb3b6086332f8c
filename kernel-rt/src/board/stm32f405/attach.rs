//! What the tool is told of this node by the machine's serial console: what the program prints, the blackboard, and of a
//! node that has failed its stacks and registers (`dev/chain.rs`; the other end is `midplane attach`).

use core::cell::RefCell;

use critical_section::Mutex;
use midplane_abi::address::Bytes;
use midplane_abi::blackboard::{self, State};
use midplane_abi::boot_parameters::Console;
use midplane_abi::failure::Boot;
use midplane_abi::outbox::Stream;
use midplane_abi::stm32f405::RAM;
use midplane_abi::{callers, failed_malloc};
use net_torus::{Coord, Direction, Shape};

use super::lines::{self, UsartLine};
use super::memory::{BAUD, CHAIN_BYTES};
use crate::board::start::boot_failed;
use crate::dev::chain::{self, Chain, Ground, Part};
use crate::dev::serial::{self, Collector, Line};
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, MIDPLANE_FAILED_MALLOC};
use crate::{arch, clock, running};

/// How often a node that cannot print looks whether it can, in nanoseconds.
const FULL_NS: u64 = 1_000_000;

struct Held {
    chain: Chain,
    /// Of the line up, where the node's link does not listen: it is the console, or the node does not get to it.
    collector: Collector,
    /// The line up is the console.
    is_console: bool,
    /// Which lines are used.
    lines: [bool; 6],
    /// The state that was shown last.
    shown: Option<State>,
}

/// An `Option` of which nothing is zeros: so it takes no room in the image's data.
#[repr(u8)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one, and it is a static"
)]
enum Slot {
    Empty = 0,
    Held(Held) = 1,
}

const _: () = assert!(size_of::<Slot>() <= CHAIN_BYTES);
static CHAIN: Mutex<RefCell<Slot>> = Mutex::new(RefCell::new(Slot::Empty));

/// This node's lines and memory.
struct Here;

impl Ground for Here {
    fn send(&mut self, line: usize, frame: &[u8]) -> bool {
        serial::send(&mut UsartLine::of(line), |out| {
            out[..frame.len()].copy_from_slice(frame);
            frame.len()
        })
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        for (offset, byte) in out.iter_mut().enumerate() {
            let address = RAM.start as usize + at as usize + offset;
            let place = core::ptr::with_exposed_provenance::<u8>(address);
            // SAFETY: a byte of RAM that no guard is over: parts are those below.
            *byte = unsafe { place.read_volatile() };
        }
    }
}

impl Held {
    /// Hears what the line up has brought, if that is the chain's; all else is lost.
    fn listen(&mut self) {
        let mut line = UsartLine::of(self.chain.line_up());
        while let Some(size) = self.collector.next_frame(&mut line) {
            let frame = self.collector.frame(size);
            let now = clock::now_ns();
            self.chain.hear(self.chain.line_up(), frame, now, &mut Here);
        }
    }

    fn go_on(&mut self) {
        if self.is_console {
            self.listen();
        }
        self.chain.go_on(clock::now_ns(), &mut Here);
        arch::wake_by(clock::ticks_of(self.chain.next_ns()));
    }

    /// Has the chain show the node's account, at once if it is in another state, with what explains that.
    fn show(&mut self) {
        let state = MIDPLANE_BLACKBOARD.state();
        if self.shown == state {
            return self.chain.changed();
        }
        self.shown = state;
        let (stack, trap_stack) = (used(arch::stack()), used(arch::trap_stack()));
        let callers = part((&raw const MIDPLANE_CALLERS).addr(), callers::BYTES);
        let failed = (&raw const MIDPLANE_FAILED_MALLOC).addr();
        let failed = part(failed, failed_malloc::BYTES);
        let now = clock::now_ns();
        match state {
            Some(State::Failed) => self.chain.show(&[stack, trap_stack, callers, failed], now),
            Some(State::Done) => self.chain.show(&[stack, trap_stack].map(first_word), now),
            _ => self.chain.show(&[], now),
        }
    }

    /// The lines that are used.
    fn used(&self) -> impl Iterator<Item = usize> + use<> {
        let lines = self.lines;
        (0..lines.len()).filter(move |at| lines[*at])
    }
}

/// Runs `f` on the chain; `None`: the machine has no console, or the node has failed in the middle of this.
fn with<R>(f: impl FnOnce(&mut Held) -> R) -> Option<R> {
    critical_section::with(|cs| match &mut *CHAIN.borrow(cs).try_borrow_mut().ok()? {
        Slot::Empty => None,
        Slot::Held(held) => Some(f(held)),
    })
}

/// The same on a node that has failed, also in the middle of this: as when its stack ends here.
fn with_last<R>(f: impl FnOnce(&mut Held) -> R) -> Option<R> {
    critical_section::with(|cs| {
        // SAFETY: the node's interrupt is off for good, those of the lines do not use it, and who else has borrowed it is not
        // gone back to. What was left there half
        // done is plain data: at worst a record comes twice, or with bytes of another.
        match unsafe { &mut *CHAIN.borrow(cs).as_ptr() } {
            Slot::Empty => None,
            Slot::Held(held) => Some(f(held)),
        }
    })
}

/// From now on the node is part of the chain to this console.
pub fn open((shape, coord): (Shape, Coord), console: Console) {
    let up = chain::up(&shape, coord, console.at);
    let line_up = up.unwrap_or(console.direction) as usize;
    let rank = shape.rank(coord).and_then(|rank| u16::try_from(rank).ok());
    let Some(rank) = rank else {
        boot_failed(Boot::NoConsole);
    };
    let has_link = |d| shape.neighbour(coord, d).is_some();
    let account = part((&raw const MIDPLANE_BLACKBOARD).addr(), blackboard::BYTES);
    let chain = Chain::new(rank, line_up, account, (shape.nodes(), BAUD));
    let mut held = Slot::Held(Held {
        chain,
        collector: Collector::new(),
        is_console: up.is_none(),
        lines: Direction::ALL.map(|d| d as usize == line_up || has_link(d)),
        shown: None,
    });
    if up.is_none() {
        lines::start(console.direction);
    }
    critical_section::with(|cs| core::mem::swap(&mut *CHAIN.borrow_ref_mut(cs), &mut held));
    show();
}

/// The line in this direction, for a link: the chain hears what is its own.
pub fn start(direction: Direction) -> UsartLine {
    lines::start(direction).shared_with(hear)
}

/// A frame has come by a link's line; false: it is not of the chain.
fn hear(line: usize, frame: &[u8]) -> bool {
    let is_of_chain = chain::is_of_chain(frame);
    if is_of_chain {
        with(|held| {
            held.chain.hear(line, frame, clock::now_ns(), &mut Here);
            held.go_on();
        });
    }
    is_of_chain
}

/// Goes on after an interrupt.
pub fn go_on() {
    with(Held::go_on);
}

/// Prints `bytes`; false when the machine has no console. Blocks while there is no room, as `console::write` does.
pub fn print(stream: Stream, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = with(|held| {
            let taken = held.chain.print(stream, rest);
            held.go_on();
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

/// Waits for an interrupt, which is taken behind this.
fn wait() {
    critical_section::with(|_| {
        arch::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
        arch::wait_for_interrupt();
    });
    if running::is_at_work() {
        // A function of the program's that the device has called prints: until it returns, the links do not listen.
        // What they lose is sent again.
        arch::acknowledge_call();
        with(Held::listen);
        arch::call_node();
    }
}

/// The blackboard has changed. That the node is in another state goes up at once, with what explains it.
pub fn show() {
    with(|held| {
        held.show();
        held.go_on();
    });
}

/// What a node does that has failed: it gets its last words out, and passes on what others say. Comes back at once
/// where the machine has no console.
pub fn finish() {
    cortex_m::interrupt::disable();
    // SAFETY: never released, so that the node's interrupt does not come any more.
    let _ = unsafe { critical_section::acquire() };
    if with_last(Held::show).is_some() {
        // SAFETY: interrupts are off, and what has called this is not gone back to.
        unsafe { arch::run_on_trap_stack(pass_on) }
    }
}

/// The links listen no more, so each line has a collector here. Lines and clock have their interrupts, the node does not.
extern "C" fn pass_on() -> ! {
    let mut collectors = [const { Collector::new() }; 6];
    // A frame that the node was sending ends here.
    with_last(|held| {
        for at in held.used() {
            UsartLine::of(at).put(&[0]);
        }
    });
    loop {
        arch::acknowledge_call();
        with_last(|held| {
            for at in held.used() {
                let mut line = UsartLine::of(at);
                while let Some(size) = collectors[at].next_frame(&mut line) {
                    let frame = collectors[at].frame(size);
                    held.chain.hear(at, frame, clock::now_ns(), &mut Here);
                }
            }
            held.chain.go_on(clock::now_ns(), &mut Here);
            arch::wake_by(clock::ticks_of(held.chain.next_ns()));
        });
        arch::wait_for_interrupt();
    }
}

/// So many bytes of RAM from an address on.
fn part(address: usize, bytes: usize) -> Part {
    let start = (address as u64 - RAM.start) as u32;
    Part {
        start,
        end: start + bytes as u32,
    }
}

/// The part of a stack that has been used: from the first word on that is not zero.
fn used(stack: Bytes) -> Part {
    const WORD: u64 = 4;
    let words = (stack.start..stack.end).step_by(WORD as usize);
    let is_used = |address: &u64| {
        let place = core::ptr::with_exposed_provenance::<u32>(*address as usize);
        // SAFETY: an aligned word of RAM, with no guard over it.
        unsafe { place.read_volatile() != 0 }
    };
    let first = { words }.find(is_used).unwrap_or(stack.end);
    part(first as usize, (stack.end - first) as usize)
}

/// What tells the tool how far a stack was used.
fn first_word(used: Part) -> Part {
    let end = used.end.min(used.start + size_of::<u64>() as u32);
    Part { end, ..used }
}
