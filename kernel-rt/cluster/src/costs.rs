//! The cost model: durations of operations in virtual time.
//!
//! # The cost model
//! * A link carries one packet at a time, `link_ns_per_byte` for each of its bytes (with the frame's 16 of header); its
//!   head reaches the next router `hop_ns` after its departure (virtual cut-through). Routers forward without the
//!   processor, with Blue Gene/L's buffers and its bubble rule: back-pressure is real.
//! * A processor does one thing at a time. Each packet that it receives from the network or injects costs `packet_ns`,
//!   including the copy of its bytes; each MPI call `call_ns`, and once more when a blocking call ends; each queue
//!   entry that is checked `search_ns`; each byte that is copied from MPI memory to the program `copy_ns_per_byte`.
//! * The program's computation costs nothing, so that only MPI is measured, unless the program declares it: received
//!   packets then interrupt it, for `interrupt_ns` in addition to their handling, and delay its end. With
//!   `compute_percent` a C program's computation takes this share of the CPU time that it uses on this machine between
//!   its calls. With `compute_ns_per_block` it takes this time for each basic block that it executes, if the compiler
//!   reports them (`-fsanitize-coverage=trace-pc`): the same in each run.
//!
//! [`CostChange`] sets one of these from the command line.
#![forbid(unsafe_code)]

use std::fmt;

/// Maximum number of packets that the processor injects in one step: an acknowledgement and one of its own.
pub const INJECT: usize = 2;

/// Costs of operations, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperationCosts {
    /// Transmission of a byte on a link.
    pub link_ns_per_byte: f64,
    /// Latency from one router to the next.
    pub hop_ns: u64,
    /// Reception or injection of a packet by a processor.
    pub packet_ns: u64,
    /// Start of an MPI call, or end of a blocking one.
    pub call_ns: u64,
    /// Check of a queue entry.
    pub search_ns: u64,
    /// Copy of a byte from MPI memory to the program.
    pub copy_ns_per_byte: f64,
    /// Entry and exit of an interrupt of a computing program.
    pub interrupt_ns: u64,
    /// Maximum CPU share of interrupts while a program computes, in percent; 0 disables them.
    pub interrupt_percent: u64,
    /// Percentage of this machine's CPU time that a program's own computation takes in virtual time; 0: none. With
    /// other values times differ from run to run.
    pub compute_percent: u64,
    /// Time of a basic block that a program executes and its compiler reports; 0: none.
    pub compute_ns_per_block: f64,
}

/// Maximum value of a parameter: a second.
const MAX_COST: f64 = 1e9;

/// A new value of one parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostChange {
    name: &'static str,
    value: f64,
}

impl CostChange {
    /// The parameters, except `interrupt_percent`, an option of every board.
    pub const NAMES: [&str; 9] = [
        "link_ns_per_byte",
        "hop_ns",
        "packet_ns",
        "call_ns",
        "search_ns",
        "copy_ns_per_byte",
        "interrupt_ns",
        "compute_percent",
        "compute_ns_per_block",
    ];

    /// Parses `NAME=VALUE`.
    ///
    /// # Errors
    /// With the reason: a name not in [`CostChange::NAMES`], or a value that is not a number from 0 to 10^9, or not an
    /// integer where nanoseconds or percent are counted.
    pub fn parse(text: &str) -> Result<CostChange, String> {
        let names = CostChange::NAMES.join(", ");
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("a cost is NAME=VALUE; the names are {names}"))?;
        let name = { CostChange::NAMES.into_iter() }
            .find(|known| *known == name)
            .ok_or_else(|| format!("there is no cost {name}; the names are {names}"))?;
        let value: f64 = { value.parse().ok() }
            .filter(|value| (0.0..=MAX_COST).contains(value))
            .ok_or("a cost is a number from 0 to 1000000000")?;
        if !name.contains("_per_") && value.fract() != 0.0 {
            return Err(format!("{name} is a whole number"));
        }
        Ok(CostChange { name, value })
    }
}

impl fmt::Display for CostChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl OperationCosts {
    /// Blue Gene/L: links of 175 MB/s, 100 ns per hop, and software costs with the sum of its half round trip of 3.3 us
    /// for an empty message to a neighbour (two calls and two packets; the processor copies 1.4 GB/s and follows a link
    /// of a list in 40 ns, a miss of its first cache). An interrupt of its processor at 700 MHz: 350 cycles, for the
    /// registers and the misses.
    pub const BLUE_GENE: OperationCosts = OperationCosts {
        link_ns_per_byte: 1e3 / 175.0,
        hop_ns: 100,
        packet_ns: 800,
        call_ns: 700,
        search_ns: 40,
        copy_ns_per_byte: 0.7,
        interrupt_ns: 500,
        interrupt_percent: 100,
        compute_percent: 0,
        compute_ns_per_block: 0.0,
    };

