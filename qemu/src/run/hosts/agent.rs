//! The agent of a host: starts the ranks of its box, connects their links to other hosts, and reports to the head.
//!
//! The agent ends when the head has closed the connection, or is silent for [`SILENCE`](super::connection::SILENCE). Its
//! ranks end with it.

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::{SharedMemory, memory_file};
use crate::host::signals::Signals;
use crate::host::sys;
use crate::run::hosts::batch::{MAX_DATA, Record};
use crate::run::hosts::connection::{Connection, ConnectionError};
use crate::run::hosts::division::HostDivision;
use crate::run::hosts::handshake::{Identity, Role, Secret};
use crate::run::hosts::launch::{AgentArgs, Preamble, build_name};
use crate::run::hosts::meeting::{Acceptor, connect};
use crate::run::hosts::message::{
    HostJob, HostProgram, INPUT_WINDOW, MAX_JOB_BYTES, OUTPUT_WINDOW, PeerAddress, PeerAddresses, machine_name,
    stream_key, to_agent, to_head,
};
use crate::run::instance::{Instance, InstancePool, OutputChannels, output_channel};
use crate::run::linux::universe_state::ProcessPipes;
use crate::run::linux::{
    InheritedDescriptors, ProcessProgram, connect_streams, create_pipes, program_command, supervisor,
};
use kernel_rt::board::linux::outside::{LinkEnd, OutsideView};
use kernel_rt::board::linux::share::{AT_ANSWERED, AT_ASKED, AT_ENDS, NodeAccount, ShareLayout};
use kernel_rt::dev::ring::SleepFlag;
use net_torus::coord::{Direction, Rank, Shape};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::SealFlags;
use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Write, stdin};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit to reach the head, and for all agents to connect to each other.
const MEET_WITHIN: Duration = Duration::from_secs(30);
/// Interval at which status records are compared, and orders repeated.
const TICK: Duration = Duration::from_millis(10);
/// Interval at which the agent reports whether its processes sleep.
const ASLEEP_INTERVAL: Duration = Duration::from_millis(100);
/// Granularity of changes of a status record in bytes.
const BLOCK: usize = 256;
/// Size of a status record in bytes.
const ACCOUNT: usize = size_of::<NodeAccount>();
/// Words of a status record that are not part of its blocks: those of the requests.
const REQUESTS: std::ops::Range<usize> = AT_ENDS as usize..AT_ANSWERED as usize + 4;
/// Bytes that wait for the head before changes of status records wait in the shared memory.
const MAX_PENDING: usize = 1 << 20;
/// Size of the buffers of a link's connection in bytes, for each direction; Linux counts twice as much for its own data.
const LINK_BUFFER: usize = 256 << 10;
/// Bytes read from a rank in one step.
const CHUNK: usize = 16 << 10;

const _: () = assert!(CHUNK <= MAX_DATA && ACCOUNT.is_multiple_of(BLOCK));

/// Runs the agent; returns its exit status.
///
/// # Errors
/// Returns an error before the head can be reached. Later errors are reported to the head.
pub fn run(arguments: &AgentArgs) -> Result<u8, CliError> {
    let preamble = Preamble::read(&mut BufReader::new(stdin())).map_err(CliError::usage)?;
    let variable = std::env::var("SLURM_NODEID").ok();
    let host = arguments.host.or_else(|| variable?.parse().ok());
    let host = host.ok_or_else(|| CliError::usage("an agent has a number of its host: --host NUMBER"))?;
    let head = preamble.heads.get(host as usize);
    let head = *head.ok_or_else(|| CliError::usage(format!("--host {host}: there is no such host")))?;
    let own = Identity {
        role: Role::Agent,
        host,
        build: build_name()?,
    };
    let deadline = Instant::now() + MEET_WITHIN;
    let connected = connect(head, &preamble.secret, &own, deadline);
    let (other, stream) = connected.context(format_args!("connect to the command at {head}"))?;
    if other.role != Role::Head {
        return Err(CliError::failure(format!("the process at {head} is no command")));
    }
    let address = stream.local_addr().context("find this host's address")?.ip();
    let now = Instant::now();
    let connection = Connection::new(stream, now).context("set up the connection to the command")?;
    let agent = Agent {
        // Ctrl-C on the terminal of an agent without ssh is for the command.
        signals: Signals::catch_but_keys()?,
        head: connection,
        secret: preamble.secret,
        own,
        address,
        inbox: Inbox::default(),
        job: None,
        meeting: None,
        next_tick: now,
        next_asleep: now,
    };
    agent.serve()
}

