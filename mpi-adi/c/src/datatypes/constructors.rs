//! Datatype constructors (sections 4.1.2 to 4.1.4 and 4.1.7), commit and free (4.1.9), and duplicates (4.1.10).

use alloc::vec::Vec;
use core::ffi::c_int;

use super::attributes;
use super::objects::{KnownDatatype, TypeConstructor, enter, free_handle, known, made};
use crate::args;
use crate::error_dispatch::on_process;
use crate::types::constants::*;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::{
    ArrayDistribution, ArrayOrder, DerivedType, GridDimension, NumberClass, TypeBlock, match_size, part_of,
};
use midplane_objects::error::Error;

/// Arguments of a constructor, recorded for MPI_Type_get_contents.
pub(super) struct ConstructorArgs<'a> {
    pub combiner: c_int,
    /// Lists of integers, to be concatenated.
    pub integers: &'a [&'a [c_int]],
    pub addresses: &'a [isize],
    pub datatypes: &'a [c_int],
}

fn copied<'a, T: Copy + 'a>(lists: impl Iterator<Item = &'a [T]> + Clone) -> Result<Vec<T>, Error> {
    let len = lists.clone().map(<[T]>::len).sum();
    let mut all = try_with_capacity(len)?;
    for list in lists {
        all.extend_from_slice(list);
    }
    Ok(all)
}

impl ConstructorArgs<'_> {
    fn recipe(&self) -> Result<TypeConstructor, Error> {
        let mut datatypes = try_with_capacity(self.datatypes.len())?;
        for handle in self.datatypes {
            datatypes.push(known(*handle)?);
        }
        Ok(TypeConstructor {
            combiner: self.combiner,
            integers: copied(self.integers.iter().copied())?,
            addresses: copied(core::iter::once(self.addresses))?,
            datatypes,
        })
    }
}

/// Registers the datatype of a constructor.
///
/// # Safety
/// `newtype` must satisfy [`args::out`].
pub(super) unsafe fn construct(
    given: ConstructorArgs<'_>,
    newtype: *mut c_int,
    make: impl FnOnce(&[KnownDatatype]) -> Result<DerivedType, Error>,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let newtype = unsafe { args::out(newtype, "newtype") }?;
    let recipe = given.recipe()?;
    let datatype = make(&recipe.datatypes)?;
    *newtype = enter(datatype, recipe)?;
    Ok(())
}

/// Registers a datatype that consists of copies of one datatype.
///
/// # Safety
/// See [`construct`].
unsafe fn construct_of_one(
    given: ConstructorArgs<'_>,
    newtype: *mut c_int,
    make: impl FnOnce(&DerivedType) -> Result<DerivedType, Error>,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { construct(given, newtype, |datatypes| datatypes[0].with_type(make)) }
}

/// Checks that the counts are not negative.
pub(super) fn counts(given: &[c_int]) -> Result<(), Error> {
    given.iter().try_for_each(|count| args::count(*count).map(|_| ()))
}

fn times_extent(displacement: c_int, datatype: &DerivedType) -> Result<isize, Error> {
    let bytes = (displacement as isize).checked_mul(datatype.extent());
    bytes.ok_or(Error::Argument {
        what: "a displacement that is more than an address can say",
    })
}

pub unsafe fn MPI_Type_contiguous(count: c_int, oldtype: c_int, newtype: *mut c_int) -> c_int {
    on_process("MPI_Type_contiguous", |_| {
        let copies = args::count(count)?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_CONTIGUOUS,
            integers: &[&[count]],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.contiguous(copies)) }
    })
}

pub unsafe fn MPI_Type_vector(
    count: c_int,
    blocklength: c_int,
    stride: c_int,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_vector", |_| {
        let (blocks, length) = (args::count(count)?, args::count(blocklength)?);
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_VECTOR,
            integers: &[&[count, blocklength, stride]],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                old.vector(blocks, length, times_extent(stride, old)?)
            })
        }
    })
}

