//! Names and sockets. A node's only network is the torus, used exclusively by MPI: no socket can be created, and no
//! other host has a name here. Conversions of addresses between numbers and texts work.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use super::FileOffset;
use super::errno::{EAFNOSUPPORT, EBADF, ENOSPC, ENOTSOCK, fail};
use super::files::is_open;
use crate::arch::set_errno;
use crate::console::{self, OutputStream};

define!(
    htonl, ntohl, htons, ntohs, inet_addr, inet_aton, inet_ntoa, inet_pton, inet_ntop,
);
define!(
    socket,
    socketpair,
    bind,
    connect,
    listen,
    accept,
    shutdown,
    send,
    recv,
    sendto,
    recvfrom,
    sendmsg,
    recvmsg,
    setsockopt,
    getsockopt,
    getsockname,
    getpeername,
);
define!(
    gethostbyname,
    gethostbyaddr,
    getaddrinfo,
    freeaddrinfo,
    getnameinfo,
    gai_strerror,
    hstrerror,
    herror,
    getservbyname,
    getprotobyname,
    __h_errno_location,
);

// Both processors are little-endian.
extern "C" fn htonl(word: u32) -> u32 {
    word.to_be()
}

extern "C" fn ntohl(word: u32) -> u32 {
    word.to_be()
}

extern "C" fn htons(word: u16) -> u16 {
    word.to_be()
}

extern "C" fn ntohs(word: u16) -> u16 {
    word.to_be()
}

/// Parses a dotted IPv4 address, in network byte order.
///
/// # Safety
/// There is a string.
unsafe fn address(text: *const c_char) -> Option<u32> {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    let address: Ipv4Addr = text.to_str().ok()?.parse().ok()?;
    Some(u32::from_ne_bytes(address.octets()))
}

unsafe extern "C" fn inet_addr(text: *const c_char) -> u32 {
    const NONE: u32 = u32::MAX;
    // SAFETY: C's promise.
    unsafe { address(text) }.unwrap_or(NONE)
}

unsafe extern "C" fn inet_aton(text: *const c_char, out: *mut u32) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        match address(text) {
            Some(address) => {
                out.write(address);
                1
            }
            None => 0,
        }
    }
}

/// An address's text with its terminating zero.
type AddressText = heapless::String<48>;

fn text_of(address: impl core::fmt::Display) -> AddressText {
    use core::fmt::Write as _;
    let mut text = AddressText::new();
    // The longest has 45 letters.
    let _ = write!(text, "{address}\0");
    text
}

/// Uses one static buffer for all calls (POSIX).
extern "C" fn inet_ntoa(address: u32) -> *const c_char {
    static PLACE: [AtomicU8; 16] = [const { AtomicU8::new(0) }; 16];
    let text = text_of(Ipv4Addr::from(address.to_ne_bytes()));
    for (place, byte) in PLACE.iter().zip(text.bytes()) {
        place.store(byte, Ordering::Relaxed);
    }
    PLACE.as_ptr().cast()
}

/// From the project's sys/socket.h.
const AF_INET: c_int = 2;
const AF_INET6: c_int = 10;

unsafe extern "C" fn inet_pton(family: c_int, text: *const c_char, out: *mut u8) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        let text = CStr::from_ptr(text).to_str().unwrap_or("");
        match family {
            AF_INET => text.parse().is_ok_and(|address: Ipv4Addr| {
                out.copy_from(address.octets().as_ptr(), 4);
                true
            }),
            AF_INET6 => text.parse().is_ok_and(|address: Ipv6Addr| {
                out.copy_from(address.octets().as_ptr(), 16);
                true
            }),
            _ => return fail(EAFNOSUPPORT),
        }
        .into()
    }
}

unsafe extern "C" fn inet_ntop(family: c_int, address: *const c_void, out: *mut c_char, room: c_uint) -> *const c_char {
    // SAFETY: C's promises.
    unsafe {
        let text = match family {
            AF_INET => text_of(Ipv4Addr::from(address.cast::<[u8; 4]>().read())),
            AF_INET6 => text_of(Ipv6Addr::from(address.cast::<[u8; 16]>().read())),
            _ => {
                set_errno(EAFNOSUPPORT);
                return ptr::null();
            }
        };
        if text.len() > room as usize {
            set_errno(ENOSPC);
            return ptr::null();
        }
        out.copy_from(text.as_ptr().cast(), text.len());
    }
    out
}

extern "C" fn socket(_: c_int, _: c_int, _: c_int) -> c_int {
    fail(EAFNOSUPPORT)
}

extern "C" fn socketpair(_: c_int, _: c_int, _: c_int, _: *mut c_int) -> c_int {
    fail(EAFNOSUPPORT)
}

