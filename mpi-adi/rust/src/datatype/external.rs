//! Portable packing: the representation "external32" (MPI-3.1 sections 4.3 and 13.5.2).
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::buffer::{Buffer, BufferMut};
use super::operands::{with_span, with_span_mut};
use super::user::{UncommittedDatatype, kind_of};
use crate::process;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::error::Error;
use midplane_objects::external32::{NativeElements, external_bytes, places};

/// Returns the size of `count` elements in external32, in bytes (MPI_Pack_external_size). Returns [`Error::TooLong`]
/// and [`Error::NoSpace`]. Does not block.
pub fn pack_external_size<D: UncommittedDatatype>(count: usize, datatype: &D) -> Result<usize, Error> {
    kind_of(datatype).with_type(|datatype| external_bytes(datatype, count))
}

/// Runs `f` with the elements of a buffer and their range at `position` of a packing buffer of `bytes` bytes. Returns
/// the end of that range.
fn each<D: UncommittedDatatype>(
    datatype: D,
    data: BufferSlice,
    count: usize,
    bytes: usize,
    position: usize,
    f: impl FnOnce(&NativeElements<'_>, core::ops::Range<usize>),
) -> Result<usize, Error> {
    let here = process::running()?;
    let env = here.env()?;
    kind_of(&datatype).with_type(|datatype| {
        let taken = external_bytes(datatype, count)?;
        let (from, end) = places(bytes as isize, position as isize, taken)?;
        let sides = NativeElements {
            env,
            data,
            datatype,
            count,
        };
        f(&sides, from..end);
        Ok(end)
    })
}

ends_the_job! {
    "mpi::datatype", [pub fn], crate::NoObject;

    /// Packs the elements of a buffer in external32 at byte `position` of `outbuf`, and returns the next position
    /// (MPI_Pack_external, MPI-3.1 section 4.3). Does not block. Aborts the job where [`try_pack_external_into`] fails.
    pack_external_into[B: Buffer + ?Sized](inbuf: &B, outbuf: &mut [u8], position: usize)
        -> usize, "MPI_Pack_external";
    /// [`pack_external_into`] that returns its error.
    ///
    /// # Errors
    /// [`Error::Argument`] where the elements do not fit, [`Error::Order`] before MPI is initialized and after its end,
    /// and those of [`pack_external_size`].
    or try_pack_external_into = {
        let (datatype, count) = (inbuf.as_datatype(), inbuf.count() as usize);
        with_span(inbuf, |span| {
            let bytes = outbuf.len();
            each(&datatype, span.into(), count, bytes, position, |sides, place| sides.encode(&mut outbuf[place]))
        })
    };

    /// Unpacks elements in external32 from byte `position` of `inbuf` into a buffer, and returns the next position
    /// (MPI_Unpack_external, MPI-3.1 section 4.3). Does not block. Aborts the job where [`try_unpack_external_into`]
    /// fails.
    unpack_external_into[B: BufferMut + ?Sized](inbuf: &[u8], outbuf: &mut B, position: usize)
        -> usize, "MPI_Unpack_external";
    /// [`unpack_external_into`] that returns the errors of [`try_pack_external_into`].
    or try_unpack_external_into = {
        let (datatype, count) = (outbuf.as_datatype(), outbuf.count() as usize);
        with_span_mut(outbuf, |span| {
            each(&datatype, span.into(), count, inbuf.len(), position, |sides, place| sides.decode(&inbuf[place]))
        })
    };

    /// Returns the elements of a buffer in external32, a portable representation, allocated from the program's heap
    /// (MPI_Pack_external, MPI-3.1 section 4.3). Does not block. Aborts the job where [`try_pack_external_into`] fails,
    /// and when the heap has no space.
    ///
    /// ```
    /// # use midplane_rust as mpi;
    /// use mpi::datatype::{pack_external, unpack_external_into};
    ///
    /// /// Encodes a record of a file for other machines.
    /// fn record(numbers: &[u32; 2]) -> Vec<u8> {
    ///     let bytes = pack_external(numbers);
    ///     assert_eq!(bytes[..4], numbers[0].to_be_bytes());
    ///     let mut read = [0; 2];
    ///     assert_eq!(unpack_external_into(&bytes, &mut read, 0), 8);
    ///     bytes
    /// }
    /// ```
    pack_external[B: Buffer + ?Sized](inbuf: &B) -> Vec<u8>, "MPI_Pack_external" = {
        let bytes = pack_external_size(inbuf.count() as usize, &inbuf.as_datatype());
        bytes.and_then(|bytes| {
            let mut packed = try_with_capacity(bytes)?;
            packed.resize(bytes, 0);
            try_pack_external_into(inbuf, &mut packed, 0)?;
            Ok(packed)
        })
    };
}
