//! Cartesian grid: coordinates, neighbours, rows and columns, with and without reordering.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::topology::{CartesianLayout, IntoTopology, Topology, dims_create};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let mut dims = [0, 0];
    dims_create(world.size(), &mut dims).unwrap();
    let periods = [false, true];
    for reorder in [false, true] {
        let grid = world
            .create_cartesian_communicator(&dims, &periods, reorder)
            .unwrap();
        assert_eq!(grid.num_dimensions(), 2);
        let CartesianLayout {
            dims: extents,
            periods: wraps,
            coords,
        } = grid.get_layout();
        assert_eq!((&extents[..], &wraps[..]), (&dims[..], &periods[..]));
        assert_eq!(grid.coordinates_to_rank(&coords), grid.rank());
        assert_eq!(grid.rank_to_coordinates(grid.rank()), coords);
        if reorder {
            assert_eq!(world.cartesian_map(&dims, &periods), Some(grid.rank()));
        } else {
            assert_eq!(grid.rank(), world.rank());
        }
        let (up, down) = grid.shift(0, 1);
        assert_eq!(
            (up.is_none(), down.is_none()),
            (coords[0] == 0, coords[0] == dims[0] - 1)
        );
        let (left, right) = grid.shift(1, 1);
        let (left, right) = (left.unwrap(), right.unwrap());
        assert_eq!(
            grid.rank_to_coordinates(right)[1],
            (coords[1] + 1) % dims[1]
        );
        let (got, _): (i32, _) = mpi::point_to_point::send_receive(
            &grid.rank(),
            &grid.process_at_rank(right),
            &grid.process_at_rank(left),
        );
        assert_eq!(got, left);
        let row = grid.subgroup(&[false, true]);
        assert_eq!((row.size(), row.rank()), (dims[1], coords[1]));
        let twin = grid.duplicate();
        assert_eq!(
            (twin.topology(), world.topology()),
            (Topology::Cartesian, Topology::Undefined)
        );
        assert!(
            matches!(twin.into_topology(), IntoTopology::Cartesian(grid) if grid.num_dimensions() == 2)
        );
    }
    let one = world.create_cartesian_communicator(&[1], &[false], false);
    assert_eq!(one.is_some(), world.rank() == 0);
}
