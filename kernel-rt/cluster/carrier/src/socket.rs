//! Messages to the tool.

use std::ffi::c_int;

/// Greatest number of bytes that the tool is given at once.
pub const MOST_PRINTED: usize = 8 << 10;

/// Sends a message by a socket; waits for room.
pub fn hand_on(socket: c_int, message: &[u8]) {
    loop {
        // SAFETY: there are as many bytes.
        let sent = unsafe {
            libc::send(
                socket,
                message.as_ptr().cast(),
                message.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if sent >= 0 || !interrupted {
            return;
        }
    }
}
