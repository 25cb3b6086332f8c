//! In-network allreduce, with values in barrier packets, as a call of one process.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::barrier::{AllreduceStep, BarrierMismatch, VALUE_BYTES};
use crate::kernel::Kernel;
use crate::memory::buffer_slice::BufferSlice;

/// Element-wise combination: `right[i] = left[i] op right[i]`.
pub type CombineValues<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// Checks whether the network supports the barrier. The first progress step of a job determines it.
pub(crate) fn supports_barrier(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    if !adi.has_barrier() {
        kernel.poll(adi);
    }
    adi.has_barrier()
}

/// Active allreduce.
#[derive(Debug)]
pub struct BarrierAllreduce {
    data: BufferSlice,
    result: BufferSlice,
    /// The operation is predefined, not a function of the program.
    is_predefined: bool,
    has_entered: bool,
    values: ValueCombiner,
}

/// Result of a call's progress step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllreduceProgress {
    /// The network does not support it, on any process. Nothing has been done.
    Unsupported,
    /// A value is ready to be [combined](BarrierAllreduce::combine) with those before it.
    Combine,
    /// The result has been stored.
    Done,
    /// The processes' calls do not match.
    Mismatch(BarrierMismatch),
}

impl BarrierAllreduce {
    /// Creates an allreduce of the value in `data`, into `result` of the same length. A predefined operation combines
    /// within the device.
    pub fn new(data: BufferSlice, result: BufferSlice, is_predefined: bool) -> Self {
        BarrierAllreduce {
            data,
            result,
            is_predefined,
            has_entered: false,
            values: ValueCombiner::new(data.len()),
        }
    }

    /// Combines the two values of [`AllreduceProgress::Combine`].
    pub fn combine(&mut self, combine: &mut CombineValues<'_>) {
        self.values.combine(combine);
    }

    /// Checks whether no progress is possible now.
    #[inline]
    pub(crate) fn waits(&self, adi: &Adi) -> bool {
        self.has_entered && adi.allreduce_waits()
    }

    /// Advances as far as possible. Returns `None` if it waits for other processes.
    // Outlined, so that unsuccessful polls do not need its stack frame.
    #[inline(never)]
    pub(crate) fn advance(
        &mut self,
        adi: &mut Adi,
        kernel: &mut dyn Kernel,
        combine: &mut CombineValues<'_>,
    ) -> Option<AllreduceProgress> {
        if !self.has_entered {
            let own = self.values.combined();
            self.data.read(kernel.memory(), own);
            if !(supports_barrier(adi, kernel) && adi.enter_allreduce(own)) {
                return Some(AllreduceProgress::Unsupported);
            }
            self.has_entered = true;
        }
        loop {
            match adi.allreduce_step() {
                AllreduceStep::Wait => return None,
                AllreduceStep::Mismatch => {
                    let differ = adi.barrier_mismatch().unwrap_or(BarrierMismatch::Values);
                    return Some(AllreduceProgress::Mismatch(differ));
                }
                AllreduceStep::Combine(_) if self.is_predefined => {
                    adi.combine_values(&mut *combine);
                }
                // A function of the program runs outside the device.
                AllreduceStep::Combine(count) => {
                    if self.values.fetch(adi, count) {
                        return Some(AllreduceProgress::Combine);
                    }
                }
                AllreduceStep::Done => {
                    self.result.write(kernel.memory(), adi.combined_value(0));
                    return Some(AllreduceProgress::Done);
                }
            }
        }
    }
}

/// A value, aligned for any type that a function of the program may use.
#[derive(Debug)]
#[repr(align(16))]
struct AlignedValue([u8; VALUE_BYTES]);

/// Sequential combination of the values of a pair or a circle.
#[derive(Debug)]
struct ValueCombiner {
    bytes: usize,
    /// The combination so far, and the next value.
    both: [AlignedValue; 2],
    /// Index of the combination so far.
    combined: usize,
    /// Number of values fetched.
    fetched: usize,
}

impl ValueCombiner {
    fn new(bytes: usize) -> ValueCombiner {
        ValueCombiner {
            bytes,
            both: [const { AlignedValue([0; VALUE_BYTES]) }; 2],
            combined: 0,
            fetched: 0,
        }
    }

    fn combined(&mut self) -> &mut [u8] {
        &mut self.both[self.combined].0[..self.bytes]
    }

    /// Fetches the next of `count` values, to be combined with those before it. Returns false if all are combined and
    /// the device has received the result.
    fn fetch(&mut self, adi: &mut Adi, count: usize) -> bool {
        if self.fetched == 0 {
            self.combined().copy_from_slice(adi.combined_value(0));
            self.fetched = 1;
        }
        if self.fetched == count {
            adi.set_value(self.combined());
            self.fetched = 0;
            return false;
        }
        let next = &mut self.both[1 - self.combined].0[..self.bytes];
        next.copy_from_slice(adi.combined_value(self.fetched));
        self.fetched += 1;
        true
    }

    fn combine(&mut self, combine: &mut CombineValues<'_>) {
        let [first, second] = &mut self.both;
        let (left, right) = match self.combined {
            0 => (first, second),
            _ => (second, first),
        };
        combine(&left.0[..self.bytes], &mut right.0[..self.bytes]);
        self.combined = 1 - self.combined;
    }
}
