//! Start of processes (sections 10.3.2 and 10.3.3).
//!
//! The root asks the tool to start the processes, and tells the others the result. The processes of the new world connect
//! in their MPI_Init, those of the communicator in the call that spawns.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicI32, Ordering};

use super::connect_with;
use crate::args;
use crate::comm_objects::views;
use crate::comm_state;
use crate::error_dispatch::{on_comm, on_process};
use crate::infos;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::installed;
use midplane_objects::process::Env;
use midplane_objects::universe::{NOT_STARTED, ask};

/// The intercommunicator to the processes that have spawned this world.
static PARENT: AtomicI32 = AtomicI32::new(MPI_COMM_NULL);

/// Maximum number of commands of one call.
const MAX_COMMANDS: usize = 1 << 10;
/// Maximum number of processes that one command requests.
const MAX_PROCESSES: c_int = 1 << 20;

/// Connects this world with the processes that have spawned it, in MPI_Init. Does nothing in the first world of a job.
pub fn meet_parent(env: &'static dyn Env) -> Result<(), Error> {
    let Some(parent) = installed::world().and_then(|world| world.parent) else {
        return Ok(());
    };
    let world = Communicator::world(env);
    let leader = CommRank(0);
    let other = (world.own_rank() == leader).then_some(Ok(parent));
    let handle = connect_with("MPI_Init", world, MPI_COMM_WORLD, leader, other)?;
    PARENT.store(handle, Ordering::Relaxed);
    if let Some(views) = views(handle) {
        comm_state::NAMES
            .lock()
            .push((views.context(), "MPI_COMM_PARENT".into()));
    }
    Ok(())
}

pub unsafe fn MPI_Comm_get_parent(parent: *mut Handle) -> c_int {
    on_process("MPI_Comm_get_parent", |_| {
        // SAFETY: the standard's requirements on `parent`.
        let parent = unsafe { args::out(parent, "parent") }?;
        // MPI_COMM_NULL again when the program has freed it.
        let handle = PARENT.load(Ordering::Relaxed);
        *parent = Handle::new(if views(handle).is_some() { handle } else { MPI_COMM_NULL });
        Ok(())
    })
}

/// Fields of one command in the request to the tool (`job_requests` in `midplane_abi`).
struct CommandFields {
    fields: Vec<Vec<u8>>,
    most: c_int,
}

/// Returns the fields of a command.
///
/// # Safety
/// Non-null pointers must point to a string, and to an array of strings that a null pointer ends.
unsafe fn command_fields(
    env: &dyn Env,
    command: *const c_char,
    argv: *mut *mut c_char,
    most: c_int,
    info: c_int,
) -> Result<CommandFields, Error> {
    // SAFETY: guaranteed by the caller.
    let command = unsafe { infos::raw(command, "command") }?;
    if !(1..=MAX_PROCESSES).contains(&most) {
        return Err(Error::Argument {
            what: "maxprocs is not a number of processes from 1 to 1048576",
        });
    }
    let mut words = Vec::new();
    let mut at = argv;
    // SAFETY: guaranteed by the caller: an array that ends with a null pointer.
    while !at.is_null() && !unsafe { *at }.is_null() {
        // SAFETY: as above; a string of the array.
        words.push(unsafe { infos::raw(*at, "argv") }?.to_vec());
        // SAFETY: as above; the entry was not the last one.
        at = unsafe { at.add(1) };
    }
    let mut fields = Vec::new();
    fields.push(command.to_vec());
    fields.push(most.to_string().into_bytes());
    for key in [&b"soft"[..], b"wdir", b"path"] {
        fields.push(infos::value(env, info, key)?.unwrap_or_default());
    }
    fields.push(words.len().to_string().into_bytes());
    fields.append(&mut words);
    Ok(CommandFields { fields, most })
}

/// Started processes: the first one on the torus, and for each command the requested and the started number.
struct StartedProcesses {
    first: Rank,
    numbers: Vec<[u32; 2]>,
}

/// Asks the tool to start the processes of these commands. Blocks until it has.
fn start(env: &dyn Env, function: &'static str, commands: &[CommandFields]) -> Result<StartedProcesses, Error> {
    let count = commands.len().to_string();
    let head = [&b"start"[..], count.as_bytes()];
    let rest = commands
        .iter()
        .flat_map(|command| &command.fields)
        .map(|field| &**field);
    let fields: Vec<&[u8]> = head.into_iter().chain(rest).collect();
    let unsupported = Error::Wrong {
        class: ErrorClass::Spawn,
        what: "processes can be started only with `midplane run --on linux`, on one host",
    };
    let answer = ask(env, function, &fields, unsupported)?;
    let parse = |field: &Vec<u8>| core::str::from_utf8(field).ok()?.parse().ok();
    let numbers: Option<Vec<u32>> = answer.iter().map(parse).collect();
    let numbers = numbers.filter(|numbers| numbers.len() == commands.len() + 1);
    let numbers = numbers.ok_or(NOT_STARTED)?;
    let started = commands.iter().zip(&numbers[1..]);
    Ok(StartedProcesses {
        first: Rank::new(numbers[0]),
        numbers: started
            .map(|(command, started)| [command.most as u32, *started])
            .collect(),
    })
}

/// Error at the other processes if the root has failed.
fn error_elsewhere(class: u32) -> Error {
    match class {
        class if class == ErrorClass::Spawn as u32 => NOT_STARTED,
        _ => Error::Wrong {
            class: ErrorClass::Other,
            what: "the root could not start the processes; its error says why",
        },
    }
}