/// Returns the error of a socket call for a descriptor, none of which is a socket.
fn no_socket(descriptor: c_int) -> c_int {
    fail(if is_open(descriptor) { ENOTSOCK } else { EBADF })
}

extern "C" fn bind(descriptor: c_int, _: *const c_void, _: c_uint) -> c_int {
    no_socket(descriptor)
}

extern "C" fn connect(descriptor: c_int, _: *const c_void, _: c_uint) -> c_int {
    no_socket(descriptor)
}

extern "C" fn listen(descriptor: c_int, _: c_int) -> c_int {
    no_socket(descriptor)
}

extern "C" fn accept(descriptor: c_int, _: *mut c_void, _: *mut c_uint) -> c_int {
    no_socket(descriptor)
}

extern "C" fn shutdown(descriptor: c_int, _: c_int) -> c_int {
    no_socket(descriptor)
}

extern "C" fn send(descriptor: c_int, _: *const c_void, _: usize, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn recv(descriptor: c_int, _: *mut c_void, _: usize, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn sendto(descriptor: c_int, _: *const c_void, _: usize, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn recvfrom(descriptor: c_int, _: *mut c_void, _: usize, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn sendmsg(descriptor: c_int, _: *const c_void, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn recvmsg(descriptor: c_int, _: *mut c_void, _: c_int) -> isize {
    no_socket(descriptor) as isize
}

extern "C" fn setsockopt(descriptor: c_int, _: c_int, _: c_int, _: *const c_void) -> c_int {
    no_socket(descriptor)
}

extern "C" fn getsockopt(descriptor: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    no_socket(descriptor)
}

extern "C" fn getsockname(descriptor: c_int, _: *mut c_void, _: *mut c_uint) -> c_int {
    no_socket(descriptor)
}

extern "C" fn getpeername(descriptor: c_int, _: *mut c_void, _: *mut c_uint) -> c_int {
    no_socket(descriptor)
}

/// `h_errno` of the project's netdb.h.
static LOOKUP_ERROR: AtomicI32 = AtomicI32::new(0);
const HOST_NOT_FOUND: c_int = 1;

extern "C" fn __h_errno_location() -> *mut c_int {
    LOOKUP_ERROR.as_ptr()
}

extern "C" fn gethostbyname(_: *const c_char) -> *mut c_void {
    LOOKUP_ERROR.store(HOST_NOT_FOUND, Ordering::Relaxed);
    ptr::null_mut()
}

extern "C" fn gethostbyaddr(_: *const c_void, _: c_uint, _: c_int) -> *mut c_void {
    LOOKUP_ERROR.store(HOST_NOT_FOUND, Ordering::Relaxed);
    ptr::null_mut()
}

/// From the project's netdb.h: unknown name; unsupported address family.
const EAI_NONAME: c_int = -2;
const EAI_FAMILY: c_int = -6;

extern "C" fn getaddrinfo(_: *const c_char, _: *const c_char, _: *const c_void, _: *mut *mut c_void) -> c_int {
    EAI_NONAME
}

/// Does nothing: no address list exists.
extern "C" fn freeaddrinfo(_: *mut c_void) {}

extern "C" fn getnameinfo(_: *const c_void, _: c_uint, _: *mut c_char, _: FileOffset) -> c_int {
    EAI_FAMILY
}

const UNKNOWN: &CStr = c"Name or service not known";
const NO_FAMILY: &CStr = c"Address family not supported";
const OTHER: &CStr = c"Unknown error";

extern "C" fn gai_strerror(error: c_int) -> *const c_char {
    match error {
        EAI_NONAME => UNKNOWN,
        EAI_FAMILY => NO_FAMILY,
        _ => OTHER,
    }
    .as_ptr()
}

fn lookup_error(error: c_int) -> &'static CStr {
    match error {
        HOST_NOT_FOUND => c"Unknown host",
        _ => OTHER,
    }
}

extern "C" fn hstrerror(error: c_int) -> *const c_char {
    lookup_error(error).as_ptr()
}

unsafe extern "C" fn herror(text: *const c_char) {
    console::flush();
    if !text.is_null() {
        // SAFETY: C's promise.
        console::write(OutputStream::Err, unsafe { CStr::from_ptr(text) }.to_bytes());
        console::write(OutputStream::Err, b": ");
    }
    let error = lookup_error(LOOKUP_ERROR.load(Ordering::Relaxed));
    console::write(OutputStream::Err, error.to_bytes());
    console::write(OutputStream::Err, b"\n");
}

extern "C" fn getservbyname(_: *const c_char, _: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

extern "C" fn getprotobyname(_: *const c_char) -> *mut c_void {
    ptr::null_mut()
}
