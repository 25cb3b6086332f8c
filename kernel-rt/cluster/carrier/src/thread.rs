//! Thread state outside of memory and the operating system, separate for each rank: `errno`, rounding, floating-point
//! exceptions. Reading and setting it requires no system call.

use std::cell::Cell;
use std::ffi::c_int;

use self::floats::FloatEnvironment;

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
}

/// The state of each rank's thread.
pub struct ThreadStates(Vec<Cell<ThreadState>>);

/// The state of a thread.
#[derive(Clone, Copy)]
pub struct ThreadState {
    errno: c_int,
    h_errno: c_int,
    floats: FloatEnvironment,
}

impl ThreadStates {
    /// Copies the thread's current state for this number of ranks.
    pub fn new(ranks: usize) -> ThreadStates {
        ThreadStates(vec![Cell::new(ThreadState::read()); ranks])
    }

    /// Returns the thread's state and saves it for `rank`, whose program has just run; `None` if no program has.
    pub fn keep(&self, rank: Option<usize>) -> ThreadState {
        let state = ThreadState::read();
        if let Some(rank) = rank {
            self.0[rank].set(state);
        }
        state
    }

    /// Sets the thread's state to that of `rank`; `now` is the current one, except for `errno`.
    pub fn swap_in(&self, rank: usize, now: ThreadState) {
        self.0[rank].get().swap_in(now);
    }
}

impl ThreadState {
    fn read() -> ThreadState {
        // SAFETY: the C library's variables of this thread.
        unsafe {
            ThreadState {
                errno: *libc::__errno_location(),
                h_errno: *__h_errno_location(),
                floats: FloatEnvironment::read(),
            }
        }
    }

    fn swap_in(self, now: ThreadState) {
        if now.floats != self.floats {
            self.floats.swap_in(now.floats);
        }
        // SAFETY: the C library's variables of this thread.
        unsafe {
            *__h_errno_location() = self.h_errno;
            *libc::__errno_location() = self.errno;
        }
    }
}

/// Floating-point control and status registers.
#[cfg(target_arch = "x86_64")]
mod floats {
    use std::arch::asm;

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct FloatEnvironment {
        mxcsr: u32,
        control: u16,
        exceptions: u16,
    }

    const EXCEPTIONS: u16 = 0x3f;
    /// Bits of the same word that report a pending unmasked exception.
    const PENDING: u32 = 0x8080;
    /// Size of the environment of `fnstenv` in words of 32 bits; the first two are control and status.
    const ENVIRONMENT_WORDS: usize = 7;

    impl FloatEnvironment {
        pub fn read() -> FloatEnvironment {
            let (mut mxcsr, mut control) = (0_u32, 0_u16);
            let status: u16;
            // SAFETY: the instructions write these variables and nothing else.
            unsafe {
                asm!(
                    "stmxcsr [{mxcsr}]",
                    "fnstcw [{control}]",
                    "fnstsw ax",
                    mxcsr = in(reg) &raw mut mxcsr,
                    control = in(reg) &raw mut control,
                    out("ax") status,
                    options(nostack, preserves_flags),
                );
            }
            FloatEnvironment {
                mxcsr,
                control,
                exceptions: status & EXCEPTIONS,
            }
        }

        /// Sets the registers that differ from `now`: setting takes much longer than reading.
        pub fn swap_in(self, now: FloatEnvironment) {
            if now.mxcsr != self.mxcsr {
                // SAFETY: a value that the register has had. The compiler assumes its default in the runtime's own
                // arithmetic, of which there is none on this thread that rounds (`Costs::carries`).
                unsafe {
                    asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, readonly));
                }
            }
            if (now.control, now.exceptions) != (self.control, self.exceptions) {
                let mut words = [0_u32; ENVIRONMENT_WORDS];
                // SAFETY: writes the array.
                unsafe { asm!("fnstenv [{}]", in(reg) &raw mut words, options(nostack)) };
                words[0] = words[0] & !0xffff | u32::from(self.control);
                // The control word determines whether one of them is pending.
                let is_pending = self.exceptions & !self.control & EXCEPTIONS != 0;
                words[1] &= !(u32::from(EXCEPTIONS) | PENDING);
                words[1] |= u32::from(self.exceptions) | if is_pending { PENDING } else { 0 };
                // SAFETY: reads the array, whose control word and exceptions the registers have had; no value is on the
                // x87's stack between two calls.
                unsafe { asm!("fldenv [{}]", in(reg) &raw const words, options(nostack, readonly)) };
            }
        }
    }
}

/// Uses the C library's functions on other processors.
#[cfg(not(target_arch = "x86_64"))]
mod floats {
    use std::ffi::c_int;

    /// Large enough for any `fenv_t`.
    type EnvironmentWords = [u64; 8];

    unsafe extern "C" {
        fn fegetenv(environment: *mut EnvironmentWords) -> c_int;
        fn fesetenv(environment: *const EnvironmentWords) -> c_int;
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct FloatEnvironment(EnvironmentWords);

    impl FloatEnvironment {
        pub fn read() -> FloatEnvironment {
            let mut words = [0; 8];
            // SAFETY: the buffer is large enough.
            unsafe { fegetenv(&raw mut words) };
            FloatEnvironment(words)
        }

        pub fn swap_in(self, _: FloatEnvironment) {
            // SAFETY: written by `fegetenv`.
            unsafe { fesetenv(&raw const self.0) };
        }
    }
}
