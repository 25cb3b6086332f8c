//! Messages to the tool.

use std::ffi::c_int;

/// Maximum number of bytes per message to the tool.
pub const MAX_PRINTED: usize = 8 << 10;

/// Sends a message by a socket; blocks until there is space.
pub fn hand_on(socket: c_int, message: &[u8]) {
    loop {
        // SAFETY: the message has that many bytes.
        let sent = unsafe { libc::send(socket, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if sent >= 0 || !interrupted {
            return;
        }
    }
}