/// Implements MPI_Type_create_hvector, for both of its names.
///
/// # Safety
/// See [`construct`].
pub(super) unsafe fn hvector(
    count: c_int,
    blocklength: c_int,
    stride: isize,
    oldtype: c_int,
    newtype: *mut c_int,
) -> Result<(), Error> {
    let (blocks, length) = (args::count(count)?, args::count(blocklength)?);
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_HVECTOR,
        integers: &[&[count, blocklength]],
        addresses: &[stride],
        datatypes: &[oldtype],
    };
    // SAFETY: guaranteed by the caller.
    unsafe { construct_of_one(given, newtype, |old| old.vector(blocks, length, stride)) }
}

pub unsafe fn MPI_Type_create_hvector(
    count: c_int,
    blocklength: c_int,
    stride: isize,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_hvector", |_| {
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { hvector(count, blocklength, stride, oldtype, newtype) }
    })
}

/// Returns blocks of one datatype, each with a length and a displacement in bytes.
fn blocks_of(
    datatype: &DerivedType,
    lengths: impl Iterator<Item = c_int> + Clone,
    places: impl Iterator<Item = isize> + Clone,
) -> Result<DerivedType, Error> {
    DerivedType::blocks(lengths.zip(places).map(|(length, at)| TypeBlock {
        at,
        count: length as usize,
        datatype,
    }))
}

/// Converts displacements from elements to bytes, after a range check.
fn in_bytes(displacements: &[c_int], datatype: &DerivedType) -> Result<impl Iterator<Item = isize> + Clone, Error> {
    for displacement in displacements {
        times_extent(*displacement, datatype)?;
    }
    let extent = datatype.extent();
    Ok(displacements
        .iter()
        .map(move |displacement| *displacement as isize * extent))
}

/// Returns the lengths and the displacements of blocks.
///
/// # Safety
/// Both must satisfy [`args::array`], with `count` items.
pub(super) unsafe fn blocks<'a, T>(
    count: c_int,
    lengths: *const c_int,
    displacements: *const T,
) -> Result<(&'a [c_int], &'a [T]), Error> {
    let count = args::count(count)?;
    // SAFETY: guaranteed by the caller.
    let (lengths, displacements) = unsafe {
        (
            args::array(lengths, count, "array_of_blocklengths")?,
            args::array(displacements, count, "array_of_displacements")?,
        )
    };
    counts(lengths)?;
    Ok((lengths, displacements))
}

pub unsafe fn MPI_Type_indexed(
    count: c_int,
    array_of_blocklengths: *const c_int,
    array_of_displacements: *const c_int,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_indexed", |_| {
        // SAFETY: the standard's requirements on the arrays.
        let (lengths, displacements) = unsafe { blocks(count, array_of_blocklengths, array_of_displacements) }?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_INDEXED,
            integers: &[&[count], lengths, displacements],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                blocks_of(old, lengths.iter().copied(), in_bytes(displacements, old)?)
            })
        }
    })
}

/// Implements MPI_Type_create_hindexed, for both of its names.
///
/// # Safety
/// See [`construct`] and [`blocks`].
pub(super) unsafe fn hindexed(
    count: c_int,
    lengths: *const c_int,
    displacements: *const isize,
    oldtype: c_int,
    newtype: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let (lengths, displacements) = unsafe { blocks(count, lengths, displacements) }?;
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_HINDEXED,
        integers: &[&[count], lengths],
        addresses: displacements,
        datatypes: &[oldtype],
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        construct_of_one(given, newtype, |old| {
            blocks_of(old, lengths.iter().copied(), displacements.iter().copied())
        })
    }
}

pub unsafe fn MPI_Type_create_hindexed(
    count: c_int,
    array_of_blocklengths: *const c_int,
    array_of_displacements: *const isize,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_hindexed", |_| {
        // SAFETY: the standard's requirements on the arrays and `newtype`.
        unsafe { hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype) }
    })
}

/// Returns the displacements of blocks of equal length.
///
/// # Safety
/// They must satisfy [`args::array`], with `count` items.
unsafe fn even_blocks<'a, T>(
    count: c_int,
    blocklength: c_int,
    displacements: *const T,
) -> Result<(impl Iterator<Item = c_int> + Clone, &'a [T]), Error> {
    args::count(blocklength)?;
    // SAFETY: guaranteed by the caller.
    let displacements = unsafe { args::array(displacements, args::count(count)?, "array_of_displacements") }?;
    Ok((core::iter::repeat(blocklength), displacements))
}

