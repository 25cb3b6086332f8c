//! Info objects: hints as key/value pairs (MPI-3.1 chapter 9).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::info::Info;
//! use mpi::traits::*;
//! use mpi::window::Window;
//!
//! /// Creates a window whose epochs may start before earlier, already closed epochs are complete.
//! fn counters(world: &impl Communicator) -> Window<'static, u64> {
//!     let mut info = Info::new();
//!     info.set("MPI_WIN_ACCESS_AFTER_ACCESS_REORDER", "true");
//!     let window = Window::allocate(8, world);
//!     window.set_info(&info);
//!     let used = window.get_info();
//!     assert_eq!(used.get("MPI_WIN_ACCESS_AFTER_ACCESS_REORDER"), Some("true"));
//!     window
//! }
//! ```
//!
//! `docs/rma.md` lists the keys that windows support; communicators support none. Unknown keys are ignored, as the
//! standard requires.
//!
//! | calls of MPI | here |
//! |---|---|
//! | MPI_Info_create, _free | [`Info::new`]; dropping |
//! | MPI_Info_set, _get, _get_valuelen, _delete | [`Info::set`], [`Info::get`], [`Info::delete`] |
//! | MPI_Info_get_nkeys, _get_nthkey | [`Info::len`], [`Info::key`], [`Info::iter`] |
//! | MPI_Info_dup | [`Info::duplicate`] |
//! | MPI_INFO_NULL, MPI_INFO_ENV | `Info::new()`, [`Info::environment`] |
//!
//! Keys and values use the program's heap. No call blocks. Only [`Info::environment`] requires an initialized MPI.
#![forbid(unsafe_code)]

use core::fmt;

use super::{fatal, process};
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;
use midplane_objects::info;

/// Keys with values, in the order of their first setting. A key contains 1 to 255 bytes, a value at most 1023.
#[derive(Default)]
pub struct Info(pub(crate) info::Info);

/// Returns a key or value as text; both originate from strings.
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

impl Info {
    /// Creates an info object without keys (MPI_Info_create).
    pub const fn new() -> Info {
        Info(info::Info::new())
    }

    /// Returns the startup information under the standard's keys (MPI_INFO_ENV, MPI-3.1 section 10.4.1): `maxprocs`,
    /// `thread_level` and, on nodes, `arch`. Returns [`Error::Order`] before MPI is initialized, and [`Error::NoSpace`].
    pub fn environment() -> Result<Info, Error> {
        let here = process::running()?;
        let processes = Communicator::world(here.env()?).size();
        info::environment(processes, b"MPI_THREAD_FUNNELED").map(Info)
    }

    /// Sets or replaces the value of a key (MPI_Info_set). Aborts the job where [`try_set`](Info::try_set) fails.
    #[track_caller]
    pub fn set(&mut self, key: &str, value: &str) {
        let set = self.try_set(key, value);
        fatal("mpi::info::Info::set (MPI_Info_set)", set);
    }

    /// Sets or replaces the value of a key; an error changes nothing.
    ///
    /// # Errors
    /// Class InfoKey for a key that is empty or too long, class InfoValue for a value that is too long, and
    /// [`Error::NoSpace`].
    pub fn try_set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.0.set(key.as_bytes(), value.as_bytes())
    }

    /// Returns the value of a key, or `None` for an unknown key (MPI_Info_get).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key.as_bytes()).map(text)
    }

    /// Removes a key and returns whether it was present (MPI_Info_delete).
    pub fn delete(&mut self, key: &str) -> bool {
        self.0.delete(key.as_bytes()).is_ok()
    }

    /// Returns the number of keys (MPI_Info_get_nkeys).
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Checks whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the key with index `n`, from 0, or `None` past the end (MPI_Info_get_nthkey).
    pub fn key(&self, n: usize) -> Option<&str> {
        self.0.key(n).map(text)
    }

    /// Returns all keys with their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (text(key), text(value)))
    }

    /// Creates an info object from the library's keys and values. Returns [`Error::NoSpace`] when the heap is full.
    pub(crate) fn from_pairs(hints: &[(&[u8], &[u8])]) -> Result<Info, Error> {
        let mut info = Info::new();
        for (key, value) in hints {
            info.0.set(key, value)?;
        }
        Ok(info)
    }

    ends_the_job! {
        "mpi::info::Info", [pub fn(&self)], crate::NoObject;

        /// Returns a copy (MPI_Info_dup). Aborts the job when the heap has no space.
        duplicate[]() -> Info, "MPI_Info_dup";
        /// Returns a copy (MPI_Info_dup), or [`Error::NoSpace`].
        or try_duplicate = self.0.duplicate().map(Info);
    }
}

impl Clone for Info {
    #[track_caller]
    fn clone(&self) -> Info {
        self.duplicate()
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
