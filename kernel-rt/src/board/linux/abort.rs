//! Abort path of a Linux process: by a call, a panic, a signal.
//!
//! The blackboard reports the reason and the process's location; the tool ends the job by killing it. A process that
//! receives a fatal signal ends by that signal, as it would without this module: debuggers, sanitizers and core files
//! work as usual. If one of them has already installed a handler, this module does not replace it.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::fmt::Write as _;
use core::{mem, ptr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{FailureCode, FinalMessage, MessageText};
use midplane_abi::failure::{Failure, FailureReason};
use midplane_abi::fault::{Fault, FaultReport, MemoryMap, NodeName, TrapCause};
use midplane_abi::status::exit_byte;

use super::share::NodeAccount;
use super::{JobManager, process};
use crate::mpi_failure::write_text;

/// Signals that end a program because of its errors.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// Size of the signal handlers' stack: the program's own stack may be exhausted.
const STACK_BYTES: usize = 64 << 10;
/// Bytes below the stack in which a fault counts as a stack overflow.
const GUARD_BYTES: u64 = 64 << 20;
/// The lowest page of a stack may be inaccessible.
const GUARD_PAGE: u64 = 4096;
/// Range of null pointers and of addresses computed from them.
const NULL_BYTES: u64 = 1 << 20;

#[repr(align(16))]
struct StackRange(UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: only the operating system uses it.
unsafe impl Sync for StackRange {}

static STACK: StackRange = StackRange(UnsafeCell::new([0; STACK_BYTES]));

/// Callback before a failure is reported.
static BEFORE: OnceLock<fn()> = OnceLock::new();

/// Registers `f`, called before a failure is reported, also in a signal handler: it must neither allocate nor take
/// locks. The first registration remains.
pub fn before_end(f: fn()) {
    let _ = BEFORE.set(f);
}

/// Callback before the process of a failed node exits.
static BEFORE_EXIT: OnceLock<fn(u8)> = OnceLock::new();

/// Registers `f`, called with the exit status before the process of a failed node exits by itself, outside of signal
/// handlers. The first registration remains.
pub fn before_exit(f: fn(u8)) {
    let _ = BEFORE_EXIT.set(f);
}

fn about_to_tell() {
    if let Some(before) = BEFORE.get() {
        before();
    }
}

/// Ends the node; in a job of several nodes the tool then ends the others.
pub fn end(why: FailureCode, status: i32, message: &str) -> ! {
    // SAFETY: all streams; the program is in one of our functions, not inside a call of the C library.
    unsafe { libc::fflush(ptr::null_mut()) };
    if let Some(process) = process() {
        about_to_tell();
        process.account.trace.note(frames().map(in_file).into_iter());
        let message = FinalMessage::Text(message);
        process.account.blackboard.failed(why, status, message);
        if is_traced() {
            // The debugger shows the backtrace, and ends with this process.
            // SAFETY: a signal that a debugger handles, and that only a debugger would see.
            unsafe { libc::raise(libc::SIGTRAP) };
        } else if process.manager == JobManager::Tool {
            loop {
                std::thread::park();
            }
        }
    }
    eprintln!("{message}");
    let status = exit_byte(status).max(1);
    if let Some(before) = BEFORE_EXIT.get() {
        before(status);
    }
    // SAFETY: ends the process. Not by `_exit`, which reports the program's end to this module (`ld/linux.c`).
    unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(status)) };
    unreachable!("exit_group does not return")
}

/// Shows the location of the current call in the program. Called within a call, outside of signal handlers.
pub fn show_location(account: &NodeAccount) {
    account.trace.note(frames().map(in_file).into_iter());
}

fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = { status.lines() }.find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|number| number.trim() != "0")
}

/// Number of return addresses to examine: a handler's own are first.
const LOOKED_AT: usize = 2 * super::share::FRAMES;

/// Load offset of the program relative to the addresses in its file, in bytes: 0 if it is linked for fixed addresses.
static LOADED_BEHIND: AtomicU64 = AtomicU64::new(0);

/// Makes later reports use the program's addresses as in its file.
fn find_program() {
    /// Uses the first object, which is the program.
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: the loader provides the structure.
        let behind = unsafe { (*info).dlpi_addr };
        LOADED_BEHIND.store(behind, Ordering::Relaxed);
        1
    }
    // SAFETY: the callback has the required signature and uses no data.
    unsafe { libc::dl_iterate_phdr(Some(first), ptr::null_mut()) };
}

