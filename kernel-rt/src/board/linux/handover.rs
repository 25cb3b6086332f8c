//! Handover of a node from a process whose program has ended to the process of another program (MPI-3.1 chapter 10).
//!
//! A process whose program has ended forwards packets of others until the job ends. When the tool needs its node for another
//! program, it stores the state of the node at rest in its [`RequestArea`], and ends. The next process continues with that
//! state. Meanwhile frames for the node wait in the rings.
//!
//! ```text
//! for each direction    numbers of frames sent and received, credits of the router
//! for each node         two ages of the device
//! ```

use std::sync::atomic::Ordering;

use midplane_device::Adi;
use midplane_device::envelope::Rank;
use midplane_device::peers::PeerAges;
use net_torus::coord::Direction;
use net_torus::router::LinkCredits;
use net_torus::torus::Torus;

use super::job_requests::area;
use super::platform::{LinuxNode, WireLink};
use super::share::{REQUEST_BYTES, RequestArea, ToolRequests};

/// State of a link.
#[derive(Clone, Copy)]
struct LinkState {
    position: [u32; 2],
    credits: LinkCredits,
}

/// State of a node at rest.
pub struct NodeState {
    links: [Option<LinkState>; 6],
    ages: Vec<PeerAges>,
}

/// Bytes of a link: whether it exists, its position and its credits.
const LINK_BYTES: usize = 1 + 2 * size_of::<u32>() + size_of::<LinkCredits>();

impl NodeState {
    /// Returns the state of a node; `None` unless it is at rest.
    fn of_node(node: &mut LinuxNode) -> Option<Self> {
        let (adi, torus) = node.parts();
        if !(adi.is_at_rest() && torus.is_at_rest() && torus.router().is_empty()) {
            return None;
        }
        let mut links = [None; 6];
        for (direction, state) in Direction::ALL.into_iter().zip(&mut links) {
            let credits = torus.router().credits(direction);
            if let Some(link) = &mut torus.links_mut()[direction as usize] {
                let position = position(link)?;
                *state = Some(LinkState { position, credits });
            }
        }
        let ages = (0..adi.size()).map(|peer| adi.ages(Rank::new(peer))).collect();
        Some(Self { links, ages })
    }

    /// Returns the numbers of frames of a link; zeros where there is none.
    pub fn position(&self, direction: Direction) -> [u32; 2] {
        self.links[direction as usize].map_or([0; 2], |link| link.position)
    }

    /// Continues with the credits of the links.
    ///
    /// # Errors
    /// If the state is impossible.
    pub fn restore_credits(&self, torus: &mut Torus<'static, WireLink>) -> Result<(), &'static str> {
        for (direction, link) in Direction::ALL.into_iter().zip(&self.links) {
            if let Some(link) = link
                && !torus.router_mut().restore_credits(direction, link.credits)
            {
                return Err("the state that its predecessor has left is overwritten");
            }
        }
        Ok(())
    }

    /// Continues with the ages of the peers.
    pub fn restore_ages(&self, adi: &mut Adi) {
        for (peer, ages) in (0..adi.size()).zip(&self.ages) {
            adi.restore_ages(Rank::new(peer), *ages);
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        for link in &self.links {
            let state = link.unwrap_or(LinkState {
                position: [0; 2],
                credits: LinkCredits([0; _]),
            });
            bytes.push(link.is_some().into());
            bytes.extend(state.position.into_iter().flat_map(u32::to_le_bytes));
            bytes.extend(state.credits.0.into_iter().flat_map(u16::to_le_bytes));
        }
        bytes.extend(self.ages.iter().flat_map(|ages| [ages.to, ages.from]));
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut links = [None; 6];
        let mut rest = bytes;
        for link in &mut links {
            let (bytes, others) = rest.split_at_checked(LINK_BYTES)?;
            rest = others;
            let (is_there, bytes) = bytes.split_first()?;
            let (position, credits) = bytes.split_at(2 * size_of::<u32>());
            let (position, _) = position.as_chunks();
            let (words, _) = credits.as_chunks();
            let mut credits = LinkCredits([0; _]);
            for (word, bytes) in credits.0.iter_mut().zip(words) {
                *word = u16::from_le_bytes(*bytes);
            }
            *link = (*is_there != 0).then_some(LinkState {
                position: [
                    u32::from_le_bytes(*position.first()?),
                    u32::from_le_bytes(*position.get(1)?),
                ],
                credits,
            });
        }
        let (pairs, _) = rest.as_chunks();
        let ages = pairs.iter().map(|[to, from]| PeerAges { to: *to, from: *from });
        Some(Self {
            links,
            ages: ages.collect(),
        })
    }
}

#[cfg(not(feature = "faults"))]
fn position(link: &mut WireLink) -> Option<[u32; 2]> {
    link.ring()?.position()
}

/// Links that retransmit have more state; a job with them has one world.
#[cfg(feature = "faults")]
fn position(_: &mut WireLink) -> Option<[u32; 2]> {
    None
}

/// Hands the node over if the tool requests it and the node is at rest. Returns true if it has: then the node must not be
/// used any more. Otherwise reports whether it could be.
pub fn hands_over(node: &mut LinuxNode, orders: &ToolRequests) -> bool {
    if node.parts().0.is_at_rest() {
        orders.note_rest();
    }
    if !orders.must_hand_over() {
        return false;
    }
    let (Some(area), Some(state)) = (area(), NodeState::of_node(node)) else {
        return false;
    };
    let mut bytes = Vec::new();
    state.write(&mut bytes);
    if bytes.len() > REQUEST_BYTES || area.state.load(Ordering::Acquire) != RequestArea::IDLE {
        return false;
    }
    node.publish();
    // SAFETY: the area is idle, so the tool does not access it, and the program has ended.
    let fields = unsafe { &mut *area.fields.get() };
    fields[..bytes.len()].copy_from_slice(&bytes);
    area.bytes.store(bytes.len() as u32, Ordering::Relaxed);
    area.state.store(RequestArea::HANDED_OVER, Ordering::Release);
    true
}

/// Returns the state that the predecessor of this process has left, if there was one.
pub fn inherited_state() -> Option<NodeState> {
    let area = area()?;
    if area.state.load(Ordering::Acquire) != RequestArea::HANDED_OVER {
        return None;
    }
    let used = (area.bytes.load(Ordering::Relaxed) as usize).min(REQUEST_BYTES);
    // SAFETY: the predecessor has ended, and the tool does not access the area.
    let fields = unsafe { &*area.fields.get() };
    let state = NodeState::read(&fields[..used]);
    area.state.store(RequestArea::IDLE, Ordering::Release);
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_returns_as_written() {
        let mut links = [None; 6];
        links[1] = Some(LinkState {
            position: [7, u32::MAX],
            credits: LinkCredits(core::array::from_fn(|at| at as u16)),
        });
        let ages = vec![PeerAges { to: 1, from: 2 }, PeerAges { to: 3, from: 4 }];
        let mut bytes = Vec::new();
        NodeState { links, ages }.write(&mut bytes);
        let read = NodeState::read(&bytes).expect("a state");
        assert_eq!(read.position(Direction::XMinus), [7, u32::MAX]);
        assert_eq!(read.position(Direction::XPlus), [0; 2]);
        assert_eq!(read.links[1].map(|link| link.credits.0[27]), Some(27));
        assert_eq!(read.ages[1], PeerAges { to: 3, from: 4 });
        assert!(NodeState::read(&bytes[..LINK_BYTES]).is_none());
    }
}
