//! What is kept beside a communicator, by its context: its name and its topology.

use alloc::boxed::Box;
use alloc::vec::Vec;

use spin::Mutex;

use super::hook::Hook;
use midplane_device::envelope::Context;
use midplane_objects::cart::Grid;
use midplane_objects::error::Error;
use midplane_objects::topology::Topology;

/// The names that the program has given to communicators, by context, in its heap.
pub(super) static NAMES: Mutex<Vec<(Context, Box<str>)>> = Mutex::new(Vec::new());

/// Forgets a communicator's name.
pub(super) fn unname(context: Context) {
    NAMES.lock().retain(|(named, _)| *named != context);
}

/// No call holds the lock while it waits, and interrupts do not come here.
static TOPOLOGIES: Mutex<Vec<(Context, Topology)>> = Mutex::new(Vec::new());

/// Runs `f` on the topology of the communicator with this context; for as long as `f` runs nothing else has it.
pub(super) fn with_topology<R>(context: Context, f: impl FnOnce(Option<&Topology>) -> R) -> R {
    let topologies = TOPOLOGIES.lock();
    let found = topologies.iter().find(|(of, _)| *of == context);
    f(found.map(|(_, topology)| topology))
}

pub(super) fn grid(context: Context) -> Option<Grid> {
    with_topology(context, |topology| match topology {
        Some(Topology::Cartesian(grid)) => Some(grid.clone()),
        _ => None,
    })
}

/// Makes room for one more topology.
pub(super) fn reserve() -> Result<(), Error> {
    TOPOLOGIES.lock().try_reserve(1).map_err(|_| Error::NoRoom {
        bytes: size_of::<(Context, Topology)>(),
    })
}

/// The topology that a duplicate of the communicator with this context has (section 6.4.2), with room for it.
/// Fails with [`Error::NoRoom`].
pub(super) fn prepare_copy(context: Context) -> Result<Option<Topology>, Error> {
    let found = with_topology(context, |topology| topology.map(Topology::copied));
    if found.is_some() {
        reserve()?;
    }
    found.transpose()
}

/// The communicator with this context has this topology, if any, for which there is room.
pub(super) fn attach(context: Context, topology: Option<Topology>) {
    DETACH.set(detach);
    TOPOLOGIES
        .lock()
        .extend(topology.map(|topology| (context, topology)));
}

/// The communicator with this context is gone.
pub(super) fn forget(context: Context) {
    unname(context);
    let detach = DETACH.get();
    if let Some(detach) = detach {
        detach(context);
    }
}

/// Forgets a topology, from the first one on: a program that makes none has nothing of this in its image.
static DETACH: Hook<fn(Context)> = Hook::new();

fn detach(context: Context) {
    TOPOLOGIES.lock().retain(|(of, _)| *of != context);
}
