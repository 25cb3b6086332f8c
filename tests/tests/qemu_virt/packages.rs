//! A cargo package on nodes (`tests/packages/hello`).

use midplane_harness::{LIMIT, midplane, package};

#[test]
fn a_package_runs_on_nodes_and_its_errors_name_their_lines() {
    let dir = package().to_str().unwrap();
    let job = ["run", "--torus", "2x1x1", "--mpi-memory", "32", "--timeout", LIMIT];
    let run = |words: &[&str]| midplane(&[&job[..], &[dir], words].concat());
    let call = "mpi::point_to_point::Destination::send_with_tag (MPI_Send), called at src/errors.rs:9:";
    run(&["--bin", "hello", "--", "tag"])
        .expect(1)
        .says(&["rank 0 at (0,0,0)", call])
        .prints("[1] hello 1 of 2: [1, 0]");
    // Its source starts like a program for Linux.
    run(&["--bin", "second"])
        .expect(2)
        .says(&["does not compile for nodes, which have no std", "use --on linux"]);
}
