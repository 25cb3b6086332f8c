//! Several nodes in one process, each with its program's data in place while it runs: for the simulator.
//!
//! This board's record of the process is part of that data. So the failure report describes the running node and uses
//! that node's account.

use std::env;
use std::fmt::Display;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{CallRecord, FailureCode, FinalMessage};
use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{ExitAction, Personality};
use midplane_device::Adi;
use midplane_engines::EngineChoice;
use net_torus::coord::{Coord, Rank, Shape};
use net_torus::router::Router;

pub use super::abort::before_end;
pub use super::boot::boot_failed;
use super::job_memory::map;
use super::share::NodeAccount;
use super::{JobManager, PROCESS, ProcessIdentity, abort, tool};
use crate::board::matching;
use crate::counters::{CounterSources, LinkDeviceStats, NodeStats, publish};
use crate::queues::show_queues;

/// Environment variable with the number of processes that simulate the nodes; without it, one.
pub const PROCESSORS: &str = "MIDPLANE_PROCESSORS";

/// Environment variable with changes to the cost model: `NAME=VALUE`, separated by commas.
pub const COSTS: &str = "MIDPLANE_COSTS";

/// Environment variable with the descriptor of the socket for an exploration's runs.
pub const EXPLORE: &str = "MIDPLANE_EXPLORE";

/// Environment variable with the file of the schedule to repeat.
pub const SCHEDULE: &str = "MIDPLANE_SCHEDULE";

/// Environment variable with the descriptor of the file that receives the frames of the links
/// ([`midplane_abi::captured_frames`]).
pub const CAPTURE: &str = "MIDPLANE_CAPTURE";

/// Status records of all nodes.
pub struct AccountTable {
    all: &'static [NodeAccount; 0],
    shape: Shape,
    matching: EngineChoice,
    /// The tool watches the accounts, and ends the process.
    is_tended: bool,
    /// This process's programs that have not ended.
    running: AtomicU32,
}

/// Parameters from the host tool. The shared file contains one account per node, consecutively. `None` if the tool did
/// not start this process.
pub struct ToolParameters {
    told: tool::ToolParameters,
    /// Number of processes that simulate the nodes.
    pub processors: usize,
    /// Value of [`COSTS`].
    pub costs: String,
    /// Socket for the runs of an exploration.
    pub explore: Option<OwnedFd>,
    /// File of the schedule to repeat.
    pub schedule: Option<String>,
    /// File of captured frames.
    pub capture: Option<OwnedFd>,
}

impl ToolParameters {
    /// Reads the variables and removes them from the environment. From now on the process dies with the tool. Must be
    /// called once, by the only thread.
    pub fn read() -> Option<ToolParameters> {
        let told = or_fail(tool::ToolParameters::read())?;
        let processors = env::var(PROCESSORS).ok();
        let costs = env::var(COSTS).ok();
        let explore = env::var(EXPLORE).ok().and_then(|number| number.parse().ok());
        let capture = env::var(CAPTURE).ok().and_then(|number| number.parse().ok());
        let schedule = env::var(SCHEDULE).ok();
        // SAFETY: there is one thread.
        unsafe {
            env::remove_var(PROCESSORS);
            env::remove_var(COSTS);
            env::remove_var(EXPLORE);
            env::remove_var(SCHEDULE);
            env::remove_var(CAPTURE);
        }
        let processors = processors.and_then(|number| number.parse().ok());
        or_fail(told.die_with_tool());
        Some(ToolParameters {
            told,
            processors: processors.unwrap_or(1),
            costs: costs.unwrap_or_default(),
            // SAFETY: the tool passes this descriptor, and nothing else owns it.
            explore: explore.map(|number| unsafe { OwnedFd::from_raw_fd(number) }),
            schedule,
            // SAFETY: as above.
            capture: capture.map(|number| unsafe { OwnedFd::from_raw_fd(number) }),
        })
    }

    /// Returns the stack size of a program in bytes.
    pub fn stack_bytes(&self) -> usize {
        self.told.bytes as usize
    }

    /// Registers `answer`, called when the tool requests the counters of this process's nodes. It runs in a signal
    /// handler, so it must neither allocate nor take locks.
    pub fn answer_by(&self, answer: fn()) {
        or_fail(self.told.answer_by(answer));
    }

    /// Returns the boot parameters. Ends the process if they are invalid.
    pub fn boot_parameters(&self) -> BootParameters<'_> {
        let boot = or_fail(BootParameters::read(&self.told.record));
        or_fail(boot.check_matching(matching::select_engine(boot.matching).name()));
        boot
    }

    /// Returns the accounts of all nodes, which use this matching engine; `here` of them belong to this process, and
    /// have not begun. From now on failures are explained, on the account of the running node.
    pub fn accounts(&self, shape: Shape, matching: EngineChoice, here: u32) -> AccountTable {
        let bytes = shape.nodes() as usize * size_of::<NodeAccount>();
        let all = or_fail(map(&self.told.file, 0, bytes));
        abort::explain(abort::PanicMeaning::EndTheJob);
        AccountTable {
            all,
            shape,
            matching,
            is_tended: self.explore.is_none(),
            running: AtomicU32::new(here),
        }
    }
}

