//! `MPI_Status`, and the constants of `mpi.h`.

use core::ffi::{c_int, c_longlong};

/// `MPI_Status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
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
}

/// Values of `mpi.h`.
#[allow(missing_docs)]
pub mod constants {
    use core::ffi::c_int;

    pub const MPI_SUCCESS: c_int = 0;
    pub const MPI_ANY_SOURCE: c_int = -2;
    pub const MPI_PROC_NULL: c_int = -1;
    pub const MPI_ROOT: c_int = -3;
    pub const MPI_ANY_TAG: c_int = -1;
    pub const MPI_UNDEFINED: c_int = -32766;
    pub const MPI_COMM_NULL: c_int = 0x0400_0000;
    pub const MPI_COMM_WORLD: c_int = 0x4400_0000;
    pub const MPI_COMM_SELF: c_int = 0x4400_0001;
    pub const MPI_GROUP_NULL: c_int = 0x0800_0000;
    pub const MPI_GROUP_EMPTY: c_int = 0x4800_0000;
    pub const MPI_REQUEST_NULL: c_int = 0;
    pub const MPI_MESSAGE_NULL: c_int = -1;
    pub const MPI_MESSAGE_NO_PROC: c_int = -2;
    pub const MPI_FILE_NULL: c_int = 0x2800_0000;
    pub const MPI_OP_NULL: c_int = 0x1800_0000;
    pub const MPI_ERRHANDLER_NULL: c_int = 0x1400_0000;
    pub const MPI_ERRORS_ARE_FATAL: c_int = 0x5400_0000;
    pub const MPI_ERRORS_RETURN: c_int = 0x5400_0001;
    pub const MPI_MAX_PROCESSOR_NAME: usize = 64;
    pub const MPI_MAX_ERROR_STRING: usize = 512;
    pub const MPI_MAX_OBJECT_NAME: usize = 64;
    pub const MPI_MAX_LIBRARY_VERSION_STRING: usize = 128;
    pub const MPI_THREAD_SINGLE: c_int = 0;
    pub const MPI_THREAD_SERIALIZED: c_int = 2;
    pub const MPI_THREAD_MULTIPLE: c_int = 3;
    pub const MPI_IDENT: c_int = 0;
    pub const MPI_CONGRUENT: c_int = 1;
    pub const MPI_SIMILAR: c_int = 2;
    pub const MPI_UNEQUAL: c_int = 3;
    pub const MPI_GRAPH: c_int = 1;
    pub const MPI_CART: c_int = 2;
    pub const MPI_DIST_GRAPH: c_int = 3;
    pub const MPI_COMM_TYPE_SHARED: c_int = 1;
    pub const MPI_INFO_NULL: c_int = 0x1c00_0000;
    pub const MPI_INFO_ENV: c_int = 0x5c00_0001;
    pub const MPI_KEYVAL_INVALID: c_int = 0x2400_0000;
    pub const MPI_ERR_LASTCODE: c_int = 95;
    pub const MPI_THREAD_FUNNELED: c_int = 1;
    pub const MPI_UNIVERSE_SIZE: c_int = 0x6440_0009;
    pub const MPI_LASTUSEDCODE: c_int = 0x6440_000b;
    pub const MPI_APPNUM: c_int = 0x6440_000d;
    pub const MPI_DATATYPE_NULL: c_int = 0x0c00_0000;
    pub const MPI_COMBINER_NAMED: c_int = 1;
    pub const MPI_COMBINER_DUP: c_int = 2;
    pub const MPI_COMBINER_CONTIGUOUS: c_int = 3;
    pub const MPI_COMBINER_VECTOR: c_int = 4;
    pub const MPI_COMBINER_HVECTOR: c_int = 6;
    pub const MPI_COMBINER_INDEXED: c_int = 7;
    pub const MPI_COMBINER_HINDEXED: c_int = 9;
    pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 10;
    pub const MPI_COMBINER_STRUCT: c_int = 12;
    pub const MPI_COMBINER_SUBARRAY: c_int = 13;
    pub const MPI_COMBINER_DARRAY: c_int = 14;
    pub const MPI_COMBINER_RESIZED: c_int = 18;
    pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 19;
    pub const MPI_ORDER_C: c_int = 56;
    pub const MPI_ORDER_FORTRAN: c_int = 57;
    pub const MPI_DISTRIBUTE_BLOCK: c_int = 121;
    pub const MPI_DISTRIBUTE_CYCLIC: c_int = 122;
    pub const MPI_DISTRIBUTE_NONE: c_int = 123;
    pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = -49767;
    pub const MPI_TYPECLASS_REAL: c_int = 1;
    pub const MPI_TYPECLASS_INTEGER: c_int = 2;
    pub const MPI_TYPECLASS_COMPLEX: c_int = 3;
    pub const MPI_WIN_NULL: c_int = 0x2000_0000;
    pub const MPI_WIN_BASE: c_int = 0x6600_0001;
    pub const MPI_WIN_SIZE: c_int = 0x6600_0003;
    pub const MPI_WIN_DISP_UNIT: c_int = 0x6600_0005;
    pub const MPI_WIN_CREATE_FLAVOR: c_int = 0x6600_0007;
    pub const MPI_WIN_MODEL: c_int = 0x6600_0009;
    pub const MPI_WIN_FLAVOR_CREATE: c_int = 1;
    pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 2;
    pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 3;
    pub const MPI_WIN_FLAVOR_SHARED: c_int = 4;
    pub const MPI_WIN_UNIFIED: c_int = 2;
    pub const MPI_LOCK_EXCLUSIVE: c_int = 234;
    pub const MPI_LOCK_SHARED: c_int = 235;
    pub const MPI_MODE_NOCHECK: c_int = 1024;
    pub const MPI_MODE_NOSTORE: c_int = 2048;
    pub const MPI_MODE_NOPUT: c_int = 4096;
    pub const MPI_MODE_NOPRECEDE: c_int = 8192;
    pub const MPI_MODE_NOSUCCEED: c_int = 16384;
    pub const MPI_TAG_UB: c_int = 0x6440_0001;
    pub const MPI_HOST: c_int = 0x6440_0003;
    pub const MPI_IO: c_int = 0x6440_0005;
    pub const MPI_WTIME_IS_GLOBAL: c_int = 0x6440_0007;
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