/// What the head has sent and the agent has not used yet.
#[derive(Default)]
struct Inbox {
    job: Vec<u8>,
    images: Vec<Vec<u8>>,
    orders: VecDeque<Order>,
}

/// An order of the head.
enum Order {
    Complete,
    Peers(Vec<u8>),
    Start,
    End(Rank),
    Ask(u32),
    Input(Vec<u8>),
    InputEnd,
    Written(usize),
    Kill,
    Abort,
    Quit,
}

impl Inbox {
    fn add_record(&mut self, record: Record<'_>) -> Result<(), ConnectionError> {
        let order = match record.kind {
            to_agent::JOB => {
                if self.job.len() + record.data.len() > MAX_JOB_BYTES {
                    return Err(ConnectionError("the description of the job is too large".into()));
                }
                self.job.extend(record.data);
                return Ok(());
            }
            to_agent::IMAGE => {
                // In order; an empty one is never sent.
                let at = record.key as usize;
                if at > self.images.len() {
                    return Err(ConnectionError("a program is missing".into()));
                }
                if at == self.images.len() {
                    self.images.push(Vec::new());
                }
                self.images[at].extend(record.data);
                return Ok(());
            }
            to_agent::COMPLETE => Order::Complete,
            to_agent::PEERS => Order::Peers(record.data.to_vec()),
            to_agent::START => Order::Start,
            to_agent::END => Order::End(record.key),
            to_agent::ASK => Order::Ask(record.key),
            to_agent::INPUT => Order::Input(record.data.to_vec()),
            to_agent::INPUT_END => Order::InputEnd,
            to_agent::WRITTEN => Order::Written(record.key as usize),
            to_agent::KILL => Order::Kill,
            to_agent::ABORT => Order::Abort,
            to_agent::QUIT => Order::Quit,
            kind => return Err(ConnectionError(format!("it sent a record of the unknown kind {kind}"))),
        };
        self.orders.push_back(order);
        Ok(())
    }
}

struct Agent {
    signals: Signals,
    head: Connection,
    secret: Secret,
    own: Identity,
    address: IpAddr,
    inbox: Inbox,
    job: Option<RunningJob>,
    /// Result of the thread that connects to the other agents.
    meeting: Option<Receiver<Result<Vec<MetHost>, String>>>,
    next_tick: Instant,
    next_asleep: Instant,
}

impl Agent {
    fn serve(mut self) -> Result<u8, CliError> {
        loop {
            self.wait();
            let now = Instant::now();
            if let Some(stop) = self.signals.pending() {
                self.report_failure("its agent has received a signal to end, for example of scancel");
                // The command notices the end of the connection otherwise.
                let _ = self.head.send(now);
                return Err(stop);
            }
            let inbox = &mut self.inbox;
            let heard = self
                .head
                .receive::<ConnectionError>(now, |record, _| inbox.add_record(record));
            let mut heard = heard.and_then(|()| self.head.send(now));
            while let Some(order) = self.inbox.orders.pop_front() {
                if matches!(order, Order::Quit) {
                    return Ok(0);
                }
                if let Err(why) = self.obey(order) {
                    self.report_failure(&why);
                }
            }
            if let Some(job) = &mut self.job {
                job.serve(&mut self.head, now >= self.next_tick);
                if now >= self.next_asleep && job.is_started {
                    self.next_asleep = now + ASLEEP_INTERVAL;
                    job.report_sleep(&mut self.head);
                }
            }
            if now >= self.next_tick {
                self.next_tick = now + TICK;
                self.poll_meeting();
                self.poll_peers(now);
            }
            heard = heard.and_then(|()| self.head.send(now));
            if let Err(why) = heard {
                // Dropping the job kills the ranks.
                return Err(CliError::failure(format!(
                    "host {}: the command is lost: {why}",
                    self.own.host
                )));
            }
        }
    }

