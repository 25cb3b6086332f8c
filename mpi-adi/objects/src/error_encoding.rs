//! Numeric error records, and their conversion to and from [`Error`].
//!
//! A node contains no error messages: sentences and their formatting would be a tenth of a C program's image. So an
//! error that ends a job is passed to the host environment as numbers ([`ErrorRecord`], in an [`MpiError`]). A node stores
//! them for the host tool. Each reader with this library converts them back to the [`Error`], whose messages are in
//! [`error`](super::error).
#![forbid(unsafe_code)]

use core::fmt;

use super::error::{CallOrder, Error, ErrorClass, LimitedResource};
use midplane_device::OutOfMemory;
use midplane_device::kernel::{ErrorRecord, HeapUsage, MpiError};

/// A field of an error, encoded as one integer.
trait EncodedField: Sized {
    fn encode(self) -> u64;
    /// Returns `None` if no such field has this encoding.
    fn decode(number: u64) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl EncodedField for $integer {
            fn encode(self) -> u64 {
                self as u64
            }

            fn decode(number: u64) -> Option<Self> {
                let value = number as $integer;
                (value as u64 == number).then_some(value)
            }
        })*
    };
}

// Signed integers are sign-extended, and decoded from their lower bytes.
integers!(u32, u64, i32, i64);

/// Encoded as 64 bits, because the reader's addresses may be longer or shorter than the node's.
impl EncodedField for usize {
    fn encode(self) -> u64 {
        self as u64
    }

    fn decode(number: u64) -> Option<Self> {
        usize::try_from(number).ok()
    }
}

/// No length has all bits set.
impl EncodedField for Option<usize> {
    fn encode(self) -> u64 {
        self.map_or(u64::MAX, usize::encode)
    }

    fn decode(number: u64) -> Option<Self> {
        match number {
            u64::MAX => Some(None),
            length => usize::decode(length).map(Some),
        }
    }
}

impl EncodedField for ErrorClass {
    fn encode(self) -> u64 {
        self as u64
    }

    fn decode(number: u64) -> Option<Self> {
        ErrorClass::from_code(i32::decode(number)?)
    }
}

macro_rules! places {
    ($($of:ty),*) => {
        $(impl EncodedField for $of {
            fn encode(self) -> u64 {
                self as u64
            }

            fn decode(number: u64) -> Option<Self> {
                Self::ALL.get(usize::decode(number)?).copied()
            }
        })*
    };
}

places!(LimitedResource, CallOrder);

fn pad_fields<const N: usize>(numbers: [u64; N]) -> [u64; 3] {
    core::array::from_fn(|at| numbers.get(at).copied().unwrap_or_default())
}

/// Table of the errors by field list: code of each error, which fields are numbers, and which is a string. Errors with
/// the same fields share the conversion code.
macro_rules! table {
    ($($fields:tt $told:tt: $($kind:literal $variant:ident),+;)*) => {
        impl<W: Copy> Error<W> {
            /// Encodes the error; `nothing` replaces the string of an error without one.
            pub fn encode(&self, nothing: W) -> ErrorRecord<W> {
                let (numbers, words) = match *self {
                    $($(Error::$variant $fields)|+ => encode_fields!(nothing $told),)*
                    Error::NoMemory(error) => {
                        let (which, value) = match error {
                            OutOfMemory::Requests { live } => (0, live.encode()),
                            OutOfMemory::ProbeRecord => (1, 0),
                            OutOfMemory::Start { bytes } => (2, bytes.encode()),
                        };
                        (pad_fields([which, value]), nothing)
                    }
                };
                ErrorRecord { kind: self.kind(), numbers, words }
            }

            /// Returns the code of the error.
            const fn kind(&self) -> u8 {
                match self {
                    $($(Error::$variant { .. } => $kind,)+)*
                    Error::NoMemory(_) => NO_MEMORY,
                }
            }

            /// Decodes an error that [`Error::encode`] encoded; `None` for an invalid record.
            pub fn decode(told: ErrorRecord<W>) -> Option<Self> {
                let mut numbers = told.numbers.into_iter();
                let mut next = || numbers.next();
                Some(match told.kind {
                    $($($kind => {
                        decode_fields!(next told $told);
                        Error::$variant $fields
                    })+)*
                    NO_MEMORY => Error::NoMemory(match next()? {
                        0 => OutOfMemory::Requests { live: EncodedField::decode(next()?)? },
                        1 => OutOfMemory::ProbeRecord,
                        2 => OutOfMemory::Start { bytes: EncodedField::decode(next()?)? },
                        _ => return None,
                    }),
                    _ => return None,
                })
            }
        }
    };
}

macro_rules! encode_fields {
    ($nothing:ident [$($number:ident),*]) => {
        (pad_fields([$($number.encode()),*]), $nothing)
    };
    ($nothing:ident [$($number:ident),*; $words:ident]) => {
        (pad_fields([$($number.encode()),*]), $words)
    };
}

macro_rules! decode_fields {
    ($next:ident $told:ident [$($number:ident),* $(; $words:ident)?]) => {
        $(let $number = EncodedField::decode($next()?)?;)*
        $(let $words = $told.words;)?
    };
}

/// Code of [`OutOfMemory`]; its first number is the code of the variant.
const NO_MEMORY: u8 = 12;
/// Number of codes.
#[cfg(test)]
const KINDS: u8 = 37;

