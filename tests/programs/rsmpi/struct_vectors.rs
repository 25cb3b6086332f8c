//! Vectors of structs, received before they are sent and without knowledge of their number; the status counts structs.
//! Lists of unequal lengths make no datatype.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::datatype::UserDatatype;
use mpi::traits::*;

kernel_rt::program!(main);

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
struct Atom {
    tag: u16,
    position: [f64; 3],
    kind: u8,
    bonded: (bool, u32),
}

fn atom(rank: i32, i: usize) -> Atom {
    Atom {
        tag: i as u16,
        position: [f64::from(rank), i as f64, -0.5],
        kind: 7,
        bonded: (i.is_multiple_of(2), i as u32),
    }
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size);
    let left = world.process_at_rank((rank + size - 1) % size);
    for count in [0, 1, 3, 500] {
        let atoms = |rank| (0..count).map(move |i| atom(rank, i));
        let data: Vec<Atom> = atoms(rank).collect();
        mpi::request::scope(|scope| {
            let send = right.immediate_send(scope, &data[..]);
            let (got, status) = left.receive_vec::<Atom>();
            send.wait();
            assert!(got.into_iter().eq(atoms(left.rank())), "{count}");
            assert_eq!(status.count(Atom::equivalent_datatype()), count as i32);
        });
        // Posted before the send, with more space than necessary.
        let mut space = vec![Atom::default(); count + 2];
        mpi::request::scope(|scope| {
            let receive = left.immediate_receive_into(scope, &mut space[..]);
            right.send(&data[..]);
            let status = receive.wait();
            assert_eq!(status.count(Atom::equivalent_datatype()), count as i32);
        });
        assert_eq!(space[count..], [Atom::default(); 2]);
        space.truncate(count);
        assert!(space.into_iter().eq(atoms(left.rank())), "{count}");
    }
    let int = i32::equivalent_datatype();
    assert!(UserDatatype::try_structured(&[1, 1], &[0], &[int, int]).is_err());
    assert!(UserDatatype::try_indexed(&[1], &[0, 4], &int).is_err());
}