    fn wait(&self) {
        let mut fds = vec![self.head.poll_descriptor()];
        fds.extend(self.signals.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        if let Some(job) = &self.job {
            job.add_poll_descriptors(&mut fds);
        }
        let wait = self.next_tick.saturating_duration_since(Instant::now());
        // An interruption only shortens the wait.
        let _ = poll(&mut fds, Timespec::try_from(wait).ok().as_ref());
    }

    fn report_failure(&mut self, why: &str) {
        self.head.writer.add_pieces(to_head::FAILED, 0, why.as_bytes());
    }

    /// Polls the result of the thread that connects to the other agents.
    fn poll_meeting(&mut self) {
        let Some(Ok(met)) = self.meeting.as_ref().map(Receiver::try_recv) else {
            return;
        };
        self.meeting = None;
        let linked = met.and_then(|met| match &mut self.job {
            Some(job) => job.connect_links(met),
            None => Err("the job is missing".into()),
        });
        match linked {
            Ok(()) => self.head.writer.add(Record {
                kind: to_head::LINKED,
                key: 0,
                data: &[],
            }),
            Err(why) => self.report_failure(&why),
        }
    }

    /// Exchanges heartbeats with the other agents, and reports a lost one.
    fn poll_peers(&mut self, now: Instant) {
        let Some(job) = &mut self.job else { return };
        let mut lost = Vec::new();
        job.peers.retain_mut(|peer| {
            let unknown = |record: Record<'_>| format!("it sent a record of the unknown kind {}", record.kind);
            let connection = &mut peer.connection;
            let heard = connection
                .receive(now, |record, _| Err::<(), _>(ConnectionError(unknown(record))))
                .and_then(|()| connection.send(now));
            heard
                .map_err(|error| lost.push(format!("the links to host {} are lost: {error}", peer.name)))
                .is_ok()
        });
        lost.iter().for_each(|why| self.report_failure(why));
    }

    fn obey(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Complete => {
                let received = std::mem::take(&mut self.inbox.job);
                let images = std::mem::take(&mut self.inbox.images);
                let job: HostJob =
                    serde_json::from_slice(&received).map_err(|error| format!("invalid job: {error}"))?;
                let job = RunningJob::new(job, images, self.own.host as usize)?;
                let at = SocketAddr::new(self.address, 0);
                let acceptor = Acceptor::listen(at, &self.secret, &self.own);
                let acceptor = acceptor.map_err(|error| format!("cannot listen at {at}: {error}"))?;
                let own = PeerAddress {
                    address: acceptor.address().map_err(|error| error.to_string())?,
                    machine: machine_name(),
                };
                let own = serde_json::to_vec(&own).map_err(|error| error.to_string())?;
                self.head.writer.add(Record {
                    kind: to_head::LISTENING,
                    key: 0,
                    data: &own,
                });
                self.job = Some(RunningJob {
                    acceptor: Some(acceptor),
                    ..job
                });
            }
            Order::Peers(text) => {
                let PeerAddresses(peers) = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
                let job = self.job.as_mut().ok_or("the job is missing")?;
                let acceptor = job.acceptor.take().ok_or("the addresses were sent before")?;
                job.count_ranks_of_machine(&peers);
                self.meeting = Some(self.meet(&peers, acceptor)?);
            }
            Order::Start => self.job.as_mut().ok_or("the job is missing")?.start()?,
            Order::End(rank) => {
                if let Some(job) = &mut self.job {
                    job.ending.push(rank);
                }
            }
            Order::Ask(number) => {
                if let Some(job) = &mut self.job {
                    job.asked = number;
                }
            }
            Order::Input(bytes) => {
                if let Some(job) = &mut self.job {
                    job.input.extend(bytes);
                }
            }
            Order::InputEnd => {
                if let Some(job) = &mut self.job {
                    job.is_input_complete = true;
                }
            }
            Order::Written(bytes) => {
                if let Some(job) = &mut self.job {
                    job.unwritten = job.unwritten.saturating_sub(bytes);
                }
            }
            Order::Kill => {
                if let Some(job) = &mut self.job {
                    job.kill(&mut self.head);
                }
                self.head.writer.add(Record {
                    kind: to_head::KILLED,
                    key: 0,
                    data: &[],
                });
            }
            Order::Abort => {
                if let Some(job) = &mut self.job {
                    job.pool.abort();
                }
            }
            Order::Quit => {}
        }
        Ok(())
    }

