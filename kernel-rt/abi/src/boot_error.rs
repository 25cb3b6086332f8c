//! Reasons for which a node cannot start, as plain data; [`failure`](super::failure) puts them into its records.

use core::fmt;

use super::stm32f405::{MIN_HEAP, RAM};

/// Why a device tree is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeError {
    /// It is none, or its structure is broken.
    Broken,
    /// No memory node covers the board's first byte of RAM.
    NoMemory,
    /// No clock frequency, or one of 0.
    NoClock,
    /// A virtio slot whose registers or interrupt cannot be right.
    Slot,
    /// More slots than a kernel looks at.
    TooManySlots,
}

impl TreeError {
    /// All of them, by their numbers.
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

/// Why a device could not be brought up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceError {
    /// The slot speaks another version than 2: QEMU needs `-global virtio-mmio.force-legacy=false`.
    Transport,
    /// The device lacks the modern interface.
    Refused,
    /// The device's queue is missing or too small, or there is no memory for it.
    Queue,
    /// The slot's interrupt is none of the interrupt controller's.
    Interrupt,
}

impl DeviceError {
    pub(crate) const ALL: [Self; 4] =
        [Self::Transport, Self::Refused, Self::Queue, Self::Interrupt];
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transport => {
                "its transport is not version 2 (QEMU: -global virtio-mmio.force-legacy=false)"
            }
            Self::Refused => {
                "it lacks a feature that this kernel needs (a console: more than one port)"
            }
            Self::Queue => "its queue is missing or too small",
            Self::Interrupt => "it has no usable interrupt",
        })
    }
}

impl core::error::Error for DeviceError {}

/// The memory is too small; all sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooSmall {
    /// What the node has.
    pub memory: u64,
    /// The least that it would need.
    pub least: u64,
    /// Of which the image takes so much.
    pub image: u64,
    /// Of which the MPI region takes so much.
    pub mpi: u64,
}

impl fmt::Display for TooSmall {
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
pub struct NoRoom {
    /// Stacks and static data.
    pub image: u64,
    /// Node, router and links, which are bigger in images with faults.
    pub kernel: u64,
    /// For incoming MPI traffic.
    pub mpi: u64,
    /// What grows with the number of nodes.
    pub tables: u64,
}

impl fmt::Display for NoRoom {
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

impl core::error::Error for NoRoom {}

/// Why a node has no MPI device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDevice {
    /// The heap has no room for so many bytes of MPI memory.
    Memory(u64),
    /// The device refuses its place in the job.
    Place {
        /// The node's.
        rank: u32,
        /// How many nodes the job has.
        peers: u32,
    },
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDevice::Memory(bytes) => write!(
                f,
                "{bytes} bytes of MPI memory do not fit this node's memory; lower --mpi-memory or raise --node-memory"
            ),
            NoDevice::Place { rank, peers } => {
                write!(f, "no MPI device for rank {rank} of {peers}")
            }
        }
    }
}
