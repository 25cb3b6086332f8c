//! Boot of a Linux process as a node, from its start to the program, and the program's end.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::{ptr, thread};

use midplane_abi::blackboard::{FailureCode, NodeState};
use midplane_abi::boot_parameters::{BootParameters, InstanceNodes};
use midplane_abi::failure::{Failure, FailureReason};
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{ExitAction, Personality};
use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_engines::EngineChoice;
use midplane_objects::Env;
use net_torus::coord::Direction;
use net_torus::router::Router;
use net_torus::torus::Torus;

use super::abort::PanicMeaning;
use super::node_lock::{self, with_node};
use super::platform::{FutexDoorbell, LinuxNode, LinuxPlatform, ProcessLink, WireLink, now_ns};
use super::share::{NodeAccount, ShareLayout};
use super::tool::{self, ToolParameters};
use super::{PROCESS, ProcessIdentity, abort, heap, process, progress_thread};
use crate::board::device::device;
use crate::board::matching;
use crate::dev::ring::{RingLink, RingPair, SleepFlag};
use crate::heap_loan::NodeMemory;
use crate::memory_plan::{MPI_SHARE, ROUTER};
use crate::mpi_failure::write_text;

/// Node memory of a process that was not started by the host tool, in bytes.
const MEMORY: u64 = 64 << 20;

/// This node's device, for the language bindings.
struct LinuxEnv;

impl Env for LinuxEnv {
    fn process(&self) -> &midplane_objects::Process {
        static PROCESS: midplane_objects::Process = midplane_objects::Process::new();
        &PROCESS
    }
}

impl EnterDevice for LinuxEnv {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        in_call(|node| node.enter(work));
    }

    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        with_node(|node| {
            if node.send_to_hand(outgoing) {
                FastSend::Complete
            } else {
                send_fast(node, outgoing)
            }
        })
    }

    fn fast_receive(&self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        in_call(|node| node.fast_receive(function, incoming))
    }

    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        with_node(|node| match node.keep_at_hand(incoming) {
            None => start_fast(node, incoming),
            kept => kept,
        })
    }

    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        with_node(|node| match node.conclude_at_hand(id) {
            None => wait_fast(node, function, id),
            whole => whole,
        })
    }
}

// The uncached cases are separate calls, so that the cached ones need not save their registers.

#[inline(never)]
fn send_fast(node: &mut LinuxNode, outgoing: &OutgoingMessage) -> FastSend {
    within(node, |node| node.fast_send(outgoing))
}

#[inline(never)]
fn start_fast(node: &mut LinuxNode, incoming: &IncomingMessage) -> Option<RequestId> {
    within(node, |node| node.fast_start_receive(incoming))
}

#[inline(never)]
fn wait_fast(node: &mut LinuxNode, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
    within(node, |node| node.fast_wait(function, id))
}

/// Runs the work of a call that locks the node.
#[inline]
fn in_call<R>(work: impl FnOnce(&mut LinuxNode) -> R) -> R {
    with_node(|node| within(node, work))
}

/// Runs the work of a call on the locked node.
#[inline]
fn within<R>(node: &mut LinuxNode, work: impl FnOnce(&mut LinuxNode) -> R) -> R {
    if heap::is_free_wanted() {
        node.heap_freed();
    }
    let result = work(node);
    progress_thread::on_call_end(node);
    result
}

/// Ends a process that cannot become a node.
pub fn boot_failed(why: impl Display) -> ! {
    let name = NodeName(process().map(|p| (p.who.rank, p.who.coord)));
    abort::end(FailureCode::Boot, 1, &format!("{name}: cannot start: {why}"))
}

/// Ends a process whose shared library defines MPI functions, as preloaded tools do: the program would not call them.
///
/// # Safety
/// The names are C strings.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_wrapped(library: *const c_char, function: *const c_char) -> ! {
    // SAFETY: as the caller promises.
    let [library, function] = [library, function].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    let name = NodeName(process().map(|p| (p.who.rank, p.who.coord)));
    let library = library.rsplit('/').next().unwrap_or_default();
    abort::end(
        FailureCode::Boot,
        2,
        &format!(
            "{name}: cannot start: the library {library} has a function {function}, which nothing would call: MPI is part \
             of the program; link the tool's code with the program, in front of MPI (PMPI), and do not preload it"
        ),
    )
}