    /// Starts a thread that connects to all agents with links to this host: one connection for the agents, and one for
    /// each link. Agents connect to those with lower numbers.
    fn meet(
        &mut self,
        peers: &[PeerAddress],
        acceptor: Acceptor,
    ) -> Result<Receiver<Result<Vec<MetHost>, String>>, String> {
        let (result, meeting) = channel();
        let job = self.job.as_ref().ok_or("the job is missing")?;
        let plan = MeetingPlan {
            wanted: job.peer_hosts(),
            names: job.job.hosts.clone(),
            peers: peers.iter().map(|peer| peer.address).collect(),
            secret: self.secret.clone(),
            own: self.own.clone(),
        };
        let work = move || {
            // The agent has ended otherwise.
            let _ = result.send(plan.run(acceptor));
        };
        { thread::Builder::new().name("meeting".into()) }
            .spawn(work)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(meeting)
    }
}

/// Agents to connect to.
struct MeetingPlan {
    /// Hosts with links to this one, and the number of links, in ascending order.
    wanted: Vec<(usize, usize)>,
    names: Vec<String>,
    peers: Vec<SocketAddr>,
    secret: Secret,
    own: Identity,
}

/// Proved connections to another host.
struct MetHost {
    host: usize,
    /// To its agent.
    agent: TcpStream,
    /// The links to it, by number.
    links: Vec<TcpStream>,
}

/// Connections to another host that are proved so far.
struct PartlyMetHost {
    agent: Option<TcpStream>,
    links: Vec<Option<TcpStream>>,
}

impl PartlyMetHost {
    fn is_complete(&self) -> bool {
        self.agent.is_some() && self.links.iter().all(Option::is_some)
    }

    /// Adds a connection of this role. One that exists already or has no place is dropped.
    fn add(&mut self, role: Role, stream: TcpStream) {
        let place = match role {
            Role::Head => None,
            Role::Agent => Some(&mut self.agent),
            Role::Link(number) => self.links.get_mut(number as usize),
        };
        if let Some(place) = place {
            place.get_or_insert(stream);
        }
    }
}

impl MeetingPlan {
    fn run(&self, mut acceptor: Acceptor) -> Result<Vec<MetHost>, String> {
        let deadline = Instant::now() + MEET_WITHIN;
        let nothing = |(_, links): &(usize, usize)| PartlyMetHost {
            agent: None,
            links: (0..*links).map(|_| None).collect(),
        };
        let mut met: Vec<PartlyMetHost> = self.wanted.iter().map(nothing).collect();
        for (met, (host, links)) in met.iter_mut().zip(&self.wanted) {
            if *host < self.own.host as usize {
                for role in [Role::Agent].into_iter().chain((0..*links as u32).map(Role::Link)) {
                    met.add(role, self.connect_to(*host, role, deadline)?);
                }
            }
        }
        while !met.iter().all(PartlyMetHost::is_complete) {
            let accepted = acceptor.accept(Instant::now());
            if let Some((other, stream)) = accepted.map_err(|error| format!("cannot accept an agent: {error}"))? {
                let at = { self.wanted.iter() }.position(|(host, _)| *host == other.host as usize);
                if let Some(at) = at {
                    met[at].add(other.role, stream);
                }
                continue;
            }
            if Instant::now() >= deadline {
                let missing = { self.wanted.iter().zip(&met) }.find(|(_, met)| !met.is_complete());
                let name = missing.map_or("", |((host, _), _)| &self.names[*host]);
                return Err(format!(
                    "host {name} has not connected within {} s",
                    MEET_WITHIN.as_secs()
                ));
            }
            let mut fds: Vec<PollFd<'_>> = acceptor.poll_descriptors().collect();
            let _ = poll(&mut fds, Timespec::try_from(TICK).ok().as_ref());
        }
        let complete = |(met, (host, _)): (PartlyMetHost, &(usize, usize))| {
            Some(MetHost {
                host: *host,
                agent: met.agent?,
                links: met.links.into_iter().collect::<Option<_>>()?,
            })
        };
        Ok({ met.into_iter().zip(&self.wanted) }.filter_map(complete).collect())
    }

