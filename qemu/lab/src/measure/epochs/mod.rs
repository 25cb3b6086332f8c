//! Epochs in virtual time, with blocking and with nonblocking calls (thesis 001, chapter 5). The processes are those of
//! a [`Cluster`] with costs, so that the result is a function of the arguments alone.
//!
//! The programs call the epoch engine like the C binding: a blocking call is a nonblocking one and a wait. Their
//! windows contain no data; only the transfers are simulated.
#![forbid(unsafe_code)]

mod lu;
mod patterns;
mod transactions;

use std::sync::Mutex;

use midplane_device::envelope::{Context, Rank};
use midplane_device::kernel::CallInfo;
use midplane_device::memory::Span;
use midplane_device::rma::calls::{EpochCall, OneSidedCalls, WindowCall, WindowCondition};
use midplane_device::rma::deferred_ops::RecordedOperation;
use midplane_device::rma::epochs::{EpochArgs, EpochKind, ReorderFlags, WindowEvent, WindowSequence};
use midplane_device::rma::wire::{PacketKind, RequestHead};
use midplane_device::rma::{OneSided, Window, WindowPeer};
use midplane_rust::initialize;
use midplane_rust::traits::*;

pub use lu::{LuParameters, LuTimes, solve};
pub use patterns::{InefficiencyPattern, pattern};
pub use transactions::{TransactionLoad, throughput};

use super::timed::OperationCosts;
use crate::as_program;
use midplane_cluster::{Cluster, JobFailure, SimProcess};

/// Kind of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// Blocking calls.
    Blocking,
    /// Nonblocking calls, with ordered epochs.
    Nonblocking,
    /// Nonblocking calls; an access epoch may overtake another.
    Reordered,
}

const WINDOW: Context = 6;
/// Size of each process's part of the window in bytes: sufficient for a packet.
const WINDOW_BYTES: usize = 1024;
/// Size of an accumulate's element in bytes.
const ELEMENT: usize = 8;
const NOTE: CallInfo = CallInfo::without_peer("a call of a window's");

/// All packets use the same location.
fn walk(span: Span, _: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    run(span.address(), 0, len);
}

/// Creates the window of a process in a job of `size` processes.
fn windows(here: u32, size: u32, reorder: ReorderFlags) -> OneSided {
    let mut all = OneSided::new(Rank::new(here), |_, _, _, _| true, walk);
    assert!(all.prepare());
    let peers = vec![WindowPeer::default(); size as usize].into_boxed_slice();
    let members = (0..size).map(Rank::new);
    let regions = vec![Span::model(0, WINDOW_BYTES)];
    let window = Window::new(WINDOW, regions, false, 1, peers, members, Rank::new(here));
    let mut window = window.expect("the host's memory");
    window.set_reorder(reorder);
    all.add(window);
    all
}

struct MeasuredProcess<'a, 'b, 'm> {
    node: &'a SimProcess<'b, 'm>,
    calls: CallKind,
    began: u64,
}

