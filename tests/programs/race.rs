//! Rank 0 receives a message of each other rank, of any source, and expects the last one of the highest rank. With the
//! argument `state`, each rank checks instead that its variables are its own; with `thread`, it starts a thread.
//!
//! Exit status: 0; a rank that detects an error panics.
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use mpi::traits::*;

static SHARED: AtomicI32 = AtomicI32::new(-1);
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Cell<i32> = const { Cell::new(-1) };
    static LIST: std::cell::RefCell<Vec<i32>> = std::cell::RefCell::default();
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    match std::env::args().nth(1).as_deref() {
        Some("state") => state(&world),
        Some("thread") => std::thread::spawn(|| ()).join().unwrap(),
        _ => race(&world),
    }
}

fn race(world: &impl Communicator) {
    if world.rank() != 0 {
        return world.process_at_rank(0).send(&world.rank());
    }
    let mut last = 0;
    for _ in 1..world.size() {
        last = world.any_process().receive::<i32>().0;
    }
    assert_eq!(last, world.size() - 1, "the last message");
}

/// Writes the rank to a variable of each kind, and reads it after other ranks have written theirs.
fn state(world: &impl Communicator) {
    let rank = world.rank();
    assert_eq!((SHARED.load(Ordering::Relaxed), OWN.get()), (-1, -1));
    SHARED.store(rank, Ordering::Relaxed);
    OWN.set(rank);
    let names: HashMap<i32, String> = (0..=rank).map(|key| (key, format!("rank {key}"))).collect();
    for round in 1..=3 {
        TEXTS.lock().unwrap().push(names[&rank].clone());
        LIST.with_borrow_mut(|list| list.push(rank));
        print!("round {round} of ");
        world.barrier();
        println!("{}", names[&rank]);
        assert_eq!((SHARED.load(Ordering::Relaxed), OWN.get()), (rank, rank));
        assert_eq!(TEXTS.lock().unwrap().len(), round);
        assert!(LIST.with_borrow(|list| *list == vec![rank; round]));
    }
    let caught = std::env::args().collect::<Vec<_>>();
    print!("{} arguments, without a newline", caught.len());
}
