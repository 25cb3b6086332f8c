//! Chapter 6, and section 8.3 for them: communicators, predefined and made by the program.
//!
//! MPI_Comm_free makes the handle invalid at once; the object stays until the communicator's requests are
//! complete, as the standard wants (section 6.4.3). Its place in the table is the number of its context, by
//! which requests find it.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use alloc::boxed::Box;
use alloc::string::String;
use core::ffi::{c_char, c_int, c_void};

use super::args::{self, put_text};
use super::binding::env;
use super::comm_objects::{TABLE, communicator, enter, own, prepare, release, with_object, world};
use super::kept;
use super::report::on_comm;
use super::types::constants::*;
use crate::device::envelope::{Context, Rank, Tag};
use crate::mpi::comm::{Communicator, Membership};
use crate::mpi::error::Error;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_dup(comm: c_int, newcomm: *mut c_int) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_dup", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        prepare(comm.env)?;
        let grid = kept::prepare_copy(comm.membership().context)?;
        let made = comm.make_duplicate()?;
        kept::attach(made.context(), grid);
        *newcomm = enter(comm.env, made, parent)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_split(
    comm: c_int,
    color: c_int,
    key: c_int,
    newcomm: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_split", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let color = match color {
            MPI_UNDEFINED => None,
            _ => Some(u32::try_from(color).map_err(|_| Error::Argument {
                what: "color is negative and not MPI_UNDEFINED",
            })?),
        };
        prepare(comm.env)?;
        *newcomm = match comm.make_split(color, key)? {
            Some(made) => enter(comm.env, made, parent)?,
            None => MPI_COMM_NULL,
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_split_type(
    comm: c_int,
    split_type: c_int,
    _key: c_int,
    _info: c_int,
    newcomm: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_split_type", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let color = match split_type {
            // No process shares memory with another.
            MPI_COMM_TYPE_SHARED => Some(comm.rank()),
            MPI_UNDEFINED => None,
            _ => {
                return Err(Error::Argument {
                    what: "split_type is neither MPI_COMM_TYPE_SHARED nor MPI_UNDEFINED",
                });
            }
        };
        prepare(comm.env)?;
        *newcomm = match comm.make_split(color, 0)? {
            Some(made) => enter(comm.env, made, parent)?,
            None => MPI_COMM_NULL,
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_free(comm: *mut c_int) -> c_int {
    // SAFETY: the standard's promise about `comm`.
    let handle = unsafe { comm.as_ref() }.copied().unwrap_or(MPI_COMM_NULL);
    on_comm("MPI_Comm_free", handle, |_| {
        let freed = with_object(handle, |object| object.freed = true);
        release(&mut TABLE.lock(), handle);
        if freed.is_none() {
            return Err(Error::Argument {
                what: "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed",
            });
        }
        // SAFETY: as above; not null, since it has named a communicator.
        *unsafe { args::out(comm, "comm") }? = MPI_COMM_NULL;
        Ok(())
    })
}

/// How two communicators that are not the same compare (section 6.4.1).
fn compare(first: Communicator<'_>, second: Communicator<'_>) -> c_int {
    let (a, b) = (first.membership(), second.membership());
    if a.size != b.size {
        return MPI_UNEQUAL;
    }
    fn members(membership: Membership<'_>) -> impl Iterator<Item = Rank> {
        membership
            .ranks()
            .map(move |rank| membership.to_world(rank))
    }
    if members(a).eq(members(b)) {
        MPI_CONGRUENT
    } else if members(a).all(|member| members(b).any(|other| other == member)) {
        MPI_SIMILAR
    } else {
        MPI_UNEQUAL
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_rank(comm: c_int, rank: *mut c_int) -> c_int {
    on_comm("MPI_Comm_rank", comm, |comm| {
        // SAFETY: the standard's promise about `rank`.
        *unsafe { args::out(rank, "rank") }? = comm.rank() as c_int;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_size(comm: c_int, size: *mut c_int) -> c_int {
    on_comm("MPI_Comm_size", comm, |comm| {
        // SAFETY: the standard's promise about `size`.
        *unsafe { args::out(size, "size") }? = comm.size() as c_int;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_compare(comm1: c_int, comm2: c_int, result: *mut c_int) -> c_int {
    on_comm("MPI_Comm_compare", comm1, |first| {
        let second = communicator(env()?, comm2)?;
        // SAFETY: the standard's promise about `result`.
        *unsafe { args::out(result, "result") }? = if comm1 == comm2 {
            MPI_IDENT
        } else {
            compare(first, second)
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_set_name(comm: c_int, comm_name: *const c_char) -> c_int {
    on_comm("MPI_Comm_set_name", comm, |comm| {
        // SAFETY: the standard's promise about `comm_name`: a string.
        let name = unsafe { args::string(comm_name, MPI_MAX_OBJECT_NAME, "comm_name") }?;
        let bytes = name.len() + size_of::<(Context, Box<str>)>();
        let none = Error::NoRoom { bytes };
        let mut copy = String::new();
        copy.try_reserve_exact(name.len()).map_err(|_| none)?;
        copy.push_str(&name);
        let context = comm.membership().context;
        kept::unname(context);
        let mut names = kept::NAMES.lock();
        names.try_reserve(1).map_err(|_| none)?;
        names.push((context, copy.into_boxed_str()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_name(
    comm: c_int,
    comm_name: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    on_comm("MPI_Comm_get_name", comm, |comm| {
        let context = comm.membership().context;
        let names = kept::NAMES.lock();
        let given = names.iter().find(|(named, _)| *named == context);
        let name = match given {
            Some((_, name)) => name,
            None if context == world().context => "MPI_COMM_WORLD",
            None if context == own().context => "MPI_COMM_SELF",
            None => "",
        };
        // SAFETY: the standard's promise about both.
        unsafe { put_text(comm_name, MPI_MAX_OBJECT_NAME, name, resultlen) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_test_inter(comm: c_int, flag: *mut c_int) -> c_int {
    on_comm("MPI_Comm_test_inter", comm, |_| {
        // SAFETY: the standard's promise about `flag`.
        *unsafe { args::out(flag, "flag") }? = 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_attr(
    comm: c_int,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    static TAG_UB: c_int = Tag::MAX;
    static HOST: c_int = MPI_PROC_NULL;
    // Every rank can print.
    static IO: c_int = MPI_ANY_SOURCE;
    static WTIME_IS_GLOBAL: c_int = 0;
    on_comm("MPI_Comm_get_attr", comm, |_| {
        let value = match comm_keyval {
            MPI_TAG_UB => &TAG_UB,
            MPI_HOST => &HOST,
            MPI_IO => &IO,
            MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
            _ => {
                return Err(Error::Keyval {
                    keyval: comm_keyval,
                });
            }
        };
        // SAFETY: the standard's promise about both; the value is a pointer to an int (section 8.1.2).
        unsafe {
            *args::out(attribute_val.cast::<*const c_int>(), "attribute_val")? = value;
            *args::out(flag, "flag")? = 1;
        }
        Ok(())
    })
}
