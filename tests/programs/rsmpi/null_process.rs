//! Messages to and from the null process.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::point_to_point as p2p;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let none = world.null_process();
    none.send(&1u64);
    let mut value = 7u64;
    let status = none.receive_into(&mut value);
    assert_eq!((value, status.source_rank()), (7, none.rank()));
    let (message, status) = none.matched_probe();
    assert!(message.is_no_proc());
    assert_eq!(status.count(u64::equivalent_datatype()), 0);
    message.matched_receive_into(&mut value);
    assert_eq!(value, 7);
    // The ends of a line, without a special case.
    let at = |rank| if (0..world.size()).contains(&rank) { world.process_at_rank(rank) } else { world.null_process() };
    let (left, right) = (at(world.rank() - 1), at(world.rank() + 1));
    let (got, _): (i32, _) = p2p::send_receive(&world.rank(), &right, &left);
    assert_eq!(got, (world.rank() - 1).max(0));
}
