//! Scripts: the calls of a process, in order.

use std::ops::Range;
use std::sync::Arc;

use midplane_device::envelope::{Context, Rank};
use midplane_device::memory::{Span, UserMemory};
use midplane_device::rma::deferred_ops::RecordedOperation;
use midplane_device::rma::epochs::{EpochArgs, EpochKind, ReorderFlags, WindowEvent, WindowSequence};
use midplane_device::rma::rules::EpochRules;
use midplane_device::rma::wire::{HEAD_BYTES, MAX_BYTES, PIECE_BYTES, PacketKind, RequestHead, emit_piece};
use midplane_device::rma::{AttachError, OneSided, Window, WindowPeer};

use super::memory;
use crate::sim::ProgramHeaps;

/// Operation that adds bytes.
pub const ADD: u8 = 1;
/// Operation that replaces bytes.
pub const REPLACE: u8 = 2;

/// An operation at a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetOp {
    /// The process's epoch, by its index in opening order.
    pub epoch: usize,
    /// Target rank.
    pub target: u32,
    /// Kind of operation.
    pub kind: PacketKind,
    /// Operation of an accumulate.
    pub operation: u8,
    /// Offset in the target's window.
    pub place: usize,
    /// Location of the origin's bytes, or of the result.
    pub from: usize,
    /// Location of a fetch's result, or of the compare value.
    pub other: usize,
    /// Length in bytes.
    pub len: usize,
    /// Size of an indivisible element in bytes, except for a compare-and-swap.
    pub unit: usize,
    /// Every second byte, on both sides.
    pub is_strided: bool,
    /// Transmitted directly, like a blocking call, and not recorded.
    pub is_straight: bool,
}

impl TargetOp {
    /// Creates an operation of an epoch on a target, for `len` bytes at these offsets there and here.
    pub fn new(epoch: usize, target: u32, kind: PacketKind, place: usize, from: usize, len: usize) -> TargetOp {
        TargetOp {
            epoch,
            target,
            kind,
            operation: ADD,
            place,
            from,
            other: 0,
            len,
            unit: 1,
            is_strided: false,
            is_straight: false,
        }
    }
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptCall {
    /// Opens an epoch in a window.
    Open(usize, EpochKind, Vec<u32>),
    /// Opens an epoch with MPI_MODE_NOCHECK: the program guarantees an open other side, or no other lock.
    OpenUnchecked(usize, EpochKind, Vec<u32>),
    /// Closes an epoch.
    Close(usize),
    /// An operation.
    Operation(TargetOp),
    /// Flushes an epoch, at one process or all; local or not.
    Flush(usize, Option<u32>, bool),
    /// Waits until the epoch is open.
    WaitOpen(usize),
    /// Waits until the epoch is complete.
    WaitClosed(usize),
    /// Waits for the operation or flush with this index.
    WaitDone(usize),
    /// Writes bytes.
    Write(usize, Vec<u8>),
    /// Checks for these bytes.
    Expect(usize, Vec<u8>),
    /// Computes, or communicates outside the windows, for this many steps.
    Compute(u32),
    /// Attaches these bytes of the dynamic window's part.
    Attach(Range<usize>),
    /// Detaches the memory that starts here.
    Detach(usize),
    /// Checks whether an operation in the window was beyond its target's memory since the last check.
    Fault(usize, bool),
}

/// Property: the memory contains the required bytes.
pub const WRONG_BYTES: &str = "a process has other bytes than it must have";
/// Property: errors are reported for exactly the operations beyond a window.
pub const FAULT: &str = "a process is told of operations beyond a window, and of no others";

/// A process's calls for its windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallScript {
    calls: Arc<[ScriptCall]>,
    at: usize,
    computing: u32,
    epochs: Vec<(Context, WindowSequence)>,
    deferred: Vec<(Context, WindowSequence)>,
    /// The last call failed for lack of memory.
    is_short: bool,
}

fn context(window: usize) -> Context {
    6 + 2 * window as Context
}

/// Returns the window with this context.
pub fn window_of(context: Context) -> usize {
    usize::from(context - 6) / 2
}

