//! Runs programs in the style of the rsmpi examples, as nodes run them, on clusters with little memory.
#![forbid(unsafe_code)]
// Each program file starts with this attribute.
#![allow(unused_attributes)]

extern crate self as kernel_rt;

pub use std::println;

use std::collections::HashSet;

use midplane_lab::{Cluster, as_fast_program, as_program};

/// Replaces the kernel's macro: the program is called by its module name.
macro_rules! program {
    ($main:path) => {
        pub fn run() {
            $main()
        }
    };
}
pub(crate) use program;

/// Runs the program on clusters of several shapes, with MPI memory from one record to plenty.
fn everywhere(program: fn()) {
    for (seed, (shape, memory)) in [
        ([1, 1, 1], 256),
        ([2, 1, 1], 65536),
        ([2, 2, 1], 32),
        ([5, 1, 1], 4096),
        ([3, 2, 1], 32),
    ]
    .into_iter()
    .enumerate()
    {
        let nodes = shape.iter().map(|extent| usize::from(*extent)).product();
        let cluster = Cluster::new(shape).seed(seed as u64).mpi_memory(memory);
        let general = cluster.run_and_report(|node| {
            as_program(node, program);
            0
        });
        let fast = cluster.run_and_report(|node| {
            as_fast_program(node, program);
            0
        });
        for (path, (job, reports)) in [("general", general), ("fast", fast)] {
            let place = format!("{shape:?}, {memory} bytes, {path} path");
            assert_eq!(job, Ok(vec![0; nodes]), "{place}");
            for report in reports {
                let left = (report.live_requests, report.posted, report.unexpected);
                assert_eq!(left, (0, 0, 0), "{place}");
            }
        }
    }
}

