//! Errors of MPI calls with their parameters, and MPI's error classes (MPI-3.1 section 8.4).
#![forbid(unsafe_code)]

use core::fmt;

use midplane_device::OutOfMemory;
use midplane_device::envelope::Tag;

/// An error class. The discriminants are the values in `mpi.h` (MPI-5.0 chapter 20). An error code of this implementation
/// is its class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
#[allow(missing_docs)] // The names are MPI's; `description` describes each.
pub enum ErrorClass {
    Success = 0,
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Unknown = 14,
    Truncate = 15,
    Other = 16,
    Intern = 17,
    Pending = 18,
    InStatus = 19,
    Access = 20,
    Amode = 21,
    Assert = 22,
    BadFile = 23,
    Base = 24,
    Conversion = 25,
    Disp = 26,
    DupDatarep = 27,
    FileExists = 28,
    FileInUse = 29,
    File = 30,
    InfoKey = 31,
    InfoNokey = 32,
    InfoValue = 33,
    Info = 34,
    Io = 35,
    Keyval = 36,
    Locktype = 37,
    Name = 38,
    NoMem = 39,
    NotSame = 40,
    NoSpace = 41,
    NoSuchFile = 42,
    Port = 43,
    Quota = 44,
    ReadOnly = 45,
    RmaAttach = 46,
    RmaConflict = 47,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Service = 51,
    Size = 52,
    Spawn = 53,
    UnsupportedDatarep = 54,
    UnsupportedOperation = 55,
    Win = 56,
    RmaFlavor = 57,
    ProcAborted = 58,
    ValueTooLarge = 59,
    Session = 60,
    Errhandler = 61,
    Abi = 62,
}

/// Number of classes, including success.
pub const CLASSES: usize = 63;

