//! Tests of the page with a small job.

use super::class::CallClass;
use super::{JobFacts, NodeFacts, PageInput, matrix, tables, timeline, write};
use crate::job::JobTrace;
use crate::messages::Messages;
use crate::objects::COMM_WORLD;
use crate::operations::JobOperations;
use crate::script::Script;
use midplane_abi::counters::Counter;
use serde_json::Value;
use std::collections::HashSet;

/// Returns a job in which each rank sends `messages` messages of 100 bytes to the next one. The last call of rank 0 does
/// not return.
fn ring(ranks: usize, messages: usize) -> JobTrace {
    let mut script = Script::new(ranks);
    for number in 0..messages {
        for rank in 0..ranks {
            let peer = |distance: usize| ((rank + distance) % ranks) as i64;
            let tag = number as i64;
            let common = [("comm", COMM_WORLD), ("tag", tag)];
            script.call(rank, "MPI_Send", &[&common[..], &[("dest", peer(1))]].concat());
            let source = peer(ranks - 1);
            let status = [("status.source", source), ("status.tag", tag), ("status.bytes", 100)];
            script.call(
                rank,
                "MPI_Recv",
                &[&common[..], &[("source", source)], &status].concat(),
            );
            script.counters(rank, number as u64);
        }
    }
    if ranks > 0 {
        script.enter_call(0, "MPI_Barrier", &[("comm", COMM_WORLD)]);
    }
    script.decode()
}

fn facts(ranks: usize) -> JobFacts {
    let value = |counter| if counter == Counter::PacketsSent { 7 } else { 0 };
    let node = |x: usize| NodeFacts {
        coordinates: [x as u8, 0, 0],
        counters: Counter::ALL.map(value).into(),
        links: [Some(7), Some(0), None, None, None, None],
        ..NodeFacts::default()
    };
    JobFacts {
        program: "dir/<script>alert('1').c".into(),
        arguments: vec!["</script>".into(), "&\"".into()],
        outcome: "ended".into(),
        message: Some("rank 0: <b>".into()),
        extents: [ranks as u16, 1, 1],
        nodes: (0..ranks).map(node).collect(),
        ..JobFacts::default()
    }
}

fn page(job: &JobTrace) -> String {
    let operations = JobOperations::collect(job);
    let messages = Messages::find(&operations);
    let facts = facts(job.ranks.len());
    let mut text = Vec::new();
    let input = PageInput {
        facts: &facts,
        job,
        operations: &operations,
        messages: &messages,
        locate: &|_, _| Some("f<int> at </script>.c:9".into()),
    };
    write(&mut text, &input).expect("memory can be written to");
    String::from_utf8(text).expect("text")
}

/// Returns the data of the diagrams.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("the data");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "link", "input", "br"];

