//! Groups of processes that have no communicator in common (MPI-3.1 chapter 10): how their leaders meet, and the requests to
//! the tool that starts processes and keeps ports and names.
//!
//! The nodes of the torus are the *universe*. Each process of it can send to each other one, in a context that belongs to
//! no communicator ([`UNIVERSE_CONTEXT`]). The leaders of two groups connect through it like those of
//! MPI_Intercomm_create ([`connect`](crate::inter::connect)).
//!
//! ```text
//! spawn     the tool starts the processes, and names their leader to the root      both sides connect
//! connect   the leader knocks: a message with the number of the port as its tag    both sides connect
//! accept    the leader waits for a knock                                           both sides connect
//! ```
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt::{self, Display};

use crate::call::block_on;
use crate::comm::{CommRank, Group, Partners, RankMap, shape};
use crate::context::UNIVERSE_CONTEXT;
use crate::error::{Error, ErrorClass};
use crate::installed;
use crate::inter::LeaderBridge;
use crate::process::Env;
use midplane_device::envelope::{Rank, Tag};
use midplane_device::kernel::CallInfo;
use midplane_device::memory::Span;
use midplane_device::request::SendMode;

/// Returns all nodes of the torus as communication partners.
fn everyone(env: &dyn Env) -> Partners<'_> {
    let group = Group {
        map: RankMap::All,
        context: UNIVERSE_CONTEXT,
        size: shape(env).nodes(),
    };
    Partners::at(env, group)
}

/// Returns the bridge to the leader of another group.
pub fn bridge_to(env: &dyn Env, leader: Rank) -> LeaderBridge<'_> {
    LeaderBridge::new(everyone(env), CommRank(leader.index()))
}

/// A port (MPI-3.1 section 10.4): the process that accepts connections, and a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// The process that has opened it.
    pub owner: Rank,
    /// Number among the ports of that process; the tag of messages to it.
    pub number: Tag,
}

const SCHEME: &str = "midplane://";

impl Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.owner.index(), self.number)
    }
}

/// Error of a name that is no open port.
pub const NO_PORT: Error = Error::Wrong {
    class: ErrorClass::Port,
    what: "port_name is the name of no open port",
};

impl Port {
    /// Parses the name of a port. Fails with [`NO_PORT`].
    pub fn parse(env: &dyn Env, name: &[u8]) -> Result<Port, Error> {
        let parse = || {
            let name = core::str::from_utf8(name).ok()?.strip_prefix(SCHEME)?;
            let (owner, number) = name.split_once('/')?;
            let (owner, number): (u32, Tag) = (owner.parse().ok()?, number.parse().ok()?);
            let is_known = owner < shape(env).nodes() && number >= 0;
            is_known.then_some(Port {
                owner: Rank::new(owner),
                number,
            })
        };
        parse().ok_or(NO_PORT)
    }

    /// Asks the owner for a connection. Blocks until the message has left.
    pub fn knock(self, env: &dyn Env, function: &'static str) -> Result<(), Error> {
        let to = CommRank(self.owner.index());
        everyone(env).send_span(function, Span::EMPTY, to, self.number, SendMode::Standard)
    }

    /// Waits for a process that asks for a connection, and returns it. Only the owner may call it.
    pub fn await_knock(self, env: &dyn Env, function: &'static str) -> Result<Rank, Error> {
        let knocked = everyone(env).recv_span(function, Span::EMPTY, None, Some(self.number))?;
        Ok(Rank::new(knocked.source))
    }
}

/// Answer of the tool, after its first field.
pub type AnswerFields = Vec<Vec<u8>>;

/// Sends a request to the tool that manages the job, and blocks until it answers; meanwhile messages make progress.
/// `unsupported` is the error of a job without such a tool. Fails with the class that the tool answers.
pub fn ask(env: &dyn Env, function: &'static str, fields: &[&[u8]], unsupported: Error) -> Result<AnswerFields, Error> {
    let service = installed::job_service().ok_or(unsupported)?;
    let note = CallInfo::without_peer(function);
    let posted = block_on(env, note, || match (service.post)(fields) {
        Ok(is_posted) => is_posted.then_some(Ok(())),
        Err(error) => Some(Err(error)),
    });
    posted.map_err(|_| Error::Argument {
        what: "the arguments are longer than 64 KiB in total",
    })?;
    let mut answer = block_on(env, note, service.answer);
    if answer.is_empty() {
        return Err(REFUSED);
    }
    let first = answer.remove(0);
    let errors = [
        (&b"ok"[..], None),
        (b"port", Some(NO_PORT)),
        (b"name", Some(NO_NAME)),
        (b"service", Some(PUBLISHED)),
        (b"spawn", Some(NOT_STARTED)),
        (b"full", Some(FULL)),
    ];
    match errors.into_iter().find(|(word, _)| *word == first) {
        Some((_, None)) => Ok(answer),
        Some((_, Some(error))) => Err(error),
        None => Err(REFUSED),
    }
}

const NO_NAME: Error = Error::Wrong {
    class: ErrorClass::Name,
    what: "no port is published under service_name",
};
const PUBLISHED: Error = Error::Wrong {
    class: ErrorClass::Service,
    what: "service_name is published already, or was published with another port or by nobody",
};
/// Error of a spawn whose processes cannot be started.
pub const NOT_STARTED: Error = Error::Wrong {
    class: ErrorClass::Spawn,
    what: "the processes were not started; a message of the tool on stderr says why",
};
const FULL: Error = Error::Wrong {
    class: ErrorClass::NoMem,
    what: "too many ports or names are in use",
};
const REFUSED: Error = Error::Wrong {
    class: ErrorClass::Intern,
    what: "the tool that manages the job does not know this request; it has another version",
};
