//! What a node shares with the tool that looks after it.
//!
//! ```text
//! blackboard    how the node fares: the node writes, the tool reads
//! callers       the registers of a node that ends its job by a call
//! layout        where nodes, tables and rings lie in the memory of an instance
//! counters      all that a node counts for the report: one list, from which the rest follows
//! failed_malloc the last allocation of the program that failed
//! failure       why a node has failed, in numbers and in words
//! faults        faults that links are to have, for tests
//! files         calls on files: the node asks, the tool does them
//! inbox         standard input: the tool writes, the node takes
//! notation      how numbers, places and directions are written
//! outbox        what the program prints and the kernel logs: the node writes, the tool takes
//! remote        outbox, inbox and files of a node whose memory the tool does not see
//! personality   the boot arguments, and who the node is by them
//! status        a program's status as a process's
//! variables     what programs may ask of the counters
//! window        a node's memory as the tool sees it
//! word          words of 64 bits on any processor
//! records       the one blackboard and personality of a node's image
//! ```

pub mod blackboard;
pub mod callers;
pub mod counters;
pub mod failed_malloc;
pub mod failure;
pub mod faults;
pub mod files;
pub mod inbox;
pub mod layout;
pub mod notation;
pub mod outbox;
pub mod personality;
#[cfg(target_os = "none")]
pub mod records;
pub mod remote;
pub mod status;
pub mod variables;
pub mod window;
pub mod word;
