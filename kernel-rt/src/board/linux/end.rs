//! A node that fails: by a call, a panic, a signal.
//!
//! The blackboard says why, and where the process was; the tool ends the job, by killing it. A process that a signal
//! ends does end by it, as without us: debuggers, sanitizers and core files see what they expect. Where one of them
//! has a handler already, ours is not installed.

use core::ffi::{c_int, c_void};
use core::fmt::Write as _;
use core::{mem, ptr};
use std::sync::OnceLock;

use super::process;
use crate::fault::{Cause, Fault, Map, NodeName, Report};
use crate::host::blackboard::{End, Message, Words};
use crate::host::failure::{Failure, Why};
use crate::host::status::exit_byte;
use crate::mem::Bytes;

/// The signals that end a program for what it did.
const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
];
/// Stack on which they are handled: the program's own may be what is used up.
const STACK_BYTES: usize = 64 << 10;
/// Below the stack, where an overrun ends up.
const GUARD_BYTES: u64 = 64 << 20;
/// Where null pointers and what is computed from them point.
const NULL_BYTES: u64 = 1 << 20;

/// What goes on before a failure is told.
static BEFORE: OnceLock<fn()> = OnceLock::new();

/// From now on `f` is called before a failure is told, by a signal's handler, too: it must neither allocate nor take
/// locks. What is said first stands.
pub fn before_end(f: fn()) {
    let _ = BEFORE.set(f);
}

fn about_to_tell() {
    if let Some(before) = BEFORE.get() {
        before();
    }
}

/// Ends the node; in a job of several the tool then ends the others.
pub fn end(why: End, status: i32, message: &str) -> ! {
    // SAFETY: all streams; the program is not in the middle of a call of C's library, it is in one of ours.
    unsafe { libc::fflush(ptr::null_mut()) };
    if let Some(process) = process() {
        about_to_tell();
        process.account.trace.note(frames().into_iter());
        let message = Message::Words(message);
        process.account.blackboard.failed(why, status, message);
        if is_traced() {
            // The debugger shows how it came to this, and ends with us.
            // SAFETY: a signal that a debugger takes, and that none but it would be sent by.
            unsafe { libc::raise(libc::SIGTRAP) };
        } else if process.is_tended {
            loop {
                std::thread::park();
            }
        }
    }
    eprintln!("{message}");
    // SAFETY: ends the process. Not by `_exit`, which tells us of the program's end (`ld/linux.c`).
    unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(exit_byte(status).max(1))) };
    unreachable!("exit_group does not return")
}

/// Whether a debugger has this process.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = { status.lines() }.find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|number| number.trim() != "0")
}

/// Where the process is, and where it would return to, innermost first.
fn frames() -> [u64; super::share::FRAMES] {
    let mut addresses = [ptr::null_mut::<c_void>(); super::share::FRAMES];
    // SAFETY: there is room for as many as it is told.
    unsafe { libc::backtrace(addresses.as_mut_ptr(), addresses.len() as c_int) };
    addresses.map(|address| address.addr() as u64)
}

