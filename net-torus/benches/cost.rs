//! Instructions per packet: `cargo bench -p net-torus`.
//!
//! Counted by callgrind, not timed: the numbers come out the same on a busy machine. The program runs
//! itself under `valgrind --tool=callgrind`, once with few and once with many packets; the difference,
//! divided by the packets between, is the cost of one packet without anything that is done once.
//!
//! A packet costs something of its own and a share of its frame. Both are seen when packets travel one
//! to a frame and when the frame is full.

use net_torus::{BODY_BYTES, Chunk, Coord, Direction, Fifo, Router, Routing, Shape, Sizes};
use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Frames as between emulated nodes.
const MTU: usize = 1514;
/// Batches of packets in the short and in the long run.
const FEW: u64 = 100;
const MANY: u64 = 1_100;

/// As emulated nodes have them, and as much for the dynamic channels.
const SIZES: Sizes = Sizes {
    dynamic: 48,
    normal: 48,
    priority: 16,
    inject_normal: 16,
    inject_priority: 16,
    receive_normal: 64,
    receive_priority: 32,
};

/// What is counted: a name for the table, the function in which callgrind counts, the routing.
const WORK: [(&str, &str, Routing); 5] = [
    ("inject", "counted_inject", Routing::Deterministic),
    ("send", "counted_send", Routing::Deterministic),
    ("forward", "counted_forward", Routing::Deterministic),
    ("forward, adaptive", "counted_forward", Routing::Adaptive),
    ("receive", "counted_receive", Routing::Deterministic),
];

/// The packets: a name, bytes of body, packets in a frame.
const PACKETS: [(&str, usize, u64); 4] = [
    ("32 bytes, 1", 24, 1),
    ("32 bytes, 15", 24, 15),
    ("256 bytes, 1", BODY_BYTES, 1),
    ("256 bytes, 5", BODY_BYTES, 5),
];

// Callgrind finds these by their names, hence not inlined; nothing else is counted.

#[inline(never)]
fn counted_inject(router: &mut Router<'_>, dest: Coord, body: &[u8], routing: Routing) {
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
fn counted_receive(router: &mut Router<'_>, frame: &[u8]) -> u64 {
    router.receive_frame(Direction::XMinus, frame);
    let mut packets = 0;
    while let Some(body) = router.head(Fifo::Normal) {
        black_box(body);
        router.pop(Fifo::Normal);
        packets += 1;
    }
    packets
}

fn tell_tokens(from: &mut Router<'_>, to: &mut Router<'_>) {
    let mut frame = [0; MTU];
    let size = from.fill_frame(Direction::XMinus, &mut frame);
    to.receive_frame(Direction::XPlus, &frame[..size]);
}

/// Three nodes in a row: the first injects `frames` times as many packets as one frame is to hold, the one
/// in the middle forwards them, the last receives them.
fn run(frames: u64, body: usize, in_frame: u64, routing: Routing) {
    let shape = Shape::new([4, 1, 1], [true; 3]).expect("good extents");
    let at = |x| Coord { x, y: 0, z: 0 };
    let [mut first, mut middle, mut last] = [0, 1, 2].map(|x| {
        let memory: &mut [Chunk] = vec![[0; 32]; SIZES.chunks()].leak();
        Router::new(shape, at(x), SIZES, memory).expect("good sizes")
    });
    let body = vec![7; body];
    let (mut a, mut b) = ([0; MTU], [0; MTU]);
    for _ in 0..frames {
        // Tokens come back; with traffic both ways they would ride on its frames.
        tell_tokens(&mut last, &mut middle);
        tell_tokens(&mut middle, &mut first);
        for _ in 0..in_frame {
            // Its way leads over the middle: along a ring of four, from an even place, half way is up.
            counted_inject(&mut first, at(2), &body, routing);
        }
        let size = counted_send(&mut first, &mut a);
        let size = counted_forward(&mut middle, &a[..size], &mut b);
        assert_eq!(counted_receive(&mut last, &b[..size]), in_frame);
    }
}

/// Instructions in `function` during one run, by callgrind.
fn count(function: &str, frames: u64, packets: usize, routing: Routing) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| format!("no path to this program: {e}"))?;
    let adaptive = (routing == Routing::Adaptive) as u8;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args([
            "--count",
            &frames.to_string(),
            &packets.to_string(),
            &adaptive.to_string(),
        ])
        .output()
        .map_err(|e| {
            format!("cannot run valgrind, which does the counting: {e}; install valgrind")
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, number)| number.trim().parse().ok()) {
        Some(number) if output.status.success() && number > 0 => Ok(number),
        _ => Err(format!("valgrind counted nothing in {function}:\n{said}")),
    }
}

fn table() -> Result<(), String> {
    print!("{:20}", "instructions/packet");
    PACKETS.iter().for_each(|(name, ..)| print!("{name:>14}"));
    println!(" in a frame");
    for (name, function, routing) in WORK {
        print!("{name:20}");
        for (packets, (_, _, in_frame)) in PACKETS.iter().enumerate() {
            let few = count(function, FEW, packets, routing)?;
            let many = count(function, MANY, packets, routing)?;
            let each = (many - few) as f64 / ((MANY - FEW) * in_frame) as f64;
            print!("{each:14.1}");
        }
        println!();
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, numbers @ ..] = &arguments[..]
        && flag == "--count"
    {
        let numbers: Vec<u64> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
        let &[frames, packets, adaptive] = &numbers[..] else {
            eprintln!("cost: --count is for the program's own use");
            return ExitCode::from(2);
        };
        let (_, body, in_frame) = PACKETS[packets as usize % PACKETS.len()];
        let routing = [Routing::Deterministic, Routing::Adaptive][(adaptive != 0) as usize];
        run(frames, body, in_frame, routing);
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