pub unsafe fn MPI_Type_create_indexed_block(
    count: c_int,
    blocklength: c_int,
    array_of_displacements: *const c_int,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_indexed_block", |_| {
        // SAFETY: the standard's requirements on the array.
        let (lengths, displacements) = unsafe { even_blocks(count, blocklength, array_of_displacements) }?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_INDEXED_BLOCK,
            integers: &[&[count, blocklength], displacements],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                blocks_of(old, lengths, in_bytes(displacements, old)?)
            })
        }
    })
}

pub unsafe fn MPI_Type_create_hindexed_block(
    count: c_int,
    blocklength: c_int,
    array_of_displacements: *const isize,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_hindexed_block", |_| {
        // SAFETY: the standard's requirements on the array.
        let (lengths, displacements) = unsafe { even_blocks(count, blocklength, array_of_displacements) }?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_HINDEXED_BLOCK,
            integers: &[&[count, blocklength]],
            addresses: displacements,
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                blocks_of(old, lengths, displacements.iter().copied())
            })
        }
    })
}

/// Types of the specified datatypes; each predefined type is created once.
struct TypeList<'a> {
    /// Predefined types by handle.
    predefined: Vec<(c_int, DerivedType)>,
    datatypes: &'a [KnownDatatype],
}

impl<'a> TypeList<'a> {
    fn new(datatypes: &'a [KnownDatatype]) -> Result<Self, Error> {
        let mut predefined: Vec<(c_int, DerivedType)> = Vec::new();
        for datatype in datatypes {
            let Some(handle) = datatype.handle() else {
                continue;
            };
            if predefined.iter().all(|(other, _)| *other != handle) {
                let made = datatype.with_type(DerivedType::try_clone)?;
                predefined.try_reserve(1).map_err(|_| Error::NoSpace {
                    bytes: size_of::<(c_int, DerivedType)>(),
                })?;
                predefined.push((handle, made));
            }
        }
        Ok(TypeList { predefined, datatypes })
    }

    fn iter(&self) -> impl Iterator<Item = &DerivedType> + Clone {
        self.datatypes
            .iter()
            .filter_map(|datatype| match (datatype, datatype.handle()) {
                (KnownDatatype::Made(object), _) => Some(&object.datatype),
                (_, handle) => {
                    let mut all = self.predefined.iter();
                    all.find(|(other, _)| Some(*other) == handle)
                        .map(|(_, datatype)| datatype)
                }
            })
    }
}

/// Implements MPI_Type_create_struct, for both of its names.
///
/// # Safety
/// See [`construct`] and [`blocks`]; `datatypes` must satisfy [`args::array`], with `count` items.
pub(super) unsafe fn structure(
    count: c_int,
    lengths: *const c_int,
    displacements: *const isize,
    datatypes: *const c_int,
    newtype: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let (lengths, displacements, datatypes) = unsafe {
        let (lengths, displacements) = blocks(count, lengths, displacements)?;
        (
            lengths,
            displacements,
            args::array(datatypes, lengths.len(), "array_of_types")?,
        )
    };
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_STRUCT,
        integers: &[&[count], lengths],
        addresses: displacements,
        datatypes,
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        construct(given, newtype, |datatypes| {
            let types = TypeList::new(datatypes)?;
            let blocks = lengths.iter().zip(displacements).zip(types.iter());
            DerivedType::blocks(blocks.map(|((length, at), datatype)| TypeBlock {
                at: *at,
                count: *length as usize,
                datatype,
            }))
        })
    }
}

pub unsafe fn MPI_Type_create_struct(
    count: c_int,
    array_of_blocklengths: *const c_int,
    array_of_displacements: *const isize,
    array_of_types: *const c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_struct", |_| {
        // SAFETY: the standard's requirements on the arrays and `newtype`.
        unsafe {
            structure(
                count,
                array_of_blocklengths,
                array_of_displacements,
                array_of_types,
                newtype,
            )
        }
    })
}

fn order_of(order: c_int) -> Result<ArrayOrder, Error> {
    match order {
        MPI_ORDER_C => Ok(ArrayOrder::C),
        MPI_ORDER_FORTRAN => Ok(ArrayOrder::Fortran),
        _ => Err(Error::Argument {
            what: "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN",
        }),
    }
}