    /// Blue Gene/L's links, and processors with negligible costs: measures the wires only.
    pub const WIRES: OperationCosts = OperationCosts {
        packet_ns: 1,
        call_ns: 1,
        search_ns: 0,
        copy_ns_per_byte: 0.0,
        interrupt_ns: 1,
        ..OperationCosts::BLUE_GENE
    };

    /// Applies these changes; the last of those with one name is used.
    pub fn with(mut self, changes: impl IntoIterator<Item = CostChange>) -> OperationCosts {
        for CostChange { name, value } in changes {
            let whole = value as u64;
            match name {
                "link_ns_per_byte" => self.link_ns_per_byte = value,
                "hop_ns" => self.hop_ns = whole,
                "packet_ns" => self.packet_ns = whole,
                "call_ns" => self.call_ns = whole,
                "search_ns" => self.search_ns = whole,
                "copy_ns_per_byte" => self.copy_ns_per_byte = value,
                "interrupt_ns" => self.interrupt_ns = whole,
                "compute_percent" => self.compute_percent = whole,
                _ => self.compute_ns_per_block = value,
            }
        }
        self
    }

    /// Returns the transmission time of this number of bytes on a link in nanoseconds, at least one.
    pub fn carries(&self, bytes: usize) -> u64 {
        times(bytes as u64, self.link_ns_per_byte).max(1)
    }

    /// Returns the time in nanoseconds to copy this number of bytes from MPI memory.
    pub fn copies(&self, bytes: u64) -> u64 {
        times(bytes, self.copy_ns_per_byte)
    }
}

impl OperationCosts {
    /// Returns the time in nanoseconds of this number of basic blocks of a program.
    pub fn blocks(&self, blocks: u64) -> u64 {
        times(blocks, self.compute_ns_per_block)
    }

    /// Returns whether one of these changes gives basic blocks a cost.
    pub fn counts_blocks(changes: &[CostChange]) -> bool {
        let costs = OperationCosts::BLUE_GENE.with(changes.iter().copied());
        costs.compute_ns_per_block > 0.0
    }
}

/// Returns the product rounded to the nearest `f64`, and then down to an integer. Uses integer arithmetic, so that a
/// program's rounding mode does not change the costs, and no exceptions are raised in its floating-point environment.
fn times(count: u64, factor: f64) -> u64 {
    const BITS: u32 = f64::MANTISSA_DIGITS;
    let bits = factor.to_bits();
    let exponent = (bits >> (BITS - 1)) as u32;
    // Zero, next to zero, and negative; and values beyond any machine.
    if count == 0 || exponent == 0 || factor < 0.0 {
        return 0;
    }
    if exponent > 1075 {
        return u64::MAX;
    }
    let mantissa = bits & ((1 << (BITS - 1)) - 1) | 1 << (BITS - 1);
    let mut product = u128::from(count) * u128::from(mantissa);
    // The factor is the mantissa divided by two to this power.
    let shift = 1075 - exponent;
    let excess = (128 - product.leading_zeros()).saturating_sub(BITS);
    if excess > 0 {
        let half = 1_u128 << (excess - 1);
        let rest = product & (2 * half - 1);
        product -= rest;
        if rest > half || rest == half && product & (2 * half) != 0 {
            product += 2 * half;
        }
    }
    let whole = product.checked_shr(shift).unwrap_or(0);
    u64::try_from(whole).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_is_changed_by_its_name() {
        let change = |text: &str| CostChange::parse(text).map(|change| OperationCosts::BLUE_GENE.with([change]));
        for (at, name) in CostChange::NAMES.into_iter().enumerate() {
            let text = format!("{name}={}", at + 7);
            assert_eq!(CostChange::parse(&text).unwrap().to_string(), text);
            assert_ne!(change(&text), Ok(OperationCosts::BLUE_GENE), "{name}");
        }
        let changed = change("copy_ns_per_byte=0.25").unwrap();
        assert_eq!(changed.copy_ns_per_byte, 0.25);
        for wrong in [
            "hop_ns",
            "hop=1",
            "hop_ns=-1",
            "hop_ns=1.5",
            "hop_ns=1e10",
            "hop_ns=x",
            "=",
        ] {
            assert!(change(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn products_by_integers_are_those_of_the_processor() {
        for factor in [1e3 / 175.0, 0.7, 5.7, 0.1, 1.0, 3.0, 1e-9, 123_456.789, 0.0] {
            for count in (0..5_000).chain((0..40).map(|bit| (1 << bit) + bit)) {
                let expected = (count as f64 * factor) as u64;
                assert_eq!(times(count, factor), expected, "{count} {factor}");
            }
        }
    }
}
