//! User-defined reduction operations (section 5.9.5), and the combining functions.

use core::ffi::{c_int, c_longlong, c_void};

use crate::args::{self, ReductionOp};
use crate::barrier_by_messages::allow_barriers_by_messages;
use crate::comm_objects::KeptComm;
use crate::datatypes::{HeldHandle, KnownDatatype, TypedElements, UnpackedElement, known};
use crate::error_dispatch::on_process;
use crate::types;
use crate::types::Handle;
use crate::unlocked::without_lock;
use crate::user_ops::{self, LargeUserFunction, OpFunction, UserFunction, UserOp};
use midplane_objects::coll::{self, CombineFn};
use midplane_objects::comm::Communicator;
use midplane_objects::datatype::BasicType;
use midplane_objects::error::Error;
use midplane_objects::op::PredefinedOp;

/// Runs `body` with the elements of `datatype` and the function that combines them packed. The padding between the
/// members of a pair is packed, too, so that the pair has C's memory layout. A user-defined function may free the
/// communicator, so it is kept until the call ends. Fails like `body`, and like [`operation`].
pub(super) fn with_operation(
    comm: Option<Communicator<'_>>,
    op: c_int,
    datatype: c_int,
    body: impl FnOnce(&TypedElements, &mut CombineFn<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match operation(op, datatype)? {
        (elements, OpCombiner::Predefined(op, basic)) => body(&elements, &mut coll::predefined(op, basic)?),
        (elements, OpCombiner::User(mut user)) => {
            let _stays = comm.map(|comm| KeptComm::new(comm.membership().context));
            body(&elements, &mut |left: &[u8], right: &mut [u8]| {
                user.combine(left, right)
            })
        }
    }
}

/// Combines elements of a datatype.
pub(super) enum OpCombiner {
    Predefined(PredefinedOp, BasicType),
    User(UserCombiner),
}

pub(super) struct UserCombiner {
    function: OpFunction,
    datatype: HeldHandle,
    /// Packed bytes of an element.
    size: usize,
    /// Its two operands, if the memory layout of an element differs from the packed one.
    unpacked: Option<[UnpackedElement; 2]>,
}

/// Returns the elements of `datatype` and their combining function. Fails with [`Error::Operation`],
/// [`Error::Undefined`], [`Error::NoSpace`] or like [`TypedElements::from_handle`].
pub(super) fn operation(op: c_int, datatype: c_int) -> Result<(TypedElements, OpCombiner), Error> {
    let known = known(datatype)?;
    let operation = args::operation(op)?;
    let of = || match known {
        KnownDatatype::Basic(basic, _) => Ok(TypedElements::from_basic(basic)),
        _ => TypedElements::from_handle(datatype),
    };
    let elements = of()?;
    let function = match (operation, &known) {
        (ReductionOp::Predefined(op), KnownDatatype::Basic(basic, _)) if op.is_defined(*basic) => {
            return Ok((elements, OpCombiner::Predefined(op, *basic)));
        }
        (ReductionOp::Predefined(_), _) => return Err(Error::Undefined),
        (ReductionOp::User(op), _) => op.function,
    };
    let unpacked = if elements.is_as_packed() {
        None
    } else {
        Some([UnpackedElement::new(of()?)?, UnpackedElement::new(of()?)?])
    };
    let size = elements.size().max(1);
    let user = UserCombiner {
        function,
        datatype: HeldHandle::new(datatype, &known)?,
        size,
        unpacked,
    };
    Ok((elements, OpCombiner::User(user)))
}

impl OpCombiner {
    /// Checks whether no user-defined function is called.
    pub(super) fn is_predefined(&self) -> bool {
        matches!(self, OpCombiner::Predefined(..))
    }

    pub(super) fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        match self {
            OpCombiner::Predefined(op, basic) => op
                .combine(*basic, left, right)
                .expect("defined, as `operation` has checked"),
            OpCombiner::User(user) => user.combine(left, right),
        }
    }
}

