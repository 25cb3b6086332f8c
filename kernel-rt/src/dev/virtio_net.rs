//! A torus link over a virtio network device (section 5.1), point to point between two instances.
//!
//! The other end is a lossless stream: frames not yet received remain in the device, then at the neighbour, whose link
//! is full. So this link drops nothing and preserves the order.
//!
//! The start is an exception; see [`handshake`](super::handshake).

use midplane_abi::boot_error::DeviceError;
use net_torus::link::Link;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::transport::mmio::MmioTransport;

use super::device_or_ring::LinkDevice;
use super::handshake::{HELLO_BYTES, LinkHandshake, is_greeting};
use super::virtio::{BoardHal, begin, settle_queue};
use crate::memory_plan::{FRAME_BYTES, RECEIVE_FRAMES, TRANSMIT_FRAMES};
use crate::node::NodeLink;

const QUEUE_RECEIVE: u16 = 0;
const QUEUE_TRANSMIT: u16 = 1;
/// Size of `virtio_net_hdr` of the modern interface (section 5.1.6): all zeros, no offloading.
const HEADER_BYTES: usize = 12;

/// A frame's buffer; the device's header is at its start.
pub type DeviceFrame = [u8; FRAME_BYTES as usize];

/// One link.
pub struct NetLink {
    transport: MmioTransport<'static>,
    receive: VirtQueue<BoardHal, RECEIVE_FRAMES>,
    transmit: VirtQueue<BoardHal, TRANSMIT_FRAMES>,
    /// The receive buffer of each token.
    filling: [Option<&'static mut DeviceFrame>; RECEIVE_FRAMES],
    /// The transmit buffer of each token.
    sending: [Option<&'static mut DeviceFrame>; TRANSMIT_FRAMES],
    free: heapless::Vec<&'static mut DeviceFrame, TRANSMIT_FRAMES>,
    /// The device has frames that it was not yet notified of.
    unsent: bool,
    /// [`Link::transmit`] found no free frame and nothing was freed since.
    full: bool,
    handshake: LinkHandshake,
    /// Protocol violations of the device: unknown tokens, or lengths beyond the frame. Such frames are lost.
    defects: u64,
}

impl NetLink {
    /// Initializes the device and provides it with all receive buffers.
    ///
    /// # Errors
    /// If the device does not meet this driver's requirements; see [`DeviceError`].
    pub fn new(
        mut transport: MmioTransport<'static>,
        frames: &'static mut [DeviceFrame; RECEIVE_FRAMES + TRANSMIT_FRAMES],
    ) -> Result<Self, DeviceError> {
        begin(&mut transport, 0)?;
        let receive = VirtQueue::new(&mut transport, QUEUE_RECEIVE, false, false).map_err(|_| DeviceError::Queue)?;
        let mut transmit =
            VirtQueue::new(&mut transport, QUEUE_TRANSMIT, false, false).map_err(|_| DeviceError::Queue)?;
        // A sender needs no completion interrupt, except while it waits for free space.
        transmit.set_dev_notify(false);
        transport.finish_init();
        let mut link = Self {
            transport,
            receive,
            transmit,
            filling: [const { None }; RECEIVE_FRAMES],
            sending: [const { None }; TRANSMIT_FRAMES],
            free: heapless::Vec::new(),
            unsent: false,
            full: false,
            handshake: LinkHandshake::new(),
            defects: 0,
        };
        for (i, frame) in frames.iter_mut().enumerate() {
            if i < RECEIVE_FRAMES {
                link.add_receive_buffer(frame);
            } else {
                frame[..HEADER_BYTES].fill(0);
                // Each frame has a slot in the list.
                let _ = link.free.push(frame);
            }
        }
        Ok(link)
    }

    /// Provides the device with a receive buffer.
    fn add_receive_buffer(&mut self, frame: &'static mut DeviceFrame) {
        // SAFETY: the frame is kept in `filling` and not accessed until the device is done with it.
        let token = unsafe { self.receive.add(&[], &mut [&mut frame[..]]) };
        match token {
            Ok(token) => {
                self.filling[token as usize] = Some(frame);
                settle_queue();
                if self.receive.should_notify() {
                    self.transport.notify(QUEUE_RECEIVE);
                }
            }
            // Cannot be full: there are no more frames than descriptors.
            Err(_) => self.defects += 1,
        }
    }

    /// Reclaims the buffers of transmitted frames.
    fn reclaim(&mut self) {
        while let Some(token) = self.transmit.peek_used() {
            let Some(frame) = self.sending.get_mut(token as usize).and_then(Option::take) else {
                self.defects += 1;
                return;
            };
            // SAFETY: the frame that was added with this token.
            if unsafe { self.transmit.pop_used(token, &[&frame[..]], &mut []) }.is_err() {
                self.defects += 1;
                return;
            }
            // Each frame has a slot in the list.
            let _ = self.free.push(frame);
            self.full = false;
        }
    }

    /// Makes the device transmit its pending frames before this returns.
    ///
    /// A device that may delay transmission (QEMU: `tx=timer`) uses the first notification as a hint that there will be
    /// more, disables notifications, and transmits on the next one, on this processor's thread. Without that mode
    /// transmission is left to QEMU's other thread, and waking that takes about a fifth of a hop (ping-pong of
    /// neighbours: 95 us without, 73 us with it, at the tenth percentile). So this notifies twice; the device's request
    /// indicates whether the first notification was already sent. If the device transmits immediately, the second
    /// notification finds an empty queue. If the neighbour's link is full, the frame follows when it no longer is.
    fn send_now(&mut self) {
        if !core::mem::take(&mut self.unsent) {
            return;
        }
        settle_queue();
        if self.transmit.should_notify() {
            self.transport.notify(QUEUE_TRANSMIT);
        }
        self.transport.notify(QUEUE_TRANSMIT);
    }

    /// Acknowledges the device's interrupt.
    pub fn acknowledge(&mut self) {
        self.transport.ack_interrupt();
    }

    /// Performs one step of the handshake: handles received frames and sends a pending hello. Returns `None` when the
    /// link is up and may be used. Otherwise it must be called again when the link has interrupted, or at the returned
    /// time (nanoseconds, by the clock of `now_ns`).
    pub fn greet(&mut self, now_ns: u64) -> Option<u64> {
        let mut handshake = self.handshake;
        while handshake.is_listening() && self.receive_frame(|frame| handshake.on_frame(frame)) {}
        if let Some(hello) = handshake.due(now_ns) {
            let said = self.transmit(|frame| {
                frame[..HELLO_BYTES].copy_from_slice(&hello);
                HELLO_BYTES
            });
            handshake.tried(now_ns, said);
            self.send_now();
        }
        self.handshake = handshake;
        handshake.next_ns()
    }

    /// Returns the number of hello frames sent.
    pub fn greetings(&self) -> u32 {
        self.handshake.count()
    }

    /// Passes the oldest frame to `f` and returns its buffer to the device. Returns false if there is none.
    fn receive_frame(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let Some(token) = self.receive.peek_used() else {
            return false;
        };
        let Some(frame) = self.filling.get_mut(token as usize).and_then(Option::take) else {
            self.defects += 1;
            return false;
        };
        // SAFETY: the frame that was added with this token.
        match unsafe { self.receive.pop_used(token, &[], &mut [&mut frame[..]]) } {
            Ok(bytes) => match frame.get(HEADER_BYTES..bytes as usize) {
                Some(body) => f(body),
                None => self.defects += 1,
            },
            Err(_) => self.defects += 1,
        }
        self.add_receive_buffer(frame);
        true
    }
}

impl Link for NetLink {
    const HAS_TIMEOUTS: bool = false;

    fn mtu(&self) -> usize {
        FRAME_BYTES as usize - HEADER_BYTES
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        self.receive_frame(|frame| {
            // Skips hello frames still in transit when this end completed the handshake.
            if !is_greeting(frame) {
                f(frame);
            }
        })
    }

    /// Transmits all frames that [`Link::transmit`] has enqueued since.
    fn poll(&mut self, _: u64) {
        self.send_now();
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        let Some(frame) = self.free.pop() else {
            self.full = true;
            return false;
        };
        let bytes = f(&mut frame[HEADER_BYTES..]).min(self.mtu());
        if bytes == 0 {
            // Just popped, so there is free capacity.
            let _ = self.free.push(frame);
            return true;
        }
        // SAFETY: the frame is kept in `sending` and not accessed until the device is done with it.
        let token = unsafe { self.transmit.add(&[&frame[..HEADER_BYTES + bytes]], &mut []) };
        match token {
            Ok(token) => {
                self.sending[token as usize] = Some(frame);
                self.unsent = true;
            }
            // Cannot be full: there are no more frames than descriptors.
            Err(_) => self.defects += 1,
        }
        true
    }

    fn wait_no_more(&mut self) {
        self.full = false;
    }
}

impl LinkDevice for NetLink {
    const SHARES_FLAG: bool = false;
}

impl NodeLink for NetLink {
    fn mask_interrupts(&mut self) {
        self.receive.set_dev_notify(false);
        self.transmit.set_dev_notify(false);
    }

    fn prepare_sleep(&mut self) -> bool {
        // Enable first, then check: a change in between is seen or interrupts.
        self.receive.set_dev_notify(true);
        self.transmit.set_dev_notify(self.full);
        settle_queue();
        !(self.receive.can_pop() || self.full && self.transmit.can_pop())
    }

    fn defects(&self) -> u64 {
        self.defects
    }
}