/// Converts an address of the running program to its address in the file.
fn in_file(address: u64) -> u64 {
    let behind = LOADED_BEHIND.load(Ordering::Relaxed);
    address.checked_sub(behind).unwrap_or(address)
}

/// Returns the backtrace of the process, innermost first.
fn frames() -> [u64; LOOKED_AT] {
    let mut addresses = [ptr::null_mut::<c_void>(); LOOKED_AT];
    // SAFETY: the buffer has the specified length.
    unsafe { libc::backtrace(addresses.as_mut_ptr(), addresses.len() as c_int) };
    addresses.map(|address| address.addr() as u64)
}

/// Returns the backtrace from the location of a signal. After a jump to an address without code, the caller's return
/// address is on top of the stack.
fn frames_at(at: &SignalRegisters) -> [u64; LOOKED_AT] {
    let mut frames = match at.access {
        // The unwinder reads the code there, and would fault itself.
        TrapCause::InstructionAccess => [0; LOOKED_AT],
        _ => frames(),
    };
    let here = frames.iter().position(|address| *address == at.pc);
    match here {
        Some(here) if frames.get(here + 1).is_some_and(|next| *next != 0) => {
            frames.rotate_left(here + 1);
            frames[LOOKED_AT - here - 1..].fill(0);
        }
        _ => {
            frames.fill(0);
            frames[0] = top_of_stack(at);
        }
    }
    frames
}

/// Returns the word on top of the program's stack; 0 if the stack pointer is outside.
fn top_of_stack(at: &SignalRegisters) -> u64 {
    let stack = stack();
    let is_there = stack.contains(at.sp) && stack.contains(at.sp + 7) && at.sp.is_multiple_of(8);
    if !is_there || at.sp < stack.start + GUARD_PAGE {
        return 0;
    }
    // SAFETY: a word of the stack in use; its lowest page, which may be inaccessible, is excluded.
    unsafe { *(at.sp as *const u64) }
}

/// Meaning of a panic.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PanicMeaning {
    /// Every panic ends the job: only the runtime can panic.
    EndTheJob,
    /// A panic ends the job in the process's first thread, and in the thread that has started MPI.
    EndTheRank,
    /// The program handles panics itself, as in a test or under `catch_unwind`.
    AreThePrograms,
}

impl PanicMeaning {
    /// Returns the meaning in a job of one process.
    pub fn for_single_process(self) -> Self {
        match self {
            Self::EndTheRank => Self::AreThePrograms,
            other => other,
        }
    }

    /// Returns whether a panic of this thread ends the job.
    fn end_here(self) -> bool {
        match self {
            Self::EndTheJob => true,
            Self::EndTheRank => super::thread_id() == super::process_id() || midplane_objects::installed::is_owner(),
            Self::AreThePrograms => false,
        }
    }
}

