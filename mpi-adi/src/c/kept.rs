//! What is kept beside a communicator, by its context: its name and its grid.

use alloc::boxed::Box;
use alloc::vec::Vec;

use spin::Mutex;

use crate::device::envelope::Context;
use crate::mpi::cart::Grid;
use crate::mpi::error::Error;

/// The names that the program has given to communicators, by context, in its heap.
pub(super) static NAMES: Mutex<Vec<(Context, Box<str>)>> = Mutex::new(Vec::new());

/// Forgets a communicator's name.
pub(super) fn unname(context: Context) {
    NAMES.lock().retain(|(named, _)| *named != context);
}

/// No call holds the lock while it waits, and interrupts do not come here.
static GRIDS: Mutex<Vec<(Context, Grid)>> = Mutex::new(Vec::new());

pub(super) fn grid(context: Context) -> Option<Grid> {
    let grids = GRIDS.lock();
    let found = grids.iter().find(|(of, _)| *of == context);
    found.map(|(_, grid)| grid.clone())
}

/// Makes room for one more grid.
pub(super) fn reserve() -> Result<(), Error> {
    GRIDS.lock().try_reserve(1).map_err(|_| Error::NoRoom {
        bytes: size_of::<(Context, Grid)>(),
    })
}

/// The grid that a duplicate of the communicator with this context has (section 6.4.2), with room for it.
/// Fails with [`Error::NoRoom`].
pub(super) fn prepare_copy(context: Context) -> Result<Option<Grid>, Error> {
    let found = grid(context);
    if found.is_some() {
        reserve()?;
    }
    Ok(found)
}

/// The communicator with this context has this grid, if any, for which there is room.
pub(super) fn attach(context: Context, grid: Option<Grid>) {
    GRIDS.lock().extend(grid.map(|grid| (context, grid)));
}

/// The communicator with this context is gone.
pub(super) fn forget(context: Context) {
    unname(context);
    GRIDS.lock().retain(|(of, _)| *of != context);
}
