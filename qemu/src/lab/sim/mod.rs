//! `midplane sim`: simulation of the nodes' routers in virtual time, under synthetic traffic.

mod check;
mod drawing;
mod measure;
mod row;
mod sweep;

pub use measure::{SimArgs, run};
