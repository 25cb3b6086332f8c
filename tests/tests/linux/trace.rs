//! Analyses of the MPI calls of a job: the trace for Perfetto and the HTML page.

use midplane_harness::{self as harness, TempDirectory, total};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;

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
