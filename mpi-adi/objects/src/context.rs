//! Context IDs: allocation, agreement between processes, and reuse (MPI-3.1 sections 5.1 and 6.4).
//!
//! A communicator uses two adjacent contexts of the device: an even one for the program's messages, and the next odd
//! one for its collectives. Each process keeps a bit per pair. To create a communicator, the processes of the parent
//! combine their masks of free contexts by a bitwise AND, and use the lowest context that is free at all of them. MPICH
//! uses the same algorithm. All parts of a split share the context, because no process is in two of them. Both groups
//! of an intercommunicator share one context: each group agrees internally, and the leaders agree between the groups
//! (`mpi/inter.rs`).
//!
//! # Why a context can be reused
//! A message of the old communicator must not match a receive of the new one. A process retires a context after the
//! program frees the communicator and its requests there are complete. It offers the context as free once its device
//! contains no reference to it ([`Adi::context_is_idle`](midplane_device::Adi::context_is_idle)): no unexpected message, no send
//! that the receiver has not accepted, no receive that MPI_Request_free detached. A message stays with its sender until
//! the receiver accepts or records it. So once all processes of the new communicator have offered the context, every
//! message of the old one between them has arrived, and none will follow. It may have arrived after the receiver's
//! offer, so each process checks again, and they agree a second time. If a process finds such a message, the context
//! stays retired there, and they try another one.
//!
//! # Concurrent agreements
//! MPI_Comm_idup duplicates a communicator without blocking. So a process can participate in several agreements, and
//! other processes run these in another order. Two agreements must not choose the same context, so a candidate is
//! reserved: by a blocking agreement during its second check, by a nonblocking one from its offer on. No agreement
//! waits for a reservation. It uses other contexts instead, so no order of agreements causes a deadlock. A nonblocking
//! agreement reserves and offers a unit of 8 contexts, so that enough remain for the others.
//!
//! # Processes that are no longer members
//! Some processes may be in the old communicator but not in the new one, and may not have freed the old one yet. In a
//! correct program their messages match receives posted before the receiver freed the communicator (MPI-3.1 section
//! 6.4.3), and with these the receiver has not retired it.
#![forbid(unsafe_code)]

use midplane_device::config::FIRST_CONTEXTS;
use midplane_device::envelope::Context;

/// Number of contexts. The masks that processes exchange are 256 bytes long.
pub const CONTEXTS: usize = 2048;
/// Indexes of two contexts that no communicator uses. A table of the C binding is indexed by handle, and their entries are
/// those of the handles of MPI_COMM_WORLD and MPI_COMM_SELF, which the standard defines (MPI-5.0 chapter 20).
pub const UNUSED_CONTEXTS: [usize; 2] = [0x100, 0x101];
/// Context of messages between leaders of groups that have no communicator in common (`universe.rs`).
pub const UNIVERSE_CONTEXT: Context = 2 * UNUSED_CONTEXTS[0] as Context;
/// Maximum number of communicators per process, including MPI_COMM_WORLD and MPI_COMM_SELF.
pub const COMMUNICATORS: usize = CONTEXTS - UNUSED_CONTEXTS.len();
/// 64-bit words in a mask.
pub const CONTEXT_WORDS: usize = CONTEXTS / u64::BITS as usize;

/// One bit per pair of contexts.
pub type ContextMask = [u64; CONTEXT_WORDS];

/// Context of MPI_COMM_WORLD.
pub const WORLD_CONTEXT: Context = FIRST_CONTEXTS[0];
/// Context of MPI_COMM_SELF.
pub const SELF_CONTEXT: Context = FIRST_CONTEXTS[1];
/// Bit that marks a context for collectives.
pub const COLLECTIVE: Context = 1;

const _: () = assert!(2 * CONTEXTS <= Context::MAX as usize);

/// Returns the communicator's context to which `context` belongs.
pub fn base(context: Context) -> Context {
    context & !COLLECTIVE
}

/// Returns the index of a communicator's context, below [`CONTEXTS`].
pub fn index(context: Context) -> usize {
    usize::from(context / 2)
}

/// Returns the bits of a mask's word for the contexts that are never free: those of MPI_COMM_WORLD and MPI_COMM_SELF, and
/// the unused ones. Both pairs are the first ones of a word.
const fn never_free(word: usize) -> u64 {
    const FIRSTS: [usize; 2] = [WORLD_CONTEXT as usize / 2, UNUSED_CONTEXTS[0]];
    const BITS: usize = u64::BITS as usize;
    const { assert!(FIRSTS[0] == 0 && SELF_CONTEXT as usize / 2 == 1) }
    const { assert!(FIRSTS[1].is_multiple_of(BITS) && UNUSED_CONTEXTS[1] == FIRSTS[1] + 1) }
    if word == FIRSTS[0] || word == FIRSTS[1] / BITS {
        0b11
    } else {
        0
    }
}

fn word_and_bit(context: Context) -> (usize, u64) {
    let index = index(context);
    (index / u64::BITS as usize, 1 << (index % u64::BITS as usize))
}

/// Returns the index of the mask word that contains a unit's bits, and these bits.
fn unit_bits(unit: usize) -> (usize, u64) {
    let first = unit * HELD as usize;
    let bits = u64::from(u8::MAX) << (first % u64::BITS as usize);
    (first / u64::BITS as usize, bits)
}

