//! Boot of a Linux process as a node, from its start to the program, and the program's end.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::os::fd::{FromRawFd, OwnedFd};
use std::{ptr, thread};

use midplane_abi::blackboard::{FailureCode, NodeState};
use midplane_abi::boot_parameters::{BootParameters, InstanceNodes};
use midplane_abi::failure::{Failure, FailureReason};
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{ExitAction, Personality};
use midplane_engines::EngineChoice;
use net_torus::coord::Direction;
use net_torus::router::Router;
use net_torus::torus::Torus;

use super::abort::PanicMeaning;
use super::clock::now_ns;
use super::job_memory::{create_file, map};
use super::node_lock::{self, with_node};
use super::node_sleep::{self, ProcessDoorbell};
use super::outside::LinkEnd;
use super::platform::{LinuxNode, LinuxPlatform, ProcessLink, WireLink};
use super::share::{NodeAccount, ShareLayout};
use super::socket_link::SocketLink;
use super::tool::{self, ToolParameters};
use super::{
    JobManager, PROCESS, ProcessIdentity, abort, handover, heap, job_requests, launcher, process, progress_thread,
    shared_memory, threads,
};
use crate::board::device::device;
use crate::board::matching;
use crate::dev::ring::{RingLink, RingPair, SleepFlag};
use crate::heap_loan::NodeMemory;
use crate::memory_plan::{MPI_SHARE, ROUTER, ROUTER_BETWEEN_HOSTS};
use crate::mpi_failure::write_text;

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

/// Sets up the node; called before the program's first constructor. `has_thread_entries`: the functions of MPI in this
/// program take the lock of [`threads`] on request.
#[unsafe(no_mangle)]
extern "C" fn midplane_boot(has_thread_entries: c_int) {
    if has_thread_entries != 0 {
        threads::note_entries();
    }
    boot(PanicMeaning::EndTheJob);
}

