//! State of the thread that is neither memory of the program nor the system's, of which each rank has its own: `errno`,
//! rounding, floating-point exceptions. To read and to set it takes no system call.

use std::cell::Cell;
use std::ffi::c_int;

use self::floats::Floats;

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
}

/// The state of each rank's thread.
pub struct Threads(Vec<Cell<State>>);

/// The state of a thread.
#[derive(Clone, Copy)]
pub struct State {
    errno: c_int,
    h_errno: c_int,
    floats: Floats,
}

impl Threads {
    /// As the thread is now, for so many ranks.
    pub fn new(ranks: usize) -> Threads {
        Threads(vec![Cell::new(State::read()); ranks])
    }

    /// The state of the thread, which is kept as that of `rank`, whose program has gone on so far; `None`: no program has.
    pub fn keep(&self, rank: Option<usize>) -> State {
        let state = State::read();
        if let Some(rank) = rank {
            self.0[rank].set(state);
        }
        state
    }

    /// Gives the thread, which has the state `now` but for `errno`, the state of `rank`.
    pub fn put_in_place(&self, rank: usize, now: State) {
        self.0[rank].get().put_in_place(now);
    }
}

impl State {
    fn read() -> State {
        // SAFETY: the C library's variables of this thread.
        unsafe {
            State {
                errno: *libc::__errno_location(),
                h_errno: *__h_errno_location(),
                floats: Floats::read(),
            }
        }
    }

    fn put_in_place(self, now: State) {
        if now.floats != self.floats {
            self.floats.put_in_place(now.floats);
        }
        // SAFETY: the C library's variables of this thread.
        unsafe {
            *__h_errno_location() = self.h_errno;
            *libc::__errno_location() = self.errno;
        }
    }
}

/// The registers that say how to compute, and what has happened.
#[cfg(target_arch = "x86_64")]
mod floats {
    use std::arch::asm;

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Floats {
        mxcsr: u32,
        /// Control word and exceptions of the x87.
        control: u16,
        exceptions: u16,
    }

    /// Exceptions in the x87's status word.
    const EXCEPTIONS: u16 = 0x3f;
    /// Bits in the same word that say that one of them waits to be handled.
    const PENDING: u32 = 0x8080;
    /// What `fnstenv` writes, in words of 32 bits; the first two are control and status.
    const ENVIRONMENT_WORDS: usize = 7;

    impl Floats {
        pub fn read() -> Floats {
            let (mut mxcsr, mut control) = (0_u32, 0_u16);
            let status: u16;
            // SAFETY: the instructions write these places and nothing else.
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
            Floats {
                mxcsr,
                control,
                exceptions: status & EXCEPTIONS,
            }
        }

        /// Sets what differs from `now`: to set it takes much longer than to read it.
        pub fn put_in_place(self, now: Floats) {
            if now.mxcsr != self.mxcsr {
                // SAFETY: a value that the register has had. The compiler takes its default for granted in the runtime's
                // own arithmetic, of which there is none on this thread that rounds (`Costs::carries`).
                unsafe {
                    asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, readonly));
                }
            }
            if (now.control, now.exceptions) != (self.control, self.exceptions) {
                let mut words = [0_u32; ENVIRONMENT_WORDS];
                // SAFETY: writes the array.
                unsafe { asm!("fnstenv [{}]", in(reg) &raw mut words, options(nostack)) };
                words[0] = words[0] & !0xffff | u32::from(self.control);
                // Whether one of them waits to be handled follows from the control word.
                let is_pending = self.exceptions & !self.control & EXCEPTIONS != 0;
                words[1] &= !(u32::from(EXCEPTIONS) | PENDING);
                words[1] |= u32::from(self.exceptions) | if is_pending { PENDING } else { 0 };
                // SAFETY: reads the array, whose control word and exceptions the registers have had; no value is on the
                // x87's stack between two calls.
                unsafe {
                    asm!("fldenv [{}]", in(reg) &raw const words, options(nostack, readonly))
                };
            }
        }
    }
}

/// By the C library's functions where the registers are others.
#[cfg(not(target_arch = "x86_64"))]
mod floats {
    use std::ffi::c_int;

    /// Room for any `fenv_t`.
    type Words = [u64; 8];

    unsafe extern "C" {
        fn fegetenv(environment: *mut Words) -> c_int;
        fn fesetenv(environment: *const Words) -> c_int;
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Floats(Words);

    impl Floats {
        pub fn read() -> Floats {
            let mut words = [0; 8];
            // SAFETY: there is room.
            unsafe { fegetenv(&raw mut words) };
            Floats(words)
        }

        pub fn put_in_place(self, _: Floats) {
            // SAFETY: what `fegetenv` has written.
            unsafe { fesetenv(&raw const self.0) };
        }
    }
}
