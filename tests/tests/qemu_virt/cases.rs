//! The programs after public reports, on nodes.

#[test]
fn reported_cases_pass_on_nodes() {
    midplane_harness::cases::pass(&[]);
}
