//! Strands: the processes' programs as coroutines, in one thread.
//!
//! Their stacks are one range of addresses, in which memory is allocated page by page on first use, with a guard below
//! each stack. A stack overflow ends the host's process.
//!
//! The guards are Linux's guard regions (MADV_GUARD_INSTALL, since Linux 6.13), which keep the range a single mapping.
//! Without them the guards are mappings without access, whose number the host limits (`/proc/sys/vm/max_map_count`,
//! 65,530 unless it was changed: then there can be 32,764 stacks).

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Usable bytes of a stack, for Rust programs.
pub(super) const STACK_BYTES: usize = 256 << 10;
/// Size of the guard below it: complete pages of any size that a host uses. Stacks are multiples of it.
pub(super) const GUARD_BYTES: usize = 64 << 10;

/// `MADV_GUARD_INSTALL` of Linux's `<asm-generic/mman-common.h>`.
#[cfg(target_os = "linux")]
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// A running program, and its result.
pub(super) struct ProgramCoroutine<'a, R>(Coroutine<(), (), R, BorrowedStack<'a>>);

impl<R> ProgramCoroutine<'_, R> {
    /// Resumes it until it suspends itself (`None`), or ends.
    ///
    /// # Panics
    /// If it has ended already, and with the panic that ends it.
    pub(super) fn resume(&mut self) -> Option<R> {
        match self.0.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => Some(result),
        }
    }

    /// Returns whether it has begun and has not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.started() && !self.0.done()
    }

    /// Abandons it without unwinding its stack: frames of C cannot be unwound.
    pub(super) fn abandon(&mut self) {
        // SAFETY: nothing that is borrowed outlives its owner for want of a destructor: everything that the frames of
        // the runtime own is on the host's heap, where it stays.
        unsafe { self.0.force_reset() };
    }
}

/// Reads a value that a suspended or abandoned strand may have borrowed. For a job that ends with it.
pub(super) fn look_at_rest<T>(cell: &RefCell<T>, look: impl FnOnce(&T)) {
    if let Ok(value) = cell.try_borrow() {
        return look(&value);
    }
    // SAFETY: the value outlives the cell's borrow. The borrower is another strand of this thread, which does not
    // continue before this returns.
    let value = unsafe { &*cell.as_ptr() };
    look(value);
}

/// Passes `count` strands to `f`. Each of them runs `program` with its index on a stack of this size in bytes. Unwinds
/// those that have not ended when `f` returns. Fails if the host cannot allocate their stacks.
pub(super) fn with_coroutines<R, T>(
    count: usize,
    stack_bytes: usize,
    program: impl Fn(usize, &Yielder<(), ()>) -> R,
    f: impl FnOnce(&mut [ProgramCoroutine<'_, R>]) -> T,
) -> io::Result<T> {
    let mut stacks = StackPool::new(count, stack_bytes)?;
    let program = &program;
    let coroutine = |(number, stack)| {
        // SAFETY: `program` and the stacks are borrowed and outlive the strands, which are dropped before this function
        // returns: no one else gets to own one.
        ProgramCoroutine(unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder: &_, ()| program(number, yielder))
        })
    };
    let mut coroutines: Vec<ProgramCoroutine<'_, R>> = stacks.each().enumerate().map(coroutine).collect();
    Ok(f(&mut coroutines))
}

struct StackPool {
    addresses: NonNull<libc::c_void>,
    count: usize,
    bytes: usize,
}

impl StackPool {
    /// Allocates the stacks. Fails if the host rejects the addresses or the guards.
    fn new(count: usize, stack_bytes: usize) -> io::Result<StackPool> {
        let of_each = stack_bytes
            .checked_next_multiple_of(GUARD_BYTES)
            .and_then(|stack| stack.checked_add(GUARD_BYTES));
        let of_each = of_each.ok_or(io::ErrorKind::OutOfMemory)?;
        let bytes = of_each.checked_mul(count.max(1));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping, at an address that the system selects.
        let addresses = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if addresses == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let addresses = NonNull::new(addresses).ok_or(io::ErrorKind::OutOfMemory)?;
        let stacks = StackPool {
            addresses,
            count,
            bytes: of_each,
        };
        #[cfg(target_os = "linux")]
        // SAFETY: the mapping just created. It is advice: if it is rejected, stacks may use more memory.
        unsafe {
            libc::madvise(addresses.as_ptr(), bytes, libc::MADV_NOHUGEPAGE)
        };
        for index in 0..count {
            stacks.guard(index)?;
        }
        Ok(stacks)
    }

