//! Programs that may start processes (MPI_Comm_spawn). Their jobs have spare nodes, which other jobs do without.
//!
//! A native program contains all functions of MPI. So a symbol records that its own code names the function.

use std::fs;
use std::path::Path;

/// Name in the objects and sources of programs that start processes, in lower case.
const REQUEST: &[u8] = b"mpi_comm_spawn";
/// Symbol of a program that contains this name.
pub(super) const SYMBOL: &str = "midplane_may_spawn";
/// Returns the option of the link if one of these files, sources, objects or static libraries, may start processes.
pub(super) fn link_option(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<String> {
    let names_it = |file: &Path| {
        let text = fs::read(file).unwrap_or_default().to_ascii_lowercase();
        text.windows(REQUEST.len()).any(|window| window == REQUEST)
    };
    let may_spawn = files.into_iter().any(|file| names_it(file.as_ref()));
    may_spawn.then(|| format!("-Wl,--defsym={SYMBOL}=1"))
}
