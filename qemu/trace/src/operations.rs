//! Communication operations of each rank: sends, receives and collective calls, from the call that starts each to the
//! call that completes it.

use crate::job::{Call, Event, JobTrace, RankTrace, RecordedStatus};
use crate::objects::{CommId, Communicator, Communicators, RankCommunicators};
use midplane_api::Kind;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// MPI_ANY_SOURCE.
pub const ANY_SOURCE: i64 = -1;
/// MPI_ANY_TAG.
pub const ANY_TAG: i64 = -2;
/// MPI_PROC_NULL.
pub const PROC_NULL: i64 = -3;
/// MPI_UNDEFINED.
pub const UNDEFINED: i64 = -32766;
/// MPI_REQUEST_NULL.
const REQUEST_NULL: i64 = 0x180;
/// MPI_ERR_TRUNCATE.
const ERR_TRUNCATE: i32 = 15;
/// MPI_ERR_PENDING.
const ERR_PENDING: i32 = 18;
/// MPI_ERR_IN_STATUS.
const ERR_IN_STATUS: i32 = 19;

/// Send mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// Completes when the library has taken the data.
    Standard,
    /// Uses the attached buffer.
    Buffered,
    /// Requires a posted receive.
    Ready,
    /// Completes after the match.
    Synchronous,
}

/// Kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// A message to a process.
    Send(SendMode),
    /// A message from a process.
    Receive,
    /// A collective operation.
    Collective,
    /// A one-sided operation with a request, or another request without a message.
    Other,
}

/// Memory of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationBuffer {
    /// Start of the buffer argument.
    pub address: u64,
    /// Number of elements.
    pub count: i64,
    /// Handle of the datatype.
    pub datatype: i64,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Kind.
    pub kind: OperationKind,
    /// Index of the call that starts it. For a persistent request this is the call that has created the request.
    pub call: usize,
    /// Index of the call that makes it active: the same call, or MPI_Start.
    pub started: usize,
    /// Index of the call that completes it.
    pub completed: Option<usize>,
    /// Communicator.
    pub comm: Option<Communicator>,
    /// Rank of the partner in the communicator, possibly MPI_ANY_SOURCE.
    pub partner: i64,
    /// Tag, possibly MPI_ANY_TAG.
    pub tag: i64,
    /// Memory.
    pub buffer: OperationBuffer,
    /// Handle of the request; 0 for a blocking call.
    pub request: i64,
    /// Status of the completion.
    pub status: Option<RecordedStatus>,
    /// The program has freed the request of the active operation.
    pub is_freed: bool,
    /// The call has returned an error and has transferred nothing.
    pub has_failed: bool,
}

impl Operation {
    /// Returns source and tag of the received message, if known.
    #[must_use]
    pub fn envelope(&self) -> Option<Envelope> {
        match self.status {
            Some(status) if status.is_cancelled || i64::from(status.source) == PROC_NULL => None,
            Some(status) => Some(Envelope {
                source: status.source.into(),
                tag: status.tag.into(),
            }),
            // Not complete: known if the receive specifies both.
            None if self.partner >= 0 && self.tag >= 0 => Some(Envelope {
                source: self.partner,
                tag: self.tag,
            }),
            None => None,
        }
    }

    /// Checks whether the operation was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.status.is_some_and(|status| status.is_cancelled)
    }
}

/// Source and tag of a message in its communicator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// Rank of the sender.
    pub source: i64,
    /// Tag.
    pub tag: i64,
}

/// Position of an operation: rank in MPI_COMM_WORLD, and index in its list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId {
    /// Rank.
    pub rank: usize,
    /// Index in [`RankOperations::list`].
    pub index: usize,
}

/// Operations of a rank.
#[derive(Clone, Debug, Default)]
pub struct RankOperations {
    /// In the order of their start.
    pub list: Vec<Operation>,
    /// Persistent requests that the program has not freed: the calls that created them.
    pub persistent: Vec<usize>,
}

/// Operations of all ranks.
#[derive(Clone, Debug, Default)]
pub struct JobOperations {
    /// By rank in MPI_COMM_WORLD.
    pub ranks: Vec<RankOperations>,
    /// Communicators by rank, for the end of the records.
    pub communicators: Vec<RankCommunicators>,
}