fn or_fail<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| boot_failed(why))
}

impl AccountTable {
    fn account_of_rank(&self, rank: Rank) -> &'static NodeAccount {
        assert!(rank < self.shape.nodes(), "a rank of the machine");
        // SAFETY: this many are mapped, forever, and consist of atomics.
        unsafe { &*self.all.as_ptr().add(rank as usize) }
    }

    /// Records that the node of `rank` runs for the first time, with its data in place and its program on this stack.
    pub fn begin(&self, rank: Rank, stack: AddressRange) {
        let account = self.account_of_rank(rank);
        account.blackboard.begin();
        account.blackboard.set_rank(rank);
        account.blackboard.set_matching(self.matching.name());
        let coord = self.shape.coord(rank).unwrap_or_default();
        let process = ProcessIdentity {
            who: who(self.shape, rank, coord),
            manager: if self.is_tended {
                JobManager::Tool
            } else {
                JobManager::None
            },
            number: super::process_id(),
            account,
            stack,
        };
        if PROCESS.set(process).is_err() {
            boot_failed("a node begins twice");
        }
        account.blackboard.running();
    }

    /// Sets the program's current MPI call; `None`: it is in its own code.
    pub fn call(&self, rank: Rank, call: Option<CallRecord<'_>>) {
        self.account_of_rank(rank).blackboard.call(call);
    }

    /// Records that the program has ended with this status. The tool ends the process when all programs have, so the
    /// last one is reported at the [job's end](AccountTable::all_done).
    pub fn done(&self, rank: Rank, status: i32) {
        self.account_of_rank(rank).blackboard.call(None);
        if self.running.fetch_sub(1, Ordering::Relaxed) > 1 {
            self.account_of_rank(rank).blackboard.done(status);
        }
    }

    /// Reports these ranks' statuses after all of this process's programs have ended and the counters were written.
    pub fn all_done(&self, statuses: impl IntoIterator<Item = (Rank, i32)>) {
        for (rank, status) in statuses {
            self.account_of_rank(rank).blackboard.done(status);
        }
    }

    /// Writes a node's counters. Its clock has run for `run` nanoseconds, `idle` of them without work.
    pub fn count(&self, rank: Rank, adi: &Adi, router: &Router<'_>, [run, idle]: [u64; 2]) {
        let own = NodeStats {
            beats: 0,
            idle_ticks: idle,
            interrupt_ticks: 0,
            run_ticks: run,
            heap_peak_bytes: 0,
            link_defects: 0,
            link_retries: 0,
        };
        let sources = CounterSources {
            adi,
            torus: router.stats(),
            own: &own,
        };
        let links = router.links().iter();
        let links = links.map(|direction| (direction, LinkDeviceStats::default()));
        publish(&self.account_of_rank(rank).blackboard, sources, links);
    }

    /// Writes the message queues of a node whose program waits.
    pub fn show_queues(&self, rank: Rank, adi: &mut Adi) {
        let account = self.account_of_rank(rank);
        show_queues(&account.queues, &account.blackboard, adi);
    }

    /// Shows the location of the current call of `rank`, whose program runs on the calling stack.
    pub fn show_location(&self, rank: Rank) {
        abort::show_location(self.account_of_rank(rank));
    }

    /// Returns whether the tool requests the counters of `rank`.
    pub fn is_asked(&self, rank: Rank) -> bool {
        self.account_of_rank(rank).orders.wants_counters()
    }

    /// Confirms that the counters were written.
    pub fn answered(&self, rank: Rank) {
        self.account_of_rank(rank).orders.answer();
    }

    /// Returns the last written value of counter `index`.
    pub fn counted(&self, rank: Rank, index: usize) -> u64 {
        self.account_of_rank(rank).blackboard.counter(index)
    }

    /// Ends the job because of an error of the program of `rank`: reports it on that account, and waits for the tool to
    /// end the process.
    pub fn fail(&self, rank: Rank, why: FailureCode, status: i32, message: &str) -> ! {
        if !self.is_tended {
            boot_failed(message);
        }
        let message = FinalMessage::Text(message);
        self.account_of_rank(rank).blackboard.failed(why, status, message);
        loop {
            std::thread::park();
        }
    }
}

/// Fails the running node: reports the reason and the location on its account, and waits for the tool to end the
/// process.
pub fn fail_here(why: FailureCode, status: i32, message: &str) -> ! {
    abort::end(why, status, message)
}

/// Returns the running node's name for messages.
pub fn name() -> impl Display {
    NodeName(super::process().map(|process| (process.who.rank, process.who.coord)))
}

fn who(shape: Shape, rank: Rank, coord: Coord) -> Personality {
    Personality {
        shape,
        coord,
        rank,
        clock_hz: 1_000_000_000,
        memory: 0,
        mpi_memory: 0,
        mpi_borrow: false,
        eager: None,
        interrupts: 100,
        exit: ExitAction::Stay,
    }
}
