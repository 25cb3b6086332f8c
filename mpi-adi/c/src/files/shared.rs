//! The shared pointer (section 13.4.4).

use core::ffi::{c_int, c_longlong};

use super::objects::{FileCall, on_file};
use crate::args;
use midplane_objects::comm::CommRank;
use midplane_objects::error::Error;
use midplane_objects::op::PredefinedOp;

impl FileCall {
    /// Moves the shared pointer by `etypes`; returns the position before. Blocks.
    pub fn add_to_pointer(&self, etypes: u64) -> Result<u64, Error> {
        let start = self.file.shared.add(self.env, self.function, etypes as i64)?;
        Ok(start as u64)
    }

    /// Moves the shared pointer by the etypes of all processes; returns the position behind those of the lower ranks. A
    /// collective call, which blocks.
    pub fn add_in_order(&self, etypes: u64) -> Result<u64, Error> {
        let etypes = etypes as i64;
        let (comm, last) = (self.comm(), CommRank(self.comm().size() - 1));
        let mut before = [0];
        comm.exscan_slices(self.function, &[etypes], &mut before, PredefinedOp::Sum)?;
        let mut start = [0; size_of::<i64>()];
        if comm.own_rank() == last {
            let all = before[0].saturating_add(etypes);
            start = self.file.shared.add(self.env, self.function, all)?.to_le_bytes();
        }
        // After it the next call finds the pointer behind the data of all.
        comm.bcast_bytes(self.function, &mut start, last)?;
        Ok(i64::from_le_bytes(start).saturating_add(before[0]) as u64)
    }
}

pub unsafe fn MPI_File_seek_shared(fh: c_int, offset: c_longlong, whence: c_int) -> c_int {
    on_file("MPI_File_seek_shared", fh, |call| {
        call.agree_on(Ok(()), offset)?;
        let current = call.file.shared.get(call.env, call.function)?;
        let target = call.target_of_seek(offset, whence, current as u64);
        // All have read the pointer before process 0 sets it.
        let target = call.agree_on(target, whence.into())?;
        call.at_first(|| call.file.shared.set(call.env, call.function, target as i64))
    })
}

pub unsafe fn MPI_File_get_position_shared(fh: c_int, offset: *mut c_longlong) -> c_int {
    on_file("MPI_File_get_position_shared", fh, |call| {
        // SAFETY: the standard's requirements on `offset`.
        let place = unsafe { args::out(offset, "offset") }?;
        *place = call.file.shared.get(call.env, call.function)?;
        Ok(())
    })
}
