//! The composition root: here the board's devices, the torus and the MPI device become one node.
//!
//! ```text
//!            program (C or Rust)
//!               |  MPI calls: Env::with, interrupts held off, poll and sleep inside
//!            Adi  <---------------- interrupt, while the program computes: poll, bounded
//!               |
//!            Torus = Router + six NetLinks
//!               |
//!            virtio-net, one per direction
//! ```
//!
//! Boot order: device tree, boot arguments, memory plan, consoles, heap, links, router, device, interrupts,
//! program. Whatever fails on the way is left on the blackboard as [`End::Boot`].

use core::cell::{Cell, RefCell};
use core::ffi::c_char;
use core::fmt::{self, Write as _};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use alloc::vec::Vec;
use critical_section::Mutex;
use mpi_adi::kernel::{AbortReason, CallNote, Env, Heap, Kernel};
use mpi_adi::memory::UserMemory;
use mpi_adi::{Adi, Config, Memory};
use net_torus::coord::Direction;
use net_torus::router::Router;
use net_torus::torus::Torus;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use crate::arch;
use crate::board::device_tree::{Machine, Slot};
use crate::board::{self, plic, timer};
use crate::console::{self, Stream};
use crate::dev::virtio_console::ConsoleDevice;
use crate::dev::virtio_net::{Frame, NetLink};
use crate::dev::{self, DeviceError};
use crate::fault::{Fault, Map, Place, Report};
use crate::heap;
use crate::host::blackboard::{Blackboard, Call, Counter, End, LinkCounters, MESSAGE_BYTES, cut};
use crate::host::inbox::{Inbox, Taken};
use crate::host::personality::{self, BootArgs, Exit, Personality};
use crate::lend::NodeMemory;
use crate::libc;
use crate::mem::{Bytes, MPI_SHARE, Needs, Plan, RECEIVE_FRAMES, ROUTER, TRANSMIT_FRAMES};

/// Found by the host tool through this name.
#[unsafe(no_mangle)]
static MIDPLANE_BLACKBOARD: Blackboard = Blackboard::new();
/// Found by its symbol, as the blackboard is.
#[unsafe(no_mangle)]
static MIDPLANE_INBOX: Inbox = Inbox::new();

/// Steps that an interrupt makes at most before the program has the processor back.
const STEPS_PER_INTERRUPT: u32 = 64;
/// How long the program then computes before the interrupt goes on, in nanoseconds.
const PROGRAM_SLICE_NS: u64 = 50_000;
/// Time between two greetings of a neighbour that has not answered, in nanoseconds.
const GREETING_NS: u64 = 1_000_000;
/// How long an ending node waits for its output to be taken, in nanoseconds.
const DRAIN_NS: u64 = 500_000_000;
/// Greatest number of request slots; the heap ends sooner.
const REQUEST_SLOTS: usize = mpi_adi::request::MAX_SLOTS;

const NS_PER_SECOND: u64 = 1_000_000_000;

static CLOCK_HZ: AtomicU64 = AtomicU64::new(1);
/// Nanoseconds per tick, with 32 binary places.
static NS_PER_TICK: AtomicU64 = AtomicU64::new(0);
/// Time since 1970 in nanoseconds when the clock stood at 0.
static WALL_CLOCK_AT_0: AtomicU64 = AtomicU64::new(0);
static PERSONALITY: Mutex<Cell<Option<Personality>>> = Mutex::new(Cell::new(None));
static RAM: Mutex<Cell<Bytes>> = Mutex::new(Cell::new(Bytes { start: 0, end: 0 }));
static NODE: Mutex<RefCell<Option<Node>>> = Mutex::new(RefCell::new(None));

struct Node {
    adi: Adi,
    board: Board,
}

/// What carries the device on this node.
struct Board {
    torus: Torus<'static, NetLink>,
    memory: NodeMemory,
    /// The last step moved nothing, and nobody has touched the device since.
    quiet: bool,
    /// The blackboard lacks what was done since.
    unpublished: bool,
    beats: u64,
    idle_ticks: u64,
    started: u64,
}

/// Time since the machine started in nanoseconds.
pub fn now_ns() -> u64 {
    ns(arch::ticks())
}

/// Time since 1970 in nanoseconds, as the board's calendar had it at boot; it may be wrong.
pub fn wall_clock_ns() -> u64 {
    WALL_CLOCK_AT_0.load(Ordering::Relaxed) + now_ns()
}

