//! QEMU's riscv64 `virt` machine (hw/riscv/virt.c): the composition root, where types become concrete.
//!
//! ```text
//! machine     machine mode: examines the machine, each hart receives a node's address space
//! neighbours  memory shared by the nodes of a box, and their links
//! doorbell    the doorbell to other instances
//! boot        from a node's first instruction to the program
//! traps       interrupts and faults, called by the processor's code
//! links       links of a node, and the interrupts that they share
//! slots       the links of a node with its own machine, and slots_stub: an image without such links
//! platform    clock, timer, sleep and heap of a node
//! records     records that the tool reads in the node's memory
//! plic, timer, uart, system, registers    the few devices without a separate driver
//! ```
//! The device tree (memory, slots, clock) and the boot parameters contain everything that differs between instances.

mod boot;
mod doorbell;
mod layout;
mod links;
mod machine;
mod neighbours;
pub mod platform;
#[cfg(feature = "options")]
mod plic;
pub mod records;
mod registers;
#[cfg(feature = "options")]
mod slots;
#[cfg(not(feature = "options"))]
mod slots_stub;
pub mod system;
pub mod timer;
mod traps;
pub mod uart;
