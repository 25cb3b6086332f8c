//! Environment of a process's calls: the device, and the MPI state above it.
#![forbid(unsafe_code)]

use spin::Mutex;

use crate::context::{ContextAllocator, ContextMask};
use midplane_device::envelope::Context;
use midplane_device::interface::{Device, EnterDevice};

/// Access to this process's device and MPI state, for the Rust and the C binding. [`Device`] provides the operations.
pub trait Env: EnterDevice {
    /// Returns the MPI state of this process. The host stores it with the device.
    fn process(&self) -> &Process;
}

/// MPI state of a process above the device, shared by all bindings. Its size is fixed.
#[derive(Debug)]
pub struct Process {
    /// No call waits while it holds the lock, and no interrupt handler uses it.
    contexts: Mutex<ContextAllocator>,
}

impl Default for Process {
    fn default() -> Self {
        Process::new()
    }
}

impl Process {
    /// Returns the state of a process that has not created a communicator.
    pub const fn new() -> Process {
        Process {
            contexts: Mutex::new(ContextAllocator::new()),
        }
    }

    /// Returns the contexts that this process can use for a new communicator.
    pub fn free_contexts(&self, env: &dyn Env) -> ContextMask {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.free()
    }

    /// Checks again a context that was offered as free. If the device still contains a reference to it, retires the
    /// context and returns false.
    pub fn confirm_context(&self, env: &dyn Env, context: Context) -> bool {
        let is_idle = is_idle(env, context);
        if !is_idle {
            self.contexts.lock().retire(context);
        }
        is_idle
    }

    /// Reserves a unit of contexts for an agreement. Returns a bit for each context that this process can use; `None`
    /// if there is none, or another agreement has reserved the unit.
    pub fn hold_contexts(&self, env: &dyn Env, unit: usize) -> Option<u8> {
        let mut contexts = self.contexts.lock();
        contexts.sweep(|context| is_idle(env, context));
        contexts.hold(unit)
    }

    /// Checks whether an agreement has reserved the unit.
    pub fn are_contexts_held(&self, unit: usize) -> bool {
        self.contexts.lock().is_held(unit)
    }

    /// Releases the unit at the end of its agreement.
    pub fn release_contexts(&self, unit: usize) {
        self.contexts.lock().release(unit);
    }

    /// Marks the context as used by a communicator of this process.
    pub fn take_context(&self, env: &dyn Env, context: Context) {
        self.contexts.lock().mark_used(context);
        env.open_context(context);
    }

    /// Retires the context of a communicator that was freed and whose requests are complete.
    pub fn retire_context(&self, context: Context) {
        self.contexts.lock().retire(context);
    }
}

fn is_idle(env: &dyn Env, context: Context) -> bool {
    env.is_context_idle(context)
}
