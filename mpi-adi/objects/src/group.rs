//! Groups of processes (MPI-3.1 section 6.3): lists of distinct world ranks.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::coll::try_with_capacity;
use crate::comm::Membership;
use crate::error::Error;
use midplane_device::envelope::Rank;

/// A group under construction.
pub struct MemberList<T>(Vec<T>);

impl<T: Copy + PartialEq> MemberList<T> {
    /// Creates an empty group with capacity for `most` members. Fails with [`Error::NoSpace`].
    pub fn with_room(most: usize) -> Result<MemberList<T>, Error> {
        try_with_capacity(most).map(MemberList)
    }

    /// Appends processes that are not in the group.
    pub fn append(&mut self, processes: impl Iterator<Item = T>) {
        self.0.extend(processes);
    }

    /// Adds a process. Returns false if the group contains it already.
    pub fn add(&mut self, process: T) -> bool {
        let is_new = !self.0.contains(&process);
        if is_new {
            self.0.push(process);
        }
        is_new
    }

    /// Returns the completed group, without spare capacity if there is memory for a copy.
    pub fn done(self) -> Vec<T> {
        exact(&self.0).unwrap_or(self.0)
    }
}

/// Returns a copy without spare capacity. Fails with [`Error::NoSpace`], where `shrink_to_fit` would abort the process.
pub fn exact<T: Copy>(list: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = try_with_capacity(list.len())?;
    copy.extend_from_slice(list);
    Ok(copy)
}

/// Checks whether all these processes are members of `all`.
pub fn are_in(members: &[Rank], all: Membership<'_>) -> bool {
    let is_in = |member: &Rank| all.ranks().any(|rank| all.to_world(rank) == *member);
    members.iter().all(is_in)
}

/// Returns the processes of `first`, then those of `second` that are not in `first`.
pub fn union(first: &[Rank], second: &[Rank]) -> Result<Vec<Rank>, Error> {
    let mut members = MemberList::with_room(first.len() + second.len())?;
    members.append(first.iter().copied());
    members.append(second.iter().copied().filter(|p| !first.contains(p)));
    Ok(members.done())
}

/// Returns the processes of `first` that are in `second` (`wanted`) or that are not, in the order of `first`.
pub fn select(first: &[Rank], second: &[Rank], wanted: bool) -> Result<Vec<Rank>, Error> {
    let mut members = MemberList::with_room(first.len())?;
    members.append(first.iter().copied().filter(|p| second.contains(p) == wanted));
    Ok(members.done())
}

/// Returns the members with these valid ranks in the order of `ranks` (`wanted`), or the other members in group order.
pub fn pick(members: &[Rank], ranks: &[u32], wanted: bool) -> Result<Vec<Rank>, Error> {
    let mut picked = MemberList::with_room(members.len())?;
    if wanted {
        picked.append(ranks.iter().map(|rank| members[*rank as usize]));
    } else {
        let others = (0..).zip(members).filter(|(rank, _)| !ranks.contains(rank));
        picked.append(others.map(|(_, member)| *member));
    }
    Ok(picked.done())
}

/// Result of a comparison of two groups (MPI-3.1 section 6.3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GroupComparison {
    /// The same processes in the same order.
    Identical,
    /// The same processes in another order.
    Similar,
    /// Different processes.
    Unequal,
}

/// Compares two groups (section 6.3.1).
pub fn compare(first: &[Rank], second: &[Rank]) -> GroupComparison {
    if first == second {
        GroupComparison::Identical
    } else if first.len() == second.len() && first.iter().all(|p| second.contains(p)) {
        GroupComparison::Similar
    } else {
        GroupComparison::Unequal
    }
}

/// Returns the ranks that the triplets (first, last, stride) specify (section 6.3.2). Fails with [`Error::Rank`] for a
/// duplicate rank or one outside the group of `size`, and with [`Error::Argument`] for a stride of 0.
pub fn ranges(size: usize, triplets: impl IntoIterator<Item = [i32; 3]>) -> Result<Vec<u32>, Error> {
    let mut ranks = MemberList::with_room(size)?;
    for [first, last, stride] in triplets.into_iter().map(|t| t.map(i64::from)) {
        if stride == 0 {
            return Err(Error::Argument {
                what: "a range with a stride of 0",
            });
        }
        let mut at = first;
        while (stride > 0 && at <= last) || (stride < 0 && at >= last) {
            add_rank(&mut ranks, size, at)?;
            at += stride;
        }
    }
    Ok(ranks.done())
}

/// Returns these ranks, checked like those of [`ranges`].
pub fn listed(size: usize, given: &[i32]) -> Result<Vec<u32>, Error> {
    let mut ranks = MemberList::with_room(given.len().min(size))?;
    for rank in given {
        add_rank(&mut ranks, size, i64::from(*rank))?;
    }
    Ok(ranks.done())
}

fn add_rank(ranks: &mut MemberList<u32>, size: usize, rank: i64) -> Result<(), Error> {
    let wrong = Error::Rank {
        rank,
        size: size as u32,
    };
    let known = usize::try_from(rank).ok().filter(|rank| *rank < size);
    match known {
        Some(rank) if ranks.add(rank as u32) => Ok(()),
        Some(_) => Err(Error::Argument {
            what: "a rank that is named twice",
        }),
        None => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algebra_keeps_the_order_of_the_first() {
        let (a, b) = ([5, 1, 3].map(Rank::new), [3, 7, 5].map(Rank::new));
        assert_eq!(union(&a, &b).unwrap(), [5, 1, 3, 7].map(Rank::new));
        assert_eq!(select(&a, &b, true).unwrap(), [5, 3].map(Rank::new));
        assert_eq!(select(&a, &b, false).unwrap(), [Rank::new(1)]);
        assert_eq!(union(&[], &[]).unwrap(), []);
    }

    #[test]
    fn groups_compare_by_members_and_order() {
        let [a, b, c] = [1, 2, 3].map(Rank::new);
        assert_eq!(compare(&[a, b], &[a, b]), GroupComparison::Identical);
        assert_eq!(compare(&[a, b], &[b, a]), GroupComparison::Similar);
        assert_eq!(compare(&[a, b], &[a, c]), GroupComparison::Unequal);
        assert_eq!(compare(&[a, b], &[a]), GroupComparison::Unequal);
    }

    #[test]
    fn ranges_go_up_and_down_and_are_checked() {
        let all = [[0, 4, 2], [5, 1, -2], [7, 3, 1]];
        assert!(matches!(ranges(6, [[0, 6, 2]]), Err(Error::Rank { rank: 6, size: 6 })));
        assert_eq!(ranges(6, all).unwrap(), [0, 2, 4, 5, 3, 1]);
        assert!(matches!(ranges(6, [[1, 1, 0]]), Err(Error::Argument { .. })));
        assert!(ranges(6, [[0, 1, 1], [1, 2, 1]]).is_err(), "1 twice");
        let wide = [[0, i32::MAX, i32::MAX], [i32::MIN, 0, 1]];
        assert!(ranges(6, wide).is_err());
        assert_eq!(listed(3, &[2, 0]).unwrap(), [2, 0]);
        assert!(listed(3, &[2, -1]).is_err() && listed(3, &[2, 2]).is_err());
    }
}
