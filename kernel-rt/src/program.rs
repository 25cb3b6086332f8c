//! What a Rust program meets: its entry, its arguments, its output.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! use kernel_rt::println;
//! use mpi::traits::*;
//!
//! kernel_rt::program!(main);
//!
//! fn main() {
//!     let universe = mpi::initialize().unwrap();
//!     let world = universe.world();
//!     println!("rank {} of {}", world.rank(), world.size());
//! }
//! ```

use core::ffi::{CStr, c_char, c_int};
use core::fmt;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[cfg(target_os = "none")]
use crate::console::{self, Stream};

/// Makes `$main`, a function without arguments to an [`Outcome`], the program.
#[macro_export]
macro_rules! program {
    ($main:path) => {
        $crate::steps!();
        $crate::starts_by_itself!();
        // The tests of a package have a `main` of their own.
        #[cfg(not(all(test, target_os = "linux")))]
        const _: () = {
            // On the board whose reset handler calls `main`, that is the kernel's entry (ld/stm32f405.ld).
            #[cfg_attr(
                all(target_os = "none", target_arch = "arm"),
                unsafe(export_name = "__real_main")
            )]
            #[cfg_attr(
                not(all(target_os = "none", target_arch = "arm")),
                unsafe(export_name = "main")
            )]
            extern "C" fn entry(
                count: ::core::ffi::c_int,
                words: *const *const ::core::ffi::c_char,
            ) -> ::core::ffi::c_int {
                // SAFETY: the arguments of C's `main`.
                unsafe { $crate::__run($main, count, words) }
            }
        };
    };
}

/// The boot parameters of an image that is flashed as it is, by `cargo run` or another tool that does not know Midplane: a
/// constant [`BootRecord`](crate::BootRecord), such as `BootRecord::auto(0)`. Elsewhere than on a board with a personality in
/// flash it is nothing.
#[macro_export]
macro_rules! flashed_personality {
    ($record:expr) => {
        const _: () = {
            const RECORD: $crate::BootRecord = $record;
            let _ = RECORD;
            #[cfg(all(target_os = "none", target_arch = "arm"))]
            #[used]
            #[unsafe(link_section = ".personality")]
            static PERSONALITY: [u8; $crate::__RECORD_BYTES] = RECORD.to_bytes();
        };
    };
}

