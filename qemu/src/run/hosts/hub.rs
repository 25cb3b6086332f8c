//! The agents of a job in the command's event loop.
//!
//! The status records of all ranks are in memory of the command, a mirror of those on the hosts. The event loop reads them
//! and writes its requests there as for processes of its own host; [`HostHub`] transmits both.

use crate::host::error::{self, CliError, ErrorContext};
use crate::host::shared::SharedMemory;
use crate::run::hosts::batch::{BatchWriter, MAX_DATA, Record};
use crate::run::hosts::connection::{Connection, ConnectionError, HEARTBEAT};
use crate::run::hosts::division::{HostDivision, HostPlan, own_executable};
use crate::run::hosts::handshake::{Identity, Role, Secret};
use crate::run::hosts::launch::{Launcher, Preamble, build_name};
use crate::run::hosts::meeting::{Acceptor, random};
use crate::run::hosts::message::{INPUT_WINDOW, OUTPUT_WINDOW, PeerAddress, from_stream_key, to_agent, to_head};
use crate::run::outcome::ranges;
use kernel_rt::board::linux::share::{AT_ANSWERED, AT_ASKED, AT_ENDS, NodeAccount, ShareLayout};
use net_torus::coord::Rank;
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal, stdin};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time limit for all agents to start, and to receive the job.
const START_WITHIN: Duration = Duration::from_secs(60);
/// Interval between checks of signals while the agents start.
const TICK: Duration = Duration::from_millis(10);
/// Time limit for the agents to kill their ranks and send their last output.
const KILL_WITHIN: Duration = Duration::from_millis(1000);
/// Time limit for the processes that have started agents to end, before they are asked to, and killed.
const LAUNCHERS_END_WITHIN: Duration = Duration::from_millis(500);
/// Time in which the loss of a host is noticed here after other agents have lost it: the message then names that host.
/// Their last heartbeats differ by the interval, and as much on a busy host.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(2 * HEARTBEAT.as_millis() as u64);
/// Data that waits for an agent before the next part of an image is added, in bytes.
const MAX_PENDING: usize = 1 << 20;
/// Any port, to find the route to a host (RFC 863: discard). Nothing is sent to it.
const ANY_PORT: u16 = 9;

/// Event of a remote rank.
#[derive(Debug)]
pub enum HostEvent {
    /// It has printed.
    Output {
        /// The rank.
        rank: Rank,
        /// 0 for stdout, 1 for stderr.
        stream: usize,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Its process has ended.
    Exited {
        /// The rank.
        rank: Rank,
        /// Status of the process.
        status: ExitStatus,
    },
}

/// Progress of an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AgentStage {
    /// It waits for the job, or prepares it.
    Preparing,
    /// It listens for other agents.
    Listening,
    /// It is connected to the other agents.
    Linked,
    /// Its ranks were killed.
    Killed,
}

/// A host.
pub struct RemoteHost {
    name: String,
    /// Its ranks.
    pub ranks: Vec<Rank>,
    connection: Connection,
    stage: AgentStage,
    /// Address of its agent for other agents.
    pub address: Option<PeerAddress>,
    is_asleep: bool,
    is_lost: bool,
}

/// A failure that the agent of a host has reported.
struct AgentFailure {
    host: usize,
    why: String,
    since: Instant,
}

/// All hosts of a running job. Dropping it ends the agents.
pub struct HostHub {
    /// The hosts.
    pub hosts: Vec<RemoteHost>,
    division: HostDivision,
    launchers: Vec<Launcher>,
    shared: Rc<SharedMemory>,
    layout: ShareLayout,
    events: VecDeque<HostEvent>,
    /// Ranks that were told the end of the job.
    ended: Vec<bool>,
    asked: u32,
    /// Bytes of input that rank 0 has not received; `None` after the end of the input.
    input: Option<usize>,
    lost: Option<String>,
    /// First failure that an agent has reported.
    failed: Option<AgentFailure>,
    is_ending: bool,
}

