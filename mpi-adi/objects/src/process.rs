//! What a process's calls work on: the device, and what MPI keeps for the process above it.
#![forbid(unsafe_code)]

use spin::Mutex;

use crate::context::{ContextMask, Contexts};
use midplane_device::envelope::Context;
use midplane_device::interface::{Device, Enter};

/// Access to this process's device and MPI state, for the Rust and the C binding alike. [`Device`] has the operations.
pub trait Env: Enter {
    /// What MPI keeps for this process; the host has one beside the device.
    fn process(&self) -> &Process;
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
    pub fn free_contexts(&self, env: &dyn Env) -> ContextMask {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.free()
    }

    /// Looks once more at a context that was offered as free: false, and it is retired, when the device holds
    /// something of it.
    pub fn confirm_context(&self, env: &dyn Env, context: Context) -> bool {
        let is_idle = is_idle(env, context);
        if !is_idle {
            self.contexts.lock().retire(context);
        }
        is_idle
    }

    /// Holds a unit of contexts for an agreement: a bit for each that this process can use. `None`: there is none, or
    /// another agreement holds it.
    pub fn hold_contexts(&self, env: &dyn Env, unit: usize) -> Option<u8> {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.hold(unit)
    }

    /// An agreement holds the unit.
    pub fn are_contexts_held(&self, unit: usize) -> bool {
        self.contexts.lock().is_held(unit)
    }

    /// The agreement that holds the unit is over.
    pub fn release_contexts(&self, unit: usize) {
        self.contexts.lock().release(unit);
    }

    /// This process is in a communicator with this context.
    pub fn take_context(&self, env: &dyn Env, context: Context) {
        self.contexts.lock().take(context);
        env.open_context(context);
    }

    /// This process has freed the communicator with this context, and its requests are complete.
    pub fn retire_context(&self, context: Context) {
        self.contexts.lock().retire(context);
    }
}

fn is_idle(env: &dyn Env, context: Context) -> bool {
    env.is_context_idle(context)
}
