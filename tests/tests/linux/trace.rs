//! Analyses of the MPI calls of a job: the trace for Perfetto and the HTML page.

use midplane_harness::{self as harness, TempDirectory, midplane, program, total};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::process::Command;

/// Messages of killer from each of its senders.
const MESSAGES: u64 = 6;

/// Files of a job with 4 ranks.
struct AnalysedJob {
    /// JSON report.
    report: Value,
    /// Trace for Perfetto.
    trace: Value,
    /// HTML page.
    page: String,
}

fn run_killer(on: &str) -> AnalysedJob {
    let directory = TempDirectory::new(&format!("analysis-{on}"));
    let (trace, page) = (directory.path("trace.json"), directory.path("page.html"));
    let options = [
        "--on", on, "--nodes", "4", "--quiet", "--trace", &trace, "--html", &page,
    ];
    let (ended, report) = harness::run_with_report(&options, "killer.c", &[&MESSAGES.to_string(), "500"]);
    ended.expect(0);
    let read = |path: &str| fs::read_to_string(path).expect("a file");
    AnalysedJob {
        report,
        trace: serde_json::from_str(&read(&trace)).expect("JSON"),
        page: read(&page),
    }
}

/// Returns the data of the page's diagrams.
fn page_data(page: &str) -> Value {
    let rest = page.split_once("id=\"data\">").expect("the data").1;
    serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
}

#[test]
fn trace_and_page_contain_each_message() {
    for on in ["linux", "cluster"] {
        let job = run_killer(on);
        let messages = total(&job.report, "messages");
        assert_eq!(messages, 3 * MESSAGES, "{on}");
        check_arrows(&job.trace, messages);
        let data = page_data(&job.page);
        let cells = data["matrix"]["cells"].as_array().expect("cells").iter();
        assert_eq!(
            cells
                .clone()
                .map(|cell| cell["messages"].as_u64().unwrap_or(0))
                .sum::<u64>(),
            messages
        );
        assert_eq!(
            cells.map(|cell| cell["bytes"].as_u64().unwrap_or(0)).sum::<u64>(),
            500 * messages
        );
        assert!(
            job.page.contains("<h1>killer.c 6 500</h1>") && job.page.contains("called from"),
            "{on}"
        );
        let nodes = data["torus"]["nodes"].as_array().expect("nodes").iter();
        let packets: u64 = nodes.map(|node| node["sent"].as_u64().unwrap_or(0)).sum();
        assert_eq!(packets, total(&job.report, "packets_sent"), "{on}");
    }
}

/// The ring of `ring.rs` on four ranks: 10 laps of 4 messages, and 2 messages of each rank.
const RING_MESSAGES: u64 = 10 * 4 + 2 * 4;

/// Trace and page of a Rust program contain each message, with the lines of the program.
#[test]
fn rust_programs_have_a_trace_and_a_page() {
    for on in ["linux", "cluster"] {
        let directory = TempDirectory::new(&format!("analysis-rust-{on}"));
        let (trace, page) = (directory.path("trace.json"), directory.path("page.html"));
        let options = [
            "--on", on, "--nodes", "4", "--quiet", "--trace", &trace, "--html", &page,
        ];
        let (ended, report) = harness::run_with_report(&options, "ring.rs", &[]);
        ended.expect(0);
        let read = |path: &str| fs::read_to_string(path).expect("a file");
        let text = read(&trace);
        check_arrows(&serde_json::from_str(&text).expect("JSON"), RING_MESSAGES);
        assert_eq!(total(&report, "messages"), RING_MESSAGES, "{on}");
        for wanted in ["MPI_Sendrecv", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "ring.rs:"] {
            assert!(text.contains(wanted), "{on}: no {wanted}");
        }
        let data = page_data(&read(&page));
        let cells = data["matrix"]["cells"].as_array().expect("cells").iter();
        let messages: u64 = cells.map(|cell| cell["messages"].as_u64().unwrap_or(0)).sum();
        assert_eq!(messages, RING_MESSAGES, "{on}");
    }
}

/// Query of the last value of each counter: its name, the sum and the maximum of the ranks; and the numbers of arrows,
/// calls and ranks.
const SUMS: &str = "select name, sum(value), max(value) from (
      select track.name as name, cast(value as int) as value,
        row_number() over (partition by track.id order by ts desc) as number
      from counter join process_counter_track track on track.id = counter.track_id)
    where number = 1 group by name
    union all select 'arrows', count(*), 0 from flow
    union all select 'calls', count(*), 0 from slice
    union all select 'ranks', count(*), 0 from process where name like 'rank %'
    union all select 'errors', sum(value), 0 from stats where severity = 'error'";

/// Returns the results of a query by Perfetto's trace processor, by name. `None`: it is not installed.
fn query(trace: &str, query: &str) -> Option<HashMap<String, [u64; 2]>> {
    let output = Command::new("trace_processor_shell")
        .args(["-q", query, trace])
        .output();
    let Ok(output) = output else {
        eprintln!("left out: trace_processor_shell of Perfetto is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().filter_map(|line| {
        let [name, sum, maximum] = line.split(',').collect::<Vec<_>>()[..] else {
            return None;
        };
        // Perfetto adds the name of the argument.
        let name = name.trim_matches('"').trim_end_matches(" value");
        Some((name.to_string(), [sum.parse().ok()?, maximum.parse().ok()?]))
    });
    Some(rows.collect())
}