// In declaration order, so that the code stored by a node is the error's discriminant.
table! {
    { rank, size } [rank, size]: 0 Rank, 2 RemoteRank;
    { root, size } [root, size]: 1 Root, 3 RemoteRoot;
    { tag } [tag]: 4 Tag;
    { count } [count]: 5 Count;
    { bytes } [bytes]: 6 TooLong, 13 NoSpace;
    { expected, given } [expected, given]: 7 Lengths;
    { rank, expected, given } [rank, expected, given]: 8 CountsDiffer, 9 LocalDiffers, 10 RemoteDiffers;
    { source, tag, room } [source, tag, room]: 11 Truncated;
    { bytes, size, used } [bytes, size, used]: 15 BufferFull;
    { what } [; what]: 16 Buffer, 24 Unsupported, 27 Dims, 30 Argument;
    { what } [what]: 35 Order;
    { name } [; name]: 21 NullArgument;
    { class, what } [class; what]: 34 Wrong;
    { what, limit } [what, limit]: 17 Limit;
    { keyval } [keyval]: 18 Keyval;
    { handle } [handle]: 22 Datatype, 23 Uncommitted, 25 Communicator, 26 Group, 28 Operation, 29 Request;
    { failed, first } [failed, first]: 32 InStatus;
    { class, code } [class, code]: 33 Raised;
    {} []: 14 NoSpaceElsewhere, 19 Undefined, 20 NullBuffer, 31 InPlace, 36 TooLarge;
}

/// A formatted error, with the heap state if it is about memory.
#[derive(Clone, Copy)]
pub struct DescribedError<W = &'static str> {
    /// The error.
    pub error: Error<W>,
    /// State of the heap, if the error is for lack of memory.
    pub heap: Option<HeapUsage>,
}

impl<W: AsRef<str> + Copy> fmt::Display for DescribedError<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DescribedError { error, heap } = self;
        write!(f, "{}: {error}", error.class().description())?;
        match heap {
            Some(HeapUsage { bytes, used }) => write!(f, " (the heap has {bytes} bytes, of which {used} were in use)"),
            None => Ok(()),
        }
    }
}

/// A formatted error that ends the job: rank, function, class and remedy.
#[derive(Clone, Copy, Debug)]
pub struct ErrorText<'a>(pub &'a MpiError<'a>);

impl fmt::Display for ErrorText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MpiError {
            rank,
            here,
            function,
            told,
            heap,
            said,
            called_at,
        } = *self.0;
        write!(f, "rank {rank} at ({},{},{}): {function}", here.x, here.y, here.z)?;
        if let Some(place) = called_at {
            write!(f, ", called at {place},")?;
        }
        f.write_str(" failed")?;
        match Error::decode(told) {
            Some(error) => write!(f, " with {}", DescribedError { error, heap })?,
            None => f.write_str(", and what it says of it makes no sense")?,
        }
        match said {
            Some(said) => write!(f, ": {said}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CLASSES;

    #[test]
    fn every_error_is_the_same_after_it_was_told() {
        let told = |kind, numbers| ErrorRecord {
            kind,
            numbers,
            words: "words",
        };
        let plain = { 0..KINDS }.filter(|kind| *kind != NO_MEMORY);
        let plain = plain.map(|kind| told(kind, [3, 5, 7]));
        for told in plain.chain([0, 1, 2].map(|which| told(NO_MEMORY, [which, 5, 0]))) {
            let error = Error::decode(told).unwrap_or_else(|| panic!("no error: {told:?}"));
            assert_eq!(Error::decode(error.encode("")), Some(error));
            assert_eq!(error.encode("").kind, told.kind);
        }
    }

    #[test]
    fn numbers_with_a_sign_and_lengths_that_are_unknown_are_told() {
        let errors = [
            Error::Rank { rank: -7, size: 3 },
            Error::Tag { tag: -1 },
            Error::Count { count: i64::MIN },
            Error::Communicator { handle: i32::MIN },
            Error::CountsDiffer {
                rank: u32::MAX,
                expected: usize::MAX - 1,
                given: None,
            },
            Error::Raised {
                class: ErrorClass::RmaShared,
                code: -1,
            },
        ];
        for error in errors {
            assert_eq!(Error::decode(error.encode("")), Some(error));
        }
    }

    #[test]
    fn what_was_told_of_no_error_is_none() {
        let told = |kind, numbers| {
            Error::decode(ErrorRecord {
                kind,
                numbers,
                words: "",
            })
        };
        assert_eq!(told(KINDS, [0; 3]), None);
        assert_eq!(told(u8::MAX, [0; 3]), None);
        assert_eq!(told(NO_MEMORY, [3, 0, 0]), None);
        // A size of more than 32 bits, a tag of more than 32 bits, and an invalid class.
        assert_eq!(told(0, [0, 1 << 32, 0]), None);
        assert_eq!(told(4, [1 << 40, 0, 0]), None);
        assert_eq!(told(33, [CLASSES as u64, 0, 0]), None);
    }

    #[test]
    fn an_error_that_ends_the_job_is_told_in_the_words_of_its_class_and_its_own() {
        let error = Error::Rank { rank: 7, size: 3 };
        let fatal = MpiError {
            rank: 5,
            here: net_torus::Coord { x: 1, y: 0, z: 1 },
            function: "MPI_Send",
            told: error.encode(""),
            heap: Some(HeapUsage { bytes: 100, used: 90 }),
            said: Some("own words"),
            called_at: None,
        };
        assert_eq!(
            ErrorText(&fatal).to_string(),
            "rank 5 at (1,0,1): MPI_Send failed with MPI_ERR_RANK: invalid rank: there is no rank 7: the communicator \
             has ranks 0 to 2 (the heap has 100 bytes, of which 90 were in use): own words"
        );
        let told = ErrorRecord {
            kind: u8::MAX,
            ..fatal.told
        };
        let senseless = MpiError {
            told,
            heap: None,
            said: None,
            called_at: None,
            ..fatal
        };
        assert_eq!(
            ErrorText(&senseless).to_string(),
            "rank 5 at (1,0,1): MPI_Send failed, and what it says of it makes no sense"
        );
    }
}