impl ErrorClass {
    /// Returns the class with value `code`, if there is one.
    pub fn from_code(code: i32) -> Option<ErrorClass> {
        use ErrorClass::*;
        const ALL: [ErrorClass; CLASSES] = [
            Success,
            Buffer,
            Count,
            Type,
            Tag,
            Comm,
            Rank,
            Request,
            Root,
            Group,
            Op,
            Topology,
            Dims,
            Arg,
            Unknown,
            Truncate,
            Other,
            Intern,
            Pending,
            InStatus,
            Access,
            Amode,
            Assert,
            BadFile,
            Base,
            Conversion,
            Disp,
            DupDatarep,
            FileExists,
            FileInUse,
            File,
            InfoKey,
            InfoNokey,
            InfoValue,
            Info,
            Io,
            Keyval,
            Locktype,
            Name,
            NoMem,
            NotSame,
            NoSpace,
            NoSuchFile,
            Port,
            Quota,
            ReadOnly,
            RmaAttach,
            RmaConflict,
            RmaRange,
            RmaShared,
            RmaSync,
            Service,
            Size,
            Spawn,
            UnsupportedDatarep,
            UnsupportedOperation,
            Win,
            RmaFlavor,
            ProcAborted,
            ValueTooLarge,
            Session,
            Errhandler,
            Abi,
        ];
        ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// Returns the MPI name and description, as MPI_Error_string returns them.
    pub const fn description(self) -> &'static str {
        match self {
            ErrorClass::Success => "MPI_SUCCESS: no error",
            ErrorClass::Buffer => "MPI_ERR_BUFFER: invalid or missing buffer",
            ErrorClass::Count => "MPI_ERR_COUNT: invalid count",
            ErrorClass::Type => "MPI_ERR_TYPE: invalid datatype",
            ErrorClass::Tag => "MPI_ERR_TAG: invalid tag",
            ErrorClass::Comm => "MPI_ERR_COMM: invalid communicator",
            ErrorClass::Rank => "MPI_ERR_RANK: invalid rank",
            ErrorClass::Request => "MPI_ERR_REQUEST: invalid request",
            ErrorClass::Root => "MPI_ERR_ROOT: invalid root",
            ErrorClass::Group => "MPI_ERR_GROUP: invalid group",
            ErrorClass::Op => "MPI_ERR_OP: invalid reduction operation, or not defined for the datatype",
            ErrorClass::Topology => "MPI_ERR_TOPOLOGY: invalid topology",
            ErrorClass::Dims => "MPI_ERR_DIMS: invalid dimensions",
            ErrorClass::Arg => "MPI_ERR_ARG: invalid argument",
            ErrorClass::Unknown => "MPI_ERR_UNKNOWN: unknown error",
            ErrorClass::Truncate => "MPI_ERR_TRUNCATE: message longer than the receive buffer",
            ErrorClass::Other => "MPI_ERR_OTHER: error that has no class of its own",
            ErrorClass::Intern => "MPI_ERR_INTERN: internal error of the MPI implementation",
            ErrorClass::Pending => "MPI_ERR_PENDING: request neither failed nor complete",
            ErrorClass::InStatus => "MPI_ERR_IN_STATUS: the error codes are in the statuses",
            ErrorClass::Access => "MPI_ERR_ACCESS: permission denied",
            ErrorClass::Amode => "MPI_ERR_AMODE: invalid access mode",
            ErrorClass::Assert => "MPI_ERR_ASSERT: invalid assert argument",
            ErrorClass::BadFile => "MPI_ERR_BAD_FILE: invalid file name",
            ErrorClass::Base => "MPI_ERR_BASE: not memory that MPI_Alloc_mem gave",
            ErrorClass::Conversion => "MPI_ERR_CONVERSION: a data conversion function failed",
            ErrorClass::Disp => "MPI_ERR_DISP: invalid displacement",
            ErrorClass::DupDatarep => "MPI_ERR_DUP_DATAREP: the data representation is defined already",
            ErrorClass::FileExists => "MPI_ERR_FILE_EXISTS: the file exists",
            ErrorClass::FileInUse => "MPI_ERR_FILE_IN_USE: the file is open",
            ErrorClass::File => "MPI_ERR_FILE: invalid file handle",
            ErrorClass::InfoKey => "MPI_ERR_INFO_KEY: the key is too long, or empty",
            ErrorClass::InfoNokey => "MPI_ERR_INFO_NOKEY: the info object has no such key",
            ErrorClass::InfoValue => "MPI_ERR_INFO_VALUE: the value is too long",
            ErrorClass::Info => "MPI_ERR_INFO: invalid info object",
            ErrorClass::Io => "MPI_ERR_IO: other input or output error",
            ErrorClass::Keyval => "MPI_ERR_KEYVAL: invalid attribute key",
            ErrorClass::Locktype => "MPI_ERR_LOCKTYPE: invalid lock type",
            ErrorClass::Name => "MPI_ERR_NAME: the service name is not published",
            ErrorClass::NoMem => "MPI_ERR_NO_MEM: memory used up",
            ErrorClass::NotSame => "MPI_ERR_NOT_SAME: the processes' arguments differ",
            ErrorClass::NoSpace => "MPI_ERR_NO_SPACE: no space left",
            ErrorClass::NoSuchFile => "MPI_ERR_NO_SUCH_FILE: there is no such file",
            ErrorClass::Port => "MPI_ERR_PORT: invalid port name",
            ErrorClass::Quota => "MPI_ERR_QUOTA: quota exceeded",
            ErrorClass::ReadOnly => "MPI_ERR_READ_ONLY: the file or the file system is read-only",
            ErrorClass::RmaAttach => "MPI_ERR_RMA_ATTACH: memory cannot be attached",
            ErrorClass::RmaConflict => "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
            ErrorClass::RmaRange => "MPI_ERR_RMA_RANGE: target memory is not part of the window",
            ErrorClass::RmaShared => "MPI_ERR_RMA_SHARED: memory cannot be shared",
            ErrorClass::RmaSync => "MPI_ERR_RMA_SYNC: wrong synchronization of one-sided calls",
            ErrorClass::Service => "MPI_ERR_SERVICE: invalid service name",
            ErrorClass::Size => "MPI_ERR_SIZE: invalid size",
            ErrorClass::Spawn => "MPI_ERR_SPAWN: processes could not be started",
            ErrorClass::UnsupportedDatarep => "MPI_ERR_UNSUPPORTED_DATAREP: data representation not supported",
            ErrorClass::UnsupportedOperation => "MPI_ERR_UNSUPPORTED_OPERATION: not supported here",
            ErrorClass::Win => "MPI_ERR_WIN: invalid window",
            ErrorClass::RmaFlavor => "MPI_ERR_RMA_FLAVOR: the window has the wrong flavor",
            ErrorClass::ProcAborted => "MPI_ERR_PROC_ABORTED: a peer process has aborted",
            ErrorClass::ValueTooLarge => "MPI_ERR_VALUE_TOO_LARGE: the value does not fit in the result",
            ErrorClass::Session => "MPI_ERR_SESSION: invalid session",
            ErrorClass::Errhandler => "MPI_ERR_ERRHANDLER: invalid error handler",
            ErrorClass::Abi => "MPI_ERR_ABI: the call does not fit the ABI",
        }
    }
}

