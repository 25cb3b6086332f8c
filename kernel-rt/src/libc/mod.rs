//! What picolibc asks of the system below it.

pub mod printf;
#[cfg(target_os = "none")]
mod stdio;

#[cfg(target_os = "none")]
pub use stdio::run;