impl HostHub {
    /// Starts the agents, and waits until all have proved the secret.
    pub fn start(
        plan: &HostPlan,
        shared: &Rc<SharedMemory>,
        layout: ShareLayout,
        going_on: &mut impl FnMut() -> Result<(), CliError>,
    ) -> Result<Self, CliError> {
        let own = Identity {
            role: Role::Head,
            host: 0,
            build: build_name()?,
        };
        let secret = Secret(random().context("create the secret of the job")?);
        let mut acceptors: Vec<Acceptor> = Vec::new();
        let mut heads = Vec::new();
        for name in &plan.names {
            let ip = address_towards(name)?;
            let listens = { acceptors.iter() }.find_map(|one| one.address().ok().filter(|at| at.ip() == ip));
            let address = match listens {
                Some(address) => address,
                None => {
                    let acceptor = Acceptor::listen(SocketAddr::new(ip, 0), &secret, &own)
                        .context(format_args!("listen for the agents at {ip}"))?;
                    let address = acceptor.address().context("find the address for the agents")?;
                    acceptors.push(acceptor);
                    address
                }
            };
            heads.push(address);
        }
        let preamble = Preamble { secret, heads };
        let mut launchers = Vec::new();
        for command in plan.method.commands(&plan.names, &own_executable()?) {
            launchers.push(Launcher::start(&command, &preamble)?);
        }
        let deadline = Instant::now() + START_WITHIN;
        let mut connected: Vec<Option<Connection>> = plan.names.iter().map(|_| None).collect();
        while let Some(missing) = connected.iter().position(Option::is_none) {
            going_on()?;
            let now = Instant::now();
            for acceptor in &mut acceptors {
                let accepted = acceptor.accept(now).context("accept an agent")?;
                let Some((other, stream)) = accepted else { continue };
                let at = other.host as usize;
                let name = plan
                    .names
                    .get(at)
                    .ok_or_else(|| CliError::failure("an agent of an unknown host"))?;
                if other.build != own.build {
                    return Err(CliError::unusable(format!(
                        "host {name} has midplane {}, and this host midplane {}; install the same command on all hosts",
                        other.build, own.build
                    )));
                }
                let connection = Connection::new(stream, now).context("set up the connection to an agent")?;
                if connected[at].replace(connection).is_some() {
                    return Err(CliError::failure(format!("two agents have connected for host {name}")));
                }
            }
            // Early agents must not lose this command.
            for (connection, name) in connected.iter_mut().zip(&plan.names) {
                let Some(connection) = connection else { continue };
                let heard = connection.receive::<ConnectionError>(now, |_, _| Ok(()));
                { heard.and_then(|()| connection.send(now)) }
                    .map_err(|why| CliError::failure(format!("host {name}: {why}")))?;
            }
            for launcher in &mut launchers {
                let is_unmet = launcher
                    .host
                    .map_or(connected.iter().any(Option::is_none), |at| connected[at].is_none());
                if is_unmet && launcher.ended().is_some_and(|status| !status.success()) {
                    let at = launcher.host.unwrap_or(missing);
                    let how = launcher.describe();
                    return Err(CliError::failure(format!(
                        "host {}: {how} before its agent connected to this command",
                        plan.names[at]
                    )));
                }
            }
            if now >= deadline {
                return Err(CliError::failure(format!(
                    "host {}: its agent has not connected within {} s",
                    plan.names[missing],
                    START_WITHIN.as_secs()
                )));
            }
            let mut fds: Vec<PollFd<'_>> = acceptors.iter().flat_map(Acceptor::poll_descriptors).collect();
            // An interruption only shortens the wait.
            let _ = poll(&mut fds, Timespec::try_from(TICK).ok().as_ref());
        }
        let hosts = connected.into_iter().flatten().zip(&plan.names).enumerate();
        let hosts = hosts.map(|(at, (connection, name))| RemoteHost {
            name: name.clone(),
            ranks: plan.division.ranks(at),
            connection,
            stage: AgentStage::Preparing,
            address: None,
            is_asleep: false,
            is_lost: false,
        });
        Ok(Self {
            hosts: hosts.collect(),
            division: plan.division,
            launchers,
            shared: Rc::clone(shared),
            layout,
            events: VecDeque::new(),
            ended: vec![false; plan.division.ranks_in_total()],
            asked: 0,
            input: Some(0),
            lost: None,
            failed: None,
            is_ending: false,
        })
    }

    /// Sends a record to all agents.
    pub fn send_all(&mut self, kind: u8, key: u32, data: &[u8]) {
        for host in &mut self.hosts {
            send(&mut host.connection.writer, kind, key, data);
        }
    }

