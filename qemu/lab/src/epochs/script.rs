//! What a process calls, one after the other.

use std::ops::Range;
use std::sync::Arc;

use midplane_device::envelope::{Context, Rank};
use midplane_device::memory::{Span, UserMemory};
use midplane_device::rma::deferred::Operation;
use midplane_device::rma::epochs::{Opening, Reorder, Rules, Serial, Sort, Watch};
use midplane_device::rma::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece};
use midplane_device::rma::{NotAttached, OneSided, Peer, Window};

use super::memory;
use crate::sim::Heap;

/// The operation that adds bytes.
pub const ADD: u8 = 1;
/// The operation that replaces them.
pub const REPLACE: u8 = 2;

/// An operation at a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Do {
    /// The process's own epoch, by its number in the order in which it opened them.
    pub epoch: usize,
    /// Where.
    pub target: u32,
    /// What.
    pub kind: Kind,
    /// Which operation, of accumulates.
    pub operation: u8,
    /// The place in the target's window.
    pub place: usize,
    /// Where the origin's bytes are, or the result goes.
    pub from: usize,
    /// Where the result of a fetch goes, or what a comparison compares is.
    pub other: usize,
    /// Bytes.
    pub len: usize,
    /// Bytes that stay together, of all but a comparison.
    pub unit: usize,
    /// Every second byte, at both sides.
    pub is_strided: bool,
    /// Straight to the target, as calls do that wait, not recorded.
    pub is_straight: bool,
}