macro_rules! programs {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(#[path = $path] mod $name;)*
        mod on_clusters {
            $(#[test] fn $name() { super::everywhere(super::$name::run) })*
        }
    };
}

programs! {
    all_gather: "../programs/rsmpi/all_gather.rs",
    all_to_all: "../programs/rsmpi/all_to_all.rs",
    attributes: "../programs/rsmpi/attributes.rs",
    barrier: "../programs/rsmpi/barrier.rs",
    broadcast: "../programs/rsmpi/broadcast.rs",
    buffered: "../programs/rsmpi/buffered.rs",
    cartesian: "../programs/rsmpi/cartesian.rs",
    datatypes: "../programs/rsmpi/datatypes.rs",
    derived: "../programs/rsmpi/derived.rs",
    duplicate: "../programs/rsmpi/duplicate.rs",
    dyn_communicator: "../programs/rsmpi/dyn_communicator.rs",
    environment: "../programs/rsmpi/environment.rs",
    errors: "../programs/rsmpi/errors.rs",
    gather: "../programs/rsmpi/gather.rs",
    gather_varcount: "../programs/rsmpi/gather_varcount.rs",
    generalized: "../programs/rsmpi/generalized.rs",
    group: "../programs/rsmpi/group.rs",
    immediate: "../programs/rsmpi/immediate.rs",
    immediate_collectives: "../programs/rsmpi/immediate_collectives.rs",
    immediate_intercommunicator: "../programs/rsmpi/immediate_intercommunicator.rs",
    immediate_multiple: "../programs/rsmpi/immediate_multiple.rs",
    in_place: "../programs/rsmpi/in_place.rs",
    info: "../programs/rsmpi/info.rs",
    intercommunicator: "../programs/rsmpi/intercommunicator.rs",
    null_process: "../programs/rsmpi/null_process.rs",
    ready_send: "../programs/rsmpi/ready_send.rs",
    reduce: "../programs/rsmpi/reduce.rs",
    scan: "../programs/rsmpi/scan.rs",
    scatter: "../programs/rsmpi/scatter.rs",
    scopes: "../programs/rsmpi/scopes.rs",
    send_receive: "../programs/rsmpi/send_receive.rs",
    simple: "../programs/rsmpi/simple.rs",
    split: "../programs/rsmpi/split.rs",
    struct_vectors: "../programs/rsmpi/struct_vectors.rs",
    structured: "../programs/rsmpi/structured.rs",
    time: "../programs/rsmpi/time.rs",
    vector: "../programs/rsmpi/vector.rs",
    window: "../programs/rsmpi/window.rs",
}

/// Returns the names that macros define by their rows. A row starts with its names: one before `[generics](arguments)`
/// or `of`, or several, separated by commas or arrows, before MPI's name.
fn names_of_rows(sources: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut text = sources;
    while let Some((line, after)) = text.split_once('\n') {
        let (mut rest, mut names) = (text.trim_start_matches(' '), Vec::new());
        text = after;
        if !line.starts_with("    ") {
            continue;
        }
        loop {
            let is_end = |c: char| !c.is_alphanumeric() && c != '_';
            let (name, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
            if name.is_empty() {
                break;
            }
            names.push(name);
            rest = behind;
            let separator = { [" => ", ","].iter() }.find_map(|word| behind.strip_prefix(word));
            match separator {
                Some(next) => rest = next.trim_start(),
                None => break,
            }
        }
        let is_row = match names[..] {
            [_] => {
                let has_arguments = line.contains("](") || line.ends_with(']');
                rest.starts_with(" of ") || rest.starts_with('[') && has_arguments
            }
            // Arguments of a call are on separate lines, or follow its name.
            [one, two, ..] => {
                let begins = |between: &str| line.contains(&[one, two].join(between));
                rest.starts_with("\"MPI_") && (begins(", ") || begins(" => "))
            }
            [] => false,
        };
        if is_row {
            found.extend(names);
        }
    }
    found
}

#[test]
fn rows_name_what_they_begin_with() {
    let rows = "macro! {\n    send, send_with_tag,\n        try_send_with_tag, \"MPI_Send\";\n    \
        gather => gather_into, immediate_gather_into, \"MPI_Gather\";\n    \
        pack[B: Buffer](inbuf: &B) -> Vec<u8>, \"MPI_Pack\";\n    Borrowed of Owned;\n}\n";
    let mut names: Vec<&str> = names_of_rows(rows).into_iter().collect();
    names.sort_unstable();
    let of_send = ["send", "send_with_tag", "try_send_with_tag"];
    let others = ["Borrowed", "gather", "gather_into", "immediate_gather_into", "pack"];
    assert_eq!(names, [&others[..], &of_send].concat());
    let calls = "    call(comm, tag, \"MPI_Send\");\n    call(\n        comm,\n        tag,\n        \"MPI_Send\",\n    );\n    \
        let one = parts[0];\n    Some(tag) => comm, // or \"MPI_Send\"\n";
    assert_eq!(names_of_rows(calls), HashSet::new());
}

/// Checks that every name of the table in docs/rust.md exists, and that the names listed as missing do not.
#[test]
fn the_table_of_names_is_true() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let text = std::fs::read_to_string(format!("{root}/docs/rust.md")).expect("the page");
    let mut sources = String::new();
    let mut dirs = vec![format!("{root}/mpi-adi/rust/src")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path.display().to_string())
            } else {
                sources += &std::fs::read_to_string(path).expect("a source")
            }
        }
    }
    let of_rows = names_of_rows(&sources);
    let defines = |name: &str| {
        let kinds = ["fn", "struct", "trait", "enum", "type"];
        let defined = kinds.iter().any(|kind| {
            let line = format!("{kind} {name}");
            let ends = |end: &str| !end.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            sources.split(&line).skip(1).any(ends)
        });
        defined || of_rows.contains(name)
    };
    let (there, not) = text.split_once("## What there is not").expect("two tables");
    let names = |row: &str| {
        let first = row.split('|').nth(1).unwrap_or_default().to_owned();
        let names = first.split('`').skip(1).step_by(2).map(str::to_owned);
        names.collect::<Vec<_>>()
    };
    // In the second table our name follows the MPI name.
    let (_, more) = text.split_once("## Calls that rsmpi does not have").expect("a table");
    let more = more.split("\n## ").next().unwrap_or_default();
    let mut found = 0;
    for row in more.lines().filter(|row| row.starts_with("| `MPI_")) {
        let here = row.split('|').nth(2).unwrap_or_default();
        for name in here.split('`').skip(1).step_by(2) {
            assert!(defines(name), "{name} is not there");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
    let mut count = 0;
    for row in there.lines().filter(|row| row.contains("| same |")) {
        for name in names(row) {
            assert!(defines(&name), "{name} is not there");
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
    for row in not.lines().filter(|row| row.starts_with("| `")) {
        for name in names(row).iter().filter(|name| !name.contains(':')) {
            assert!(!defines(name), "{name} is there");
        }
    }
}
