//! What a node shares with the tool that looks after it.

pub mod blackboard;
pub mod inbox;
pub mod personality;