/// Checks that the number of dimensions is at least one.
fn dimensions(ndims: c_int) -> Result<usize, Error> {
    match args::count(ndims)? {
        0 => Err(Error::Argument {
            what: "an array without dimensions",
        }),
        count => Ok(count),
    }
}

pub unsafe fn MPI_Type_create_subarray(
    ndims: c_int,
    array_of_sizes: *const c_int,
    array_of_subsizes: *const c_int,
    array_of_starts: *const c_int,
    order: c_int,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_subarray", |_| {
        let count = dimensions(ndims)?;
        // SAFETY: the standard's requirements on the arrays.
        let (sizes, subsizes, starts) = unsafe {
            (
                args::array(array_of_sizes, count, "array_of_sizes")?,
                args::array(array_of_subsizes, count, "array_of_subsizes")?,
                args::array(array_of_starts, count, "array_of_starts")?,
            )
        };
        let mut all = try_with_capacity(count)?;
        for ((&size, &subsize), &start) in sizes.iter().zip(subsizes).zip(starts) {
            all.push(part_of(size, subsize, start)?);
        }
        let way = order_of(order)?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_SUBARRAY,
            integers: &[&[ndims], sizes, subsizes, starts, &[order]],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.subarray(way, &all)) }
    })
}

/// Converts the distribution of a dimension.
fn distribution(distrib: c_int, darg: c_int) -> Result<ArrayDistribution, Error> {
    let wrong = |what| Err(Error::Argument { what });
    let block = match darg {
        MPI_DISTRIBUTE_DFLT_DARG => None,
        1.. => Some(darg as usize),
        _ => return wrong("a distribution's argument that is neither above 0 nor the default"),
    };
    match distrib {
        MPI_DISTRIBUTE_BLOCK => Ok(ArrayDistribution::Block(block)),
        MPI_DISTRIBUTE_CYCLIC => Ok(ArrayDistribution::Cyclic(block.unwrap_or(1))),
        MPI_DISTRIBUTE_NONE => Ok(ArrayDistribution::None),
        _ => wrong("a distribution that there is not"),
    }
}

/// Checks that the grid has `size` processes, that `rank` is one of them, and that the array has elements.
fn check_grid(size: c_int, rank: c_int, gsizes: &[c_int], psizes: &[c_int]) -> Result<(), Error> {
    let places = psizes
        .iter()
        .map(|extent| i64::from(*extent))
        .try_fold(1i64, i64::checked_mul);
    let is_grid = psizes.iter().all(|extent| *extent > 0) && places == Some(size.into());
    if !is_grid || !(0..size).contains(&rank) || gsizes.iter().any(|size| *size < 1) {
        return Err(Error::Argument {
            what: "sizes below 1, a grid that has not `size` processes, or a rank outside of it",
        });
    }
    Ok(())
}

pub unsafe fn MPI_Type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: *const c_int,
    array_of_distribs: *const c_int,
    array_of_dargs: *const c_int,
    array_of_psizes: *const c_int,
    order: c_int,
    oldtype: c_int,
    newtype: *mut c_int,
) -> c_int {
    on_process("MPI_Type_create_darray", |_| {
        let count = dimensions(ndims)?;
        // SAFETY: the standard's requirements on the arrays.
        let (gsizes, distribs, dargs, psizes) = unsafe {
            (
                args::array(array_of_gsizes, count, "array_of_gsizes")?,
                args::array(array_of_distribs, count, "array_of_distribs")?,
                args::array(array_of_dargs, count, "array_of_dargs")?,
                args::array(array_of_psizes, count, "array_of_psizes")?,
            )
        };
        check_grid(size, rank, gsizes, psizes)?;
        let mut all = try_with_capacity(count)?;
        // Ranks in the grid increase along the last dimension first, regardless of the array's order.
        let (mut rest, mut behind) = (rank as usize, size as usize);
        for i in 0..count {
            let (elements, processes) = (gsizes[i] as usize, psizes[i] as usize);
            behind /= processes;
            let dimension = GridDimension {
                elements,
                distribution: distribution(distribs[i], dargs[i])?,
                processes,
                own: rest / behind,
            };
            all.push(dimension.checked()?);
            rest %= behind;
        }
        let way = order_of(order)?;
        let numbers = [size, rank, ndims];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_DARRAY,
            integers: &[&numbers, gsizes, distribs, dargs, psizes, &[order]],
            addresses: &[],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.darray(way, &all)) }
    })
}

