//! Datatype constructors (sections 4.1.2 to 4.1.4 and 4.1.7), commit and free (4.1.9), and duplicates (4.1.10).

use alloc::vec::Vec;
use core::ffi::c_int;

use super::attributes;
use super::objects::{KnownDatatype, TypeConstructor, enter, free_handle, known, made};
use crate::args;
use crate::counts::{IntArray, IntSlice, Integer, Ints};
use crate::error_dispatch::on_process;
use crate::types::Handle;
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
    /// Lists of integers, in order.
    pub integers: &'a [IntSlice<'a>],
    /// Arguments of type MPI_Aint, which are counts in a large-count form.
    pub addresses: IntSlice<'a>,
    pub datatypes: &'a [Handle],
}

/// No addresses.
const NONE: IntSlice<'static> = IntSlice::Int(&[]);

impl ConstructorArgs<'_> {
    fn recipe(&self) -> Result<TypeConstructor, Error> {
        let mut datatypes = try_with_capacity(self.datatypes.len())?;
        for handle in self.datatypes {
            datatypes.push(known((*handle).value())?);
        }
        let lists = || self.integers.iter().chain([&self.addresses]);
        let is_int = |list: &&IntSlice<'_>| matches!(list, IntSlice::Int(_));
        let length = |with_ints| lists().filter(|list| is_int(list) == with_ints).map(Ints::len).sum();
        let mut integers = try_with_capacity(length(true))?;
        let mut addresses = try_with_capacity(length(false))?;
        for list in lists() {
            match list {
                IntSlice::Int(items) => integers.extend_from_slice(items),
                list => addresses.extend(list.iter()),
            }
        }
        Ok(TypeConstructor {
            combiner: self.combiner,
            has_large_counts: lists().any(|list| matches!(list, IntSlice::Count(_))),
            integers,
            addresses,
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
    newtype: *mut Handle,
    make: impl FnOnce(&[KnownDatatype]) -> Result<DerivedType, Error>,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let newtype = unsafe { args::out(newtype, "newtype") }?;
    let recipe = given.recipe()?;
    let datatype = make(&recipe.datatypes)?;
    *newtype = Handle::new(enter(datatype, recipe)?);
    Ok(())
}

/// Registers a datatype that consists of copies of one datatype.
///
/// # Safety
/// See [`construct`].
unsafe fn construct_of_one(
    given: ConstructorArgs<'_>,
    newtype: *mut Handle,
    make: impl FnOnce(&DerivedType) -> Result<DerivedType, Error>,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { construct(given, newtype, |datatypes| datatypes[0].with_type(make)) }
}

fn times_extent(displacement: isize, datatype: &DerivedType) -> Result<isize, Error> {
    let bytes = displacement.checked_mul(datatype.extent());
    bytes.ok_or(Error::Argument {
        what: "a displacement that is more than an address can say",
    })
}

pub unsafe fn MPI_Type_contiguous<C: Integer>(count: C, oldtype: c_int, newtype: *mut Handle) -> c_int {
    on_process("MPI_Type_contiguous", |_| {
        let copies = args::count(count.get())?;
        let counts = [count];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_CONTIGUOUS,
            integers: &[C::slice(&counts)],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.contiguous(copies)) }
    })
}

pub unsafe fn MPI_Type_vector<C: Integer>(
    count: C,
    blocklength: C,
    stride: C,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_vector", |_| {
        let (blocks, length) = (args::count(count.get())?, args::count(blocklength.get())?);
        let counts = [count, blocklength, stride];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_VECTOR,
            integers: &[C::slice(&counts)],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                old.vector(blocks, length, times_extent(stride.get(), old)?)
            })
        }
    })
}

/// Implements MPI_Type_create_hvector, for both of its names.
///
/// # Safety
/// See [`construct`].
pub(super) unsafe fn hvector<C: Integer, A: Integer>(
    count: C,
    blocklength: C,
    stride: A,
    oldtype: c_int,
    newtype: *mut Handle,
) -> Result<(), Error> {
    let (blocks, length) = (args::count(count.get())?, args::count(blocklength.get())?);
    let counts = [count, blocklength];
    let addresses = [stride];
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_HVECTOR,
        integers: &[C::slice(&counts)],
        addresses: A::slice(&addresses),
        datatypes: &[Handle::new(oldtype)],
    };
    // SAFETY: guaranteed by the caller.
    unsafe { construct_of_one(given, newtype, |old| old.vector(blocks, length, stride.get())) }
}

