//! An output stream over a virtio console's first port (section 5.3).

use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::transport::mmio::MmioTransport;

use super::{BoardHal, DeviceError};

const QUEUE_TRANSMIT: u16 = 1;
/// The least that a virtqueue can have; one buffer is under way at a time.
const QUEUE_SIZE: usize = 2;

/// One output stream.
pub struct ConsoleDevice {
    transport: MmioTransport<'static>,
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
        super::begin(&mut transport)?;
        let queue = VirtQueue::new(&mut transport, QUEUE_TRANSMIT, false, false)
            .map_err(|_| DeviceError::Queue)?;
        transport.finish_init();
        Ok(Self {
            transport,
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