/// Sets the frequency of the clock.
fn set_clock(hz: u64) {
    CLOCK_HZ.store(hz, Ordering::Relaxed);
    NS_PER_TICK.store((NS_PER_SECOND << 32) / hz, Ordering::Relaxed);
    let then = board::calendar_ns().saturating_sub(now_ns());
    WALL_CLOCK_AT_0.store(then, Ordering::Relaxed);
}

/// Without a division, because every step asks. A frequency that does not divide a thousand million is
/// off by less than one part in a thousand million.
fn ns(ticks: u64) -> u64 {
    ((ticks as u128 * NS_PER_TICK.load(Ordering::Relaxed) as u128) >> 32) as u64
}

/// Ticks of the clock in `ns` nanoseconds.
pub(crate) fn ticks_of(ns: u64) -> u64 {
    let hz = CLOCK_HZ.load(Ordering::Relaxed);
    let rest = (ns % NS_PER_SECOND).saturating_mul(hz) / NS_PER_SECOND;
    (ns / NS_PER_SECOND).saturating_mul(hz).saturating_add(rest)
}

/// Who this node is; `None` early in the boot.
pub fn personality() -> Option<Personality> {
    critical_section::with(|cs| PERSONALITY.borrow(cs).get())
}

fn place() -> Place {
    Place(personality().map(|p| (p.rank, p.coord)))
}

// ---------------------------------------------------------------------------------------------------
// Boot

/// A link's device could not be brought up, or is missing or superfluous.
fn boot_failed(why: fmt::Arguments<'_>) -> ! {
    let mut message = Message::new();
    let _ = write!(message, "{}: cannot start: {why}", place());
    end(End::Boot, 1, &message)
}