pub unsafe fn MPI_Type_create_hvector<C: Integer, A: Integer>(
    count: C,
    blocklength: C,
    stride: A,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_create_hvector", |_| {
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { hvector(count, blocklength, stride, oldtype, newtype) }
    })
}

/// Returns blocks of one datatype, each with a length and a displacement in bytes.
fn blocks_of(
    datatype: &DerivedType,
    lengths: impl Iterator<Item = isize> + Clone,
    places: impl Iterator<Item = isize> + Clone,
) -> Result<DerivedType, Error> {
    DerivedType::blocks(lengths.zip(places).map(|(length, at)| TypeBlock {
        at,
        count: length as usize,
        datatype,
    }))
}

/// Converts displacements from elements to bytes, after a range check.
fn in_bytes<'a>(
    displacements: IntSlice<'a>,
    datatype: &DerivedType,
) -> Result<impl Iterator<Item = isize> + Clone + use<'a>, Error> {
    for displacement in displacements.iter() {
        times_extent(displacement, datatype)?;
    }
    let extent = datatype.extent();
    Ok(displacements.iter().map(move |displacement| displacement * extent))
}

/// Returns the lengths and the displacements of blocks.
///
/// # Safety
/// Both must satisfy [`args::array`], with `count` items.
unsafe fn blocks<'a>(
    count: impl Integer,
    lengths: IntArray,
    displacements: IntArray,
) -> Result<(IntSlice<'a>, IntSlice<'a>), Error> {
    let count = args::count(count.get())?;
    // SAFETY: guaranteed by the caller.
    let (lengths, displacements) = unsafe {
        (
            lengths.items(count, "array_of_blocklengths")?,
            displacements.items(count, "array_of_displacements")?,
        )
    };
    lengths.check()?;
    Ok((lengths, displacements))
}

pub unsafe fn MPI_Type_indexed<C: Integer>(
    count: C,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_indexed", |_| {
        // SAFETY: the standard's requirements on the arrays.
        let (lengths, displacements) = unsafe { blocks(count, array_of_blocklengths, array_of_displacements) }?;
        let counts = [count];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_INDEXED,
            integers: &[C::slice(&counts), lengths, displacements],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                blocks_of(old, lengths.iter(), in_bytes(displacements, old)?)
            })
        }
    })
}

/// Implements MPI_Type_create_hindexed, for both of its names.
///
/// # Safety
/// See [`construct`] and [`blocks`].
pub(super) unsafe fn hindexed<C: Integer>(
    count: C,
    lengths: IntArray,
    displacements: IntArray,
    oldtype: c_int,
    newtype: *mut Handle,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let (lengths, displacements) = unsafe { blocks(count, lengths, displacements) }?;
    let counts = [count];
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_HINDEXED,
        integers: &[C::slice(&counts), lengths],
        addresses: displacements,
        datatypes: &[Handle::new(oldtype)],
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        construct_of_one(given, newtype, |old| {
            blocks_of(old, lengths.iter(), displacements.iter())
        })
    }
}

#[inline(always)]
pub unsafe fn MPI_Type_create_hindexed(
    count: impl Integer,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: c_int,
    newtype: *mut Handle,
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
unsafe fn even_blocks<'a, C: Integer>(
    count: C,
    blocklength: C,
    displacements: IntArray,
) -> Result<(impl Iterator<Item = isize> + Clone + use<C>, IntSlice<'a>), Error> {
    let (count, length) = (args::count(count.get())?, blocklength.get());
    args::count(length)?;
    // SAFETY: guaranteed by the caller.
    let displacements = unsafe { displacements.items(count, "array_of_displacements") }?;
    Ok((core::iter::repeat(length), displacements))
}

pub unsafe fn MPI_Type_create_indexed_block<C: Integer>(
    count: C,
    blocklength: C,
    array_of_displacements: IntArray,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_create_indexed_block", |_| {
        // SAFETY: the standard's requirements on the array.
        let (lengths, displacements) = unsafe { even_blocks(count, blocklength, array_of_displacements) }?;
        let counts = [count, blocklength];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_INDEXED_BLOCK,
            integers: &[C::slice(&counts), displacements],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe {
            construct_of_one(given, newtype, |old| {
                blocks_of(old, lengths, in_bytes(displacements, old)?)
            })
        }
    })
}

