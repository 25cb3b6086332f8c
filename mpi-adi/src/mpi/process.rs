//! What a process's calls work on: the device, and what MPI keeps for the process above it.
#![forbid(unsafe_code)]

use spin::Mutex;

use crate::Adi;
use crate::device::at_once::{Incoming, Outgoing, Received, Sent};
use crate::device::envelope::Context;
use crate::device::kernel::Kernel;
use crate::device::request::{RequestId, Whole};
use crate::mpi::context::{ContextMask, Contexts};

/// What a call does with its process's device and the carrier.
pub type Work<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) + 'a;

/// Access to this process's device and MPI state, for the Rust and the C binding alike.
pub trait Env {
    /// Runs `f` with the device and its kernel, link interrupts held off for as long as `f` runs.
    /// Must not be called from inside `f`.
    fn with<'f>(&self, f: &'f mut Work<'f>);

    /// What MPI keeps for this process; the carrier has one beside the device.
    fn process(&self) -> &Process;

    /// [`Adi::send_at_once`], and what is to leave then leaves as far as the network takes it. Does not block. As the next
    /// three, for what most calls ask for: a carrier may do it by a shorter way than [`Env::with`]. One that has none says
    /// [`Sent::Not`].
    fn short_send(&self, outgoing: &Outgoing) -> Sent {
        let _ = outgoing;
        Sent::Not
    }

    /// [`Adi::receive_at_once`]; waits for a receive that has been started as [`call::finish`](crate::mpi::call::finish)
    /// does, within a call of `function`.
    fn short_receive(&self, function: &'static str, incoming: &Incoming) -> Received {
        let _ = (function, incoming);
        Received::Not
    }

    /// [`Adi::irecv`], and what is to leave then leaves. Does not block. `None`: there is no memory for it, or no such way.
    fn short_start_receive(&self, incoming: &Incoming) -> Option<RequestId> {
        let _ = incoming;
        None
    }

    /// [`call::finish`](crate::mpi::call::finish). `None`: the call is to go on by itself.
    fn short_wait(&self, function: &'static str, id: RequestId) -> Option<Whole> {
        let _ = (function, id);
        None
    }
}

/// What MPI keeps for a process above the device, for all bindings. It does not grow.
#[derive(Debug)]
pub struct Process {
    /// No call holds the lock while it waits, and interrupts do not come here.
    contexts: Mutex<Contexts>,
}

impl Default for Process {
    fn default() -> Self {
        Process::new()
    }
}

impl Process {
    /// That of a process that has made no communicator yet.
    pub const fn new() -> Process {
        Process {
            contexts: Mutex::new(Contexts::new()),
        }
    }

    /// The contexts that this process can use for another communicator.
    pub(crate) fn free_contexts(&self, env: &dyn Env) -> ContextMask {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.free()
    }

    /// Looks once more at a context that was offered as free: false, and it is retired, when the device holds
    /// something of it.
    pub(crate) fn confirm_context(&self, env: &dyn Env, context: Context) -> bool {
        let is_idle = is_idle(env, context);
        if !is_idle {
            self.contexts.lock().retire(context);
        }
        is_idle
    }

    /// Holds a unit of contexts for an agreement: a bit for each that this process can use. `None`: there is none, or
    /// another agreement holds it.
    pub(crate) fn hold_contexts(&self, env: &dyn Env, unit: usize) -> Option<u8> {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.hold(unit)
    }

    /// An agreement holds the unit.
    pub(crate) fn are_contexts_held(&self, unit: usize) -> bool {
        self.contexts.lock().is_held(unit)
    }

    /// The agreement that holds the unit is over.
    pub(crate) fn release_contexts(&self, unit: usize) {
        self.contexts.lock().release(unit);
    }

    /// This process is in a communicator with this context.
    pub(crate) fn take_context(&self, env: &dyn Env, context: Context) {
        self.contexts.lock().take(context);
        env.with(&mut |adi, _| adi.open_context(context));
    }

    /// This process has freed the communicator with this context, and its requests are complete.
    pub(crate) fn retire_context(&self, context: Context) {
        self.contexts.lock().retire(context);
    }
}

fn is_idle(env: &dyn Env, context: Context) -> bool {
    let mut is_idle = false;
    env.with(&mut |adi, _| is_idle = adi.context_is_idle(context));
    is_idle
}
