//! Division of a torus among hosts: equal boxes with a minimum of links between them. Free of side effects.

use crate::host::error::{CliError, ErrorContext};
use crate::run::boxes::parts;
use crate::run::hosts::launch::LaunchMethod;
use crate::run::outcome::ranges;
use crate::run::report::HostFacts;
use midplane_abi::layout::{BoxDivision, MAX_NODES, NodeBox};
use net_torus::coord::{Direction, Rank, Shape};

/// Maximum number of hosts of a job.
pub const MAX_HOSTS: usize = 256;

/// Hosts of a job.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// Their names.
    pub names: Vec<String>,
    /// Division of the torus among them.
    pub division: HostDivision,
    /// Method to start the agents.
    pub method: LaunchMethod,
}

impl HostPlan {
    /// Creates the plan of a job on these hosts.
    ///
    /// # Errors
    /// Returns a usage error for an invalid or repeated name, and if the torus cannot be divided.
    pub fn new(names: Vec<String>, shape: Shape, method: LaunchMethod) -> Result<Self, CliError> {
        for (at, name) in names.iter().enumerate() {
            // ssh would take it for an option.
            if name.is_empty() || name.starts_with('-') {
                return Err(CliError::usage(format!("--hosts: `{name}` is no name of a host")));
            }
            if names[..at].contains(name) {
                return Err(CliError::usage(format!("--hosts: {name} occurs twice")));
            }
        }
        let division = HostDivision::new(shape, names.len())?;
        Ok(Self {
            names,
            division,
            method,
        })
    }

    /// Creates the plan of a job on as many of these hosts of a Slurm job as the torus can be divided among. `None`: on one.
    pub fn for_allocation(names: Vec<String>, shape: Shape) -> Option<Self> {
        let most = names.len().min(MAX_HOSTS);
        let mut plans = { (2..=most).rev() }
            .filter_map(|hosts| Self::new(names[..hosts].to_vec(), shape, LaunchMethod::Slurm).ok());
        plans.next()
    }

    /// Returns the name of a rank's host.
    pub fn name(&self, rank: Rank) -> &str {
        let name = self.division.host(rank).and_then(|host| self.names.get(host));
        name.map_or("", String::as_str)
    }

    /// Returns the hosts and their ranks, for the report.
    pub fn facts(&self) -> Vec<HostFacts> {
        let facts = |(host, name): (usize, &String)| HostFacts {
            host: name.clone(),
            ranks: self.division.ranks(host),
        };
        self.names.iter().enumerate().map(facts).collect()
    }

    /// Returns the division and the commands that start the agents, a line each.
    pub fn describe(&self) -> Result<Vec<String>, CliError> {
        let mut lines = self.division.describe(&self.names);
        let executable = own_executable()?;
        let commands = self.method.commands(&self.names, &executable).into_iter();
        lines.extend(commands.map(|command| format!("start: {}", shell_words::join(command.words))));
        Ok(lines)
    }
}

/// Returns the path of this executable.
pub fn own_executable() -> Result<String, CliError> {
    let path = std::env::current_exe().context("find this command's executable")?;
    Ok(path.to_string_lossy().into_owned())
}

/// A link between two hosts: its ends at the host with the lower number and at the other one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostLink {
    /// Rank and direction at the host with the lower number.
    pub lower: (Rank, Direction),
    /// Rank and direction at the other host.
    pub upper: (Rank, Direction),
}

/// Boxes of the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostDivision {
    boxes: BoxDivision,
}

impl HostDivision {
    /// Divides the torus among this number of hosts.
    ///
    /// # Errors
    /// Returns a usage error if it cannot be divided into this number of equal boxes.
    pub fn new(shape: Shape, hosts: usize) -> Result<Self, CliError> {
        let nodes = shape.nodes();
        let divide = |hosts: u32| BoxDivision::new(shape, parts(shape.extents(), hosts)?);
        let boxes = u32::try_from(hosts)
            .ok()
            .filter(|_| hosts <= MAX_HOSTS)
            .and_then(divide);
        let Some(boxes) = boxes else {
            let good: Vec<String> = (1..=nodes.min(MAX_HOSTS as u32))
                .filter(|hosts| divide(*hosts).is_some())
                .map(|hosts| hosts.to_string())
                .collect();
            let [x, y, z] = shape.extents();
            return Err(CliError::usage(format!(
                "{hosts} hosts: {x}x{y}x{z} ranks cannot be divided into this number of equal boxes of at most \
                 {MAX_NODES}; use one of {} hosts, or another --torus",
                good.join(", ")
            )));
        };
        Ok(Self { boxes })
    }

    /// Returns the division that an agent was told; `None` if it is impossible.
    pub fn from_parts(shape: Shape, parts: [u16; 3]) -> Option<Self> {
        BoxDivision::new(shape, parts).map(|boxes| Self { boxes })
    }

    /// Returns the number of parts along x, y and z.
    pub fn parts(&self) -> [u16; 3] {
        self.boxes.parts()
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        self.boxes.instances() as usize
    }

    /// Returns the number of ranks on all hosts.
    pub fn ranks_in_total(&self) -> usize {
        self.boxes.shape().nodes() as usize
    }

    /// Returns the box of a host.
    pub fn host_box(&self, host: usize) -> Option<NodeBox> {
        self.boxes.node_box(host as u32)
    }

