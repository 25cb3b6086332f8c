//! The program of an exploration: a process that makes one run after the other, each with its schedule
//! (`kernel-rt/cluster/carrier/src/explorer.rs`).

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::SharedMemory;
use crate::run::cluster::{self, ClusterProcess, split_message};
use crate::run::instance::ControlPipes;
use crate::run::plan::JobPlan;
use midplane_lab::match_orders::MatchDecision;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::rc::Rc;

/// Maximum size of a message in bytes.
const MESSAGE_BYTES: usize = 64 << 10;
/// Message that begins a run.
const BEGIN: &str = "run";

/// A rank that waits forever, and its MPI call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingRank {
    pub rank: u32,
    pub function: String,
}

/// End of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// All programs ended with these statuses, by rank.
    Statuses(Vec<i32>),
    /// Nothing moves any more.
    Hang(Vec<WaitingRank>),
    /// The job was aborted with this status.
    Abort(i32),
    /// The process ended by this signal.
    Signal(i32),
    /// Other schedules cover this one.
    Redundant,
    /// The program did not make the planned decisions.
    Foreign,
}

/// Output of a run by rank; `None` stands for the process itself and libraries.
pub type RankOutput = BTreeMap<Option<u32>, Vec<u8>>;

/// Result of a run.
#[derive(Debug)]
pub struct ProgramRun {
    pub end: RunEnd,
    pub decisions: Vec<MatchDecision>,
    pub stdout: RankOutput,
    pub stderr: RankOutput,
}

/// The process.
pub struct ExploredProgram {
    control: UnixStream,
    streams: [UnixStream; 2],
    child: Child,
    buffer: Vec<u8>,
    /// The process ends with its pipes.
    _pipes: ControlPipes,
    _shared: Rc<SharedMemory>,
}

impl ExploredProgram {
    /// Starts the process.
    ///
    /// # Errors
    /// Returns a failure if the host cannot start it.
    pub fn start(plan: &JobPlan<'_>) -> Result<Self, CliError> {
        let (control, theirs) = cluster::messages()?;
        control.set_nonblocking(false).context("set up a socket for runs")?;
        let ClusterProcess {
            child,
            streams,
            pipes,
            shared,
        } = cluster::start(plan, Some(theirs))?;
        Ok(Self {
            control,
            streams,
            child,
            buffer: vec![0; MESSAGE_BYTES],
            _pipes: pipes,
            _shared: shared,
        })
    }

    /// Runs the program with a schedule.
    ///
    /// # Errors
    /// Returns a failure if the process cannot run the program.
    pub fn run(&mut self, schedule: &[MatchDecision]) -> Result<ProgramRun, CliError> {
        for decision in schedule {
            self.send(&decision.to_string())?;
        }
        self.send(BEGIN)?;
        let (mut prints, mut result) = ([RankOutput::new(), RankOutput::new()], None);
        let mut decisions: Vec<MatchDecision> = Vec::new();
        loop {
            self.wait()?;
            self.read_output(&mut prints);
            let Some(line) = self.receive()? else {
                continue;
            };
            match read_end(&line, result.take()) {
                Line::Decision(decision) => decisions.push(decision),
                Line::Later(index) => {
                    if let Some(decision) = decisions.get_mut(index) {
                        decision.has_later = true;
                    }
                }
                Line::Result(end) => result = Some(end),
                Line::End(end) => {
                    self.read_output(&mut prints);
                    let [stdout, stderr] = prints;
                    return Ok(ProgramRun {
                        end,
                        decisions,
                        stdout,
                        stderr,
                    });
                }
                Line::Invalid => return Err(CliError::failure(format!("the program's process sent `{line}`"))),
            }
        }
    }

    fn send(&mut self, line: &str) -> Result<(), CliError> {
        self.control.write_all(line.as_bytes()).context("send a schedule")
    }

