//! QEMU's riscv64 `virt` machine (hw/riscv/virt.c): the composition root, where types become concrete.
//!
//! ```text
//! machine     machine mode: the machine is looked at, each hart gets a node's address space
//! neighbours  what the nodes of a box share, and their links
//! doorbell    the way to other instances
//! boot        from a node's first instruction to the program
//! traps       interrupts and faults, as the processor's code hands them over
//! slots       the links of a node that has a machine to itself, and no_slots: an image without such links
//! platform    clock, timer, sleep and heap, as a node asks for them
//! records     what of it the tool sees in the node's memory
//! plic, timer, uart, system, registers    the few devices that have no driver of their own
//! ```
//! What differs between instances is in the device tree (memory, slots, clock) and in the boot parameters.

mod boot;
mod doorbell;
#[cfg(feature = "options")]
mod either;
mod layout;
mod machine;
mod neighbours;
#[cfg(not(feature = "options"))]
mod no_slots;
pub mod platform;
#[cfg(feature = "options")]
mod plic;
pub mod records;
mod registers;
#[cfg(feature = "options")]
mod slots;
pub mod system;
pub mod timer;
mod traps;
pub mod uart;
