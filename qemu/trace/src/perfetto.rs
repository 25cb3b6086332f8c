//! Trace in the JSON format of Chrome's trace events, which Perfetto opens: a row of calls for each rank, an arrow from
//! the send to the receive of each message, and the counters.

use crate::job::{Call, JobTrace};
use crate::messages::{Message, Messages};
use crate::operations::{JobOperations, Operation};
use midplane_abi::counters::TRACED;
use serde_json::{Map, Value, json};
use std::io::{Result, Write};

/// Location of a call in the program's source.
pub type CallLocation<'l> = &'l dyn Fn(usize, u64) -> Option<String>;

/// Nanoseconds in a unit of the format.
const NS_PER_UNIT: f64 = 1000.0;

/// Writes the trace. `locate` returns the source line of a return address in a rank's program.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(
    to: &mut dyn Write,
    job: &JobTrace,
    operations: &JobOperations,
    messages: &Messages,
    locate: CallLocation<'_>,
) -> Result<()> {
    let mut events = EventWriter {
        to,
        start: job.start(),
        is_first: true,
    };
    events
        .to
        .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    for (rank, trace) in job.ranks.iter().enumerate() {
        events.event(json!({
            "ph": "M", "name": "process_name", "pid": rank, "args": {"name": format!("rank {rank}")},
        }))?;
        events.event(json!({"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}))?;
        let end = job.end();
        for call in &trace.calls {
            events.call(rank, call, end, locate)?;
        }
        events.counters(rank, job)?;
    }
    for (number, message) in messages.matched.iter().enumerate() {
        events.arrow(number, message, job, operations)?;
    }
    events.to.write_all(b"\n]}\n")
}

struct EventWriter<'w> {
    to: &'w mut dyn Write,
    /// Time of the first event in nanoseconds.
    start: u64,
    is_first: bool,
}

impl EventWriter<'_> {
    fn event(&mut self, event: Value) -> Result<()> {
        if !self.is_first {
            self.to.write_all(b",\n")?;
        }
        self.is_first = false;
        serde_json::to_writer(&mut *self.to, &event).map_err(std::io::Error::from)
    }

    fn unit(&self, time: u64) -> f64 {
        time.saturating_sub(self.start) as f64 / NS_PER_UNIT
    }

    fn call(&mut self, rank: usize, call: &Call, end: u64, locate: CallLocation<'_>) -> Result<()> {
        let mut arguments = Map::new();
        for name in ["dest", "source", "tag", "count", "root", "comm"] {
            if let Some(value) = call.try_input(name) {
                arguments.insert(name.into(), value.into());
            }
        }
        if let Some(status) = call.status(0).filter(|_| call.left.is_some()) {
            arguments.insert("received_source".into(), status.source.into());
            arguments.insert("received_tag".into(), status.tag.into());
            arguments.insert("received_bytes".into(), status.bytes.into());
        }
        if call.result != 0 {
            arguments.insert("error".into(), call.result.into());
        }
        if let Some(line) = locate(rank, call.address) {
            arguments.insert("line".into(), line.into());
        }
        let left = call.left.unwrap_or(end);
        self.event(json!({
            "ph": "X", "name": call.function.name, "cat": "mpi", "pid": rank, "tid": 0,
            "ts": self.unit(call.entered), "dur": left.saturating_sub(call.entered) as f64 / NS_PER_UNIT,
            "args": arguments,
        }))
    }

    fn counters(&mut self, rank: usize, job: &JobTrace) -> Result<()> {
        let mut last = [None; TRACED.len()];
        for sample in &job.ranks[rank].counters {
            for ((counter, value), last) in TRACED.into_iter().zip(sample.values).zip(&mut last) {
                if *last != Some(value) {
                    *last = Some(value);
                    self.event(json!({
                        "ph": "C", "name": counter.about().name, "pid": rank, "ts": self.unit(sample.time), "args": {"value": value},
                    }))?;
                }
            }
        }
        Ok(())
    }

    /// Draws an arrow from the call that starts the send to the call that completes the receive.
    fn arrow(&mut self, number: usize, message: &Message, job: &JobTrace, operations: &JobOperations) -> Result<()> {
        let (send, receive) = (operations.get(message.send), operations.get(message.receive));
        let calls = &job.ranks[message.send.rank].calls;
        let from = calls[send.started].entered;
        let Some(to) = completion_time(receive, &job.ranks[message.receive.rank].calls) else {
            return Ok(());
        };
        let ends = [
            ("s", message.send.rank, from),
            ("f", message.receive.rank, to.max(from)),
        ];
        for (phase, rank, time) in ends {
            let mut event = json!({
                "ph": phase, "id": number, "name": "message", "cat": "message", "pid": rank, "tid": 0,
                "ts": self.unit(time),
            });
            if phase == "f" {
                event["bp"] = "e".into();
            }
            self.event(event)?;
        }
        Ok(())
    }
}

/// Returns a time within the call that completes an operation.
fn completion_time(operation: &Operation, calls: &[Call]) -> Option<u64> {
    let call = &calls[operation.completed?];
    let left = call.left?;
    Some(left - left.saturating_sub(call.entered) / 2)
}

impl JobTrace {
    /// Returns the time of the first call in nanoseconds.
    #[must_use]
    pub fn start(&self) -> u64 {
        let first = self.ranks.iter().filter_map(|rank| rank.calls.first());
        first.map(|call| call.entered).min().unwrap_or(0)
    }

    /// Returns the time of the last event in nanoseconds.
    #[must_use]
    pub fn end(&self) -> u64 {
        let calls = self.ranks.iter().flat_map(|rank| &rank.calls);
        calls.map(|call| call.left.unwrap_or(call.entered)).max().unwrap_or(0)
    }
}
