//! An output stream over port 1 of a virtio console (section 5.3).
//!
//! Port 0 would be simpler, but it is a console in the narrow sense, and QEMU throws away what such a one
//! writes while the host does not take it. On the other ports it holds the writer up instead.

use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::transport::mmio::MmioTransport;

use super::virtio::{BoardHal, DeviceError, begin, settle_queue};

// Section 5.3.2: ports have two queues each, and the control queues come behind port 0's.
const QUEUE_CONTROL: u16 = 3;
const QUEUE_TRANSMIT: u16 = 5;
/// One buffer is under way at a time.
const QUEUE_SIZE: usize = 2;
/// VIRTIO_CONSOLE_F_MULTIPORT (section 5.3.3).
const FEATURE_PORTS: u64 = 1 << 1;
const PORT: u32 = 1;

/// `virtio_console_control` (section 5.3.6.2) of a port, with value 1.
fn control(port: u32, event: u16) -> [u8; 8] {
    let ([a, b, c, d], [e, f]) = (port.to_le_bytes(), event.to_le_bytes());
    [a, b, c, d, e, f, 1, 0]
}
const DEVICE_READY: u16 = 0;
const PORT_READY: u16 = 3;
const PORT_OPEN: u16 = 6;

/// One output stream.
pub struct ConsoleDevice {
    transport: MmioTransport<'static>,
    /// Not used again, but the device still knows its memory.
    _control: VirtQueue<BoardHal, QUEUE_SIZE>,
    queue: VirtQueue<BoardHal, QUEUE_SIZE>,
    /// The buffer that the device reads, with its token.
    writing: Option<(u16, &'static mut [u8], usize)>,
}

impl ConsoleDevice {
    /// Brings the device up.
    ///
    /// # Errors
    /// When the device is not what this driver needs; see [`DeviceError`].
    pub fn new(mut transport: MmioTransport<'static>) -> Result<Self, DeviceError> {
        begin(&mut transport, FEATURE_PORTS)?;
        let mut queue = |number| {
            VirtQueue::<BoardHal, QUEUE_SIZE>::new(&mut transport, number, false, false)
                .map_err(|_| DeviceError::Queue)
        };
        let (mut to_control, queue) = (queue(QUEUE_CONTROL)?, queue(QUEUE_TRANSMIT)?);
        transport.finish_init();
        // What the device has to say about its ports is of no interest, so it gets no buffers to say it.
        for (port, event) in [(0, DEVICE_READY), (PORT, PORT_READY), (PORT, PORT_OPEN)] {
            to_control
                .add_notify_wait_pop(&[&control(port, event)], &mut [], &mut transport)
                .map_err(|_| DeviceError::Queue)?;
        }
        Ok(Self {
            transport,
            _control: to_control,
            queue,
            writing: None,
        })
    }

    /// Starts writing the first `bytes` (at least 1) of `buffer`, which [`ConsoleDevice::finish`] gives
    /// back. While another buffer is under way this one is given back at once.
    pub fn start(
        &mut self,
        buffer: &'static mut [u8],
        bytes: usize,
    ) -> Result<(), &'static mut [u8]> {
        if self.writing.is_some() || bytes == 0 || bytes > buffer.len() {
            return Err(buffer);
        }
        // SAFETY: the buffer is kept in `writing` and not touched until the device is done with it.
        match unsafe { self.queue.add(&[&buffer[..bytes]], &mut []) } {
            Ok(token) => {
                self.writing = Some((token, buffer, bytes));
                settle_queue();
                if self.queue.should_notify() {
                    self.transport.notify(QUEUE_TRANSMIT);
                }
                Ok(())
            }
            Err(_) => Err(buffer),
        }
    }

    /// Whether a buffer is under way that the device has not finished with.
    pub fn is_busy(&self) -> bool {
        self.writing.is_some() && !self.queue.can_pop()
    }

    /// Takes back the buffer that the device has written out.
    pub fn finish(&mut self) -> Option<&'static mut [u8]> {
        if self.is_busy() {
            return None;
        }
        let (token, buffer, bytes) = self.writing.take()?;
        // SAFETY: the buffer that was added under this token. A device that answers with another token
        // is broken beyond the loss of output.
        let _ = unsafe { self.queue.pop_used(token, &[&buffer[..bytes]], &mut []) };
        Some(buffer)
    }

    /// The device's interrupt has been taken.
    pub fn acknowledge(&mut self) {
        self.transport.ack_interrupt();
    }
}
