//! Reasons of a failed boot, as plain data; [`failure`](super::failure) stores them in its records.

use core::fmt;

use super::stm32f405::{MIN_HEAP, RAM};

/// Reason to reject a device tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeError {
    /// It is no device tree, or its structure is malformed.
    Broken,
    /// No memory node covers the board's first byte of RAM.
    NoMemory,
    /// No clock frequency, or one of 0.
    NoClock,
    /// A virtio slot with invalid registers or an invalid interrupt.
    Slot,
    /// More slots than a kernel supports.
    TooManySlots,
}

impl TreeError {
    /// All errors, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] = [
        Self::Broken,
        Self::NoMemory,
        Self::NoClock,
        Self::Slot,
        Self::TooManySlots,
    ];
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "device tree: not one, or its structure is broken",
            Self::NoMemory => "device tree: no memory where this board has it",
            Self::NoClock => "device tree: no clock frequency",
            Self::Slot => "device tree: a virtio slot with impossible registers or interrupt",
            Self::TooManySlots => "device tree: more virtio slots than this kernel looks at",
        })
    }
}

impl core::error::Error for TreeError {}

/// Error of a device's initialization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceError {
    /// The slot's version is not 2: QEMU requires `-global virtio-mmio.force-legacy=false`.
    Transport,
    /// The device lacks the modern interface.
    Refused,
    /// The device's queue is missing or too small, or there is no memory for it.
    Queue,
    /// The slot's interrupt does not belong to the interrupt controller.
    Interrupt,
}

impl DeviceError {
    pub(crate) const ALL: [Self; 4] = [Self::Transport, Self::Refused, Self::Queue, Self::Interrupt];
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transport => "its transport is not version 2 (QEMU: -global virtio-mmio.force-legacy=false)",
            Self::Refused => "it lacks a feature that this kernel needs (a console: more than one port)",
            Self::Queue => "its queue is missing or too small",
            Self::Interrupt => "it has no usable interrupt",
        })
    }
}

impl core::error::Error for DeviceError {}

/// The memory is too small; all sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryTooSmall {
    /// Memory of the node.
    pub memory: u64,
    /// Required minimum.
    pub least: u64,
    /// The image's part of it.
    pub image: u64,
    /// The MPI region's part of it.
    pub mpi: u64,
}

impl fmt::Display for MemoryTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the program needs at least {} KiB of memory (image {} KiB, MPI memory {} KiB), the node has {} \
             KiB; give it more with --node-memory, or make --mpi-memory or the program's data smaller",
            self.least.div_ceil(1024),
            self.image.div_ceil(1024),
            self.mpi.div_ceil(1024),
            self.memory / 1024
        )
    }
}

/// The RAM is too small; all sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsufficientMemory {
    /// Stacks and static data.
    pub image: u64,
    /// Node, router and links, larger in images with faults.
    pub kernel: u64,
    /// Memory for incoming MPI traffic.
    pub mpi: u64,
    /// Tables that grow with the number of nodes.
    pub tables: u64,
}

impl fmt::Display for InsufficientMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            image,
            kernel,
            mpi,
            tables,
        } = *self;
        let sum = [kernel, MIN_HEAP, mpi, tables]
            .into_iter()
            .fold(image, u64::saturating_add);
        write!(
            f,
            "{sum} bytes of RAM are needed, the board has {}: {image} of stacks and static data, {kernel} of node, \
             router and links, {mpi} of MPI memory, {tables} of tables by number of nodes, {MIN_HEAP} of heap at least; lower \
             --mpi-memory or --stack, make the program's data smaller, or use fewer nodes",
            RAM.len(),
        )
    }
}

impl core::error::Error for InsufficientMemory {}

/// Reason of a missing MPI device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceFailure {
    /// The heap has no space for this number of bytes of MPI memory.
    Memory(u64),
    /// The device rejects its position in the job.
    Rank {
        /// The node's rank.
        rank: u32,
        /// Number of nodes of the job.
        peers: u32,
    },
}

impl fmt::Display for DeviceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceFailure::Memory(bytes) => write!(
                f,
                "{bytes} bytes of MPI memory do not fit this node's memory; lower --mpi-memory or raise --node-memory"
            ),
            DeviceFailure::Rank { rank, peers } => {
                write!(f, "no MPI device for rank {rank} of {peers}")
            }
        }
    }
}
