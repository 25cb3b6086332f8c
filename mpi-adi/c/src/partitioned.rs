//! Partitioned communication (MPI-4.0 chapter 4): persistent requests whose message consists of partitions, which the
//! sender releases one by one.
//!
//! # Protocol
//! All messages use the communicator's context for collectives, with tags beyond those of collectives. MPI_Psend_init
//! sends an *offer* to the receiver: the tag, the number of partitions and their bytes, and the tag of the first
//! partition's messages. The receiver assigns each offer to the first MPI_Precv_init with its tag that has none; offers
//! of one sender arrive in order, so that operations match in the order of their creation. Each start transfers one
//! message per partition of the sender: MPI_Pready starts it. The receiver posts a receive for each of them as soon as it
//! is started and has the offer, in a call that waits or polls. Both sides may have different numbers of partitions.
//!
//! # Memory
//! An operation is an object on the heap with an entry for each partition of the sender. Only its creation allocates at
//! the sender. The receiver allocates the entries when it gets the offer. If the heap is full then, it tries again in
//! each call, and the messages stay at the sender.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_longlong, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use super::args::{self, PeerRank};
use super::binding::{any_env, env};
use super::collectives::{HookWork, add_hook_work};
use super::comm_objects;
use super::datatypes::{self, TryArc, TypedBuffer, TypedElements};
use super::error_dispatch::{end_under, on_partners, on_process};
use super::handles::{HandleKind, HandleTable};
use super::infos::check_hints;
use super::requests::{
    CompletedRequest, CompletionData, FamilyEntry, PARTITIONED, PartitionedRequest, PersistentCall, PersistentRequest,
    RequestFamily, active, enter_family, enter_persistent, with_object, with_status,
};
use super::types::constants::MPI_REQUEST_NULL;
use super::types::{Handle, MPI_Status};
use midplane_device::envelope::Tag;
use midplane_device::interface::{CancelPhase, Device, RequestCompletion, TestResult};
use midplane_device::kernel::CallInfo;
use midplane_device::memory::{Span, try_boxed};
use midplane_device::request::{RequestId, RequestPool, SendMode};
use midplane_objects::coll::{FIRST_FREE_TAG, try_with_capacity};
use midplane_objects::comm::{CommRank, Group, Partners};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::process::Env;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::PersistentRequests,
    tag: PARTITIONED,
    place_bits: 16,
    generation_bits: 10,
    limit: 1 << 16,
};

/// Tag of offers.
const OFFER: Tag = FIRST_FREE_TAG;
/// Tags of partitions. The last tag is that of the leaders of intercommunicators.
const PARTS: core::ops::Range<Tag> = OFFER + 1..Tag::MAX;

/// An offer: four little-endian integers.
#[derive(Clone, Copy)]
struct Offer {
    tag: Tag,
    /// Tag of the first partition's messages; those of the other ones follow.
    first: Tag,
    partitions: u32,
    /// Bytes of a partition.
    bytes: u32,
}

const OFFER_BYTES: usize = 16;

impl Offer {
    fn emit(self) -> [u8; OFFER_BYTES] {
        let words = [self.tag as u32, self.first as u32, self.partitions, self.bytes];
        let mut bytes = [0; OFFER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8; OFFER_BYTES]) -> Offer {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Offer {
            tag: word(0) as Tag,
            first: word(4) as Tag,
            partitions: word(8),
            bytes: word(12),
        }
    }
}

/// State of one message: of a partition of the sender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartState {
    /// MPI_Pready has not been called, or the receive is not posted.
    Waiting,
    Active(RequestId),
    Complete,
}

