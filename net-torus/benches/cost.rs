//! Instructions per packet: `cargo bench -p net-torus`.
//!
//! Callgrind counts instructions instead of time, so that the results are the same on a busy machine. The program runs
//! itself under `valgrind --tool=callgrind`, once with few and once with many packets. The difference, divided by the
//! number of packets between, is the cost of one packet without one-time work.
//!
//! A packet has its own cost and a share of its frame's cost. The table shows both: one packet per frame, and full
//! frames. The cost of a byte is the difference of large and small packets. The processor's `memcpy` moves 32 bytes per
//! instruction, a node's 8, so bytes cost more there.
//!
//! Links are exact, like ring buffers in shared memory, or not, like a virtio network device. The last rows contain the
//! cost of an idle [`Torus::step`].

use net_torus::{BODY_BYTES, BufferSizes, Chunk, Coord, Direction, Fifo, Link, Router, RoutingMode, Shape, Torus};
use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Frame size between emulated nodes.
const MTU: usize = 1514;
/// Batches of packets in the short and in the long run.
const FEW: u64 = 100;
const MANY: u64 = 1_100;

/// Same as in emulated nodes, plus equal dynamic channels.
const SIZES: BufferSizes = BufferSizes {
    dynamic: 48,
    normal: 48,
    priority: 16,
    inject_normal: 16,
    inject_priority: 16,
    receive_normal: 64,
    receive_priority: 32,
};

struct BenchWork {
    name: &'static str,
    /// Function in which callgrind counts.
    function: &'static str,
    routing: RoutingMode,
    exact: bool,
}

impl BenchWork {
    const fn new(name: &'static str, function: &'static str, routing: RoutingMode, exact: bool) -> Self {
        Self {
            name,
            function,
            routing,
            exact,
        }
    }
}

use RoutingMode::{Adaptive, Deterministic};
const WORK: [BenchWork; 10] = [
    BenchWork::new("inject", "counted_inject", Deterministic, true),
    BenchWork::new("inject, adaptive", "counted_inject", Adaptive, true),
    BenchWork::new("frame out", "counted_send", Deterministic, true),
    BenchWork::new("frame out, adaptive", "counted_send", Adaptive, true),
    BenchWork::new("frame out, summed", "counted_send", Deterministic, false),
    BenchWork::new("forward", "counted_forward", Deterministic, true),
    BenchWork::new("forward, summed", "counted_forward", Deterministic, false),
    BenchWork::new("frame in", "counted_receive", Deterministic, true),
    BenchWork::new("frame in, summed", "counted_receive", Deterministic, false),
    BenchWork::new("deliver", "counted_deliver", Deterministic, true),
];

/// Packets: name, bytes of body, packets per frame.
const PACKETS: [(&str, usize, u64); 4] = [
    ("1 of 32 bytes", 24, 1),
    ("15 of 32", 24, 15),
    ("1 of 256", BODY_BYTES, 1),
    ("5 of 256", BODY_BYTES, 5),
];
/// Indices of the two entries whose difference is the cost of bytes.
const SMALL: usize = 0;
const GREAT: usize = 2;

// Callgrind finds these functions by their names, so they are not inlined; nothing else is counted.

#[inline(never)]
fn counted_inject(router: &mut Router<'_>, dest: Coord, body: &[u8], routing: RoutingMode) {
    let fill = |room: &mut [u8]| room.copy_from_slice(body);
    let injected = router.inject_with(Fifo::Normal, dest, body.len(), routing, fill);
    assert!(injected.is_ok());
}

#[inline(never)]
fn counted_send(router: &mut Router<'_>, frame: &mut [u8]) -> usize {
    router.fill_frame(Direction::XPlus, frame)
}

#[inline(never)]
fn counted_forward(router: &mut Router<'_>, came: &[u8], goes: &mut [u8]) -> usize {
    router.receive_frame(Direction::XMinus, came);
    router.fill_frame(Direction::XPlus, goes)
}

#[inline(never)]
fn counted_receive(router: &mut Router<'_>, frame: &[u8]) {
    router.receive_frame(Direction::XMinus, frame);
}

#[inline(never)]
fn counted_deliver(router: &mut Router<'_>) -> u64 {
    let mut packets = 0;
    while let Some(body) = router.head(Fifo::Normal) {
        black_box(body);
        router.pop(Fifo::Normal);
        packets += 1;
    }
    packets
}

#[inline(never)]
fn counted_idle(torus: &mut Torus<'_, IdleLink>) -> bool {
    torus.step(black_box(0))
}

/// Idle link that costs nothing to poll.
struct IdleLink;

impl Link for IdleLink {
    fn mtu(&self) -> usize {
        MTU
    }
    fn receive(&mut self, _: impl FnOnce(&[u8])) -> bool {
        black_box(false)
    }
    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        f(&mut [0; MTU]) > 0
    }
    fn is_exact(&self) -> bool {
        true
    }
}

