//! Datatypes of Fortran's kinds (section 17.1.9): predefined datatypes without a name, which the precision and the range of
//! numbers select, as `selected_real_kind` and `selected_int_kind` select a kind.

use alloc::vec::Vec;
use core::ffi::c_int;

use spin::Mutex;

use super::objects::{DatatypeObject, KINDS, TypeConstructor, enter, made};
use crate::args;
use crate::error_dispatch::on_process;
use crate::types::Handle;
use crate::types::constants::{
    MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_INTEGER, MPI_COMBINER_F90_REAL, MPI_UNDEFINED,
};
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::DerivedType;
use midplane_objects::error::Error;

/// A kind of real numbers: decimal digits, decimal exponent, and the datatypes of numbers and complex numbers.
struct RealKind {
    precision: c_int,
    range: c_int,
    real: BasicType,
    complex: BasicType,
}

/// Kinds of real numbers, with increasing precision. The last one is C's `long double`, with 80 or 128 bits.
const REAL_KINDS: [RealKind; 3] = [
    RealKind {
        precision: 6,
        range: 37,
        real: BasicType::Float,
        complex: BasicType::FloatComplex,
    },
    RealKind {
        precision: 15,
        range: 307,
        real: BasicType::Double,
        complex: BasicType::DoubleComplex,
    },
    RealKind {
        precision: if cfg!(target_arch = "x86_64") { 18 } else { 33 },
        range: 4931,
        real: BasicType::LongDouble,
        complex: BasicType::LongDoubleComplex,
    },
];

/// Kinds of integers: decimal digits.
const INTEGER_KINDS: [(c_int, BasicType); 4] = [
    (2, BasicType::Int8),
    (4, BasicType::Int16),
    (9, BasicType::Int32),
    (18, BasicType::Int64),
];

/// A request for a datatype: the constructor, precision and range. The precision of integers is MPI_UNDEFINED.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KindRequest {
    combiner: c_int,
    precision: c_int,
    range: c_int,
}

impl KindRequest {
    /// Returns the first kind with at least this precision and range.
    fn basic(self) -> Option<BasicType> {
        // MPI_UNDEFINED, a negative number, asks for nothing.
        let fits = |kind: &&RealKind| self.precision <= kind.precision && self.range <= kind.range;
        let real = || REAL_KINDS.iter().find(fits);
        match self.combiner {
            MPI_COMBINER_F90_REAL => real().map(|kind| kind.real),
            MPI_COMBINER_F90_COMPLEX => real().map(|kind| kind.complex),
            _ => {
                let kind = INTEGER_KINDS.iter().find(|(range, _)| self.range <= *range);
                kind.map(|(_, basic)| *basic)
            }
        }
    }

    /// Returns the arguments of the constructor.
    fn integers(self) -> Result<Vec<c_int>, Error> {
        let given = match self.combiner {
            MPI_COMBINER_F90_INTEGER => &[self.range][..],
            _ => &[self.precision, self.range],
        };
        let mut integers = try_with_capacity(given.len())?;
        integers.extend_from_slice(given);
        Ok(integers)
    }
}

/// Datatypes that the program has requested, so that each exists once. No call waits while it holds the lock, and no
/// interrupt handler uses it.
static MADE: Mutex<Vec<(KindRequest, c_int)>> = Mutex::new(Vec::new());

/// Returns the predefined datatype that an object stands for.
fn basic_of(object: &DatatypeObject) -> Option<BasicType> {
    let (combiner, integers) = (object.recipe.combiner, &object.recipe.integers);
    let request = match (combiner, &integers[..]) {
        (MPI_COMBINER_F90_INTEGER, &[range]) => KindRequest {
            combiner,
            precision: MPI_UNDEFINED,
            range,
        },
        (MPI_COMBINER_F90_REAL | MPI_COMBINER_F90_COMPLEX, &[precision, range]) => KindRequest {
            combiner,
            precision,
            range,
        },
        _ => return None,
    };
    request.basic()
}

/// Returns the handle of a datatype, after creating it at the first request. Fails with [`Error::Argument`] if no kind has
/// this precision and range, and with [`Error::NoSpace`].
fn handle_of(request: KindRequest) -> Result<c_int, Error> {
    let mut made_types = MADE.lock();
    if let Some((_, handle)) = made_types.iter().find(|(known, _)| *known == request) {
        return Ok(*handle);
    }
    let basic = request.basic().ok_or(Error::Argument {
        what: "no kind of this compiler has the precision and the range",
    })?;
    let bytes = size_of::<(KindRequest, c_int)>();
    made_types.try_reserve(1).map_err(|_| Error::NoSpace { bytes })?;
    KINDS.set(basic_of);
    let recipe = TypeConstructor {
        combiner: request.combiner,
        integers: request.integers()?,
        has_large_counts: false,
        addresses: Vec::new(),
        datatypes: Vec::new(),
    };
    let handle = enter(DerivedType::basic(basic)?, recipe)?;
    made(handle)?.commit();
    made_types.push((request, handle));
    Ok(handle)
}

/// Ends a call that requests a datatype.
///
/// # Safety
/// `newtype` must satisfy [`args::out`].
unsafe fn request(function: &'static str, request: KindRequest, newtype: *mut Handle) -> c_int {
    on_process(function, |_| {
        // SAFETY: guaranteed by the caller.
        *unsafe { args::out(newtype, "newtype") }? = Handle::new(handle_of(request)?);
        Ok(())
    })
}

pub unsafe fn MPI_Type_create_f90_integer(r: c_int, newtype: *mut Handle) -> c_int {
    let kind = KindRequest {
        combiner: MPI_COMBINER_F90_INTEGER,
        precision: MPI_UNDEFINED,
        range: r,
    };
    // SAFETY: the standard's requirements on `newtype`.
    unsafe { request("MPI_Type_create_f90_integer", kind, newtype) }
}

pub unsafe fn MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: *mut Handle) -> c_int {
    let kind = KindRequest {
        combiner: MPI_COMBINER_F90_REAL,
        precision: p,
        range: r,
    };
    // SAFETY: the standard's requirements on `newtype`.
    unsafe { request("MPI_Type_create_f90_real", kind, newtype) }
}

pub unsafe fn MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: *mut Handle) -> c_int {
    let kind = KindRequest {
        combiner: MPI_COMBINER_F90_COMPLEX,
        precision: p,
        range: r,
    };
    // SAFETY: the standard's requirements on `newtype`.
    unsafe { request("MPI_Type_create_f90_complex", kind, newtype) }
}