impl JobOperations {
    /// Collects the operations of a job.
    #[must_use]
    pub fn collect(job: &JobTrace) -> Self {
        let mut all = Communicators::default();
        let mut operations = Self::default();
        for trace in &job.ranks {
            let mut collector = Collector::new(trace);
            for event in &trace.events {
                collector.event(event, &mut all);
            }
            let (list, communicators) = collector.finish();
            operations.ranks.push(list);
            operations.communicators.push(communicators);
        }
        operations
    }

    /// Returns an operation.
    #[must_use]
    pub fn get(&self, id: OperationId) -> &Operation {
        &self.ranks[id.rank].list[id.index]
    }

    /// Returns the collective operations of each communicator by rank in MPI_COMM_WORLD, in order. The operations with the
    /// same position belong together.
    #[must_use]
    pub fn collectives(&self) -> BTreeMap<CommId, BTreeMap<usize, Vec<OperationId>>> {
        let mut all: BTreeMap<CommId, BTreeMap<usize, Vec<OperationId>>> = BTreeMap::new();
        for (id, operation) in each(self) {
            if let (OperationKind::Collective, Some(comm), false) =
                (operation.kind, &operation.comm, operation.has_failed)
            {
                all.entry(comm.id).or_default().entry(id.rank).or_default().push(id);
            }
        }
        all
    }
}

/// Iterates over all operations.
pub fn each(operations: &JobOperations) -> impl Iterator<Item = (OperationId, &Operation)> {
    operations.ranks.iter().enumerate().flat_map(|(rank, list)| {
        { list.list.iter().enumerate() }.map(move |(index, operation)| (OperationId { rank, index }, operation))
    })
}

/// Returns the communicator from which a call has created another one. The two sides of a new intercommunicator have
/// different ones.
fn original(call: &Call) -> Option<i64> {
    let parameters = call.function.parameters;
    let parameter = parameters.iter().find(|parameter| parameter.kind == Kind::Comm)?;
    (call.function.name != "MPI_Intercomm_create").then(|| call.input(parameter.name))
}

fn has_new_request(call: &Call) -> bool {
    call.function
        .parameters
        .iter()
        .any(|parameter| parameter.kind == Kind::RequestOut)
}

/// Returns the request that a call has created; 0 without one.
fn new_request(call: &Call) -> i64 {
    let request = call.output("request");
    request.filter(|request| *request != REQUEST_NULL).unwrap_or(0)
}

/// Checks whether a call has replaced a request of its array by MPI_REQUEST_NULL.
fn is_freed_element(call: &Call, index: i64) -> bool {
    let at = usize::try_from(index).ok();
    let request = at.and_then(|at| call.output_list("array_of_requests").get(at));
    request == Some(&REQUEST_NULL)
}

/// A request that exists.
enum RequestState {
    /// Operations in progress. Several may have one handle: that of requests that are complete from the start.
    Active(VecDeque<usize>),
    /// Persistent request: the operation to start, and the one in progress.
    Persistent(Box<Operation>, Option<usize>),
}

/// Removes the operations of the oldest call from those in progress: MPI_Isendrecv begins two with one request.
fn oldest_call(active: &mut VecDeque<usize>, operations: &[Operation]) -> Vec<usize> {
    let Some(call) = active.front().map(|first| operations[*first].call) else {
        return Vec::new();
    };
    let end = active.iter().position(|operation| operations[*operation].call != call);
    active.drain(..end.unwrap_or(active.len())).collect()
}

struct Collector<'t> {
    trace: &'t RankTrace,
    operations: Vec<Operation>,
    requests: HashMap<i64, RequestState>,
    /// Matched messages: handle, and the operation that MPI_Mprobe has begun.
    matched: HashMap<i64, usize>,
    communicators: RankCommunicators,
    /// Last call that has returned.
    last_call: Option<usize>,
}

impl<'t> Collector<'t> {
    fn new(trace: &'t RankTrace) -> Self {
        Self {
            trace,
            operations: Vec::new(),
            requests: HashMap::new(),
            matched: HashMap::new(),
            communicators: RankCommunicators::default(),
            last_call: None,
        }
    }

    fn finish(self) -> (RankOperations, RankCommunicators) {
        let persistent = self.requests.values().filter_map(|state| match state {
            RequestState::Persistent(operation, _) => Some(operation.call),
            RequestState::Active(_) => None,
        });
        let mut persistent: Vec<usize> = persistent.collect();
        persistent.sort_unstable();
        let operations = RankOperations {
            list: self.operations,
            persistent,
        };
        (operations, self.communicators)
    }

