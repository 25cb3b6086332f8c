//! Parts of a job of native processes that later processes need, and the requests in the memory that all share.

use crate::host::shared::SharedMemory;
use crate::run::linux::names::{NameError, NameService};
use crate::run::stall::StallSample;
use kernel_rt::board::linux::share::{NodeAccount, REQUEST_BYTES, RequestArea, ShareLayout};
use kernel_rt::dev::ring::SleepFlag;
use midplane_abi::job_requests::{fields, write_field};
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// The processes' ends of the [pipes](crate::run::instance::ControlPipes).
pub struct ProcessPipes {
    pub life: OwnedFd,
    pub asks: OwnedFd,
}

/// Parts of a job that processes started later need, and the state of the requests.
pub struct Universe {
    /// The file that all processes share.
    pub shared: Rc<SharedMemory>,
    /// The processes' ends of the pipes.
    pub pipes: ProcessPipes,
    layout: ShareLayout,
    names: NameService,
    /// The start of processes that waits until their nodes are handed over.
    pub pending_start: Option<PendingStart>,
    /// Messages and packets that the nodes' earlier processes have counted.
    pub earlier: StallSample,
    /// Number of processes whose requests have no answer, or have not read it.
    pub pending: usize,
}

/// A start of processes, whose nodes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingStart {
    /// The process that requests it.
    pub rank: u32,
    /// The first node.
    pub first: u32,
    /// Number of nodes.
    pub count: u32,
}

/// A field of an answer.
pub type Field = Vec<u8>;

impl Universe {
    /// Creates the universe of a job without requests.
    pub fn new(shared: Rc<SharedMemory>, pipes: ProcessPipes, layout: ShareLayout) -> Self {
        Self {
            shared,
            pipes,
            layout,
            names: NameService::default(),
            pending_start: None,
            earlier: StallSample::default(),
            pending: 0,
        }
    }

    /// Checks whether a process waits for the answer to a request.
    pub fn has_requests(&self) -> bool {
        self.pending > 0
    }

    /// Returns the offset of the status record of a rank in the shared file.
    pub fn account(&self, rank: u32) -> u64 {
        self.layout.account(rank)
    }

    /// Checks whether the process of a node that has ended has handed the node over.
    pub fn is_handed_over(&self, rank: u32) -> bool {
        self.state(rank) == RequestArea::HANDED_OVER
    }

    /// Checks whether a node is about to be handed over, so that the end of its process is no loss.
    pub fn hands_over(&self, rank: u32) -> bool {
        let start = self.pending_start.as_ref();
        start.is_some_and(|start| (start.first..start.first + start.count).contains(&rank))
    }

    /// Clears the status record of a node for its next process.
    pub fn clear_account(&self, rank: u32) {
        let zeros = vec![0; size_of::<NodeAccount>()];
        self.shared.write(self.account(rank), &zeros);
    }

    pub fn state(&self, rank: u32) -> u32 {
        let at = self.layout.request(rank) + RequestArea::AT[0];
        self.shared.load(at).unwrap_or(RequestArea::IDLE)
    }

    /// Returns the posted request of a rank.
    pub fn request(&self, rank: u32) -> Vec<Field> {
        let [_, at_bytes, at_fields] = RequestArea::AT.map(|at| self.layout.request(rank) + at);
        let bytes = self.shared.load(at_bytes).unwrap_or(0) as usize;
        let mut list = vec![0; bytes.min(REQUEST_BYTES)];
        match self.shared.read(at_fields, &mut list) {
            Some(()) => fields(&list).map(<[u8]>::to_vec).collect(),
            None => Vec::new(),
        }
    }

    /// Stores the answer for a rank. One that is too long becomes an error.
    pub fn answer(&self, rank: u32, answer: &[Field]) {
        let [at_state, at_bytes, at_fields] = RequestArea::AT.map(|at| self.layout.request(rank) + at);
        let mut list = vec![0; REQUEST_BYTES];
        let write = |used, field: &Field| write_field(&mut list, used, field);
        let used = answer.iter().try_fold(0, write).unwrap_or(0);
        self.shared.write(at_fields, &list[..used]);
        self.shared.store(at_bytes, used as u32);
        self.shared.store(at_state, RequestArea::ANSWERED);
    }

    /// Wakes a rank.
    pub fn wake(&self, rank: u32) {
        let word = self.layout.word(rank);
        self.shared.ring(word, SleepFlag::ARMED, SleepFlag::RUNG);
    }

    /// Serves a request for ports and names. `None`: the request has another name.
    pub fn serve_name(&mut self, request: &[Field]) -> Option<Vec<Field>> {
        let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        let names = &mut self.names;
        let served = match *words {
            [b"open", port] => names.open(port),
            [b"close", port] => names.close(port),
            [b"find", port] => names.find(port),
            [b"publish", service, port] => names.publish(service, port),
            [b"unpublish", service, port] => names.unpublish(service, port),
            [b"lookup", service] => {
                let found = names.look_up(service).map(|port| vec![b"ok".to_vec(), port.to_vec()]);
                return Some(found.unwrap_or_else(refusal));
            }
            _ => return None,
        };
        Some(served.map_or_else(refusal, |()| vec![b"ok".to_vec()]))
    }
}

fn refusal(error: NameError) -> Vec<Field> {
    vec![error.word().to_vec()]
}