impl Do {
    /// An operation of an epoch on a target: so many bytes, between a place there and one here.
    pub fn new(
        (epoch, target): (usize, u32),
        kind: Kind,
        (place, from): (usize, usize),
        len: usize,
    ) -> Do {
        Do {
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
pub enum Call {
    /// An epoch is opened in a window.
    Open(usize, Sort, Vec<u32>),
    /// The same, and the program says that the other side is there, or no other lock (MPI_MODE_NOCHECK).
    OpenUnchecked(usize, Sort, Vec<u32>),
    /// It is closed.
    Close(usize),
    /// An operation.
    Do(Do),
    /// A flush of an epoch, at one process or all; local or not.
    Flush(usize, Option<u32>, bool),
    /// The epoch is waited for: until it is open.
    WaitOpen(usize),
    /// Until it is complete.
    WaitClosed(usize),
    /// The operation or flush of this number is waited for.
    WaitDone(usize),
    /// Bytes are written.
    Write(usize, Vec<u8>),
    /// What must be there now.
    Expect(usize, Vec<u8>),
    /// As often as not it is tried again: the process computes, or talks to others.
    Compute(u32),
    /// These bytes of the dynamic window's part are attached.
    Attach(Range<usize>),
    /// Those that begin here are detached.
    Detach(usize),
    /// Since this was asked last, an operation in the window has been beyond what its target exposes, or none.
    Fault(usize, bool),
}

/// Why a script is broken.
pub const WRONG_BYTES: &str = "a process has other bytes than it must have";
/// The same.
pub const FAULT: &str = "a process is told of operations beyond a window, and of no others";

/// A process, as far as its windows go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    calls: Arc<[Call]>,
    /// The next call.
    at: usize,
    computing: u32,
    epochs: Vec<(Context, Serial)>,
    deferred: Vec<(Context, Serial)>,
    /// The last call could not be made for want of memory.
    is_short: bool,
}

fn context(window: usize) -> Context {
    6 + 2 * window as Context
}

/// So many windows of process `here` of a job of this `size`.
pub fn windows<R: Rules>(
    (here, size): (u32, u32),
    count: usize,
    rules: R,
    reorder: Reorder,
) -> OneSided<R> {
    let mut all = OneSided::with_rules(Rank::new(here), memory::combine, memory::walk, rules);
    for number in 0..count {
        assert!(all.prepare());
        let peers = vec![Peer::default(); size as usize].into_boxed_slice();
        let members = ((0..size).map(Rank::new), Rank::new(here));
        let is_dynamic = number == memory::DYNAMIC;
        let regions = match is_dynamic {
            true => Vec::new(),
            false => vec![memory::window(number)],
        };
        let window = Window::new(context(number), regions, (is_dynamic, 1), peers, members);
        let mut window = window.expect("the host's memory");
        window.set_reorder(reorder);
        all.add(window);
    }
    all
}

/// Nothing is open, deferred or awaited in any window.
pub fn is_idle<R: Rules>(all: &mut OneSided<R>) -> bool {
    let mut windows = (0..memory::ALL_WINDOWS).map(context);
    windows.all(|context| all.is_idle(context) && !all.awaits(context, None))
}

impl Script {
    /// Before its first call.
    pub fn new(calls: Vec<Call>) -> Script {
        Script {
            calls: calls.into(),
            at: 0,
            computing: 0,
            epochs: Vec::new(),
            deferred: Vec::new(),
            is_short: false,
        }
    }

    /// The next call could not be made for want of memory, and is to be made again.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// It has made all its calls.
    pub fn is_finished(&self) -> bool {
        self.at == self.calls.len()
    }

    /// How far it is, which with its device and memory is all that there is to know of it.
    pub fn place(&self) -> (usize, u32) {
        (self.at, self.computing)
    }

    /// Makes the next call if it can be made, with memory of `heap`, and looks at its memory if it does so next; false: it
    /// waits, or there is none.
    pub fn step<R: Rules>(
        &mut self,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn Heap,
    ) -> Result<bool, &'static str> {
        all.go_on_here(memory);
        let is_made = self.step_once(all, memory, heap)?;
        all.go_on_here(memory);
        let is_local =
            |call: &Call| matches!(call, Call::Write(..) | Call::Expect(..) | Call::Fault(..));
        while is_made && self.calls.get(self.at).is_some_and(is_local) {
            self.step_once(all, memory, heap)?;
        }
        Ok(is_made)
    }

    fn step_once<R: Rules>(
        &mut self,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn Heap,
    ) -> Result<bool, &'static str> {
        let here = all.here();
        self.is_short = false;
        let calls = self.calls.clone();
        let Some(call) = calls.get(self.at) else {
            return Ok(false);
        };
        let is_made = match call {
            Call::Open(window, sort, members) | Call::OpenUnchecked(window, sort, members) => {
                let checks = matches!(call, Call::Open(..));
                self.open(context(*window), (*sort, members, checks), all, heap)
            }
            Call::Close(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.close(context, serial, None);
                true
            }
            Call::Do(what) => self.perform(what, all, memory, heap),
            Call::Flush(epoch, target, is_local) => {
                let (context, serial) = self.epochs[*epoch];
                let of = (context, serial, target.map(Rank::new));
                heap.enter(here);
                let flush = all.flush(of, *is_local, None);
                heap.leave(here);
                self.note(context, flush)
            }
            Call::WaitOpen(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.is_over(context, Watch::Opened(serial))
            }
            Call::WaitClosed(epoch) => {
                let (context, serial) = self.epochs[*epoch];
                all.is_over(context, Watch::Closed(serial))
            }
            Call::WaitDone(number) => {
                let (context, serial) = self.deferred[*number];
                all.is_over(context, Watch::Done(serial))
            }
            _ => self.alone(call, all, memory, heap)?,
        };
        if is_made {
            (self.at, self.computing) = (self.at + 1, 0);
        }
        Ok(is_made || self.computing > 0)
    }

