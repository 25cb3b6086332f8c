//! LU decomposition of a matrix with cyclic rows and fences: the owner of a row puts it to all other processes, which
//! subtract it from their rows below.
//!
//! With blocking calls there is a fence between two rows: all processes wait for the row, then all compute. With
//! nonblocking calls the owner of the next row first computes and puts that row, all call the fence, and the rest is
//! computed during the transfer. A row is then in use until the second fence after it, so that it requires one of three
//! buffers.

use midplane_device::rma::epochs::{WindowEvent, WindowSequence};

use super::{CallKind, MeasuredProcess, run};
use crate::JobFailure;
use crate::measure::timed::OperationCosts;

/// Parameters of the decomposition.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LuParameters {
    /// The machine, a torus.
    pub extents: [u16; 3],
    /// Rows of the matrix, each of this many 8-byte numbers.
    pub rows: u32,
    /// Time of one multiply-subtract, in nanoseconds.
    pub update_ns: f64,
}

/// Times of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LuTimes {
    /// Total time in nanoseconds.
    pub ns: u64,
    /// The part of it in which a process does not compute, on average: calls, waits and interrupts.
    pub communication_ns: u64,
}

/// Runs the decomposition.
pub fn solve(lu: LuParameters, calls: CallKind, costs: OperationCosts) -> Result<LuTimes, JobFailure> {
    let measured = run(lu.extents, calls, costs, |process| {
        if process.blocks() {
            lu.row_by_row(process)
        } else {
            lu.ahead(process)
        }
        process.elapsed()
    })?;
    let size = measured.len() as u32;
    let computed: u64 = (0..size)
        .flat_map(|rank| (0..lu.rows - 1).map(move |row| lu.computing(row, lu.below(row, rank, size))))
        .sum();
    let ns = measured.into_iter().max().unwrap_or(0);
    Ok(LuTimes {
        ns,
        communication_ns: ns - computed / u64::from(size),
    })
}

impl LuParameters {
    /// Returns the number of rows of `rank` below `row`.
    fn below(self, row: u32, rank: u32, size: u32) -> u32 {
        let up_to = |rows: u32| (rows + size - 1 - rank) / size;
        up_to(self.rows) - up_to(row + 1)
    }

    /// Returns the time to subtract `row` from this many others.
    fn computing(self, row: u32, rows: u32) -> u64 {
        (f64::from(rows) * f64::from(self.rows - row) * self.update_ns) as u64
    }

    fn put_row(self, process: &MeasuredProcess<'_, '_, '_>, epoch: WindowSequence, row: u32) {
        let (rank, size) = (process.node.rank(), process.node.size());
        if row % size == rank {
            let bytes = 8 * (self.rows - row) as usize;
            for target in (1..size).map(|distance| (rank + distance) % size) {
                process.put(epoch, target, bytes);
            }
        }
    }

    fn row_by_row(self, process: &MeasuredProcess<'_, '_, '_>) {
        let (rank, size) = (process.node.rank(), process.node.size());
        let mut epoch = process.fence(None);
        for row in 0..self.rows - 1 {
            self.put_row(process, epoch, row);
            epoch = process.fence(Some(epoch));
            process.compute(self.computing(row, self.below(row, rank, size)));
        }
    }

    fn ahead(self, process: &MeasuredProcess<'_, '_, '_>) {
        let (rank, size) = (process.node.rank(), process.node.size());
        let mut epoch = process.fence(None);
        self.put_row(process, epoch, 0);
        epoch = process.fence(Some(epoch));
        for row in 0..self.rows - 1 {
            process.wait(WindowEvent::Opened(epoch));
            let mut below = self.below(row, rank, size);
            if (row + 1) % size == rank {
                process.compute(self.computing(row, 1));
                below -= 1;
            }
            self.put_row(process, epoch, row + 1);
            epoch = process.fence(Some(epoch));
            process.compute(self.computing(row, below));
        }
        process.wait(WindowEvent::Opened(epoch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_that_do_not_block_hide_rows_behind_what_is_computed() {
        let lu = LuParameters {
            extents: [4, 1, 1],
            rows: 24,
            update_ns: 100.0,
        };
        let of = |calls| solve(lu, calls, OperationCosts::BLUE_GENE).expect("a run");
        let (waits, goes_on) = (of(CallKind::Blocking), of(CallKind::Nonblocking));
        assert!(goes_on.ns < waits.ns, "{goes_on:?}, {waits:?}");
        assert!(
            goes_on.communication_ns < waits.communication_ns,
            "{goes_on:?}, {waits:?}"
        );
    }

    #[test]
    fn rows_go_round() {
        let lu = LuParameters {
            extents: [3, 1, 1],
            rows: 7,
            update_ns: 1.0,
        };
        let below = |row| [0, 1, 2].map(|rank| lu.below(row, rank, 3));
        assert_eq!((below(0), below(2), below(6)), ([2, 2, 2], [2, 1, 1], [0; 3]));
    }
}
