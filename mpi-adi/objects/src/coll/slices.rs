//! Collectives over slices.

use bytemuck::{cast_slice, cast_slice_mut};
use core::ops::Range;

use crate::coll::{self, ReduceAreas, ReduceElements};
use crate::comm::{CommRank, Communicator};
use crate::context::CONTEXT_WORDS;
use crate::datatype::Datatype;
use crate::error::Error;
use crate::op::PredefinedOp;
use crate::slice_spans::{reading, writing};
use midplane_device::envelope::Tag;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::request::SendMode;

/// Number of tags of [`Communicator::and_masks_with_tag`].
pub const TAGS_OF_CALLS: u32 = 1 << 28;
const _: () = assert!((Tag::MAX - coll::FIRST_FREE_TAG) as u32 > 2 * TAGS_OF_CALLS);

/// Returns elements of this size for a predefined operation, all of which commute (section 5.9.2).
fn commuting(size: usize) -> ReduceElements {
    ReduceElements {
        size,
        commute: true,
        predefined: true,
    }
}

impl Communicator<'_> {
    /// Broadcasts bytes from the root (MPI_Bcast). Blocks.
    pub fn bcast_bytes(self, function: &'static str, bytes: &mut [u8], root: CommRank) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrow of the slice ends.
        let span = unsafe { writing(bytes) }.into();
        coll::bcast(self, function, span, root)
    }

    /// Reduces `data` over all processes in place (MPI_Allreduce with MPI_IN_PLACE). Blocks.
    pub fn allreduce_slices<T: Datatype>(self, send: &[T], recv: &mut [T], op: PredefinedOp) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrows of the slices end.
        let (send, recv) = unsafe {
            (
                BufferSlice::from(reading(cast_slice(send))),
                BufferSlice::from(writing(cast_slice_mut(recv))),
            )
        };
        let mut combine = coll::predefined(op, T::BASIC)?;
        coll::allreduce(
            self,
            "MPI_Allreduce",
            ReduceAreas {
                data: send,
                result: recv,
            },
            commuting(size_of::<T>()),
            &mut combine,
        )
    }

    /// Combines the data of the processes before this one (MPI_Exscan); `recv` of rank 0 is unchanged. Blocks.
    pub fn exscan_slices<T: Datatype>(
        self,
        function: &'static str,
        send: &[T],
        recv: &mut [T],
        op: PredefinedOp,
    ) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrows of the slices end.
        let (data, result) = unsafe {
            (
                BufferSlice::from(reading(cast_slice(send))),
                BufferSlice::from(writing(cast_slice_mut(recv))),
            )
        };
        let mut combine = coll::predefined(op, T::BASIC)?;
        let areas = ReduceAreas { data, result };
        coll::scan(self, function, areas, size_of::<T>(), &mut combine, false)
    }

    /// Combines the masks of all processes by bitwise AND, in place.
    pub fn and_masks(self, function: &'static str, masks: &mut [u64]) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrow of the slice ends.
        let masks = BufferSlice::from(unsafe { writing(cast_slice_mut(masks)) });
        let mut combine = coll::predefined(PredefinedOp::Band, u64::BASIC)?;
        coll::allreduce(
            self,
            function,
            ReduceAreas {
                data: masks,
                result: masks,
            },
            commuting(size_of::<u64>()),
            &mut combine,
        )
    }

    /// Combines masks like [`Communicator::and_masks`], by messages that `tag` distinguishes from those of another call at
    /// the same time, modulo 2^28.
    pub fn and_masks_with_tag(self, function: &'static str, masks: &mut [u64], tag: u32) -> Result<(), Error> {
        let (own, size) = (self.own_rank().0, self.size());
        let tag = coll::FIRST_FREE_TAG + TAGS_OF_CALLS as Tag + (tag % TAGS_OF_CALLS) as Tag;
        let partners = self.partners().for_collectives();
        let mut others = [0; CONTEXT_WORDS];
        let others = &mut others[..masks.len()];
        // A binomial tree: each process combines the masks of its subtree, and the first one returns the result.
        let is_child = |distance: &u32| own & distance != 0;
        let distances = || {
            (0..u32::BITS)
                .map(|bit| 1 << bit)
                .take_while(|distance| *distance < size)
        };
        let parent = distances().find(is_child);
        let children = distances().take_while(|distance| !is_child(distance) && own + distance < size);
        let send = |masks: &[u64], to: u32| {
            // SAFETY: the call finishes its request before it returns and the borrow of the slice ends.
            let span = unsafe { reading(cast_slice(masks)) };
            partners.send_span(function, span, CommRank(to), tag, SendMode::Standard)
        };
        let receive = |masks: &mut [u64], from: u32| {
            // SAFETY: the call finishes its request before it returns and the borrow of the slice ends.
            let span = unsafe { writing(cast_slice_mut(masks)) };
            partners
                .recv_span(function, span, Some(CommRank(from)), Some(tag))
                .map(drop)
        };
        for distance in children.clone() {
            receive(others, own + distance)?;
            for (mask, other) in masks.iter_mut().zip(&*others) {
                *mask &= *other;
            }
        }
        if let Some(distance) = parent {
            send(masks, own - distance)?;
            receive(masks, own - distance)?;
        }
        for distance in children {
            send(masks, own + distance)?;
        }
        Ok(())
    }

    /// Gathers every process's part of `all`, indexed by rank, at all processes. The parts must be short and equally
    /// long.
    pub fn share_bytes(self, function: &'static str, all: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrow of the slice ends.
        let all = BufferSlice::from(unsafe { writing(all) });
        coll::allgather_in_runs(self, function, all)
    }

    /// Exchanges bytes: `part` returns the range of `send` for a rank, `place` the range of `recv` for the data from
    /// it.
    pub fn alltoall_bytes(
        self,
        function: &'static str,
        send: &[u8],
        part: &dyn Fn(CommRank) -> Range<usize>,
        recv: &mut [u8],
        place: &dyn Fn(CommRank) -> Range<usize>,
    ) -> Result<(), Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrows of the slices end.
        let (send, recv) = unsafe { (BufferSlice::from(reading(send)), BufferSlice::from(writing(recv))) };
        let within = |area: BufferSlice, bytes: Range<usize>| {
            if bytes.is_empty() {
                BufferSlice::EMPTY
            } else {
                area.part(bytes.start, bytes.end - bytes.start)
            }
        };
        coll::alltoall(self, function, &|rank| within(send, part(rank)), &|rank| {
            within(recv, place(rank))
        })
    }
}