    fn event(&mut self, event: &Event, all: &mut Communicators) {
        let calls = &self.trace.calls;
        match event {
            Event::Communicator(record) => {
                let original = self.last_call.and_then(|index| original(&calls[index]));
                self.communicators.add(record, original, all);
            }
            Event::Enter(index) => self.enter_call(*index, &calls[*index]),
            Event::Leave(index) => {
                let call = &calls[*index];
                self.leave_call(*index, call);
                self.last_call = Some(*index);
            }
            Event::Group(_) | Event::Datatype(_) | Event::Access(_) => {}
        }
    }

    /// Handles the begin of a call: a blocking operation exists from then on, since its call may never return.
    fn enter_call(&mut self, index: usize, call: &Call) {
        if is_blocking(call.function.name) {
            self.add_operations(index, call);
        }
    }

    fn leave_call(&mut self, index: usize, call: &Call) {
        let name = call.function.name;
        if is_blocking(name) {
            self.complete_blocking(index, call);
            return;
        }
        match name {
            "MPI_Wait" | "MPI_Test" => {
                let is_done = call.result == 0 && call.output("flag").is_none_or(|flag| flag != 0);
                // An error completes the request as well.
                if is_done || call.output("request") == Some(REQUEST_NULL) {
                    self.complete(call.input("request"), index, call.status(0));
                }
            }
            "MPI_Waitall" | "MPI_Testall" => self.complete_all(index, call),
            "MPI_Waitany" | "MPI_Testany" => {
                let is_done = call.output("flag").is_none_or(|flag| flag != 0);
                let at = call.output("index").filter(|at| *at != UNDEFINED && is_done);
                let at = at.filter(|at| call.result == 0 || is_freed_element(call, *at));
                self.complete_element(call, at, index, 0);
            }
            "MPI_Waitsome" | "MPI_Testsome" => {
                for (number, at) in call.output_list("array_of_indices").iter().enumerate() {
                    self.complete_element(call, Some(*at), index, number);
                }
            }
            "MPI_Start" => self.start(call.input("request"), index),
            "MPI_Startall" => {
                for request in call.input_list("array_of_requests").to_vec() {
                    self.start(request, index);
                }
            }
            "MPI_Request_free" => self.free(call.input("request")),
            "MPI_Mprobe" | "MPI_Improbe" => self.probe_matched(index, call),
            "MPI_Imrecv" => self.receive_matched(index, call, new_request(call)),
            _ if call.result != 0 => {}
            _ if has_new_request(call) => self.add_operations(index, call),
            _ => {}
        }
    }

    fn complete_all(&mut self, index: usize, call: &Call) {
        let is_done = call.output("flag").is_none_or(|flag| flag != 0);
        if !is_done || call.result != 0 && call.result != ERR_IN_STATUS {
            return;
        }
        for (number, request) in call.input_list("array_of_requests").to_vec().into_iter().enumerate() {
            let status = call.status(number);
            let is_pending = call.result == ERR_IN_STATUS && status.is_some_and(|status| status.error == ERR_PENDING);
            if !is_pending {
                self.complete(request, index, status);
            }
        }
    }

    fn complete_element(&mut self, call: &Call, at: Option<i64>, index: usize, number: usize) {
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(request) = at.and_then(|at| call.input_list("array_of_requests").get(at)) {
            self.complete(*request, index, call.status(number));
        }
    }

    fn complete(&mut self, request: i64, index: usize, status: Option<RecordedStatus>) {
        let completed = match self.requests.get_mut(&request) {
            Some(RequestState::Active(operations)) => oldest_call(operations, &self.operations),
            Some(RequestState::Persistent(_, active)) => active.take().into_iter().collect(),
            None => Vec::new(),
        };
        for operation in completed {
            self.operations[operation].completed = Some(index);
            self.operations[operation].status = status;
        }
    }

    fn start(&mut self, request: i64, index: usize) {
        let next = self.operations.len();
        if let Some(RequestState::Persistent(operation, active)) = self.requests.get_mut(&request) {
            let operation = Operation {
                started: index,
                ..(**operation).clone()
            };
            *active = Some(next);
            self.operations.push(operation);
        }
    }

