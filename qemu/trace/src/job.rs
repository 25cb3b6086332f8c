//! Calls of all ranks, decoded from their streams.

use crate::record::{Argument, CorruptStream, Phase, RecordHead, RecordKind, WordReader};
use midplane_abi::counters::TRACED;
use midplane_api::{FUNCTIONS, Function};
use std::collections::HashMap;

/// A call of an MPI function.
#[derive(Clone, Debug)]
pub struct Call {
    /// Called function.
    pub function: &'static Function,
    /// Time of the call in nanoseconds.
    pub entered: u64,
    /// Time of the return; `None` for a call that has not returned.
    pub left: Option<u64>,
    /// Return address in the program.
    pub address: u64,
    /// Number of calls that this one is nested in: a callback of the program has made it.
    pub depth: u32,
    /// Returned error code; 0 for a call that has not returned.
    pub result: i32,
    inputs: Vec<Argument>,
    outputs: Vec<Argument>,
}

impl Call {
    fn find<'a>(&self, arguments: &'a [Argument], name: &str) -> Option<&'a [i64]> {
        let parameters = self.function.parameters;
        let argument = arguments
            .iter()
            .find(|argument| parameters[argument.parameter].name == name)?;
        Some(&argument.words)
    }

    /// Returns an argument before the call, or 0 if the function has no such parameter.
    #[must_use]
    pub fn input(&self, name: &str) -> i64 {
        self.find(&self.inputs, name)
            .and_then(|words| words.first().copied())
            .unwrap_or(0)
    }

    /// Returns an argument before the call, if the function has such a parameter.
    #[must_use]
    pub fn try_input(&self, name: &str) -> Option<i64> {
        self.find(&self.inputs, name)?.first().copied()
    }

    /// Returns the elements of an array before the call.
    #[must_use]
    pub fn input_list(&self, name: &str) -> &[i64] {
        self.find(&self.inputs, name).unwrap_or_default()
    }

    /// Returns the value that the call has stored, if it has returned.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<i64> {
        self.find(&self.outputs, name)?.first().copied()
    }

    /// Returns the elements that the call has stored.
    #[must_use]
    pub fn output_list(&self, name: &str) -> &[i64] {
        self.find(&self.outputs, name).unwrap_or_default()
    }

    /// Returns the status that the call has stored at this index of its statuses.
    #[must_use]
    pub fn status(&self, index: usize) -> Option<RecordedStatus> {
        let parameters = self.function.parameters;
        let is_status = |argument: &&Argument| parameters[argument.parameter].name.contains("status");
        let words = &self.outputs.iter().find(is_status)?.words;
        let [source, tag, word, bytes] = *words.chunks_exact(4).nth(index)? else {
            return None;
        };
        Some(RecordedStatus {
            source: source as i32,
            tag: tag as i32,
            error: word as u32 as i32,
            is_cancelled: word >> 32 != 0,
            bytes: bytes as u64,
        })
    }

    /// Checks whether the call has returned success.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.left.is_some() && self.result == 0
    }
}

/// A status in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedStatus {
    /// Source in the communicator of the receive.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Error code; only calls with several statuses set it.
    pub error: i32,
    /// The operation was cancelled.
    pub is_cancelled: bool,
    /// Received bytes.
    pub bytes: u64,
}

/// An event in the stream of a rank, other than a call's return.
#[derive(Clone, Debug)]
pub enum Event {
    /// Index of a call in [`RankTrace::calls`], when it begins.
    Enter(usize),
    /// Index of a call when it returns.
    Leave(usize),
    /// A communicator exists.
    Communicator(CommunicatorRecord),
    /// A group exists.
    Group(GroupRecord),
    /// A datatype exists.
    Datatype(DatatypeRecord),
    /// The program has accessed a buffer.
    Access(AccessRecord),
}

/// Members of a new communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommunicatorRecord {
    /// Handle in this rank.
    pub handle: i64,
    /// Rank of this process.
    pub rank: i64,
    /// Ranks in MPI_COMM_WORLD of the group.
    pub members: Vec<i64>,
    /// The same of the remote group; empty for an intracommunicator.
    pub remote: Vec<i64>,
}

/// Members of a new group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupRecord {
    /// Handle in this rank.
    pub handle: i64,
    /// Ranks in MPI_COMM_WORLD.
    pub members: Vec<i64>,
}

/// Size of a new datatype, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatatypeRecord {
    /// Handle in this rank.
    pub handle: i64,
    /// Size.
    pub size: i64,
    /// Lower bound.
    pub lower: i64,
    /// Extent.
    pub extent: i64,
    /// True lower bound.
    pub true_lower: i64,
    /// True extent.
    pub true_extent: i64,
}

/// An access of the program to memory that a pending operation uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessRecord {
    /// Address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// A write.
    pub is_write: bool,
    /// Return address after the access.
    pub instruction: u64,
    /// Handle of the request or the window.
    pub key: i64,
    /// Kind of the memory.
    pub memory: AccessedMemory,
}

/// Memory that the program has accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessedMemory {
    /// The buffer of a pending request.
    Request,
    /// The origin's buffer of a pending one-sided operation.
    WindowOperation,
    /// The memory of a window.
    Window,
}

