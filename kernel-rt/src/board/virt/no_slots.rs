//! The links of a node that has a machine to itself, in an image for one instance: it must have no neighbours.

use midplane_abi::boot_parameters::RecordError;
use midplane_abi::personality::Personality;

use super::platform::Links;
use crate::board::device_tree::Hardware;
use crate::board::start::boot_failed;
use crate::mem::Plan;

/// The node's network devices: none.
pub struct Devices;

impl Devices {
    /// Of a node of a box.
    pub fn none() -> Self {
        Self
    }

    /// Of the node `who`, which has the machine to itself.
    pub fn find(_: &Hardware, who: &Personality) -> Self {
        if who.shape.nodes() > 1 {
            boot_failed(RecordError::OneInstance.into());
        }
        Self
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        0
    }

    /// The links, and how many greetings they sent.
    ///
    /// # Safety
    /// None is needed: it is as the other kind of image has it.
    pub unsafe fn links(self, _: &Plan) -> (Links, u32) {
        ([const { None }; 6], 0)
    }
}
