//! Datatype queries: size and bounds (sections 4.1.5 to 4.1.8), constructor arguments (4.1.13), name (6.8).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_longlong, c_void};

use spin::Mutex;

use super::objects::{KnownDatatype, enter_again, free_handle, known, other_name};
use crate::args::{self, put_text};
use crate::error_dispatch::on_process;
use crate::types::constants::*;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::error::Error;
use midplane_objects::group::exact;

pub unsafe fn MPI_Type_size(datatype: c_int, size: *mut c_int) -> c_int {
    on_process("MPI_Type_size", |_| {
        // SAFETY: the standard's requirements on `size`.
        let size = unsafe { args::out(size, "size") }?;
        let bytes = known(datatype)?.facts().size;
        *size = c_int::try_from(bytes).unwrap_or(MPI_UNDEFINED);
        Ok(())
    })
}

pub unsafe fn MPI_Type_size_x(datatype: c_int, size: *mut c_longlong) -> c_int {
    on_process("MPI_Type_size_x", |_| {
        // SAFETY: the standard's requirements on `size`.
        let size = unsafe { args::out(size, "size") }?;
        *size = known(datatype)?.facts().size as c_longlong;
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_extent(datatype: c_int, lb: *mut isize, extent: *mut isize) -> c_int {
    on_process("MPI_Type_get_extent", |_| {
        // SAFETY: the standard's requirements on both.
        let (lb, extent) = unsafe { (args::out(lb, "lb")?, args::out(extent, "extent")?) };
        let facts = known(datatype)?.facts();
        (*lb, *extent) = (facts.lb, facts.extent);
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_extent_x(datatype: c_int, lb: *mut c_longlong, extent: *mut c_longlong) -> c_int {
    on_process("MPI_Type_get_extent_x", |_| {
        // SAFETY: the standard's requirements on both.
        let (lb, extent) = unsafe { (args::out(lb, "lb")?, args::out(extent, "extent")?) };
        let facts = known(datatype)?.facts();
        (*lb, *extent) = (facts.lb as c_longlong, facts.extent as c_longlong);
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_true_extent(datatype: c_int, true_lb: *mut isize, true_extent: *mut isize) -> c_int {
    on_process("MPI_Type_get_true_extent", |_| {
        // SAFETY: the standard's requirements on both.
        let (true_lb, true_extent) =
            unsafe { (args::out(true_lb, "true_lb")?, args::out(true_extent, "true_extent")?) };
        let facts = known(datatype)?.facts();
        (*true_lb, *true_extent) = (facts.true_lb, facts.true_extent);
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_true_extent_x(
    datatype: c_int,
    true_lb: *mut c_longlong,
    true_extent: *mut c_longlong,
) -> c_int {
    on_process("MPI_Type_get_true_extent_x", |_| {
        // SAFETY: the standard's requirements on both.
        let (true_lb, true_extent) =
            unsafe { (args::out(true_lb, "true_lb")?, args::out(true_extent, "true_extent")?) };
        let facts = known(datatype)?.facts();
        *true_lb = facts.true_lb as c_longlong;
        *true_extent = facts.true_extent as c_longlong;
        Ok(())
    })
}

/// Stores the address of `location`, for displacements from MPI_BOTTOM.
///
/// # Safety
/// `address` must satisfy [`args::out`].
pub(super) unsafe fn address(location: *const c_void, address: *mut isize) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    *unsafe { args::out(address, "address") }? = location.expose_provenance() as isize;
    Ok(())
}

pub unsafe fn MPI_Get_address(location: *const c_void, address_of: *mut isize) -> c_int {
    // SAFETY: the standard's requirements on `address_of`.
    on_process("MPI_Get_address", |_| unsafe { address(location, address_of) })
}

pub fn MPI_Aint_add(base: isize, disp: isize) -> isize {
    base.wrapping_add(disp)
}

pub fn MPI_Aint_diff(addr1: isize, addr2: isize) -> isize {
    addr1.wrapping_sub(addr2)
}

pub unsafe fn MPI_Type_get_envelope(
    datatype: c_int,
    num_integers: *mut c_int,
    num_addresses: *mut c_int,
    num_datatypes: *mut c_int,
    combiner: *mut c_int,
) -> c_int {
    on_process("MPI_Type_get_envelope", |_| {
        // SAFETY: the standard's requirements on all four.
        let (integers, addresses, datatypes, combiner) = unsafe {
            (
                args::out(num_integers, "num_integers")?,
                args::out(num_addresses, "num_addresses")?,
                args::out(num_datatypes, "num_datatypes")?,
                args::out(combiner, "combiner")?,
            )
        };
        (*integers, *addresses, *datatypes, *combiner) = match known(datatype)? {
            KnownDatatype::Made(object) => {
                let recipe = &object.recipe;
                (
                    recipe.integers.len() as c_int,
                    recipe.addresses.len() as c_int,
                    recipe.datatypes.len() as c_int,
                    recipe.combiner,
                )
            }
            _ => (0, 0, 0, MPI_COMBINER_NAMED),
        };
        Ok(())
    })
}

/// Creates handles of these datatypes, new ones for derived datatypes. Fails like [`enter_again`], after freeing the
/// new handles.
fn handles(datatypes: &[KnownDatatype]) -> Result<Vec<c_int>, Error> {
    let mut handles: Vec<c_int> = try_with_capacity(datatypes.len())?;
    for datatype in datatypes {
        let handle = match datatype {
            KnownDatatype::Made(object) => enter_again(object),
            other => Ok(other.handle().unwrap_or(MPI_DATATYPE_NULL)),
        };
        match handle {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                for handle in handles {
                    // Predefined ones cannot be freed.
                    let _ = free_handle(handle);
                }
                return Err(error);
            }
        }
    }
    Ok(handles)
}

pub unsafe fn MPI_Type_get_contents(
    datatype: c_int,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut isize,
    array_of_datatypes: *mut c_int,
) -> c_int {
    on_process("MPI_Type_get_contents", |_| {
        let object = match known(datatype)? {
            KnownDatatype::Made(object) => object,
            _ => return Err(Error::Datatype { handle: datatype }),
        };
        let recipe = &object.recipe;
        for (most, len) in [
            (max_integers, recipe.integers.len()),
            (max_addresses, recipe.addresses.len()),
            (max_datatypes, recipe.datatypes.len()),
        ] {
            if args::count(most)? < len {
                return Err(Error::Argument {
                    what: "an array that is shorter than MPI_Type_get_envelope says",
                });
            }
        }
        // SAFETY: the standard's requirements on the arrays.
        let (integers, addresses, datatypes) = unsafe {
            (
                args::array_mut(array_of_integers, recipe.integers.len(), "array_of_integers")?,
                args::array_mut(array_of_addresses, recipe.addresses.len(), "array_of_addresses")?,
                args::array_mut(array_of_datatypes, recipe.datatypes.len(), "array_of_datatypes")?,
            )
        };
        datatypes.copy_from_slice(&handles(&recipe.datatypes)?);
        integers.copy_from_slice(&recipe.integers);
        addresses.copy_from_slice(&recipe.addresses);
        Ok(())
    })
}

/// Names that the program has set for predefined datatypes, in its heap.
static NAMES: Mutex<Vec<(c_int, Box<str>)>> = Mutex::new(Vec::new());

/// Returns the initial name of a predefined datatype.
fn name_of(basic: BasicType) -> &'static str {
    use BasicType::*;
    match basic {
        Char => "MPI_CHAR",
        SignedChar => "MPI_SIGNED_CHAR",
        UnsignedChar => "MPI_UNSIGNED_CHAR",
        Byte => "MPI_BYTE",
        Packed => "MPI_PACKED",
        Wchar => "MPI_WCHAR",
        Short => "MPI_SHORT",
        UnsignedShort => "MPI_UNSIGNED_SHORT",
        Int => "MPI_INT",
        Unsigned => "MPI_UNSIGNED",
        Long => "MPI_LONG",
        UnsignedLong => "MPI_UNSIGNED_LONG",
        LongLong => "MPI_LONG_LONG_INT",
        UnsignedLongLong => "MPI_UNSIGNED_LONG_LONG",
        Float => "MPI_FLOAT",
        Double => "MPI_DOUBLE",
        LongDouble => "MPI_LONG_DOUBLE",
        CBool => "MPI_C_BOOL",
        Int8 => "MPI_INT8_T",
        Int16 => "MPI_INT16_T",
        Int32 => "MPI_INT32_T",
        Int64 => "MPI_INT64_T",
        Uint8 => "MPI_UINT8_T",
        Uint16 => "MPI_UINT16_T",
        Uint32 => "MPI_UINT32_T",
        Uint64 => "MPI_UINT64_T",
        Aint => "MPI_AINT",
        Offset => "MPI_OFFSET",
        Count => "MPI_COUNT",
        FloatComplex => "MPI_C_COMPLEX",
        DoubleComplex => "MPI_C_DOUBLE_COMPLEX",
        LongDoubleComplex => "MPI_C_LONG_DOUBLE_COMPLEX",
        FloatInt => "MPI_FLOAT_INT",
        DoubleInt => "MPI_DOUBLE_INT",
        LongInt => "MPI_LONG_INT",
        TwoInt => "MPI_2INT",
        ShortInt => "MPI_SHORT_INT",
        LongDoubleInt => "MPI_LONG_DOUBLE_INT",
        TwoReal => "MPI_2REAL",
        TwoDoublePrecision => "MPI_2DOUBLE_PRECISION",
    }
}

fn set_predefined_name(handle: c_int, name: &str) -> Result<(), Error> {
    // It is valid UTF-8.
    let name = alloc::string::String::from_utf8(exact(name.as_bytes())?)
        .unwrap_or_default()
        .into_boxed_str();
    let mut names = NAMES.lock();
    if let Some((_, old)) = names.iter_mut().find(|(of, _)| *of == handle) {
        *old = name;
        return Ok(());
    }
    let bytes = size_of::<(c_int, Box<str>)>();
    names.try_reserve(1).map_err(|_| Error::NoSpace { bytes })?;
    names.push((handle, name));
    Ok(())
}

pub unsafe fn MPI_Type_set_name(datatype: c_int, type_name: *const c_char) -> c_int {
    on_process("MPI_Type_set_name", |_| {
        let known = known(datatype)?;
        // SAFETY: the standard's requirements on `type_name`.
        let name = unsafe { args::string(type_name, MPI_MAX_OBJECT_NAME, "type_name") }?;
        match known {
            KnownDatatype::Made(object) => *object.name.lock() = exact(name.as_bytes())?,
            _ => set_predefined_name(datatype, &name)?,
        }
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_name(datatype: c_int, type_name: *mut c_char, resultlen: *mut c_int) -> c_int {
    on_process("MPI_Type_get_name", |_| {
        let known = known(datatype)?;
        let own;
        let names = NAMES.lock();
        let given = names.iter().find(|(of, _)| *of == datatype);
        let name = match (&known, given) {
            (KnownDatatype::Made(object), _) => {
                own = object.name.lock();
                core::str::from_utf8(&own).unwrap_or_default()
            }
            (_, Some((_, name))) => name,
            (KnownDatatype::Basic(basic, _), None) => other_name(datatype).unwrap_or(name_of(*basic)),
            (KnownDatatype::Marker { is_upper: true }, None) => "MPI_UB",
            (KnownDatatype::Marker { is_upper: false }, None) => "MPI_LB",
        };
        // SAFETY: the standard's requirements on both.
        unsafe { put_text(type_name, MPI_MAX_OBJECT_NAME, name, resultlen) }
    })
}