/// Sets up the node of a program with this meaning of panics.
pub(super) fn boot(panics: PanicMeaning) {
    let by_tool = or_fail(ToolParameters::read());
    let manager = if by_tool.is_some() {
        JobManager::Tool
    } else {
        JobManager::Keeper
    };
    let mut program = None;
    let told = by_tool.or_else(|| match launcher::join() {
        Ok(joined) => joined.map(|(told, number)| {
            program = Some(number);
            told
        }),
        Err(why) => abort::end(
            FailureCode::Boot,
            1,
            &format!("{}: cannot start: {why}", launcher::name()),
        ),
    });
    let manager = if told.is_some() { manager } else { JobManager::None };
    let (own, settings);
    let (file, memory, record) = match &told {
        Some(told) => {
            or_fail(told.die_with_tool());
            (&told.file, told.bytes, &*told.record)
        }
        None => {
            (own, settings) = (
                or_fail(create_file(ShareLayout::new(1))),
                or_fail(launcher::settings_of_single_process()),
            );
            (&own, settings.0, &*settings.1)
        }
    };
    let boot = or_fail(BootParameters::read(record));
    let who = identify(&boot, memory);
    let layout = ShareLayout::new(who.shape.nodes());
    let account: &NodeAccount = or_fail(map(file, layout.account(who.rank), size_of::<NodeAccount>()));
    let word = |rank| -> &'static SleepFlag { or_fail(map(file, layout.word(rank), size_of::<SleepFlag>())) };
    let own_word = word(who.rank);
    let was_there = account.blackboard.state() != Some(NodeState::Off);
    account.blackboard.begin();
    account.blackboard.set_rank(who.rank);
    let matching = matching::select_engine(boot.matching);
    account.blackboard.set_matching(matching.name());
    let _ = PROCESS.set(ProcessIdentity {
        who,
        manager,
        number: super::process_id(),
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

    let outside = told.as_ref().and_then(|told| told.outside);
    // An agent of several hosts serves no requests.
    if manager == JobManager::Tool && outside.is_none() {
        or_fail(job_requests::provide(file, layout.request(who.rank)));
    }
    let sizes = match outside {
        Some(view) if view.event.is_some() => ROUTER_BETWEEN_HOSTS,
        _ => ROUTER,
    };
    let chunks = vec![[0; net_torus::chunk::CHUNK_BYTES]; sizes.chunks()].leak();
    let router = or_fail(Router::new(who.shape, who.coord, sizes, chunks));
    if let Some(view) = &outside {
        node_sleep::set_outside(view);
    }
    // If the node cannot be locked between two calls, a progress thread is impossible.
    let share = if node_lock::can_be_taken() { who.interrupts } else { 0 };
    let inherited = handover::inherited_state();
    let links = Direction::ALL.map(|d| {
        let there = who.shape.neighbour(who.coord, d)?;
        let there = who.shape.rank(there)?;
        let event = match outside.map_or(LinkEnd::Word, |view| view.end(d)) {
            LinkEnd::Word => None,
            LinkEnd::Event(event) => Some(event),
            LinkEnd::Socket(socket) => {
                // SAFETY: the agent passes us this descriptor, and nothing else owns it.
                let socket = unsafe { OwnedFd::from_raw_fd(socket) };
                let link = SocketLink::new(socket, own_word, node_sleep::socket_state(d), share > 0);
                return Some(wire(ProcessLink::Device(link), d, &boot, &who));
            }
        };
        let (axis, is_plus) = (d as usize / 2, (d as usize).is_multiple_of(2));
        let owner = if is_plus { who.rank } else { there };
        let pair: &RingPair = or_fail(map(file, layout.pair(owner, axis), size_of::<RingPair>()));
        let there = word(there);
        let link = RingLink::new(pair, d, own_word, there, ProcessDoorbell::new(there, event)).seal(boot.seal);
        let link = match &inherited {
            Some(state) => link.resume(state.position(d)),
            None => link,
        };
        Some(wire(ProcessLink::Ring(link), d, &boot, &who))
    });
    let mut torus = or_fail(Torus::new(router, links));
    if let Some(state) = &inherited {
        or_fail(state.restore_credits(&mut torus));
    }
    let world = told.as_ref().and_then(|told| told.world);
    let ranks = world.map_or(who.shape.nodes(), |world| world.size);
    let busy = outside.map_or(ranks, |outside| outside.ranks);
    let mut node = node(&who, matching, torus, account, own_word, busy, share);
    if let Some(state) = &inherited {
        state.restore_ages(node.parts().0);
        own_word.disarm();
    }
    node_lock::set(node);
    if let Some(told) = &told {
        tool::set_word(word(who.rank));
        let answer = match manager {
            JobManager::Keeper => launcher::obey,
            JobManager::Tool | JobManager::None => tool::answer_now,
        };
        or_fail(told.answer_by(answer));
    }
    if let Some(world) = world {
        world.install();
    }
    let appnum = world.map_or(boot.programs.for_rank(who.rank).number, |world| world.appnum);
    midplane_objects::installed::set_appnum(program.unwrap_or(appnum));
    let has_one_program = boot.programs.for_rank(who.shape.nodes() - 1).number == 0;
    let host = outside.map_or(0, |outside| outside.host);
    shared_memory::provide(host);
    midplane_objects::installed::install(threads::device(has_one_program));
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

/// Creates the node, on a machine where this number of processes may be busy, with this share of the processor for progress
/// while the program computes.
fn node(
    who: &Personality,
    matching: EngineChoice,
    torus: Torus<'static, WireLink>,
    account: &'static NodeAccount,
    word: &'static SleepFlag,
    busy: u32,
    share: u8,
) -> LinuxNode {
    let adi = or_fail(device(who, &matching.kind(), random()));
    let processors = thread::available_parallelism().map_or(1, |n| n.get());
    let platform = LinuxPlatform {
        memory: NodeMemory { lends: who.mpi_borrow },
        word,
        account,
        watches: Cell::new(busy as usize <= processors),
        stands_in: share > 0,
        forwards: who.shape.has_through_traffic(),
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
        if process.manager == JobManager::Keeper {
            launcher::tell_done();
        }
        if process.manager != JobManager::None && process.who.exit == ExitAction::Stay {
            while !process.account.orders.has_ended() && !handover::hands_over(node, &process.account.orders) {
                node.forward();
            }
        }
    });
    launcher::end_session();
}
