//! Arguments of a collective in the records of the calls, in the order of its MPI function (MPI-3.1 chapter 5).
#![forbid(unsafe_code)]

use crate::Count;
use crate::datatype::operands::CollectiveBuffer;
use crate::datatype::user::DatatypeKind;
use crate::recording::Fields;
use crate::topology::CommRecord;

/// Arguments of a collective.
pub(super) struct RecordedArguments<'r> {
    pub(super) communicator: &'r CommRecord,
    /// 0 without a root; -1: the specified root does not exist.
    pub(super) root: i64,
    pub(super) operation: i64,
    pub(super) sent: RecordedBuffer<'r>,
    pub(super) received: RecordedBuffer<'r>,
}

/// Send or receive side of a collective.
#[derive(Clone, Copy)]
pub(super) struct RecordedBuffer<'r> {
    address: usize,
    /// Number and kind of all elements; `None` without a buffer, and for a list of buffers.
    shape: Option<(usize, DatatypeKind<'r>)>,
    /// Number of parts.
    parts: usize,
    /// Elements of different parts.
    counts: &'r [i64],
}

impl<'r> RecordedBuffer<'r> {
    /// Describes a buffer that consists of parts for this many processes.
    pub(super) fn new(buffer: &'r impl CollectiveBuffer, parts: usize) -> Self {
        RecordedBuffer {
            address: buffer.buffer().cast::<()>().addr(),
            shape: buffer.shape(),
            parts,
            #[cfg(feature = "options")]
            counts: buffer.counts(),
            #[cfg(not(feature = "options"))]
            counts: &[],
        }
    }

    /// Adds the address, or MPI_IN_PLACE.
    fn add_address(self, fields: &mut Fields) {
        match self.shape {
            Some(_) => fields.value(self.address as i64),
            None => fields.in_place(),
        };
    }

    fn add_datatype(self, fields: &mut Fields) {
        fields.datatype(self.shape.map(|(_, kind)| kind));
    }

    /// Returns the elements of each of so many parts.
    fn count(self, parts: usize) -> i64 {
        self.shape
            .map_or(0, |(count, _)| (count / parts.max(1)) as Count)
            .into()
    }

    /// Adds address, count and datatype of a buffer in one part.
    fn add_whole(self, fields: &mut Fields) {
        self.add_address(fields);
        fields.value(self.count(1));
        self.add_datatype(fields);
    }

    /// The same for a buffer in equal parts.
    fn add_equal_parts(self, fields: &mut Fields) {
        self.add_address(fields);
        fields.value(self.count(self.parts));
        self.add_datatype(fields);
    }

    /// Adds address, counts, displacements and datatype of a buffer in different parts.
    fn add_different_parts(self, fields: &mut Fields, lists: Lists) {
        self.add_address(fields);
        match lists {
            // The displacements are unknown to the checks.
            Lists::Recorded => fields.list(self.counts.iter().copied()).list([]),
            Lists::Omitted => fields.unknown(2),
        };
        self.add_datatype(fields);
    }
}

/// Form of lists with an element for each partner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Recorded,
    /// Of neighbourhood collectives: the tool does not know the number of neighbours.
    Omitted,
}

