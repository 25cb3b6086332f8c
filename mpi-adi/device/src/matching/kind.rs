//! The matching engine of a device: its kind, and its dispatch.
//!
//! A device has one engine, which its [memory](crate::DeviceMemory) is allocated for; an [`EngineKind`] specifies it. The
//! standard engine of the build profile is embedded in the device and called directly. Any other engine is on the heap,
//! behind [`Matching`]. An image contains the code of the engine kinds that it refers to: one for a node image,
//! selected at link time (`kernel-rt/src/board/matching.rs`); all for a native Linux process and for the simulated
//! cluster.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::hash::Hasher;

#[cfg(not(feature = "micro"))]
use super::IndexedEngine;
#[cfg(feature = "micro")]
use super::ListEngine;
use super::engine::{Matching, MatchingEngine, MatchingStats, OutOfSpace};
use crate::envelope::{Context, Envelope, MatchPattern};
use crate::ids::{BlockIndex, Slot};
use crate::memory::region::{Region, UnexpectedRecord};
use crate::memory::try_boxed_with;
use crate::request::RequestPool;

/// Standard engine of the profile `full`.
#[cfg(not(feature = "micro"))]
pub type StandardEngine = IndexedEngine;
/// Standard engine of the profile `micro`. Its MPI memory contains some dozen records, and a list of them is searched
/// faster than a table.
#[cfg(feature = "micro")]
pub type StandardEngine = ListEngine;

/// Names of all engines, in the order of the MPI_T enumeration. The crate `midplane-engines` has those that are not
/// standard in any profile.
pub const ENGINE_NAMES: [&str; 7] = ["list", "array", "fourd", "pnp", "col", "unified", "default"];

/// Kind of engine: its name, memory requirements and constructor. See [`MatchingEngine`] for the functions.
#[derive(Clone, Copy, Debug)]
pub struct EngineKind {
    /// User-visible name.
    pub name: &'static str,
    /// [`MatchingEngine::fixed_bytes`], plus the size of the engine itself if it is on the heap.
    pub fixed_bytes: fn(blocks: usize, peers: usize) -> usize,
    /// [`MatchingEngine::context_bytes`].
    pub context_bytes: fn(peers: usize) -> usize,
    /// [`MatchingEngine::wildcard_bytes`].
    pub wildcard_bytes: fn(blocks: usize) -> usize,
    /// [`MatchingEngine::receive_bytes`].
    pub receive_bytes: fn(peers: usize) -> usize,
    /// [`MatchingEngine::new`], wrapped as the engine of a device.
    pub make: fn(blocks: usize, peers: usize) -> Option<SelectedEngine>,
}

impl EngineKind {
    /// The standard engine, embedded in the device.
    pub const STANDARD: EngineKind = Self::with::<StandardEngine>(|blocks, peers| {
        Some(SelectedEngine::Standard(StandardEngine::new(blocks, peers)?))
    });

    /// Returns the kind of the heap-allocated engine `E`.
    pub const fn for_engine<E: MatchingEngine>() -> EngineKind {
        EngineKind {
            fixed_bytes: |blocks, peers| E::fixed_bytes(blocks, peers) + size_of::<E>(),
            ..Self::with::<E>(|blocks, peers| {
                let engine = E::new(blocks, peers)?;
                Some(SelectedEngine::Other(try_boxed_with(|| engine)?))
            })
        }
    }

    const fn with<E: MatchingEngine>(make: fn(usize, usize) -> Option<SelectedEngine>) -> EngineKind {
        EngineKind {
            name: E::NAME,
            fixed_bytes: E::fixed_bytes,
            context_bytes: E::context_bytes,
            wildcard_bytes: E::wildcard_bytes,
            receive_bytes: E::receive_bytes,
            make,
        }
    }
}

/// The engine of a device.
#[derive(Debug)]
#[repr(u8)]
#[cfg_attr(
    not(feature = "micro"),
    expect(
        clippy::large_enum_variant,
        reason = "a device has one, and the standard one is to be reached directly"
    )
)]
pub enum SelectedEngine {
    /// The standard engine, embedded.
    Standard(StandardEngine),
    /// Another engine, on the heap.
    Other(Box<dyn Matching>),
}

impl Clone for SelectedEngine {
    /// # Panics
    /// If the heap is full. Only model checkers copy devices.
    fn clone(&self) -> Self {
        match self {
            SelectedEngine::Standard(engine) => SelectedEngine::Standard(engine.clone()),
            SelectedEngine::Other(engine) => SelectedEngine::Other(engine.boxed_copy().expect("room on the heap")),
        }
    }
}

/// Dispatches a method call to the engine.
macro_rules! either {
    ($engine:expr, $name:ident($($argument:expr),*)) => {
        match $engine {
            SelectedEngine::Standard(engine) => engine.$name($($argument),*),
            SelectedEngine::Other(engine) => {
                // Other engines must not slow down the standard one.
                core::hint::cold_path();
                engine.$name($($argument),*)
            }
        }
    };
}

impl Matching for SelectedEngine {
    fn name(&self) -> &'static str {
        either!(self, name())
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn reserve(&mut self, receives: usize) -> Result<(), OutOfSpace> {
        either!(self, reserve(receives))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn has_reserved(&self, receives: usize) -> bool {
        either!(self, has_reserved(receives))
    }

    fn open(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) {
        either!(self, open(requests, region, context))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        either!(self, post(requests, slot))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        either!(self, unpost(requests, slot))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        either!(self, match_incoming(requests, envelope))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn first_posted(&self) -> Option<Slot> {
        either!(self, first_posted())
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn take_first(&mut self, requests: &mut RequestPool, next: Option<Slot>) {
        either!(self, take_first(requests, next))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        either!(self, record(region, at))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        either!(self, probe(region, pattern))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        either!(self, unrecord(region, at))
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        either!(self, find_record(region, is))
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        either!(self, context_is_idle(requests, region, context))
    }

    fn seed(&mut self, seed: u64) {
        either!(self, seed(seed))
    }

    fn hash(&self, region: &Region, state: &mut dyn Hasher) {
        either!(self, hash(region, state))
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn counts(&mut self) -> Option<&mut MatchingStats> {
        either!(self, counts())
    }

    fn measures(&self) -> MatchingStats {
        either!(self, measures())
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn take_match(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        either!(self, take_match(region, pattern))
    }
}
