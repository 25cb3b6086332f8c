//! `MPI_Status`, and the constants of `mpi.h`.

use core::ffi::{c_int, c_longlong};
use core::mem::MaybeUninit;

/// A handle in the memory of a C program: a pointer to an incomplete type (MPI-5.0 chapter 20), which refers to nothing. Its
/// value is an int, extended with its sign: the one of `MPI_*_toint`, and the INTEGER of Fortran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Handle(isize);

impl Handle {
    /// Creates the handle with this value.
    #[inline(always)]
    #[must_use]
    pub const fn new(value: c_int) -> Self {
        Handle(value as isize)
    }

    /// Returns its value. Other bits of the pointer, which no handle has, are ignored.
    #[inline(always)]
    #[must_use]
    pub const fn value(self) -> c_int {
        self.0 as c_int
    }

    /// Returns an index of a table from its lowest bits, of which `mask` has the number of entries minus one.
    #[inline(always)]
    #[must_use]
    pub const fn index(self, mask: usize) -> usize {
        self.0 as usize & mask
    }
}

impl From<Handle> for c_int {
    #[inline(always)]
    fn from(handle: Handle) -> Self {
        handle.value()
    }
}

impl From<c_int> for Handle {
    #[inline(always)]
    fn from(value: c_int) -> Self {
        Handle::new(value)
    }
}

/// `MPI_Status`: 32 bytes (MPI-5.0 chapter 20). Statuses of Fortran are arrays of integers, as this one.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
#[allow(non_snake_case, non_camel_case_types)] // The names are the standard's.
pub struct MPI_Status {
    /// Source rank.
    pub MPI_SOURCE: c_int,
    /// Tag.
    pub MPI_TAG: c_int,
    /// Error code, set if several requests complete together.
    pub MPI_ERROR: c_int,
    /// Nonzero if the request was cancelled.
    pub midplane_cancelled: c_int,
    /// Bytes received.
    pub midplane_bytes: c_longlong,
    /// Not used, and not written.
    pub reserved: [MaybeUninit<c_int>; 2],
}

const _: () = assert!(size_of::<MPI_Status>() == 32);

/// Values of `mpi.h`.
#[allow(missing_docs)]
pub mod constants {
    use core::ffi::{c_int, c_longlong};