    /// A call that waits for nobody.
    fn alone<R: Rules>(
        &mut self,
        call: &Call,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn Heap,
    ) -> Result<bool, &'static str> {
        Ok(match call {
            Call::Write(at, bytes) => {
                memory.write(memory::here(*at, bytes.len(), false), 0, bytes);
                true
            }
            Call::Expect(at, bytes) => {
                let mut found = vec![0; bytes.len()];
                memory.read(memory::here(*at, bytes.len(), false), 0, &mut found);
                if found != *bytes {
                    return Err(WRONG_BYTES);
                }
                true
            }
            Call::Compute(turns) => {
                self.computing += 1;
                self.computing > *turns
            }
            Call::Attach(bytes) => {
                let at = memory::part(memory::DYNAMIC).start + bytes.start;
                let region = memory::here(at, bytes.len(), false);
                let here = all.here();
                let window = all.window(context(memory::DYNAMIC)).expect("a window");
                heap.enter(here);
                self.is_short = window.attach(region) == Err(NotAttached::NoRoom);
                heap.leave(here);
                !self.is_short
            }
            Call::Detach(at) => {
                let window = all.window(context(memory::DYNAMIC)).expect("a window");
                let _ = window.detach(memory::address(*at));
                true
            }
            Call::Fault(window, is_faulty) => {
                let window = all.window(context(*window));
                if window.is_some_and(Window::take_fault) != *is_faulty {
                    return Err(FAULT);
                }
                true
            }
            _ => false,
        })
    }

    /// Opens an epoch, unless there is no memory for it.
    fn open<R: Rules>(
        &mut self,
        context: Context,
        (sort, members, checks): (Sort, &[u32], bool),
        all: &mut OneSided<R>,
        heap: &dyn Heap,
    ) -> bool {
        let members: Vec<Rank> = members.iter().copied().map(Rank::new).collect();
        let opening = Opening {
            sort,
            members: &members,
            checks,
        };
        heap.enter(all.here());
        let epoch = all.open(context, opening, None);
        heap.leave(all.here());
        self.is_short = epoch.is_none();
        self.epochs.extend(epoch.map(|epoch| (context, epoch)));
        !self.is_short
    }

    /// Notes an operation or a flush, unless there was no memory for it.
    fn note(&mut self, context: Context, deferred: Option<Serial>) -> bool {
        self.is_short = deferred.is_none();
        self.deferred.extend(deferred.map(|one| (context, one)));
        !self.is_short
    }

    fn perform<R: Rules>(
        &mut self,
        what: &Do,
        all: &mut OneSided<R>,
        memory: &mut dyn UserMemory,
        heap: &dyn Heap,
    ) -> bool {
        let (context, epoch) = self.epochs[what.epoch];
        let target = Rank::new(what.target);
        let mine = |at| memory::here(at, what.len, what.is_strided);
        let head = Head {
            operation: what.operation,
            datatype: what.unit as u8,
            ..Head::new(what.kind, context)
        };
        let is_put = matches!(what.kind, Kind::Put | Kind::Accumulate);
        let can_leave = |all: &mut OneSided<R>| {
            is_put
                && !what.is_strided
                && what.is_straight
                && what.len <= MOST_BYTES
                && what.target != all.here().index()
                && all.can_access(context, epoch, target)
        };
        if can_leave(all) {
            let mut packet = [0; HEAD_BYTES + PIECE_BYTES + MOST_BYTES];
            head.emit(&mut packet);
            let bytes = emit_piece(&mut packet[HEAD_BYTES..], what.place as u64, what.len);
            memory.read(mine(what.from), 0, bytes);
            let packet = &packet[..HEAD_BYTES + PIECE_BYTES + what.len];
            // As if it had been deferred and were over.
            let is_sent = all.push((context, target), 0, packet);
            if is_sent {
                self.deferred.push((context, 0));
            }
            return is_sent;
        }
        let (from, into, compare) = match what.kind {
            Kind::Put | Kind::Accumulate => (mine(what.from), Span::EMPTY, Span::EMPTY),
            Kind::Get => (Span::EMPTY, mine(what.from), Span::EMPTY),
            Kind::Fetch => (mine(what.from), mine(what.other), Span::EMPTY),
            _ => (
                mine(what.from),
                mine(what.other + what.len),
                mine(what.other),
            ),
        };
        let operation = Operation {
            head,
            from,
            compare,
            into,
            to: memory::there(what.place, what.len, what.is_strided),
            len: what.len,
            unit: match what.kind {
                Kind::Compare => what.len,
                _ => what.unit,
            },
        };
        let here = all.here();
        heap.enter(here);
        let deferred = all.defer((context, epoch, target), operation, None);
        heap.leave(here);
        self.note(context, deferred)
    }
}
