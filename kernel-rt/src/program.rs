//! What a Rust program meets: its entry, its arguments, its output.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! use kernel_rt::{Args, println};
//! use mpi_adi::{Error, Mpi};
//!
//! kernel_rt::program!(main);
//!
//! fn main(mpi: Mpi<'_>, _args: Args) -> Result<(), Error> {
//!     let world = mpi.world();
//!     println!("rank {} of {}", world.rank(), world.size());
//!     world.barrier()
//! }
//! ```

use core::ffi::{CStr, c_char, c_int};
use core::fmt::{self, Write as _};

use mpi_adi::Mpi;

use crate::console::{self, Stream};
use crate::running::NodeEnv;

/// Makes `$main`, a function from [`mpi_adi::Mpi`] and [`Args`] to an [`Outcome`], the program.
#[macro_export]
macro_rules! program {
    ($main:path) => {
        const _: () = {
            #[unsafe(export_name = "main")]
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

/// Runs `main` between start and end of MPI: what [`program!`](crate::program) is made of.
///
/// # Safety
/// `words` points to `count` pointers to C strings, which stay for ever.
#[doc(hidden)]
pub unsafe fn run<R: Outcome>(
    main: impl FnOnce(Mpi<'static>, Args) -> R,
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
    let mpi = Mpi::new(&NodeEnv);
    let status = main(mpi, Args(words.iter())).status();
    // Others may still need what this process has to send.
    let end = mpi.finalize().status();
    if status != 0 { status } else { end }
}

/// One of the two streams, for `print!` and its like.
struct Writer(Stream);

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        console::write(self.0, text.as_bytes());
        Ok(())
    }
}

#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    // Streams take everything.
    let _ = Writer(Stream::Out).write_fmt(text);
}

#[doc(hidden)]
pub fn eprint(text: fmt::Arguments<'_>) {
    let _ = Writer(Stream::Err).write_fmt(text);
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
