//! Connection over a socket of the program (section 10.5.5).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;

use super::connect_with;
use crate::args;
use crate::comm_objects::own_number;
use crate::error_dispatch::on_process;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::installed::job_service;

const NO_SOCKETS: Error = Error::Unsupported {
    what: "MPI_Comm_join connects processes of `midplane run --on linux` on one host",
};

/// Length of the message that both ends of the socket exchange: a magic word, the job, and the process in it.
const HELLO_BYTES: usize = 20;
const MAGIC: [u8; 8] = *b"MPjoin01";

pub unsafe fn MPI_Comm_join(fd: c_int, intercomm: *mut Handle) -> c_int {
    const NAME: &str = "MPI_Comm_join";
    on_process(NAME, |env| {
        // SAFETY: the standard's requirements on `intercomm`.
        let intercomm = unsafe { args::out(intercomm, "intercomm") }?;
        *intercomm = Handle::new(MPI_COMM_NULL);
        let service = job_service().ok_or(NO_SOCKETS)?;
        let mut hello = [0; HELLO_BYTES];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..16].copy_from_slice(&service.job.to_le_bytes());
        hello[16..].copy_from_slice(&own_number().index().to_le_bytes());
        let mut other = [0; HELLO_BYTES];
        let is_exchanged = (service.exchange)(fd, &hello, &mut other);
        if !is_exchanged || other[..8] != MAGIC {
            return Err(Error::Argument {
                what: "fd is no socket whose other end is in MPI_Comm_join of this library",
            });
        }
        // A process of another job cannot be reached: both ends return MPI_COMM_NULL.
        if other[..16] != hello[..16] {
            return Ok(());
        }
        let rank = [other[16], other[17], other[18], other[19]];
        let other = Rank::new(u32::from_le_bytes(rank));
        let own = Communicator::own(env);
        *intercomm = Handle::new(connect_with(NAME, own, MPI_COMM_SELF, CommRank(0), Some(Ok(other)))?);
        Ok(())
    })
}
