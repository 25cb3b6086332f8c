//! Instruction counts of messages and collectives on nodes, in QEMU.

use super::boot;
use crate::host::error::CliError;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::show::console::print_line;

/// Machines, each in one instance.
const MACHINES: [&str; 2] = ["2x1x1", "2x2x2"];
/// Counted operations: the name in `tests/programs/costs.c`, and a description.
const COUNTED: [(&str, &str); 6] = [
    ("half", "half a round trip of 8 bytes"),
    ("stream", "a message of a stream of 8 bytes"),
    ("long", "half a round trip of 64 KiB"),
    ("barrier", "a barrier"),
    ("allreduce", "an allreduce of 8 bytes"),
    ("self", "self-send of 8 bytes, MPI_Irecv to MPI_Wait"),
];

/// Counts and prints the instructions; prints a note if QEMU is missing.
pub fn run() -> Result<(), CliError> {
    if !setup::has_qemu() {
        return print_line(format_args!("no instruction counts on nodes: {}", setup::no_qemu()));
    }
    let signals = Signals::catch()?;
    print_line("instructions on nodes (riscv64, in QEMU), all nodes of a job together")?;
    let heading: Vec<String> = MACHINES.map(|torus| format!("{torus:>8}")).into();
    print_line(format_args!("{:<44}{}", "", heading.concat()))?;
    let counts = MACHINES.map(|torus| count(torus, &signals));
    let [two, eight] = counts;
    let (two, eight) = (two?, eight?);
    for (name, words) in COUNTED {
        let of = |said: &str| {
            read(said, name).ok_or_else(|| CliError::failure(format!("costs.c did not print `{name}`:\n{said}")))
        };
        print_line(format_args!("{words:<44}{:>8}{:>8}", of(&two)?, of(&eight)?))?;
    }
    Ok(())
}

/// Returns the output of costs.c on nodes of this torus.
fn count(torus: &str, signals: &Signals) -> Result<String, CliError> {
    let options = [
        "--torus",
        torus,
        "--instances",
        "1",
        "--timeout",
        "300",
        "--count-instructions",
    ];
    boot::run(&options, "costs.c", &[], signals)
}

/// Parses the number after `costs: NAME`.
fn read(said: &str, name: &str) -> Option<u64> {
    boot::number(said, "costs", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_says_is_read() {
        let said = "[0] costs: half 6000\n[0] costs: self 900\n[0] costs: 2 processes, 1 checks, 0 failed\n";
        assert_eq!(read(said, "half"), Some(6000));
        assert_eq!(read(said, "self"), Some(900));
        assert_eq!(read(said, "long"), None);
    }
}