/// Returns the lowest context in a mask; `None` if it is empty.
pub fn lowest(mask: &ContextMask) -> Option<Context> {
    let (word, bits) = mask.iter().enumerate().find(|(_, bits)| **bits != 0)?;
    let index = word * u64::BITS as usize + bits.trailing_zeros() as usize;
    Some(2 * index as Context)
}

/// Contexts that an agreement reserves together: those whose bits are in one byte of a mask.
pub const HELD: u32 = u8::BITS;
/// Number of units of [`HELD`] contexts.
pub const UNITS: usize = CONTEXTS / HELD as usize;

/// Returns the unit of a context.
pub fn unit(context: Context) -> usize {
    index(context) / HELD as usize
}

/// Returns the bit of a context in the byte of its unit.
pub fn bit_in_unit(context: Context) -> u8 {
    1 << (index(context) % HELD as usize)
}

/// Contexts of a process. All zeros until the process creates a communicator, so the image needs no initial data.
#[derive(Clone, Debug)]
pub struct ContextAllocator {
    /// In use, or retired and perhaps not idle yet. Those of MPI_COMM_WORLD and MPI_COMM_SELF are always in use.
    used: ContextMask,
    /// Reserved by agreements in progress.
    held: ContextMask,
    /// Freed by the program, and perhaps not idle yet.
    retired: ContextMask,
}

impl ContextAllocator {
    /// Returns the initial state: only the contexts of MPI_COMM_WORLD and MPI_COMM_SELF are in use.
    pub(crate) const fn new() -> ContextAllocator {
        ContextAllocator {
            used: [0; CONTEXT_WORDS],
            held: [0; CONTEXT_WORDS],
            retired: [0; CONTEXT_WORDS],
        }
    }

    /// Returns the free contexts that no agreement reserves.
    pub fn free(&self) -> ContextMask {
        core::array::from_fn(|word| self.free_of(word))
    }

    fn free_of(&self, word: usize) -> u64 {
        !(self.used[word] | self.held[word] | never_free(word))
    }

    /// Reserves a unit of contexts for an agreement. Returns a bit for each context of the unit that is free; `None` if
    /// another agreement has reserved it, or no context is free.
    pub fn hold(&mut self, unit: usize) -> Option<u8> {
        let (word, bits) = unit_bits(unit);
        let free = self.free_of(word) & bits;
        if free == 0 {
            return None;
        }
        self.held[word] |= bits;
        Some((free >> bits.trailing_zeros()) as u8)
    }

    /// Checks whether an agreement has reserved the unit.
    pub fn is_held(&self, unit: usize) -> bool {
        let (word, bits) = unit_bits(unit);
        self.held[word] & bits != 0
    }

    /// Releases the unit at the end of its agreement.
    pub fn release(&mut self, unit: usize) {
        let (word, bits) = unit_bits(unit);
        self.held[word] &= !bits;
    }

    /// Marks a context as used.
    pub fn mark_used(&mut self, context: Context) {
        let (word, bit) = word_and_bit(context);
        self.used[word] |= bit;
    }

    /// Retires a context: the program freed the communicator, or an offered context is not idle.
    pub fn retire(&mut self, context: Context) {
        let (word, bit) = word_and_bit(context);
        self.used[word] |= bit;
        self.retired[word] |= bit;
    }

    /// Frees the retired contexts for which `is_idle` is true.
    pub fn sweep(&mut self, mut is_idle: impl FnMut(Context) -> bool) {
        let mut left = self.retired;
        while let Some(context) = lowest(&left) {
            let (word, bit) = word_and_bit(context);
            left[word] &= !bit;
            if is_idle(context) {
                self.retired[word] &= !bit;
                self.used[word] &= !bit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_taken_from_the_lowest_and_come_back() {
        let mut contexts = ContextAllocator::new();
        assert_eq!(lowest(&contexts.free()), Some(4));
        let mut last = 0;
        for _ in 2..COMMUNICATORS {
            last = lowest(&contexts.free()).expect("a free context");
            contexts.mark_used(last);
        }
        assert_eq!(usize::from(last), 2 * CONTEXTS - 2);
        assert_eq!(lowest(&contexts.free()), None);
        contexts.retire(700);
        contexts.retire(last);
        assert_eq!(lowest(&contexts.free()), None, "retired, not free");
        contexts.sweep(|context| context == last);
        assert_eq!(lowest(&contexts.free()), Some(last));
        contexts.sweep(|_| true);
        assert_eq!(lowest(&contexts.free()), Some(700));
    }

    #[test]
    fn what_an_agreement_holds_no_other_is_offered() {
        let mut contexts = ContextAllocator::new();
        assert_eq!(contexts.hold(0), Some(0b1111_1100));
        assert!(contexts.is_held(0) && !contexts.is_held(1));
        assert_eq!(contexts.hold(0), None);
        assert_eq!(lowest(&contexts.free()), Some(16));
        assert_eq!(contexts.hold(1), Some(0xff));
        assert_eq!(lowest(&contexts.free()), Some(32));
        contexts.mark_used(6);
        contexts.release(0);
        assert_eq!(lowest(&contexts.free()), Some(4));
        assert_eq!(contexts.hold(0), Some(0b1111_0100));
        assert_eq!(contexts.hold(UNITS - 1), Some(0xff));
        assert_eq!(unit(2 * CONTEXTS as Context - 2), UNITS - 1);
    }

    #[test]
    fn both_contexts_of_a_communicator_have_one_number() {
        assert_eq!((base(7), index(7)), (6, 3));
        assert_eq!((base(6), index(6)), (6, 3));
    }
}
