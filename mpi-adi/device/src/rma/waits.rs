//! Grants and ends of epochs that a process waits for, for the explanation of a hang.
#![forbid(unsafe_code)]

use crate::queues::{QueueEntry, QueueKind};
use crate::rma::epochs::{EpochKind, EpochMember, EpochState};
use crate::rma::one_sided::OneSided;
use crate::rma::peers::PeerFlags;
use crate::rma::window::Window;

impl<R> OneSided<R> {
    /// Calls `visit` for each grant and each end of an epoch that this process waits for, and for each holder of a lock
    /// of its windows.
    pub(crate) fn visit_waits(&self, visit: &mut dyn FnMut(QueueEntry)) {
        for window in &self.windows {
            window.visit_waits(visit);
        }
    }
}

impl Window {
    fn visit_waits(&self, visit: &mut dyn FnMut(QueueEntry)) {
        let entry = |kind, peer| QueueEntry::for_window(kind, self.context, peer);
        for epoch in self.epochs.iter().filter(|epoch| epoch.is_active()) {
            match epoch.sort {
                EpochKind::Post => {
                    let awaited = epoch.members.iter().filter(|member| !member.has_done);
                    awaited.for_each(|member| visit(entry(QueueKind::WindowEpoch, member.rank)));
                }
                EpochKind::Start if epoch.checks => {
                    let is_granted = |member: &EpochMember| self.peers.grants(member.rank) > 0;
                    let awaited = epoch
                        .members
                        .iter()
                        .filter(|member| !member.is_told && !is_granted(member));
                    awaited.for_each(|member| visit(entry(QueueKind::WindowGrant, member.rank)));
                }
                EpochKind::Lock { target, .. } if epoch.checks && epoch.step < EpochState::Open => {
                    visit(entry(QueueKind::WindowGrant, target));
                }
                EpochKind::LockAll | EpochKind::Lock { .. } | EpochKind::Start | EpochKind::Fence => {}
            }
        }
        for (rank, peer) in self.peers.iter() {
            if peer.flags.has(PeerFlags::ASKED) && !peer.flags.has(PeerFlags::HELD) {
                visit(entry(QueueKind::WindowGrant, rank));
            }
            if peer.flags.has(PeerFlags::HOLDS) {
                visit(entry(QueueKind::LockHolder, rank));
            }
        }
    }
}
