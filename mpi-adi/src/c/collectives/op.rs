//! Operations of the program's own (section 5.9.5), and what combines elements.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::c::args::{self, Operation, UserFunction};
use crate::c::binding::{BINDING, USER_OPS};
use crate::c::report::on_process;
use crate::c::types;
use crate::mpi::coll::{self, Combine};
use crate::mpi::error::Error;

/// Runs `body` with the function that combines elements of `datatype`.
pub(super) fn with_operation(
    op: c_int,
    datatype: c_int,
    body: impl FnOnce(usize, &mut Combine<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let basic = args::datatype(datatype)?;
    let element = basic.extent();
    match args::operation(op)? {
        Operation::Predefined(op) => body(element, &mut coll::predefined(op, basic)?),
        Operation::User(function) => body(element, &mut |left: &[u8], right: &mut [u8]| {
            let (mut len, mut datatype) = ((right.len() / element) as c_int, datatype);
            // SAFETY: the program's function, given what the standard says (section 5.9.5): `len`
            // elements of `datatype` in both, which it may read, and write in the second.
            unsafe {
                function(
                    left.as_ptr().cast_mut().cast(),
                    right.as_mut_ptr().cast(),
                    &mut len,
                    &mut datatype,
                );
            }
        }),
    }
}

/// Which of the program's operations commute, as it has said.
static COMMUTES: [AtomicBool; USER_OPS] = [const { AtomicBool::new(false) }; USER_OPS];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_commutative(op: c_int, commute: *mut c_int) -> c_int {
    on_process("MPI_Op_commutative", |_| {
        // SAFETY: the standard's promise about `commute`.
        let commute = unsafe { args::out(commute, "commute") }?;
        *commute = match (args::operation(op)?, args::user_op_index(op)) {
            (Operation::User(_), Some(index)) => COMMUTES[index].load(Ordering::Relaxed).into(),
            _ => 1,
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_create(
    function: Option<UserFunction>,
    commute: c_int,
    op: *mut c_int,
) -> c_int {
    on_process("MPI_Op_create", |_| {
        let function = function.ok_or(Error::NullArgument { name: "user_fn" })?;
        // SAFETY: the standard's promise about `op`.
        let op = unsafe { args::out(op, "op") }?;
        let address = (function as *const ()).expose_provenance();
        for (index, place) in BINDING.ops.iter().enumerate() {
            if place
                .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                // To be told only: reductions keep the order of the ranks, whether or not the operation commutes.
                COMMUTES[index].store(commute != 0, Ordering::Relaxed);
                *op = args::user_op_handle(index);
                return Ok(());
            }
        }
        Err(Error::Limit {
            what: "operations of the program's own",
            limit: USER_OPS,
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_free(op: *mut c_int) -> c_int {
    on_process("MPI_Op_free", |_| {
        // SAFETY: the standard's promise about `op`.
        let op = unsafe { args::out(op, "op") }?;
        let wrong = Error::Operation { handle: *op };
        let index = args::user_op_index(*op).ok_or(wrong)?;
        if BINDING.ops[index].swap(0, Ordering::Relaxed) == 0 {
            return Err(wrong);
        }
        *op = types::constants::MPI_OP_NULL;
        Ok(())
    })
}
