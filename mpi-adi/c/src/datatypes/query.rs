//! Datatype queries: size and bounds (sections 4.1.5 to 4.1.8), constructor arguments (4.1.13), name (6.8).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_longlong, c_void};

use spin::Mutex;

use super::objects::{KnownDatatype, TypeConstructor, enter_again, free_handle, known, made, other_name};
use crate::args::{self, put_text};
use crate::counts::{Integer, put, put_count};
use crate::error_dispatch::on_process;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::group::exact;

pub unsafe fn MPI_Type_size<C: Integer>(datatype: c_int, size: *mut C) -> c_int {
    on_process("MPI_Type_size", |_| {
        // SAFETY: the standard's requirements on `size`.
        let size = unsafe { args::out(size, "size") }?;
        put_count(size, Some(known(datatype)?.facts().size));
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

pub unsafe fn MPI_Type_get_extent<A: Integer>(datatype: c_int, lb: *mut A, extent: *mut A) -> c_int {
    on_process("MPI_Type_get_extent", |_| {
        // SAFETY: the standard's requirements on both.
        let (lb, extent) = unsafe { (args::out(lb, "lb")?, args::out(extent, "extent")?) };
        let facts = known(datatype)?.facts();
        put(lb, facts.lb)?;
        put(extent, facts.extent)
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

pub unsafe fn MPI_Type_get_true_extent<A: Integer>(datatype: c_int, true_lb: *mut A, true_extent: *mut A) -> c_int {
    on_process("MPI_Type_get_true_extent", |_| {
        // SAFETY: the standard's requirements on both.
        let (true_lb, true_extent) =
            unsafe { (args::out(true_lb, "true_lb")?, args::out(true_extent, "true_extent")?) };
        let facts = known(datatype)?.facts();
        put(true_lb, facts.true_lb)?;
        put(true_extent, facts.true_extent)
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

impl TypeConstructor {
    /// Returns the arguments of type MPI_Aint, and those of type MPI_Count.
    fn addresses_and_counts(&self) -> (&[isize], &[isize]) {
        match self.has_large_counts {
            true => (&[], &self.addresses),
            false => (&self.addresses, &[]),
        }
    }
}

/// Numbers of the arguments of a constructor, and its combiner.
struct Envelope {
    integers: usize,
    addresses: usize,
    large_counts: usize,
    datatypes: usize,
    combiner: c_int,
}

impl Envelope {
    fn read(datatype: c_int) -> Result<Envelope, Error> {
        // Also of the datatypes of Fortran's kinds.
        known(datatype)?;
        Ok(match made(datatype) {
            Ok(object) => {
                let recipe = &object.recipe;
                let (addresses, large_counts) = recipe.addresses_and_counts();
                Envelope {
                    integers: recipe.integers.len(),
                    addresses: addresses.len(),
                    large_counts: large_counts.len(),
                    datatypes: recipe.datatypes.len(),
                    combiner: recipe.combiner,
                }
            }
            Err(_) => Envelope {
                integers: 0,
                addresses: 0,
                large_counts: 0,
                datatypes: 0,
                combiner: MPI_COMBINER_NAMED,
            },
        })
    }
}

/// Error of the functions without large counts.
const HAS_LARGE_COUNTS: Error = Error::Wrong {
    class: ErrorClass::Type,
    what: "the datatype has large counts, which only MPI_Type_get_envelope_c and MPI_Type_get_contents_c return",
};

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
        let envelope = Envelope::read(datatype)?;
        if envelope.large_counts > 0 {
            return Err(HAS_LARGE_COUNTS);
        }
        *integers = envelope.integers as c_int;
        *addresses = envelope.addresses as c_int;
        *datatypes = envelope.datatypes as c_int;
        *combiner = envelope.combiner;
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_envelope_c(
    datatype: c_int,
    num_integers: *mut c_longlong,
    num_addresses: *mut c_longlong,
    num_large_counts: *mut c_longlong,
    num_datatypes: *mut c_longlong,
    combiner: *mut c_int,
) -> c_int {
    on_process("MPI_Type_get_envelope_c", |_| {
        // SAFETY: the standard's requirements on all five.
        let (integers, addresses, large_counts, datatypes, combiner) = unsafe {
            (
                args::out(num_integers, "num_integers")?,
                args::out(num_addresses, "num_addresses")?,
                args::out(num_large_counts, "num_large_counts")?,
                args::out(num_datatypes, "num_datatypes")?,
                args::out(combiner, "combiner")?,
            )
        };
        let envelope = Envelope::read(datatype)?;
        *integers = envelope.integers as c_longlong;
        *addresses = envelope.addresses as c_longlong;
        *large_counts = envelope.large_counts as c_longlong;
        *datatypes = envelope.datatypes as c_longlong;
        *combiner = envelope.combiner;
        Ok(())
    })
}

/// Returns a handle of a datatype, a new one for a derived datatype. Fails like [`enter_again`].
pub fn new_handle(datatype: &KnownDatatype) -> Result<c_int, Error> {
    match datatype {
        KnownDatatype::Made(object) => enter_again(object),
        other => Ok(other.handle().unwrap_or(MPI_DATATYPE_NULL)),
    }
}

/// Creates handles of these datatypes, new ones for derived datatypes. Fails like [`enter_again`], after freeing the
/// new handles.
fn handles(datatypes: &[KnownDatatype]) -> Result<Vec<Handle>, Error> {
    let mut handles: Vec<Handle> = try_with_capacity(datatypes.len())?;
    for datatype in datatypes {
        match new_handle(datatype) {
            Ok(handle) => handles.push(Handle::new(handle)),
            Err(error) => {
                for handle in handles {
                    // Predefined ones cannot be freed.
                    let _ = free_handle(handle.value());
                }
                return Err(error);
            }
        }
    }
    Ok(handles)
}

/// An array of results, with its capacity.
struct ResultArray<T> {
    items: *mut T,
    capacity: isize,
    name: &'static str,
}

impl<T> ResultArray<T> {
    fn new(items: *mut T, capacity: impl Integer, name: &'static str) -> Self {
        Self {
            items,
            capacity: capacity.get(),
            name,
        }
    }

    /// Returns the part for `len` items.
    ///
    /// # Safety
    /// See [`args::array_mut`], with as many items as the capacity.
    unsafe fn part<'a>(self, len: usize) -> Result<&'a mut [T], Error> {
        if args::count(self.capacity)? < len {
            return Err(Error::Argument {
                what: "an array that is shorter than MPI_Type_get_envelope says",
            });
        }
        // SAFETY: guaranteed by the caller.
        unsafe { args::array_mut(self.items, len, self.name) }
    }
}

/// Arrays for the arguments of a constructor.
struct Contents {
    integers: ResultArray<c_int>,
    addresses: ResultArray<isize>,
    /// `None` in the function without large counts.
    large_counts: Option<ResultArray<c_longlong>>,
    datatypes: ResultArray<Handle>,
}

/// Returns the arguments of a constructor.
///
/// # Safety
/// See [`ResultArray::part`].
unsafe fn contents(datatype: c_int, arrays: Contents) -> Result<(), Error> {
    let object = made(datatype)?;
    let recipe = &object.recipe;
    let (given_addresses, given_counts) = recipe.addresses_and_counts();
    // SAFETY: guaranteed by the caller.
    let (integers, addresses, counts, datatypes) = unsafe {
        (
            arrays.integers.part(recipe.integers.len())?,
            arrays.addresses.part(given_addresses.len())?,
            match arrays.large_counts {
                Some(array) => array.part(given_counts.len())?,
                None if given_counts.is_empty() => &mut [],
                None => return Err(HAS_LARGE_COUNTS),
            },
            arrays.datatypes.part(recipe.datatypes.len())?,
        )
    };
    datatypes.copy_from_slice(&handles(&recipe.datatypes)?);
    integers.copy_from_slice(&recipe.integers);
    addresses.copy_from_slice(given_addresses);
    for (to, count) in counts.iter_mut().zip(given_counts) {
        *to = *count as c_longlong;
    }
    Ok(())
}

pub unsafe fn MPI_Type_get_contents(
    datatype: c_int,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut isize,
    array_of_datatypes: *mut Handle,
) -> c_int {
    on_process("MPI_Type_get_contents", |_| {
        let arrays = Contents {
            integers: ResultArray::new(array_of_integers, max_integers, "array_of_integers"),
            addresses: ResultArray::new(array_of_addresses, max_addresses, "array_of_addresses"),
            large_counts: None,
            datatypes: ResultArray::new(array_of_datatypes, max_datatypes, "array_of_datatypes"),
        };
        // SAFETY: the standard's requirements on the arrays.
        unsafe { contents(datatype, arrays) }
    })
}

pub unsafe fn MPI_Type_get_contents_c(
    datatype: c_int,
    max_integers: c_longlong,
    max_addresses: c_longlong,
    max_large_counts: c_longlong,
    max_datatypes: c_longlong,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut isize,
    array_of_large_counts: *mut c_longlong,
    array_of_datatypes: *mut Handle,
) -> c_int {
    on_process("MPI_Type_get_contents_c", |_| {
        let arrays = Contents {
            integers: ResultArray::new(array_of_integers, max_integers, "array_of_integers"),
            addresses: ResultArray::new(array_of_addresses, max_addresses, "array_of_addresses"),
            large_counts: Some(ResultArray::new(
                array_of_large_counts,
                max_large_counts,
                "array_of_large_counts",
            )),
            datatypes: ResultArray::new(array_of_datatypes, max_datatypes, "array_of_datatypes"),
        };
        // SAFETY: the standard's requirements on the arrays.
        unsafe { contents(datatype, arrays) }
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
        if datatype == MPI_DATATYPE_NULL {
            // SAFETY: the standard's requirements on both (MPI-4.1 section 7.8).
            return unsafe { put_text(type_name, MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL", resultlen) };
        }
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