impl UserCombiner {
    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        let UserCombiner {
            function,
            datatype,
            size,
            unpacked,
        } = self;
        let Some([left_element, right_element]) = unpacked else {
            let len = right.len() / *size;
            let (left, right) = (left.as_ptr(), right.as_mut_ptr());
            // SAFETY: both contain `len` elements.
            datatype.with_handle(|datatype| unsafe {
                call(*function, left.cast_mut().cast(), right.cast(), len, datatype)
            });
            return;
        };
        for (left, right) in left.chunks_exact(*size).zip(right.chunks_exact_mut(*size)) {
            left_element.unpack(left);
            right_element.unpack(right);
            let (from, to) = (left_element.origin(), right_element.origin());
            // SAFETY: both contain one element.
            datatype.with_handle(|datatype| unsafe { call(*function, from, to, 1, datatype) });
            right_element.pack(right);
        }
    }
}

/// Calls the program's function.
///
/// # Safety
/// Both must contain `len` elements of `datatype`, which the function may read; it may write the second.
unsafe fn call(function: OpFunction, left: *mut c_void, right: *mut c_void, len: usize, datatype: c_int) {
    let mut datatype = Handle::new(datatype);
    // SAFETY: a function of the program, called with the arguments that the standard specifies (section 5.9.5), as
    // guaranteed by the caller.
    without_lock(|| unsafe {
        match function {
            OpFunction::Int(function) => function(left, right, &mut (len as c_int), &mut datatype),
            OpFunction::Large(function) => function(left, right, &mut (len as c_longlong), &mut datatype),
            #[cfg(target_os = "linux")]
            OpFunction::Adapted(function, adapter) => {
                let function = core::ptr::with_exposed_provenance(function);
                adapter(function, left, right, len as c_longlong, datatype);
            }
        }
    })
}

/// Checks whether a predefined or user-defined operation commutes.
fn commutes(own: Option<&UserOp>) -> bool {
    own.is_none_or(|own| own.commutes)
}

/// Returns the elements that an operation combines; both must be valid.
pub(super) fn combined(op: c_int, elements: &TypedElements) -> coll::ReduceElements {
    let own = user_ops::get(op);
    coll::ReduceElements {
        size: elements.size(),
        commute: commutes(own.as_ref()),
        predefined: own.is_none(),
    }
}

pub unsafe fn MPI_Op_commutative(op: c_int, commute: *mut c_int) -> c_int {
    on_process("MPI_Op_commutative", |_| {
        // SAFETY: the standard's requirements on `commute`.
        let commute = unsafe { args::out(commute, "commute") }?;
        let commutes = match op {
            // The result is one of the two operands.
            args::MPI_REPLACE | args::MPI_NO_OP => false,
            _ => args::operation(op).map(|_| commutes(user_ops::get(op).as_ref()))?,
        };
        *commute = commutes.into();
        Ok(())
    })
}

/// Creates an operation.
///
/// # Safety
/// `op` must satisfy [`args::out`].
unsafe fn create(name: &'static str, function: Option<OpFunction>, commute: c_int, op: *mut Handle) -> c_int {
    on_process(name, |_| {
        let function = function.ok_or(Error::NullArgument { name: "user_fn" })?;
        // SAFETY: guaranteed by the caller.
        let op = unsafe { args::out(op, "op") }?;
        // The function may call a barrier inside an allreduce that uses the network's barrier.
        allow_barriers_by_messages();
        *op = Handle::new(user_ops::add(UserOp {
            function,
            // Used by long allreduces and by short ones of all processes; all others keep rank order.
            commutes: commute != 0,
        })?);
        Ok(())
    })
}

pub unsafe fn MPI_Op_create(function: Option<UserFunction>, commute: c_int, op: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `op`.
    unsafe { create("MPI_Op_create", function.map(OpFunction::Int), commute, op) }
}

pub unsafe fn MPI_Op_create_c(function: Option<LargeUserFunction>, commute: c_int, op: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `op`.
    unsafe { create("MPI_Op_create_c", function.map(OpFunction::Large), commute, op) }
}

pub unsafe fn MPI_Op_free(op: *mut Handle) -> c_int {
    on_process("MPI_Op_free", |_| {
        // SAFETY: the standard's requirements on `op`.
        let op = unsafe { args::out(op, "op") }?;
        user_ops::remove((*op).value())?;
        *op = Handle::new(types::constants::MPI_OP_NULL);
        Ok(())
    })
}