/// Defines, in the crate that an image is made of, how its node goes on. [`program!`](crate::program) does so, too.
#[macro_export]
macro_rules! steps {
    () => {
        // A process of this machine has its node in the kernel.
        #[cfg(target_os = "none")]
        const _: () = {
            use $crate::running;

            /// The node's device, for the bindings.
            struct NodeEnv;

            impl running::Enter for NodeEnv {
                fn enter<'w>(&self, work: &'w mut running::Work<'w>) {
                    running::enter(work);
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_send(&self, outgoing: &running::Outgoing) -> running::Sent {
                    running::fast_send(outgoing)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_receive(
                    &self,
                    function: &'static str,
                    incoming: &running::Incoming,
                ) -> running::Received {
                    running::fast_receive(function, incoming)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_start_receive(
                    &self,
                    incoming: &running::Incoming,
                ) -> ::core::option::Option<running::RequestId> {
                    running::fast_start_receive(incoming)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_wait(
                    &self,
                    function: &'static str,
                    id: running::RequestId,
                ) -> ::core::option::Option<running::Whole> {
                    running::fast_wait(function, id)
                }
            }

            impl running::Env for NodeEnv {
                fn process(&self) -> &running::Process {
                    running::process()
                }
            }

            #[unsafe(no_mangle)]
            fn midplane_env() -> &'static (dyn running::Env + ::core::marker::Sync) {
                &NodeEnv
            }

            #[unsafe(no_mangle)]
            fn midplane_interrupt() {
                running::interrupt();
            }

            #[unsafe(no_mangle)]
            fn midplane_heap_freed() {
                running::heap_freed();
            }

            #[unsafe(no_mangle)]
            fn midplane_publish() {
                running::publish();
            }

            #[unsafe(no_mangle)]
            fn midplane_forward() -> ! {
                running::forward()
            }
        };
    };
}

/// Makes the program that this is part of a rank of its job, where it is a process of Linux. [`program!`](crate::program)
/// and the crate `mpi` do so.
#[doc(hidden)]
#[macro_export]
macro_rules! starts_by_itself {
    () => {
        #[cfg(target_os = "linux")]
        const _: () = {
            // In front of the program's constructors, and behind its destructors.
            #[used]
            #[unsafe(link_section = ".init_array.00101")]
            static START: extern "C" fn() = $crate::board::linux::start;
            #[used]
            #[unsafe(link_section = ".fini_array.00000")]
            static END: extern "C" fn() = $crate::board::linux::ended;
        };
    };
}

/// What `main` of a Rust program may return.
pub trait Outcome {
    /// The program's exit status.
    fn status(self) -> i32;
}

impl Outcome for () {
    fn status(self) -> i32 {
        0
    }
}

impl Outcome for i32 {
    fn status(self) -> i32 {
        self
    }
}

/// An error goes to standard error and makes status 1.
impl<E: fmt::Display> Outcome for Result<(), E> {
    fn status(self) -> i32 {
        match self {
            Ok(()) => 0,
            Err(error) => {
                crate::eprintln!("error: {error}");
                1
            }
        }
    }
}

/// The program's arguments, its name first.
#[derive(Clone, Debug)]
pub struct Args(core::slice::Iter<'static, &'static str>);

impl Iterator for Args {
    type Item = &'static str;

    fn next(&mut self) -> Option<&'static str> {
        self.0.next().copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Args {}

/// The program's arguments, once it runs: where they begin, and how many there are.
static WORDS: AtomicPtr<&'static str> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The program's arguments, its name first; none before it runs.
pub fn args() -> Args {
    let words = WORDS.load(Ordering::Acquire);
    if words.is_null() {
        return Args([].iter());
    }
    // SAFETY: `run` has put as many there, for ever.
    let words = unsafe { core::slice::from_raw_parts(words, COUNT.load(Ordering::Relaxed)) };
    Args(words.iter())
}

/// Runs `main`: what [`program!`](crate::program) is made of.
///
/// # Safety
/// `words` points to `count` pointers to C strings, which stay for ever.
#[doc(hidden)]
pub unsafe fn run<R: Outcome>(
    main: impl FnOnce() -> R,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    let words = (0..count as usize).map(|i| {
        // SAFETY: as the caller promises.
        let word = unsafe { CStr::from_ptr(*words.add(i)) };
        match word.to_str() {
            Ok(word) => word,
            Err(_) => panic!("argument {i} is not UTF-8: {word:?}"),
        }
    });
    let words = words.collect::<alloc::vec::Vec<_>>().leak();
    COUNT.store(words.len(), Ordering::Relaxed);
    WORDS.store(words.as_mut_ptr(), Ordering::Release);
    ended(main).status()
}

#[cfg(target_os = "none")]
fn ended<R>(main: impl FnOnce() -> R) -> R {
    main()
}

/// A panic ends the program as it ends others of Rust's, and not in the function of C that calls it.
#[cfg(target_os = "linux")]
fn ended<R>(main: impl FnOnce() -> R) -> R {
    const PANICKED: c_int = 101;
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(main))
        .unwrap_or_else(|_| std::process::exit(PANICKED))
}

/// One of the two streams, for `print!` and its like.
#[cfg(target_os = "none")]
struct Writer(Stream);

#[cfg(target_os = "none")]
impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        console::write(self.0, text.as_bytes());
        Ok(())
    }
}

#[cfg(target_os = "none")]
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    // Streams take everything.
    let _ = fmt::Write::write_fmt(&mut Writer(Stream::Out), text);
}

#[cfg(target_os = "none")]
#[doc(hidden)]
pub fn eprint(text: fmt::Arguments<'_>) {
    let _ = fmt::Write::write_fmt(&mut Writer(Stream::Err), text);
}

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    use std::io::Write;
    // The program's end is C's, which does not know of this stream. One that is gone takes nothing.
    let mut out = std::io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn eprint(text: fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_fmt(text);
}

/// Prints to standard output. May block while the host does not take what was printed before.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::__print(::core::format_args!($($arg)*)) };
}

/// Prints a line to standard output. May block while the host does not take what was printed before.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::__print(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// Prints to standard error. May block while the host does not take what was printed before.
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::__eprint(::core::format_args!($($arg)*)) };
}

/// Prints a line to standard error. May block while the host does not take what was printed before.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint!("\n") };
    ($($arg:tt)*) => { $crate::__eprint(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}
