//! Side table of communicators by context: names and topologies.

use alloc::boxed::Box;
use alloc::vec::Vec;

use spin::Mutex;

use super::lazy_callback::LazyCallback;
use midplane_device::envelope::Context;
use midplane_objects::cart::CartGrid;
use midplane_objects::error::Error;
use midplane_objects::topology::Topology;

/// Names that the program has set for communicators, by context, on its heap.
pub(super) static NAMES: Mutex<Vec<(Context, Box<str>)>> = Mutex::new(Vec::new());

/// Removes a communicator's name.
pub(super) fn unname(context: Context) {
    NAMES.lock().retain(|(named, _)| *named != context);
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TOPOLOGIES: Mutex<Vec<(Context, Topology)>> = Mutex::new(Vec::new());

/// Runs `f` on the topology of the communicator with this context, with exclusive access.
pub(super) fn with_topology<R>(context: Context, f: impl FnOnce(Option<&Topology>) -> R) -> R {
    let topologies = TOPOLOGIES.lock();
    let found = topologies.iter().find(|(of, _)| *of == context);
    f(found.map(|(_, topology)| topology))
}

pub(super) fn grid(context: Context) -> Option<CartGrid> {
    with_topology(context, |topology| match topology {
        Some(Topology::Cartesian(grid)) => Some(grid.clone()),
        _ => None,
    })
}

/// Reserves memory for one more topology.
pub(super) fn reserve() -> Result<(), Error> {
    TOPOLOGIES.lock().try_reserve(1).map_err(|_| Error::NoSpace {
        bytes: size_of::<(Context, Topology)>(),
    })
}

/// Copies the topology for a duplicate of the communicator with this context (section 6.4.2), and reserves memory for
/// it. Fails with [`Error::NoSpace`].
pub(super) fn prepare_copy(context: Context) -> Result<Option<Topology>, Error> {
    let found = with_topology(context, |topology| topology.map(Topology::copied));
    if found.is_some() {
        reserve()?;
    }
    found.transpose()
}

/// Attaches a topology, if any, to the communicator with this context. The memory must be reserved.
pub(super) fn attach(context: Context, topology: Option<Topology>) {
    DETACH.set(detach);
    TOPOLOGIES.lock().extend(topology.map(|topology| (context, topology)));
}

/// Removes the data of the communicator with this context.
pub(super) fn forget(context: Context) {
    unname(context);
    let detach = DETACH.get();
    if let Some(detach) = detach {
        detach(context);
    }
}

/// Removes a topology. Installed with the first topology, so that the image of a program without one does not contain
/// this code.
static DETACH: LazyCallback<fn(Context)> = LazyCallback::new();

fn detach(context: Context) {
    TOPOLOGIES.lock().retain(|(of, _)| *of != context);
}