/// The reason that a call failed. Each fallible call of this library documents its errors, and has no partial effect on
/// failure unless documented. `W` is the type of the message strings. Outside the process that failed, the strings are
/// read from its error record ([`Error::encode`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error<W = &'static str> {
    /// A rank that the communicator does not contain.
    Rank {
        /// Specified rank.
        rank: i64,
        /// Size of the communicator.
        size: u32,
    },
    /// A root that the communicator does not contain.
    Root {
        /// Specified root.
        root: i64,
        /// Size of the communicator.
        size: u32,
    },
    /// A rank that the remote group of an intercommunicator does not contain.
    RemoteRank {
        /// Specified rank.
        rank: i64,
        /// Size of the remote group.
        size: u32,
    },
    /// A root that the remote group of an intercommunicator does not contain.
    RemoteRoot {
        /// Specified root.
        root: i64,
        /// Size of the remote group.
        size: u32,
    },
    /// A tag below 0.
    Tag {
        /// Specified tag.
        tag: Tag,
    },
    /// A negative count.
    Count {
        /// Specified count.
        count: i64,
    },
    /// A message of 4 GiB or more.
    TooLong {
        /// Length in bytes.
        bytes: usize,
    },
    /// The send buffer and the receive buffer of a collective have different lengths.
    Lengths {
        /// Bytes that the other buffer requires.
        expected: usize,
        /// Bytes of the specified buffer.
        given: usize,
    },
    /// Another process of a collective used a count that does not match this process's count.
    CountsDiffer {
        /// Communicator rank of the sender; it may forward other processes' data.
        rank: u32,
        /// Bytes that this process's count specifies.
        expected: usize,
        /// Bytes received; `None`: more than expected.
        given: Option<usize>,
    },
    /// Like [`Error::CountsDiffer`], from a process of the local group in a collective of an intercommunicator.
    LocalDiffers {
        /// Rank of the sender in its group; it may forward other processes' data.
        rank: u32,
        /// Bytes that this process's count specifies.
        expected: usize,
        /// Bytes received; `None`: more than expected.
        given: Option<usize>,
    },
    /// Like [`Error::LocalDiffers`], from a process of the remote group.
    // A separate variant: a flag next to the rank would force bytewise copies of every error.
    RemoteDiffers {
        /// Rank of the sender in its group; it may forward other processes' data.
        rank: u32,
        /// Bytes that this process's count specifies.
        expected: usize,
        /// Bytes received; `None`: more than expected.
        given: Option<usize>,
    },
    /// The message was longer than the receive buffer. The buffer contains its beginning; the rest is lost.
    Truncated {
        /// Rank of the sender.
        source: u32,
        /// Tag of the message.
        tag: Tag,
        /// Size of the receive buffer in bytes; all of it was received.
        room: usize,
    },
    /// Out of memory. Receive a message, complete a request or free heap memory, then retry.
    NoMemory(OutOfMemory),
    /// The program's heap has no space for a copy that this call needs.
    NoSpace {
        /// Bytes of the copy.
        bytes: usize,
    },
    /// The heap of another process has no space for its part of a collectively created object.
    NoSpaceElsewhere,
    /// The attached buffer has no space for a buffered send.
    BufferFull {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of the attached buffer.
        size: usize,
        /// Bytes of it that contain messages in transit.
        used: usize,
    },
    /// No buffer is attached, or one is attached already.
    Buffer {
        /// Description of the error.
        what: W,
    },
    /// A limit of this library is exceeded.
    Limit {
        /// Limited resource.
        what: LimitedResource,
        /// Maximum number.
        limit: usize,
    },
    /// An invalid attribute key.
    Keyval {
        /// The key.
        keyval: i32,
    },
    /// An operation that is not defined for the datatype.
    Undefined,
    /// A null pointer where a buffer of elements is required.
    NullBuffer,
    /// A null pointer for a result.
    NullArgument {
        /// Argument name in the standard.
        name: W,
    },
    /// An invalid datatype handle.
    Datatype {
        /// The handle.
        handle: i32,
    },
    /// An uncommitted datatype.
    Uncommitted {
        /// The handle.
        handle: i32,
    },
    /// A feature that this library does not support.
    Unsupported {
        /// Description of the feature.
        what: W,
    },
    /// An invalid communicator handle.
    Communicator {
        /// The handle.
        handle: i32,
    },
    /// An invalid group handle, or a group with members outside the communicator.
    Group {
        /// The handle.
        handle: i32,
    },
    /// Invalid extents of a grid.
    Dims {
        /// Description of the error.
        what: W,
    },
    /// An invalid operation handle.
    Operation {
        /// The handle.
        handle: i32,
    },
    /// A handle of no request, or of a completed one.
    Request {
        /// The handle.
        handle: i32,
    },
    /// Another invalid argument.
    Argument {
        /// Description of the error.
        what: W,
    },
    /// MPI_IN_PLACE where the standard does not allow it.
    InPlace,
    /// Errors of several requests: each status contains its own error.
    InStatus {
        /// Number of failed requests.
        failed: usize,
        /// Class of the first failure.
        first: ErrorClass,
    },
    /// An error that the program raised, by MPI_Comm_call_errhandler or by the result of a callback.
    Raised {
        /// Class of the code; [`ErrorClass::Other`] for a user-defined code.
        class: ErrorClass,
        /// Code that the program specified.
        code: i32,
    },
    /// An error without parameters.
    Wrong {
        /// Class of the error.
        class: ErrorClass,
        /// Description of the error.
        what: W,
    },
    /// A call before MPI_Init or after MPI_Finalize, or a second call of one of these two.
    Order {
        /// Kind of misplaced call.
        what: CallOrder,
    },
    /// A datatype whose size or displacements exceed the address range.
    TooLarge,
}

