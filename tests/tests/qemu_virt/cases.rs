//! Regression programs from public bug reports, on nodes.

#[test]
fn reported_cases_pass_on_nodes() {
    midplane_harness::cases::pass(&[]);
}

#[test]
fn output_input_arguments_and_ends_are_whole_on_nodes() {
    midplane_harness::cases::come_and_go_whole(&[]);
}