pub unsafe fn MPI_Type_create_hindexed_block<C: Integer>(
    count: C,
    blocklength: C,
    array_of_displacements: IntArray,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_create_hindexed_block", |_| {
        // SAFETY: the standard's requirements on the array.
        let (lengths, displacements) = unsafe { even_blocks(count, blocklength, array_of_displacements) }?;
        let counts = [count, blocklength];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_HINDEXED_BLOCK,
            integers: &[C::slice(&counts)],
            addresses: displacements,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| blocks_of(old, lengths, displacements.iter())) }
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
pub(super) unsafe fn structure<C: Integer>(
    count: C,
    lengths: IntArray,
    displacements: IntArray,
    datatypes: *const Handle,
    newtype: *mut Handle,
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
    let counts = [count];
    let given = ConstructorArgs {
        combiner: MPI_COMBINER_STRUCT,
        integers: &[C::slice(&counts), lengths],
        addresses: displacements,
        datatypes,
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        construct(given, newtype, |datatypes| {
            let types = TypeList::new(datatypes)?;
            let blocks = lengths.iter().zip(displacements.iter()).zip(types.iter());
            DerivedType::blocks(blocks.map(|((length, at), datatype)| TypeBlock {
                at,
                count: length as usize,
                datatype,
            }))
        })
    }
}

#[inline(always)]
pub unsafe fn MPI_Type_create_struct(
    count: impl Integer,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    array_of_types: *const Handle,
    newtype: *mut Handle,
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
    match args::length(ndims)? {
        0 => Err(Error::Argument {
            what: "an array without dimensions",
        }),
        count => Ok(count),
    }
}

#[inline(always)]
pub unsafe fn MPI_Type_create_subarray(
    ndims: c_int,
    array_of_sizes: IntArray,
    array_of_subsizes: IntArray,
    array_of_starts: IntArray,
    order: c_int,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_create_subarray", |_| {
        let count = dimensions(ndims)?;
        // SAFETY: the standard's requirements on the arrays.
        let (sizes, subsizes, starts) = unsafe {
            (
                array_of_sizes.items(count, "array_of_sizes")?,
                array_of_subsizes.items(count, "array_of_subsizes")?,
                array_of_starts.items(count, "array_of_starts")?,
            )
        };
        let mut all = try_with_capacity(count)?;
        for ((size, subsize), start) in sizes.iter().zip(subsizes.iter()).zip(starts.iter()) {
            all.push(part_of(size, subsize, start)?);
        }
        let way = order_of(order)?;
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_SUBARRAY,
            integers: &[
                IntSlice::Int(&[ndims]),
                sizes,
                subsizes,
                starts,
                IntSlice::Int(&[order]),
            ],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
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
fn check_grid(size: c_int, rank: c_int, gsizes: IntSlice<'_>, psizes: &[c_int]) -> Result<(), Error> {
    let places = psizes
        .iter()
        .map(|extent| i64::from(*extent))
        .try_fold(1i64, i64::checked_mul);
    let is_grid = psizes.iter().all(|extent| *extent > 0) && places == Some(size.into());
    if !is_grid || !(0..size).contains(&rank) || gsizes.iter().any(|size| size < 1) {
        return Err(Error::Argument {
            what: "sizes below 1, a grid that has not `size` processes, or a rank outside of it",
        });
    }
    Ok(())
}

#[inline(always)]
pub unsafe fn MPI_Type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: IntArray,
    array_of_distribs: *const c_int,
    array_of_dargs: *const c_int,
    array_of_psizes: *const c_int,
    order: c_int,
    oldtype: c_int,
    newtype: *mut Handle,
) -> c_int {
    on_process("MPI_Type_create_darray", |_| {
        let count = dimensions(ndims)?;
        // SAFETY: the standard's requirements on the arrays.
        let (gsizes, distribs, dargs, psizes) = unsafe {
            (
                array_of_gsizes.items(count, "array_of_gsizes")?,
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
            let (elements, processes) = (gsizes.at(i) as usize, psizes[i] as usize);
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
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_DARRAY,
            integers: &[
                IntSlice::Int(&[size, rank, ndims]),
                gsizes,
                IntSlice::Int(distribs),
                IntSlice::Int(dargs),
                IntSlice::Int(psizes),
                IntSlice::Int(&[order]),
            ],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.darray(way, &all)) }
    })
}