    /// Waits until all agents have reached a stage.
    pub fn reach(
        &mut self,
        stage: AgentStage,
        going_on: &mut impl FnMut() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let deadline = Instant::now() + START_WITHIN;
        while let Some(late) = self.hosts.iter().position(|host| host.stage < stage) {
            self.wait_and_pump(going_on)?;
            if Instant::now() >= deadline {
                return Err(CliError::failure(format!(
                    "host {}: its agent was not ready within {} s",
                    self.hosts[late].name,
                    START_WITHIN.as_secs()
                )));
            }
        }
        Ok(())
    }

    /// Sends data to an agent in records of this kind.
    pub fn send_pieces(&mut self, host: usize, kind: u8, data: &[u8]) {
        self.hosts[host].connection.writer.add_pieces(kind, 0, data);
    }

    /// Waits until only little data waits for the slowest agent.
    pub fn flush(&mut self, going_on: &mut impl FnMut() -> Result<(), CliError>) -> Result<(), CliError> {
        while self
            .hosts
            .iter()
            .any(|host| host.connection.writer.pending() > MAX_PENDING)
        {
            self.wait_and_pump(going_on)?;
        }
        Ok(())
    }

    fn wait_and_pump(&mut self, going_on: &mut impl FnMut() -> Result<(), CliError>) -> Result<(), CliError> {
        going_on()?;
        self.pause(TICK);
        match &self.lost {
            Some(why) => Err(CliError::failure(why.clone())),
            None => Ok(()),
        }
    }