/// Role of this process in an operation.
enum Role {
    Send {
        first: Tag,
        /// The offer, until its message is complete.
        offer: Box<[u8; OFFER_BYTES]>,
        sending: Option<RequestId>,
    },
    Receive {
        /// Buffer of an offer, which may belong to another operation.
        buffer: Box<[u8; OFFER_BYTES]>,
        /// The posted receive of an offer, and its number in the order of all posted ones.
        posted: Option<(RequestId, u64)>,
        offer: Option<Offer>,
        /// Number of bytes received since the start.
        received: usize,
    },
}

struct PartitionedObject {
    role: Role,
    /// The partners in the context for collectives.
    group: Group<'static>,
    /// `None`: MPI_PROC_NULL.
    partner: Option<CommRank>,
    tag: Tag,
    partitions: usize,
    /// Bytes of one of this process's partitions.
    bytes: usize,
    address: BufferAddress,
    elements: TypedElements,
    /// Messages, by the sender's partition.
    parts: Vec<PartState>,
    is_active: bool,
    failure: Option<Error>,
    /// Number in the order of creation.
    number: u64,
    /// The program has freed the request; its offer is not sent yet.
    is_freed: bool,
}

/// Address of the program's buffer.
#[derive(Clone, Copy)]
struct BufferAddress(*const c_void);

// SAFETY: only the messages of the operation use it, by spans.
unsafe impl Send for BufferAddress {}

/// An offer that no operation of this process has yet.
struct UnmatchedOffer {
    /// The communicator: its context may belong to another one later.
    comm: c_int,
    group: Group<'static>,
    source: CommRank,
    offer: Offer,
}

impl UnmatchedOffer {
    fn new(group: Group<'static>, source: CommRank, offer: Offer) -> UnmatchedOffer {
        UnmatchedOffer {
            comm: comm_objects::error_target_in(group.context).comm,
            group,
            source,
            offer,
        }
    }

    /// Checks whether the communicator still exists. Nothing can match the offer otherwise.
    fn is_valid(&self) -> bool {
        comm_objects::error_target_in(self.group.context).comm == self.comm
    }
}

struct Operations {
    objects: HandleTable<PartitionedObject>,
    unmatched: Vec<UnmatchedOffer>,
    /// Number of operations created, and of receives of offers posted, so far.
    created: u64,
    next_tag: Tag,
}

/// The progress hook uses it only if no call holds the lock.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_partitioned")]
static OPERATIONS: Mutex<Operations> = Mutex::new(Operations {
    objects: HandleTable::new(KIND),
    unmatched: Vec::new(),
    created: 0,
    next_tag: PARTS.start,
});

/// Number of posted receives of offers, so that most checks need no lock.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_partitioned")]
static POSTED: AtomicUsize = AtomicUsize::new(0);