pub unsafe fn MPI_Type_create_resized<A: Integer>(oldtype: c_int, lb: A, extent: A, newtype: *mut Handle) -> c_int {
    on_process("MPI_Type_create_resized", |_| {
        let addresses = [lb, extent];
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_RESIZED,
            integers: &[],
            addresses: A::slice(&addresses),
            datatypes: &[Handle::new(oldtype)],
        };
        // SAFETY: the standard's requirements on `newtype`.
        unsafe { construct_of_one(given, newtype, |old| old.resized(lb.get(), extent.get())) }
    })
}

pub unsafe fn MPI_Type_dup(oldtype: c_int, newtype: *mut Handle) -> c_int {
    on_process("MPI_Type_dup", |_| {
        let given = ConstructorArgs {
            combiner: MPI_COMBINER_DUP,
            integers: &[],
            addresses: NONE,
            datatypes: &[Handle::new(oldtype)],
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
            made((*newtype).value())?.commit();
        }
        // If a copy function fails, there is no new datatype (section 6.7.4).
        attributes::copy(oldtype, (*newtype).value()).inspect_err(|_| {
            // The first error is returned.
            let _ = attributes::delete((*newtype).value());
            let _ = free_handle((*newtype).value());
            *newtype = Handle::new(MPI_DATATYPE_NULL);
        })
    })
}

pub unsafe fn MPI_Type_commit(datatype: *mut Handle) -> c_int {
    on_process("MPI_Type_commit", |_| {
        // SAFETY: the standard's requirements on `datatype`.
        let datatype = unsafe { args::out(datatype, "datatype") }?;
        if let KnownDatatype::Made(object) = known((*datatype).value())? {
            object.commit();
        }
        Ok(())
    })
}

pub unsafe fn MPI_Type_free(datatype: *mut Handle) -> c_int {
    on_process("MPI_Type_free", |_| {
        // SAFETY: the standard's requirements on `datatype`.
        let datatype = unsafe { args::out(datatype, "datatype") }?;
        // The predefined datatypes of Fortran's kinds are objects, too.
        if let KnownDatatype::Basic(..) = known((*datatype).value())? {
            return Err(Error::Datatype {
                handle: (*datatype).value(),
            });
        }
        made((*datatype).value())?;
        attributes::delete((*datatype).value())?;
        free_handle((*datatype).value())?;
        *datatype = Handle::new(MPI_DATATYPE_NULL);
        Ok(())
    })
}

pub unsafe fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut Handle) -> c_int {
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
        *datatype = Handle::new(
            found
                .and_then(|basic| KnownDatatype::from_basic(basic).handle())
                .ok_or(Error::Argument {
                    what: "no datatype of this class has this size",
                })?,
        );
        Ok(())
    })
}

pub unsafe fn MPI_Type_get_value_index(value_type: c_int, index_type: c_int, pair_type: *mut Handle) -> c_int {
    on_process("MPI_Type_get_value_index", |_| {
        // SAFETY: the standard's requirements on `pair_type`.
        let pair_type = unsafe { args::out(pair_type, "pair_type") }?;
        let basic = |handle| {
            known(handle).map(|known| match known {
                KnownDatatype::Basic(basic, _) => Some(basic),
                _ => None,
            })
        };
        // Pairs of two floating-point numbers are Fortran's, whose types have the same elements as those of C.
        let is_of_c = |basic: BasicType| [value_type, index_type].contains(&basic.handle());
        let pair = match (basic(value_type)?, basic(index_type)?) {
            (Some(basic @ (BasicType::Float | BasicType::Double)), Some(index)) if basic == index && is_of_c(basic) => {
                None
            }
            (Some(BasicType::Float), Some(BasicType::Int)) => Some(BasicType::FloatInt),
            (Some(BasicType::Double), Some(BasicType::Int)) => Some(BasicType::DoubleInt),
            (Some(BasicType::Long), Some(BasicType::Int)) => Some(BasicType::LongInt),
            (Some(BasicType::Int), Some(BasicType::Int)) => Some(BasicType::TwoInt),
            (Some(BasicType::Short), Some(BasicType::Int)) => Some(BasicType::ShortInt),
            (Some(BasicType::LongDouble), Some(BasicType::Int)) => Some(BasicType::LongDoubleInt),
            (Some(BasicType::Float), Some(BasicType::Float)) => Some(BasicType::TwoReal),
            (Some(BasicType::Double), Some(BasicType::Double)) => Some(BasicType::TwoDoublePrecision),
            _ => None,
        };
        let handle = pair.and_then(|basic| KnownDatatype::from_basic(basic).handle());
        *pair_type = Handle::new(handle.unwrap_or(MPI_DATATYPE_NULL));
        Ok(())
    })
}
