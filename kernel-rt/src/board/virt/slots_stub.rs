//! Stub of `slots`: an image for one instance, whose nodes with their own machine must have no neighbours.

use midplane_abi::boot_parameters::RecordError;
use midplane_abi::personality::Personality;

use super::links::NodeLinks;
use crate::board::device_tree::HardwareInfo;
use crate::board::start::boot_failed;
use crate::memory_plan::MemoryPlan;

/// The node's network devices: none.
pub struct NetDevices;

impl NetDevices {
    /// Returns the devices of a node of a box.
    pub fn none() -> Self {
        Self
    }

    /// Returns the devices of the node `who` with its own machine.
    pub fn find(_: &HardwareInfo, who: &Personality) -> Self {
        if who.shape.nodes() > 1 {
            boot_failed(RecordError::OneInstance.into());
        }
        Self
    }

    /// Returns the number of devices.
    pub fn count(&self) -> usize {
        0
    }

    /// Returns the links, and the number of hello frames sent.
    ///
    /// # Safety
    /// No requirements; `unsafe` to match the other kind of image.
    pub unsafe fn links(self, _: &MemoryPlan) -> (NodeLinks, u32) {
        ([const { None }; 6], 0)
    }
}
