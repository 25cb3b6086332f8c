//! Data shared by a node and the host tool, with a single definition for both.
//!
//! ```text
//! address       ranges of addresses
//! blackboard    the status record: the node writes, the tool reads
//! boot_error    reasons of a failed boot
//! boot_parameters  the record that specifies an instance's nodes and programs: the tool writes, the node reads
//! captured_frames  the file of captured frames: the tool creates it, a simulator appends
//! backtrace     backtrace registers of a node that ends its job by a call
//! counters      all counters of a node for the report, defined by one list
//! failed_malloc the program's last failed allocation
//! failure       why a node has failed, as numbers and as text
//! fault         traps, as numbers and as text
//! faults        fault injection on links, for tests
//! files         file calls: the node requests, the tool executes
//! inbox         standard input: the tool writes, the node reads
//! layout        locations of nodes, tables and rings in the memory of an instance
//! outbox        the program's output and the kernel's log: the node writes, the tool reads
//! personality   a node's identity after it has read its boot parameters
//! record        a failure record: numbers and texts
//! remote        outbox, inbox and files of a node whose memory the tool cannot access
//! size          sizes with a unit, as text
//! status        a program's status as a process's
//! stm32f405     addresses of that board
//! memory_access  a node's memory as the tool accesses it
//! message_queues  the messages and grants that a blocked rank waits for
//! word          words of 64 bits on any processor
//! ```
//! Nothing here depends on the kernel, the MPI device or the tool. From the torus it uses coordinates, channels and
//! errors.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod address;
pub mod backtrace;
pub mod blackboard;
pub mod boot_error;
pub mod boot_parameters;
pub mod captured_frames;
pub mod counters;
pub mod failed_malloc;
pub mod failure;
pub mod fault;
pub mod faults;
pub mod files;
pub mod inbox;
pub mod job_requests;
pub mod layout;
pub mod memory_access;
pub mod message_queues;
pub mod outbox;
pub mod personality;
pub mod record;
pub mod remote;
pub mod size;
pub mod status;
pub mod stm32f405;
pub mod word;