    /// Returns the host of a rank; `None` if there is no such rank.
    pub fn host(&self, rank: Rank) -> Option<usize> {
        let (host, _) = self.boxes.place(self.boxes.shape().coord(rank)?)?;
        Some(host as usize)
    }

    /// Returns the ranks of a host in ascending order.
    pub fn ranks(&self, host: usize) -> Vec<Rank> {
        let nodes = self.boxes.shape().nodes();
        (0..nodes).filter(|rank| self.host(*rank) == Some(host)).collect()
    }

    /// Returns the neighbour of a rank in a direction.
    pub fn neighbour(&self, rank: Rank, d: Direction) -> Option<Rank> {
        let shape = self.boxes.shape();
        shape.rank(shape.neighbour(shape.coord(rank)?, d)?)
    }

    /// Returns the links between two hosts. Both hosts number them in this order.
    pub fn links(&self, one: usize, other: usize) -> Vec<HostLink> {
        let (lower, upper) = (one.min(other), one.max(other));
        let ends = { self.ranks(lower).into_iter() }.flat_map(|rank| Direction::ALL.map(|d| (rank, d)));
        ends.filter_map(|(rank, d)| {
            let there = self.neighbour(rank, d)?;
            let back = Direction::ALL[d as usize ^ 1];
            (self.host(there) == Some(upper)).then_some(HostLink {
                lower: (rank, d),
                upper: (there, back),
            })
        })
        .collect()
    }

    /// Describes the division, a line for each host.
    pub fn describe(&self, names: &[String]) -> Vec<String> {
        let line = |(host, name): (usize, &String)| {
            let [x, y, z] = self.host_box(host).map_or([0; 3], |node_box| node_box.extents);
            let ranks = self.ranks(host);
            let links: Vec<String> = { names.iter().enumerate() }
                .filter(|(other, _)| *other != host)
                .map(|(other, name)| (self.links(host, other).len(), name))
                .filter(|(links, _)| *links > 0)
                .map(|(links, name)| format!("{links} to {name}"))
                .collect();
            let links = if links.is_empty() {
                "none".into()
            } else {
                links.join(", ")
            };
            format!("{name}: {x}x{y}x{z} nodes, ranks {}; links: {links}", ranges(ranks))
        };
        names.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn division(extents: [u16; 3], hosts: usize) -> HostDivision {
        HostDivision::new(Shape::new(extents, [true; 3]).unwrap(), hosts).unwrap()
    }

    #[test]
    fn boxes_have_the_least_surface() {
        for (extents, hosts, parts, links) in [
            ([4, 2, 1], 2, [2, 1, 1], 4),
            ([2, 4, 8], 2, [1, 1, 2], 16),
            ([2, 1, 1], 2, [2, 1, 1], 2),
            ([8, 8, 2], 4, [2, 2, 1], 16),
        ] {
            let division = division(extents, hosts);
            assert_eq!((division.parts(), division.hosts()), (parts, hosts));
            assert_eq!(division.links(0, 1).len(), links, "{extents:?}");
            assert_eq!(division.links(0, 1), division.links(1, 0));
        }
    }

    #[test]
    fn each_rank_has_one_host_and_each_link_two_ends() {
        for (extents, hosts) in [
            ([4, 2, 3], 2),
            ([4, 4, 2], 8),
            ([3, 1, 1], 3),
            ([2, 2, 2], 1),
            ([2, 2, 2], 8),
        ] {
            let division = division(extents, hosts);
            let mut ranks: Vec<Rank> = (0..hosts).flat_map(|host| division.ranks(host)).collect();
            ranks.sort_unstable();
            assert!(ranks.into_iter().eq(0..extents.into_iter().map(u32::from).product()));
            let mut ends = BTreeSet::new();
            for (one, other) in (0..hosts).flat_map(|one| (one + 1..hosts).map(move |other| (one, other))) {
                for link in division.links(one, other) {
                    assert_eq!(division.host(link.lower.0), Some(one));
                    assert_eq!(division.host(link.upper.0), Some(other));
                    for (rank, d) in [link.lower, link.upper] {
                        assert!(ends.insert((rank, d as usize)), "rank {rank} {d:?}");
                    }
                }
            }
            let all = { (0..hosts).flat_map(|host| division.ranks(host)) }
                .flat_map(|rank| Direction::ALL.map(|d| (rank, d)))
                .filter(|(rank, d)| {
                    let there = division.neighbour(*rank, *d);
                    there.is_some_and(|there| division.host(there) != division.host(*rank))
                });
            let all: BTreeSet<(Rank, usize)> = all.map(|(rank, d)| (rank, d as usize)).collect();
            assert_eq!(ends, all, "{extents:?}");
        }
    }

    #[test]
    fn an_impossible_number_is_refused_with_the_possible_ones() {
        let shape = Shape::new([2, 2, 2], [true; 3]).unwrap();
        let error = HostDivision::new(shape, 3).unwrap_err();
        assert!(error.message.contains("use one of 1, 2, 4, 8 hosts"), "{error}");
        assert_eq!(error.status, 2);
        assert!(HostDivision::new(shape, 1000).is_err() && HostDivision::new(shape, 0).is_err());
    }

    #[test]
    fn the_division_is_described() {
        let names = ["a", "b"].map(String::from);
        assert_eq!(
            division([4, 2, 1], 2).describe(&names),
            [
                "a: 2x2x1 nodes, ranks 0, 1, 4, 5; links: 4 to b",
                "b: 2x2x1 nodes, ranks 2, 3, 6, 7; links: 4 to a",
            ]
        );
    }
}