/// Steps an idle node of a ring or of a torus.
fn idle(steps: u64, extents: [u16; 3]) {
    let shape = Shape::new(extents, [true; 3]).expect("good extents");
    let memory: &mut [Chunk] = vec![[0; 32]; SIZES.chunks()].leak();
    let router = Router::new(shape, Coord::default(), SIZES, memory).expect("good sizes");
    let here = router.links();
    let links = Direction::ALL.map(|d| here.has(d).then_some(IdleLink));
    let mut torus = Torus::new(router, links).expect("its links");
    while torus.step(0) {}
    for _ in 0..steps {
        assert!(!counted_idle(&mut torus));
    }
}

fn emit_tokens(from: &mut Router<'_>, to: &mut Router<'_>) {
    let mut frame = [0; MTU];
    let size = from.fill_frame(Direction::XMinus, &mut frame);
    to.receive_frame(Direction::XPlus, &frame[..size]);
}

/// Runs three nodes in a row. The first injects `frames` times `in_frame` packets, the middle node forwards them, the
/// last receives them.
fn run(frames: u64, body: usize, in_frame: u64, routing: RoutingMode, exact: bool) {
    let shape = Shape::new([4, 1, 1], [true; 3]).expect("good extents");
    let at = |x| Coord { x, y: 0, z: 0 };
    let [mut first, mut middle, mut last] = [0, 1, 2].map(|x| {
        let memory: &mut [Chunk] = vec![[0; 32]; SIZES.chunks()].leak();
        let mut router = Router::new(shape, at(x), SIZES, memory).expect("good sizes");
        if exact {
            router.set_exact(router.links());
        }
        router
    });
    let body = vec![7; body];
    let (mut a, mut b) = ([0; MTU], [0; MTU]);
    for _ in 0..frames {
        // Tokens return; bidirectional traffic would piggyback them on its frames.
        emit_tokens(&mut last, &mut middle);
        emit_tokens(&mut middle, &mut first);
        for _ in 0..in_frame {
            // The route uses the middle node: in a ring of four, a source with an even coordinate sends half way round
            // upwards.
            counted_inject(&mut first, at(2), &body, routing);
        }
        let size = counted_send(&mut first, &mut a);
        let size = counted_forward(&mut middle, &a[..size], &mut b);
        counted_receive(&mut last, &b[..size]);
        assert_eq!(counted_deliver(&mut last), in_frame);
    }
}

/// Returns the instructions in `function` during one run of this program with `arguments`, counted by callgrind.
fn count(function: &str, arguments: &[u64]) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| format!("no path to this program: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .arg("--count")
        .args(arguments.iter().map(u64::to_string))
        .output()
        .map_err(|e| format!("cannot run valgrind, which does the counting: {e}; install valgrind"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, number)| number.trim().parse().ok()) {
        Some(number) if output.status.success() && number > 0 => Ok(number),
        _ => Err(format!("valgrind counted nothing in {function}:\n{said}")),
    }
}

fn table() -> Result<(), String> {
    print!("{:20}", "instructions/packet");
    PACKETS.iter().for_each(|(name, ..)| print!("{name:>14}"));
    println!("      per byte");
    for work in WORK {
        let BenchWork { name, function, .. } = work;
        print!("{name:20}");
        let numbers = [(work.routing == Adaptive) as u64, work.exact as u64];
        let mut each = [0.0; PACKETS.len()];
        for (packets, (_, _, in_frame)) in PACKETS.iter().enumerate() {
            let few = count(function, &[FEW, packets as u64, numbers[0], numbers[1]])?;
            let many = count(function, &[MANY, packets as u64, numbers[0], numbers[1]])?;
            each[packets] = (many - few) as f64 / ((MANY - FEW) * in_frame) as f64;
            print!("{:14.1}", each[packets]);
        }
        let bytes = PACKETS[GREAT].1 - PACKETS[SMALL].1;
        println!("{:14.2}", (each[GREAT] - each[SMALL]) / bytes as f64);
    }
    for (name, links) in [("idle step, 2 links", 2), ("idle step, 6 links", 6)] {
        let [few, many] = [FEW, MANY].map(|steps| count("counted_idle", &[steps, links]));
        println!("{name:20}{:14.1}", (many? - few?) as f64 / (MANY - FEW) as f64);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, numbers @ ..] = &arguments[..]
        && flag == "--count"
    {
        let numbers: Vec<u64> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
        match numbers[..] {
            [steps, links] => idle(steps, if links == 2 { [4, 1, 1] } else { [4, 4, 4] }),
            [frames, packets, adaptive, exact] => {
                let (_, body, in_frame) = PACKETS[packets as usize % PACKETS.len()];
                let routing = [Deterministic, Adaptive][(adaptive != 0) as usize];
                run(frames, body, in_frame, routing, exact != 0);
            }
            _ => {
                eprintln!("cost: --count is for the program's own use");
                return ExitCode::from(2);
            }
        }
        return ExitCode::SUCCESS;
    }
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cost: {why}");
            ExitCode::FAILURE
        }
    }
}
