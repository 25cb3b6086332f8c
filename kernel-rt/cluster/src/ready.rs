//! Sets of nodes for random draws.
#![forbid(unsafe_code)]

use crate::random::Random;

/// A set of nodes. Insertion, removal and draw take constant time.
pub(super) struct ReadySet {
    nodes: Vec<u32>,
    /// By node: its index in `nodes`, or [`OUT`].
    places: Vec<u32>,
}

const OUT: u32 = u32::MAX;

impl ReadySet {
    /// Creates the set of all nodes.
    pub(super) fn all(nodes: usize) -> ReadySet {
        let nodes = u32::try_from(nodes).expect("a machine's nodes");
        ReadySet {
            nodes: (0..nodes).collect(),
            places: (0..nodes).collect(),
        }
    }

    pub(super) fn insert(&mut self, node: usize) {
        if self.places[node] == OUT {
            self.places[node] = self.nodes.len() as u32;
            self.nodes.push(node as u32);
        }
    }

    pub(super) fn remove(&mut self, node: usize) {
        let place = std::mem::replace(&mut self.places[node], OUT);
        if place != OUT {
            self.nodes.swap_remove(place as usize);
            if let Some(&moved) = self.nodes.get(place as usize) {
                self.places[moved as usize] = place;
            }
        }
    }

    /// Draws one of them, with equal probability; returns `None` if the set is empty.
    pub(super) fn draw(&self, random: &mut Random) -> Option<usize> {
        match self.nodes.len() {
            0 => None,
            len => Some(self.nodes[random.index(len)] as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    #[test]
    fn what_is_drawn_is_in_the_set() {
        let mut random = Random::new(3, RandomStream::Cluster);
        let mut set = ReadySet::all(40);
        let mut model = [true; 40];
        for _ in 0..20_000 {
            let node = random.index(40);
            match random.below(3) {
                0 => {
                    set.insert(node);
                    model[node] = true;
                }
                _ => {
                    set.remove(node);
                    model[node] = false;
                }
            }
            match set.draw(&mut random) {
                Some(drawn) => assert!(model[drawn]),
                None => assert_eq!(model, [false; 40]),
            }
            assert_eq!(set.nodes.len(), model.iter().filter(|&&is| is).count());
        }
    }
}
