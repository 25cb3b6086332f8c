//! Hardware resources: the planes, lines and nodes of the torus (MPI-4.1 sections 7.4.2 and 9.1.2), and properties of the
//! binary interface (MPI-5.0 chapter 20).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::{c_int, c_void};

use super::args;
use super::error_dispatch::{at_any_time, early, on_process};
use super::infos;
use super::types::Handle;
use super::types::constants::*;
use midplane_objects::comm::{CommRank, Membership, shape};
use midplane_objects::error::Error;
use midplane_objects::installed::shared_memory;
use midplane_objects::process::Env;

/// A kind of resources. The nodes of one have equal coordinates in the fixed dimensions.
struct ResourceType {
    name: &'static [u8],
    is_fixed: [bool; 3],
}

const RESOURCE_TYPES: [ResourceType; 7] = [
    ResourceType::new(b"midplane://plane/xy", [false, false, true]),
    ResourceType::new(b"midplane://plane/xz", [false, true, false]),
    ResourceType::new(b"midplane://plane/yz", [true, false, false]),
    ResourceType::new(b"midplane://line/x", [false, true, true]),
    ResourceType::new(b"midplane://line/y", [true, false, true]),
    ResourceType::new(b"midplane://line/z", [true, true, false]),
    ResourceType::new(b"midplane://node", [true; 3]),
];

const TYPE_KEY: &[u8] = b"mpi_hw_resource_type";
const PSET_KEY: &[u8] = b"mpi_pset_name";

impl ResourceType {
    const fn new(name: &'static [u8], is_fixed: [bool; 3]) -> ResourceType {
        ResourceType { name, is_fixed }
    }

    /// Returns the index of the resource that contains a process of a group.
    fn color(&self, env: &dyn Env, group: Membership<'_>, rank: CommRank) -> u32 {
        let shape = shape(env);
        let place = shape.coord(group.to_world(rank).index());
        let axes = place.map_or([0; 3], |place| place.axes().map(u32::from));
        let mut color = 0;
        for (axis, extent) in shape.extents().into_iter().enumerate() {
            if self.is_fixed[axis] {
                color = color * u32::from(extent) + axes[axis];
            }
        }
        color
    }

    /// Checks whether the processes of a group are in several resources.
    fn divides(&self, env: &dyn Env, group: Membership<'_>) -> bool {
        let mut colors = group.ranks().map(|rank| self.color(env, group, rank));
        let first = colors.next();
        colors.any(|color| Some(color) != first)
    }
}

/// Returns the color of this process in a split of a group into processes that share memory: the processes of a
/// host share it on Linux, and nodes and ranks of the simulator share none. Then no process of an intercommunicator shares memory
/// with one of the other group, and all parts are empty.
pub(super) fn memory_color(group: Membership<'_>) -> u32 {
    match shared_memory() {
        Some(memory) => memory.host,
        None => group.rank.0,
    }
}

/// Returns the color of this process in a split of a group by a hardware type; `None`: it is in no part. Fails with
/// [`Error::Argument`] for another type.
pub(super) fn split_color(
    env: &dyn Env,
    group: Membership<'_>,
    split_type: c_int,
    info: c_int,
) -> Result<Option<u32>, Error> {
    let own = |resource: &ResourceType| resource.color(env, group, group.rank);
    let has = |key: &[u8], value: &[u8]| infos::has_value(env, info, key, value);
    match split_type {
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => {
            for resource in &RESOURCE_TYPES {
                if has(TYPE_KEY, resource.name)? {
                    return Ok(Some(own(resource)));
                }
            }
            if has(TYPE_KEY, b"mpi_shared_memory")? {
                return Ok(Some(memory_color(group)));
            }
            if has(PSET_KEY, b"mpi://SELF")? {
                return Ok(Some(group.rank.0));
            }
            Ok(has(PSET_KEY, b"mpi://WORLD")?.then_some(0))
        }
        MPI_COMM_TYPE_HW_UNGUIDED => {
            let found = RESOURCE_TYPES.iter().find(|resource| resource.divides(env, group));
            if let Some(resource) = found.filter(|_| info != MPI_INFO_NULL) {
                infos::set_value(info, TYPE_KEY, resource.name)?;
            }
            Ok(found.map(own))
        }
        _ => Err(Error::Argument {
            what: "split_type is none of the types MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, \
                   MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED and MPI_UNDEFINED",
        }),
    }
}