    /// Connects to the agent of a host in this role.
    fn connect_to(&self, host: usize, role: Role, deadline: Instant) -> Result<TcpStream, String> {
        let address = *self.peers.get(host).ok_or("an address is missing")?;
        let name = &self.names[host];
        let failed = |why: String| format!("cannot connect to host {name} at {address}: {why}");
        let own = Identity {
            role,
            ..self.own.clone()
        };
        let connected = connect(address, &self.secret, &own, deadline);
        let (other, stream) = connected.map_err(|error| failed(error.to_string()))?;
        if other.role != Role::Agent || other.host as usize != host {
            return Err(failed("it is another agent".into()));
        }
        Ok(stream)
    }
}

/// The agent of another host, for heartbeats: the loss of its host is noticed although no rank sends anything.
struct PeerAgent {
    name: String,
    connection: Connection,
}

/// A job on this host.
struct RunningJob {
    job: HostJob,
    host: usize,
    layout: ShareLayout,
    division: HostDivision,
    ranks: Vec<Rank>,
    /// Images of the programs, in memory.
    images: Vec<OwnedFd>,
    acceptor: Option<Acceptor>,
    peers: Vec<PeerAgent>,
    /// Number of the job's ranks on this machine, of which other hosts may be containers.
    ranks_of_machine: u32,
    /// Connections of the ranks' links to other hosts, until the ranks start.
    sockets: HashMap<(Rank, Direction), TcpStream>,
    /// The eventfds of the ranks with such links.
    events: BTreeMap<Rank, OwnedFd>,
    shared: SharedMemory,
    pool: InstancePool,
    is_started: bool,
    /// Status records as the head knows them, by rank of this host.
    known: Vec<Vec<u8>>,
    answers: Vec<u32>,
    /// Ranks of this host whose end was reported.
    reported: Vec<bool>,
    /// Number of the last request of counters, and of that which was passed on.
    asked: u32,
    /// Ranks that may exit.
    ending: Vec<Rank>,
    /// Bytes of output that the head has not written.
    unwritten: usize,
    /// Input that rank 0 has not received, and its pipe.
    input: VecDeque<u8>,
    stdin: Option<UnixStream>,
    is_input_complete: bool,
}

impl RunningJob {
    fn new(job: HostJob, images: Vec<Vec<u8>>, host: usize) -> Result<Self, String> {
        let shape = Shape::new(job.extents, job.wraps).ok_or("invalid shape")?;
        let division = HostDivision::from_parts(shape, job.parts).ok_or("invalid division")?;
        let ranks = division.ranks(host);
        let is_whole = images.len() == job.programs.len() && { images.iter().zip(&job.programs) }
            .all(|(image, program)| image.len() as u64 == program.image_bytes);
        if !is_whole || division.hosts() != job.hosts.len() || job.records.len() != ranks.len() {
            return Err("the job is incomplete".into());
        }
        let layout = ShareLayout::new(shape.nodes());
        let images = images.into_iter().map(|bytes| image_file(&bytes));
        let images = images.collect::<Result<_, _>>().map_err(|error| error.message)?;
        let number = ranks.len();
        Ok(Self {
            host,
            layout,
            division,
            images,
            acceptor: None,
            peers: Vec::new(),
            ranks_of_machine: number as u32,
            sockets: HashMap::new(),
            events: BTreeMap::new(),
            shared: SharedMemory::new("midplane-job", layout.total()).map_err(|error| error.message)?,
            pool: InstancePool::new(&shape),
            is_started: false,
            known: vec![vec![0; ACCOUNT]; number],
            answers: vec![0; number],
            reported: vec![false; number],
            ranks,
            asked: 0,
            ending: Vec::new(),
            unwritten: 0,
            input: VecDeque::new(),
            stdin: None,
            is_input_complete: false,
            job,
        })
    }