macro_rules! worded {
    ($(#[$doc:meta])* $name:ident { $($variant:ident: $words:literal,)* }) => {
        $(#[$doc])*
        // 32 bits like other fields of an error: a one-byte field would force bytewise copies of every error.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum $name {
            $(#[doc = concat!($words, ".")] $variant,)*
        }

        impl $name {
            /// All variants, indexed by their value.
            pub(super) const ALL: &[Self] = &[$(Self::$variant),*];

            const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)*
                }
            }
        }
    };
}

worded! {
    /// Resources with an upper limit.
    LimitedResource {
        Datatypes: "datatypes of the program's own at one time",
        DatatypeLevels: "levels of datatypes made of datatypes",
        Collectives: "collectives that have been started and not completed",
        PersistentRequests: "persistent requests",
        GeneralizedRequests: "generalized requests",
        CompoundRequests: "requests of send-receives",
        FlushRequests: "requests of buffer flushes",
        Sessions: "sessions at one time",
        Files: "open files",
        WindowRequests: "requests of windows and files",
        Windows: "windows at one time",
        Keyvals: "attribute keys",
        Operations: "operations of the program's own",
        Communicators: "communicators at one time, MPI_COMM_WORLD and MPI_COMM_SELF among them",
        Groups: "groups",
        Infos: "info objects",
        ErrorHandlers: "error handlers of the program's own",
        ErrorCodes: "error classes and codes of the program's own",
        Dimensions: "dimensions of a grid",
    }
}

