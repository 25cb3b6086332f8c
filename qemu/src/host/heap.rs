//! The heap of this command.

use std::alloc::System;

use cap::Cap;

/// Heap with an allocation counter: `bench matching` reports the memory of the engines.
#[global_allocator]
pub static HEAP: Cap<System> = Cap::new(System, usize::MAX);