/// From now on panics of the runtime, and signals that end the program, are explained.
pub fn explain() {
    std::panic::set_hook(Box::new(|info| {
        let name = NodeName(process().map(|p| (p.who.rank, p.who.coord)));
        end(End::Panic, 1, &format!("{name}: {info}"));
    }));
    // The first call loads a library, which a handler must not.
    frames();
    let stack = Box::leak(Box::new([0u8; STACK_BYTES]));
    let stack = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: STACK_BYTES,
    };
    // SAFETY: the stack is there for ever, and nothing else uses it.
    unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
    for signal in SIGNALS {
        // SAFETY: the structures are C's, for which zeros are valid; the handler is of the type that goes with
        // SA_SIGINFO.
        unsafe {
            let mut before: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// Registers at a signal.
struct Registers {
    pc: u64,
    sp: u64,
    /// The access that failed, where the processor says.
    access: Cause,
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    const WRITE: i64 = 1 << 1;
    const FETCH: i64 = 1 << 4;
    let registers = &context.uc_mcontext.gregs;
    let error = registers[libc::REG_ERR as usize];
    Registers {
        pc: registers[libc::REG_RIP as usize] as u64,
        sp: registers[libc::REG_RSP as usize] as u64,
        access: match error {
            error if error & FETCH != 0 => Cause::InstructionAccess,
            error if error & WRITE != 0 => Cause::StoreAccess,
            _ => Cause::LoadAccess,
        },
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    Registers {
        pc: context.uc_mcontext.pc,
        sp: context.uc_mcontext.sp,
        access: Cause::LoadAccess,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: &libc::ucontext_t) -> Registers {
    Registers {
        pc: 0,
        sp: 0,
        access: Cause::LoadAccess,
    }
}

/// A signal has come that ends the program. Neither allocates nor takes locks.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if let Some(process) = process() {
        // SAFETY: what the kernel hands to a handler with SA_SIGINFO.
        let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
        let at = registers(context);
        let place = Some((process.who.rank, process.who.coord));
        let mut message = Words::default();
        let blackboard = &process.account.blackboard;
        // SAFETY: these signals' information has an address.
        let address = unsafe { info.si_addr() }.addr() as u64;
        let why = match signal {
            libc::SIGABRT => {
                let _ = write!(message, "{}: the program called abort()", NodeName(place));
                End::Abort
            }
            libc::SIGFPE => {
                let name = NodeName(place);
                let _ = write!(message, "{name}: division by zero, at pc {:#x}", at.pc);
                End::Fault
            }
            _ => {
                let (fault, map) = fault(signal, info.si_code, address, &at);
                let report = Report::of(fault, &map);
                let why = Why::Fault(report);
                let _ = write!(message, "{}", Failure { place, why });
                report.end()
            }
        };
        about_to_tell();
        blackboard.set_fault(signal as u64, at.pc, address);
        process.account.trace.note(frames().into_iter());
        blackboard.failed(why, 1, Message::Words(&message.0));
        if !process.is_tended {
            // SAFETY: writes what is there; there is no one to tell that it cannot.
            unsafe {
                libc::write(2, message.0.as_ptr().cast(), message.0.len());
                libc::write(2, b"\n".as_ptr().cast(), 1);
            }
        }
    }
    // SAFETY: the default action; what follows is what would have been without a handler. A fault comes again when
    // its instruction is repeated, any other signal is sent again. Not by `signal` and `raise`: a program may have its own.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, &default, ptr::null_mut());
        if signal == libc::SIGABRT {
            libc::syscall(
                libc::SYS_tgkill,
                libc::getpid(),
                libc::syscall(libc::SYS_gettid),
                signal,
            );
        }
    }
}

/// The fault that a signal tells of, and where things stand.
fn fault(signal: c_int, code: c_int, address: u64, at: &Registers) -> (Fault, Map) {
    /// The address is mapped, but not for this access.
    const SEGV_ACCERR: c_int = 2;
    /// The processor gives no address.
    const SI_KERNEL: c_int = 128;
    let cause = match signal {
        libc::SIGILL => Cause::IllegalInstruction,
        _ if code == SI_KERNEL => Cause::Other(signal as u64),
        _ => at.access,
    };
    let fault = Fault {
        cause,
        code: signal as u64,
        pc: at.pc,
        address: if signal == libc::SIGILL { 0 } else { address },
        sp: at.sp,
        ra: 0,
    };
    const NOTHING: Bytes = Bytes { start: 0, end: 0 };
    const EVERYTHING: Bytes = Bytes {
        start: NULL_BYTES,
        end: u64::MAX,
    };
    let stack = stack();
    let map = Map {
        null: Bytes {
            start: 0,
            end: NULL_BYTES,
        },
        guard: Bytes {
            start: stack.start.saturating_sub(GUARD_BYTES),
            end: stack.start,
        },
        stack,
        trap_guard: NOTHING,
        constants: if code == SEGV_ACCERR {
            EVERYTHING
        } else {
            NOTHING
        },
        ram: if code == SEGV_ACCERR || signal == libc::SIGBUS {
            EVERYTHING
        } else {
            NOTHING
        },
    };
    (fault, map)
}

/// The stack of the process's first thread, as far as it may grow.
fn stack() -> Bytes {
    process().map_or(Bytes { start: 0, end: 0 }, |p| p.stack)
}

/// The stack of the calling thread, the process's first.
pub fn look_at_stack() -> Bytes {
    // SAFETY: the structure is filled before it is read, and given back.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return Bytes { start: 0, end: 0 };
        }
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        let start = start.addr() as u64;
        Bytes {
            start,
            end: start + bytes as u64,
        }
    }
}