    fn free(&mut self, request: i64) {
        let freed = match self.requests.get_mut(&request) {
            Some(RequestState::Active(operations)) => oldest_call(operations, &self.operations),
            Some(RequestState::Persistent(_, active)) => {
                let active = active.take();
                self.requests.remove(&request);
                active.into_iter().collect()
            }
            None => Vec::new(),
        };
        for operation in freed {
            self.operations[operation].is_freed = true;
        }
    }

    /// Adds an operation in progress with a request.
    fn add_active(&mut self, request: i64, operation: usize) {
        match self.requests.get_mut(&request) {
            Some(RequestState::Active(operations)) => operations.push_back(operation),
            _ => {
                self.requests
                    .insert(request, RequestState::Active(VecDeque::from([operation])));
            }
        }
    }

    fn probe_matched(&mut self, index: usize, call: &Call) {
        let is_found = call.output("flag").is_none_or(|flag| flag != 0);
        let Some(message) = call.output("message").filter(|_| call.result == 0 && is_found) else {
            return;
        };
        let mut operation = self.operation(index, call, OperationKind::Receive, &RECEIVE);
        operation.status = call.status(0);
        self.matched.insert(message, self.operations.len());
        self.operations.push(operation);
    }

    /// Adds the buffer to the receive that a matched probe has begun.
    fn receive_matched(&mut self, index: usize, call: &Call, request: i64) {
        let Some(at) = self.matched.remove(&call.input("message")).filter(|_| call.result == 0) else {
            return;
        };
        let buffer = self.operation(index, call, OperationKind::Receive, &RECEIVE).buffer;
        let operation = &mut self.operations[at];
        (operation.buffer, operation.call, operation.request) = (buffer, index, request);
        if request != 0 {
            self.add_active(request, at);
        } else {
            operation.completed = Some(index);
        }
    }

    fn complete_blocking(&mut self, index: usize, call: &Call) {
        if call.function.name == "MPI_Mrecv" {
            self.receive_matched(index, call, 0);
            return;
        }
        let own = self
            .operations
            .iter_mut()
            .rev()
            .take_while(|operation| operation.started >= index);
        for operation in own.filter(|operation| operation.started == index) {
            let is_receive = operation.kind == OperationKind::Receive;
            operation.has_failed = call.result != 0 && !(is_receive && call.result == ERR_TRUNCATE);
            operation.completed = Some(index);
            if operation.kind == OperationKind::Receive {
                operation.status = call.status(0);
            }
        }
    }

    /// Adds the operations that a call starts.
    fn add_operations(&mut self, index: usize, call: &Call) {
        let name = call.function.name;
        let request = new_request(call);
        let operations = match send_mode(name) {
            Some(mode) => vec![self.operation(index, call, OperationKind::Send(mode), &SEND)],
            None => match name {
                "MPI_Sendrecv" | "MPI_Isendrecv" => vec![
                    self.operation(index, call, OperationKind::Send(SendMode::Standard), &SENDRECV_SEND),
                    self.operation(index, call, OperationKind::Receive, &SENDRECV_RECEIVE),
                ],
                "MPI_Sendrecv_replace" | "MPI_Isendrecv_replace" => vec![
                    self.operation(index, call, OperationKind::Send(SendMode::Standard), &REPLACE_SEND),
                    self.operation(index, call, OperationKind::Receive, &REPLACE_RECEIVE),
                ],
                "MPI_Recv" | "MPI_Irecv" | "MPI_Recv_init" => {
                    vec![self.operation(index, call, OperationKind::Receive, &RECEIVE)]
                }
                _ if is_collective(name) => vec![self.operation(index, call, OperationKind::Collective, &NO_BUFFER)],
                _ if request != 0 => vec![self.operation(index, call, OperationKind::Other, &NO_BUFFER)],
                _ => Vec::new(),
            },
        };
        for mut operation in operations {
            operation.request = request;
            if name.ends_with("_init") {
                self.requests
                    .insert(request, RequestState::Persistent(Box::new(operation), None));
                continue;
            }
            if request != 0 {
                self.add_active(request, self.operations.len());
            }
            self.operations.push(operation);
        }
    }

