//! `midplane sim`: the nodes' routers alone, in virtual time, under synthetic traffic.

mod check;
mod drawing;
mod measure;
mod row;

pub use measure::{SimArgs, run};