/// From the processor's first Rust code to the program. `tree_bytes`: size of the device tree, 0 when
/// there is none.
pub fn boot(tree_bytes: usize) -> ! {
    MIDPLANE_BLACKBOARD.begin();
    if tree_bytes > arch::device_tree_room() {
        let room = arch::device_tree_room();
        boot_failed(format_args!(
            "the device tree has {tree_bytes} bytes, this kernel takes {room}: too many program arguments"
        ));
    }
    // SAFETY: the only call.
    let tree: &'static [u8] = unsafe { arch::device_tree(tree_bytes) };
    let machine = match Machine::read(tree, board::RAM) {
        Ok(machine) => machine,
        Err(why) => boot_failed(format_args!("{why}")),
    };
    set_clock(machine.clock_hz);
    critical_section::with(|cs| RAM.borrow(cs).set(machine.ram));
    let args = match BootArgs::parse(machine.boot_args) {
        Ok(args) => args,
        Err(why) => boot_failed(format_args!("{why}")),
    };
    let who = identify(&machine, &args);
    critical_section::with(|cs| PERSONALITY.borrow(cs).set(Some(who)));
    MIDPLANE_BLACKBOARD.set_rank(who.rank);

    timer::start();
    arch::arm_interrupts();
    let devices = find_devices(&machine);
    let links = devices.links.iter().flatten().count();
    let consoles = devices.consoles.iter().flatten().count();
    let peers = who.shape.nodes() as usize;
    let mpi_bytes = usize::try_from(who.mpi_memory).unwrap_or(usize::MAX);
    let budget = mpi_adi::Budget::of(mpi_bytes, peers);
    let tables = ROUTER.bytes() + budget.map + budget.peers;
    let needs = Needs {
        links,
        consoles,
        mpi: who.mpi_memory,
        tables: tables as u64,
    };
    let plan = match Plan::new(machine.ram, arch::image_end() as u64, needs) {
        Ok(plan) => plan,
        Err(why) => boot_failed(format_args!("{why}")),
    };
    // SAFETY: the plan's parts are RAM behind the image and do not overlap; each is handed out here only.
    unsafe {
        dev::set_pool(plan.queues);
        heap::init(plan.heap);
    }
    start_consoles(devices.consoles, &machine.slots);
    if console::is_attached(Stream::Out) {
        crate::log::enable();
    }
    let mut links = start_links(devices.links, &machine.slots, plan.frames);
    greet(&mut links);

    let chunks = leak(ROUTER.chunks(), [0; net_torus::wire::CHUNK_BYTES]);
    let router = match Router::new(who.shape, who.coord, ROUTER, chunks) {
        Ok(router) => router,
        Err(why) => boot_failed(format_args!("{why}")),
    };
    let torus = match Torus::new(router, links) {
        Ok(torus) => torus,
        Err(why) => boot_failed(format_args!("{why}")),
    };
    let config = Config {
        shape: who.shape,
        rank: who.rank,
        request_slots: REQUEST_SLOTS,
    };
    let Ok(memory) = Memory::allocate(who.mpi_memory as usize, peers) else {
        boot_failed(format_args!(
            "{} bytes of MPI memory do not fit this node's memory; lower --mpi-memory or raise --node-memory",
            who.mpi_memory
        ));
    };
    let Some(mut adi) = Adi::new(config, memory) else {
        boot_failed(format_args!(
            "no MPI device for rank {} of {peers}",
            who.rank
        ));
    };
    if let Some(bytes) = who.eager {
        adi.set_eager_limit(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    let node = Node {
        adi,
        board: Board {
            torus,
            memory: NodeMemory {
                lends: who.mpi_borrow,
            },
            quiet: false,
            unpublished: true,
            beats: 0,
            idle_ticks: 0,
            started: arch::ticks(),
        },
    };
    critical_section::with(|cs| *NODE.borrow_ref_mut(cs) = Some(node));
    let argv = arguments(&args);
    defmt::info!(
        "rank {=u32} at ({=u8},{=u8},{=u8}) up: {=usize} links, heap {=u64} KiB, MPI memory {=u64} bytes",
        who.rank,
        who.coord.x,
        who.coord.y,
        who.coord.z,
        needs.links,
        plan.heap.len() / 1024,
        who.mpi_memory
    );
    arch::enable_interrupts();
    mpi_adi::c::install(&NodeEnv);
    MIDPLANE_BLACKBOARD.running();
    // SAFETY: the only call, with everything set up; the arguments live for ever.
    unsafe { libc::run(argv) }
}

fn identify(machine: &Machine<'_>, args: &BootArgs<'_>) -> Personality {
    let Some(rank) = args.shape.rank(args.coord) else {
        // `BootArgs::parse` has refused coordinates outside the shape.
        boot_failed(format_args!("coordinates outside the torus"));
    };
    Personality {
        shape: args.shape,
        coord: args.coord,
        rank,
        clock_hz: machine.clock_hz,
        memory: machine.ram.len(),
        mpi_memory: args.mpi_memory.unwrap_or(machine.ram.len() / MPI_SHARE),
        mpi_borrow: args.mpi_borrow,
        eager: args.eager,
        exit: args.exit,
    }
}

struct Devices {
    links: [Option<MmioTransport<'static>>; 6],
    consoles: [Option<MmioTransport<'static>>; 2],
}

fn device_failed(slot: usize, why: DeviceError) -> ! {
    boot_failed(format_args!("the device in virtio slot {slot}: {why}"))
}

fn find_devices(machine: &Machine<'static>) -> Devices {
    let find = |number: usize, kind| {
        let slot = machine.slots.get(number)?;
        // SAFETY: the device tree says that this slot is one, and each is looked at once.
        match unsafe { dev::transport(slot, kind) } {
            Ok(transport) => transport,
            Err(why) => device_failed(number, why),
        }
    };
    Devices {
        links: core::array::from_fn(|d| find(d, DeviceType::Network)),
        consoles: [board::SLOT_STDOUT, board::SLOT_STDERR]
            .map(|number| find(number, DeviceType::Console)),
    }
}

fn enable_interrupt(number: usize, slots: &[Slot]) {
    if !slots
        .get(number)
        .is_some_and(|slot| plic::enable(slot.interrupt))
    {
        device_failed(number, DeviceError::Interrupt);
    }
}

fn start_consoles(transports: [Option<MmioTransport<'static>>; 2], slots: &[Slot]) {
    for (transport, (stream, number)) in transports.into_iter().zip([
        (Stream::Out, board::SLOT_STDOUT),
        (Stream::Err, board::SLOT_STDERR),
    ]) {
        let Some(transport) = transport else { continue };
        match ConsoleDevice::new(transport) {
            Ok(device) => {
                let buffers = leak(2, [0; console::BUFFER_BYTES]);
                let Ok(buffers) = <&mut [console::Buffer; 2]>::try_from(buffers) else {
                    unreachable!("two buffers");
                };
                console::attach(stream, device, buffers);
                enable_interrupt(number, slots);
            }
            Err(why) => device_failed(number, why),
        }
    }
}

fn start_links(
    transports: [Option<MmioTransport<'static>>; 6],
    slots: &[Slot],
    frames: Bytes,
) -> [Option<NetLink>; 6] {
    const PER_LINK: usize = RECEIVE_FRAMES + TRANSMIT_FRAMES;
    let count = frames.len() as usize / size_of::<[Frame; PER_LINK]>();
    let start = ptr::with_exposed_provenance_mut::<[Frame; PER_LINK]>(frames.start as usize);
    let mut frames = (0..count).map(|i| {
        // SAFETY: the plan gave this memory to the links; each part is handed out once. It is
        // initialised: RAM is zero at start, and bytes have no invalid values.
        unsafe { &mut *start.add(i) }
    });
    let mut number = 0..;
    transports.map(|transport| {
        let slot = number.next().unwrap_or(0);
        let transport = transport?;
        let Some(frames) = frames.next() else {
            boot_failed(format_args!("no frames for link {slot}"));
        };
        match NetLink::new(transport, frames) {
            Ok(link) => {
                enable_interrupt(slot, slots);
                Some(link)
            }
            Err(why) => device_failed(slot, why),
        }
    })
}

/// Waits until all neighbours are there. The host sees a node that waits here as booting.
fn greet(links: &mut [Option<NetLink>; 6]) {
    let mut up = links.each_ref().map(Option::is_none);
    loop {
        for (link, up) in links.iter_mut().zip(&mut up) {
            *up = *up || link.as_mut().is_none_or(NetLink::greet);
        }
        if up == [true; 6] {
            return;
        }
        timer::wake_by(arch::ticks() + ticks_of(GREETING_NS));
        arch::wait_for_interrupt();
        acknowledge(links);
    }
}

/// Takes all pending interrupts.
fn acknowledge(links: &mut [Option<NetLink>; 6]) {
    timer::acknowledge();
    while arch::is_external_pending()
        && let Some(number) = plic::claim()
    {
        // Interrupt numbers are in the order of the slots on this board, from 1 on.
        match (number as usize).wrapping_sub(1) {
            board::SLOT_STDOUT => console::acknowledge(Stream::Out),
            board::SLOT_STDERR => console::acknowledge(Stream::Err),
            slot => {
                if let Some(Some(link)) = links.get_mut(slot) {
                    link.acknowledge();
                }
            }
        }
        plic::complete(number);
    }
}

/// Memory for ever, from the heap; the plan has seen to it that there is enough.
fn leak<T: Clone>(count: usize, value: T) -> &'static mut [T] {
    let mut items = Vec::new();
    if items.try_reserve_exact(count).is_err() {
        boot_failed(format_args!("out of memory"));
    }
    items.resize(count, value);
    items.leak()
}

/// The program's argv: one block of strings, one of pointers with a null at the end.
fn arguments(args: &BootArgs<'_>) -> &'static mut [*mut c_char] {
    let words = || args.args.iter().map(personality::decode);
    // A node booted by hand has no arguments; C wants argv[0] all the same.
    let unnamed = words().next().is_none() as usize;
    let bytes = words().map(|word| word.count() + 1).sum::<usize>() + unnamed;
    let argv = leak(words().count() + unnamed + 1, ptr::null_mut());
    let mut rest: &'static mut [u8] = leak(bytes, 0);
    for (pointer, word) in argv.iter_mut().zip(words()) {
        let mut at = 0;
        // The zero behind each string is there already.
        for (place, byte) in rest.iter_mut().zip(word.flatten()) {
            *place = byte;
            at += 1;
        }
        let (string, after) = rest.split_at_mut(at + 1);
        *pointer = string.as_mut_ptr().cast();
        rest = after;
    }
    if unnamed == 1 {
        argv[0] = rest.as_mut_ptr().cast();
    }
    argv
}

// ---------------------------------------------------------------------------------------------------
// Running

/// This node's device, for the bindings.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeEnv;

impl Env for NodeEnv {
    fn with(&self, f: &mut dyn FnMut(&mut Adi, &mut dyn Kernel)) {
        // Unfinished lines go out before a call that may block.
        console::flush();
        critical_section::with(|cs| {
            let mut node = NODE.borrow_ref_mut(cs);
            let Some(Node { adi, board }) = node.as_mut() else {
                unreachable!("the program runs after the node is set up");
            };
            f(adi, board);
            board.settle(adi);
        });
    }
}

impl Board {
    fn step(&mut self, adi: &mut Adi) -> bool {
        for link in self.torus.links_mut().iter_mut().flatten() {
            link.hold_interrupts();
        }
        let now = now_ns();
        let mut moved = self.torus.step(now);
        moved |= adi.progress(self.torus.router_mut(), &mut self.memory);
        if self.memory.lends {
            heap::report_frees(adi.starves_others());
        }
        moved |= self.torus.step(now);
        self.beats += 1;
        self.quiet = !moved;
        if moved {
            self.unpublished = true;
        } else if self.unpublished {
            // Whatever comes next, the end or a hang, the figures stand.
            self.publish(adi);
            self.unpublished = false;
        }
        moved
    }

    /// Goes on until there is nothing to do before a link says so by an interrupt; if that takes long, the
    /// timer will continue.
    fn settle(&mut self, adi: &mut Adi) {
        for _ in 0..STEPS_PER_INTERRUPT {
            if self.quiet && self.prepare_sleep() {
                return;
            }
            self.step(adi);
        }
        timer::wake_by(arch::ticks() + ticks_of(PROGRAM_SLICE_NS));
    }

    /// Makes sure that the links interrupt when there is something to do. False when there is already.
    fn prepare_sleep(&mut self) -> bool {
        let mut quiet = true;
        for link in self.torus.links_mut().iter_mut().flatten() {
            quiet &= link.prepare_sleep();
        }
        quiet
    }

    /// Brings the blackboard up to date.
    fn publish(&self, adi: &Adi) {
        const fn named(name: &str) -> Counter {
            Counter::named(name)
        }
        let board = &MIDPLANE_BLACKBOARD;
        board.set_beats(self.beats);
        let stats = adi.stats();
        let torus = self.torus.router().stats();
        let links = self.torus.links().iter().flatten();
        let defects = torus.all_defects() + links.map(NetLink::defects).sum::<u64>();
        for (counter, value) in [
            (const { named("messages_sent") }, stats.messages_sent),
            (
                const { named("messages_received") },
                stats.messages_received,
            ),
            (const { named("rts_sent") }, stats.rts_sent),
            (const { named("rts_received") }, stats.rts_received),
            (const { named("cts_sent") }, stats.cts_sent),
            (const { named("cts_received") }, stats.cts_received),
            (const { named("nctsd_sent") }, stats.nctsd_sent),
            (const { named("nctsd_received") }, stats.nctsd_received),
            (const { named("ncts_sent") }, stats.ncts_sent),
            (const { named("ncts_received") }, stats.ncts_received),
            (const { named("restarts_sent") }, stats.restarts_sent),
            (
                const { named("restarts_received") },
                stats.restarts_received,
            ),
            (
                const { named("peak_unexpected_records") },
                adi.region().peak_records() as u64,
            ),
            (
                const { named("peak_unexpected_bytes") },
                adi.region().peak_bytes() as u64,
            ),
            (
                const { named("peak_borrowed_bytes") },
                adi.region().peak_lent_bytes() as u64,
            ),
            (
                const { named("unexpected_records") },
                adi.region().records() as u64,
            ),
            (
                const { named("posted_receives_peak") },
                adi.matching().peak_posted as u64,
            ),
            (
                const { named("requests_peak") },
                adi.requests().peak() as u64,
            ),
            (const { named("eager_sent") }, stats.eager_sent),
            (const { named("eager_dropped") }, stats.eager_dropped),
            (const { named("packets_sent") }, torus.sent().packets),
            (
                const { named("packets_received") },
                torus.received().packets,
            ),
            (
                const { named("packets_forwarded") },
                torus.forwarded().packets,
            ),
            (const { named("link_defects") }, defects),
            (const { named("idle_ticks") }, self.idle_ticks),
            (const { named("run_ticks") }, arch::ticks() - self.started),
            (const { named("heap_peak_bytes") }, heap::peak() as u64),
        ] {
            board.set_counter(counter, value);
        }
        for d in self.torus.router().links().iter() {
            board.set_link(d, &LinkCounters::of(torus, d));
        }
    }
}

impl Kernel for Board {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        self.step(adi)
    }

    fn idle(&mut self) {
        if !self.prepare_sleep() {
            return;
        }
        let before = arch::ticks();
        arch::wait_for_interrupt();
        self.idle_ticks += arch::ticks() - before;
        acknowledge(self.torus.links_mut());
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        now_ns()
    }

    fn tick(&self) -> u64 {
        ns(1).max(1)
    }

    fn heap(&self) -> Option<Heap> {
        Some(heap::fill())
    }

    fn note(&mut self, call: Option<CallNote>) {
        MIDPLANE_BLACKBOARD.call(call.map(|call| Call {
            function: call.function,
            peer: call.peer,
            tag: call.tag,
        }));
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        let mut message = Message::new();
        let kind = match why {
            AbortReason::MpiAbort => {
                let _ = write!(
                    message,
                    "{}: MPI_Abort was called with status {status}",
                    place()
                );
                End::MpiAbort
            }
            AbortReason::MpiError(text) => {
                let _ = message.push_str(text);
                End::MpiError
            }
        };
        end(kind, status, &message)
    }
}

/// An interrupt while the program computes. Bounded: at most [`STEPS_PER_INTERRUPT`] steps, then the
/// program has [`PROGRAM_SLICE_NS`] before it goes on. Does not allocate.
pub fn interrupt() {
    critical_section::with(|cs| {
        let mut node = NODE.borrow_ref_mut(cs);
        let Some(Node { adi, board }) = node.as_mut() else {
            return;
        };
        acknowledge(board.torus.links_mut());
        // An unfinished line may have waited for the timer.
        console::flush();
        board.quiet = false;
        board.settle(adi);
    });
}

/// The heap has got memory back that the device may be waiting for. The device's own frees, when it gives
/// loans back, come here too; it knows of those.
pub fn heap_freed() {
    critical_section::with(|cs| {
        if let Ok(mut node) = NODE.borrow(cs).try_borrow_mut()
            && let Some(Node { adi, board }) = node.as_mut()
        {
            adi.heap_freed(&board.memory);
            board.quiet = false;
            board.settle(adi);
        }
    });
}

/// Sleeps for `ns` nanoseconds; interrupts are served meanwhile.
pub fn sleep(ns: u64) {
    console::flush();
    let deadline = arch::ticks().saturating_add(ticks_of(ns));
    loop {
        let slept = critical_section::with(|cs| {
            let now = arch::ticks();
            if now >= deadline {
                return true;
            }
            // Interrupts are held off: one that comes now ends the sleep and is taken right after.
            timer::wake_by(deadline);
            arch::wait_for_interrupt();
            if let Some(node) = NODE.borrow_ref_mut(cs).as_mut() {
                node.board.idle_ticks += arch::ticks() - now;
            }
            false
        });
        if slept {
            return;
        }
    }
}

/// How often the inbox is looked at while the program waits for input, in nanoseconds.
const INPUT_EVERY_NS: u64 = 5_000_000;

/// The program's standard input, as the host has it. Blocks until there is at least 1 byte and takes at
/// most as many as `out` holds, which is at least 1; 0 at the end. Only rank 0 has input, and only where a
/// host tool looks after the node.
pub fn input(out: &mut [u8]) -> usize {
    let is_served = console::is_attached(Stream::Out);
    if !is_served || personality().is_none_or(|p| p.rank != 0) {
        return 0;
    }
    let waiting = Call {
        function: "a read of standard input",
        peer: None,
        tag: None,
    };
    let mut has_said = false;
    let taken = loop {
        match MIDPLANE_INBOX.take(out) {
            Taken::Nothing => {
                if !has_said {
                    MIDPLANE_BLACKBOARD.call(Some(waiting));
                    has_said = true;
                }
                // Shows the prompt, too.
                sleep(INPUT_EVERY_NS);
            }
            taken => break taken,
        }
    };
    if has_said {
        MIDPLANE_BLACKBOARD.call(None);
    }
    match taken {
        Taken::Bytes(count) => count,
        Taken::Nothing | Taken::End => 0,
    }
}

// ---------------------------------------------------------------------------------------------------
// The end

/// What an ending node has to say; what does not fit is cut.
struct Message(heapless::String<MESSAGE_BYTES>);

impl Message {
    fn new() -> Self {
        Self(heapless::String::new())
    }

    fn push_str(&mut self, text: &str) -> fmt::Result {
        self.write_str(text)
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Cut to the room there is, so it is never refused.
        let _ = self.0.push_str(cut(text, MESSAGE_BYTES - self.0.len()));
        Ok(())
    }
}

fn publish() {
    critical_section::with(|cs| {
        if let Ok(node) = NODE.borrow(cs).try_borrow()
            && let Some(Node { adi, board }) = node.as_ref()
        {
            board.publish(adi);
        }
    });
}

/// The program has ended. Writes out what it printed, says so, and goes on forwarding for others; on a
/// node that was told to, leaves the emulator instead.
pub fn finish(status: i32) -> ! {
    if mpi_adi::c::phase() == mpi_adi::c::Phase::Running {
        let mut message = Message::new();
        let _ = write!(
            message,
            "{}: the program ended with status {status} without MPI_Finalize; others may be waiting for it",
            place()
        );
        end(
            End::MpiError,
            if status == 0 { 1 } else { status },
            &message,
        );
    }
    console::drain();
    publish();
    let lost = crate::log::lost_bytes();
    if lost != 0 {
        defmt::warn!(
            "{=u32} bytes of this log were lost: the UART was not read",
            lost
        );
    }
    defmt::info!("program ended with status {=i32}", status);
    MIDPLANE_BLACKBOARD.call(None);
    MIDPLANE_BLACKBOARD.done(status);
    if personality().is_some_and(|p| p.exit == Exit::Test) {
        board::exit(status as u8);
    }
    critical_section::with(|cs| {
        let mut node = NODE.borrow_ref_mut(cs);
        let Some(Node { adi, board }) = node.as_mut() else {
            arch::park();
        };
        loop {
            if !board.poll(adi) {
                board.idle();
            }
        }
    })
}

/// The node fails: output that is on its way goes out, the blackboard says why, and nothing runs any more.
fn end(why: End, status: i32, message: &Message) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::Relaxed) {
        // Failed again while ending: the first reason stands, nothing more can be done.
        arch::park();
    }
    console::drain_within(ticks_of(DRAIN_NS));
    publish();
    defmt::error!("{=str}", message.0.as_str());
    MIDPLANE_BLACKBOARD.failed(why, status, &message.0);
    if !crate::log::is_enabled() {
        // Booted by hand, with the UART as console: nobody may be reading the blackboard.
        for byte in message.0.bytes().chain(*b"\n") {
            board::uart::put(byte);
        }
    }
    if personality().is_none_or(|p| p.exit == Exit::Test) {
        board::exit(if status == 0 { 1 } else { status as u8 });
    }
    arch::park()
}

/// The program ends itself, or the kernel ends it for what it did.
pub fn program_abort(what: &str) -> ! {
    let mut message = Message::new();
    let _ = write!(message, "{}: {what}", place());
    end(End::Abort, 1, &message)
}

/// A trap that is no interrupt.
pub fn fault(fault: Fault) -> ! {
    MIDPLANE_BLACKBOARD.set_fault(fault.code, fault.pc, fault.address);
    let stack = arch::stack();
    let map = Map {
        null: Bytes {
            start: 0,
            end: board::NULL_BYTES,
        },
        guard: Bytes {
            start: board::BELOW_RAM,
            end: stack.start,
        },
        stack,
        trap_guard: arch::trap_guard(),
        constants: arch::constants(),
        ram: critical_section::with(|cs| RAM.borrow(cs).get()),
    };
    let Place(place) = place();
    let mut message = Message::new();
    let map = &map;
    let _ = write!(message, "{}", Report { fault, map, place });
    end(fault.end(map), 1, &message)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    // Interrupts stay off from here on: this does not come back.
    // SAFETY: never released.
    let _ = unsafe { critical_section::acquire() };
    let mut message = Message::new();
    let _ = write!(message, "{}: panicked", place());
    if let Some(at) = info.location() {
        let _ = write!(message, " at {}:{}:{}", at.file(), at.line(), at.column());
    }
    let _ = write!(message, ": {}", info.message());
    end(End::Panic, 1, &message)
}

// Link numbers and slots are the same thing.
const _: () = assert!(Direction::ALL.len() == board::SLOT_STDOUT);
