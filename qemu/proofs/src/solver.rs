//! SMT solvers as child processes.
#![forbid(unsafe_code)]

use crate::prove::{Query, Theorem};
use std::fmt;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solver {
    /// Z3 4.8 or later.
    Z3,
    /// cvc5 1.0 or later.
    Cvc5,
}

/// Maximum time of one query in milliseconds.
pub const QUERY_MILLISECONDS: u32 = 5_000;

impl Solver {
    /// Name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Solver::Z3 => "z3",
            Solver::Cvc5 => "cvc5",
        }
    }

    fn command(self) -> Command {
        let mut command = Command::new(self.program());
        match self {
            Solver::Z3 => command.args(["-smt2", "-in", &format!("-t:{QUERY_MILLISECONDS}")]),
            Solver::Cvc5 => command.args([
                "--lang=smt2",
                "--incremental",
                &format!("--tlimit-per={QUERY_MILLISECONDS}"),
                "-",
            ]),
        };
        command
    }

    /// Returns the first line of `--version`; blocks until the program ends. An error means that it cannot be started.
    pub fn version(self) -> io::Result<String> {
        let output = Command::new(self.program())
            .arg("--version")
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().trim().to_string())
    }

    /// Answers the scripts in one process; blocks until it ends. An error means that it cannot be started, or has ended
    /// early.
    fn answers(self, scripts: &[&str]) -> io::Result<Vec<Answer>> {
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("no standard input"))?;
        let script: String = scripts.iter().map(|script| format!("(reset)\n{script}")).collect();
        // A solver may write before it has read everything.
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = child.wait_with_output()?;
        let written = writer.join().map_err(|_| io::Error::other("the writer has panicked"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let answers: Vec<Answer> = text.lines().filter_map(Answer::parse).collect();
        let error = text.lines().find(|line| line.contains("(error"));
        if error.is_some() || answers.len() != scripts.len() {
            written?;
            let line = error.unwrap_or("it ended early");
            return Err(io::Error::other(format!("{}: {line}", self.program())));
        }
        Ok(answers)
    }

    /// Proves a theorem; blocks. An error means that the solver cannot be started, or has ended early.
    pub fn prove(self, theorem: &Theorem) -> io::Result<Proof> {
        let start = Instant::now();
        let mut open: Vec<&Query> = theorem.queries.iter().collect();
        let mut failed = Vec::new();
        for text in [|query: &Query| query.text.clone(), |query: &Query| query.full.clone()] {
            let scripts: Vec<String> = open.iter().map(|query| text(query)).collect();
            let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
            let answers = if scripts.is_empty() {
                Vec::new()
            } else {
                self.answers(&scripts)?
            };
            let expected = |query: &Query| {
                if query.expects_model {
                    Answer::Sat
                } else {
                    Answer::Unsat
                }
            };
            let wrong = open
                .iter()
                .zip(answers)
                .filter(|(query, answer)| expected(query) != *answer);
            failed = wrong.map(|(query, answer)| (*query, answer)).collect();
            open = failed.iter().map(|(query, _)| *query).collect();
        }
        Ok(Proof {
            failed: failed
                .into_iter()
                .map(|(query, answer)| (query.name.clone(), answer))
                .collect(),
            time: start.elapsed(),
        })
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program())
    }
}

/// Answer of a solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A model exists.
    Sat,
    /// No model exists.
    Unsat,
    /// The time was too short.
    Unknown,
}

impl Answer {
    fn parse(line: &str) -> Option<Answer> {
        match line.trim() {
            "sat" => Some(Answer::Sat),
            "unsat" => Some(Answer::Unsat),
            "unknown" | "timeout" => Some(Answer::Unknown),
            _ => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Sat => "does not hold",
            Answer::Unsat => "cannot happen",
            Answer::Unknown => "unknown",
        })
    }
}

/// Result of a proof.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The clauses that are not proved, with the answers.
    pub failed: Vec<(String, Answer)>,
    /// Time of the solver.
    pub time: Duration,
}
