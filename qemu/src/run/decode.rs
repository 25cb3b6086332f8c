//! The kernels' logs: defmt frames to text, by the table in the image.

use crate::host::stop::{Doing, Stop};
use defmt_decoder::{DecodeError, StreamDecoder, Table};

/// The log statements of an image.
pub struct Dictionary(Option<Table>);

impl Dictionary {
    /// Reads the table of an image; one that logs nothing has none.
    pub fn read(image: &[u8]) -> Result<Self, Stop> {
        Table::parse(image)
            .doing("read the image's log table")
            .map(Self)
    }

    /// A decoder for one node's stream.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder {
            stream: self.0.as_ref().map(Table::new_stream_decoder),
            malformed: 0,
        }
    }
}

/// Decodes one node's stream.
pub struct Decoder<'a> {
    stream: Option<Box<dyn StreamDecoder + Send + Sync + 'a>>,
    malformed: u64,
}

impl Decoder<'_> {
    /// Takes bytes of the stream and hands each complete log line to `line`.
    pub fn take(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        stream.received(bytes);
        loop {
            match stream.decode() {
                Ok(frame) => line(frame.display(false).to_string()),
                Err(DecodeError::UnexpectedEof) => return,
                // The encoding resynchronises at the next frame.
                Err(DecodeError::Malformed) => self.malformed += 1,
            }
        }
    }

    /// Frames so far that made no sense.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}
