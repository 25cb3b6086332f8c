//! Every second number of a list, by a vector datatype.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::datatype::{MutView, UserDatatype, View};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let size = world.size();
    let next = world.process_at_rank((world.rank() + 1) % size);
    let previous = world.process_at_rank((world.rank() + size - 1) % size);
    let datatype = UserDatatype::vector(3, 1, 2, &i32::equivalent_datatype());
    let given = [world.rank(), -1, world.rank() + 1, -1, world.rank() + 2, -1];
    let mut taken = [9; 6];
    let mut packed = [0; 3];
    mpi::request::scope(|scope| {
        let receive = previous.immediate_receive_into(scope, &mut packed);
        next.send(&View::with_count_and_datatype(&given, 1, &datatype));
        receive.wait();
    });
    assert_eq!(packed, [0, 1, 2].map(|i| previous.rank() + i));
    // Contiguous data is received into every second element.
    let packed = [7, 8, 9];
    let mut view = MutView::with_count_and_datatype(&mut taken[..], 1, &datatype);
    mpi::request::scope(|scope| {
        let receive = previous.immediate_receive_into(scope, &mut view);
        next.send(&packed);
        receive.wait();
    });
    assert_eq!(taken, [7, 9, 8, 9, 9, 9]);
}
