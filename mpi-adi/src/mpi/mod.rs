//! What MPI has above the device: communicators, groups, collectives, datatypes, operations, errors.

pub mod buffered;
pub mod call;
pub(crate) mod cart;
pub mod coll;
pub mod comm;
pub mod context;
pub mod datatype;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod group;
#[allow(unsafe_code)]
pub(crate) mod lend;
pub mod op;
pub mod process;
pub mod split;
