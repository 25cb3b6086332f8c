//! MPI errors in a failed node's record. The device provides their message text.
#![forbid(unsafe_code)]

use core::fmt::{self, Display as _};

use midplane_abi::failure::MpiFailure;
use midplane_device::kernel::{ErrorRecord, HeapUsage, MpiError};
use midplane_objects::ErrorText;
use net_torus::coord::{Coord, Rank};

/// Encodes the error as numbers and texts, without its location.
pub fn encode_error<'a>(error: &MpiError<'a>) -> MpiFailure<'a> {
    let [a, b, c] = error.told.numbers;
    // A heap of zero bytes could not have failed.
    let heap = error.heap.unwrap_or(HeapUsage { bytes: 0, used: 0 });
    let (bytes, used) = (heap.bytes as u64, heap.used as u64);
    let has_said = error.said.is_some().into();
    let kind = error.told.kind.into();
    MpiFailure {
        numbers: [kind, a, b, c, bytes, used, has_said, 0],
        texts: [error.function, error.told.words, error.said.unwrap_or_default()],
    }
}

/// Decodes an error that [`encode_error`] encoded on the node at this location. Returns `None` for an invalid record.
fn decode_error<'a>(rank: Rank, here: Coord, failure: &MpiFailure<'a>) -> Option<MpiError<'a>> {
    let [kind, a, b, c, bytes, used, has_said, _] = failure.numbers;
    let [function, words, said] = failure.texts;
    let heap = HeapUsage {
        bytes: bytes.try_into().ok()?,
        used: used.try_into().ok()?,
    };
    Some(MpiError {
        rank,
        here,
        function,
        told: ErrorRecord {
            kind: kind.try_into().ok()?,
            numbers: [a, b, c],
            words,
        },
        heap: (bytes != 0).then_some(heap),
        said: (has_said != 0).then_some(said),
        called_at: None,
    })
}

/// Writes the error's message text: the [`MpiText`](midplane_abi::failure::MpiText) of all failure displays.
///
/// # Errors
/// Only those of `f`.
pub fn write_text(place: Option<(Rank, Coord)>, failure: &MpiFailure<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match place.and_then(|(rank, here)| decode_error(rank, here, failure)) {
        Some(error) => ErrorText(&error).fmt(f),
        None => f.write_str("an error of MPI's, and what it says of it makes no sense"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::failure::{Failure, FailureReason};

    #[test]
    fn an_error_is_told_as_the_device_tells_it() {
        let what = "no such thing";
        let here = Coord { x: 1, y: 0, z: 255 };
        let error = |heap, said| MpiError {
            rank: 5,
            here,
            function: "MPI_Send",
            told: midplane_objects::Error::Argument { what }.encode(""),
            heap,
            said,
            called_at: None,
        };
        let heap = Some(HeapUsage { bytes: 9, used: 7 });
        for (heap, said) in [(None, None), (heap, Some("own words")), (heap, Some(""))] {
            let error = error(heap, said);
            let why = FailureReason::Mpi(encode_error(&error));
            let place = Some((5, here));
            let record = Failure { place, why }.write();
            let read = Failure::read(record.bytes()).expect("a failure");
            assert_eq!(read, Failure { place, why });
            assert_eq!(decode_error(5, here, &encode_error(&error)), Some(error));
            assert_eq!(read.in_words(write_text).to_string(), ErrorText(&error).to_string());
        }
        assert_eq!(
            ErrorText(&error(None, None)).to_string(),
            "rank 5 at (1,0,255): MPI_Send failed with MPI_ERR_ARG: invalid argument: no such thing"
        );
    }

    #[test]
    fn numbers_that_are_no_error_are_told_as_such() {
        let why = FailureReason::Mpi(MpiFailure {
            numbers: [u64::MAX; 8],
            texts: [""; 3],
        });
        for place in [None, Some((0, Coord::default()))] {
            let text = Failure { place, why }.in_words(write_text).to_string();
            assert!(text.contains("makes no sense"), "{text}");
        }
    }
}
