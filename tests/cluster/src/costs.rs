//! What things cost in virtual time.
//!
//! # The cost model
//! * A link carries one packet at a time, `link_ns_per_byte` for each of its bytes (with the frame's 16 of
//!   header); its head is at the next router `hop_ns` after it left (virtual cut-through). Routers forward
//!   without the processor, with Blue Gene/L's buffers and its bubble rule: back-pressure is real.
//! * A processor does one thing at a time. Each packet that it takes out of the network or puts into it
//!   costs `packet_ns`, with the copying of its bytes; each MPI call `call_ns`, and once more when a
//!   blocking call ends; each entry of a queue that is looked at `search_ns`; each byte that is copied from
//!   MPI memory to the program `copy_ns_per_byte`.
//! * The program's computing costs nothing, so all that is seen is MPI, unless it says that it computes: then what comes
//!   interrupts it, for `interrupt_ns` beside what is done, by which its computing ends later.
#![forbid(unsafe_code)]

/// Packets that the processor injects in one go at most: an answer and something of its own.
pub const INJECT: usize = 2;

/// What things cost, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// A byte on a link.
    pub link_ns_per_byte: f64,
    /// From one router to the next.
    pub hop_ns: u64,
    /// A packet taken or injected by a processor.
    pub packet_ns: u64,
    /// An MPI call begun, or a blocking one ended.
    pub call_ns: u64,
    /// An entry of a queue looked at.
    pub search_ns: u64,
    /// A byte copied from MPI memory to the program.
    pub copy_ns_per_byte: f64,
    /// An interrupt of a program that computes, taken and left.
    pub interrupt_ns: u64,
    /// How many percent of a processor interrupts take at most while a program computes; 0: there are none.
    pub interrupt_percent: u64,
}

impl Costs {
    /// Blue Gene/L: links of 175 MB/s, 100 ns a hop, and software costs which add up to its half round trip
    /// of 3.3 us for a message without bytes to a neighbour (two calls and two packets; the processor
    /// copies 1.4 GB/s and follows a link of a list in 40 ns, a miss of its first cache). An interrupt of its processor
    /// at 700 MHz: 350 cycles, for the registers and the misses.
    pub const BLUE_GENE: Costs = Costs {
        link_ns_per_byte: 1e3 / 175.0,
        hop_ns: 100,
        packet_ns: 800,
        call_ns: 700,
        search_ns: 40,
        copy_ns_per_byte: 0.7,
        interrupt_ns: 500,
        interrupt_percent: 100,
    };

    /// Blue Gene/L's links, and processors that take next to no time: what is seen is the wires.
    pub const WIRES: Costs = Costs {
        packet_ns: 1,
        call_ns: 1,
        search_ns: 0,
        copy_ns_per_byte: 0.0,
        interrupt_ns: 1,
        ..Costs::BLUE_GENE
    };

    /// Nanoseconds for which a link carries so many bytes, at least one.
    pub fn carries(&self, bytes: usize) -> u64 {
        ((bytes as f64 * self.link_ns_per_byte) as u64).max(1)
    }
}
