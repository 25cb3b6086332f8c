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

#[track_caller]
fn at_most(counted: &impl Fn(&str) -> u64, limits: &[(&str, u64)]) {
    for &(name, limit) in limits {
        let count = counted(name);
        assert!(
            count > limit / 2,
            "{name}: {count}: the limit of {limit} is far too high"
        );
        assert!(count <= limit, "{name}: {count}, more than {limit}");
    }
}

#[test]
fn messages_between_two_nodes_take_no_more_than_they_did() {
    let limits = [
        ("half", 6_800),
        ("stream", 5_800),
        ("long", 390_000),
        ("self", 2_750),
    ];
    at_most(&counted("2x1x1"), &limits);
}

#[test]
fn collectives_of_eight_nodes_take_no_more_than_they_did() {
    at_most(
        &counted("2x2x2"),
        &[("barrier", 65_000), ("allreduce", 160_000)],
    );
}