    /// Returns the hosts with links to this one, and the number of links, in ascending order.
    fn peer_hosts(&self) -> Vec<(usize, usize)> {
        let others = (0..self.division.hosts()).filter(|other| *other != self.host);
        let links = others.map(|other| (other, self.division.links(self.host, other).len()));
        links.filter(|(_, links)| *links > 0).collect()
    }

    fn count_ranks_of_machine(&mut self, peers: &[PeerAddress]) {
        let own = machine_name();
        let others = { peers.iter().enumerate() }
            .filter(|(host, peer)| *host != self.host && !own.is_empty() && peer.machine == own)
            .map(|(host, _)| self.division.ranks(host).len());
        self.ranks_of_machine += others.sum::<usize>() as u32;
    }

    /// Takes the connections to other hosts.
    fn connect_links(&mut self, met: Vec<MetHost>) -> Result<(), String> {
        for met in met {
            let name = self.job.hosts[met.host].clone();
            let failed = |error: std::io::Error| format!("cannot set up the links to host {name}: {error}");
            for (link, stream) in { self.division.links(self.host, met.host) }.into_iter().zip(met.links) {
                prepare_link(&stream).map_err(failed)?;
                let end = if self.host < met.host { link.lower } else { link.upper };
                if let Entry::Vacant(place) = self.events.entry(end.0) {
                    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
                    place.insert(eventfd(0, flags).map_err(|error| failed(error.into()))?);
                }
                self.sockets.insert(end, stream);
            }
            let connection = Connection::new(met.agent, Instant::now()).map_err(failed)?;
            self.peers.push(PeerAgent { name, connection });
        }
        Ok(())
    }

    /// Returns a rank's view of its links, and the descriptors in it, which its process inherits.
    fn outside_view(&mut self, rank: Rank) -> std::io::Result<(OutsideView, Vec<OwnedFd>)> {
        let mut descriptors = Vec::new();
        let mut inherit = |descriptor: OwnedFd| {
            let number = descriptor.as_raw_fd();
            descriptors.push(descriptor);
            number
        };
        let event_of = |rank: &Rank| self.events.get(rank).map(OwnedFd::try_clone).transpose();
        let mut ends = [LinkEnd::Word; 6];
        for (end, d) in ends.iter_mut().zip(Direction::ALL) {
            if let Some(stream) = self.sockets.remove(&(rank, d)) {
                *end = LinkEnd::Socket(inherit(stream.into()));
            } else if let Some(there) = self.division.neighbour(rank, d)
                && let Some(event) = event_of(&there)?
            {
                *end = LinkEnd::Event(inherit(event));
            }
        }
        let view = OutsideView {
            ranks: self.ranks_of_machine,
            host: self.host as u32,
            event: event_of(&rank)?.map(inherit),
            ends,
        };
        Ok((view, descriptors))
    }

    fn program(&self, rank: Rank) -> (usize, &HostProgram) {
        let later = { self.job.programs.iter().skip(1) }.take_while(|program| program.first <= rank);
        let at = later.count();
        (at, &self.job.programs[at])
    }

