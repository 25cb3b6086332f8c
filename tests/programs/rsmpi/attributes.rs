//! Communicator attributes: read, copied on duplication or not, dropped with the communicator.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::rc::Rc;
use core::cell::Cell;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::*;
use mpi::window::{DynamicWindow, Window};

kernel_rt::program!(main);

/// Counts the live attributes of a kind.
#[derive(Clone, Default)]
struct Count(Rc<Cell<i32>>);

/// Attribute that duplicates copy, incremented.
struct Depth(i32, Count);

impl CommAttribute for Depth {
    const CLONE_ON_DUP: bool = true;
}

impl Depth {
    fn new(depth: i32, count: &Count) -> Depth {
        count.0.set(count.0.get() + 1);
        Depth(depth, count.clone())
    }
}

impl Clone for Depth {
    fn clone(&self) -> Self {
        Depth::new(self.0 + 1, &self.1)
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        let Count(count) = &self.1;
        count.set(count.get() - 1);
    }
}

/// A library's private duplicate: created once, and freed with the user's communicator.
#[derive(Clone)]
struct Private(Rc<SimpleCommunicator>);

impl CommAttribute for Private {}

fn library(comm: &dyn Communicator) -> i32 {
    if comm.get_attr::<Private>().is_none() {
        comm.set_attr(Private(Rc::new(comm.duplicate())));
    }
    let Private(own) = &*comm.get_attr::<Private>().unwrap();
    let mut sum = 0;
    own.all_reduce_into(&1, &mut sum, mpi::collective::SystemOperation::sum());
    sum
}

fn main() {
    let count = Count::default();
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    assert_eq!(
        (library(&world), library(&world)),
        (world.size(), world.size())
    );
    world.set_attr(Depth::new(10, &count));
    world.set_attr(Depth::new(20, &count));
    assert_eq!(count.0.get(), 1);
    // Every handle of the communicator has it.
    let depth = universe.world().get_attr::<Depth>().unwrap();
    assert_eq!(depth.0, 20);
    {
        let twin = world.duplicate();
        assert_eq!(twin.get_attr::<Depth>().unwrap().0, 21);
        assert!(twin.get_attr::<Private>().is_none());
        let third = twin.duplicate();
        assert_eq!(third.get_attr::<Depth>().unwrap().0, 22);
        assert_eq!(library(&third), world.size());
        assert_eq!(third.delete_attr::<Depth>().unwrap().0, 22);
        assert!(third.get_attr::<Depth>().is_none());
        // On the world, on its duplicate, and on the library's duplicate of the third one.
        assert_eq!(count.0.get(), 3);
        let half = twin.split_by_color(mpi::topology::Color::with_value(0));
        assert!(half.unwrap().get_attr::<Depth>().is_none());
    }
    assert_eq!(count.0.get(), 1);
    // A window has separate attributes, and none of its communicator's.
    {
        let window = Window::<u8>::allocate(1, &world);
        assert!(window.get_attr::<Depth>().is_none());
        window.set_attr(Depth::new(30, &count));
        let dynamic = DynamicWindow::create(&world);
        dynamic.set_attr(Depth::new(40, &count));
        assert_eq!(window.get_attr::<Depth>().unwrap().0, 30);
        assert_eq!(dynamic.delete_attr::<Depth>().unwrap().0, 40);
        assert!(dynamic.delete_attr::<Depth>().is_none());
        assert_eq!(count.0.get(), 2);
    }
    assert_eq!(count.0.get(), 1);
    // A pending duplicate has the attributes when it is complete.
    let duplicate = world.immediate_duplicate();
    assert_eq!(count.0.get(), 2);
    world.set_attr(Depth::new(50, &count));
    let twin = duplicate.get();
    assert_eq!(twin.get_attr::<Depth>().unwrap().0, 21);
    drop(twin);
    drop(world.immediate_duplicate());
    world.set_attr(Depth::new(20, &count));
    // The first one, too, since it is in use.
    assert_eq!(count.0.get(), 2);
    drop(depth);
    assert_eq!(world.get_attr::<Depth>().unwrap().0, 20);
    drop((world, universe));
    assert_eq!(count.0.get(), 0);
}
