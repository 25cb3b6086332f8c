//! The kernels' logs: decodes defmt frames with the image's table.

use crate::host::error::{CliError, ErrorContext};
use defmt_decoder::{DecodeError, StreamDecoder, Table};
use kernel_rt::mpi_failure::write_text;
use midplane_abi::failure::{Failure, LOGGED};

/// Log statements of an image.
pub struct LogDictionary(Option<Table>);

impl LogDictionary {
    /// Reads an image's table; it exists only if the image supports the log. A script of this host has none.
    pub fn read(image: &[u8]) -> Result<Self, CliError> {
        if image.starts_with(b"#!") {
            return Ok(Self(None));
        }
        Table::parse(image).context("read the image's log table").map(Self)
    }

    /// Creates a decoder for one node's stream.
    pub fn decoder(&self) -> LogDecoder<'_> {
        LogDecoder {
            stream: self.0.as_ref().map(Table::new_stream_decoder),
            malformed: 0,
        }
    }
}

/// Decoder of one node's stream.
pub struct LogDecoder<'a> {
    stream: Option<Box<dyn StreamDecoder + Send + Sync + 'a>>,
    malformed: u64,
}

impl LogDecoder<'_> {
    /// Adds bytes of the stream and passes each complete log line to `line`.
    pub fn decode_bytes(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        stream.received(bytes);
        loop {
            match stream.decode() {
                Ok(frame) => line(expand_failure(frame.display(false).to_string())),
                Err(DecodeError::UnexpectedEof) => return,
                // The encoding resynchronizes at the next frame.
                Err(DecodeError::Malformed) => self.malformed += 1,
            }
        }
    }

    /// Returns the number of malformed frames.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

/// Replaces the failure record in a log line by its text, if there is one.
fn expand_failure(line: String) -> String {
    let words = || {
        let (before, rest) = line.split_once(LOGGED)?;
        let (numbers, after) = rest.strip_prefix('[')?.split_once(']')?;
        let record = numbers.split(", ").map(|number| number.parse().ok());
        let record = record.collect::<Option<Vec<u8>>>()?;
        let failure = Failure::read(&record)?;
        let words = failure.in_words(write_text);
        Some(format!("{before}{words}{after}"))
    };
    words().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::failure::FailureReason;

    #[test]
    fn a_failure_is_logged_in_words() {
        let place = None;
        let why = FailureReason::MpiAbort(7);
        let failure = Failure { place, why };
        let record = failure.write();
        let line = |record: &[u8]| expand_failure(format!("1.5 ERROR {LOGGED}{record:?} (abort.rs:70)"));
        assert_eq!(
            line(record.bytes()),
            format!("1.5 ERROR {} (abort.rs:70)", failure.in_words(write_text))
        );
        // Malformed records are shown unchanged.
        for other in [&[][..], &[1, 2, 3]] {
            let shown = format!("1.5 ERROR {LOGGED}{other:?} (abort.rs:70)");
            assert_eq!(line(other), shown);
        }
        for other in ["failed: no record", "failed: [300]", "failed: [1"] {
            assert_eq!(expand_failure(other.to_string()), other);
        }
    }
}