    /// Returns the descriptors to poll.
    pub fn poll_descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        { self.hosts.iter() }
            .filter(|host| !host.is_lost)
            .map(|host| host.connection.poll_descriptor())
    }

    /// Waits for the hosts for this time at most, and serves them.
    pub fn pause(&mut self, time: Duration) {
        let mut fds: Vec<PollFd<'_>> = self.poll_descriptors().collect();
        // An interruption only shortens the wait.
        let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
        drop(fds);
        self.pump();
    }

    /// Receives and sends what is there, without blocking, and checks that all hosts answer.
    pub fn pump(&mut self) {
        let now = Instant::now();
        self.pass_requests();
        let (shared, layout, events) = (&self.shared, self.layout, &mut self.events);
        let is_ending = self.is_ending;
        for (at, host) in self.hosts.iter_mut().enumerate().filter(|(_, host)| !host.is_lost) {
            let (stage, address, is_asleep) = (&mut host.stage, &mut host.address, &mut host.is_asleep);
            let (mut failure, mut read) = (None, 0);
            let division = self.division;
            let heard = host.connection.receive::<ConnectionError>(now, |record, writer| {
                let is_own = |rank: Rank| division.host(rank) == Some(at);
                let foreign = || ConnectionError(format!("it sent a record about rank {}", record.key));
                match record.kind {
                    to_head::LISTENING => {
                        let own = serde_json::from_slice(record.data);
                        *address = Some(own.map_err(|_| ConnectionError("its address is invalid".into()))?);
                        *stage = AgentStage::Listening;
                    }
                    to_head::LINKED => *stage = AgentStage::Linked,
                    to_head::KILLED => *stage = AgentStage::Killed,
                    to_head::ASLEEP => *is_asleep = record.key != 0,
                    to_head::READ => read += record.key as usize,
                    to_head::FAILED => failure = Some(String::from_utf8_lossy(record.data).into_owned()),
                    to_head::OUTPUT => {
                        let (rank, stream) = from_stream_key(record.key);
                        if !is_own(rank) {
                            return Err(foreign());
                        }
                        let bytes = record.data.to_vec();
                        if is_ending {
                            send(writer, to_agent::WRITTEN, bytes.len() as u32, &[]);
                        }
                        events.push_back(HostEvent::Output { rank, stream, bytes });
                    }
                    _ if !is_own(record.key) => return Err(foreign()),
                    to_head::ACCOUNT => write_account(shared, layout.account(record.key), record.data)?,
                    to_head::ANSWER => {
                        let answer = number(record.data)?;
                        shared.store(layout.account(record.key) + AT_ANSWERED, answer);
                    }
                    to_head::EXITED => events.push_back(HostEvent::Exited {
                        rank: record.key,
                        status: ExitStatus::from_raw(number(record.data)? as i32),
                    }),
                    kind => return Err(ConnectionError(format!("it sent a record of the unknown kind {kind}"))),
                }
                Ok(())
            });
            if let Some(input) = &mut self.input {
                *input = input.saturating_sub(read);
            }
            let held = heard.and_then(|()| host.connection.send(now));
            let named = |why: &str| {
                let ranks = ranges(host.ranks.iter().copied());
                format!("host {} (ranks {ranks}) {why}", host.name)
            };
            if let Some(why) = failure {
                self.failed.get_or_insert(AgentFailure {
                    host: at,
                    why: named(&format!("has failed: {why}")),
                    since: now,
                });
            }
            if let Err(why) = held {
                host.is_lost = true;
                // An agent that ends has sent the reason.
                if self.failed.as_ref().is_none_or(|failed| failed.host != at) {
                    self.lost.get_or_insert(named(&format!("is lost: {why}")));
                }
            }
        }
        if let Some(failed) = &self.failed
            && now.saturating_duration_since(failed.since) >= CONFIRMED_WITHIN
        {
            self.lost.get_or_insert(failed.why.clone());
        }
        if !self.is_ending {
            self.check_launchers();
        }
    }

    /// Checks that the processes that have started agents run: an agent whose ssh has ended may be out of control.
    fn check_launchers(&mut self) {
        for launcher in &mut self.launchers {
            if launcher.ended().is_none() {
                continue;
            }
            let how = launcher.describe();
            let of = match launcher.host {
                Some(host) => format!("host {}", self.hosts[host].name),
                None => "all hosts".into(),
            };
            self.lost.get_or_insert(format!("{of}: the connection is lost: {how}"));
        }
    }

    /// Passes the requests that the event loop has written to the status records.
    fn pass_requests(&mut self) {
        for host in &mut self.hosts {
            for rank in &host.ranks {
                let account = self.layout.account(*rank);
                let is_ended = &mut self.ended[*rank as usize];
                if !*is_ended && self.shared.load(account + AT_ENDS).is_some_and(|word| word != 0) {
                    *is_ended = true;
                    send(&mut host.connection.writer, to_agent::END, *rank, &[]);
                }
            }
        }
        // All records contain the same number.
        let asked = self.shared.load(self.layout.account(0) + AT_ASKED).unwrap_or(0);
        if asked != self.asked {
            self.asked = asked;
            self.send_all(to_agent::ASK, asked, &[]);
        }
    }

    /// Returns the next event, unless it is output for a stream without space. The agents are told that it was written.
    pub fn next_event(&mut self, room: [bool; 2]) -> Option<HostEvent> {
        if let Some(HostEvent::Output { stream, .. }) = self.events.front()
            && !room[*stream]
        {
            return None;
        }
        let event = self.events.pop_front()?;
        if let HostEvent::Output { rank, bytes, .. } = &event
            && !self.is_ending
            && let Some(host) = self.division.host(*rank)
        {
            let writer = &mut self.hosts[host].connection.writer;
            send(writer, to_agent::WRITTEN, bytes.len() as u32, &[]);
        }
        Some(event)
    }

    /// Returns the reason why a host is lost, or cannot continue.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Returns whether all processes on all hosts sleep, as their agents have reported.
    pub fn is_asleep(&self) -> bool {
        self.hosts.iter().all(|host| host.is_asleep)
    }

    /// Orders all ranks to abort.
    pub fn abort(&mut self) {
        self.send_all(to_agent::ABORT, 0, &[]);
        self.pump();
    }

    /// Returns whether rank 0 accepts input. A terminal of which this command is in the background is not read, because
    /// that would stop the command.
    pub fn wants_input(&self) -> bool {
        let has_space = self.input.is_some_and(|input| input < INPUT_WINDOW / 2);
        has_space && (!stdin().is_terminal() || is_in_foreground())
    }

    /// Reads stdin once, and forwards it. It must be readable or at its end.
    pub fn forward_input(&mut self) {
        let Some(input) = self.input else { return };
        let Some(host) = self.division.host(0) else { return };
        let writer = &mut self.hosts[host].connection.writer;
        let mut buffer = vec![0; INPUT_WINDOW / 2];
        match rustix::io::read(stdin(), &mut buffer[..]) {
            Ok(bytes @ 1..) => {
                self.input = Some(input + bytes);
                writer.add_pieces(to_agent::INPUT, 0, &buffer[..bytes]);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => {
                self.input = None;
                send(writer, to_agent::INPUT_END, 0, &[]);
            }
        }
    }

    /// Kills all ranks, and ends the agents. Their last output and the ends of their processes become events. Takes 2
    /// seconds at most.
    pub fn end(&mut self) {
        if std::mem::replace(&mut self.is_ending, true) {
            return;
        }
        // Output that waits here is written later; the agents need not wait for it.
        for host in &mut self.hosts {
            send(&mut host.connection.writer, to_agent::WRITTEN, u32::MAX, &[]);
        }
        self.send_all(to_agent::KILL, 0, &[]);
        let until = Instant::now() + KILL_WITHIN;
        let is_pending = |host: &RemoteHost| !host.is_lost && host.stage != AgentStage::Killed;
        self.pump();
        while self.hosts.iter().any(is_pending) && Instant::now() < until {
            self.pause(TICK);
        }
        self.send_all(to_agent::QUIT, 0, &[]);
        for signal in [Signal::TERM, Signal::KILL] {
            let until = Instant::now() + LAUNCHERS_END_WITHIN;
            while self.launchers.iter_mut().any(|launcher| launcher.ended().is_none()) && Instant::now() < until {
                self.pause(TICK / 2);
            }
            self.launchers.iter_mut().for_each(|launcher| launcher.signal(signal));
        }
    }
}

