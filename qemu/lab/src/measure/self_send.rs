//! Instruction benchmark of 8-byte self-sends through the C binding, from the posted receive to its completion.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use midplane_c::measure;
use midplane_device::envelope::Rank;
use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
use midplane_device::kernel::{AbortReason, CallInfo, Kernel};
use midplane_device::memory::{RawMemory, UserMemory};
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use midplane_objects::{Env, Process, installed};
use msg_layer::{Port, TrafficClass};
use net_torus::{Coord, Shape};
use spin::Mutex;

const MPI_MEMORY: usize = 64 << 10;

/// Use of the network by a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkUse {
    /// Number of progress steps.
    pub polls: u64,
    /// Number of packets injected.
    pub packets: u64,
}

struct SelfProcess(Process);

/// Like a Linux process, accesses its node by a few instructions.
static ADI: Mutex<Option<Adi>> = Mutex::new(None);

static POLLS: AtomicU64 = AtomicU64::new(0);
static PACKETS: AtomicU64 = AtomicU64::new(0);

struct SelfHost {
    memory: RawMemory,
}

/// Discards packets.
struct NullPort;

impl Port for NullPort {
    fn can_inject(&self, _: TrafficClass) -> bool {
        true
    }

    fn rank(&self, _: Coord) -> Option<u32> {
        Some(0)
    }

    fn inject(&mut self, _: TrafficClass, _: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        fill(&mut vec![0; len]);
        PACKETS.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn head(&self, _: TrafficClass) -> Option<&[u8]> {
        None
    }

    fn pop(&mut self, _: TrafficClass) {}
}

impl Kernel for SelfHost {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        POLLS.fetch_add(1, Ordering::Relaxed);
        adi.progress(&mut NullPort, &mut self.memory)
    }

    fn idle(&mut self) {
        panic!("nothing will ever come");
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        0
    }

    fn record_call(&mut self, _: Option<CallInfo>) {}

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        panic!("the job ends with {status}: {why:?}")
    }
}

fn with_device<R>(work: impl FnOnce(&mut Adi) -> R) -> R {
    work(ADI.lock().as_mut().expect("`run` has set it up"))
}

impl Env for SelfProcess {
    fn process(&self) -> &Process {
        &self.0
    }
}

impl EnterDevice for SelfProcess {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        with_device(|adi| {
            adi.evict_cached_recv();
            work(adi, &mut SelfHost { memory: RawMemory });
        });
    }

    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        let &OutgoingMessage { ref to, span } = outgoing;
        with_device(|adi| {
            if adi.deliver_to_cached(&mut RawMemory, to, span) {
                return FastSend::Complete;
            }
            adi.evict_cached_recv();
            adi.send_fast(&mut RawMemory, to, span)
        })
    }

    fn fast_receive(&self, _: &'static str, incoming: &IncomingMessage) -> FastRecv {
        let &IncomingMessage { ref pattern, span } = incoming;
        with_device(|adi| {
            adi.evict_cached_recv();
            adi.receive_fast(&mut RawMemory, pattern, span)
        })
    }

    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        let &IncomingMessage { ref pattern, span } = incoming;
        with_device(|adi| {
            let kept = adi.cache_self_recv(pattern, span);
            kept.or_else(|| {
                adi.evict_cached_recv();
                adi.irecv(&mut RawMemory, *pattern, span).ok()
            })
        })
    }

    fn fast_wait(&self, _: &'static str, id: RequestId) -> Option<PlainCompletion> {
        with_device(|adi| {
            adi.take_completed_cached(id).or_else(|| {
                adi.evict_cached_recv();
                adi.take_plain_completed(id)
            })
        })
    }
}

/// Sends `messages` messages; returns `None` if one did not arrive. Must be called once per process, because the C
/// functions use its one device.
pub fn run(messages: u32) -> Option<NetworkUse> {
    let config = DeviceConfig {
        shape: Shape::new([1; 3], [true; 3])?,
        rank: Rank::new(0),
        request_slots: usize::MAX,
    };
    let memory = DeviceMemory::allocate(MPI_MEMORY, 1).ok()?;
    *ADI.lock() = Some(Adi::new(config, memory)?);
    installed::install(Box::leak(Box::new(SelfProcess(Process::new()))));
    let all_came = measure::start() && measure::send_to_self(messages);
    all_came.then(|| NetworkUse {
        polls: POLLS.load(Ordering::Relaxed),
        packets: PACKETS.load(Ordering::Relaxed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither the receive nor the send nor the wait uses the network.
    #[test]
    fn a_message_to_oneself_asks_nothing_of_the_network() {
        let nothing = NetworkUse { polls: 0, packets: 0 };
        assert_eq!(run(100), Some(nothing));
    }
}