impl RecordedArguments<'_> {
    /// Adds the arguments of the MPI function with this name, without the request of a nonblocking one.
    pub(super) fn add(&self, function: &str, fields: &mut Fields) {
        let name = function.strip_prefix("MPI_").unwrap_or(function);
        let name = name.strip_prefix('I').unwrap_or(name);
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        let (sent, received) = (self.sent, self.received);
        let (collective, lists) = match name.get(.."neighbor_".len()) {
            Some(prefix) if prefix.eq_ignore_ascii_case("neighbor_") => (&name[prefix.len()..], Lists::Omitted),
            _ => (name, Lists::Recorded),
        };
        let kind = COLLECTIVES
            .iter()
            .find(|(known, _)| collective.eq_ignore_ascii_case(known));
        match kind.map(|(_, kind)| kind) {
            Some(Arguments::None) | None => {}
            Some(Arguments::OneBuffer) => self.data().add_whole(fields),
            Some(Arguments::Parts {
                sent: out,
                received: into,
            }) => {
                add_side(sent, *out, fields, lists);
                add_side(received, *into, fields, lists);
            }
            Some(Arguments::Reduction(count)) => {
                sent.add_address(fields);
                received.add_address(fields);
                match count {
                    ReductionCount::All => fields.value(self.data().count(1)),
                    ReductionCount::Part if received.shape.is_some() && sent.shape.is_some() => {
                        fields.value(received.count(1))
                    }
                    ReductionCount::Part => fields.value(self.data().count(received.parts)),
                    ReductionCount::List if sent.counts.is_empty() => fields.list(received.counts.iter().copied()),
                    ReductionCount::List => fields.list(sent.counts.iter().copied()),
                };
                self.data().add_datatype(fields);
                fields.value(self.operation);
            }
        }
        if ["bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"]
            .into_iter()
            .any(is)
        {
            fields.value(self.root);
        }
        fields.communicator(self.communicator);
    }

    /// Returns the side with the elements of this process.
    fn data(&self) -> RecordedBuffer<'_> {
        if self.sent.shape.is_some() {
            self.sent
        } else {
            self.received
        }
    }
}

/// Division of a side.
#[derive(Clone, Copy)]
enum Side {
    Whole,
    Equal,
    Different,
    /// With a datatype for each part.
    Typed,
}

fn add_side(buffer: RecordedBuffer<'_>, side: Side, fields: &mut Fields, lists: Lists) {
    match (side, lists) {
        (Side::Whole, _) => buffer.add_whole(fields),
        (Side::Equal, _) => buffer.add_equal_parts(fields),
        (Side::Different, _) => buffer.add_different_parts(fields, lists),
        (Side::Typed, Lists::Recorded) => {
            buffer.add_address(fields);
            fields.list([]).list([]).list([]);
        }
        (Side::Typed, Lists::Omitted) => {
            buffer.add_address(fields);
            fields.unknown(3);
        }
    }
}

/// Arguments before the root and the communicator.
enum Arguments {
    None,
    OneBuffer,
    Parts {
        sent: Side,
        received: Side,
    },
    /// Both buffers, and count, datatype and operation.
    Reduction(ReductionCount),
}

/// Count of a reduction.
enum ReductionCount {
    All,
    /// Elements of each process's part of the result.
    Part,
    /// The same for different parts.
    List,
}

const fn parts(sent: Side, received: Side) -> Arguments {
    Arguments::Parts { sent, received }
}

/// Collectives without the prefix of a nonblocking or neighbourhood form.
const COLLECTIVES: [(&str, Arguments); 17] = [
    ("barrier", Arguments::None),
    ("bcast", Arguments::OneBuffer),
    ("gather", parts(Side::Whole, Side::Equal)),
    ("gatherv", parts(Side::Whole, Side::Different)),
    ("scatter", parts(Side::Equal, Side::Whole)),
    ("scatterv", parts(Side::Different, Side::Whole)),
    ("allgather", parts(Side::Whole, Side::Equal)),
    ("allgatherv", parts(Side::Whole, Side::Different)),
    ("alltoall", parts(Side::Equal, Side::Equal)),
    ("alltoallv", parts(Side::Different, Side::Different)),
    ("alltoallw", parts(Side::Typed, Side::Typed)),
    ("reduce", Arguments::Reduction(ReductionCount::All)),
    ("allreduce", Arguments::Reduction(ReductionCount::All)),
    ("scan", Arguments::Reduction(ReductionCount::All)),
    ("exscan", Arguments::Reduction(ReductionCount::All)),
    ("reduce_scatter_block", Arguments::Reduction(ReductionCount::Part)),
    ("reduce_scatter", Arguments::Reduction(ReductionCount::List)),
];
