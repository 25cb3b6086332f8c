//! Records in the stream of a rank.
//!
//! A stream is a sequence of 64-bit words, little-endian. Each record begins with a word that contains the kind in its
//! lowest byte and the index of the function in [`FUNCTIONS`](midplane_api::FUNCTIONS) above it, and a word with the time in nanoseconds.
//!
//! | kind | further words |
//! |---|---|
//! | `Enter` | return address of the call; [`fields`] of the phase [`Phase::Enter`] |
//! | `Leave` | result; fields of the phase [`Phase::Leave`] |
//! | `Communicator` | handle; rank; members; members of the remote group |
//! | `Group` | handle; members |
//! | `Counters` | values of [`TRACED`](midplane_abi::counters::TRACED) |
//! | `Access` | address; bytes; 1 for a write; return address after the access; request or window |
//! | `Datatype` | handle; size; lower bound; extent; true lower bound; true extent; all in bytes |
//! | `SourceLine` | address that calls have as return address; line; length of the file's name in bytes; its bytes. Of Rust programs only |
//!
//! A list is its length and its words. Members are ranks in MPI_COMM_WORLD.

use midplane_api::{Function, Kind};

/// Maximum number of words of a rank's stream: 256 MiB. The rest of a longer one is missing.
pub const MAX_STREAM_WORDS: usize = 1 << 25;

/// Side of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Arguments before the call.
    Enter,
    /// Results after the call.
    Leave,
}

/// Form of an argument in a record. The text is the C expression of a length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// A number or a handle.
    Value,
    /// An address.
    Address,
    /// The number or handle that the argument points to.
    Pointee,
    /// The address that the argument points to.
    PointerPointee,
    /// Source, tag, error and cancellation, bytes.
    Status,
    /// A list with four words for each status.
    Statuses(String),
    /// A list of ints or handles.
    Ints(String),
    /// A list of addresses.
    Aints(String),
}

impl Form {
    /// Checks whether the record contains a list.
    fn is_list(&self) -> bool {
        matches!(self, Form::Statuses(_) | Form::Ints(_) | Form::Aints(_))
    }

    /// Number of words; `None` for a list.
    pub(crate) fn words(&self) -> Option<usize> {
        match self {
            Form::Status => Some(4),
            form => (!form.is_list()).then_some(1),
        }
    }
}

/// A recorded argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Index of the parameter.
    pub parameter: usize,
    /// Form of its value.
    pub form: Form,
}

/// Functions that store an address through an argument of type `void *`.
const STORE_ADDRESS: [&str; 5] = [
    "MPI_Alloc_mem",
    "MPI_Buffer_detach",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_shared_query",
];

/// Returns the recorded arguments of a phase, in order.
pub fn fields(function: &Function, phase: Phase) -> impl Iterator<Item = Field> {
    let parameters = function.parameters.iter().enumerate();
    parameters.filter_map(move |(parameter, about)| {
        let form = match phase {
            Phase::Enter => Some(form_on_enter(function, about.kind, about.name)),
            Phase::Leave => form_on_leave(function, about.kind, about.name),
        };
        form.map(|form| Field { parameter, form })
    })
}

/// Returns the name of the parameter with the number of requests.
#[must_use]
pub fn request_count(function: &Function) -> &'static str {
    let is_some = function.parameters.iter().any(|parameter| parameter.name == "incount");
    if is_some { "incount" } else { "count" }
}

fn form_on_enter(function: &Function, kind: Kind, name: &str) -> Form {
    match kind {
        Kind::RequestsInOut => Form::Ints(request_count(function).into()),
        Kind::Ints
        | Kind::OldInts
        | Kind::Counts
        | Kind::Displs
        | Kind::ElementDispls
        | Kind::Ranks
        | Kind::Logicals
        | Kind::Datatypes
        | Kind::OldDatatypes => match length(function, name) {
            Some(length) => Form::Ints(length),
            None => Form::Address,
        },
        Kind::Aints | Kind::AintCounts | Kind::OldAints => match length(function, name) {
            Some(length) => Form::Aints(length),
            None => Form::Address,
        },
        kind if is_read_and_written(kind) => Form::Pointee,
        kind if is_value(kind) => Form::Value,
        _ => Form::Address,
    }
}

fn form_on_leave(function: &Function, kind: Kind, name: &str) -> Option<Form> {
    Some(match kind {
        Kind::StatusOut => Form::Status,
        Kind::StatusesOut => Form::Statuses(completed_count(function)),
        Kind::RequestsInOut => Form::Ints(request_count(function).into()),
        Kind::IndicesOut if name == "array_of_indices" => Form::Ints(completed_count(function)),
        Kind::AddressOut if STORE_ADDRESS.contains(&function.name) => Form::PointerPointee,
        kind if is_read_and_written(kind) => Form::Pointee,
        Kind::RequestOut
        | Kind::CommOut
        | Kind::GroupOut
        | Kind::DatatypeOut
        | Kind::OpOut
        | Kind::MessageOut
        | Kind::ErrhandlerOut
        | Kind::InfoOut
        | Kind::WinOut => Form::Pointee,
        Kind::IntOut
        | Kind::CountOut
        | Kind::DispUnitOut
        | Kind::RankOut
        | Kind::LogicalOut
        | Kind::IndexOut
        | Kind::AintOut
        | Kind::AintCountOut => Form::Pointee,
        _ => return None,
    })
}

/// Returns the C expression of the number of completed requests.
fn completed_count(function: &Function) -> String {
    let has_outcount = function.parameters.iter().any(|parameter| parameter.name == "outcount");
    if has_outcount {
        "midplane_result == MPI_SUCCESS || midplane_result == MPI_ERR_IN_STATUS ? *outcount : 0".into()
    } else {
        request_count(function).into()
    }
}

