//! Runs self-checking programs under valgrind and with the compiler's sanitizers: neither the program nor the runtime
//! has memory errors or undefined behaviour. The runtime is not instrumented by sanitizers, but its input is checked.

use crate::run;

/// Some programs of each kind: messages, packed and one-sided data, and a typical user program.
const SOME: [&str; 4] = ["conf_p2p", "conf_pack", "conf_rma_types", "app_halo"];
const UNDER_VALGRIND: [&str; 1] = ["--under=valgrind -q --error-exitcode=9"];
/// An allocation beyond the maximum size fails, like without sanitizers.
const SANITIZED: [&str; 2] = [
    "--cflags=-fsanitize=address,undefined -fno-sanitize-recover",
    "--env=ASAN_OPTIONS=allocator_may_return_null=1",
];

/// Runs a self-checking program with these options; an error ends a rank with a special status.
fn is_clean(name: &str, options: &[&str]) {
    let options = [&["-n", "3", "--mpi-memory", "4K"], options].concat();
    let ended = run(&options, &format!("{name}.c"), &[]).expect(0);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert!(last.ends_with(" checks, 0 failed"), "{name}: {ended}");
}

#[test]
#[cfg_attr(not(valgrind), ignore = "needs valgrind")]
fn some_programs_are_clean_under_valgrind() {
    for name in SOME {
        is_clean(name, &UNDER_VALGRIND);
    }
}

#[test]
fn some_programs_are_clean_with_sanitizers() {
    for name in SOME {
        is_clean(name, &SANITIZED);
    }
}

macro_rules! all {
    ($($test:ident: $program:literal $(, $needs:ident)?;)*) => {
        const ALL: &[&str] = &[$($program),*];
    };
}

midplane_harness::self_checking_programs!(all);

/// Excludes the program that exhausts a process's memory: its limit is too small for the checker.
fn all() -> impl Iterator<Item = &'static str> {
    ALL.iter().copied().filter(|name| *name != "conf_exhaust")
}

#[test]
#[cfg_attr(not(valgrind), ignore = "needs valgrind")]
#[cfg_attr(valgrind, ignore = "takes half an hour")]
fn all_programs_are_clean_under_valgrind() {
    for name in all() {
        is_clean(name, &UNDER_VALGRIND);
    }
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn all_programs_are_clean_with_sanitizers() {
    for name in all() {
        is_clean(name, &SANITIZED);
    }
}