worded! {
    /// Reason that a call is not allowed at this time.
    CallOrder {
        BeforeRuntime: "called before the runtime has started",
        NotRunning: "called before MPI has been started, or after its end",
        WithoutProcess: "called without a process",
        BeforeInit: "called before MPI_Init",
        AfterFinalize: "called after MPI_Finalize",
        Twice: "called a second time",
        Again: "called after MPI_Finalize; MPI cannot start twice",
        AfterProcess: "called after the end of the process that this object belongs to",
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Error::NoMemory(error)
    }
}

impl Error {
    /// [`Error::Argument`].
    pub const fn argument(what: &'static str) -> Error {
        Error::Argument { what }
    }

    /// [`Error::Order`].
    pub const fn order(what: CallOrder) -> Error {
        Error::Order { what }
    }
}

impl<W> Error<W> {
    /// Returns the error code of a call: the class, or the code that the program raised.
    pub const fn code(&self) -> i32 {
        match self {
            Error::Raised { code, .. } => *code,
            _ => self.class() as i32,
        }
    }

    /// Returns the MPI error class.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Error::Rank { .. } | Error::RemoteRank { .. } => ErrorClass::Rank,
            Error::Root { .. } | Error::RemoteRoot { .. } => ErrorClass::Root,
            Error::Tag { .. } => ErrorClass::Tag,
            Error::Count { .. } | Error::TooLong { .. } => ErrorClass::Count,
            Error::Truncated { .. }
            | Error::Lengths { .. }
            | Error::CountsDiffer { .. }
            | Error::LocalDiffers { .. }
            | Error::RemoteDiffers { .. } => ErrorClass::Truncate,
            Error::NoMemory(_) | Error::NoSpace { .. } | Error::NoSpaceElsewhere => ErrorClass::NoMem,
            Error::Limit { .. } => ErrorClass::Other,
            Error::Keyval { .. } => ErrorClass::Keyval,
            Error::Undefined | Error::Operation { .. } => ErrorClass::Op,
            Error::NullBuffer | Error::InPlace | Error::BufferFull { .. } | Error::Buffer { .. } => ErrorClass::Buffer,
            Error::NullArgument { .. } | Error::Argument { .. } | Error::TooLarge => ErrorClass::Arg,
            Error::Datatype { .. } | Error::Uncommitted { .. } => ErrorClass::Type,
            Error::Unsupported { .. } => ErrorClass::UnsupportedOperation,
            Error::Communicator { .. } => ErrorClass::Comm,
            Error::Dims { .. } => ErrorClass::Dims,
            Error::Group { .. } => ErrorClass::Group,
            Error::Request { .. } => ErrorClass::Request,
            Error::InStatus { .. } => ErrorClass::InStatus,
            Error::Raised { class, .. } | Error::Wrong { class, .. } => *class,
            Error::Order { .. } => ErrorClass::Other,
        }
    }
}

const REMOTE_GROUP: &str = "remote group";

fn no_rank(f: &mut fmt::Formatter<'_>, what: &str, rank: i64, group: &str, size: u32) -> fmt::Result {
    write!(
        f,
        "there is no {what} {rank}: the {group} has ranks 0 to {}",
        size.saturating_sub(1)
    )
}

fn counts_differ(
    f: &mut fmt::Formatter<'_>,
    rank: u32,
    group: &str,
    expected: usize,
    given: Option<usize>,
) -> fmt::Result {
    write!(f, "the processes gave different counts: rank {rank}{group} sent ")?;
    match given {
        Some(given) => write!(f, "{given} bytes")?,
        None => f.write_str("more")?,
    }
    write!(f, " where {expected} bytes are expected here (MPI-3.1 section 5.1)")
}

