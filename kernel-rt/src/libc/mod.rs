//! What picolibc asks of the system below it: streams, files, memory, time, the end of the program; and the few
//! POSIX calls that programs expect to find. What does not exist on a node (other processes) answers -1 with
//! `errno`, as POSIX has it.
//!
//! ```text
//! stdio     stdin, stdout, stderr           files     descriptors, and calls on files
//! folders   opendir and the like
//! malloc    the heap, as C calls it         process   start and end of the program, sysconf and the like
//! time      clocks and sleep                printf    `long double` in printf's family
//! threads   POSIX threads, of which there is one
//! signals   within the program              mapping   anonymous memory by mmap
//! errno     error numbers
//! ```

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! function_type {
    () => {
        "@function"
    };
}

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! jump {
    () => {
        "tail {function}"
    };
}

// An assembler whose comments begin with `@`; the directive makes the name one of Thumb code.
#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! function_type {
    () => {
        "%function\n.thumb_func"
    };
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! jump {
    () => {
        "b {function}"
    };
}

#[cfg(target_os = "none")]
/// Defines C's names. Weak, as in every C library: a program that has a function of its own with one of
/// these names means its own.
macro_rules! define {
    ($($function:ident),* $(,)?) => {
        $(core::arch::global_asm!(
            concat!(".section .text.libc.", stringify!($function), ", \"ax\""),
            concat!(".weak ", stringify!($function)),
            concat!(".type ", stringify!($function), ", ", function_type!()),
            concat!(stringify!($function), ":"),
            jump!(),
            function = sym $function,
        );)*
    };
}

#[cfg(target_os = "none")]
mod errno;
#[cfg(target_os = "none")]
mod files;
#[cfg(target_os = "none")]
mod folders;
#[cfg(target_os = "none")]
mod malloc;
#[cfg(target_os = "none")]
mod mapping;
pub mod printf;
#[cfg(target_os = "none")]
mod process;
#[cfg(target_os = "none")]
mod signals;
#[cfg(target_os = "none")]
mod stdio;
#[cfg(target_os = "none")]
mod threads;
#[cfg(target_os = "none")]
mod time;

#[cfg(target_os = "none")]
pub use process::run;
