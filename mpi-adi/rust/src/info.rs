//! Info objects: what a program says to MPI by keys and values (MPI-3.1 chapter 9).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::info::Info;
//! use mpi::traits::*;
//! use mpi::window::Window;
//!
//! /// A window whose epochs may begin before those are complete that were opened and closed before them.
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
//! Which keys mean something is said in `docs/rma.md` for windows; to communicators none does. What is not known is no
//! error, as the standard has it.
//!
//! | calls of MPI | here |
//! |---|---|
//! | MPI_Info_create, _free | [`Info::new`]; dropping |
//! | MPI_Info_set, _get, _get_valuelen, _delete | [`Info::set`], [`Info::get`], [`Info::delete`] |
//! | MPI_Info_get_nkeys, _get_nthkey | [`Info::len`], [`Info::key`], [`Info::iter`] |
//! | MPI_Info_dup | [`Info::duplicate`] |
//! | MPI_INFO_NULL, MPI_INFO_ENV | `Info::new()`, [`Info::environment`] |
//!
//! Keys and values are in the program's heap. No call blocks; none needs MPI to be started but [`Info::environment`].
#![forbid(unsafe_code)]

use core::fmt;

use super::{fatal, process};
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;
use midplane_objects::info;

/// Keys with values, in the order of their first setting. A key has 1 to 255 bytes, a value at most 1023.
#[derive(Default)]
pub struct Info(pub(crate) info::Info);

/// Keys and values come from strings.
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

impl Info {
    /// Without keys (MPI_Info_create).
    pub const fn new() -> Info {
        Info(info::Info::new())
    }

    /// What is known of how the program was started, by keys of the standard (MPI_INFO_ENV, MPI-3.1 section 10.4.1):
    /// `maxprocs`, `thread_level` and, on nodes, `arch`. Fails with [`Error::Order`] before MPI is started, and with
    /// [`Error::NoRoom`].
    pub fn environment() -> Result<Info, Error> {
        let here = process::running()?;
        let processes = Communicator::world(here.env()?).size();
        info::environment(processes, b"MPI_THREAD_FUNNELED").map(Info)
    }

    /// Sets the value of a key, in place of an earlier one (MPI_Info_set). Ends the job where [`try_set`](Info::try_set)
    /// fails.
    #[track_caller]
    pub fn set(&mut self, key: &str, value: &str) {
        let set = self.try_set(key, value);
        fatal("mpi::info::Info::set (MPI_Info_set)", set);
    }

    /// As [`set`](Info::set). Fails with class InfoKey for a key that is empty or too long, with class InfoValue for a value
    /// that is too long, and with [`Error::NoRoom`]; then nothing has changed.
    pub fn try_set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.0.set(key.as_bytes(), value.as_bytes())
    }

    /// The value of a key; `None`: there is no such key (MPI_Info_get).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key.as_bytes()).map(text)
    }

    /// Takes a key out, and says whether it was there (MPI_Info_delete).
    pub fn delete(&mut self, key: &str) -> bool {
        self.0.delete(key.as_bytes()).is_ok()
    }

    /// How many keys there are (MPI_Info_get_nkeys).
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// There are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The n-th key, from 0; `None`: there are not as many (MPI_Info_get_nthkey).
    pub fn key(&self, n: usize) -> Option<&str> {
        self.0.key(n).map(text)
    }

    /// All keys with their values, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (text(key), text(value)))
    }

    /// Of keys and values that this library gives. Fails with [`Error::NoRoom`].
    pub(crate) fn of(hints: &[(&[u8], &[u8])]) -> Result<Info, Error> {
        let mut info = Info::new();
        for (key, value) in hints {
            info.0.set(key, value)?;
        }
        Ok(info)
    }

    ends_the_job! {
        "mpi::info::Info", [pub fn(&self)], crate::NoObject;

        /// A copy (MPI_Info_dup). Ends the job when the heap has no room.
        duplicate[]() -> Info, "MPI_Info_dup";
        /// As [`duplicate`](Info::duplicate). Fails with [`Error::NoRoom`].
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