/// Null handles, with the values of `mpi.h`.
const COMM_NULL: i32 = 0x100;
const NULL_HANDLES: [(i32, &str); 6] = [
    (COMM_NULL, "MPI_COMM_NULL"),
    (0x108, "MPI_GROUP_NULL"),
    (0x200, "MPI_DATATYPE_NULL"),
    (0x020, "MPI_OP_NULL"),
    (0x180, "MPI_REQUEST_NULL"),
    (0x128, "MPI_MESSAGE_NULL"),
];

/// Formats a C handle: a null handle by its name, another one in hexadecimal.
struct HandleText(i32);

impl fmt::Display for HandleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NULL_HANDLES.iter().find(|(handle, _)| *handle == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{:#010x}", self.0),
        }
    }
}

impl<W: AsRef<str> + Copy> fmt::Display for Error<W> {
    // One table of all messages, longer than a screen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Rank { rank, size } => no_rank(f, "rank", rank, "communicator", size),
            Error::Root { root, size } => no_rank(f, "root", root, "communicator", size),
            Error::RemoteRank { rank, size } => no_rank(f, "rank", rank, REMOTE_GROUP, size),
            Error::RemoteRoot { root, size } => no_rank(f, "root", root, REMOTE_GROUP, size),
            Error::Tag { tag } => write!(f, "tag {tag}: a tag is from 0 to {}", Tag::MAX),
            Error::Count { count } => write!(f, "count {count}: a count is not negative"),
            Error::TooLong { bytes } => {
                write!(f, "a message of {bytes} bytes: the most is {}; send it in parts", u32::MAX)
            }
            Error::Lengths { expected, given } => {
                write!(f, "a buffer of {given} bytes where the other calls for {expected}")
            }
            Error::CountsDiffer { rank, expected, given } => counts_differ(f, rank, "", expected, given),
            Error::LocalDiffers { rank, expected, given } => {
                counts_differ(f, rank, " of the local group", expected, given)
            }
            Error::RemoteDiffers { rank, expected, given } => {
                counts_differ(f, rank, " of the remote group", expected, given)
            }
            Error::Truncated { source, tag, room } => write!(
                f,
                "the message from rank {source} with tag {tag} is longer than the receive buffer of {room} bytes; \
                 receive it into a larger one (MPI_Probe and MPI_Get_count tell the length)"
            ),
            Error::NoMemory(OutOfMemory::Requests { live }) => write!(
                f,
                "the program's heap has no room for another request ({live} are live); complete some, free \
                 memory, or give the node more with --node-memory"
            ),
            Error::NoMemory(OutOfMemory::ProbeRecord) => f.write_str(
                "the program's heap has no room to remember one more probe; free memory, or give the \
                 node more with --node-memory",
            ),
            Error::NoMemory(OutOfMemory::Start { bytes }) => {
                write!(f, "the node's memory has no room for the {bytes} bytes of MPI memory and peer table")
            }
            Error::NoSpace { bytes } => write!(
                f,
                "the program's heap has no room for a copy of {bytes} bytes; free memory, or give the node more \
                 with --node-memory"
            ),
            Error::NoSpaceElsewhere => f.write_str(
                "the heap of another process of the communicator has no room for its part of the new one; free \
                 memory there, or give the nodes more with --node-memory",
            ),
            Error::BufferFull { bytes, size, used } => write!(
                f,
                "a message of {bytes} bytes does not fit into the attached buffer of {size} bytes, of which {used} \
                 hold messages on their way; attach a larger one with MPI_Buffer_attach"
            ),
            Error::Limit { what, limit } => {
                write!(f, "there can be no more than {limit} {}; free some", what.description())
            }
            Error::Keyval { keyval } => write!(f, "{keyval:#010x} is no attribute key"),
            Error::Undefined => f.write_str("the operation is not defined for this datatype (MPI-3.1 section 5.9.2)"),
            Error::NullBuffer => f.write_str("a null pointer as the buffer of elements"),
            Error::NullArgument { name } => write!(f, "a null pointer as {}", name.as_ref()),
            Error::Datatype { handle } => {
                write!(f, "{} is no datatype, or one that has been freed", HandleText(handle))
            }
            Error::Uncommitted { handle } => {
                write!(f, "the datatype {handle:#010x} has not been committed; MPI_Type_commit comes first")
            }
            Error::Unsupported { what } => f.write_str(what.as_ref()),
            Error::Communicator { handle: COMM_NULL } => f.write_str(
                "MPI_COMM_NULL is no communicator: a process gets it that is not in the new one (MPI-3.1 section 6.4.2), \
                 or frees its own",
            ),
            Error::Communicator { handle } => {
                write!(f, "{} is no communicator of this job", HandleText(handle))
            }
            Error::Group { handle } => write!(
                f,
                "{} is no group, or not one of processes of this communicator",
                HandleText(handle)
            ),
            Error::Operation { handle } => write!(f, "{} is no reduction operation", HandleText(handle)),
            Error::Request { handle } => {
                write!(f, "{} is no request, or one that has completed already", HandleText(handle))
            }
            Error::Argument { what } | Error::Buffer { what } | Error::Dims { what } => f.write_str(what.as_ref()),
            Error::InPlace => f.write_str("MPI_IN_PLACE is not allowed here (MPI-3.1 section 5.2.1)"),
            Error::InStatus { failed, first } => {
                write!(f, "{failed} of the requests failed, the first with {}", first.description())
            }
            Error::Raised { code, .. } => write!(f, "raised by the program, with code {code}"),
            Error::Wrong { what, .. } => f.write_str(what.as_ref()),
            Error::Order { what } => f.write_str(what.description()),
            Error::TooLarge => {
                f.write_str("a datatype of more bytes, or with greater distances, than an address can say")
            }
        }
    }
}

