//! The compute-node kernel.
#![cfg_attr(target_os = "none", no_std)]

pub mod blackboard;
pub mod personality;