    /// Starts the ranks.
    fn start(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.is_started, true) {
            return Err("the ranks were started before".into());
        }
        let (pipes, theirs) = create_pipes().map_err(|error| error.message)?;
        self.pool.pipes = Some(pipes);
        for at in 0..self.ranks.len() {
            let instance = self.start_rank(at, &theirs).map_err(|error| error.message)?;
            self.pool.instances.push(instance);
        }
        Ok(())
    }

    fn start_rank(&mut self, at: usize, theirs: &ProcessPipes) -> Result<Instance, CliError> {
        let rank = self.ranks[at];
        let mut record = memory_file("midplane-boot-parameters")?;
        { record.write_all(&self.job.records[at]) }.context("copy boot parameters into memory")?;
        let (view, descriptors) = self.outside_view(rank).context("share the descriptors of links")?;
        let inherited = InheritedDescriptors::from_record(record.into(), &self.shared, theirs, self.job.node_memory)?
            .with_view(view, descriptors);
        let (number, program) = self.program(rank);
        let image = format!("/proc/{}/fd/{}", std::process::id(), self.images[number].as_raw_fd());
        let directory = program
            .directory
            .as_ref()
            .map(|bytes| Path::new(OsStr::from_bytes(bytes)));
        if let Some(missing) = directory.filter(|path| program.requires_directory && !path.is_dir()) {
            let missing = missing.display();
            return Err(CliError::failure(format!(
                "there is no directory {missing} for rank {rank} (-wdir)"
            )));
        }
        let program = ProcessProgram {
            image: PathBuf::from(image),
            argv: &program.arguments,
            environment: &program.environment,
            directory: directory.filter(|path| path.is_dir()),
        };
        let mut command = program_command(&program, &inherited, &[])?;
        let (stdout, its_stdout) = output_channel()?;
        let (stderr, its_stderr) = output_channel()?;
        connect_streams(&mut command, [its_stdout.into(), its_stderr.into()], false);
        if rank == 0 {
            let (stdin, its_stdin) = output_channel()?;
            self.stdin = Some(stdin);
            command.stdin(OwnedFd::from(its_stdin));
        }
        supervisor::limit(&mut command, self.job.limits);
        sys::bind_to_this_process(&mut command, rustix::process::Signal::KILL, inherited.descriptors());
        let child = command
            .spawn()
            .context(format_args!("start the program for rank {rank}"))?;
        let channels = OutputChannels {
            prints: [Some(stdout), Some(stderr)],
            ..OutputChannels::default()
        };
        Instance::new(vec![rank], channels, child)
    }

    fn add_poll_descriptors<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        for instance in &self.pool.instances {
            if let Some(pidfd) = instance.poll_descriptor() {
                fds.push(pidfd);
            }
            if self.unwritten < OUTPUT_WINDOW {
                let prints = instance.channels.prints.iter().flatten();
                fds.extend(prints.map(|stream| PollFd::new(stream, PollFlags::IN)));
            }
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.input.is_empty()) {
            fds.push(PollFd::new(stdin, PollFlags::OUT));
        }
    }

    /// Moves output, status records, ends and input between the ranks and the head.
    fn serve(&mut self, head: &mut Connection, is_tick: bool) {
        self.forward_input(head);
        for at in 0..self.pool.instances.len() {
            let instance = &mut self.pool.instances[at];
            instance.reap();
            let has_ended = instance.gone.is_some();
            let is_drained = self.forward_output(at, head, OUTPUT_WINDOW);
            let is_due = is_tick && head.writer.pending() < MAX_PENDING;
            if is_due || has_ended && !self.reported[at] {
                self.report_account(at, head);
            }
            if has_ended && is_drained {
                self.report_end(at, head);
            }
        }
        if is_tick {
            self.repeat_orders();
        }
    }

    /// Sends output of a rank within the window. Returns whether none is left.
    fn forward_output(&mut self, at: usize, head: &mut Connection, window: usize) -> bool {
        let instance = &mut self.pool.instances[at];
        let mut buffer = [0; CHUNK];
        for (number, stream) in instance.channels.prints.iter_mut().enumerate() {
            while let Some(open) = stream {
                if self.unwritten >= window {
                    return false;
                }
                match open.read(&mut buffer) {
                    Ok(bytes @ 1..) => {
                        self.unwritten += bytes;
                        head.writer.add(Record {
                            kind: to_head::OUTPUT,
                            key: stream_key(self.ranks[at], number),
                            data: &buffer[..bytes],
                        });
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(_) | Err(_) => *stream = None,
                }
            }
        }
        true
    }

    /// Sends the changes of a rank's status record, the state last: it refers to the rest. An answer follows the counters.
    fn report_account(&mut self, at: usize, head: &mut Connection) {
        let rank = self.ranks[at];
        let start = self.layout.account(rank);
        let answer = self.shared.load(start + AT_ANSWERED).unwrap_or(0);
        let mut bytes = vec![0; ACCOUNT];
        if self.shared.read(start, &mut bytes).is_none() {
            return;
        }
        bytes[REQUESTS].fill(0);
        let known = &mut self.known[at];
        for (block, (new, old)) in { bytes.chunks(BLOCK).zip(known.chunks(BLOCK)) }.enumerate().rev() {
            if new != old {
                let offset = (block * BLOCK) as u32;
                head.writer.add(Record {
                    kind: to_head::ACCOUNT,
                    key: rank,
                    data: &[&offset.to_le_bytes(), new].concat(),
                });
            }
        }
        *known = bytes;
        if self.answers[at] != answer {
            self.answers[at] = answer;
            head.writer.add(Record {
                kind: to_head::ANSWER,
                key: rank,
                data: &answer.to_le_bytes(),
            });
        }
    }

    fn report_end(&mut self, at: usize, head: &mut Connection) {
        let gone = self.pool.instances[at].gone;
        if let Some(status) = gone.filter(|_| !std::mem::replace(&mut self.reported[at], true)) {
            head.writer.add(Record {
                kind: to_head::EXITED,
                key: self.ranks[at],
                data: &status.into_raw().to_le_bytes(),
            });
        }
    }

    fn report_sleep(&self, head: &mut Connection) {
        let mut running = { self.pool.instances.iter() }.filter(|instance| instance.gone.is_none());
        let is_asleep = running.all(Instance::is_asleep);
        head.writer.add(Record {
            kind: to_head::ASLEEP,
            key: u32::from(is_asleep),
            data: &[],
        });
    }

    /// Passes orders on. A process may miss one when it falls asleep.
    fn repeat_orders(&mut self) {
        for rank in &self.ending {
            self.shared.store(self.layout.account(*rank) + AT_ENDS, 1);
            let word = self.layout.word(*rank);
            self.shared.ring(word, SleepFlag::ARMED, SleepFlag::RUNG);
            if let Some(event) = self.events.get(rank) {
                // A full counter wakes the rank too.
                let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
            }
        }
        let is_unanswered = { self.answers.iter().zip(&self.pool.instances) }
            .any(|(answer, instance)| *answer != self.asked && instance.gone.is_none());
        if self.asked > 0 && is_unanswered {
            for rank in &self.ranks {
                self.shared.store(self.layout.account(*rank) + AT_ASKED, self.asked);
            }
            if let Some(pipes) = &self.pool.pipes {
                // The pipe may have no readers any more, or be full of requests.
                let _ = rustix::io::write(&pipes.asks, b"?");
            }
        }
    }

    fn forward_input(&mut self, head: &mut Connection) {
        let Some(mut stdin) = self.stdin.as_ref() else {
            return;
        };
        let (first, _) = self.input.as_slices();
        let first = &first[..first.len().min(INPUT_WINDOW)];
        if !first.is_empty() {
            match stdin.write(first) {
                Ok(bytes) => {
                    self.input.drain(..bytes);
                    head.writer.add(Record {
                        kind: to_head::READ,
                        key: bytes as u32,
                        data: &[],
                    });
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                // Nothing reads it any more.
                Err(_) => self.stdin = None,
            }
        } else if self.is_input_complete {
            self.stdin = None;
        }
    }

    /// Kills the ranks, and sends their last output and state.
    fn kill(&mut self, head: &mut Connection) {
        self.pool.kill();
        for at in 0..self.pool.instances.len() {
            // Bounded by the content of the sockets.
            self.forward_output(at, head, usize::MAX);
            self.report_account(at, head);
            self.report_end(at, head);
        }
    }
}

/// Sets the options of a link's connection. The buffers of the operating system are part of the memory of a link.
fn prepare_link(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    // Records are gathered by the rank.
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_send_buffer_size(stream, LINK_BUFFER)?;
    rustix::net::sockopt::set_socket_recv_buffer_size(stream, LINK_BUFFER)?;
    Ok(())
}

/// Creates a file in memory with a program's image, which can be executed and not be changed.
fn image_file(bytes: &[u8]) -> Result<OwnedFd, CliError> {
    let mut file: File = memory_file("midplane-program")?;
    file.write_all(bytes).context("copy the program into memory")?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).context("seal the program")?;
    Ok(file.into())
}