impl<W: AsRef<str> + Copy + fmt::Debug> core::error::Error for Error<W> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_says_that_counts_differ_and_nothing_of_its_messages() {
        for (given, word) in [(Some(16), "sent 16 bytes"), (None, "sent more")] {
            let error: Error = Error::CountsDiffer {
                rank: 3,
                expected: 4,
                given,
            };
            let text = error.to_string();
            for wanted in ["different counts", "rank 3", word, "4 bytes are expected"] {
                assert!(text.contains(wanted), "{text}");
            }
            assert!(!text.contains("tag") && !text.contains("MPI_Probe"), "{text}");
            assert_eq!(error.class(), ErrorClass::Truncate);
        }
    }

    #[test]
    fn across_groups_it_says_whose_rank_is_meant() {
        let (rank, expected, given) = (2, 4, Some(8));
        let texts: [Error; 4] = [
            Error::LocalDiffers { rank, expected, given },
            Error::RemoteDiffers { rank, expected, given },
            Error::RemoteRank { rank: 7, size: 3 },
            Error::RemoteRoot { root: -4, size: 3 },
        ];
        for (error, words) in texts.iter().zip([
            "rank 2 of the local group sent 8 bytes",
            "rank 2 of the remote group sent 8 bytes",
            "no rank 7: the remote group has ranks 0 to 2",
            "no root -4: the remote group has ranks 0 to 2",
        ]) {
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(size_of::<Error>(), 32, "copied with every result");
    }

    #[test]
    fn classes_read_back_from_their_codes() {
        for code in 0..CLASSES as i32 {
            let class = ErrorClass::from_code(code).expect("a class");
            assert_eq!(class as i32, code);
            assert!(class.description().starts_with("MPI_") && class.description().len() < 160);
        }
        assert_eq!(ErrorClass::from_code(CLASSES as i32), None);
        assert_eq!(ErrorClass::from_code(-1), None);
    }
}
