//! Records of a job for tests, written call by call.

use crate::job::{JobTrace, RankTrace};
use crate::objects::{COMM_SELF, COMM_WORLD};
use crate::operations::ANY_SOURCE;
use crate::record::{Form, Phase, fields};
use midplane_abi::counters::TRACED;
use midplane_api::{FUNCTIONS, Function};

/// Handles of predefined datatypes.
pub(crate) const INT: i64 = 0x209;
pub(crate) const FLOAT: i64 = 0x210;

/// Names and values of arguments.
pub(crate) type Arguments<'a> = &'a [(&'a str, i64)];

/// Streams of all ranks.
pub(crate) struct Script {
    streams: Vec<Vec<u64>>,
    time: u64,
}

impl Script {
    /// Creates the records of ranks that have called MPI_Init.
    pub(crate) fn new(ranks: usize) -> Self {
        let mut script = Self {
            streams: vec![Vec::new(); ranks],
            time: 0,
        };
        let members: Vec<i64> = (0..ranks as i64).collect();
        for rank in 0..ranks {
            script.communicator(rank, COMM_WORLD, &members);
            script.communicator(rank, COMM_SELF, &[rank as i64]);
        }
        script
    }

    fn head(&mut self, rank: usize, kind: u64, function: usize) {
        self.time += 10;
        let time = self.time;
        self.streams[rank].extend([kind | (function as u64) << 8, time]);
    }

    pub(crate) fn communicator(&mut self, rank: usize, handle: i64, members: &[i64]) {
        self.head(rank, 3, 0);
        let own = members.iter().position(|member| *member == rank as i64).unwrap_or(0);
        let words = [handle, own as i64, members.len() as i64];
        self.streams[rank].extend(words.iter().chain(members).chain(&[0]).map(|word| *word as u64));
    }

    fn fields(&mut self, rank: usize, function: &Function, phase: Phase, values: Arguments<'_>) {
        for field in fields(function, phase) {
            let name = function.parameters[field.parameter].name;
            let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            match field.form {
                Form::Ints(_) | Form::Aints(_) | Form::Statuses(_) => {
                    let list: Vec<i64> = value(name).into_iter().collect();
                    self.streams[rank].push(list.len() as u64);
                    self.streams[rank].extend(list.iter().map(|word| *word as u64));
                }
                Form::Status => {
                    let words =
                        ["source", "tag", "", "bytes"].map(|part| value(&format!("status.{part}")).unwrap_or(0));
                    self.streams[rank].extend(words.map(|word| word as u64));
                }
                _ => self.streams[rank].push(value(name).unwrap_or(0) as u64),
            }
        }
    }

    /// Adds the begin of a call. The return address is the number of words before it.
    pub(crate) fn enter_call(&mut self, rank: usize, name: &str, values: Arguments<'_>) {
        let index = FUNCTIONS.iter().position(|function| function.name == name).unwrap();
        self.head(rank, 1, index);
        let address = self.streams[rank].len() as u64;
        self.streams[rank].push(address);
        self.fields(rank, &FUNCTIONS[index], Phase::Enter, values);
    }

    /// Adds the end of a call with this result.
    pub(crate) fn leave_call(&mut self, rank: usize, name: &str, result: i64, values: Arguments<'_>) {
        let index = FUNCTIONS.iter().position(|function| function.name == name).unwrap();
        self.head(rank, 2, index);
        self.streams[rank].push(result as u64);
        self.fields(rank, &FUNCTIONS[index], Phase::Leave, values);
    }

    /// Adds a call that succeeds.
    pub(crate) fn call(&mut self, rank: usize, name: &str, values: Arguments<'_>) {
        self.enter_call(rank, name, values);
        self.leave_call(rank, name, 0, values);
    }

    /// Adds a sample in which all counters have this value.
    pub(crate) fn counters(&mut self, rank: usize, value: u64) {
        self.head(rank, 5, 0);
        self.streams[rank].push(TRACED.len() as u64);
        self.streams[rank].extend([value; TRACED.len()]);
    }

    /// Adds a send of one element in MPI_COMM_WORLD.
    pub(crate) fn send(&mut self, rank: usize, to: i64, tag: i64, datatype: i64) {
        let values = [
            ("count", 1),
            ("datatype", datatype),
            ("dest", to),
            ("tag", tag),
            ("comm", COMM_WORLD),
        ];
        self.call(rank, "MPI_Send", &values);
    }

    /// Adds a receive of one element, with MPI_ANY_SOURCE if `is_wildcard`.
    pub(crate) fn receive(&mut self, rank: usize, from: i64, tag: i64, datatype: i64, is_wildcard: bool) {
        let source = if is_wildcard { ANY_SOURCE } else { from };
        let values = [
            ("count", 1),
            ("datatype", datatype),
            ("source", source),
            ("tag", tag),
            ("comm", COMM_WORLD),
            ("status.source", from),
            ("status.tag", tag),
        ];
        self.call(rank, "MPI_Recv", &values);
    }

    /// Adds MPI_Finalize of all ranks, and decodes the records.
    pub(crate) fn finish(mut self) -> JobTrace {
        for rank in 0..self.streams.len() {
            self.call(rank, "MPI_Finalize", &[]);
        }
        self.decode()
    }

    /// Decodes the records.
    pub(crate) fn decode(self) -> JobTrace {
        JobTrace {
            ranks: self
                .streams
                .iter()
                .map(|words| RankTrace::decode(words, usize::MAX))
                .collect(),
        }
    }
}
