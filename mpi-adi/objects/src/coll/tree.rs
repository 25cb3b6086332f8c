//! Binomial tree of ranks 0 to `size` - 1 with root 0, for broadcasts and reductions.
//!
//! The parent of a rank is the rank without its lowest set bit; its children have one more bit, below that. The ranks
//! of a subtree are consecutive.
#![forbid(unsafe_code)]

/// Returns the rank's parent; `None` for the root.
pub(super) fn parent(rank: u32) -> Option<u32> {
    (rank != 0).then(|| rank & (rank - 1))
}

/// Checks whether `rank` + `bit`, with a power of two as `bit`, is a child of `rank`, provided that it is below `size`.
pub(super) fn is_branch(rank: u32, size: u32, bit: u32) -> bool {
    bit < size && rank & bit == 0
}

/// Returns the lowest power of two above all branches of the rank.
pub(super) fn above_branches(rank: u32, size: u32) -> u32 {
    let mut bit = 1;
    while is_branch(rank, size, bit) {
        bit *= 2;
    }
    bit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_root_is_a_child_of_its_parent_alone() {
        for size in 1..70 {
            let mut children = Vec::new();
            for rank in 0..size {
                let mut bit = 1;
                while bit < above_branches(rank, size) {
                    assert!(is_branch(rank, size, bit));
                    children.push((rank + bit, rank));
                    bit *= 2;
                }
            }
            children.retain(|(child, _)| *child < size);
            children.sort_unstable();
            let parents = (1..size).map(|rank| (rank, parent(rank).expect("no root")));
            assert_eq!(children, Vec::from_iter(parents), "{size}");
            assert_eq!(parent(0), None);
        }
    }
}
