//! Nodes that are several to a process, each with its program's data in place while it goes on: the cluster's.
//!
//! This board's record of the process is such data, too. So what explains a node that fails speaks of the one that goes
//! on, and says it on that one's account.

use std::env;
use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use midplane_abi::address::Bytes;
use midplane_abi::blackboard::{Call, End, Message};
use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{Exit, Personality};
use midplane_device::Adi;
use midplane_device::matching::Choice;
use net_torus::coord::{Coord, Rank, Shape};
use net_torus::router::Router;

pub use super::boot::boot_failed;
use super::boot::map;
pub use super::end::before_end;
use super::share::Account;
use super::{PROCESS, Process, end, tool};
use crate::board::matching;
use crate::counters::{LinkFigures, NodeFigures, Sources, publish};

/// The variable in which the tool says how many processes are to have the nodes; without it, one.
pub const PROCESSORS: &str = "MIDPLANE_PROCESSORS";

/// The variable in which the tool says what costs other than the cost model's: `NAME=VALUE`, separated by commas.
pub const COSTS: &str = "MIDPLANE_COSTS";

/// Where all nodes say how they fare.
pub struct Accounts {
    all: &'static [Account; 0],
    shape: Shape,
    matching: Choice,
    /// This process's programs that have not ended.
    running: AtomicU32,
}

/// What the tool has told the process, whose shared file has the accounts, one of each node behind the other. `None` where
/// it was not the tool that started it.
pub struct Told {
    told: tool::Told,
    /// Processes that are to have the nodes.
    pub processors: usize,
    /// As [`COSTS`] has them.
    pub costs: String,
}

impl Told {
    /// Reads the variables, and takes them from the environment. From now on the process dies with the tool. To be called
    /// once, by the only thread.
    pub fn read() -> Option<Told> {
        let told = or_fail(tool::Told::read())?;
        let processors = env::var(PROCESSORS).ok();
        let costs = env::var(COSTS).ok();
        // SAFETY: there is one thread.
        unsafe {
            env::remove_var(PROCESSORS);
            env::remove_var(COSTS);
        }
        let processors = processors.and_then(|number| number.parse().ok());
        or_fail(told.die_with_tool());
        Some(Told {
            told,
            processors: processors.unwrap_or(1),
            costs: costs.unwrap_or_default(),
        })
    }

    /// Bytes of a program's stack.
    pub fn stack_bytes(&self) -> usize {
        self.told.bytes as usize
    }

    /// From now on `answer` is called when the tool asks for the counters of this process's nodes, by a signal's handler: it
    /// must neither allocate nor take locks.
    pub fn answer_by(&self, answer: fn()) {
        or_fail(self.told.answer_by(answer));
    }

    /// The boot parameters. Ends the process where they make no sense.
    pub fn boot_parameters(&self) -> BootParameters<'_> {
        let boot = or_fail(BootParameters::read(&self.told.record));
        or_fail(boot.check_matching(matching::chosen(boot.matching).name()));
        boot
    }

    /// The accounts of all nodes, which have this matching engine, and of which so many are this process's, and have not begun. From now on what fails is
    /// explained, on the account of the node that goes on.
    pub fn accounts(&self, shape: Shape, matching: Choice, here: u32) -> Accounts {
        let bytes = shape.nodes() as usize * size_of::<Account>();
        let all = map(&self.told.file, 0, bytes);
        end::explain(end::Panics::EndTheJob);
        Accounts {
            all,
            shape,
            matching,
            running: AtomicU32::new(here),
        }
    }
}

fn or_fail<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| boot_failed(why))
}

impl Accounts {
    fn of(&self, rank: Rank) -> &'static Account {
        assert!(rank < self.shape.nodes(), "a rank of the machine");
        // SAFETY: as many are mapped, for ever, and made of atomics.
        unsafe { &*self.all.as_ptr().add(rank as usize) }
    }

    /// The node of `rank` goes on for the first time, its data being in place: its program is to run on this stack.
    pub fn begin(&self, rank: Rank, stack: Bytes) {
        let account = self.of(rank);
        account.blackboard.begin();
        account.blackboard.set_rank(rank);
        account.blackboard.set_matching(self.matching.name());
        let coord = self.shape.coord(rank).unwrap_or_default();
        let process = Process {
            who: who(self.shape, rank, coord),
            is_tended: true,
            number: std::process::id(),
            account,
            stack,
        };
        if PROCESS.set(process).is_err() {
            boot_failed("a node begins twice");
        }
        account.blackboard.running();
    }

    /// Says which call the program is in; `None`: it is in its own code.
    pub fn call(&self, rank: Rank, call: Option<Call<'_>>) {
        self.of(rank).blackboard.call(call);
    }

    /// The program has ended with this status. The tool ends the process when it sees that of all: so of the last one it
    /// is said at the [job's end](Accounts::all_done).
    pub fn done(&self, rank: Rank, status: i32) {
        self.of(rank).blackboard.call(None);
        if self.running.fetch_sub(1, Ordering::Relaxed) > 1 {
            self.of(rank).blackboard.done(status);
        }
    }

    /// All of this process's programs have ended, these ranks with these statuses, and what nodes have counted is said.
    pub fn all_done(&self, statuses: impl IntoIterator<Item = (Rank, i32)>) {
        for (rank, status) in statuses {
            self.of(rank).blackboard.done(status);
        }
    }

    /// Says what a node has counted, which has run for so many nanoseconds of its clock and idled for so many of them.
    pub fn count(&self, rank: Rank, adi: &Adi, router: &Router<'_>, [run, idle]: [u64; 2]) {
        let own = NodeFigures {
            beats: 0,
            idle_ticks: idle,
            interrupt_ticks: 0,
            run_ticks: run,
            heap_peak_bytes: 0,
            link_defects: 0,
            link_retries: 0,
        };
        let sources = Sources {
            adi,
            torus: router.stats(),
            own: &own,
        };
        let links = router.links().iter();
        let links = links.map(|direction| (direction, LinkFigures::default()));
        publish(&self.of(rank).blackboard, sources, links);
    }

    /// Whether the tool waits for what the node of `rank` has counted.
    pub fn is_asked(&self, rank: Rank) -> bool {
        self.of(rank).orders.wants_counters()
    }

    /// It has been said.
    pub fn answered(&self, rank: Rank) {
        self.of(rank).orders.answer();
    }

    /// What counter number `index` of the list was when it was last said.
    pub fn counted(&self, rank: Rank, index: usize) -> u64 {
        self.of(rank).blackboard.counter(index)
    }

    /// The job cannot go on for what the program of `rank` does: says so on its account, and waits for the tool to
    /// end the process.
    pub fn fail(&self, rank: Rank, why: End, status: i32, message: &str) -> ! {
        let message = Message::Words(message);
        self.of(rank).blackboard.failed(why, status, message);
        loop {
            std::thread::park();
        }
    }
}

/// The node that goes on fails: says why on its account, with where it was, and waits for the tool to end the process.
pub fn fail_here(why: End, status: i32, message: &str) -> ! {
    end::end(why, status, message)
}

/// The name of the node that goes on, in messages.
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
        exit: Exit::Stay,
    }
}
