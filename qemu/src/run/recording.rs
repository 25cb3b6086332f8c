//! Records of a job's MPI calls, on their way from the ranks to the analyses. A node has a ring buffer, which the tool
//! empties regularly; a process maps a file of a temporary directory.

use crate::build::compiler::ScratchDirectory;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::run::node::Node;
use midplane_trace::Recorder;
use midplane_trace::job::{JobTrace, MAX_CALLS, RankTrace};
use midplane_trace::record::MAX_STREAM_WORDS;
use std::fs;
use std::path::{Path, PathBuf};

/// Offset of the records in a process's file; the first word contains their number.
const FILE_HEADER_BYTES: usize = 4096;

/// Source of the records.
#[derive(Debug)]
pub enum Recording {
    /// Ring buffers of the nodes.
    Rings,
    /// Files of the processes.
    Files(ScratchDirectory),
}

impl Recording {
    /// Prepares the recording of native processes.
    ///
    /// # Errors
    /// Returns a failure if the directory cannot be created.
    pub fn of_processes() -> Result<Self, CliError> {
        Ok(Self::Files(ScratchDirectory::new(
            &directories::target().join("midplane"),
        )?))
    }

    /// Returns the environment variable that enables the recorder, as NAME=VALUE.
    ///
    /// # Errors
    /// Returns a failure if the working directory, to which the path is relative, is unknown.
    pub fn variable(&self) -> Result<Vec<u8>, CliError> {
        let value = match self {
            Recording::Rings => PathBuf::from("1"),
            Recording::Files(directory) => {
                std::path::absolute(&directory.0).context("find the directory of the records")?
            }
        };
        Ok(format!("{}={}", Recorder::VARIABLE, value.display()).into_bytes())
    }
}

/// Collector of the records of a job.
pub struct CallCollector {
    /// Words of each node with a ring buffer.
    streams: Vec<CallStream>,
}

/// Words of a rank.
#[derive(Clone, Default)]
struct CallStream {
    words: Vec<u64>,
    is_truncated: bool,
}

impl CallCollector {
    /// Creates a collector for this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            streams: vec![CallStream::default(); nodes],
        }
    }

    /// Empties the ring buffer of a node.
    pub fn poll(&mut self, node: &Node) {
        // An overwritten ring buffer stays in the node. The decoder reports the missing rest.
        let stream = &mut self.streams[node.rank as usize];
        node.read_calls(&mut stream.words);
        if stream.words.len() > MAX_STREAM_WORDS {
            stream.words.truncate(MAX_STREAM_WORDS);
            stream.is_truncated = true;
        }
    }

    /// Decodes the records after the end of the job.
    ///
    /// # Errors
    /// Returns a failure if a file cannot be read.
    pub fn finish(self, recording: &Recording) -> Result<JobTrace, CliError> {
        let mut ranks = Vec::new();
        let max_calls = (MAX_CALLS / self.streams.len().max(1)).max(1);
        for (rank, stream) in self.streams.into_iter().enumerate() {
            let stream = match recording {
                Recording::Rings => stream,
                Recording::Files(directory) => read_file(&directory.0.join(rank.to_string()))?,
            };
            let mut trace = RankTrace::decode(&stream.words, max_calls);
            if stream.is_truncated {
                // The last record may be incomplete.
                (trace.is_truncated, trace.corrupt) = (true, None);
            }
            ranks.push(trace);
        }
        Ok(JobTrace { ranks })
    }
}

/// Reads the records of a process. Empty if it has not called MPI_Init.
fn read_file(path: &Path) -> Result<CallStream, CliError> {
    if !path.exists() {
        return Ok(CallStream::default());
    }
    let bytes = fs::read(path).context(format_args!("read {}", path.display()))?;
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap_or_default());
    let header = |index: usize| bytes.get(8 * index..8 * index + 8).map_or(0, word);
    let records = bytes.get(FILE_HEADER_BYTES..).unwrap_or_default();
    let count = usize::try_from(header(0)).unwrap_or(usize::MAX);
    Ok(CallStream {
        words: records.chunks_exact(8).take(count).map(word).collect(),
        is_truncated: header(1) != 0,
    })
}