impl PartitionedObject {
    fn partners(&self, env: &'static dyn Env) -> Partners<'static> {
        Partners::at(env, self.group)
    }

    /// Returns this process's bytes of the message at this offset.
    fn span(&self, offset: usize, bytes: usize) -> Result<TypedBuffer, Error> {
        // SAFETY: the standard's requirements on the buffer while the request is active (MPI-4.0 section 4.2). All
        // elements have passed the check at the creation.
        unsafe { self.elements.packed_range(self.address.0, offset..offset + bytes) }
    }

    /// Starts the message of the sender's partition `part`.
    fn start_part(&mut self, env: &'static dyn Env, function: &'static str, part: usize) -> Result<(), Error> {
        let partners = self.partners(env);
        let whole = self.partitions * self.bytes;
        let (started, data) = match (&self.role, self.partner) {
            (Role::Send { first, .. }, Some(dest)) => {
                let data = self.span(part * self.bytes, self.bytes)?;
                let tag = *first + part as Tag;
                let mode = SendMode::Standard;
                (partners.start_send(function, data.span(), dest, tag, mode)?, data)
            }
            (Role::Receive { offer: Some(offer), .. }, Some(source)) => {
                let offset = part.saturating_mul(offer.bytes as usize).min(whole);
                let data = self.span(offset, (offer.bytes as usize).min(whole - offset))?;
                let tag = offer.first + part as Tag;
                (
                    Some(partners.start_recv(function, data.span(), Some(source), Some(tag))?),
                    data,
                )
            }
            _ => (None, TypedBuffer::EMPTY),
        };
        self.parts[part] = match started {
            Some(id) => {
                data.keep();
                PartState::Active(id)
            }
            None => PartState::Complete,
        };
        Ok(())
    }

    /// Completes the messages that are finished, and posts the receives that are due. Does not block. Returns whether the
    /// operation is complete.
    fn advance(&mut self, env: &'static dyn Env) -> bool {
        for part in 0..self.parts.len() {
            if let PartState::Active(id) = self.parts[part] {
                match env.test(None, id) {
                    TestResult::Pending => continue,
                    TestResult::Complete(completion) => self.complete_part(&completion),
                    TestResult::Unknown => {}
                }
                self.parts[part] = PartState::Complete;
            }
        }
        self.post(env);
        let has_parts = match &self.role {
            Role::Receive { offer, .. } => offer.is_some() || self.partner.is_none(),
            Role::Send { .. } => true,
        };
        has_parts && self.parts.iter().all(|part| *part == PartState::Complete)
    }

    fn complete_part(&mut self, completion: &RequestCompletion) {
        let outcome = completion.outcome();
        if let RequestCompletion::Other(finished) = completion {
            datatypes::release(finished.buffer);
        }
        if let Role::Receive { received, .. } = &mut self.role {
            *received += outcome.bytes;
            if outcome.truncated {
                self.failure = Some(Error::Truncated {
                    source: self.partner.map_or(0, |source| source.0),
                    tag: self.tag,
                    room: self.partitions * self.bytes,
                });
            }
        }
    }

    /// Posts the receives of a started operation with an offer.
    fn post(&mut self, env: &'static dyn Env) {
        let Role::Receive { offer: Some(offer), .. } = &self.role else {
            return;
        };
        let count = offer.partitions as usize;
        if !self.is_active {
            return;
        }
        if self.parts.len() < count {
            // Without memory, a later call tries again.
            if self.parts.try_reserve_exact(count).is_err() {
                return;
            }
            self.parts.resize(count, PartState::Waiting);
        }
        for part in 0..count {
            if self.parts[part] != PartState::Waiting {
                continue;
            }
            match self.start_part(env, "MPI_Start", part) {
                Ok(()) => {}
                // A later call tries again.
                Err(Error::NoMemory(_) | Error::NoSpace { .. }) => return,
                Err(error) => {
                    self.failure = Some(error);
                    self.parts[part] = PartState::Complete;
                }
            }
        }
    }

    fn status(&self) -> MPI_Status {
        match (&self.role, self.partner) {
            (Role::Send { .. }, _) => MPI_Status::NO_RECEIVE,
            (Role::Receive { .. }, None) => MPI_Status::PROC_NULL,
            (Role::Receive { received, .. }, Some(source)) => MPI_Status {
                MPI_SOURCE: source.0 as c_int,
                MPI_TAG: self.tag,
                midplane_bytes: *received as c_longlong,
                ..MPI_Status::EMPTY
            },
        }
    }

    /// Checks whether all messages that overlap this partition have arrived. Empty partitions arrive with the last message,
    /// since any number of the sender's may correspond to one.
    fn has_arrived(&self, partition: usize) -> bool {
        let Role::Receive { offer: Some(offer), .. } = &self.role else {
            return false;
        };
        let is_complete = |part: &PartState| *part == PartState::Complete;
        if self.bytes == 0 {
            return !self.parts.is_empty() && self.parts.iter().all(is_complete);
        }
        let bytes = (offer.bytes as usize).max(1);
        let (begin, end) = (partition * self.bytes, (partition + 1) * self.bytes);
        let overlapping = self.parts.iter().take(end.div_ceil(bytes)).skip(begin / bytes);
        let is_beyond = end > offer.partitions as usize * bytes;
        !is_beyond && { overlapping }.all(is_complete) && !self.parts.is_empty()
    }

    /// Returns the posted receive of an offer.
    fn posted(&self) -> Option<(RequestId, u64)> {
        match &self.role {
            Role::Receive { posted, .. } => *posted,
            Role::Send { .. } => None,
        }
    }

    /// Checks whether the operation receives from this process without an offer.
    fn needs_offer(&self, group: Group<'static>, source: Option<CommRank>) -> bool {
        let needs = matches!(&self.role, Role::Receive { offer: None, .. });
        needs && !self.is_freed && self.group.context == group.context && self.partner == source
    }
}

impl Operations {
    fn add(&mut self, object: PartitionedObject) -> Result<c_int, Error> {
        self.created += 1;
        self.objects.add(object)
    }