    fn operation(&self, index: usize, call: &Call, kind: OperationKind, names: &ParameterNames) -> Operation {
        Operation {
            kind,
            call: index,
            started: index,
            completed: None,
            comm: self.communicators.get(call.input("comm")).cloned(),
            partner: call.input(names.partner),
            tag: call.input(names.tag),
            buffer: OperationBuffer {
                address: call.input(names.buffer) as u64,
                count: call.input(names.count),
                datatype: call.input(names.datatype),
            },
            request: 0,
            status: None,
            is_freed: false,
            has_failed: false,
        }
    }
}

/// Names of the parameters of an operation in its function.
struct ParameterNames {
    buffer: &'static str,
    count: &'static str,
    datatype: &'static str,
    partner: &'static str,
    tag: &'static str,
}

const SEND: ParameterNames = ParameterNames {
    buffer: "buf",
    count: "count",
    datatype: "datatype",
    partner: "dest",
    tag: "tag",
};
const RECEIVE: ParameterNames = ParameterNames {
    partner: "source",
    ..SEND
};
const SENDRECV_SEND: ParameterNames = ParameterNames {
    buffer: "sendbuf",
    count: "sendcount",
    datatype: "sendtype",
    partner: "dest",
    tag: "sendtag",
};
const SENDRECV_RECEIVE: ParameterNames = ParameterNames {
    buffer: "recvbuf",
    count: "recvcount",
    datatype: "recvtype",
    partner: "source",
    tag: "recvtag",
};
const REPLACE_SEND: ParameterNames = ParameterNames { tag: "sendtag", ..SEND };
const REPLACE_RECEIVE: ParameterNames = ParameterNames {
    tag: "recvtag",
    ..RECEIVE
};
const NO_BUFFER: ParameterNames = ParameterNames {
    buffer: "",
    count: "",
    datatype: "",
    partner: "",
    tag: "",
};

/// Returns the mode of a function that sends a message.
fn send_mode(name: &str) -> Option<SendMode> {
    let name = name.strip_prefix("MPI_")?;
    let name = name.strip_suffix("_init").unwrap_or(name);
    let name = name
        .strip_prefix('I')
        .map_or(name.into(), str::to_lowercase)
        .to_lowercase();
    Some(match &*name {
        "send" => SendMode::Standard,
        "bsend" => SendMode::Buffered,
        "rsend" => SendMode::Ready,
        "ssend" => SendMode::Synchronous,
        _ => return None,
    })
}

/// Collective operations without the prefix, in lower case.
const COLLECTIVES: [&str; 22] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "scatterv",
];

/// Collective operations that create or free communicators, or create windows.
const COMMUNICATOR_COLLECTIVES: [&str; 18] = [
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Comm_create",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_free",
    "MPI_Comm_idup",
    "MPI_Comm_idup_with_info",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Graph_create",
    "MPI_Intercomm_merge",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_create",
    "MPI_Win_create_dynamic",
];

/// Checks whether a function is a collective operation on a communicator.
#[must_use]
pub fn is_collective(name: &str) -> bool {
    COMMUNICATOR_COLLECTIVES.contains(&name) || collective_of(name).is_some()
}

/// Returns the collective operation of a function, in lower case and without the prefix of a nonblocking form.
#[must_use]
pub fn collective_of(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("MPI_")?.to_lowercase();
    let of = |name: &str| COLLECTIVES.iter().copied().find(|collective| *collective == name);
    of(&name).or_else(|| of(name.strip_prefix('i')?))
}

/// Checks whether a function blocks until its own operation is complete.
#[must_use]
pub fn is_blocking(name: &str) -> bool {
    let is_point_to_point = matches!(
        name,
        "MPI_Send"
            | "MPI_Bsend"
            | "MPI_Rsend"
            | "MPI_Ssend"
            | "MPI_Recv"
            | "MPI_Mrecv"
            | "MPI_Sendrecv"
            | "MPI_Sendrecv_replace"
    );
    is_point_to_point || is_collective(name) && !is_nonblocking_collective(name)
}

/// Checks whether a function starts a duplication of a communicator and returns a request.
#[must_use]
pub fn is_nonblocking_duplication(name: &str) -> bool {
    matches!(name, "MPI_Comm_idup" | "MPI_Comm_idup_with_info")
}

/// Checks whether a function starts a collective operation and returns a request.
#[must_use]
pub fn is_nonblocking_collective(name: &str) -> bool {
    name.starts_with("MPI_I") && is_collective(name) && name != "MPI_Intercomm_merge"
        || is_nonblocking_duplication(name)
}