/// Starts processes, tells all processes of the communicator which have started, and connects both groups. `requested` is
/// the result of [`command_fields`] for all commands, at the root.
fn spawn(
    function: &'static str,
    local: Communicator<'static>,
    comm: c_int,
    root: CommRank,
    requested: Option<Result<Vec<CommandFields>, Error>>,
    mut note_codes: impl FnMut([u32; 2]),
) -> Result<c_int, Error> {
    let wanted = match &requested {
        Some(Ok(commands)) => commands.iter().map(|command| [command.most as u32, 0]).collect(),
        _ => Vec::new(),
    };
    let started = requested.map(|requested| start(local.env, function, &requested?));
    // Whether the root has failed, and the number of commands.
    let (class, own) = match &started {
        Some(Ok(started)) => (0, &started.numbers),
        Some(Err(error)) => (error.class() as u32, &wanted),
        None => (0, &wanted),
    };
    let mut head = [class, own.len() as u32];
    local.bcast_bytes(function, bytemuck::bytes_of_mut(&mut head), root)?;
    let [class, count] = head;
    for at in 0..count as usize {
        let mut numbers = own.get(at).copied().unwrap_or_default();
        local.bcast_bytes(function, bytemuck::bytes_of_mut(&mut numbers), root)?;
        note_codes(numbers);
    }
    let other = match started {
        Some(Err(error)) => return Err(error),
        Some(Ok(started)) => Some(Ok(started.first)),
        None if class != 0 => return Err(error_elsewhere(class)),
        None => None,
    };
    connect_with(function, local, comm, root, other)
}

/// Stores the error codes of a command's processes behind those of the previous ones.
///
/// # Safety
/// A non-null `codes` must have space for as many as all commands request.
unsafe fn put_codes(codes: *mut c_int, before: &mut usize, [most, started]: [u32; 2]) {
    if codes.is_null() {
        return;
    }
    for at in 0..most {
        let code = if at < started {
            MPI_SUCCESS
        } else {
            ErrorClass::Spawn as c_int
        };
        // SAFETY: guaranteed by the caller.
        unsafe { codes.add(*before + at as usize).write(code) };
    }
    *before += most as usize;
}

pub unsafe fn MPI_Comm_spawn(
    command: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: c_int,
    root: c_int,
    comm: c_int,
    intercomm: *mut Handle,
    array_of_errcodes: *mut c_int,
) -> c_int {
    const NAME: &str = "MPI_Comm_spawn";
    on_comm(NAME, comm, |local| {
        // SAFETY: the standard's requirements on `intercomm`.
        let intercomm = unsafe { args::out(intercomm, "intercomm") }?;
        *intercomm = Handle::new(MPI_COMM_NULL);
        let root = args::root(&local, root)?;
        let requested = (local.own_rank() == root).then(|| {
            // SAFETY: the standard's requirements on both, which are significant at the root.
            let fields = unsafe { command_fields(local.env, command, argv, maxprocs, info) };
            fields.map(|fields| Vec::from([fields]))
        });
        let mut before = 0;
        // SAFETY: the standard's requirements on `array_of_errcodes`.
        let note = |numbers| unsafe { put_codes(array_of_errcodes, &mut before, numbers) };
        *intercomm = Handle::new(spawn(NAME, local, comm, root, requested, note)?);
        Ok(())
    })
}

/// Returns the fields of several commands.
///
/// # Safety
/// The arrays must have `count` entries that satisfy [`command_fields`]; `argvs` may be null.
unsafe fn fields_of_commands(
    env: &dyn Env,
    count: c_int,
    commands: *mut *mut c_char,
    argvs: *mut *mut *mut c_char,
    most: *const c_int,
    infos: *const Handle,
) -> Result<Vec<CommandFields>, Error> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| (1..=MAX_COMMANDS).contains(count));
    let count = count.ok_or(Error::Argument {
        what: "count is not a number of commands from 1 to 1024",
    })?;
    // SAFETY: guaranteed by the caller.
    let (commands, most, infos) = unsafe {
        (
            args::array(commands, count, "array_of_commands")?,
            args::array(most, count, "array_of_maxprocs")?,
            args::array(infos, count, "array_of_info")?,
        )
    };
    (0..count)
        .map(|at| {
            let argv = if argvs.is_null() {
                core::ptr::null_mut()
            } else {
                // SAFETY: guaranteed by the caller.
                unsafe { *argvs.add(at) }
            };
            // SAFETY: guaranteed by the caller.
            unsafe { command_fields(env, commands[at], argv, most[at], infos[at].value()) }
        })
        .collect()
}

pub unsafe fn MPI_Comm_spawn_multiple(
    count: c_int,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const Handle,
    root: c_int,
    comm: c_int,
    intercomm: *mut Handle,
    array_of_errcodes: *mut c_int,
) -> c_int {
    const NAME: &str = "MPI_Comm_spawn_multiple";
    on_comm(NAME, comm, |local| {
        // SAFETY: the standard's requirements on `intercomm`.
        let intercomm = unsafe { args::out(intercomm, "intercomm") }?;
        *intercomm = Handle::new(MPI_COMM_NULL);
        let root = args::root(&local, root)?;
        // SAFETY: the standard's requirements on the arrays, which are significant at the root.
        let requested = (local.own_rank() == root).then(|| unsafe {
            fields_of_commands(
                local.env,
                count,
                array_of_commands,
                array_of_argv,
                array_of_maxprocs,
                array_of_info,
            )
        });
        let mut before = 0;
        // SAFETY: the standard's requirements on `array_of_errcodes`.
        let note = |numbers| unsafe { put_codes(array_of_errcodes, &mut before, numbers) };
        *intercomm = Handle::new(spawn(NAME, local, comm, root, requested, note)?);
        Ok(())
    })
}