/// Returns the C expression of an array's length, if the arguments specify it.
fn length(function: &Function, name: &str) -> Option<String> {
    let has = |wanted: &str| function.parameters.iter().any(|parameter| parameter.name == wanted);
    // The neighbours of a process depend on its topology.
    if function.name.contains("eighbor") {
        return None;
    }
    let text = match name {
        "array_of_blocklengths" | "array_of_displacements" | "array_of_types" => "count",
        "array_of_sizes" | "array_of_subsizes" | "array_of_starts" | "array_of_gsizes" | "array_of_distribs"
        | "array_of_dargs" | "array_of_psizes" => "ndims",
        "dims" | "periods" if has("ndims") => "ndims",
        "ranks" if has("n") => "n",
        "recvcounts" if function.name.contains("educe_scatter") => "midplane_own_size(comm)",
        "sendcounts" | "recvcounts" | "displs" | "sdispls" | "rdispls" | "sendtypes" | "recvtypes" => {
            if has("root") {
                "midplane_peers_at_root(comm, root)"
            } else {
                "midplane_peers(comm)"
            }
        }
        _ => return None,
    };
    Some(text.into())
}

/// Checks for a handle that a call reads and replaces.
fn is_read_and_written(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::RequestInOut
            | Kind::CommInOut
            | Kind::GroupInOut
            | Kind::DatatypeInOut
            | Kind::OpInOut
            | Kind::MessageInOut
            | Kind::ErrhandlerInOut
            | Kind::InfoInOut
            | Kind::WinInOut
    )
}

/// Checks whether C passes an argument of this kind as a number.
fn is_value(kind: Kind) -> bool {
    let spelling = kind.c();
    let is_pointer = spelling.before.contains('*') || spelling.after.contains('[');
    !is_pointer && kind != Kind::Double
}

/// Kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A call begins.
    Enter,
    /// A call ends.
    Leave,
    /// A communicator was created.
    Communicator,
    /// A group was created.
    Group,
    /// Values of the counters.
    Counters,
    /// The program has accessed a buffer of a pending request.
    Access,
    /// A datatype was created.
    Datatype,
    /// The source line of an address in the records of a Rust program.
    SourceLine,
}

impl RecordKind {
    fn from_word(word: u64) -> Option<Self> {
        Some(match word & 0xff {
            1 => Self::Enter,
            2 => Self::Leave,
            3 => Self::Communicator,
            4 => Self::Group,
            5 => Self::Counters,
            6 => Self::Access,
            7 => Self::Datatype,
            8 => Self::SourceLine,
            _ => return None,
        })
    }
}

/// A stream does not follow the format: the program has overwritten it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorruptStream {
    /// Index of the word.
    pub word: usize,
}

/// Reader of a stream's words.
#[derive(Clone, Debug)]
pub(crate) struct WordReader<'w> {
    words: &'w [u64],
    at: usize,
}

impl<'w> WordReader<'w> {
    pub(crate) fn new(words: &'w [u64]) -> Self {
        Self { words, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.words.len()
    }

    pub(crate) fn corrupt(&self) -> CorruptStream {
        CorruptStream { word: self.at }
    }

    pub(crate) fn word(&mut self) -> Result<u64, CorruptStream> {
        let word = *self.words.get(self.at).ok_or(self.corrupt())?;
        self.at += 1;
        Ok(word)
    }

    pub(crate) fn value(&mut self) -> Result<i64, CorruptStream> {
        Ok(self.word()? as i64)
    }

    pub(crate) fn list(&mut self) -> Result<Vec<i64>, CorruptStream> {
        let length = usize::try_from(self.word()?).map_err(|_| self.corrupt())?;
        let end = self.at.checked_add(length).ok_or(self.corrupt())?;
        let words = self.words.get(self.at..end).ok_or(self.corrupt())?;
        self.at = end;
        Ok(words.iter().map(|word| *word as i64).collect())
    }

    /// Reads a text: its length in bytes, and words with its bytes.
    pub(crate) fn text(&mut self) -> Result<String, CorruptStream> {
        let length = usize::try_from(self.word()?).map_err(|_| self.corrupt())?;
        let end = self.at.checked_add(length.div_ceil(8)).ok_or(self.corrupt())?;
        let words = self.words.get(self.at..end).ok_or(self.corrupt())?;
        self.at = end;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(length).collect();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the head of a record: kind, function and time.
    pub(crate) fn head(&mut self) -> Result<RecordHead, CorruptStream> {
        let word = self.word()?;
        let kind = RecordKind::from_word(word).ok_or(CorruptStream { word: self.at - 1 })?;
        Ok(RecordHead {
            kind,
            function: (word >> 8) as usize,
            time: self.word()?,
        })
    }

    /// Reads the fields of a phase.
    pub(crate) fn fields(&mut self, function: &Function, phase: Phase) -> Result<Vec<Argument>, CorruptStream> {
        fields(function, phase)
            .map(|field| {
                let words = match field.form.words() {
                    Some(count) => (0..count).map(|_| self.value()).collect::<Result<_, _>>()?,
                    None => self.list()?,
                };
                Ok(Argument {
                    parameter: field.parameter,
                    words,
                })
            })
            .collect()
    }
}

/// First words of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHead {
    pub(crate) kind: RecordKind,
    pub(crate) function: usize,
    pub(crate) time: u64,
}

/// A recorded argument with its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Index of the parameter.
    pub parameter: usize,
    /// Its value, or the elements of a list.
    pub words: Vec<i64>,
}