    /// Returns the start of the guard of stack `index`.
    fn guard_of(&self, index: usize) -> *mut libc::c_void {
        self.addresses.as_ptr().wrapping_byte_add(index * self.bytes)
    }

    fn guard(&self, index: usize) -> io::Result<()> {
        let guard = self.guard_of(index);
        #[cfg(target_os = "linux")]
        // SAFETY: complete pages of our mapping, which nothing has used yet.
        if unsafe { libc::madvise(guard, GUARD_BYTES, MADV_GUARD_INSTALL) } == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        match unsafe { libc::mprotect(guard, GUARD_BYTES, libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the stacks, each of them once.
    fn each(&mut self) -> impl Iterator<Item = BorrowedStack<'_>> {
        (0..self.count).map(|index| {
            let limit = self.guard_of(index).addr();
            let pointer = |address| StackPointer::new(address).expect("not at address 0");
            BorrowedStack {
                base: pointer(limit + self.bytes),
                limit: pointer(limit),
                stacks: PhantomData,
            }
        })
    }
}

impl Drop for StackPool {
    fn drop(&mut self) {
        // SAFETY: our mapping; no stack of it is in use, because each has borrowed it.
        unsafe { libc::munmap(self.addresses.as_ptr(), self.bytes * self.count.max(1)) };
    }
}

struct BorrowedStack<'a> {
    base: NonZeroUsize,
    limit: NonZeroUsize,
    stacks: PhantomData<&'a mut StackPool>,
}

// SAFETY: from its limit to its base it is part of a mapping that lives as long; the guard at the limit stops
// overflows; nothing else uses it, since each stack is handed out once. Both ends are at multiples of complete pages.
unsafe impl Stack for BorrowedStack<'_> {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn strands_run_in_turns_each_on_its_own_stack() {
        const COUNT: usize = 3_000;
        let round = Cell::new(0);
        let program = |number: usize, yielder: &Yielder<(), ()>| {
            let mut mine = [number; 500];
            while round.get() < 3 {
                assert!(mine.iter().all(|&item| item == number + round.get()));
                mine.iter_mut().for_each(|item| *item += 1);
                yielder.suspend(());
            }
            mine[499]
        };
        let ends = with_coroutines(COUNT, STACK_BYTES, program, |coroutines| {
            for now in 0..3 {
                round.set(now);
                for coroutine in coroutines.iter_mut() {
                    assert_eq!(coroutine.resume(), None);
                    assert!(coroutine.is_under_way());
                }
            }
            round.set(3);
            let ends = coroutines.iter_mut().map(|coroutine| coroutine.resume());
            ends.collect::<Option<Vec<_>>>()
        });
        let wanted = (0..COUNT).map(|number| number + 3).collect();
        assert_eq!(ends.expect("stacks"), Some(wanted));
    }

    /// The contents of the stacks of strands that do not end are dropped.
    #[test]
    fn strands_that_have_not_ended_are_unwound() {
        let dropped = Cell::new(0);
        struct DropCounter<'a>(&'a Cell<u32>);
        impl Drop for DropCounter<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let program = |_, yielder: &Yielder<(), ()>| {
            let _counts = DropCounter(&dropped);
            yielder.suspend(());
        };
        let resumed = with_coroutines(5, STACK_BYTES, program, |coroutines| coroutines[3].resume());
        assert_eq!((resumed.expect("stacks"), dropped.get()), (None, 1));
        let abandoned = with_coroutines(5, STACK_BYTES, program, |coroutines| {
            assert_eq!(coroutines[3].resume(), None);
            coroutines[3].abandon();
        });
        assert_eq!((abandoned.ok(), dropped.get()), (Some(()), 1));
    }
}