    /// Waits for a message or output.
    fn wait(&self) -> Result<(), CliError> {
        let [stdout, stderr] = &self.streams;
        let mut fds = [&self.control, stdout, stderr].map(|fd| PollFd::new(fd, PollFlags::IN));
        loop {
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                other => return other.map(|_| ()).context("wait for a run"),
            }
        }
    }

    /// Reads all available output.
    fn read_output(&mut self, prints: &mut [RankOutput; 2]) {
        for (stream, prints) in self.streams.iter_mut().zip(prints) {
            while let Ok(bytes @ 1..) = stream.read(&mut self.buffer) {
                let (rank, text) = split_message(&self.buffer[..bytes]);
                prints.entry(rank).or_default().extend(text);
            }
        }
    }

    /// Returns the next message, if there is one.
    fn receive(&mut self) -> Result<Option<String>, CliError> {
        self.control.set_nonblocking(true).context("set up a socket for runs")?;
        let received = self.control.read(&mut self.buffer);
        self.control
            .set_nonblocking(false)
            .context("set up a socket for runs")?;
        match received {
            Ok(0) => Err(self.ended()),
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&self.buffer[..bytes]).into_owned())),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error).context("receive from a run"),
        }
    }

    /// Returns the error of a process that has ended.
    fn ended(&mut self) -> CliError {
        let mut prints = [RankOutput::new(), RankOutput::new()];
        self.read_output(&mut prints);
        let text: Vec<u8> = prints.into_iter().flatten().flat_map(|(_, text)| text).collect();
        let status = self.child.wait().map(|status| status.to_string());
        CliError::failure(format!(
            "the program's process ended: {}; {}",
            status.unwrap_or_default(),
            String::from_utf8_lossy(&text).trim()
        ))
    }
}

/// A message of the process.
enum Line {
    Decision(MatchDecision),
    /// [`MatchDecision::has_later`] of the decision with this index.
    Later(usize),
    /// Result of a run whose process has not ended yet.
    Result(RunEnd),
    /// The run's process has ended.
    End(RunEnd),
    Invalid,
}

/// Parses a message; `result` is the run's result, if received.
fn read_end(line: &str, result: Option<RunEnd>) -> Line {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = || rest.parse::<i32>().ok();
    let end = match word {
        "statuses" => rest
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()
            .map(RunEnd::Statuses),
        "hang" => waiting_ranks(rest).map(RunEnd::Hang),
        "redundant" => Some(RunEnd::Redundant),
        "foreign" => Some(RunEnd::Foreign),
        "exit" => {
            return number().map_or(Line::Invalid, |status| {
                Line::End(result.unwrap_or(RunEnd::Abort(status)))
            });
        }
        "later" => return rest.parse().map_or(Line::Invalid, Line::Later),
        "signal" => return number().map_or(Line::Invalid, |signal| Line::End(RunEnd::Signal(signal))),
        _ => return line.parse().map_or(Line::Invalid, Line::Decision),
    };
    end.map_or(Line::Invalid, Line::Result)
}

fn waiting_ranks(text: &str) -> Option<Vec<WaitingRank>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.chunks_exact(2);
    pairs
        .map(|pair| {
            Some(WaitingRank {
                rank: pair[0].parse().ok()?,
                function: pair[1].into(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_with_its_result_or_with_its_process() {
        let end = |line, result| match read_end(line, result) {
            Line::End(end) | Line::Result(end) => Some(end),
            _ => None,
        };
        assert_eq!(end("statuses 0 3", None), Some(RunEnd::Statuses(vec![0, 3])));
        assert_eq!(end("exit 0", Some(RunEnd::Redundant)), Some(RunEnd::Redundant));
        assert_eq!(end("exit 7", None), Some(RunEnd::Abort(7)));
        assert_eq!(end("signal 6", None), Some(RunEnd::Signal(6)));
        let waiting = WaitingRank {
            rank: 2,
            function: "MPI_Recv".into(),
        };
        assert_eq!(end("hang 2 MPI_Recv", None), Some(RunEnd::Hang(vec![waiting])));
        assert!(matches!(read_end("rank 0 receive 1 of 1 2", None), Line::Decision(_)));
        assert!(matches!(read_end("nonsense", None), Line::Invalid));
    }
}