/// Checks that each element ends, and returns the identifiers.
fn check_elements(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut identifiers = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("the type");
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("the end of a tag");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "before {:.60}", rest);
            continue;
        }
        let name = tag.split(' ').next().expect("a name").to_string();
        if let Some((_, id)) = tag.split_once(" id=\"") {
            identifiers.push(id.split('"').next().expect("an identifier").into());
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        if name == "script" || name == "style" {
            let end = format!("</{name}>");
            rest = rest.split_once(&*end).expect("the end of a script").1;
        } else if !VOID.contains(&&*name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    identifiers
}

#[test]
fn elements_end_and_identifiers_are_unique() {
    for job in [ring(3, 4), ring(timeline::MAX_DRAWN_ROWS + 44, 1), JobTrace::default()] {
        let page = page(&job);
        let identifiers = check_elements(&page);
        let unique: HashSet<&String> = identifiers.iter().collect();
        assert_eq!(unique.len(), identifiers.len(), "{identifiers:?}");
        for link in page.split("href=\"#").skip(1) {
            let target = link.split('"').next().expect("a target");
            assert!(identifiers.iter().any(|id| id == target), "{target}");
        }
    }
}

#[test]
fn the_script_finds_its_elements() {
    let identifiers = check_elements(&page(&ring(3, 4)));
    for part in super::SCRIPT.split("byId(\"").skip(1) {
        let id = part.split('"').next().expect("an identifier");
        assert!(identifiers.iter().any(|known| known == id), "{id}");
    }
    for class in CallClass::ALL {
        assert!(super::STYLE.contains(&format!(".key.{} ", class.key())), "{class:?}");
    }
}

#[test]
fn sums_of_the_page_are_those_of_the_trace() {
    let (ranks, messages) = (3, 4);
    let job = ring(ranks, messages);
    let page = page(&job);
    let data = data(&page);
    let sum = |name: &str| -> u64 {
        let cells = data["matrix"]["cells"].as_array().expect("cells").iter();
        cells.map(|cell| cell[name].as_u64().expect("a number")).sum()
    };
    let total = (ranks * messages) as u64;
    assert_eq!(sum("messages"), total);
    assert_eq!(sum("bytes"), 100 * total);
    assert_eq!(
        data["timeline"]["messages"].as_array().map(Vec::len),
        Some(ranks * messages)
    );
    let rows = data["timeline"]["calls"]["each"].as_array().expect("rows");
    let drawn: usize = rows.iter().map(|row| row.as_array().expect("a row").len() / 8).sum();
    let calls: usize = job.ranks.iter().map(|rank| rank.calls.len()).sum();
    assert_eq!(drawn, calls);
    // Peer, tag, bytes sent and received of the first send and receive.
    let numbers = |call: usize| -> Vec<i64> {
        let row = rows[0].as_array().expect("a row");
        { row[8 * call + 4..8 * call + 8].iter() }
            .map(|number| number.as_i64().expect("a number"))
            .collect()
    };
    assert_eq!([numbers(0), numbers(1)], [[1, 0, 100, 0], [2, 0, 0, 100]]);
    // The barrier of rank 0 does not return.
    assert_eq!(rows[0].as_array().and_then(|row| row[row.len() - 7].as_i64()), Some(-1));
    let table = page.split_once("id=\"function-table\"").expect("the table").1;
    for (function, calls) in [("MPI_Send", 12), ("MPI_Recv", 12), ("MPI_Barrier", 1)] {
        let row = table
            .split_once(&format!("<code>{function}</code>"))
            .expect("the function")
            .1;
        let cell = row.split_once("data-value=\"").expect("a cell").1;
        assert!(cell.starts_with(&format!("{calls}\"")), "{function}: {cell:.20}");
    }
    let packets = data["torus"]["nodes"].as_array().expect("nodes").iter();
    assert_eq!(packets.map(|node| node["sent"].as_u64().unwrap_or(0)).sum::<u64>(), 21);
}

#[test]
fn counters_are_sampled() {
    let data = data(&page(&ring(2, 50)));
    let charts = data["memory"]["charts"].as_array().expect("charts");
    for (total, of_all) in [("maximum", 49), ("sum", 98)] {
        let chart = charts.iter().find(|chart| chart["total"] == total).expect("a chart");
        let last = |line: usize| {
            let steps = chart["lines"][line]["steps"].as_array().expect("steps");
            steps.last().and_then(|step| step[1].as_u64())
        };
        assert_eq!((last(0), last(1)), (Some(of_all), Some(49)), "{total}");
    }
}

#[test]
fn a_large_job_is_aggregated() {
    let ranks = 2 * matrix::MAX_MATRIX_BINS;
    let page = page(&ring(ranks, 2));
    let data = data(&page);
    assert!(page.contains("Each row and column represents 2 successive ranks"));
    let sum = |name: &str| -> u64 {
        let cells = data["matrix"]["cells"].as_array().expect("cells").iter();
        cells.map(|cell| cell[name].as_u64().expect("a number")).sum()
    };
    assert_eq!(sum("messages"), 2 * ranks as u64);
    let rows = data["timeline"]["calls"]["shares"].as_array().expect("rows");
    assert_eq!(rows.len(), timeline::MAX_DRAWN_ROWS);
    assert!(
        rows.iter()
            .all(|row| row.as_array().is_some_and(|row| row.iter().any(|share| *share != 0)))
    );
    assert!(page.contains("The calls are aggregated"));
    assert!(ranks <= tables::MAX_TABLE_RANKS);
    let rows = page.split_once("id=\"rank-table\"").expect("the table").1;
    let rows = rows.split_once("</table>").expect("its end").0;
    assert_eq!(rows.matches("<tr>").count(), ranks + 1);
}

#[test]
fn texts_of_the_program_are_escaped() {
    let page = page(&ring(2, 1));
    assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;).c"));
    assert!(page.contains("&lt;/script&gt; &amp;&quot;"));
    assert!(page.contains("rank 0: &lt;b&gt;"));
    assert!(page.contains("f&lt;int&gt; at &lt;/script&gt;.c:9"));
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(data(&page)["timeline"]["locations"][1], "f<int> at </script>.c:9");
    // The page uses no other file.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("://"));
}
