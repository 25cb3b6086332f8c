//! Unified engine (COL+PNP): paper 002, section 4 and figure 2.
//!
//! Elements of point-to-point messages use the [partner and non-partner queues](super::pnp), those of collectives the
//! [queues per collective](super::col). The context and tag of a message determine its [`MessageClass`](super::MessageClass). As in the
//! paper, k is the sum of k_C and k_P, and each part has its own cap.
//!
//! # Memory, fixed
//! The sum of both parts.
//!
//! # Limits
//! Those of its parts: in particular, long queues of a single source are still lists.
#![forbid(unsafe_code)]

use super::col::CollectiveQueues;
use super::pnp::PartnerQueues;
use super::queues::{ByKind, QueueElement};
use super::split::{SplitDesign, SplitEngine};

/// Engine with partner and non-partner queues for point-to-point messages, and queues per collective.
pub type UnifiedEngine = SplitEngine<UnifiedDesign>;

/// Design of [`UnifiedEngine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnifiedDesign;

impl SplitDesign for UnifiedDesign {
    const NAME: &'static str = "unified";
    type Queues<I: QueueElement> = ByKind<PartnerQueues<I>, CollectiveQueues<I>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MatchingFixture, OperationMix, compare, envelope};
    use crate::queues::ElementQueues;
    use crate::{ColEngine, PnpEngine};
    use midplane_device::matching::MatchingEngine;

    #[test]
    fn each_kind_has_its_own_queues() {
        let mut rig = MatchingFixture::<UnifiedEngine>::new(1000, 200);
        for _ in 0..3 {
            for source in 0..60 {
                rig.record(envelope(source, 1, 0)).unwrap();
                rig.record(envelope(source, 1, 1)).unwrap();
            }
            for source in 0..60 {
                assert!(rig.receive(envelope(source, 1, 1).pattern()).is_ok());
            }
        }
        // One hundred elements; forty sources have two.
        let queues = &rig.engine.unexpected;
        assert_eq!(queues.point_to_point.lists().count(), 2 + 1 + 60);
        assert_eq!(queues.collective.lists().count(), 2 + 1);
        rig.check();
        // A search for one kind does not check the queues of the other.
        let hops = rig.hops(|rig| assert_eq!(rig.probe(envelope(7, 1, 1).pattern()), None));
        assert_eq!(hops, 1);
        assert_eq!(
            UnifiedEngine::fixed_bytes(9, 64),
            PnpEngine::fixed_bytes(9, 64) + ColEngine::fixed_bytes(9, 64)
        );
    }

    #[test]
    fn whatever_happens_the_results_are_those_of_a_list() {
        for (seed, peers) in [(1, 8), (2, 40), (3, 500)] {
            let mix = OperationMix {
                peers,
                contexts: 4,
                tags: 4,
                wild: 30,
                operations: 30_000,
                most_arrivals: 800,
            };
            let rig = compare::<UnifiedDesign>(seed, &mix);
            let lists = [
                rig.engine.posted.point_to_point.lists().count(),
                rig.engine.posted.collective.lists().count(),
                rig.engine.unexpected.point_to_point.lists().count(),
                rig.engine.unexpected.collective.lists().count(),
            ];
            assert!(lists.into_iter().all(|lists| lists > 2), "{lists:?}");
        }
    }
}
