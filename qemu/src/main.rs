//! The command `midplane`.
fn main() {}
