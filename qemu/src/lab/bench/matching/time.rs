//! Times of searches and traffic, with the engines measured round robin.

use super::row::{SearchRow, TABLE};
use super::shared::MatchingBench;
use crate::host::error::CliError;
use crate::show::console::print_line;
use midplane_lab::measure::matching::application::APPLICATIONS;
use midplane_lab::measure::matching::{
    CollectiveTraffic, LongQueue, MatchingCost, MeasureEffort, QueueTraffic, SearchOrder, SearchTest,
};

/// Numbers of senders, and the additional ones of `--all`.
const SENDERS: [u32; 4] = [64, 256, 704, 4096];
const MANY_SENDERS: [u32; 4] = [16_384, 65_536, 262_144, 1_048_576];
const PENDING: [u32; 3] = [1, 5, 10];
/// Messages per process with several communicators, as in the papers.
const PENDING_OF_MANY: u32 = 5;
const COMMUNICATORS: [u32; 2] = [10, 50];
const ANY_SOURCE: [f64; 3] = [0.1, 0.5, 1.0];
/// Numbers of processes of the collectives.
const PROCESSES: [u32; 3] = [1024, 2048, 4096];

/// Parameters of a test.
struct TimedSearch {
    name: String,
    senders: u32,
    pending: u32,
    communicators: u32,
    any_source: f64,
}

/// Returns the speedup over a list that papers 000 and 001 report, both for 704 processes.
fn published(search: &SearchTest, engine: &str) -> Option<f64> {
    if (search.senders, search.order) != (704, SearchOrder::Reverse) || search.any_source > 0.0 {
        return None;
    }
    match (search.queue, search.communicators, search.pending, engine) {
        (LongQueue::Posted, 1, 10, "array") => Some(44.0),
        (LongQueue::Posted, 1, 10, "fourd") => Some(32.0),
        (LongQueue::Unexpected, 1, 10, "array") => Some(31.0),
        (LongQueue::Unexpected, 1, 10, "fourd") => Some(27.0),
        // "Up to", of the two.
        (LongQueue::Posted, 10, 5, "array") => Some(175.8),
        (LongQueue::Posted, 50, 5, "array") => Some(556.0),
        _ => None,
    }
}

/// Returns all search tests in execution order.
fn cases(all: bool) -> Vec<SearchTest> {
    let mut senders = SENDERS.to_vec();
    if all {
        senders.extend(MANY_SENDERS);
    }
    let mut cases = Vec::new();
    let orders = [SearchOrder::Reverse, SearchOrder::Forward];
    let plain = |queue, order, senders, pending| SearchTest {
        queue,
        order,
        senders,
        pending,
        communicators: 1,
        any_source: 0.0,
    };
    for queue in [LongQueue::Posted, LongQueue::Unexpected] {
        for order in orders {
            for &senders in &senders {
                cases.extend(PENDING.map(|pending| plain(queue, order, senders, pending)));
            }
        }
    }
    for order in orders {
        for communicators in COMMUNICATORS {
            cases.extend(senders.iter().map(|&senders| SearchTest {
                communicators,
                ..plain(LongQueue::Posted, order, senders, PENDING_OF_MANY)
            }));
        }
    }
    for queue in [LongQueue::Posted, LongQueue::Unexpected] {
        for any_source in ANY_SOURCE {
            cases.extend(senders.iter().map(|&senders| SearchTest {
                any_source,
                ..plain(queue, SearchOrder::Reverse, senders, 10)
            }));
        }
    }
    cases.retain(SearchTest::is_possible);
    cases
}

/// Measures the search tests.
pub fn searches(bench: &MatchingBench) -> Result<Vec<SearchRow>, CliError> {
    print_line(
        "search: a queue is filled (in) and emptied (out), one entry per message; medians in ns\nper entry; x list: \
         time of the list divided by that of the engine; paper: the same in\n000 and 001; ~: measured with a sample \
         of the searches",
    )?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for search in cases(bench.all) {
        let test = TimedSearch {
            name: format!("{} {}", search.queue.name(), search.order.name()),
            senders: search.senders,
            pending: search.pending,
            communicators: search.communicators,
            any_source: search.any_source,
        };
        let paper = |engine: &str| published(&search, engine);
        compare(bench, &test, &search.traffic(), &paper, &mut rows)?;
    }
    Ok(rows)
}

