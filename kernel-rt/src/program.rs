//! Interface of a Rust program: its entry, its arguments, its output.
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
use crate::console::{self, OutputStream};

/// Defines `$main`, a function without arguments that returns an [`ProgramOutcome`], as the program.
#[macro_export]
macro_rules! program {
    ($main:path) => {
        $crate::hot_path!();
        $crate::starts_by_itself!();
        // A package's tests have their own `main`.
        #[cfg(not(all(test, target_os = "linux")))]
        const _: () = {
            // On the board whose reset handler calls `main`, that symbol is the kernel's entry (ld/stm32f405.ld).
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

/// Defines the boot parameters of an image that `cargo run` or another tool without Midplane support flashes
/// unmodified. The record is a constant [`BootRecord`](crate::BootRecord), such as `BootRecord::auto(0)`. It only
/// affects boards with a personality in flash.
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

/// Defines, in the crate of the image, the hot paths of its node. [`program!`](crate::program) includes it.
#[macro_export]
macro_rules! hot_path {
    () => {
        // A Linux process contains its node in the kernel crate.
        #[cfg(target_os = "none")]
        const _: () = {
            use $crate::running;

            /// The node's device, for the language bindings.
            struct NodeEnv;

            impl running::EnterDevice for NodeEnv {
                fn enter<'w>(&self, work: &'w mut running::Work<'w>) {
                    running::enter(work);
                }

                fn now_ns(&self) -> u64 {
                    running::now_ns()
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_send(&self, outgoing: &running::OutgoingMessage) -> running::FastSend {
                    running::fast_send(outgoing)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_receive(
                    &self,
                    function: &'static str,
                    incoming: &running::IncomingMessage,
                ) -> running::FastRecv {
                    running::fast_receive(function, incoming)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_start_receive(
                    &self,
                    incoming: &running::IncomingMessage,
                ) -> ::core::option::Option<running::RequestId> {
                    running::fast_start_receive(incoming)
                }

                #[cfg(not(target_arch = "arm"))]
                fn fast_wait(
                    &self,
                    function: &'static str,
                    id: running::RequestId,
                ) -> ::core::option::Option<running::PlainCompletion> {
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

/// Makes the containing program a rank of its job where it is a Linux process. [`program!`](crate::program) and the
/// crate `mpi` include it.
#[doc(hidden)]
#[macro_export]
macro_rules! starts_by_itself {
    () => {
        #[cfg(target_os = "linux")]
        const _: () = {
            // Before the program's constructors, and after its destructors.
            #[used]
            #[unsafe(link_section = ".init_array.00101")]
            static START: extern "C" fn() = $crate::board::linux::start;
            #[used]
            #[unsafe(link_section = ".fini_array.00000")]
            static END: extern "C" fn() = $crate::board::linux::ended;
        };
    };
}

/// Return types that `main` of a Rust program supports.
pub trait ProgramOutcome {
    /// Returns the program's exit status.
    fn status(self) -> i32;
}

impl ProgramOutcome for () {
    fn status(self) -> i32 {
        0
    }
}

impl ProgramOutcome for i32 {
    fn status(self) -> i32 {
        self
    }
}

/// Prints an error to standard error and returns status 1.
impl<E: fmt::Display> ProgramOutcome for Result<(), E> {
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

/// Iterator over the program's arguments, its name first.
#[derive(Clone, Debug)]
pub struct ProgramArgs(core::slice::Iter<'static, &'static str>);

impl Iterator for ProgramArgs {
    type Item = &'static str;

    fn next(&mut self) -> Option<&'static str> {
        self.0.next().copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for ProgramArgs {}

/// The running program's arguments: their address and count.
static WORDS: AtomicPtr<&'static str> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns the program's arguments, its name first; none before it runs.
pub fn args() -> ProgramArgs {
    let words = WORDS.load(Ordering::Acquire);
    if words.is_null() {
        return ProgramArgs([].iter());
    }
    // SAFETY: `run` stored a slice of this length, which lives forever.
    let words = unsafe { core::slice::from_raw_parts(words, COUNT.load(Ordering::Relaxed)) };
    ProgramArgs(words.iter())
}

/// Runs `main`; used by [`program!`](crate::program).
///
/// # Safety
/// `words` points to `count` pointers to C strings, which stay valid forever.
#[doc(hidden)]
pub unsafe fn run<R: ProgramOutcome>(main: impl FnOnce() -> R, count: c_int, words: *const *const c_char) -> c_int {
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

/// Ends the program on a panic with Rust's usual exit status, instead of unwinding into the calling C function.
#[cfg(target_os = "linux")]
fn ended<R>(main: impl FnOnce() -> R) -> R {
    const PANICKED: c_int = 101;
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(main)).unwrap_or_else(|_| std::process::exit(PANICKED))
}

/// One of the two output streams, for `print!` and related macros.
#[cfg(target_os = "none")]
struct StreamWriter(OutputStream);

#[cfg(target_os = "none")]
impl fmt::Write for StreamWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        console::write(self.0, text.as_bytes());
        Ok(())
    }
}

#[cfg(target_os = "none")]
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    // Writing to the streams cannot fail.
    let _ = fmt::Write::write_fmt(&mut StreamWriter(OutputStream::Out), text);
}

#[cfg(target_os = "none")]
#[doc(hidden)]
pub fn eprint(text: fmt::Arguments<'_>) {
    let _ = fmt::Write::write_fmt(&mut StreamWriter(OutputStream::Err), text);
}

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    use std::io::Write;
    // C ends the program and does not flush this stream. A closed stream accepts nothing.
    let mut out = std::io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn eprint(text: fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_fmt(text);
}

/// Prints to standard output. May block until the host has consumed earlier output.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::__print(::core::format_args!($($arg)*)) };
}

/// Prints a line to standard output. May block until the host has consumed earlier output.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::__print(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// Prints to standard error. May block until the host has consumed earlier output.
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::__eprint(::core::format_args!($($arg)*)) };
}

/// Prints a line to standard error. May block until the host has consumed earlier output.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint!("\n") };
    ($($arg:tt)*) => { $crate::__eprint(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}
