//! Operations of the program's own (section 5.9.5): what their handles name.
#![forbid(unsafe_code)]

use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::handles::{Kind, Table};
use midplane_objects::error::{Error, Limited};

/// `MPI_User_function`.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);

const KIND: Kind = Kind {
    name: Limited::Operations,
    tag: 0x5900_0000,
    place_bits: 16,
    generation_bits: 8,
    limit: 1 << 16,
};

/// One of the program's operations.
#[derive(Clone, Copy)]
pub struct UserOp {
    /// What combines.
    pub function: UserFunction,
    /// Whether it commutes, as the program has said.
    pub commutes: bool,
}

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<UserOp>> = Mutex::new(Table::new(KIND));

/// The operation that `handle` names.
pub fn get(handle: c_int) -> Option<UserOp> {
    TABLE.lock().get(handle).copied()
}

/// Makes an operation; its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
pub fn add(op: UserOp) -> Result<c_int, Error> {
    TABLE.lock().add(op)
}

/// Frees the operation that `handle` names. Collectives that have begun with it go on.
pub fn remove(handle: c_int) -> Result<(), Error> {
    let removed = TABLE.lock().remove(handle);
    removed.map(drop).ok_or(Error::Operation { handle })
}