impl Drop for HostHub {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(writer: &mut BatchWriter, kind: u8, key: u32, data: &[u8]) {
    writer.add(Record { kind, key, data });
}

/// Returns the number in a record of four bytes.
fn number(data: &[u8]) -> Result<u32, ConnectionError> {
    let bytes = data
        .try_into()
        .map_err(|_| ConnectionError("a number is truncated".into()))?;
    Ok(u32::from_le_bytes(bytes))
}

/// Writes a changed part of a status record, except the words of the requests: those are this command's.
fn write_account(shared: &SharedMemory, account: u64, data: &[u8]) -> Result<(), ConnectionError> {
    let outside = || ConnectionError("it sent data outside of a status record".into());
    let (offset, bytes) = data.split_first_chunk().ok_or_else(outside)?;
    let offset = u64::from(u32::from_le_bytes(*offset));
    let end = offset + bytes.len() as u64;
    if end > size_of::<NodeAccount>() as u64 {
        return Err(outside());
    }
    let requests = AT_ENDS..AT_ANSWERED + 4;
    // The parts before and after the requests.
    for part in [offset..end.min(requests.start), offset.max(requests.end)..end] {
        if part.start < part.end {
            let from = (part.start - offset) as usize..(part.end - offset) as usize;
            shared.write(account + part.start, &bytes[from]);
        }
    }
    Ok(())
}

/// Returns this host's address towards another one. Nothing is sent.
fn address_towards(host: &str) -> Result<IpAddr, CliError> {
    let find = || {
        let mut addresses = (host, ANY_PORT).to_socket_addrs()?;
        let to = addresses.next().ok_or(ErrorKind::NotFound)?;
        let any: IpAddr = if to.is_ipv4() {
            std::net::Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(to)?;
        socket.local_addr()
    };
    let found: std::io::Result<SocketAddr> = find();
    match found {
        Ok(address) => Ok(address.ip()),
        Err(why) => Err(CliError {
            status: error::USAGE,
            ..CliError::unusable(format!("host {host} is unknown or has no route: {why}"))
        }),
    }
}

fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}

const _: () = assert!(OUTPUT_WINDOW > MAX_DATA);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_record_is_written_around_the_requests() {
        let shared = SharedMemory::new("test", 2 * size_of::<NodeAccount>() as u64).unwrap();
        let account = size_of::<NodeAccount>() as u64;
        shared.store(account + AT_ENDS, 7);
        let all = [&[0; 4][..], &vec![1; account as usize]].concat();
        write_account(&shared, account, &all).unwrap();
        assert_eq!(shared.load(account + AT_ENDS), Some(7));
        assert_eq!(shared.load(account + AT_ANSWERED), Some(0));
        assert_eq!(shared.load(account + AT_ENDS - 4), Some(0x0101_0101));
        assert_eq!(shared.load(account + AT_ANSWERED + 4), Some(0x0101_0101));
        let outside = [&8000_u32.to_le_bytes()[..], &[1; 256]].concat();
        assert!(write_account(&shared, account, &outside).is_err());
        assert!(write_account(&shared, account, b"abc").is_err());
    }

    #[test]
    fn no_wildcard_is_an_address_towards_a_host() {
        assert!(address_towards("127.0.0.2").unwrap().is_loopback());
        assert_eq!(address_towards("no such host").unwrap_err().status, 2);
    }
}
