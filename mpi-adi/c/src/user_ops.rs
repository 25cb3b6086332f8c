//! User-defined reduction operations and their handles (section 5.9.5).
#![forbid(unsafe_code)]

use core::ffi::{c_int, c_longlong, c_void};

use spin::Mutex;

use super::handles::{HandleKind, HandleTable};
use super::types::Handle;
use midplane_objects::error::{Error, LimitedResource};

/// `MPI_User_function`.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Operations,
    tag: 0x5900_0000,
    place_bits: 16,
    generation_bits: 8,
    limit: 1 << 16,
};

/// `MPI_User_function_c`.
pub type LargeUserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_longlong, *mut Handle);

/// Calls a function of an operation, of either type, for a program with another ABI. The number of elements is an argument by
/// value.
#[cfg(target_os = "linux")]
pub type OpAdapter = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void, c_longlong, Handle);

/// Function of an operation, with the type of its length.
#[derive(Clone, Copy)]
pub enum OpFunction {
    Int(UserFunction),
    Large(LargeUserFunction),
    /// Of a program with another ABI: the address of its function, and the adapter that calls it.
    #[cfg(target_os = "linux")]
    Adapted(usize, OpAdapter),
}

#[derive(Clone, Copy)]
pub struct UserOp {
    pub function: OpFunction,
    /// Whether it commutes, as specified by the program.
    pub commutes: bool,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<HandleTable<UserOp>> = Mutex::new(HandleTable::new(KIND));

pub fn get(handle: c_int) -> Option<UserOp> {
    TABLE.lock().get(handle).copied()
}

/// Creates an operation and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub fn add(op: UserOp) -> Result<c_int, Error> {
    TABLE.lock().add(op)
}

/// Installs the adapter of an operation.
#[cfg(target_os = "linux")]
pub fn adapt(handle: c_int, adapter: OpAdapter) {
    if let Some(op) = TABLE.lock().get_mut(handle) {
        let address = match op.function {
            OpFunction::Int(function) => (function as *const ()).expose_provenance(),
            OpFunction::Large(function) => (function as *const ()).expose_provenance(),
            OpFunction::Adapted(address, _) => address,
        };
        op.function = OpFunction::Adapted(address, adapter);
    }
}

/// Frees the operation with handle `handle`. Collectives that use it continue.
pub fn remove(handle: c_int) -> Result<(), Error> {
    let removed = TABLE.lock().remove(handle);
    removed.map(drop).ok_or(Error::Operation { handle })
}
