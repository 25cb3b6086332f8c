//! Ports and their names (section 10.4).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int};

use spin::Mutex;

use super::connect_with;
use crate::args;
use crate::comm_objects::own_number;
use crate::error_dispatch::{on_comm, on_process};
use crate::infos::{self, check_hints};
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::envelope::{Rank, Tag};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::installed::job_service;
use midplane_objects::process::Env;
use midplane_objects::universe::{NO_PORT, Port, ask};

/// Maximum number of open ports of a process.
const MAX_PORTS: usize = 256;
/// Maximum length of a name of a port or a service.
const MAX_NAME: usize = MPI_MAX_PORT_NAME - 1;

/// Ports of this process. No call waits while it holds the lock, and no interrupt handler uses it.
struct OwnPorts {
    open: Vec<Tag>,
    next: Tag,
}

static PORTS: Mutex<OwnPorts> = Mutex::new(OwnPorts {
    open: Vec::new(),
    next: 0,
});

/// Returns a number for a new port. Fails with [`Error::Wrong`] and [`Error::NoSpace`].
fn open_number() -> Result<Tag, Error> {
    let mut ports = PORTS.lock();
    if ports.open.len() >= MAX_PORTS {
        return Err(Error::Wrong {
            class: ErrorClass::NoMem,
            what: "the process has 256 open ports; close one",
        });
    }
    ports.open.try_reserve(1).map_err(|_| Error::NoSpace {
        bytes: size_of::<Tag>(),
    })?;
    let number = ports.next;
    ports.next = number.checked_add(1).unwrap_or(0);
    ports.open.push(number);
    Ok(number)
}

/// Closes a port of this process. Returns false if it is not open.
fn close_number(number: Tag) -> bool {
    let mut ports = PORTS.lock();
    let before = ports.open.len();
    ports.open.retain(|open| *open != number);
    ports.open.len() < before
}

/// Tells the tool about a port, if there is one. Without it, the owner of a port is the only one that knows whether it is
/// open.
fn tell(env: &dyn Env, function: &'static str, fields: [&[u8]; 2]) -> Result<(), Error> {
    match job_service() {
        Some(_) => ask(env, function, &fields, NO_PORT).map(drop),
        None => Ok(()),
    }
}

pub unsafe fn MPI_Open_port(info: c_int, port_name: *mut c_char) -> c_int {
    const NAME: &str = "MPI_Open_port";
    on_process(NAME, |env| {
        check_hints(info)?;
        let port = Port {
            owner: own_number(),
            number: open_number()?,
        };
        let name = port.to_string();
        let told = tell(env, NAME, [b"open", name.as_bytes()]);
        told.inspect_err(|_| {
            close_number(port.number);
        })?;
        // SAFETY: the standard's requirements on `port_name`.
        unsafe { args::text(port_name, MPI_MAX_PORT_NAME, &name) }.map(drop)
    })
}

/// Returns the port of this process with a name. Fails with [`NO_PORT`].
fn own_port(env: &dyn Env, name: &[u8]) -> Result<Port, Error> {
    let port = Port::parse(env, name)?;
    let is_open = port.owner == own_number() && PORTS.lock().open.contains(&port.number);
    if is_open { Ok(port) } else { Err(NO_PORT) }
}

pub unsafe fn MPI_Close_port(port_name: *const c_char) -> c_int {
    const NAME: &str = "MPI_Close_port";
    on_process(NAME, |env| {
        // SAFETY: the standard's requirements on `port_name`: a string.
        let name = unsafe { infos::raw(port_name, "port_name") }?;
        let port = own_port(env, name)?;
        close_number(port.number);
        tell(env, NAME, [b"close", name])
    })
}

pub unsafe fn MPI_Comm_accept(
    port_name: *const c_char,
    info: c_int,
    root: c_int,
    comm: c_int,
    newcomm: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Comm_accept";
    // SAFETY: the standard's requirements on `port_name` and `newcomm`.
    unsafe {
        meet(NAME, [root, comm], [port_name, newcomm.cast()], info, |env, name| {
            own_port(env, name)?.await_knock(env, NAME)
        })
    }
}

