//! What messages take on nodes, in instructions, which QEMU counts exactly: the same on every host, so that it cannot
//! creep back. The limits leave room for another compiler.

use crate::harness::*;

/// What `costs.c` counts on these nodes, in one instance, by name.
fn counted(torus: &str) -> impl Fn(&str) -> u64 {
    let options = ["--torus", torus, "--instances", "1", "--count-instructions"];
    let ended = run(&options, "costs.c", &[]).expect(0);
    move |name| {
        let rest = ended.stdout.split_once(&format!("costs: {name} "));
        let number = rest.and_then(|(_, rest)| rest.lines().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in {ended}"))
    }
}