/// Each process runs on one node, which is part of one line and one plane in each direction.
pub unsafe fn MPI_Get_hw_resource_info(hw_info: *mut Handle) -> c_int {
    on_process("MPI_Get_hw_resource_info", |_| {
        // SAFETY: the standard's requirements on `hw_info`.
        let hw_info = unsafe { args::out(hw_info, "hw_info") }?;
        *hw_info = Handle::new(infos::enter(
            &RESOURCE_TYPES.each_ref().map(|resource| (resource.name, &b"true"[..])),
        )?);
        Ok(())
    })
}

// Handles, constants and the status are those of the standard binary interface (MPI-5.0 chapter 20).
/// Version of the standard ABI: `MPI_ABI_VERSION` and `MPI_ABI_SUBVERSION`.
const ABI_VERSION: (c_int, c_int) = (1, 0);

pub unsafe fn MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    early("MPI_Abi_get_version", {
        // SAFETY: the standard's requirements on both.
        let places = unsafe { (args::out(abi_major, "abi_major"), args::out(abi_minor, "abi_minor")) };
        places.0.and_then(|major| {
            (*major, *places.1?) = ABI_VERSION;
            Ok(())
        })
    })
}

/// Returns the size of a type in decimal digits.
const fn digit<T>() -> &'static [u8] {
    match size_of::<T>() {
        4 => b"4",
        8 => b"8",
        _ => panic!("an integer of 4 or 8 bytes"),
    }
}

pub unsafe fn MPI_Abi_get_info(info: *mut Handle) -> c_int {
    at_any_time("MPI_Abi_get_info", |_| {
        // SAFETY: the standard's requirements on `info`.
        let info = unsafe { args::out(info, "info") }?;
        *info = Handle::new(infos::enter(&[
            (b"mpi_aint_size", const { digit::<isize>() }),
            (b"mpi_count_size", const { digit::<i64>() }),
            (b"mpi_offset_size", const { digit::<i64>() }),
        ])?);
        Ok(())
    })
}

pub unsafe fn MPI_Abi_get_fortran_info(info: *mut Handle) -> c_int {
    at_any_time("MPI_Abi_get_fortran_info", |_| {
        // SAFETY: the standard's requirements on `info`.
        let info = unsafe { args::out(info, "info") }?;
        *info = Handle::new(infos::enter(&[
            (b"mpi_logical_size", b"4"),
            (b"mpi_integer_size", b"4"),
            (b"mpi_real_size", b"4"),
            (b"mpi_double_precision_size", b"8"),
            (b"mpi_logical1_supported", b"true"),
            (b"mpi_logical2_supported", b"true"),
            (b"mpi_logical4_supported", b"true"),
            (b"mpi_logical8_supported", b"true"),
            (b"mpi_integer1_supported", b"true"),
            (b"mpi_integer2_supported", b"true"),
            (b"mpi_integer4_supported", b"true"),
            (b"mpi_integer8_supported", b"true"),
            (b"mpi_real4_supported", b"true"),
            (b"mpi_real8_supported", b"true"),
            (b"mpi_complex8_supported", b"true"),
            (b"mpi_complex16_supported", b"true"),
            (b"mpi_double_complex_supported", b"true"),
            (b"mpi_logical16_supported", b"false"),
            (b"mpi_integer16_supported", b"false"),
            (b"mpi_real2_supported", b"false"),
            (b"mpi_real16_supported", b"false"),
            (b"mpi_complex4_supported", b"false"),
            (b"mpi_complex32_supported", b"false"),
        ])?);
        Ok(())
    })
}

/// The sizes and logical values of Fortran are those of the compiler for which the library is built.
const FIXED: Error = Error::Unsupported {
    what: "the sizes and logical values of Fortran, which are fixed,",
};

pub unsafe fn MPI_Abi_set_fortran_info(_info: c_int) -> c_int {
    early("MPI_Abi_set_fortran_info", Err(FIXED))
}

pub unsafe fn MPI_Abi_set_fortran_booleans(_size: c_int, _true: *mut c_void, _false: *mut c_void) -> c_int {
    early("MPI_Abi_set_fortran_booleans", Err(FIXED))
}

pub unsafe fn MPI_Abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut c_int,
) -> c_int {
    early("MPI_Abi_get_fortran_booleans", {
        // SAFETY: the standard's requirements on all three; the values have `logical_size` bytes.
        let places = unsafe {
            (
                args::out(logical_true.cast::<c_int>(), "logical_true"),
                args::out(logical_false.cast::<c_int>(), "logical_false"),
                args::out(is_set, "is_set"),
            )
        };
        places.2.and_then(|is_set| {
            // There are values of the default LOGICAL only.
            *is_set = (logical_size == size_of::<c_int>() as c_int).into();
            if *is_set != 0 {
                (*places.0?, *places.1?) = (1, 0);
            }
            Ok(())
        })
    })
}
