//! Contexts: which are free, and how processes agree on one (MPI-3.1 sections 5.1 and 6.4).
//!
//! A communicator has two neighbouring contexts of the device: an even one for the program's messages and the
//! odd one after it for those of its collectives. A process keeps a bit for each pair. To make a
//! communicator, the processes of its parent combine their masks of free contexts by a bitwise AND and take
//! the lowest that is free at all of them, as MPICH does; all parts of a split share it, since no process is in
//! two of them. The two groups of an intercommunicator share one, on which the processes of both agree: those of
//! each group among themselves, and the groups by their leaders (`mpi/inter.rs`).
//!
//! # Why a context can be used again
//! A message of the old communicator must not match a receive of the new one. A process retires a context
//! when the program has freed the communicator and its requests there are complete, and offers it as free when
//! its device holds nothing of it ([`Adi::context_is_idle`](midplane_device::Adi::context_is_idle)): no unexpected
//! message, no send that its receiver has not taken, no receive that was given up with MPI_Request_free. A
//! message is with its sender until the receiver has taken or recorded it. So when all processes of the new
//! communicator have offered the context, every message of the old one between them has arrived, and none will
//! follow. It may have arrived after its receiver's offer, so each looks once more, and they agree a second
//! time; where one has found something, the context stays retired there, and another one is tried.
//!
//! # Several agreements at one time
//! A communicator can be duplicated without blocking (MPI_Comm_idup), so that a process takes part in several
//! agreements, and other processes in the same ones in another order. Two must not choose the same context. Whichever
//! context is about to be chosen is held: by an agreement that blocks while it looks a second time, by one that does
//! not from its offer on. None waits for what another holds: it turns to other contexts, so that no order of agreements
//! comes to a standstill. One that does not block holds, and offers, a unit of 8 contexts at a time, for others to find
//! enough beside it.
//!
//! # Processes that are no members any more
//! That leaves processes that were in the old communicator and are not in the new one, and may not have freed
//! the old one yet. In a correct program what they send is for receives that were posted before the receiver
//! freed the communicator (MPI-3.1 section 6.4.3), and with these the receiver has not retired it.
#![forbid(unsafe_code)]

use midplane_device::config::FIRST_CONTEXTS;
use midplane_device::envelope::Context;

/// Communicators that a process can be in at one time, MPI_COMM_WORLD and MPI_COMM_SELF among them. As many
/// as MPICH has; the masks that processes exchange take 256 bytes.
pub const CONTEXTS: usize = 2048;
/// Words of a mask.
pub const CONTEXT_WORDS: usize = CONTEXTS / u64::BITS as usize;

/// A bit for each pair of contexts.
pub type ContextMask = [u64; CONTEXT_WORDS];

/// The context of MPI_COMM_WORLD.
pub const WORLD_CONTEXT: Context = FIRST_CONTEXTS[0];
/// The context of MPI_COMM_SELF.
pub const SELF_CONTEXT: Context = FIRST_CONTEXTS[1];
/// The bit that tells a context for collectives.
pub const COLLECTIVE: Context = 1;

const _: () = assert!(2 * CONTEXTS <= Context::MAX as usize);

/// The communicator's context to which `context` belongs.
pub fn base(context: Context) -> Context {
    context & !COLLECTIVE
}

/// The number of a communicator's context, below [`CONTEXTS`].
pub fn index(context: Context) -> usize {
    usize::from(context / 2)
}

fn word_and_bit(context: Context) -> (usize, u64) {
    let index = index(context);
    (
        index / u64::BITS as usize,
        1 << (index % u64::BITS as usize),
    )
}

/// The word of a mask that has a unit's bits, and these.
fn unit_bits(unit: usize) -> (usize, u64) {
    let first = unit * HELD as usize;
    let bits = u64::from(u8::MAX) << (first % u64::BITS as usize);
    (first / u64::BITS as usize, bits)
}

/// The lowest context of a mask; `None` when it is empty.
pub fn lowest(mask: &ContextMask) -> Option<Context> {
    let (word, bits) = mask.iter().enumerate().find(|(_, bits)| **bits != 0)?;
    let index = word * u64::BITS as usize + bits.trailing_zeros() as usize;
    Some(2 * index as Context)
}

/// Contexts that an agreement can hold at one time: those whose bits are in one byte of a mask.
pub const HELD: u32 = u8::BITS;
/// Units of so many contexts.
pub const UNITS: usize = CONTEXTS / HELD as usize;

/// The unit of a context.
pub fn unit(context: Context) -> usize {
    index(context) / HELD as usize
}

/// A process's contexts. Where it has made no communicator all of this is zeros, which take no room in an image.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// In use, or given up and maybe not idle yet. Those of MPI_COMM_WORLD and MPI_COMM_SELF are always in use.
    used: ContextMask,
    /// What agreements under way hold.
    held: ContextMask,
    /// Given up by the program, and maybe not idle yet.
    retired: ContextMask,
}

impl Contexts {
    /// Those of MPI_COMM_WORLD and MPI_COMM_SELF are in use.
    pub(crate) const fn new() -> Contexts {
        Contexts {
            used: [0; CONTEXT_WORDS],
            held: [0; CONTEXT_WORDS],
            retired: [0; CONTEXT_WORDS],
        }
    }

    /// The free ones that no agreement holds.
    pub fn free(&self) -> ContextMask {
        core::array::from_fn(|word| self.free_of(word))
    }

    fn free_of(&self, word: usize) -> u64 {
        let always = if word == 0 { 0b11 } else { 0 };
        !(self.used[word] | self.held[word] | always)
    }

    /// Holds a unit of contexts for an agreement: a bit for each of them that is free. `None`: another agreement holds
    /// it, or none of them is free.
    pub fn hold(&mut self, unit: usize) -> Option<u8> {
        let (word, bits) = unit_bits(unit);
        let free = self.free_of(word) & bits;
        if free == 0 {
            return None;
        }
        self.held[word] |= bits;
        Some((free >> bits.trailing_zeros()) as u8)
    }

    /// An agreement holds a unit.
    pub fn is_held(&self, unit: usize) -> bool {
        let (word, bits) = unit_bits(unit);
        self.held[word] & bits != 0
    }

    /// The agreement that holds the unit is over.
    pub fn release(&mut self, unit: usize) {
        let (word, bits) = unit_bits(unit);
        self.held[word] &= !bits;
    }

    /// Takes a context into use.
    pub fn take(&mut self, context: Context) {
        let (word, bit) = word_and_bit(context);
        self.used[word] |= bit;
    }

    /// The program has given up a communicator, or one that was taken for idle is not.
    pub fn retire(&mut self, context: Context) {
        let (word, bit) = word_and_bit(context);
        self.used[word] |= bit;
        self.retired[word] |= bit;
    }

    /// Frees the retired contexts that `is_idle`.
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
        let mut contexts = Contexts::new();
        assert_eq!(lowest(&contexts.free()), Some(4));
        let mut last = 0;
        for _ in 2..CONTEXTS {
            last = lowest(&contexts.free()).expect("a free context");
            contexts.take(last);
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
        let mut contexts = Contexts::new();
        assert_eq!(contexts.hold(0), Some(0b1111_1100));
        assert!(contexts.is_held(0) && !contexts.is_held(1));
        assert_eq!(contexts.hold(0), None);
        assert_eq!(lowest(&contexts.free()), Some(16));
        assert_eq!(contexts.hold(1), Some(0xff));
        assert_eq!(lowest(&contexts.free()), Some(32));
        contexts.take(6);
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