fn or_fail<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| boot_failed(why))
}

/// Sets up the node; called before the program's first constructor.
#[unsafe(no_mangle)]
extern "C" fn midplane_boot() {
    boot(PanicMeaning::EndTheJob);
}

/// Sets up the node of a program with this meaning of panics.
pub(super) fn boot(panics: PanicMeaning) {
    let told = or_fail(ToolParameters::read());
    let own;
    let (file, memory, record) = match &told {
        Some(told) => {
            or_fail(told.die_with_tool());
            (&told.file, told.bytes, &*told.record)
        }
        None => {
            own = or_fail(own_file());
            (&own, MEMORY, &[][..])
        }
    };
    let boot = or_fail(BootParameters::read(record));
    let who = identify(&boot, memory);
    let layout = ShareLayout::new(who.shape.nodes());
    let account: &NodeAccount = map(file, layout.account(who.rank), size_of::<NodeAccount>());
    let word = |rank| -> &'static SleepFlag { map(file, layout.word(rank), size_of::<SleepFlag>()) };
    let own_word = word(who.rank);
    let was_there = account.blackboard.state() != Some(NodeState::Off);
    account.blackboard.begin();
    account.blackboard.set_rank(who.rank);
    let matching = matching::select_engine(boot.matching);
    account.blackboard.set_matching(matching.name());
    let _ = PROCESS.set(ProcessIdentity {
        who,
        is_tended: told.is_some(),
        number: std::process::id(),
        account,
        stack: abort::look_at_stack(),
    });
    node_lock::remove_from_children();
    abort::explain(match told {
        Some(_) => panics,
        None => panics.for_single_process(),
    });
    if was_there {
        // A debugger has restarted the process: the links would restart at one end only.
        boot_failed("this rank has run before; start the job again");
    }
    or_fail(boot.check_matching(matching.name()));
    heap::set_size(who.memory as usize);

    let chunks = vec![[0; net_torus::chunk::CHUNK_BYTES]; ROUTER.chunks()].leak();
    let router = or_fail(Router::new(who.shape, who.coord, ROUTER, chunks));
    let links = Direction::ALL.map(|d| {
        let there = who.shape.neighbour(who.coord, d)?;
        let there = who.shape.rank(there)?;
        let (axis, is_plus) = (d as usize / 2, (d as usize).is_multiple_of(2));
        let owner = if is_plus { who.rank } else { there };
        let pair: &RingPair = map(file, layout.pair(owner, axis), size_of::<RingPair>());
        let there = word(there);
        let link: ProcessLink = RingLink::new(pair, d, own_word, there, FutexDoorbell(there)).seal(boot.seal);
        Some(wire(link, d, &boot, &who))
    });
    let torus = or_fail(Torus::new(router, links));
    let node = node(&who, matching, torus, account, own_word);
    node_lock::set(node);
    if let Some(told) = &told {
        tool::set_word(word(who.rank));
        or_fail(told.answer_by(tool::answer_now));
    }
    midplane_objects::installed::set_appnum(boot.programs.for_rank(who.rank).number);
    midplane_objects::installed::install(&LinuxEnv);
    account.blackboard.running();
}

#[cfg(not(feature = "faults"))]
fn wire(link: ProcessLink, _: Direction, boot: &BootParameters<'_>, _: &Personality) -> WireLink {
    if boot.faults.is_some() {
        boot_failed("this program's links know no faults; build it with the options that order them");
    }
    link
}

/// Creates the link with the faults that the boot parameters specify.
#[cfg(feature = "faults")]
fn wire(link: ProcessLink, d: Direction, boot: &BootParameters<'_>, who: &Personality) -> WireLink {
    use crate::dev::faults;
    use net_torus::link::Link as _;
    use net_torus::reliable::RetryConfig;
    let memory = vec![0; faults::memory(link.mtu(), faults::WINDOW)].leak();
    let retry = RetryConfig {
        timeout_ns: 20_000_000,
        // A computing neighbour does not respond until it is done; ten minutes of that count as a cut.
        retries: 2000,
    };
    or_fail(faults::repaired_link(
        link,
        &faults::requested_faults(boot),
        retry,
        &who.shape,
        who.coord,
        d,
        memory,
    ))
}

