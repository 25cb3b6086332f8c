//! A process's view of a job whose processes come and go (MPI-3.1 chapter 10).
//!
//! The torus of such a job is a line of nodes: those of the first world, and spare ones. A spare node is started when a
//! process spawns it. So the started nodes are the first ones of the line, and each route between two of them passes
//! started ones only.

use std::str::FromStr;

use midplane_device::envelope::Rank;
use midplane_objects::installed::{WorldPlace, set_world};

/// The last word of [`VARIABLE`](super::VARIABLE) in such a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorldView {
    /// First node of the process's MPI_COMM_WORLD.
    pub first: u32,
    /// Number of its processes.
    pub size: u32,
    /// Value of the attribute MPI_UNIVERSE_SIZE; 0: it is not set.
    pub universe: u32,
    /// Index of the program among those that were started together (MPI_APPNUM).
    pub appnum: u32,
    /// Node that has spawned the world.
    pub parent: Option<u32>,
}

impl WorldView {
    /// Returns the word: `w`, then the numbers, separated by colons.
    pub fn to_word(self) -> String {
        let parent = self.parent.map_or("-".into(), |parent| parent.to_string());
        let [first, size, universe, appnum] = [self.first, self.size, self.universe, self.appnum];
        format!("w{first}:{size}:{universe}:{appnum}:{parent}")
    }

    /// Makes it the MPI_COMM_WORLD of this process.
    pub fn install(self) {
        let parent = self.parent.map(Rank::new);
        let universe = (self.universe > 0).then_some(self.universe);
        set_world(WorldPlace::new(self.first, self.size, universe, parent));
    }
}

impl FromStr for WorldView {
    type Err = &'static str;

    /// Parses the word.
    ///
    /// # Errors
    /// If it has another form.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let mut parts = word.strip_prefix('w')?.split(':');
            let mut number = || parts.next()?.parse().ok();
            let [first, size, universe, appnum] = [number()?, number()?, number()?, number()?];
            let parent = match parts.next()? {
                "-" => None,
                parent => Some(parent.parse().ok()?),
            };
            parts.next().is_none().then_some(Self {
                first,
                size,
                universe,
                appnum,
                parent,
            })
        };
        parse().ok_or("not the form wFIRST:SIZE:UNIVERSE:APPNUM:PARENT")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_returns_as_written() {
        for parent in [None, Some(3)] {
            let view = WorldView {
                first: 4,
                size: 2,
                universe: 64,
                appnum: 1,
                parent,
            };
            assert_eq!(view.to_word().parse(), Ok(view));
        }
        for word in [
            "",
            "w",
            "w1:2:3",
            "w1:2:3:4",
            "w1:2:3:4:x",
            "w1:2:3:4:-:5",
            "1:2:3:4:-",
            "w-1:2:3:4:-",
        ] {
            assert!(word.parse::<WorldView>().is_err(), "{word}");
        }
    }
}