/// Values of the counters at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterSample {
    /// Time in nanoseconds.
    pub time: u64,
    /// Values in the order of [`TRACED`].
    pub values: [u64; TRACED.len()],
}

/// Records of a rank.
#[derive(Clone, Debug, Default)]
pub struct RankTrace {
    /// Calls in the order of their begin.
    pub calls: Vec<Call>,
    /// All events but the counters, in order.
    pub events: Vec<Event>,
    /// Samples of the counters.
    pub counters: Vec<CounterSample>,
    /// Why the rest of the stream was not read.
    pub corrupt: Option<CorruptStream>,
    /// The rank has made more calls than the records contain.
    pub is_truncated: bool,
    /// Source lines of a Rust program by the address of its calls, as `file:line`; empty for programs in other languages.
    pub source_lines: HashMap<u64, String>,
}

impl RankTrace {
    /// Checks for a Rust program, whose types exclude some misuse: buffers belong to one owner, and objects are freed.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        !self.source_lines.is_empty()
    }
}

/// Maximum number of calls of a job in memory: about 4 GiB. Each rank has an equal part.
pub const MAX_CALLS: usize = 4 << 20;

impl RankTrace {
    /// Decodes a stream with at most this many calls. Keeps all records before an invalid one.
    #[must_use]
    pub fn decode(words: &[u64], max_calls: usize) -> Self {
        let mut trace = Self::default();
        let mut reader = WordReader::new(words);
        let mut open = Vec::new();
        while !reader.is_at_end() {
            if trace.calls.len() >= max_calls {
                trace.is_truncated = true;
                break;
            }
            if let Err(corrupt) = trace.record(&mut reader, &mut open) {
                trace.corrupt = Some(corrupt);
                break;
            }
        }
        trace
    }

    fn enter_call(
        &mut self,
        head: RecordHead,
        reader: &mut WordReader<'_>,
        open: &mut Vec<usize>,
    ) -> Result<(), CorruptStream> {
        let function = FUNCTIONS.get(head.function).ok_or(reader.corrupt())?;
        let address = reader.word()?;
        let inputs = reader.fields(function, Phase::Enter)?;
        self.events.push(Event::Enter(self.calls.len()));
        let depth = open.len() as u32;
        open.push(self.calls.len());
        self.calls.push(Call {
            function,
            entered: head.time,
            left: None,
            address,
            depth,
            result: 0,
            inputs,
            outputs: Vec::new(),
        });
        Ok(())
    }

    fn leave_call(
        &mut self,
        head: RecordHead,
        reader: &mut WordReader<'_>,
        open: &mut Vec<usize>,
    ) -> Result<(), CorruptStream> {
        let function = FUNCTIONS.get(head.function).ok_or(reader.corrupt())?;
        let result = reader.value()? as i32;
        let outputs = reader.fields(function, Phase::Leave)?;
        // A call that an error handler has left by longjmp has no record of its return.
        while let Some(index) = open.pop() {
            let call = &mut self.calls[index];
            if call.function == function {
                (call.left, call.result, call.outputs) = (Some(head.time), result, outputs);
                self.events.push(Event::Leave(index));
                break;
            }
        }
        Ok(())
    }

    fn record(&mut self, reader: &mut WordReader<'_>, open: &mut Vec<usize>) -> Result<(), CorruptStream> {
        let head = reader.head()?;
        match head.kind {
            RecordKind::Enter => self.enter_call(head, reader, open)?,
            RecordKind::Leave => self.leave_call(head, reader, open)?,
            RecordKind::Communicator => self.events.push(Event::Communicator(CommunicatorRecord {
                handle: reader.value()?,
                rank: reader.value()?,
                members: reader.list()?,
                remote: reader.list()?,
            })),
            RecordKind::Group => self.events.push(Event::Group(GroupRecord {
                handle: reader.value()?,
                members: reader.list()?,
            })),
            RecordKind::Datatype => self.events.push(Event::Datatype(DatatypeRecord {
                handle: reader.value()?,
                size: reader.value()?,
                lower: reader.value()?,
                extent: reader.value()?,
                true_lower: reader.value()?,
                true_extent: reader.value()?,
            })),
            RecordKind::Access => self.events.push(Event::Access(AccessRecord {
                address: reader.word()?,
                bytes: reader.word()?,
                is_write: reader.word()? != 0,
                instruction: reader.word()?,
                key: reader.value()?,
                memory: match head.function {
                    0 => AccessedMemory::Request,
                    1 => AccessedMemory::WindowOperation,
                    _ => AccessedMemory::Window,
                },
            })),
            RecordKind::SourceLine => {
                let (address, line) = (reader.word()?, reader.word()?);
                let path = reader.text()?;
                let name = path.rsplit('/').next().unwrap_or(&path);
                self.source_lines.insert(address, format!("{name}:{line}"));
            }
            RecordKind::Counters => {
                let values = reader.list()?;
                let values = <[i64; TRACED.len()]>::try_from(values).map_err(|_| reader.corrupt())?;
                self.counters.push(CounterSample {
                    time: head.time,
                    values: values.map(|value| value as u64),
                });
            }
        }
        Ok(())
    }
}

/// Records of all ranks of a job.
#[derive(Clone, Debug, Default)]
pub struct JobTrace {
    /// Records by rank in MPI_COMM_WORLD.
    pub ranks: Vec<RankTrace>,
}