/// The sums of Perfetto's trace processor are those of the report.
#[test]
fn perfetto_computes_the_sums_of_the_report() {
    let directory = TempDirectory::new("perfetto");
    let (trace, sql) = (directory.path("trace.json"), directory.path("sums.sql"));
    fs::write(&sql, SUMS).expect("write the query");
    for on in ["linux", "cluster"] {
        let options = [
            "--on",
            on,
            "--nodes",
            "4",
            "--quiet",
            "--mpi-memory",
            "256",
            "--trace",
            &trace,
        ];
        let (ended, report) = harness::run_with_report(&options, "killer.c", &[&MESSAGES.to_string(), "500"]);
        ended.expect(0);
        let Some(sums) = query(&trace, &sql) else {
            return;
        };
        assert_eq!(sums["arrows"][0], total(&report, "messages"), "{on}");
        assert_eq!((sums["ranks"][0], sums["errors"][0]), (4, 0), "{on}");
        assert!(sums["calls"][0] > 2 * sums["arrows"][0], "{on}");
        let counters = report["counters"]["ranks"].as_array().expect("counters");
        let mut compared = 0;
        for counter in counters.iter().filter(|counter| counter["unit"] != "ticks") {
            let name = counter["name"].as_str().expect("a name");
            // A process measures its heap at its end.
            if name == "heap_peak_bytes" {
                continue;
            }
            let Some([sum, maximum]) = sums.get(name).copied() else {
                continue;
            };
            let combined = if counter["total"] == "sum" { sum } else { maximum };
            assert_eq!(combined, total(&report, name), "{on}: {name}");
            compared += 1;
        }
        assert!(compared >= 10, "{on}: {sums:?}");
        assert!(sums["ncts"][0] > 0, "{on}: the MPI memory is too large for this test");
    }
}

/// Checks that each arrow begins in a call and ends in one, not earlier.
fn check_arrows(trace: &Value, messages: u64) {
    let events = trace["traceEvents"].as_array().expect("events");
    let of_phase = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    let begins: HashMap<u64, &Value> = of_phase("s")
        .map(|event| (event["id"].as_u64().expect("an id"), event))
        .collect();
    assert_eq!(begins.len() as u64, messages);
    assert_eq!(of_phase("f").count() as u64, messages);
    let time = |event: &Value, name: &str| event[name].as_f64().expect("a time");
    for end in of_phase("f") {
        let begin = begins[&end["id"].as_u64().expect("an id")];
        assert!(time(begin, "ts") <= time(end, "ts"), "{begin} {end}");
        for event in [begin, end] {
            let has_call = of_phase("X").any(|call| {
                let begin = time(call, "ts");
                call["pid"] == event["pid"] && (begin..=begin + time(call, "dur")).contains(&time(event, "ts"))
            });
            assert!(has_call, "{event}");
        }
    }
}

/// The compiler wrapper links the recorder. The program runs without it, too.
#[test]
fn executables_of_the_compiler_wrapper_are_recorded() {
    let directory = TempDirectory::new("recorded");
    let (plain, recorded) = (directory.path("plain"), directory.path("recorded"));
    let (trace, source) = (directory.path("trace.json"), program("killer.c"));
    for on in ["linux", "cluster"] {
        for (options, file) in [(&[][..], &plain), (&["--record"], &recorded)] {
            let words = [&["cc", "--on", on], options, &["-O2", &source, "-o", file]].concat();
            midplane(&words).expect(0);
        }
        let run = |file, options: &[&str]| {
            let words = [
                &["run", "--on", on, "-n", "4", "--quiet"],
                options,
                &[file, "--", "6", "500"],
            ]
            .concat();
            midplane(&words)
        };
        run(&recorded, &[]).expect(0);
        run(&recorded, &["--check"]).expect(0).says(&["no misuse"]);
        run(&recorded, &["--trace", &trace]).expect(0);
        let text = fs::read_to_string(&trace).expect("the trace");
        check_arrows(&serde_json::from_str(&text).expect("JSON"), 3 * MESSAGES);
        run(&plain, &["--trace", &trace])
            .expect(2)
            .says(&["contains no recorder", "cc --record"]);
    }
    midplane(&["run", "--on", "linux", &plain])
        .expect(2)
        .says(&["another platform", "cc --on linux"]);
}

#[test]
fn a_hang_has_a_page_with_its_message() {
    let directory = TempDirectory::new("analysis-hang");
    let page = directory.path("page.html");
    let options = ["--on", "linux", "--nodes", "4", "--html", &page];
    harness::run(&options, "hang.c", &["tags"]).expect(1);
    let page = fs::read_to_string(&page).expect("the page");
    for text in [
        "<strong>hang</strong>",
        "cycle: rank 0 waits for rank 1",
        "2 messages were not received",
    ] {
        assert!(page.contains(text), "no {text:?} in {page}");
    }
}
