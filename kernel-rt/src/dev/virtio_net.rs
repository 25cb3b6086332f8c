//! A torus link over a virtio network device (section 5.1), point to point between two instances.
//!
//! The other end is a stream without loss: frames that are not taken stay with the device, then with the
//! neighbour, whose link is full. So this link drops nothing and keeps the order.
//!
//! Except at the start; see [`greeting`](super::greeting).

use midplane_abi::boot_error::DeviceError;
use net_torus::link::Link;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport;
use virtio_drivers::transport::mmio::MmioTransport;

use super::greeting::{Greeting, HELLO_BYTES, is_greeting};
use super::virtio::{BoardHal, begin, settle_queue};
use crate::mem::{FRAME_BYTES, RECEIVE_FRAMES, TRANSMIT_FRAMES};
use crate::node::NodeLink;

const QUEUE_RECEIVE: u16 = 0;
const QUEUE_TRANSMIT: u16 = 1;
/// `virtio_net_hdr` of the modern interface (section 5.1.6): all zeros, nothing is offloaded.
const HEADER_BYTES: usize = 12;

/// A frame's buffer; the device's header comes first.
pub type Frame = [u8; FRAME_BYTES as usize];

/// One link.
pub struct NetLink {
    transport: MmioTransport<'static>,
    receive: VirtQueue<BoardHal, RECEIVE_FRAMES>,
    transmit: VirtQueue<BoardHal, TRANSMIT_FRAMES>,
    /// The frame that the device fills for each token.
    filling: [Option<&'static mut Frame>; RECEIVE_FRAMES],
    /// The frame that the device sends for each token.
    sending: [Option<&'static mut Frame>; TRANSMIT_FRAMES],
    /// Frames to send from.
    free: heapless::Vec<&'static mut Frame, TRANSMIT_FRAMES>,
    /// The device has frames that it was not told to send.
    unsent: bool,
    /// [`Link::transmit`] found no free frame and nothing was freed since.
    full: bool,
    greeting: Greeting,
    /// What the device did that it must not do: tokens that were never given to it, lengths beyond the
    /// frame. Such frames are lost.
    defects: u64,
}

impl NetLink {
    /// Brings the device up and gives it all frames to fill.
    ///
    /// # Errors
    /// When the device is not what this driver needs; see [`DeviceError`].
    pub fn new(
        mut transport: MmioTransport<'static>,
        frames: &'static mut [Frame; RECEIVE_FRAMES + TRANSMIT_FRAMES],
    ) -> Result<Self, DeviceError> {
        begin(&mut transport, 0)?;
        let receive = VirtQueue::new(&mut transport, QUEUE_RECEIVE, false, false)
            .map_err(|_| DeviceError::Queue)?;
        let mut transmit = VirtQueue::new(&mut transport, QUEUE_TRANSMIT, false, false)
            .map_err(|_| DeviceError::Queue)?;
        // Who sends does not want to hear that it was sent, except when it waits for room.
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
            greeting: Greeting::new(),
            defects: 0,
        };
        for (i, frame) in frames.iter_mut().enumerate() {
            if i < RECEIVE_FRAMES {
                link.give(frame);
            } else {
                frame[..HEADER_BYTES].fill(0);
                // There are as many places as frames.
                let _ = link.free.push(frame);
            }
        }
        Ok(link)
    }

    /// Gives the device a frame to fill.
    fn give(&mut self, frame: &'static mut Frame) {
        // SAFETY: the frame is kept in `filling` and not touched until the device is done with it.
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

    /// Takes back the frames that have been sent.
    fn reclaim(&mut self) {
        while let Some(token) = self.transmit.peek_used() {
            let Some(frame) = self.sending.get_mut(token as usize).and_then(Option::take) else {
                self.defects += 1;
                return;
            };
            // SAFETY: the frame that was added under this token.
            if unsafe { self.transmit.pop_used(token, &[&frame[..]], &mut []) }.is_err() {
                self.defects += 1;
                return;
            }
            // There are as many places as frames.
            let _ = self.free.push(frame);
            self.full = false;
        }
    }

    /// Has the device send what it was given, before this returns.
    ///
    /// A device that may put off sending (QEMU: `tx=timer`) takes one notification as a hint that there will
    /// be more, asks not to be notified, and sends on the next one, on this processor's thread. Without that
    /// mode sending is left to QEMU's other thread, and waking that takes about a fifth
    /// of a hop (ping-pong of neighbours: 95 us without, 73 us with it, at the tenth percentile). So: notify
    /// until it has been said twice; the device's request tells whether it was said once already. Where the
    /// device sends at once, the second notification finds an empty queue. Where the neighbour's link is
    /// full, the frame follows when it no longer is.
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

    /// The device's interrupt has been taken.
    pub fn acknowledge(&mut self) {
        self.transport.ack_interrupt();
    }

    /// One step of greeting the neighbour: hears what has come and says what is to be said. `None`: the link is
    /// up and may be used. Otherwise to be called again when the link has interrupted, or at the time returned
    /// (nanoseconds, by the clock that `now_ns` is of).
    pub fn greet(&mut self, now_ns: u64) -> Option<u64> {
        let mut greeting = self.greeting;
        while greeting.is_listening() && self.take(|frame| greeting.hear(frame)) {}
        if let Some(hello) = greeting.due(now_ns) {
            let said = self.transmit(|frame| {
                frame[..HELLO_BYTES].copy_from_slice(&hello);
                HELLO_BYTES
            });
            greeting.tried(now_ns, said);
            self.send_now();
        }
        self.greeting = greeting;
        greeting.next_ns()
    }

    /// Greetings that were sent.
    pub fn greetings(&self) -> u32 {
        self.greeting.count()
    }

    /// Hands the oldest frame to `f` and gives its buffer back to the device. False when there is none.
    fn take(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let Some(token) = self.receive.peek_used() else {
            return false;
        };
        let Some(frame) = self.filling.get_mut(token as usize).and_then(Option::take) else {
            self.defects += 1;
            return false;
        };
        // SAFETY: the frame that was added under this token.
        match unsafe { self.receive.pop_used(token, &[], &mut [&mut frame[..]]) } {
            Ok(bytes) => match frame.get(HEADER_BYTES..bytes as usize) {
                Some(body) => f(body),
                None => self.defects += 1,
            },
            Err(_) => self.defects += 1,
        }
        self.give(frame);
        true
    }
}

impl Link for NetLink {
    const KEEPS_TIME: bool = false;

    fn mtu(&self) -> usize {
        FRAME_BYTES as usize - HEADER_BYTES
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        self.take(|frame| {
            // Greetings that were on their way when ours was done.
            if !is_greeting(frame) {
                f(frame);
            }
        })
    }

    /// What [`Link::transmit`] has taken since goes out, all at once.
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
            // Just popped, so there is a place.
            let _ = self.free.push(frame);
            return true;
        }
        // SAFETY: the frame is kept in `sending` and not touched until the device is done with it.
        let token = unsafe {
            self.transmit
                .add(&[&frame[..HEADER_BYTES + bytes]], &mut [])
        };
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

impl NodeLink for NetLink {
    fn hold_interrupts(&mut self) {
        self.receive.set_dev_notify(false);
        self.transmit.set_dev_notify(false);
    }

    fn prepare_sleep(&mut self) -> bool {
        // Asked for first, looked at then: what happens in between is seen or interrupts.
        self.receive.set_dev_notify(true);
        self.transmit.set_dev_notify(self.full);
        settle_queue();
        !(self.receive.can_pop() || self.full && self.transmit.can_pop())
    }

    fn defects(&self) -> u64 {
        self.defects
    }
}