    pub const MPI_SUCCESS: c_int = 0;
    pub const MPI_ANY_SOURCE: c_int = -1;
    pub const MPI_PROC_NULL: c_int = -3;
    pub const MPI_ROOT: c_int = -4;
    pub const MPI_ANY_TAG: c_int = -2;
    pub const MPI_UNDEFINED: c_int = -32_766;
    pub const MPI_COMM_NULL: c_int = 0x100;
    pub const MPI_COMM_WORLD: c_int = 0x101;
    pub const MPI_COMM_SELF: c_int = 0x102;
    pub const MPI_GROUP_NULL: c_int = 0x108;
    pub const MPI_GROUP_EMPTY: c_int = 0x109;
    pub const MPI_REQUEST_NULL: c_int = 0x180;
    pub const MPI_MESSAGE_NULL: c_int = 0x128;
    pub const MPI_MESSAGE_NO_PROC: c_int = 0x129;
    pub const MPI_FILE_NULL: c_int = 0x118;
    pub const MPI_OP_NULL: c_int = 0x020;
    pub const MPI_ERRHANDLER_NULL: c_int = 0x140;
    pub const MPI_ERRORS_ARE_FATAL: c_int = 0x141;
    pub const MPI_ERRORS_RETURN: c_int = 0x143;
    pub const MPI_ERRORS_ABORT: c_int = 0x142;
    pub const MPI_SESSION_NULL: c_int = 0x120;
    pub const MPI_MAX_PROCESSOR_NAME: usize = 256;
    pub const MPI_MAX_ERROR_STRING: usize = 512;
    pub const MPI_MAX_OBJECT_NAME: usize = 128;
    pub const MPI_MAX_PORT_NAME: usize = 1024;
    pub const MPI_MAX_LIBRARY_VERSION_STRING: usize = 8192;
    pub const MPI_THREAD_SINGLE: c_int = 0;
    pub const MPI_THREAD_SERIALIZED: c_int = 2048;
    pub const MPI_THREAD_MULTIPLE: c_int = 4096;
    pub const MPI_IDENT: c_int = 201;
    pub const MPI_CONGRUENT: c_int = 202;
    pub const MPI_SIMILAR: c_int = 203;
    pub const MPI_UNEQUAL: c_int = 204;
    pub const MPI_GRAPH: c_int = 212;
    pub const MPI_CART: c_int = 211;
    pub const MPI_DIST_GRAPH: c_int = 213;
    pub const MPI_COMM_TYPE_SHARED: c_int = 221;
    pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 222;
    pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 223;
    pub const MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 224;
    pub const MPI_INFO_NULL: c_int = 0x130;
    pub const MPI_INFO_ENV: c_int = 0x131;
    pub const MPI_KEYVAL_INVALID: c_int = 0;
    pub const MPI_ERR_ARG: c_int = 13;
    pub const MPI_ERR_OTHER: c_int = 16;
    pub const MPI_ERR_LASTCODE: c_int = 16_383;
    pub const MPI_THREAD_FUNNELED: c_int = 1024;
    pub const MPI_UNIVERSE_SIZE: c_int = 507;
    pub const MPI_LASTUSEDCODE: c_int = 506;
    pub const MPI_APPNUM: c_int = 505;
    pub const MPI_DATATYPE_NULL: c_int = 0x200;
    pub const MPI_BYTE: c_int = 0x247;
    pub const MPI_COMBINER_NAMED: c_int = 101;
    pub const MPI_COMBINER_DUP: c_int = 102;
    pub const MPI_COMBINER_CONTIGUOUS: c_int = 103;
    pub const MPI_COMBINER_VECTOR: c_int = 104;
    pub const MPI_COMBINER_HVECTOR: c_int = 105;
    pub const MPI_COMBINER_INDEXED: c_int = 106;
    pub const MPI_COMBINER_HINDEXED: c_int = 107;
    pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 108;
    pub const MPI_COMBINER_STRUCT: c_int = 110;
    pub const MPI_COMBINER_SUBARRAY: c_int = 111;
    pub const MPI_COMBINER_DARRAY: c_int = 112;
    pub const MPI_COMBINER_F90_REAL: c_int = 113;
    pub const MPI_COMBINER_F90_COMPLEX: c_int = 114;
    pub const MPI_COMBINER_F90_INTEGER: c_int = 115;
    pub const MPI_COMBINER_RESIZED: c_int = 116;
    pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 109;
    pub const MPI_ORDER_C: c_int = 12;
    pub const MPI_ORDER_FORTRAN: c_int = 15;
    pub const MPI_DISTRIBUTE_BLOCK: c_int = 17;
    pub const MPI_DISTRIBUTE_CYCLIC: c_int = 18;
    pub const MPI_DISTRIBUTE_NONE: c_int = 16;
    pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = 19;
    pub const MPI_TYPECLASS_REAL: c_int = 193;
    pub const MPI_TYPECLASS_INTEGER: c_int = 192;
    pub const MPI_TYPECLASS_COMPLEX: c_int = 194;
    pub const MPI_WIN_NULL: c_int = 0x110;
    pub const MPI_WIN_BASE: c_int = 601;
    pub const MPI_WIN_SIZE: c_int = 603;
    pub const MPI_WIN_DISP_UNIT: c_int = 602;
    pub const MPI_WIN_CREATE_FLAVOR: c_int = 604;
    pub const MPI_WIN_MODEL: c_int = 605;
    pub const MPI_WIN_FLAVOR_CREATE: c_int = 311;
    pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 312;
    pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 313;
    pub const MPI_WIN_FLAVOR_SHARED: c_int = 314;
    pub const MPI_WIN_UNIFIED: c_int = 321;
    pub const MPI_LOCK_EXCLUSIVE: c_int = 301;
    pub const MPI_LOCK_SHARED: c_int = 302;
    pub const MPI_MODE_CREATE: c_int = 2;
    pub const MPI_MODE_RDONLY: c_int = 16;
    pub const MPI_MODE_WRONLY: c_int = 256;
    pub const MPI_MODE_RDWR: c_int = 32;
    pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 4;
    pub const MPI_MODE_UNIQUE_OPEN: c_int = 128;
    pub const MPI_MODE_EXCL: c_int = 8;
    pub const MPI_MODE_APPEND: c_int = 1;
    pub const MPI_MODE_SEQUENTIAL: c_int = 64;
    pub const MPI_DISPLACEMENT_CURRENT: c_longlong = -1;
    pub const MPI_SEEK_SET: c_int = 403;
    pub const MPI_SEEK_CUR: c_int = 401;
    pub const MPI_SEEK_END: c_int = 402;
    pub const MPI_MODE_NOCHECK: c_int = 1024;
    pub const MPI_MODE_NOSTORE: c_int = 8192;
    pub const MPI_MODE_NOPUT: c_int = 4096;
    pub const MPI_MODE_NOPRECEDE: c_int = 2048;
    pub const MPI_MODE_NOSUCCEED: c_int = 16_384;
    pub const MPI_TAG_UB: c_int = 501;
    pub const MPI_HOST: c_int = 503;
    pub const MPI_IO: c_int = 502;
    pub const MPI_WTIME_IS_GLOBAL: c_int = 504;
}

#[cfg(test)]
mod tests {
    use midplane_objects::Error;

    use super::constants as c;

    #[test]
    fn null_handles_have_their_names() {
        for (handle, name) in [
            (c::MPI_COMM_NULL, "MPI_COMM_NULL"),
            (c::MPI_GROUP_NULL, "MPI_GROUP_NULL"),
            (c::MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"),
            (c::MPI_OP_NULL, "MPI_OP_NULL"),
            (c::MPI_REQUEST_NULL, "MPI_REQUEST_NULL"),
            (c::MPI_MESSAGE_NULL, "MPI_MESSAGE_NULL"),
            (0x5a5a, "0x00005a5a"),
        ] {
            let error: Error = Error::Communicator { handle };
            assert!(error.to_string().contains(name), "{error}");
        }
        let handle = c::MPI_COMM_NULL;
        let error: Error = Error::Communicator { handle };
        let text = error.to_string();
        assert!(
            text.contains("MPI_COMM_NULL") && text.contains("not in the new one"),
            "{text}"
        );
    }
}
