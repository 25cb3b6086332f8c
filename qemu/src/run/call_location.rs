//! Locations of the ranks' current calls in their programs.

use crate::run::linux;
use crate::run::node::Node;
use crate::run::outcome::FailureLocation;
use crate::run::plan::{Backend, JobPlan};
use std::collections::HashMap;

/// Maximum number of different locations that are determined: each requires the program's debug information.
const MAX_LOCATIONS: usize = 64;

/// Determines the locations, one time for all ranks that are at the same location.
pub struct CallLocator<'p> {
    plan: &'p JobPlan<'p>,
    /// Known locations, by program and the node's record.
    known: HashMap<(u32, Vec<u8>), Option<String>>,
}

impl<'p> CallLocator<'p> {
    /// Creates a locator for the programs of a job.
    pub fn new(plan: &'p JobPlan<'p>) -> Self {
        Self {
            plan,
            known: HashMap::new(),
        }
    }

    /// Returns the location of the call of a node that shows it, as `function at file:line`. `None` without debug
    /// information, and for locations beyond [`MAX_LOCATIONS`].
    pub fn locate(&mut self, node: &Node) -> Option<String> {
        if node.has_own_program {
            return None;
        }
        let image = self.plan.image(node.rank);
        let read = |offset, out: &mut [u8]| node.read_ram(offset, out);
        let is_process = matches!(self.plan.backend, Backend::Linux | Backend::Cluster);
        let record = if is_process {
            linux::trace(self.plan, node)?.to_vec()
        } else {
            image.recorded_call(&read)?.to_vec()
        };
        let key = (self.plan.app(node.rank).0, record);
        if let Some(location) = self.known.get(&key) {
            return location.clone();
        }
        if self.known.len() >= MAX_LOCATIONS {
            return None;
        }
        let lines = if is_process {
            linux::describe(self.plan, node, FailureLocation::InCall)
        } else {
            image.describe_call(&read)
        };
        let location = lines.into_iter().next();
        self.known.insert(key, location.clone());
        location
    }
}
