//! Heat map of the torus: packets of each node and of each link, one slice for each Z.

use super::facts::JobFacts;
use super::markup::Grouped;
use midplane_abi::counters::Counter;
use serde::Serialize;
use std::io::{Result, Write};

/// Maximum number of nodes of the heat map.
pub const MAX_MAP_NODES: usize = 4096;

/// A node of the heat map.
#[derive(Clone, Debug, Serialize)]
pub struct MapNode {
    /// Rank.
    rank: usize,
    /// Coordinates.
    at: [u8; 3],
    /// Packets sent over links.
    sent: u64,
    /// Packets received over links.
    received: u64,
    /// Packets forwarded.
    forwarded: u64,
    /// Rejections sent.
    rejected: u64,
    /// Packets sent on each link.
    links: [Option<u64>; 6],
}

/// Heat map of the torus.
#[derive(Clone, Debug, Serialize)]
pub struct TorusMap {
    extents: [u16; 3],
    nodes: Vec<MapNode>,
}

impl TorusMap {
    /// Collects the packets of a job. `None` for a torus of more than [`MAX_MAP_NODES`].
    #[must_use]
    pub fn new(facts: &JobFacts) -> Option<Self> {
        if facts.nodes.is_empty() || facts.nodes.len() > MAX_MAP_NODES {
            return None;
        }
        let nodes = facts.nodes.iter().enumerate().map(|(rank, node)| MapNode {
            rank,
            at: node.coordinates,
            sent: node.get(Counter::PacketsSent),
            received: node.get(Counter::PacketsReceived),
            forwarded: node.get(Counter::PacketsForwarded),
            rejected: node.get(Counter::NctsSent),
            links: node.links,
        });
        Some(Self {
            extents: facts.extents,
            nodes: nodes.collect(),
        })
    }
}

/// Writes the section of the page.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_section(to: &mut dyn Write, map: Option<&TorusMap>, facts: &JobFacts) -> Result<()> {
    writeln!(to, "<section id=\"torus\">\n<h2>Torus</h2>")?;
    if map.is_none() {
        return writeln!(
            to,
            "<p>The heat map is omitted: it has at most {} nodes, and the torus has {}.</p>\n</section>",
            Grouped(MAX_MAP_NODES as u64),
            Grouped(facts.size() as u64)
        );
    }
    writeln!(
        to,
        "<p class=\"note\">A square is a node. A line is the half of a link at the node that sends: its colour and its \
         width represent the packets. Lines at the border belong to links that wrap around. A triangle is a link along \
         Z, upwards for Z+ and downwards for Z-.</p>\n\
         <div class=\"controls\"><label>Nodes <select id=\"torus-value\"><option value=\"sent\">packets sent</option>\
         <option value=\"forwarded\">packets forwarded</option><option value=\"received\">packets received</option>\
         <option value=\"rejected\">rejected messages (NCTS)</option></select></label>\n\
         <label>Slice <select id=\"torus-slice\"></select></label>\n\
         <label><input type=\"checkbox\" id=\"torus-log\"> logarithmic colours</label></div>\n\
         <div id=\"torus-maps\" class=\"maps\"></div>\n<div id=\"torus-legend\" class=\"legend\"></div>\n</section>"
    )
}
