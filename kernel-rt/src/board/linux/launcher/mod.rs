//! Start of a process by a launcher that is not this project's tool: Slurm's `srun`, MPICH's `mpiexec`, Open MPI's
//! `mpirun` and `prterun`.
//!
//! ```text
//! environment  settings of such a job, and how the launcher is recognized
//! pmi          client of PMI-1, the process management interface of Hydra and of Slurm's plugin `pmi2`
//! pmix         rank and size by PMIx, from the library that the host has
//! meeting      how the processes of a job meet: a Unix socket with an abstract name
//! keeper       the process that keeps the job's memory, and ends all ranks when one has failed
//! ```
//!
//! A launcher tells each process its rank, the number of ranks and the name of the job; nothing else is used of it. The
//! process of rank 0 forks the *keeper*. The keeper creates the job's [shared file](super::share) and listens at an
//! abstract Unix address that is made of the job's name. Every rank connects, rank 0 included, and both sides check by
//! SO_PEERCRED that the other is the same user's process. The keeper answers with the numbers of its descriptors, which
//! the rank opens through `/proc`. From then on a rank is the same as under the tool: it maps the same file, and it is
//! killed when the keeper has gone.
//!
//! ```text
//!   rank                         keeper                         other ranks
//!    | join RANK SIZE VERSION JOB ->|
//!    | <---- ok FILE LIFE ASKS      |
//!    | .. program runs ..           |
//!    | done  ---------------------> |  all done: `ends` = 1  ----> leave the torus, end
//!    | failed STATUS -------------> |  `ends` = 2 + STATUS   ----> SIGURG: exit with STATUS, killed after 4 s
//!    |                              |  a rank that joins only now:  `failed STATUS`, exit with STATUS
//!    | (process gone) ------------> |  as failed, status 1
//! ```
//!
//! All ranks must be on one host; a job on several hosts is rejected by each of its processes.

mod environment;
mod keeper;
mod meeting;
mod pmi;
mod pmix;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

pub use environment::name;

use environment::{JobSettings, LaunchedRank};
use meeting::Joined;
use pmi::PmiSession;

use super::tool::ToolParameters;
use super::{abort, process};

/// A rank's connections until its end.
struct Connections {
    keeper: UnixStream,
    session: Option<PmiSession>,
}

static CONNECTIONS: Mutex<Option<Connections>> = Mutex::new(None);

/// Checks whether a launcher has started this process as one of several.
pub fn is_launched() -> bool {
    environment::find().is_some()
}

/// Joins the job of the launcher that has started this process. Returns its parameters, and the number of its program
/// among those of the job; `None` for a job of one process. Blocks until rank 0 has started. Must be called once, by the only thread.
///
/// # Errors
/// If the environment is invalid, the job spans several hosts, or another process of it does not start.
pub fn join() -> Result<Option<(ToolParameters, u32)>, String> {
    let Some(by) = environment::find() else {
        return Ok(None);
    };
    environment::hide_from_children();
    let Some(place) = by.place()? else {
        return Ok(None);
    };
    let LaunchedRank {
        rank,
        size,
        job,
        program,
        session,
    } = place;
    let settings = JobSettings::read(size)?;
    abort::before_exit(tell_failed);
    if rank == 0 {
        keeper::start(&job, size, settings.shape.nodes())?;
    }
    settings.limit_memory()?;
    let (keeper, told) = match meeting::join(rank, size, &job, &settings)? {
        Joined::Member(keeper, told) => (keeper, told),
        // That rank has printed the reason.
        Joined::Failed(status) => keeper::exit(i32::from(status)),
    };
    if let Ok(mut connections) = CONNECTIONS.lock() {
        *connections = Some(Connections { keeper, session });
    }
    Ok(Some((told, program)))
}

/// Returns the boot parameters of a process that is the only one of its job, from the environment.
///
/// # Errors
/// If a variable of the environment is invalid.
pub fn settings_of_single_process() -> Result<(u64, Vec<u8>), String> {
    let settings = JobSettings::read(1)?;
    settings.limit_memory()?;
    Ok((settings.node_memory, settings.record(0)))
}

/// Tells the keeper that this rank's program has ended. It waits for the others in the torus from now on.
pub fn tell_done() {
    tell("done\n");
}

/// Tells the keeper and the process manager that this rank ends the job with `status`.
fn tell_failed(status: u8) {
    // First: the keeper's order may end this process at once.
    if environment::reports_status_of_abort()
        && let Ok(mut connections) = CONNECTIONS.try_lock()
        && let Some(session) = connections
            .as_mut()
            .and_then(|connections| connections.session.as_mut())
    {
        session.abort(status);
    }
    tell(&format!("failed {status}\n"));
}

fn tell(words: &str) {
    if let Ok(mut connections) = CONNECTIONS.try_lock()
        && let Some(connections) = connections.as_mut()
    {
        // The keeper notices the end of the process by itself, later.
        let _ = connections.keeper.write_all(words.as_bytes());
    }
}

/// Ends the session with the launcher, after the last rank has ended.
pub fn end_session() {
    if let Ok(mut connections) = CONNECTIONS.lock()
        && let Some(Connections {
            session: Some(session), ..
        }) = connections.take()
    {
        session.finalize();
    }
}

/// Ends the process if the keeper has ordered it. Runs in a signal handler.
pub fn obey() {
    if let Some(status) = process().and_then(|process| process.account.orders.ordered_status()) {
        // Exit handlers must not run in a signal handler.
        keeper::exit(i32::from(status));
    }
}
