//! Fault injection into links for tests ([`LinkFaults`]), and the layers that repair the links:
//!
//! ```text
//!   Torus
//!   Reliable    retransmits lost frames
//!   Detour      reroutes frames when the link is cut
//!   Lossy       loses, corrupts, cuts
//!   the board's own link
//! ```
//! Images contain this only if faults are requested (the feature `faults`).
#![forbid(unsafe_code)]

use midplane_abi::boot_parameters::BootParameters;
use midplane_abi::faults::{LinkFaults, MILLION};
use net_torus::coord::{Coord, Direction, Shape};
use net_torus::detour::{self, Detour};
use net_torus::link::Link;
use net_torus::reliable::{ReliableLink, RetryConfig};
use oorandom::Rand32;

use crate::node::NodeLink;

/// Default for the maximum number of outstanding frames on a link: the number of slots of a ring.
pub const WINDOW: usize = 8;

/// Maximum number of consecutive retransmissions of a frame before the job ends: twice on each route.
pub const RETRIES: u32 = 2 * detour::PATIENCE * (detour::WAYS as u32 + 1);

/// A link that injects faults into its transmitted frames.
pub struct LossyLink<L> {
    link: L,
    loss: u32,
    corruption: u32,
    random: Rand32,
    /// Time of the cut, relative to the first [`Link::poll`].
    cut_ns: Option<u64>,
    start: Option<u64>,
    now: u64,
}

impl<L> LossyLink<L> {
    /// Creates the fault injector over `link` in direction `d` of the node at `here`.
    pub fn new(link: L, faults: &LinkFaults, shape: &Shape, here: Coord, d: Direction) -> Self {
        let stream = u64::from(shape.rank(here).unwrap_or_default()) << 3 | d as u64;
        Self {
            link,
            loss: faults.loss,
            corruption: faults.corruption,
            random: Rand32::new_inc(faults.seed, stream),
            cut_ns: faults.cut_ns(shape, here, d),
            start: None,
            now: 0,
        }
    }

    /// Returns the link below, for the board's interrupt handling.
    pub fn lower_mut(&mut self) -> &mut L {
        &mut self.link
    }

    fn is_cut(&self) -> bool {
        let since = self.start.map_or(0, |start| self.now - start);
        self.cut_ns.is_some_and(|at| since >= at)
    }
}

impl<L: Link> Link for LossyLink<L> {
    fn mtu(&self) -> usize {
        self.link.mtu()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        if !self.is_cut() {
            return self.link.receive(f);
        }
        self.link.receive(|_| {});
        false
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let (is_cut, random) = (self.is_cut(), &mut self.random);
        let (loss, corruption) = (self.loss, self.corruption);
        self.link.transmit(|buffer| {
            let bytes = f(buffer);
            if bytes == 0 {
                return 0;
            }
            let mut happens = |rate| random.rand_range(0..MILLION) < rate;
            let (lost, corrupted) = (happens(loss), happens(corruption));
            if lost || is_cut {
                return 0;
            }
            if corrupted {
                for _ in 0..random.rand_range(1..4) {
                    let bit = random.rand_range(0..8 * bytes as u32) as usize;
                    buffer[bit / 8] ^= 1 << (bit % 8);
                }
            }
            bytes
        })
    }

    fn poll(&mut self, now_ns: u64) {
        self.start.get_or_insert(now_ns);
        self.now = now_ns;
        self.link.poll(now_ns);
    }

    fn poll_at(&self) -> Option<u64> {
        self.link.poll_at()
    }

    fn is_untaken(&mut self) -> bool {
        !self.is_cut() && self.link.is_untaken()
    }

    fn is_dead(&self) -> bool {
        self.link.is_dead()
    }
}

impl<L: NodeLink> NodeLink for LossyLink<L> {
    fn mask_interrupts(&mut self) {
        self.link.mask_interrupts();
    }

    fn prepare_sleep(&mut self) -> bool {
        self.link.prepare_sleep()
    }

    fn end_call(&mut self) {
        self.link.end_call();
    }

    fn audit(&mut self) {
        self.link.audit();
    }

    fn defects(&self) -> u64 {
        self.link.defects()
    }
}

/// A link with injected faults and the layers that repair them, over the board's link `L`.
pub type RepairedLink<L, const FRAMES: usize = WINDOW> = ReliableLink<'static, Detour<'static, LossyLink<L>>, FRAMES>;

/// Returns the faults that these boot parameters specify.
pub fn requested_faults(boot: &BootParameters<'_>) -> LinkFaults {
    boot.faults.clone().unwrap_or_default()
}

