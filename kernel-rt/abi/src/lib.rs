//! Data that a node and the host tool share: neither side has a definition of its own.
//!
//! ```text
//! address       ranges of addresses
//! blackboard    the status record: the node writes, the tool reads
//! boot_error    reasons for which a node cannot start
//! boot_parameters  the record that tells an instance who its nodes are and what they run: the tool writes, the node reads
//! callers       the registers of a node that ends its job by a call
//! counters      all that a node counts for the report: one list, from which the rest follows
//! failed_malloc the last allocation of the program that failed
//! failure       why a node has failed, in numbers and in words
//! fault         traps, in numbers and in words
//! faults        faults that links are to have, for tests
//! files         calls on files: the node asks, the tool does them
//! inbox         standard input: the tool writes, the node takes
//! layout        where nodes, tables and rings lie in the memory of an instance
//! outbox        what the program prints and the kernel logs: the node writes, the tool takes
//! personality   who a node is, once it has read its boot parameters
//! record        a failure's record: numbers and texts
//! remote        outbox, inbox and files of a node whose memory the tool does not see
//! status        a program's status as a process's
//! stm32f405     addresses of that board
//! window        a node's memory as the tool sees it
//! word          words of 64 bits on any processor
//! ```
//! Nothing here depends on the kernel, the MPI device or the tool. Of the torus it has coordinates, channels and errors.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod address;
pub mod blackboard;
pub mod boot_error;
pub mod boot_parameters;
pub mod callers;
pub mod counters;
pub mod failed_malloc;
pub mod failure;
pub mod fault;
pub mod faults;
pub mod files;
pub mod inbox;
pub mod layout;
pub mod outbox;
pub mod personality;
pub mod record;
pub mod remote;
pub mod status;
pub mod stm32f405;
pub mod window;
pub mod word;
