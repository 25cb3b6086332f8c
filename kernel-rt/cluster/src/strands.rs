//! Strands: the processes' programs as coroutines, in one thread.
//!
//! Their stacks are one stretch of addresses, of which each takes memory page by page as it is used, with a guard below
//! each. A stack that overflows ends the host's process.
//!
//! The guards are Linux's guard regions (MADV_GUARD_INSTALL, since Linux 6.13), which leave the stretch one mapping;
//! where there are none they are mappings without access, of which the host allows a number
//! (`/proc/sys/vm/max_map_count`, 65,530 unless it was changed: then there can be 32,764 stacks).

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Bytes of a stack that can be used, where the programs are Rust.
pub(super) const STACK_BYTES: usize = 256 << 10;
/// Bytes of the guard below it: whole pages, whatever their size is on the host. Stacks are multiples of it.
pub(super) const GUARD_BYTES: usize = 64 << 10;

/// `MADV_GUARD_INSTALL` of Linux's `<asm-generic/mman-common.h>`.
#[cfg(target_os = "linux")]
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// A program under way, and what it ends with.
pub(super) struct Strand<'a, R>(Coroutine<(), (), R, OneStack<'a>>);

impl<R> Strand<'_, R> {
    /// Lets it go on until it suspends itself (`None`), or ends.
    ///
    /// # Panics
    /// When it has ended already, and with the panic that ends it.
    pub(super) fn resume(&mut self) -> Option<R> {
        match self.0.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => Some(result),
        }
    }

    /// It has begun and has not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.started() && !self.0.done()
    }

    /// It never goes on, and what is on its stack is left as it is: frames of C cannot be unwound.
    pub(super) fn abandon(&mut self) {
        // SAFETY: nothing that is borrowed outlives its owner for want of a destructor: what the frames of the runtime
        // own is on the host's heap, where it stays.
        unsafe { self.0.force_reset() };
    }
}

/// Looks at what a strand may have borrowed that is suspended, or abandoned. For a job that ends for it.
pub(super) fn look_at_rest<T>(cell: &RefCell<T>, look: impl FnOnce(&T)) {
    if let Ok(value) = cell.try_borrow() {
        return look(&value);
    }
    // SAFETY: the value outlives the cell's borrow. Who has borrowed it is another strand of this thread, which does not go
    // on before this returns.
    let value = unsafe { &*cell.as_ptr() };
    look(value);
}

/// Hands `count` strands, of which each is to run `program` with its number on a stack of so many bytes, to `f`. Those
/// that have not ended when `f` returns are unwound. Fails when the host refuses their stacks.
pub(super) fn with_strands<R, T>(
    count: usize,
    stack_bytes: usize,
    program: impl Fn(usize, &Yielder<(), ()>) -> R,
    f: impl FnOnce(&mut [Strand<'_, R>]) -> T,
) -> io::Result<T> {
    let mut stacks = Stacks::new(count, stack_bytes)?;
    let program = &program;
    let strand = |(number, stack)| {
        // SAFETY: what is borrowed, `program` and the stacks, outlives the strands, which are dropped before this function
        // returns: no one else gets to own one.
        Strand(unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder: &_, ()| program(number, yielder))
        })
    };
    let mut strands: Vec<Strand<'_, R>> = stacks.each().enumerate().map(strand).collect();
    Ok(f(&mut strands))
}

/// The stacks of a cluster.
struct Stacks {
    addresses: NonNull<libc::c_void>,
    count: usize,
    /// Of each, with its guard.
    bytes: usize,
}

impl Stacks {
    /// As many stacks. Fails when the host refuses the addresses or the guards.
    fn new(count: usize, stack_bytes: usize) -> io::Result<Stacks> {
        let of_each = stack_bytes
            .checked_next_multiple_of(GUARD_BYTES)
            .and_then(|stack| stack.checked_add(GUARD_BYTES));
        let of_each = of_each.ok_or(io::ErrorKind::OutOfMemory)?;
        let bytes = of_each.checked_mul(count.max(1));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping, of addresses that the system chooses.
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
        let stacks = Stacks {
            addresses,
            count,
            bytes: of_each,
        };
        #[cfg(target_os = "linux")]
        // SAFETY: the mapping just made. It is advice: where it is refused, stacks may take more memory.
        unsafe {
            libc::madvise(addresses.as_ptr(), bytes, libc::MADV_NOHUGEPAGE)
        };
        for index in 0..count {
            stacks.guard(index)?;
        }
        Ok(stacks)
    }

    /// Where the guard of stack `index` begins.
    fn guard_of(&self, index: usize) -> *mut libc::c_void {
        self.addresses
            .as_ptr()
            .wrapping_byte_add(index * self.bytes)
    }

    fn guard(&self, index: usize) -> io::Result<()> {
        let guard = self.guard_of(index);
        #[cfg(target_os = "linux")]
        // SAFETY: whole pages of our mapping, which nothing has used yet.
        if unsafe { libc::madvise(guard, GUARD_BYTES, MADV_GUARD_INSTALL) } == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        match unsafe { libc::mprotect(guard, GUARD_BYTES, libc::PROT_NONE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The stacks, each of them once.
    fn each(&mut self) -> impl Iterator<Item = OneStack<'_>> {
        (0..self.count).map(|index| {
            let limit = self.guard_of(index).addr();
            let pointer = |address| StackPointer::new(address).expect("not at address 0");
            OneStack {
                base: pointer(limit + self.bytes),
                limit: pointer(limit),
                stacks: PhantomData,
            }
        })
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: our mapping; no stack of it is in use, for each has borrowed it.
        unsafe { libc::munmap(self.addresses.as_ptr(), self.bytes * self.count.max(1)) };
    }
}

/// One of them.
struct OneStack<'a> {
    base: NonZeroUsize,
    limit: NonZeroUsize,
    stacks: PhantomData<&'a mut Stacks>,
}

// SAFETY: from its limit to its base it is part of a mapping that lives as long; the guard at the limit stops what
// overflows; nothing else uses it, since each stack is handed out once. Both ends are at multiples of whole pages.
unsafe impl Stack for OneStack<'_> {
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
        let ends = with_strands(COUNT, STACK_BYTES, program, |strands| {
            for now in 0..3 {
                round.set(now);
                for strand in strands.iter_mut() {
                    assert_eq!(strand.resume(), None);
                    assert!(strand.is_under_way());
                }
            }
            round.set(3);
            let ends = strands.iter_mut().map(|strand| strand.resume());
            ends.collect::<Option<Vec<_>>>()
        });
        let wanted = (0..COUNT).map(|number| number + 3).collect();
        assert_eq!(ends.expect("stacks"), Some(wanted));
    }

    /// What is on the stacks of strands that do not end is dropped.
    #[test]
    fn strands_that_have_not_ended_are_unwound() {
        let dropped = Cell::new(0);
        struct Counts<'a>(&'a Cell<u32>);
        impl Drop for Counts<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let program = |_, yielder: &Yielder<(), ()>| {
            let _counts = Counts(&dropped);
            yielder.suspend(());
        };
        let resumed = with_strands(5, STACK_BYTES, program, |strands| strands[3].resume());
        assert_eq!((resumed.expect("stacks"), dropped.get()), (None, 1));
        let abandoned = with_strands(5, STACK_BYTES, program, |strands| {
            assert_eq!(strands[3].resume(), None);
            strands[3].abandon();
        });
        assert_eq!((abandoned.ok(), dropped.get()), (Some(()), 1));
    }
}
