//! Communicators of a job, identified across its ranks.
//!
//! A handle identifies a communicator in one rank only. Two ranks mean the same communicator if it has the same members
//! and the same original, and if each has created as many others with these members from that original before: MPI
//! requires that the members make the collective calls of a communicator in the same order (MPI-3.1 section 6.4.2).

use crate::job::CommunicatorRecord;
use std::collections::HashMap;

/// Handle of MPI_COMM_WORLD (mpi.h).
pub const COMM_WORLD: i64 = 0x101;
/// Handle of MPI_COMM_SELF.
pub const COMM_SELF: i64 = 0x102;
/// Handle of MPI_COMM_NULL.
pub const COMM_NULL: i64 = 0x100;

/// Returns the name of a predefined handle of this type, for example `MPI_Op`.
#[must_use]
pub fn handle_name(handle_type: &str, handle: i64) -> Option<&'static str> {
    let constants = midplane_api::fortran::constants();
    let is_it =
        |constant: &midplane_api::fortran::Constant| constant.handle == Some(handle_type) && constant.value == handle;
    constants.into_iter().find(is_it).map(|constant| constant.name)
}

/// Number of a communicator in [`Communicators`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommId(pub usize);

/// Sorted pair of groups: an intercommunicator has the same members seen from both sides.
type Members = [Vec<i64>; 2];

/// Collective call that creates a communicator: the original, if there is one in all members, and the members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Creation {
    original: Option<CommId>,
    members: Members,
}

/// All communicators of a job.
#[derive(Clone, Debug, Default)]
pub struct Communicators {
    numbers: HashMap<(Creation, usize), CommId>,
}

impl Communicators {
    /// Returns the number of a communicator that is the `occurrence`-th one of its kind in a rank.
    fn number(&mut self, creation: Creation, occurrence: usize) -> CommId {
        let next = CommId(self.numbers.len());
        *self.numbers.entry((creation, occurrence)).or_insert(next)
    }
}

/// A communicator, as a rank sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communicator {
    /// Number in the job.
    pub id: CommId,
    /// Rank of this process.
    pub rank: i64,
    /// Ranks in MPI_COMM_WORLD of its group.
    pub members: Vec<i64>,
    /// The same of the remote group; empty for an intracommunicator.
    pub remote: Vec<i64>,
}

impl Communicator {
    /// Returns the rank in MPI_COMM_WORLD of a partner in point-to-point communication.
    #[must_use]
    pub fn partner(&self, rank: i64) -> Option<usize> {
        let group = if self.remote.is_empty() {
            &self.members
        } else {
            &self.remote
        };
        let world = *group.get(usize::try_from(rank).ok()?)?;
        usize::try_from(world).ok()
    }

    /// Returns the number of partners.
    #[must_use]
    pub fn partners(&self) -> usize {
        if self.remote.is_empty() {
            self.members.len()
        } else {
            self.remote.len()
        }
    }

    /// Checks for an intercommunicator.
    #[must_use]
    pub fn is_inter(&self) -> bool {
        !self.remote.is_empty()
    }
}

/// Communicators of a rank by handle, at the current position in its records.
#[derive(Clone, Debug, Default)]
pub struct RankCommunicators {
    by_handle: HashMap<i64, Communicator>,
    occurrences: HashMap<Creation, usize>,
}

impl RankCommunicators {
    /// Adds a new communicator. `original` is the handle from which all members have created it, if there is one.
    pub fn add(&mut self, record: &CommunicatorRecord, original: Option<i64>, all: &mut Communicators) {
        let mut members = [record.members.clone(), record.remote.clone()];
        members.sort();
        let original = original.and_then(|handle| self.get(handle)).map(|original| original.id);
        let creation = Creation { original, members };
        let occurrence = self.occurrences.entry(creation.clone()).or_default();
        let id = all.number(creation, *occurrence);
        *occurrence += 1;
        self.by_handle.insert(
            record.handle,
            Communicator {
                id,
                rank: record.rank,
                members: record.members.clone(),
                remote: record.remote.clone(),
            },
        );
    }

    /// Returns a communicator.
    #[must_use]
    pub fn get(&self, handle: i64) -> Option<&Communicator> {
        self.by_handle.get(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(handle: i64, members: &[i64], remote: &[i64]) -> CommunicatorRecord {
        CommunicatorRecord {
            handle,
            rank: 0,
            members: members.into(),
            remote: remote.into(),
        }
    }

    #[test]
    fn handles_of_different_ranks_identify_one_communicator() {
        let mut all = Communicators::default();
        let [mut one, mut other] = [RankCommunicators::default(), RankCommunicators::default()];
        one.add(&record(1, &[0, 1], &[]), None, &mut all);
        one.add(&record(2, &[0, 1], &[]), None, &mut all);
        other.add(&record(7, &[0, 1], &[]), None, &mut all);
        other.add(&record(1, &[0, 1], &[]), None, &mut all);
        let id = |rank: &RankCommunicators, handle| rank.get(handle).map(|comm| comm.id);
        assert_eq!(id(&one, 1), id(&other, 7));
        assert_eq!(id(&one, 2), id(&other, 1));
        assert_ne!(id(&one, 1), id(&one, 2));
    }

    #[test]
    fn both_sides_of_an_intercommunicator_are_one() {
        let mut all = Communicators::default();
        let [mut one, mut other] = [RankCommunicators::default(), RankCommunicators::default()];
        one.add(&record(1, &[0], &[1, 2]), None, &mut all);
        other.add(&record(1, &[1, 2], &[0]), None, &mut all);
        assert_eq!(one.get(1).unwrap().id, other.get(1).unwrap().id);
        assert_eq!(one.get(1).unwrap().partner(1), Some(2));
    }
}