pub unsafe fn MPI_Type_create_resized(oldtype: c_int, lb: isize, extent: isize, newtype: *mut c_int) -> c_int {
    on_process("MPI_Type_create_resized", |_| {
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_RESIZED,
            integers: &[],
            addresses: &[lb, extent],
            datatypes: &[oldtype],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.resized(lb, extent)) }
    })
}

pub unsafe fn MPI_Type_dup(oldtype: c_int, newtype: *mut c_int) -> c_int {
    on_process("MPI_Type_dup", |_| {
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_DUP,
            integers: &[],
            addresses: &[],
            datatypes: &[oldtype],
        };
        let is_committed = match known(oldtype)? {
            KnownDatatype::Made(object) => object.is_committed(),
            _ => true,
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, DerivedType::try_clone) }?;
        // SAFETY: as above.
        let newtype = unsafe { args::out(newtype, "newtype") }?;
        if is_committed {
            made(*newtype)?.commit();
        }
        // If a copy function fails, there is no new datatype (section 6.7.4).
        attributes::copy(oldtype, *newtype).inspect_err(|_| {
            // The first error is returned.
            let _ = attributes::delete(*newtype);
            let _ = free_handle(*newtype);
            *newtype = MPI_DATATYPE_NULL;
        })
    })
}

pub unsafe fn MPI_Type_commit(datatype: *mut c_int) -> c_int {
    on_process("MPI_Type_commit", |_| {
        // SAFETY: the standard's requirements on `datatype`.
        let datatype = unsafe { args::out(datatype, "datatype") }?;
        if let KnownDatatype::Made(object) = known(*datatype)? {
            object.commit();
        }
        Ok(())
    })
}

pub unsafe fn MPI_Type_free(datatype: *mut c_int) -> c_int {
    on_process("MPI_Type_free", |_| {
        // SAFETY: the standard's requirements on `datatype`.
        let datatype = unsafe { args::out(datatype, "datatype") }?;
        made(*datatype)?;
        attributes::delete(*datatype)?;
        free_handle(*datatype)?;
        *datatype = MPI_DATATYPE_NULL;
        Ok(())
    })
}

pub unsafe fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut c_int) -> c_int {
    on_process("MPI_Type_match_size", |_| {
        // SAFETY: the standard's requirements on `datatype`.
        let datatype = unsafe { args::out(datatype, "datatype") }?;
        let class = match typeclass {
            MPI_TYPECLASS_REAL => NumberClass::Real,
            MPI_TYPECLASS_INTEGER => NumberClass::Integer,
            MPI_TYPECLASS_COMPLEX => NumberClass::Complex,
            _ => {
                return Err(Error::Argument {
                    what: "typeclass is none of MPI_TYPECLASS_REAL, _INTEGER and _COMPLEX",
                });
            }
        };
        let found: Option<BasicType> = match_size(class, size);
        *datatype = found
            .and_then(|basic| KnownDatatype::from_basic(basic).handle())
            .ok_or(Error::Argument {
                what: "no datatype of this class has this size",
            })?;
        Ok(())
    })
}

/// Reports that Fortran is not supported.
fn no_fortran(function: &'static str) -> c_int {
    on_process(function, |_| {
        Err(Error::Unsupported {
            what: "datatypes of Fortran's kinds: there is no Fortran here",
        })
    })
}

pub unsafe fn MPI_Type_create_f90_integer(_: c_int, _: *mut c_int) -> c_int {
    no_fortran("MPI_Type_create_f90_integer")
}

pub unsafe fn MPI_Type_create_f90_real(_: c_int, _: c_int, _: *mut c_int) -> c_int {
    no_fortran("MPI_Type_create_f90_real")
}

pub unsafe fn MPI_Type_create_f90_complex(_: c_int, _: c_int, _: *mut c_int) -> c_int {
    no_fortran("MPI_Type_create_f90_complex")
}