    fn places(&mut self) -> core::ops::Range<usize> {
        0..self.objects.places()
    }

    /// Returns tags for the messages of `partitions` partitions, which no other operation uses.
    fn take_tags(&mut self, partitions: usize) -> Result<Tag, Error> {
        let count = Tag::try_from(partitions)
            .ok()
            .filter(|count| *count < PARTS.end - PARTS.start);
        let count = count.ok_or(Error::Argument {
            what: "more partitions than tags for them: 1,073,741,566",
        })?;
        // One range more than there are operations contains no tag of any.
        for _ in 0..=self.objects.places() + 1 {
            if PARTS.end - self.next_tag < count {
                self.next_tag = PARTS.start;
            }
            let first = self.next_tag;
            let mut end = first + count;
            let mut is_free = true;
            for object in self.objects.objects() {
                if let Role::Send { first: other, .. } = object.role {
                    let other_end = other + object.parts.len() as Tag;
                    if first < other_end && other < end {
                        (is_free, end) = (false, other_end);
                        break;
                    }
                }
            }
            self.next_tag = end;
            if is_free {
                return Ok(first);
            }
        }
        Err(Error::Limit {
            what: LimitedResource::PersistentRequests,
            limit: (PARTS.end - PARTS.start) as usize,
        })
    }

    /// Returns the index of an operation whose receive of an offer is complete, and the first of those from its source.
    fn complete_offer(&mut self, is_done: impl Fn(RequestId) -> bool) -> Option<usize> {
        for place in self.places() {
            let Some((_, object)) = self.objects.at(place) else {
                continue;
            };
            let Some((id, number)) = object.posted() else { continue };
            if !is_done(id) {
                continue;
            }
            let (context, partner) = (object.group.context, object.partner);
            let is_earlier = |other: &PartitionedObject| {
                let is_of_source = other.group.context == context && other.partner == partner;
                is_of_source && other.posted().is_some_and(|(_, posted)| posted < number)
            };
            if !self.objects.objects().any(is_earlier) {
                return Some(place);
            }
        }
        None
    }

    /// Assigns an offer to the first operation with its tag, or keeps it.
    fn assign(&mut self, unmatched: UnmatchedOffer) {
        let mut found: Option<(u64, usize)> = None;
        for place in self.places() {
            if let Some((_, object)) = self.objects.at(place)
                && object.needs_offer(unmatched.group, Some(unmatched.source))
                && object.tag == unmatched.offer.tag
                && found.is_none_or(|(number, _)| object.number < number)
            {
                found = Some((object.number, place));
            }
        }
        let object = found.and_then(|(_, place)| self.objects.at(place));
        match object {
            Some((_, object)) => {
                if let Role::Receive { offer, .. } = &mut object.role {
                    *offer = Some(unmatched.offer);
                }
            }
            // Reserved by the caller.
            None => self.unmatched.push(unmatched),
        }
    }

