//! Failing calls.

use mpi::traits::*;

/// Makes the failing call `name`, as rank 0 of several.
pub fn fail(world: &impl Communicator, name: &str) {
    let (is_first, other) = (world.rank() == 0, world.process_at_rank(1));
    match name {
        "tag" if is_first => other.send_with_tag(&1, -5),
        "started" if is_first => mpi::request::scope(|scope| {
            other.immediate_send_with_tag(scope, &1, -5).wait();
        }),
        "truncated" if is_first => drop(other.receive_into(&mut [0; 2])),
        "truncated" if world.rank() == 1 => world.process_at_rank(0).send(&[1, 2, 3]),
        _ => {}
    }
}
