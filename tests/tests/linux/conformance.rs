//! Programs that check themselves.

use crate::run;

/// Runs a self-checking program with ample MPI memory, with little, and with one record.
fn conforms(name: &str, options: &[&str]) {
    for (torus, processes, memory) in [("2x2x2", 8, "1M"), ("2x2x2", 8, "4K"), ("3x2x1", 6, "32")] {
        let options = [&["--torus", torus, "--mpi-memory", memory], options].concat();
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
    ($($test:ident: $program:literal $(, $option:literal)*;)*) => {
        $(
            #[test]
            fn $test() {
                conforms($program, &[$($option),*]);
            }
        )*
    };
}

conformance! {
    environment: "conf_env";
    blocking_point_to_point: "conf_p2p";
    requests: "conf_requests";
    persistent_and_cancelled_requests: "conf_persistent";
    buffered_sends: "conf_buffered";
    probes: "conf_probe";
    matched_probes: "conf_mprobe";
    tools: "conf_tools";
    attributes_of_datatypes: "conf_typeattr";
    errors: "conf_errors";
    communicators: "conf_comm";
    intercommunicators: "conf_inter";
    collectives_of_intercommunicators: "conf_inter_coll";
    groups: "conf_group";
    cartesian_topologies: "conf_cart";
    graph_topologies: "conf_graph";
    collectives: "conf_coll";
    reductions: "conf_reduce";
    collectives_without_blocking: "conf_nbc";
    duplicating_without_blocking: "conf_idup";
    neighbourhoods: "conf_neighbor";
    generalized_requests: "conf_grequest";
    // Without a limit a process has all of the machine's memory.
    memory_used_up: "conf_exhaust", "--node-memory", "16M";
    names_of_the_standard: "conf_names";
    profiling_interface: "conf_profile";
    functions_that_are_not_supported: "unsupported";
    random_traffic: "soak";
}

#[test]
fn the_least_memory_gives_the_same_output_as_plenty() {
    for (name, arguments) in [
        ("pi.c", &["100000"][..]),
        ("jacobi.c", &["-n", "64", "-i", "40"]),
        ("farm.c", &["60"]),
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
