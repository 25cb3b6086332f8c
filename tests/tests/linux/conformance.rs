//! Programs that check themselves.

use crate::run;

/// Runs a self-checking program with little MPI memory, and with one record.
fn conforms(name: &str) {
    for (torus, processes, memory) in [("2x2x2", 8, "4K"), ("3x2x1", 6, "32")] {
        let mut options = vec!["--torus", torus, "--mpi-memory", memory];
        if name == "conf_exhaust" {
            // Without a limit a process has all of the machine's memory.
            options.extend(["--node-memory", "16M"]);
        }
        let ended = run(&options, &format!("{name}.c"), &[]).expect(0);
        let last = ended.stdout.lines().last().unwrap_or_default();
        let begin = format!("[0] {name}: {processes} processes, ");
        assert!(
            last.starts_with(&begin) && last.ends_with(" checks, 0 failed"),
            "{torus}, {memory}: {ended}"
        );
    }
}

macro_rules! conformance {
    ($($test:ident: $program:literal $(, $needs:ident)?;)*) => {
        $(
            #[test]
            fn $test() {
                conforms($program);
            }
        )*
    };
}

midplane_tests::self_checking_programs!(conformance);

/// No program for other implementations, which support what it calls.
#[test]
fn functions_that_are_not_supported() {
    conforms("unsupported");
}

#[test]
fn the_least_memory_gives_the_same_output_as_plenty() {
    for (name, arguments) in [
        ("pi.c", &["100000"][..]),
        ("jacobi.c", &["-n", "64", "-i", "40"]),
        ("farm.c", &["60"]),
        ("leftover.c", &[]),
        ("crossing.c", &["500"]),
    ] {
        let with = |memory| {
            let options = ["-n", "4", "--mpi-memory", memory];
            run(&options, name, arguments).expect(0).stdout
        };
        let plenty = with("1M");
        assert!(plenty.starts_with("[0] "), "{plenty}");
        assert_eq!(plenty, with("32"), "{name}");
    }
}
