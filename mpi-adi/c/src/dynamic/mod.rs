//! Processes that come and go, and connections of groups without a common communicator (chapter 10).
//!
//! ```text
//! spawn   MPI_Comm_spawn, MPI_Comm_spawn_multiple, MPI_Comm_get_parent
//! ports   MPI_Open_port, MPI_Comm_accept, MPI_Comm_connect, and the names of ports
//! join    MPI_Comm_join: a connection over a socket of the program
//! ```
//! Each of them ends with the agreement of MPI_Intercomm_create, whose leaders meet in the context of the universe
//! ([`midplane_objects::universe`]).

mod join;
mod ports;
mod spawn;

pub use join::*;
pub use ports::*;
pub use spawn::*;

use core::ffi::c_int;

use super::comm_objects::{enter_inter, prepare};
use super::intercommunicators::CALLS;
use midplane_device::envelope::Rank;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::inter::connect;
use midplane_objects::universe::bridge_to;

/// Connects the group of `local` with that of the process `other`, and returns the handle of the intercommunicator. Only the
/// root specifies the other process, or the reason why there is none; then all processes fail. Collective; blocks.
fn connect_with(
    function: &'static str,
    local: Communicator<'static>,
    parent: c_int,
    root: CommRank,
    other: Option<Result<Rank, Error>>,
) -> Result<c_int, Error> {
    let env = local.env;
    let bridge = other.map(|other| other.map(|other| bridge_to(env, other)));
    let made = connect(function, local, root, bridge, &mut prepare)?;
    enter_inter(env, made, &CALLS, parent)
}
