//! The universe of a job whose processes come and go (MPI-3.1 chapter 10): its first world, and spare nodes.
//!
//! Its torus is a line, in which each started node is next to another one: see [`kernel_rt::board::linux::world`].

use crate::host::error::CliError;
use net_torus::coord::Shape;

/// Maximum number of nodes of a universe: the longest line of a torus.
pub const MAX_NODES: u32 = 256;
/// Maximum number of ranks of a job that has spare nodes without `--spare`. A larger one needs the short paths of a torus.
const MAX_RANKS: u32 = 64;

/// Plan of a universe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UniversePlan {
    /// Number of processes that the tool starts by itself.
    pub world: u32,
    /// Value of the attribute MPI_UNIVERSE_SIZE; 0: it is not set.
    pub size: u32,
}

impl UniversePlan {
    /// Returns the universe of a job with this many ranks, and its shape. `spare` is the specified number of spare nodes;
    /// without one, a program that `may_spawn` has all that there can be. That is no number of processes that it should start,
    /// so the universe size is not set. `None`: the job has one world.
    ///
    /// # Errors
    /// Returns a usage error for too many nodes.
    pub fn new(ranks: u32, spare: Option<u32>, may_spawn: bool) -> Result<Option<(Self, Shape)>, CliError> {
        let (nodes, size) = match spare {
            Some(0) => return Ok(None),
            Some(spare) => (ranks.saturating_add(spare), ranks.saturating_add(spare)),
            None if may_spawn && ranks <= MAX_RANKS => (MAX_NODES, 0),
            None => return Ok(None),
        };
        let shape = u16::try_from(nodes)
            .ok()
            .and_then(|nodes| Shape::new([nodes, 1, 1], [false; 3]));
        let shape = shape.ok_or_else(|| {
            CliError::usage(format!(
                "--spare: the ranks and the spare nodes are {nodes} in total; the maximum is {MAX_NODES}"
            ))
        })?;
        Ok(Some((Self { world: ranks, size }, shape)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_nodes_follow_the_ranks_on_a_line() {
        let (universe, shape) = UniversePlan::new(3, Some(5), false).unwrap().unwrap();
        assert_eq!(universe, UniversePlan { world: 3, size: 8 });
        assert_eq!((shape.extents(), shape.wraps()), ([8, 1, 1], [false; 3]));
        let (universe, shape) = UniversePlan::new(3, None, true).unwrap().unwrap();
        assert_eq!(universe, UniversePlan { world: 3, size: 0 });
        assert_eq!(shape.nodes(), MAX_NODES);
    }

    #[test]
    fn a_job_of_one_world_has_none() {
        assert_eq!(UniversePlan::new(4, None, false).unwrap(), None);
        assert_eq!(UniversePlan::new(4, Some(0), true).unwrap(), None);
        assert_eq!(UniversePlan::new(65, None, true).unwrap(), None);
        let error = UniversePlan::new(200, Some(57), false).unwrap_err();
        assert!(error.message.contains("257"), "{}", error.message);
    }
}