/// Returns the memory in bytes that a link with frames of `mtu` bytes requires.
pub const fn memory(mtu: usize, frames: usize) -> usize {
    frames * (mtu - detour::HEADER) + 3 * mtu
}

/// Creates a repaired link with faults over `link`, in direction `d` of the node at `here`; `memory` contains
/// [`memory`] bytes.
///
/// # Errors
/// If the memory or the link's frames are too small.
pub fn repaired_link<L: Link, const FRAMES: usize>(
    link: L,
    faults: &LinkFaults,
    retry: RetryConfig,
    shape: &Shape,
    here: Coord,
    d: Direction,
    memory: &'static mut [u8],
) -> Result<RepairedLink<L, FRAMES>, net_torus::reliable::ReliableError> {
    let mtu = link.mtu();
    let (ways, window) = memory.split_at_mut((3 * mtu).min(memory.len()));
    let lossy = LossyLink::new(link, faults, shape, here, d);
    ReliableLink::with_frames(Detour::new(lossy, shape, here, d, ways), retry, window)
}

/// Returns the board's own link below a repaired one.
pub fn device<L: Link, const FRAMES: usize>(link: &mut RepairedLink<L, FRAMES>) -> &mut L {
    link.lower_mut().lower_mut().lower_mut()
}

impl<L: NodeLink + 'static> NodeLink for Detour<'static, LossyLink<L>> {
    fn mask_interrupts(&mut self) {
        self.lower_mut().mask_interrupts();
    }

    fn prepare_sleep(&mut self) -> bool {
        // Called in any case: the interrupt state is known for all links together.
        let quiet = self.lower_mut().prepare_sleep();
        quiet && !self.has_mail()
    }

    fn end_call(&mut self) {
        self.lower_mut().end_call();
    }

    fn audit(&mut self) {
        self.lower_mut().audit();
    }

    fn defects(&self) -> u64 {
        self.lower().defects()
    }

    fn detours(&self) -> u64 {
        self.detoured()
    }

    fn relay<K>(links: &mut [Option<K>; 6], own: impl Fn(&mut K) -> &mut Self) -> bool {
        detour::relay(links, own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::faults::LinkCut;
    use net_torus::sim::pair;
    use std::vec::Vec;

    fn shape() -> Shape {
        Shape::new([2, 1, 1], [true; 3]).unwrap()
    }

    /// Returns which frames arrive, which of those arrive intact, and whether a cut follows.
    fn fate(faults: &LinkFaults, frames: u32) -> (Vec<bool>, Vec<bool>) {
        let (a, mut b) = pair();
        let mut a = LossyLink::new(a, faults, &shape(), Coord::default(), Direction::XPlus);
        let (mut arrived, mut whole) = (Vec::new(), Vec::new());
        for now in 0..frames {
            a.poll(u64::from(now) * 1_000_000);
            let sent = a.transmit(|buffer| {
                buffer[..100].fill(0x5a);
                100
            });
            assert!(sent, "a fault is no lack of room");
            let mut good = false;
            arrived.push(b.receive(|frame| good = frame == [0x5a; 100]));
            whole.push(good);
        }
        (arrived, whole)
    }

    #[test]
    fn faults_come_as_often_as_ordered_and_again_by_the_seed() {
        let order = |loss, corruption, seed| LinkFaults {
            loss,
            corruption,
            seed,
            ..LinkFaults::default()
        };
        let (arrived, whole) = fate(&order(10_000, 50_000, 7), 10_000);
        let lost = arrived.iter().filter(|arrived| !**arrived).count();
        assert!((60..140).contains(&lost), "{lost}");
        let corrupted = whole.iter().filter(|whole| !**whole).count() - lost;
        assert!((420..580).contains(&corrupted), "{corrupted}");
        let again = fate(&order(10_000, 50_000, 7), 10_000);
        assert_eq!(again, (arrived.clone(), whole));
        assert_ne!(fate(&order(10_000, 50_000, 8), 10_000).0, arrived);
        assert!(fate(&order(0, 0, 7), 1000).1.iter().all(|whole| *whole));
    }

    #[test]
    fn a_cut_comes_at_its_time() {
        let cut = LinkCut {
            at: Coord { x: 1, y: 0, z: 0 },
            direction: Direction::XMinus,
            after_ms: 500,
        };
        let faults = LinkFaults {
            cuts: [cut].into_iter().collect(),
            ..LinkFaults::default()
        };
        let (arrived, _) = fate(&faults, 1000);
        assert_eq!(arrived.iter().position(|arrived| !arrived), Some(500));
        assert!(!arrived[500..].contains(&true));
    }
}
