//! Tests in threads of one process, which initialize MPI once.

use mpi::traits::*;

#[test]
fn the_ring_is_closed() {
    let universe = mpi::initialize().expect("it has not been started before");
    let world = universe.world();
    assert_eq!(hello::ring::lap(&world).len(), world.size() as usize);
    println!("tested by {} of {}", world.rank(), world.size());
    assert!(mpi::initialize().is_none());
    std::thread::spawn(|| assert!(mpi::initialize().is_none()))
        .join()
        .unwrap();
}

#[test]
#[should_panic = "as asked"]
fn panics_are_the_programs_own() {
    panic!("as asked");
}