/// Enables reports of the runtime's panics and of fatal signals.
pub fn explain(panics: PanicMeaning) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !panics.end_here() {
            return usual(info);
        }
        let name = NodeName(process().map(|p| (p.who.rank, p.who.coord)));
        end(FailureCode::Panic, 1, &format!("{name}: {info}"));
    }));
    // The first call loads a library, which a handler must not do.
    frames();
    find_program();
    let stack = libc::stack_t {
        ss_sp: STACK.0.get().cast(),
        ss_flags: 0,
        ss_size: STACK_BYTES,
    };
    // SAFETY: the stack exists forever, and nothing else uses it. It is not on the heap: only the operating system
    // knows its address, so a leak checker would report it.
    unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
    for signal in SIGNALS {
        // SAFETY: the structures are C's, for which zeros are valid; the handler has the type that SA_SIGINFO requires.
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

struct SignalRegisters {
    pc: u64,
    sp: u64,
    /// The access that failed, if the processor reports it.
    access: TrapCause,
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> SignalRegisters {
    const WRITE: i64 = 1 << 1;
    const FETCH: i64 = 1 << 4;
    let registers = &context.uc_mcontext.gregs;
    let error = registers[libc::REG_ERR as usize];
    SignalRegisters {
        pc: registers[libc::REG_RIP as usize] as u64,
        sp: registers[libc::REG_RSP as usize] as u64,
        access: match error {
            error if error & FETCH != 0 => TrapCause::InstructionAccess,
            error if error & WRITE != 0 => TrapCause::StoreAccess,
            _ => TrapCause::LoadAccess,
        },
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> SignalRegisters {
    SignalRegisters {
        pc: context.uc_mcontext.pc,
        sp: context.uc_mcontext.sp,
        access: TrapCause::LoadAccess,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: &libc::ucontext_t) -> SignalRegisters {
    SignalRegisters {
        pc: 0,
        sp: 0,
        access: TrapCause::LoadAccess,
    }
}

/// Handles a fatal signal. Neither allocates nor takes locks.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if let Some(process) = process() {
        // SAFETY: the arguments that the kernel passes to a handler with SA_SIGINFO.
        let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
        let at = registers(context);
        let place = Some((process.who.rank, process.who.coord));
        let mut message = MessageText::default();
        let blackboard = &process.account.blackboard;
        // SAFETY: these signals' information contains an address, or the ID of the sending process.
        let (address, sender) = unsafe { (info.si_addr().addr() as u64, info.si_pid()) };
        let name = NodeName(place);
        let SignalRegisters { pc, sp, .. } = at;
        let words = match (signal, info.si_code) {
            (signal, code) if code <= 0 => describe_sender(signal, sender),
            (libc::SIGFPE, code) => arithmetic(code),
            (libc::SIGILL, _) => Some(("illegal instruction", None)),
            (libc::SIGSEGV, SI_KERNEL) => Some(protection(context, &at)),
            (libc::SIGBUS, code) => Some((bus(code), Some(address))),
            _ => None,
        };
        let why = match words {
            Some(_) if signal == libc::SIGABRT && sender == process.number as libc::pid_t => {
                let _ = write!(message, "{name}: the program called abort()");
                FailureCode::Abort
            }
            Some((words, None)) => {
                let _ = write!(message, "{name}: {words}, at pc {pc:#x}, sp {sp:#x}");
                FailureCode::Fault
            }
            Some((words, Some(number))) if info.si_code <= 0 => {
                let _ = if number == u64::from(process.number) {
                    write!(message, "{name}: the program sent itself {words}")
                } else {
                    write!(message, "{name}: process {number} sent {words}")
                };
                FailureCode::Fault
            }
            Some((words, Some(value))) => {
                let _ = write!(message, "{name}: {words}: {value:#x}, at pc {pc:#x}, sp {sp:#x}");
                FailureCode::Fault
            }
            None => {
                let (fault, map) = fault(info.si_code, address, &at);
                let report = FaultReport::new(fault, &map);
                let why = FailureReason::Fault(report);
                let _ = write!(message, "{}", Failure { place, why }.in_words(write_text));
                report.end()
            }
        };
        about_to_tell();
        blackboard.set_fault(signal as u64, in_file(at.pc), address);
        process.account.trace.note(frames_at(&at).map(in_file).into_iter());
        blackboard.failed(why, 1, FinalMessage::Text(&message.0));
        if process.manager != JobManager::Tool {
            // SAFETY: writes the buffer's contents; a failure cannot be reported.
            unsafe {
                libc::write(2, message.0.as_ptr().cast(), message.0.len());
                libc::write(2, b"\n".as_ptr().cast(), 1);
            }
        }
    }
    // SAFETY: the default action; the process then continues as without a handler. A fault recurs when its instruction
    // is repeated, any other signal is sent again. Not by `signal` and `raise`: a program may define its own.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, &default, ptr::null_mut());
        let is_sent = (*info).si_code <= 0;
        if is_sent {
            let (process, thread) = (super::process_id(), super::thread_id());
            libc::syscall(libc::SYS_tgkill, process, thread, signal);
        }
    }
}

/// The processor provides no address.
const SI_KERNEL: c_int = 128;

/// Description of a signal, and a value to print with it.
type SignalDescription = (&'static str, Option<u64>);

/// Describes a signal sent by a process, with that process's ID.
fn describe_sender(signal: c_int, sender: libc::pid_t) -> Option<SignalDescription> {
    let words = match signal {
        libc::SIGSEGV => "signal 11 (SIGSEGV)",
        libc::SIGBUS => "signal 7 (SIGBUS)",
        libc::SIGILL => "signal 4 (SIGILL)",
        libc::SIGFPE => "signal 8 (SIGFPE)",
        _ => "signal 6 (SIGABRT)",
    };
    Some((words, Some(sender as u64)))
}

fn arithmetic(code: c_int) -> Option<SignalDescription> {
    let words = match code {
        1 => "integer division by zero, or one whose result is too big",
        2 => "integer overflow",
        3 => "floating-point division by zero, for which the program wants a signal",
        4 => "floating-point overflow, for which the program wants a signal",
        5 => "floating-point underflow, for which the program wants a signal",
        6 => "an inexact floating-point result, for which the program wants a signal",
        7 => "an invalid floating-point operation, for which the program wants a signal",
        _ => "an arithmetic exception",
    };
    Some((words, None))
}

fn bus(code: c_int) -> &'static str {
    match code {
        1 => "misaligned access",
        2 => "no memory there, such as behind the end of a mapped file",
        _ => "the machine's memory fails there",
    }
}

/// Describes a general protection fault, for which the processor provides no address.
#[cfg(target_arch = "x86_64")]
fn protection(context: &libc::ucontext_t, at: &SignalRegisters) -> SignalDescription {
    /// `ret`, which reads its address from the stack.
    const RET: u8 = 0xc3;
    let is_no_address = |value: &u64| !matches!((*value as i64) >> 47, 0 | -1);
    // SAFETY: the instruction that was being executed.
    let instruction = unsafe { *(at.pc as *const u8) };
    let top = top_of_stack(at);
    if instruction == RET && is_no_address(&top) {
        let words = "the return address on the stack has been overwritten";
        return (words, Some(top));
    }
    // The general registers are first.
    let registers = &context.uc_mcontext.gregs[..libc::REG_RIP as usize];
    let mut registers = registers.iter().map(|value| *value as u64);
    match registers.find(is_no_address) {
        Some(value) => (
            "an address that no x86-64 processor can use; a register has",
            Some(value),
        ),
        None => (
            "an address that is not aligned as its instruction asks, or an instruction that programs must not use",
            None,
        ),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn protection(_: &libc::ucontext_t, _: &SignalRegisters) -> SignalDescription {
    ("an access that the processor does not allow", None)
}

/// Returns the fault that SIGSEGV reports, and the memory map around it.
fn fault(code: c_int, address: u64, at: &SignalRegisters) -> (Fault, MemoryMap) {
    /// The address is mapped, but not for this access.
    const SEGV_ACCERR: c_int = 2;
    let fault = Fault {
        cause: at.access,
        code: libc::SIGSEGV as u64,
        pc: at.pc,
        address,
        sp: at.sp,
        ra: match at.access {
            TrapCause::InstructionAccess => top_of_stack(at),
            _ => 0,
        },
    };
    const NOTHING: AddressRange = AddressRange { start: 0, end: 0 };
    const EVERYTHING: AddressRange = AddressRange {
        start: NULL_BYTES,
        end: u64::MAX,
    };
    let stack = stack();
    let map = MemoryMap {
        null: AddressRange {
            start: 0,
            end: NULL_BYTES,
        },
        guard: AddressRange {
            start: stack.start.saturating_sub(GUARD_BYTES),
            end: stack.start,
        },
        stack,
        trap_guard: NOTHING,
        constants: if code == SEGV_ACCERR { EVERYTHING } else { NOTHING },
        ram: if code == SEGV_ACCERR { EVERYTHING } else { NOTHING },
    };
    (fault, map)
}

/// Returns the stack of the process's first thread, up to its size limit.
fn stack() -> AddressRange {
    process().map_or(AddressRange { start: 0, end: 0 }, |p| p.stack)
}

/// Returns the stack of the calling thread, the process's first.
pub fn look_at_stack() -> AddressRange {
    // SAFETY: the structure is initialized before it is read, and destroyed.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return AddressRange { start: 0, end: 0 };
        }
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        let start = start.addr() as u64;
        AddressRange {
            start,
            end: start + bytes as u64,
        }
    }
}
