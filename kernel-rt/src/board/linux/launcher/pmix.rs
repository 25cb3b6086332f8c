//! The sizes of a job by PMIx.
//!
//! The protocol between PMIx and its clients is not specified; its library's interface is (PMIx Standard 4.1). The
//! library is the host's, opened by name, so that programs start on hosts without it. It is used only here: the session
//! ends before the program starts, since its threads would live on in the program.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem;
use std::ptr;

/// Name of the library. Versions 2 to 5 of PMIx have this name.
const LIBRARY: &CStr = c"libpmix.so.2";
const SUCCESS: c_int = 0;
/// PMIX_MAX_NSLEN.
const MAX_NAMESPACE: usize = 255;
/// PMIX_RANK_WILDCARD: the job as a whole.
const WILDCARD: u32 = u32::MAX - 1;
/// PMIX_UINT32.
const TYPE_U32: u16 = 14;

/// `pmix_proc_t`.
#[repr(C)]
struct PmixProc {
    namespace: [c_char; MAX_NAMESPACE + 1],
    rank: u32,
}

/// The beginning of `pmix_value_t`: its type, and a union.
#[repr(C)]
struct PmixValue {
    kind: u16,
    unused: [u16; 3],
    /// The union, if its type is [`TYPE_U32`].
    number: u32,
}

type Init = unsafe extern "C" fn(*mut PmixProc, *mut c_void, usize) -> c_int;
type Get = unsafe extern "C" fn(*const PmixProc, *const c_char, *const c_void, usize, *mut *mut PmixValue) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;

/// Sizes of a job, and the number of the process's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobSizes {
    /// Of the job.
    pub job: u32,
    /// Of the job on this host.
    pub on_host: u32,
    /// The number of the process's program among those of the job.
    pub program: u32,
}

/// Returns the sizes of this process's job. Blocks until the launcher's server has responded.
///
/// # Errors
/// If the library is absent or another one, or the server does not respond.
pub fn sizes() -> Result<JobSizes, String> {
    // SAFETY: opens the library, whose constructors may run. It is never closed.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(format!(
            "the launcher offers PMIx, but the library {LIBRARY:?} cannot be loaded ({}); install it (Debian: libpmix2), \
             or use srun --mpi=pmi2 or MPICH's mpiexec",
            load_error()
        ));
    }
    // SAFETY: the three functions have these types in each version of the library with this name.
    let (init, get, finalize): (Init, Get, Finalize) = unsafe {
        (
            mem::transmute::<*mut c_void, Init>(function(library, c"PMIx_Init")?),
            mem::transmute::<*mut c_void, Get>(function(library, c"PMIx_Get")?),
            mem::transmute::<*mut c_void, Finalize>(function(library, c"PMIx_Finalize")?),
        )
    };
    let mut own = PmixProc {
        namespace: [0; MAX_NAMESPACE + 1],
        rank: 0,
    };
    // SAFETY: the structure is there; without information.
    succeeded("PMIx_Init", unsafe { init(&raw mut own, ptr::null_mut(), 0) })?;
    let job = PmixProc { rank: WILDCARD, ..own };
    let sizes = number(get, &job, c"pmix.job.size").and_then(|size| {
        Ok(JobSizes {
            job: size,
            on_host: number(get, &job, c"pmix.local.size")?,
            // A launcher of one program need not tell it.
            program: number(get, &own, c"pmix.appnum").unwrap_or(0),
        })
    });
    // SAFETY: without information.
    unsafe { finalize(ptr::null(), 0) };
    sizes
}

fn load_error() -> String {
    // SAFETY: returns a C string of this thread's last error, or null.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "no reason given".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

fn function(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is open, and the name is a C string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        Err(format!("the library {LIBRARY:?} has no function {name:?}"))
    } else {
        Ok(found)
    }
}

fn succeeded(function: &str, status: c_int) -> Result<(), String> {
    match status {
        SUCCESS => Ok(()),
        _ => Err(format!("{function} of the launcher's PMIx returns {status}")),
    }
}

/// Returns a number of the job. Its value is not freed: the library's function for that is inline in its header.
fn number(get: Get, job: &PmixProc, key: &CStr) -> Result<u32, String> {
    let mut value = ptr::null_mut();
    // SAFETY: the arguments are there; the value is written if the function succeeds.
    let status = unsafe { get(job, key.as_ptr(), ptr::null(), 0, &raw mut value) };
    succeeded("PMIx_Get", status)?;
    // SAFETY: the library has allocated the value.
    match unsafe { value.as_ref() } {
        Some(value) if value.kind == TYPE_U32 => Ok(value.number),
        _ => Err(format!("PMIx_Get of the launcher's PMIx returns no number for {key:?}")),
    }
}
