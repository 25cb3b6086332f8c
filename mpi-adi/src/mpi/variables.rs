//! Variables of the device and its carrier, for tools (MPI-3.1 section 14.3): what a job's options set, and what there is
//! at the moment. Reading one is one look.
#![forbid(unsafe_code)]

use crate::Adi;
use crate::device::kernel::Kernel;
use crate::device::matching::Choice;

/// What a variable is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// Messages, and the packets of their protocol.
    Protocol,
    /// Queues of receives and messages, and searches of them.
    Matching,
    /// MPI memory and the heap.
    Memory,
    /// Links, and time.
    Node,
}

/// A variable: what it is, and its value.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) category: Category,
    pub(crate) get: fn(&Adi, &dyn Kernel) -> u64,
}

/// What a job's options set.
pub(crate) const CONTROL: [Variable; 4] = [
    Variable {
        name: "mpi_memory",
        meaning: "Bytes for messages that come before their receives (--mpi-memory).",
        category: Category::Memory,
        get: |adi, _| adi.region().bytes() as u64,
    },
    Variable {
        name: "heap",
        meaning: "Bytes of the program's heap; 0: not known (--node-memory).",
        category: Category::Memory,
        get: |_, kernel| kernel.heap().map_or(0, |heap| heap.bytes as u64),
    },
    Variable {
        name: "matching_engine",
        meaning: "How receives and messages find each other (--matching).",
        category: Category::Matching,
        get: |adi, _| {
            let is_it = |choice: &Choice| choice.name() == adi.engine();
            Choice::ALL.iter().position(is_it).unwrap_or(0) as u64
        },
    },
    Variable {
        name: "eager_limit",
        meaning: "Bytes of the greatest message whose data does not wait for an answer; it can be set.",
        category: Category::Protocol,
        get: |adi, _| adi.eager_limit() as u64,
    },
];

/// What there is at the moment.
pub(crate) const LEVELS: [Variable; 5] = [
    Variable {
        name: "posted_receives",
        meaning: "Receives posted and not yet matched.",
        category: Category::Matching,
        get: |adi, _| adi.matching().posted.into(),
    },
    Variable {
        name: "unexpected_messages",
        meaning: "Messages recorded and not yet matched.",
        category: Category::Matching,
        get: |adi, _| adi.matching().unexpected.into(),
    },
    Variable {
        name: "mpi_memory_used",
        meaning: "Bytes of MPI memory in use, records and buffers.",
        category: Category::Memory,
        get: |adi, _| adi.region().used_bytes() as u64,
    },
    Variable {
        name: "heap_used",
        meaning: "Bytes of the program's heap in use; 0: not known.",
        category: Category::Memory,
        get: |_, kernel| kernel.heap().map_or(0, |heap| heap.used as u64),
    },
    Variable {
        name: "requests",
        meaning: "Requests under way, or finished and not yet asked for.",
        category: Category::Protocol,
        get: |adi, _| adi.requests().live().into(),
    },
];
