//! MPI_T variables of the device and its host (MPI-3.1 section 14.3): job options, and current levels. Each read is one
//! measurement.
#![forbid(unsafe_code)]

use midplane_device::interface::MeasuredQuantity;

/// Category of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableCategory {
    /// Messages and protocol packets.
    Protocol,
    /// Queues of receives and messages, and queue searches.
    Matching,
    /// MPI memory and the heap.
    Memory,
    /// Links and time.
    Node,
}

/// Description of a variable, and its value.
pub struct ToolVariable {
    /// Name of the variable.
    pub name: &'static str,
    /// Description of the variable.
    pub meaning: &'static str,
    /// Category of the variable.
    pub category: VariableCategory,
    /// Source of its value.
    pub measure: MeasuredQuantity,
}

/// Variables set by job options (control variables).
pub const CONTROL: [ToolVariable; 4] = [
    ToolVariable {
        name: "mpi_memory",
        meaning: "Bytes for messages that come before their receives (--mpi-memory).",
        category: VariableCategory::Memory,
        measure: MeasuredQuantity::MpiMemory,
    },
    ToolVariable {
        name: "heap",
        meaning: "Bytes of the program's heap; 0: not known (--node-memory).",
        category: VariableCategory::Memory,
        measure: MeasuredQuantity::Heap,
    },
    ToolVariable {
        name: "matching_engine",
        meaning: "How receives and messages find each other (--matching).",
        category: VariableCategory::Matching,
        measure: MeasuredQuantity::Engine,
    },
    ToolVariable {
        name: "eager_limit",
        meaning: "Bytes of the greatest message whose data does not wait for an answer; it can be set.",
        category: VariableCategory::Protocol,
        measure: MeasuredQuantity::EagerLimit,
    },
];

/// Current levels.
pub const LEVELS: [ToolVariable; 5] = [
    ToolVariable {
        name: "posted_receives",
        meaning: "Receives posted and not yet matched.",
        category: VariableCategory::Matching,
        measure: MeasuredQuantity::PostedReceives,
    },
    ToolVariable {
        name: "unexpected_messages",
        meaning: "Messages recorded and not yet matched.",
        category: VariableCategory::Matching,
        measure: MeasuredQuantity::UnexpectedMessages,
    },
    ToolVariable {
        name: "mpi_memory_used",
        meaning: "Bytes of MPI memory in use, records and buffers.",
        category: VariableCategory::Memory,
        measure: MeasuredQuantity::MpiMemoryUsed,
    },
    ToolVariable {
        name: "heap_used",
        meaning: "Bytes of the program's heap in use; 0: not known.",
        category: VariableCategory::Memory,
        measure: MeasuredQuantity::HeapUsed,
    },
    ToolVariable {
        name: "requests",
        meaning: "Requests under way, or finished and not yet asked for.",
        category: VariableCategory::Protocol,
        measure: MeasuredQuantity::Requests,
    },
];