pub unsafe fn MPI_Comm_connect(
    port_name: *const c_char,
    info: c_int,
    root: c_int,
    comm: c_int,
    newcomm: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Comm_connect";
    // SAFETY: the standard's requirements on `port_name` and `newcomm`.
    unsafe {
        meet(NAME, [root, comm], [port_name, newcomm.cast()], info, |env, name| {
            let port = Port::parse(env, name)?;
            tell(env, NAME, [b"find", name])?;
            port.knock(env, NAME)?;
            Ok(port.owner)
        })
    }
}

/// Connects the group of a communicator with the one whose leader `find` returns at the root. The pointers are those to the
/// port's name and to the new communicator.
///
/// # Safety
/// The first pointer must be to a string at the root, and the second one satisfy [`args::out`].
unsafe fn meet(
    function: &'static str,
    [root, comm]: [c_int; 2],
    [port_name, newcomm]: [*const c_char; 2],
    info: c_int,
    find: impl FnOnce(&'static dyn Env, &[u8]) -> Result<Rank, Error>,
) -> c_int {
    on_comm(function, comm, |local| {
        // SAFETY: guaranteed by the caller.
        let newcomm = unsafe { args::out(newcomm.cast_mut().cast::<Handle>(), "newcomm") }?;
        *newcomm = Handle::new(MPI_COMM_NULL);
        let root = args::root(&local, root)?;
        let other = (local.own_rank() == root).then(|| {
            check_hints(info)?;
            // SAFETY: guaranteed by the caller.
            find(local.env, unsafe { infos::raw(port_name, "port_name") }?)
        });
        *newcomm = Handle::new(connect_with(function, local, comm, root, other)?);
        Ok(())
    })
}

const NO_NAMES: Error = Error::Unsupported {
    what: "names of ports are kept by `midplane run --on linux` on one host only; exchange the name in a message",
};

/// Returns the name of a service.
///
/// # Safety
/// A non-null `name` must point to a string that does not change for `'a`.
unsafe fn service<'a>(name: *const c_char) -> Result<&'a [u8], Error> {
    // SAFETY: guaranteed by the caller.
    let name = unsafe { infos::raw(name, "service_name") }?;
    if name.len() > MAX_NAME {
        return Err(Error::Wrong {
            class: ErrorClass::Service,
            what: "service_name has more than 1023 bytes",
        });
    }
    Ok(name)
}

/// Asks the tool to publish or to unpublish a port under a name.
///
/// # Safety
/// Non-null names must point to strings.
unsafe fn change_name(
    function: &'static str,
    request: &[u8],
    [service_name, port_name]: [*const c_char; 2],
    info: c_int,
) -> c_int {
    on_process(function, |env| {
        check_hints(info)?;
        // SAFETY: guaranteed by the caller.
        let (service, port) = unsafe { (service(service_name)?, infos::raw(port_name, "port_name")?) };
        ask(env, function, &[request, service, port], NO_NAMES).map(drop)
    })
}

pub unsafe fn MPI_Publish_name(service_name: *const c_char, info: c_int, port_name: *const c_char) -> c_int {
    // SAFETY: the standard's requirements on both: strings.
    unsafe { change_name("MPI_Publish_name", b"publish", [service_name, port_name], info) }
}

pub unsafe fn MPI_Unpublish_name(service_name: *const c_char, info: c_int, port_name: *const c_char) -> c_int {
    // SAFETY: the standard's requirements on both: strings.
    unsafe { change_name("MPI_Unpublish_name", b"unpublish", [service_name, port_name], info) }
}

pub unsafe fn MPI_Lookup_name(service_name: *const c_char, info: c_int, port_name: *mut c_char) -> c_int {
    const NAME: &str = "MPI_Lookup_name";
    on_process(NAME, |env| {
        check_hints(info)?;
        // SAFETY: the standard's requirements on `service_name`: a string.
        let service = unsafe { service(service_name) }?;
        let answer = ask(env, NAME, &[b"lookup", service], NO_NAMES)?;
        let port = answer.first().and_then(|port| core::str::from_utf8(port).ok());
        // SAFETY: the standard's requirements on `port_name`.
        unsafe { args::text(port_name, MPI_MAX_PORT_NAME, port.unwrap_or_default()) }.map(drop)
    })
}