/// Creates `count` windows of process `here` of a job of this `size`.
pub fn windows<R: EpochRules>(here: u32, size: u32, count: usize, rules: R, reorder: ReorderFlags) -> OneSided<R> {
    let mut all = OneSided::with_rules(Rank::new(here), memory::combine, memory::walk, rules);
    for number in 0..count {
        assert!(all.prepare());
        let peers = vec![WindowPeer::default(); size as usize].into_boxed_slice();
        let members = (0..size).map(Rank::new);
        let is_dynamic = number == memory::DYNAMIC;
        let regions = if is_dynamic {
            Vec::new()
        } else {
            vec![memory::window(number)]
        };
        let window = Window::new(context(number), regions, is_dynamic, 1, peers, members, Rank::new(here));
        let mut window = window.expect("the host's memory");
        window.set_reorder(reorder);
        all.add(window);
    }
    all
}

/// Checks that nothing is open, deferred or awaited in any window.
pub fn is_idle<R: EpochRules>(all: &mut OneSided<R>) -> bool {
    let mut windows = (0..memory::ALL_WINDOWS).map(context);
    windows.all(|context| all.is_idle(context) && !all.awaits(context, None))
}

impl CallScript {
    /// Creates a script before its first call.
    pub fn new(calls: Vec<ScriptCall>) -> CallScript {
        CallScript {
            calls: calls.into(),
            at: 0,
            computing: 0,
            epochs: Vec::new(),
            deferred: Vec::new(),
            is_short: false,
        }
    }

    /// Checks whether the next call failed for lack of memory, and must be repeated.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Checks whether all calls are made.
    pub fn is_finished(&self) -> bool {
        self.at == self.calls.len()
    }

    /// Returns the window, the epoch and the target of the next call, if that is an operation.
    pub fn next_operation(&self) -> Option<(usize, WindowSequence, u32)> {
        let Some(ScriptCall::Operation(what)) = self.calls.get(self.at) else {
            return None;
        };
        let (context, epoch) = *self.epochs.get(what.epoch)?;
        Some((window_of(context), epoch, what.target))
    }

    /// Returns its position, which together with device and memory is its complete state.
    pub fn place(&self) -> (usize, u32) {
        (self.at, self.computing)
    }