    /// Assigns all offers that have arrived. Does not block.
    fn take_offers(&mut self, env: &'static dyn Env) {
        let is_done = |id| env.check_requests(&[id]).finished != 0;
        while self.unmatched.try_reserve(1).is_ok()
            && let Some(place) = self.complete_offer(is_done)
        {
            let Some((_, object)) = self.objects.at(place) else {
                return;
            };
            let (group, partner) = (object.group, object.partner);
            let Role::Receive { buffer, posted, .. } = &mut object.role else {
                return;
            };
            if let Some((id, _)) = posted.take() {
                POSTED.fetch_sub(1, Ordering::Relaxed);
                env.test(None, id);
            }
            let offer = Offer::parse(buffer);
            if let Some(source) = partner {
                self.assign(UnmatchedOffer::new(group, source, offer));
            }
            self.post_offers(env);
        }
    }

    /// Posts a receive of an offer for each operation without one. Without memory, a later call tries again.
    fn post_offers(&mut self, env: &'static dyn Env) {
        for place in self.places() {
            let number = self.created;
            let Some((_, object)) = self.objects.at(place) else {
                continue;
            };
            let Some(source) = object.partner else { continue };
            let partners = object.partners(env);
            let needs_offer = object.needs_offer(object.group, object.partner);
            let Role::Receive { buffer, posted, .. } = &mut object.role else {
                continue;
            };
            if !needs_offer || posted.is_some() {
                continue;
            }
            // SAFETY: the buffer is on the heap, and is read only after the receive is complete.
            let span = unsafe { Span::new(buffer.as_mut_ptr(), OFFER_BYTES) };
            let Ok(id) = partners.start_recv("MPI_Precv_init", span, Some(source), Some(OFFER)) else {
                return;
            };
            *posted = Some((id, number));
            self.created += 1;
            POSTED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Assigns offers, and advances all receives that are started.
    fn advance(&mut self, env: &'static dyn Env) {
        self.take_offers(env);
        for place in self.places() {
            if let Some((_, object)) = self.objects.at(place) {
                object.post(env);
            }
        }
    }

    /// Removes the operations that the program has freed, and whose offers are sent.
    fn sweep(&mut self, env: &dyn Env) {
        for place in self.places() {
            let Some((handle, object)) = self.objects.at(place) else {
                continue;
            };
            let is_sent = match &object.role {
                Role::Send { sending: Some(id), .. } => !matches!(env.test(None, *id), TestResult::Pending),
                _ => true,
            };
            if object.is_freed && is_sent {
                self.objects.remove(handle);
            }
        }
    }
}

/// The work of the progress hook: to post receives as soon as the offers have arrived.
static WORK: HookWork = HookWork {
    is_ready: |requests: &RequestPool, _| {
        if POSTED.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let operations = OPERATIONS.try_lock();
        operations.is_some_and(|mut operations| {
            let is_done = |id| requests.is_done(id) == Some(true);
            operations.complete_offer(is_done).is_some()
        })
    },
    // A call that holds the lock assigns offers itself.
    run: || {
        if let (Ok(env), Some(mut operations)) = (any_env(), OPERATIONS.try_lock()) {
            operations.advance(env);
        }
    },
};

struct PartitionedFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_partitioned")]
static FAMILY: FamilyEntry = FamilyEntry::new(PARTITIONED, &PartitionedFamily);

const NOT_ALLOWED: Error = Error::Wrong {
    class: ErrorClass::Request,
    what: "an active partitioned request can neither be freed nor cancelled; complete it",
};

/// Returns the handle of the operation of a persistent request; that of an operation as it is.
fn own(handle: c_int) -> c_int {
    active(handle).unwrap_or(handle)
}

impl RequestFamily for PartitionedFamily {
    fn has(&self, handle: c_int) -> bool {
        let operations = OPERATIONS.lock();
        operations.objects.get(own(handle)).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        let env = any_env().ok()?;
        let mut operations = OPERATIONS.lock();
        // All receives: one that is posted may complete another request of this call at once, without an event for which
        // the call could wait.
        operations.advance(env);
        let object = operations.objects.get_mut(own(handle))?;
        if !object.advance(env) {
            return None;
        }
        let mut completed = with_status(object.status());
        if let Some(error) = object.failure {
            let error_target = comm_objects::error_target_in(object.group.context);
            completed.rest = Some(CompletionData::Failed(error_target, error));
        }
        Some(completed)
    }

    fn forget(&self, handle: c_int) {
        if let Some(object) = OPERATIONS.lock().objects.get_mut(own(handle)) {
            object.is_active = false;
        }
    }

    fn free(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }
}

/// Starts an operation. Returns its handle.
fn start(handle: c_int) -> Result<c_int, Error> {
    let env = env()?;
    let mut operations = OPERATIONS.lock();
    operations.take_offers(env);
    let wrong = Error::Request { handle };
    let object = operations.objects.get_mut(handle).ok_or(wrong)?;
    object.is_active = true;
    object.failure = None;
    object.parts.fill(PartState::Waiting);
    if let Role::Receive { received, .. } = &mut object.role {
        *received = 0;
    }
    object.post(env);
    Ok(handle)
}

/// Frees an operation with its request.
fn release(handle: c_int) {
    let Ok(env) = any_env() else { return };
    let mut operations = OPERATIONS.lock();
    operations.take_offers(env);
    let Some(object) = operations.objects.get_mut(handle) else {
        return;
    };
    object.is_freed = true;
    let (group, partner) = (object.group, object.partner);
    if let Role::Receive { posted, buffer, .. } = &mut object.role
        && let Some((id, _)) = posted.take()
    {
        POSTED.fetch_sub(1, Ordering::Relaxed);
        env.cancel("MPI_Request_free", id, CancelPhase::Start);
        let is_cancelled = env
            .wait("MPI_Request_free", id)
            .is_none_or(|ended| ended.outcome().cancelled);
        let offer = Offer::parse(buffer);
        // It may have matched the offer of another operation.
        if let (false, Some(source)) = (is_cancelled, partner) {
            operations.assign(UnmatchedOffer::new(group, source, offer));
        }
    }
    operations.sweep(env);
}

/// Arguments of MPI_Psend_init or MPI_Precv_init.
struct InitArgs {
    buf: *const c_void,
    partitions: c_int,
    count: isize,
    datatype: c_int,
    partner: PeerRank<CommRank>,
    tag: c_int,
    info: c_int,
}

/// Creates an operation with this role and its persistent request. Returns the handle of the request.
fn init(comm: Partners<'static>, args: InitArgs, role: Role) -> Result<c_int, Error> {
    check_hints(args.info)?;
    let partitions = usize::try_from(args.partitions)
        .ok()
        .filter(|partitions| *partitions > 0);
    let partitions = partitions.ok_or(Error::Argument {
        what: "the number of partitions is not positive",
    })?;
    let elements = TypedElements::from_handle(args.datatype)?;
    let count = args::count(args.count)?;
    let bytes = elements.length(count)?;
    let all = count
        .checked_mul(partitions)
        .ok_or(Error::TooLong { bytes: usize::MAX })?;
    u32::try_from(bytes).map_err(|_| Error::TooLong { bytes })?;
    elements.check(args.buf, 0, all)?;
    let group = comm.for_collectives().group();
    let partner = match args.partner {
        PeerRank::ProcNull => None,
        PeerRank::Rank(rank) => Some(rank),
    };
    let is_send = matches!(role, Role::Send { .. });
    let mut parts = Vec::new();
    if is_send {
        parts = try_with_capacity(partitions)?;
        parts.resize(partitions, PartState::Complete);
    }
    enter_family(&FAMILY);
    add_hook_work(comm.env, &WORK);
    let mut operations = OPERATIONS.lock();
    operations.sweep(comm.env);
    let number = operations.created;
    let mut role = role;
    if let Role::Send { first, .. } = &mut role {
        *first = operations.take_tags(partitions)?;
    }
    let tag = args::tag(args.tag)?;
    let handle = operations.add(PartitionedObject {
        role,
        group,
        partner,
        tag,
        partitions,
        bytes,
        address: BufferAddress(args.buf),
        elements,
        parts,
        is_active: false,
        failure: None,
        number,
        is_freed: false,
    })?;
    let entered = operations
        .send_offer(comm, handle)
        .and_then(|()| enter_request(comm, handle));
    if entered.is_err() {
        operations.objects.remove(handle);
    }
    operations.find_offer(handle);
    operations.post_offers(comm.env);
    entered
}

fn enter_request(comm: Partners<'static>, object: c_int) -> Result<c_int, Error> {
    let partners = comm.group();
    let request = PartitionedRequest { object, start, release };
    let request = enter_persistent(PersistentRequest {
        call: PersistentCall::Partitioned(TryArc::new(request)?),
        partners,
        active: MPI_REQUEST_NULL,
    })?;
    comm_objects::hold(partners.context);
    Ok(request)
}

impl Operations {
    /// Assigns an offer that has arrived before the creation of this operation.
    fn find_offer(&mut self, handle: c_int) {
        self.unmatched.retain(UnmatchedOffer::is_valid);
        let Some(object) = self.objects.get_mut(handle) else {
            return;
        };
        let place = self.unmatched.iter().position(|unmatched| {
            object.needs_offer(unmatched.group, Some(unmatched.source)) && object.tag == unmatched.offer.tag
        });
        if let (Some(place), Role::Receive { offer, .. }) = (place, &mut object.role) {
            *offer = Some(self.unmatched.remove(place).offer);
        }
    }

    /// Sends the offer of an operation.
    fn send_offer(&mut self, comm: Partners<'static>, handle: c_int) -> Result<(), Error> {
        let wrong = Error::Request { handle };
        let object = self.objects.get_mut(handle).ok_or(wrong)?;
        let Some(dest) = object.partner else { return Ok(()) };
        let Role::Send { first, offer, sending } = &mut object.role else {
            return Ok(());
        };
        **offer = Offer {
            tag: object.tag,
            first: *first,
            partitions: object.partitions as u32,
            bytes: object.bytes as u32,
        }
        .emit();
        // SAFETY: the offer is on the heap, is not changed, and exists until it is sent: `sweep`.
        let span = unsafe { Span::new(offer.as_ptr(), OFFER_BYTES) };
        let comm = comm.for_collectives();
        *sending = comm.start_send("MPI_Psend_init", span, dest, OFFER, SendMode::Standard)?;
        Ok(())
    }
}

fn offer_buffer() -> Result<Box<[u8; OFFER_BYTES]>, Error> {
    try_boxed([0; OFFER_BYTES]).ok_or(Error::NoSpace { bytes: OFFER_BYTES })
}

pub unsafe fn MPI_Psend_init(
    buf: *const c_void,
    partitions: c_int,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    info: c_int,
    request: *mut Handle,
) -> c_int {
    on_partners("MPI_Psend_init", comm, |comm| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        let args = InitArgs {
            buf,
            partitions,
            count,
            datatype,
            partner: args::destination(&comm, dest)?,
            tag,
            info,
        };
        let role = Role::Send {
            first: PARTS.start,
            offer: offer_buffer()?,
            sending: None,
        };
        *request = Handle::new(init(comm, args, role)?);
        Ok(())
    })
}

pub unsafe fn MPI_Precv_init(
    buf: *mut c_void,
    partitions: c_int,
    count: isize,
    datatype: c_int,
    source: c_int,
    tag: c_int,
    comm: c_int,
    info: c_int,
    request: *mut Handle,
) -> c_int {
    on_partners("MPI_Precv_init", comm, |comm| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        // There are no wildcards (MPI-4.0 section 4.2.1).
        let args = InitArgs {
            buf,
            partitions,
            count,
            datatype,
            partner: args::destination(&comm, source)?,
            tag,
            info,
        };
        let role = Role::Receive {
            buffer: offer_buffer()?,
            posted: None,
            offer: None,
            received: 0,
        };
        *request = Handle::new(init(comm, args, role)?);
        Ok(())
    })
}

/// Runs a call on the operation of a request.
fn on_operation(
    function: &'static str,
    request: c_int,
    call: impl FnOnce(&'static dyn Env, &mut PartitionedObject) -> Result<(), Error>,
) -> c_int {
    let found = with_object(request, |object| match &object.call {
        PersistentCall::Partitioned(partitioned) => Some((partitioned.object, object.partners.context)),
        _ => None,
    });
    let wrong = Error::Request { handle: request };
    let Some((handle, context)) = found.flatten() else {
        return on_process(function, |_| Err(wrong));
    };
    let result = env().and_then(|env| {
        env.advance(CallInfo::without_peer(function), None);
        let mut operations = OPERATIONS.lock();
        call(env, operations.objects.get_mut(handle).ok_or(wrong)?)
    });
    end_under(function, comm_objects::error_target_in(context), result)
}

/// Marks a partition as ready, and starts its message.
fn ready(
    env: &'static dyn Env,
    function: &'static str,
    object: &mut PartitionedObject,
    part: c_int,
) -> Result<(), Error> {
    let wrong = |what| Err(Error::Argument { what });
    if !matches!(object.role, Role::Send { .. }) {
        return wrong("the request of a receive has no partitions to mark as ready");
    }
    if !object.is_active {
        return wrong("the request is not active; start it first");
    }
    let part = usize::try_from(part).ok().filter(|part| *part < object.partitions);
    let Some(part) = part else {
        return wrong("partition is not below the number of partitions");
    };
    if object.parts[part] != PartState::Waiting {
        return wrong("the partition has been marked as ready since the start");
    }
    object.start_part(env, function, part)
}

pub unsafe fn MPI_Pready(partition: c_int, request: c_int) -> c_int {
    const NAME: &str = "MPI_Pready";
    on_operation(NAME, request, |env, object| ready(env, NAME, object, partition))
}

pub unsafe fn MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: c_int) -> c_int {
    const NAME: &str = "MPI_Pready_range";
    on_operation(NAME, request, |env, object| {
        (partition_low..=partition_high).try_for_each(|partition| ready(env, NAME, object, partition))
    })
}

pub unsafe fn MPI_Pready_list(length: c_int, array_of_partitions: *const c_int, request: c_int) -> c_int {
    const NAME: &str = "MPI_Pready_list";
    on_operation(NAME, request, |env, object| {
        // SAFETY: the standard's requirements on the array.
        let list = unsafe { args::array(array_of_partitions, args::length(length)?, "array_of_partitions") }?;
        list.iter()
            .try_for_each(|partition| ready(env, NAME, object, *partition))
    })
}

pub unsafe fn MPI_Parrived(request: c_int, partition: c_int, flag: *mut c_int) -> c_int {
    on_operation("MPI_Parrived", request, |env, object| {
        // SAFETY: the standard's requirements on `flag`.
        let flag = unsafe { args::out(flag, "flag") }?;
        let part = usize::try_from(partition).ok().filter(|part| *part < object.partitions);
        let part = part.ok_or(Error::Argument {
            what: "partition is not below the number of partitions",
        })?;
        if matches!(object.role, Role::Send { .. }) {
            return Err(Error::Argument {
                what: "the request of a send has no partitions that arrive",
            });
        }
        let is_complete = !object.is_active || object.advance(env);
        *flag = (is_complete || object.has_arrived(part)).into();
        Ok(())
    })
}