impl MeasuredProcess<'_, '_, '_> {
    fn blocks(&self) -> bool {
        self.calls == CallKind::Blocking
    }

    /// Makes a call; if calls block, waits for the event of its sequence number.
    fn call(&self, call: EpochCall<'_>, watch: fn(WindowSequence) -> WindowEvent) -> WindowSequence {
        let serial = self.node.call_epoch(WINDOW, call);
        let serial = serial.expect("the host's memory");
        if self.blocks() {
            self.wait(watch(serial));
        }
        serial
    }

    /// MPI_Wait for a nonblocking call.
    fn wait(&self, watch: WindowEvent) {
        { self.node }.wait_for_window(NOTE, WINDOW, WindowCondition::Occurred(watch), false);
    }

    fn open(&self, sort: EpochKind, member: Option<u32>) -> WindowSequence {
        let member = member.map(Rank::new);
        let opening = EpochArgs {
            sort,
            members: member.as_slice(),
            checks: true,
        };
        self.call(EpochCall::Open(opening, None), WindowEvent::Opened)
    }

    fn start(&self, target: u32) -> WindowSequence {
        self.open(EpochKind::Start, Some(target))
    }

    fn post(&self, origin: u32) -> WindowSequence {
        self.open(EpochKind::Post, Some(origin))
    }

    fn lock(&self, target: u32) -> WindowSequence {
        let target = Rank::new(target);
        let is_exclusive = true;
        let sort = EpochKind::Lock { target, is_exclusive };
        self.open(sort, None)
    }

    /// Closes the epoch of the last fence, if any, and opens the next: one call.
    fn fence(&self, before: Option<WindowSequence>) -> WindowSequence {
        let opening = EpochArgs {
            sort: EpochKind::Fence,
            members: &[],
            checks: true,
        };
        if let Some(epoch) = before {
            let closed = { self.node }.call_epoch(WINDOW, EpochCall::Close(epoch, None));
            closed.expect("a window");
        }
        self.call(EpochCall::Open(opening, None), WindowEvent::Opened)
    }

    /// MPI_Win_complete, MPI_Win_wait or MPI_Win_unlock.
    fn close(&self, epoch: WindowSequence) {
        self.call(EpochCall::Close(epoch, None), WindowEvent::Closed);
    }

    fn put(&self, epoch: WindowSequence, target: u32, bytes: usize) {
        self.operation(PacketKind::Put, epoch, target, bytes);
    }

    fn accumulate(&self, epoch: WindowSequence, target: u32, bytes: usize) {
        self.operation(PacketKind::Accumulate, epoch, target, bytes);
    }

    fn operation(&self, kind: PacketKind, epoch: WindowSequence, target: u32, bytes: usize) {
        let operation = RecordedOperation {
            head: RequestHead {
                operation: 1,
                ..RequestHead::new(kind, WINDOW)
            },
            from: Span::model(1, bytes),
            compare: Span::EMPTY,
            into: Span::EMPTY,
            to: Span::model(0, bytes),
            len: bytes,
            unit: ELEMENT,
        };
        let record = EpochCall::Record {
            epoch,
            target: Rank::new(target),
            operation,
            told: None,
        };
        self.call(record, WindowEvent::Done);
    }

    fn compute(&self, ns: u64) {
        self.node.compute_ns(ns);
    }

    fn elapsed(&self) -> u64 {
        self.node.now_ns() - self.began
    }
}

/// Runs `program` as every process of a machine, all starting at the same time, and returns the measurement of each.
fn run(
    extents: [u16; 3],
    calls: CallKind,
    costs: OperationCosts,
    program: impl Fn(&MeasuredProcess<'_, '_, '_>) -> u64 + Sync,
) -> Result<Vec<u64>, JobFailure> {
    let measured = Mutex::new(vec![0; extents.iter().map(|&e| usize::from(e)).product()]);
    let reorder = ReorderFlags {
        access_after_access: calls == CallKind::Reordered,
        ..ReorderFlags::default()
    };
    let measure = |node: &SimProcess<'_, '_>| {
        let (rank, size) = (node.rank(), node.size());
        let universe = initialize().expect("once");
        let all = windows(rank, size, reorder);
        let prepared = node.change_window(WINDOW, WindowCall::Prepare(Some(Box::new(all))));
        prepared.expect("the host's memory");
        // The windows exist before the first packet for them.
        universe.world().barrier();
        // All processes have completed the barrier by then.
        let began = u64::from(size) * SETTLING_NS;
        node.compute_ns(began.saturating_sub(node.now_ns()));
        let process = MeasuredProcess { node, calls, began };
        let ns = program(&process);
        measured.lock().unwrap_or_else(|held| held.into_inner())[rank as usize] = ns;
        0
    };
    let process = |node: &SimProcess<'_, '_>| as_program(node, || measure(node));
    Cluster::new(extents).costs(costs).run(process)?;
    Ok(measured.into_inner().unwrap_or_else(|held| held.into_inner()))
}

/// Time from the start of a job until all processes have completed a barrier, per process.
const SETTLING_NS: u64 = 100_000;
