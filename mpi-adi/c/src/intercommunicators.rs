//! Intercommunicators (section 6.6).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::c_int;

use super::args::{self, PeerRank};
use super::binding::env;
use super::collectives::inter;
use super::comm_objects::{enter, enter_inter, intercommunicator, partners, prepare};
use super::error_dispatch::{on_any, on_comm, on_inter};
use super::inter_calls::InterCalls;
use super::types::Handle;
use super::types::constants::*;
use midplane_device::envelope::Context;
use midplane_objects::error::Error;
use midplane_objects::inter::{LeaderBridge, connect};
use midplane_objects::inter_groups::{InterGroups, Intercommunicator};
use midplane_objects::process::Env;

/// Implementations of other calls on intercommunicators.
pub(super) static CALLS: InterCalls = InterCalls {
    duplicate,
    duplicate_in,
    split,
    block: inter::block,
    bcast: inter::bcast,
    gather: inter::gather,
    gatherv: inter::gatherv,
    scatter: inter::scatter,
    scatterv: inter::scatterv,
    allgather: inter::allgather,
    allgatherv: inter::allgatherv,
    alltoall: inter::alltoall,
    alltoallv: inter::alltoallv,
    alltoallw: inter::alltoallw,
    reduce: inter::reduce,
    allreduce: inter::allreduce,
    reduce_scatter: inter::reduce_scatter,
    reduce_scatter_block: inter::reduce_scatter_block,
};

fn duplicate(function: &'static str, parent: c_int) -> Result<c_int, Error> {
    let env = env()?;
    let made = intercommunicator(env, parent)?.make_duplicate(function, &mut prepare)?;
    enter_inter(env, made, &CALLS, parent)
}

fn duplicate_in(
    env: &'static dyn Env,
    sides: InterGroups<'static>,
    context: Context,
    parent: c_int,
) -> Result<c_int, Error> {
    let made = Intercommunicator { env, sides }.make_duplicate_in(context)?;
    enter_inter(env, made, &CALLS, parent)
}

fn split(function: &'static str, parent: c_int, color: Option<u32>, key: i32) -> Result<c_int, Error> {
    let env = env()?;
    match intercommunicator(env, parent)?.make_split(function, &mut prepare, color, key)? {
        Some(made) => enter_inter(env, made, &CALLS, parent),
        None => Ok(MPI_COMM_NULL),
    }
}

/// Returns the connection to the other leader, which is a rank of `peer_comm`.
fn bridge(
    env: &'static dyn Env,
    peer_comm: c_int,
    remote_leader: c_int,
    tag: c_int,
) -> Result<LeaderBridge<'static>, Error> {
    let partners = partners(env, peer_comm)?;
    args::tag(tag)?;
    match args::destination(&partners, remote_leader)? {
        PeerRank::Rank(leader) => Ok(LeaderBridge::new(partners, leader)),
        PeerRank::ProcNull => Err(Error::Rank {
            rank: remote_leader.into(),
            size: partners.group().size,
        }),
    }
}

pub unsafe fn MPI_Intercomm_create(
    local_comm: c_int,
    local_leader: c_int,
    peer_comm: c_int,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Intercomm_create";
    on_comm(NAME, local_comm, |local| {
        // SAFETY: the standard's requirements on `newintercomm`.
        let newintercomm = unsafe { args::out(newintercomm, "newintercomm") }?;
        *newintercomm = Handle::new(MPI_COMM_NULL);
        let leader = args::rank(&local.partners(), local_leader)?;
        // The other arguments are significant only at the leader.
        let is_leader = local.own_rank() == leader;
        let bridge = is_leader.then(|| bridge(local.env, peer_comm, remote_leader, tag));
        let made = connect(NAME, local, leader, bridge, &mut prepare)?;
        *newintercomm = Handle::new(enter_inter(local.env, made, &CALLS, local_comm)?);
        Ok(())
    })
}

pub unsafe fn MPI_Intercomm_merge(intercomm: c_int, high: c_int, newintracomm: *mut Handle) -> c_int {
    on_inter("MPI_Intercomm_merge", intercomm, |inter| {
        // SAFETY: the standard's requirements on `newintracomm`.
        let newintracomm = unsafe { args::out(newintracomm, "newintracomm") }?;
        *newintracomm = Handle::new(MPI_COMM_NULL);
        let made = inter.make_merged("MPI_Intercomm_merge", &mut prepare, high != 0)?;
        *newintracomm = Handle::new(enter(inter.env, made, intercomm)?);
        Ok(())
    })
}

pub unsafe fn MPI_Comm_test_inter(comm: c_int, flag: *mut c_int) -> c_int {
    on_any("MPI_Comm_test_inter", comm, |_, views| {
        // SAFETY: the standard's requirements on `flag`.
        *unsafe { args::out(flag, "flag") }? = views.inter.is_some().into();
        Ok(())
    })
}

pub unsafe fn MPI_Comm_remote_size(comm: c_int, size: *mut c_int) -> c_int {
    on_inter("MPI_Comm_remote_size", comm, |inter| {
        // SAFETY: the standard's requirements on `size`.
        *unsafe { args::out(size, "size") }? = inter.sides.remote().size as c_int;
        Ok(())
    })
}