fn node(
    who: &Personality,
    matching: EngineChoice,
    torus: Torus<'static, WireLink>,
    account: &'static NodeAccount,
    word: &'static SleepFlag,
) -> LinuxNode {
    let adi = or_fail(device(who, &matching.kind(), random()));
    // If the node cannot be locked between two calls, a progress thread is impossible.
    let share = if node_lock::can_be_taken() { who.interrupts } else { 0 };
    let processors = thread::available_parallelism().map_or(1, |n| n.get());
    let platform = LinuxPlatform {
        memory: NodeMemory { lends: who.mpi_borrow },
        word,
        account,
        watches: who.shape.nodes() as usize <= processors,
        stands_in: share > 0,
        vain_looks: 0,
        wake_at: None,
        audit_at: 0,
    };
    LinuxNode::new(adi, torus, platform).limit_interrupts(share)
}

/// Returns an unpredictable value.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: the buffer has the specified length. If there are no random bytes, the time of day remains.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    u64::from_ne_bytes(bytes) ^ now_ns()
}

fn identify(boot: &BootParameters<'_>, memory: u64) -> Personality {
    let InstanceNodes::One(coord) = boot.nodes else {
        boot_failed("a process is one node");
    };
    let Some(rank) = boot.shape.rank(coord) else {
        // `BootParameters::read` has rejected coordinates outside the shape.
        boot_failed("coordinates outside the torus");
    };
    Personality {
        shape: boot.shape,
        coord,
        rank,
        clock_hz: 1_000_000_000,
        memory,
        mpi_memory: boot.mpi_memory.unwrap_or(memory / MPI_SHARE),
        mpi_borrow: boot.mpi_borrow,
        eager: boot.eager,
        interrupts: boot.interrupts.unwrap_or(100),
        exit: boot.exit,
    }
}

/// Creates the file of a job of one process.
fn own_file() -> std::io::Result<File> {
    // SAFETY: the name is a C string; the descriptor, if valid, has no other owner.
    let file = unsafe {
        let number = libc::memfd_create(c"midplane".as_ptr(), libc::MFD_CLOEXEC);
        if number < 0 {
            return Err(std::io::Error::last_os_error());
        }
        File::from_raw_fd(number)
    };
    file.set_len(ShareLayout::new(1).total())?;
    Ok(file)
}

/// Maps a part of the shared file, forever.
pub(super) fn map<T>(file: &File, offset: u64, bytes: usize) -> &'static T {
    // SAFETY: a new mapping without other users.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if start == libc::MAP_FAILED {
        let why = std::io::Error::last_os_error();
        boot_failed(format_args!("cannot map {bytes} bytes of the job's memory: {why}"));
    }
    // SAFETY: page-aligned memory of at least this size, never unmapped. The types there consist of atomics and of
    // cells that accept any bytes.
    unsafe { &*start.cast::<T>() }
}

/// Handles the program's end, by `exit` or the end of `main`. Reports it, and forwards for other nodes until the tool
/// reports the end of the job. Then it returns, and the process ends as its program has, with its usual exit handlers:
/// leak checkers, profilers and coverage counters write then.
#[unsafe(no_mangle)]
pub(super) extern "C" fn midplane_exit(status: c_int, _: *mut c_void) {
    let Some(process) = process() else { return };
    // SAFETY: all streams. Nothing else flushes them if this does not return.
    unsafe { libc::fflush(ptr::null_mut()) };
    if midplane_objects::installed::phase() == midplane_objects::installed::MpiPhase::Running {
        let failure = Failure {
            place: Some((process.who.rank, process.who.coord)),
            why: FailureReason::NotFinalized(status),
        };
        abort::end(
            FailureCode::MpiError,
            if status == 0 { 1 } else { status },
            &failure.in_words(write_text).to_string(),
        );
    }
    heap::note_peak();
    progress_thread::end();
    with_node(|node| {
        node.publish();
        process.account.blackboard.call(None);
        process.account.blackboard.done(status);
        if process.is_tended && process.who.exit == ExitAction::Stay {
            while !process.account.orders.has_ended() {
                node.forward();
            }
        }
    });
}