    /// Makes the next call if possible, with memory from `heap`, and the checks of memory that follow it. Returns false
    /// if it waits, or there is none.
    pub fn step<R: EpochRules>(
        &mut self,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn ProgramHeaps,
    ) -> Result<bool, &'static str> {
        all.advance_local(memory);
        let is_made = self.step_once(all, memory, heap)?;
        all.advance_local(memory);
        let is_local = |call: &ScriptCall| {
            matches!(
                call,
                ScriptCall::Write(..) | ScriptCall::Expect(..) | ScriptCall::Fault(..)
            )
        };
        while is_made && self.calls.get(self.at).is_some_and(is_local) {
            self.step_once(all, memory, heap)?;
        }
        Ok(is_made)
    }

    fn step_once<R: EpochRules>(
        &mut self,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn ProgramHeaps,
    ) -> Result<bool, &'static str> {
        let here = all.own_rank();
        self.is_short = false;
        let calls = self.calls.clone();
        let Some(call) = calls.get(self.at) else {
            return Ok(false);
        };
        let is_made = match call {
            ScriptCall::Open(window, sort, members) | ScriptCall::OpenUnchecked(window, sort, members) => {
                let checks = matches!(call, ScriptCall::Open(..));
                let opening = EpochArgs {
                    sort: *sort,
                    members: &members.iter().copied().map(Rank::new).collect::<Vec<_>>(),
                    checks,
                };
                self.open(context(*window), opening, all, heap)
            }
            ScriptCall::Close(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.close(context, serial, None);
                true
            }
            ScriptCall::Operation(what) => self.perform(what, all, memory, heap),
            ScriptCall::Flush(epoch, target, is_local) => {
                let (context, serial) = self.epochs[*epoch];
                let of = (context, serial, target.map(Rank::new));
                heap.enter(here);
                let flush = all.flush(of, *is_local, None);
                heap.exit(here);
                self.note(context, flush)
            }
            ScriptCall::WaitOpen(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.has_occurred(context, WindowEvent::Opened(serial))
            }
            ScriptCall::WaitClosed(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.has_occurred(context, WindowEvent::Closed(serial))
            }
            ScriptCall::WaitDone(number) => {
                let (context, serial) = self.deferred[*number];
                all.has_occurred(context, WindowEvent::Done(serial))
            }
            _ => self.alone(call, all, memory, heap)?,
        };
        if is_made {
            (self.at, self.computing) = (self.at + 1, 0);
        }
        Ok(is_made || self.computing > 0)
    }

    /// Makes a call that waits for no other process.
    fn alone<R: EpochRules>(
        &mut self,
        call: &ScriptCall,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn ProgramHeaps,
    ) -> Result<bool, &'static str> {
        Ok(match call {
            ScriptCall::Write(at, bytes) => {
                memory.write(memory::here(*at, bytes.len(), false), 0, bytes);
                true
            }
            ScriptCall::Expect(at, bytes) => {
                let mut found = vec![0; bytes.len()];
                memory.read(memory::here(*at, bytes.len(), false), 0, &mut found);
                if found != *bytes {
                    return Err(WRONG_BYTES);
                }
                true
            }
            ScriptCall::Compute(turns) => {
                self.computing += 1;
                self.computing > *turns
            }
            ScriptCall::Attach(bytes) => {
                let at = memory::part(memory::DYNAMIC).start + bytes.start;
                let region = memory::here(at, bytes.len(), false);
                let here = all.own_rank();
                let window = all.window(context(memory::DYNAMIC)).expect("a window");
                heap.enter(here);
                self.is_short = window.attach(region) == Err(AttachError::OutOfMemory);
                heap.exit(here);
                !self.is_short
            }
            ScriptCall::Detach(at) => {
                let window = all.window(context(memory::DYNAMIC)).expect("a window");
                let _ = window.detach(memory::address(*at));
                true
            }
            ScriptCall::Fault(window, is_faulty) => {
                let window = all.window(context(*window));
                if window.is_some_and(Window::reset_fault) != *is_faulty {
                    return Err(FAULT);
                }
                true
            }
            _ => false,
        })
    }

    /// Opens an epoch, unless there is no memory for it.
    fn open<R: EpochRules>(
        &mut self,
        context: Context,
        opening: EpochArgs<'_>,
        all: &mut OneSided<R>,
        heap: &dyn ProgramHeaps,
    ) -> bool {
        heap.enter(all.own_rank());
        let epoch = all.open(context, opening, None);
        heap.exit(all.own_rank());
        self.is_short = epoch.is_none();
        self.epochs.extend(epoch.map(|epoch| (context, epoch)));
        !self.is_short
    }

    /// Records an operation or a flush, unless there was no memory for it.
    fn note(&mut self, context: Context, deferred: Option<WindowSequence>) -> bool {
        self.is_short = deferred.is_none();
        self.deferred.extend(deferred.map(|one| (context, one)));
        !self.is_short
    }

    fn perform<R: EpochRules>(
        &mut self,
        what: &TargetOp,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn ProgramHeaps,
    ) -> bool {
        let (context, epoch) = self.epochs[what.epoch];
        let target = Rank::new(what.target);
        let mine = |at| memory::here(at, what.len, what.is_strided);
        let head = RequestHead {
            operation: what.operation,
            datatype: what.unit as u8,
            ..RequestHead::new(what.kind, context)
        };
        let is_put = matches!(what.kind, PacketKind::Put | PacketKind::Accumulate);
        let can_leave = |all: &mut OneSided<R>| {
            is_put
                && !what.is_strided
                && what.is_straight
                && what.len <= MAX_BYTES
                && what.target != all.own_rank().index()
                && all.can_access(context, epoch, target)
        };
        if can_leave(all) {
            let mut packet = [0; HEAD_BYTES + PIECE_BYTES + MAX_BYTES];
            head.emit(&mut packet);
            let bytes = emit_piece(&mut packet[HEAD_BYTES..], what.place as u64, what.len);
            memory.read(mine(what.from), 0, bytes);
            let packet = &packet[..HEAD_BYTES + PIECE_BYTES + what.len];
            // Recorded like a deferred operation that is complete.
            let is_sent = all.push((context, target), 0, packet);
            if is_sent {
                self.deferred.push((context, 0));
            }
            return is_sent;
        }
        let (from, into, compare) = match what.kind {
            PacketKind::Put | PacketKind::Accumulate => (mine(what.from), Span::EMPTY, Span::EMPTY),
            PacketKind::Get => (Span::EMPTY, mine(what.from), Span::EMPTY),
            PacketKind::Fetch => (mine(what.from), mine(what.other), Span::EMPTY),
            _ => (mine(what.from), mine(what.other + what.len), mine(what.other)),
        };
        let operation = RecordedOperation {
            head,
            from,
            compare,
            into,
            to: memory::there(what.place, what.len, what.is_strided),
            len: what.len,
            unit: match what.kind {
                PacketKind::Compare => what.len,
                _ => what.unit,
            },
        };
        let here = all.own_rank();
        heap.enter(here);
        let deferred = all.defer(context, epoch, target, operation, None);
        heap.exit(here);
        self.note(context, deferred)
    }
}
