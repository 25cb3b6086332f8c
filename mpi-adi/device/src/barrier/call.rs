//! An allreduce whose values travel in the barrier's packets, as the call of one process.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::barrier::{AllreduceStep, Differ, VALUE_BYTES};
use crate::kernel::Kernel;
use crate::memory::area::Area;

/// Combines elements: `right[i] = left[i] op right[i]`.
pub type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// The network offers the barrier; the first step of a job tells.
pub(crate) fn offers_barrier(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    if !adi.has_barrier() {
        kernel.poll(adi);
    }
    adi.has_barrier()
}

/// An allreduce under way.
#[derive(Debug)]
pub struct Allreduce {
    data: Area,
    result: Area,
    /// No function of the program's combines.
    is_predefined: bool,
    has_entered: bool,
    values: Values,
}

/// How far an allreduce is when its call leaves the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// The network does not offer it, to none of the processes. Nothing has been done.
    NotOffered,
    /// It has a value to [combine](Allreduce::combine) with those before it.
    Combine,
    /// The result is in its place.
    Over,
    /// The processes' calls differ.
    Differ(Differ),
}

impl Allreduce {
    /// That of the value in `data`, into `result`, which is as long. A predefined operation combines within the device.
    pub fn new(data: Area, result: Area, is_predefined: bool) -> Self {
        Allreduce {
            data,
            result,
            is_predefined,
            has_entered: false,
            values: Values::new(data.len()),
        }
    }

    /// Combines the two values that [`Turn::Combine`] is about.
    pub fn combine(&mut self, combine: &mut Combine<'_>) {
        self.values.combine(combine);
    }

    /// There is nothing to do for it.
    #[inline]
    pub(crate) fn waits(&self, adi: &Adi) -> bool {
        self.has_entered && adi.allreduce_waits()
    }

    /// Advances as far as it can; `None`: it waits for others.
    // On a stack frame of its own, which attempts that find nothing to do can do without.
    #[inline(never)]
    pub(crate) fn advance(
        &mut self,
        adi: &mut Adi,
        kernel: &mut dyn Kernel,
        combine: &mut Combine<'_>,
    ) -> Option<Turn> {
        if !self.has_entered {
            let own = self.values.combined();
            self.data.read(kernel.memory(), own);
            if !(offers_barrier(adi, kernel) && adi.enter_allreduce(own)) {
                return Some(Turn::NotOffered);
            }
            self.has_entered = true;
        }
        loop {
            match adi.allreduce_step() {
                AllreduceStep::Wait => return None,
                AllreduceStep::Differ => {
                    let differ = adi.barrier_differs().unwrap_or(Differ::Values);
                    return Some(Turn::Differ(differ));
                }
                AllreduceStep::Combine(_) if self.is_predefined => {
                    adi.combine_values(&mut *combine);
                }
                // A function of the program's runs outside of the device.
                AllreduceStep::Combine(count) => {
                    if self.values.fetch(adi, count) {
                        return Some(Turn::Combine);
                    }
                }
                AllreduceStep::Over => {
                    self.result.write(kernel.memory(), adi.value(0));
                    return Some(Turn::Over);
                }
            }
        }
    }
}

/// A value, aligned for whatever a function of the program's takes it for.
#[derive(Debug)]
#[repr(align(16))]
struct Aligned([u8; VALUE_BYTES]);

/// Values of a pair or a circle, one after the other.
#[derive(Debug)]
struct Values {
    bytes: usize,
    /// Those that have been combined, and the one to combine them with.
    both: [Aligned; 2],
    /// The place of those that have been combined.
    combined: usize,
    /// How many have been fetched.
    fetched: usize,
}

impl Values {
    fn new(bytes: usize) -> Values {
        Values {
            bytes,
            both: [const { Aligned([0; VALUE_BYTES]) }; 2],
            combined: 0,
            fetched: 0,
        }
    }

    fn combined(&mut self) -> &mut [u8] {
        &mut self.both[self.combined].0[..self.bytes]
    }

    /// Fetches one of so many, to be combined with those before it. False: all are combined, and the device has the
    /// result.
    fn fetch(&mut self, adi: &mut Adi, count: usize) -> bool {
        if self.fetched == 0 {
            self.combined().copy_from_slice(adi.value(0));
            self.fetched = 1;
        }
        if self.fetched == count {
            adi.set_value(self.combined());
            self.fetched = 0;
            return false;
        }
        let next = &mut self.both[1 - self.combined].0[..self.bytes];
        next.copy_from_slice(adi.value(self.fetched));
        self.fetched += 1;
        true
    }

    fn combine(&mut self, combine: &mut Combine<'_>) {
        let [first, second] = &mut self.both;
        let (left, right) = match self.combined {
            0 => (first, second),
            _ => (second, first),
        };
        combine(&left.0[..self.bytes], &mut right.0[..self.bytes]);
        self.combined = 1 - self.combined;
    }
}