/// Measures collectives and applications.
pub fn traffics(bench: &MatchingBench) -> Result<Vec<SearchRow>, CliError> {
    print_line(
        "traffic: collectives (half of the messages are unexpected, in random order) and queues\nof the length of the \
         papers' applications; out: ns per receive or message;\nx list: time of the list divided by that of the \
         engine; paper: for the collective's\nlatency (002) or queue operations (001)",
    )?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    let test = |name: &str, senders| TimedSearch {
        name: name.into(),
        senders,
        pending: 0,
        communicators: 1,
        any_source: 0.0,
    };
    for collective in CollectiveTraffic::ALL {
        for processes in PROCESSES {
            let paper = |engine: &str| {
                let published = collective.published(processes);
                published.filter(|_| engine == "unified")
            };
            let test = test(collective.name(), processes);
            let traffic = collective.traffic(processes);
            compare(bench, &test, &traffic, &paper, &mut rows)?;
        }
    }
    for application in APPLICATIONS {
        let paper = |engine: &str| application_speedup(application.name, engine);
        let test = test(application.name, application.processes);
        compare(bench, &test, &application.traffic(), &paper, &mut rows)?;
    }
    Ok(rows)
}

/// Returns the published speedup: in 001, of queue operations for Radix ("reaches"; its longest queue has 2^30 numbers)
/// and Nbody ("close to"); in 002, of searches for FDS.
fn application_speedup(name: &str, engine: &str) -> Option<f64> {
    match (name, engine) {
        ("Radix.n30", "array") => Some(8.46),
        ("Radix.n30", "fourd") => Some(4.99),
        ("Nbody.704", "fourd") => Some(2.0),
        ("FDS.512", "unified") => Some(42.0),
        _ => None,
    }
}

/// Runs one test with all engines round robin, so that other load on the host affects all alike.
fn compare(
    bench: &MatchingBench,
    test: &TimedSearch,
    traffic: &QueueTraffic,
    published: &dyn Fn(&str) -> Option<f64>,
    rows: &mut Vec<SearchRow>,
) -> Result<(), CliError> {
    let mut taken = vec![Vec::new(); bench.engines.len()];
    for _ in 0..bench.runs {
        for (engine, taken) in bench.engines.iter().zip(&mut taken) {
            taken.push(engine.measure(traffic, MeasureEffort::default()));
            bench.check_signals()?;
        }
    }
    let medians: Vec<_> = taken.iter().map(|runs| MatchingCost::medians(runs)).collect();
    let reference = medians[0].ns();
    for (engine, measured) in bench.engines.iter().zip(medians) {
        let row = SearchRow {
            test: test.name.clone(),
            senders: test.senders,
            pending: test.pending,
            communicators: test.communicators,
            any_source_percent: (100.0 * test.any_source).round() as u32,
            entries: traffic.fill.len().max(traffic.drain.len()),
            engine: engine.name,
            fill_ns: measured.fill_ns,
            drain_ns: measured.drain_ns,
            hops: measured.hops,
            part: measured.part,
            speedup: reference / measured.ns(),
            published: published(engine.name),
        };
        print_line(TABLE.row(&row))?;
        rows.push(row);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{MatchingBench, drawing};
    use super::*;
    use crate::host::signals::Signals;
    use crate::show::table;
    use midplane_lab::matching::ENGINES;

    #[test]
    fn a_test_is_measured_told_and_drawn() {
        let bench = MatchingBench {
            engines: ENGINES.to_vec(),
            runs: 1,
            all: false,
            signals: Signals::catch().expect("signals"),
        };
        let search = SearchTest {
            queue: LongQueue::Posted,
            order: SearchOrder::Reverse,
            senders: 8,
            pending: 5,
            communicators: 1,
            any_source: 0.0,
        };
        let test = TimedSearch {
            name: "PRQ reverse".into(),
            senders: 8,
            pending: 5,
            communicators: 1,
            any_source: 0.0,
        };
        let mut rows = Vec::new();
        compare(&bench, &test, &search.traffic(), &|_| None, &mut rows).expect("a run");
        assert_eq!(rows.len(), ENGINES.len());
        assert_eq!((rows[0].engine, rows[0].hops), ("list", 20.5));
        assert_eq!((rows[0].speedup, rows[0].part), (1.0, 1.0));
        let csv = table::csv(&rows).expect("CSV");
        assert_eq!(csv.lines().count(), 1 + rows.len());
        let begin = "test,senders,pending,communicators,any_source_percent,entries,engine,fill_ns,drain_ns,hops,\
                     part,speedup,published\nPRQ reverse,8,5,1,0,40,list,";
        assert!(csv.starts_with(begin), "{csv}");
        let drawing = drawing::draw(&rows).expect("a drawing");
        // A mark for each engine, and one in the legend.
        assert_eq!(drawing.matches("<polygon").count(), 2 * ENGINES.len());
    }

    /// All parameters of the papers occur, and no test exceeds the number of handles.
    #[test]
    fn the_tests_are_the_papers() {
        let all = cases(true);
        let has = |of: fn(&SearchTest) -> bool| all.iter().any(of);
        assert!(has(|s| s.senders == 1_048_576 && s.pending == 1));
        assert!(has(|s| s.senders == 704 && s.communicators == 50));
        assert!(has(|s| s.senders == 4096 && s.any_source == 1.0));
        assert!(!has(|s| s.senders == 1_048_576 && s.pending == 5));
        assert!(cases(false).iter().all(|s| s.senders <= 4096));
    }
}
