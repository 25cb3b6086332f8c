//! Blocking collectives of intercommunicators: step by step, without heap memory unless an element is longer than a
//! segment.
//!
//! They return the errors of their steps, with [`Error::LocalDiffers`] and [`Error::RemoteDiffers`] instead of
//! [`Error::CountsDiffer`]. A remote root must be valid.
#![forbid(unsafe_code)]

use super::group_exchange::{InterAllreduce, InterPairs, ReduceScatter};
use super::{Role, bcasting, collecting, gathering, reducing, scattering};
use crate::coll;
use crate::coll::run::{CombineFn, ReduceAreas, SegmentSizes, run, run_in_segments};
use crate::coll::schedule::Schedule;
use crate::coll::segments::same_length;
use crate::comm::CommRank;
use crate::error::Error;
use crate::inter_groups::Intercommunicator;
use midplane_device::memory::buffer_slice::BufferSlice;

impl Intercommunicator<'_> {
    fn run(self, function: &'static str, schedule: &mut dyn Schedule) -> Result<(), Error> {
        let done = run(self.everyone(), function, schedule);
        done.map_err(|error| self.sides.halves().explained(error))
    }

    /// Runs a schedule like [`Intercommunicator::run`], and combines elements of the specified size.
    fn run_in_segments(
        self,
        function: &'static str,
        schedule: &mut dyn Schedule,
        sizes: SegmentSizes,
        combine: &mut CombineFn<'_>,
    ) -> Result<(), Error> {
        let done = run_in_segments(self.everyone(), function, schedule, sizes, combine);
        done.map_err(|error| self.sides.halves().explained(error))
    }

    /// Blocks until every process of both groups has called it.
    pub fn barrier(self, function: &'static str) -> Result<(), Error> {
        coll::barrier(self.everyone(), function)
    }

    /// Broadcasts the root's span to all processes of the other group.
    pub fn bcast(self, function: &'static str, span: BufferSlice, role: Role) -> Result<(), Error> {
        self.run(function, &mut bcasting(self.sides.halves(), span, role))
    }

    /// Runs [`super::gather`].
    pub fn gather(
        self,
        function: &'static str,
        data: BufferSlice,
        place: &dyn Fn(CommRank) -> BufferSlice,
        role: Role,
    ) -> Result<(), Error> {
        self.run(function, &mut gathering(self.sides.halves(), data, place, role))
    }

    /// Runs [`super::scatter`].
    pub fn scatter(
        self,
        function: &'static str,
        part: &dyn Fn(CommRank) -> BufferSlice,
        result: BufferSlice,
        role: Role,
    ) -> Result<(), Error> {
        self.run(function, &mut scattering(self.sides.halves(), part, result, role))
    }

    /// Receives the result of a reduce at the root; it is combined in the other group.
    pub fn collect(self, function: &'static str, result: BufferSlice, element: usize) -> Result<(), Error> {
        self.run(function, &mut collecting(self.sides.halves(), result, element))
    }

    /// Combines the `data` of all processes of this group for the root in the other one.
    pub fn reduce(
        self,
        function: &'static str,
        data: BufferSlice,
        element: usize,
        combine: &mut CombineFn<'_>,
        role: Role,
    ) -> Result<(), Error> {
        let mut schedule = reducing(self.sides.halves(), data, element, role);
        self.run_in_segments(
            function,
            &mut schedule,
            SegmentSizes {
                element,
                max_bytes: data.len(),
            },
            combine,
        )
    }

    /// Runs [`super::allreduce`]; also fails with [`Error::Lengths`].
    pub fn allreduce(
        self,
        function: &'static str,
        ReduceAreas { data, result }: ReduceAreas,
        element: usize,
        combine: &mut CombineFn<'_>,
    ) -> Result<(), Error> {
        same_length(data.len(), result.len())?;
        let mut schedule = InterAllreduce::new(self.sides.halves(), ReduceAreas { data, result }, element);
        self.run_in_segments(
            function,
            &mut schedule,
            SegmentSizes {
                element,
                max_bytes: data.len(),
            },
            combine,
        )
    }

    /// Runs [`super::reduce_scatter`].
    pub fn reduce_scatter(
        self,
        function: &'static str,
        part: impl Fn(CommRank) -> BufferSlice,
        result: BufferSlice,
        element: usize,
        combine: &mut CombineFn<'_>,
    ) -> Result<(), Error> {
        let halves = self.sides.halves();
        let parts = (0..halves.remote_size() as u32).map(|rank| part(CommRank(rank)).len());
        let most = parts.max().unwrap_or(0);
        let mut schedule = ReduceScatter::new(halves, part, result, element);
        self.run_in_segments(
            function,
            &mut schedule,
            SegmentSizes {
                element,
                max_bytes: most,
            },
            combine,
        )
    }

    /// Runs [`super::alltoall`].
    pub fn alltoall(
        self,
        function: &'static str,
        part: &dyn Fn(CommRank) -> BufferSlice,
        place: &dyn Fn(CommRank) -> BufferSlice,
    ) -> Result<(), Error> {
        self.run(function, &mut InterPairs::new(self.sides.halves(), part, place))
    }
}
