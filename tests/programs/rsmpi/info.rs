//! Info objects: keys, values, and their uses.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::info::Info;
use mpi::traits::*;
use mpi::window::{DynamicWindow, Window};

kernel_rt::program!(main);

const REORDER: &str = "MPI_WIN_ACCESS_AFTER_ACCESS_REORDER";

fn keys_and_values() {
    let mut info = Info::new();
    assert!(info.is_empty() && info.key(0).is_none());
    info.set("b", "1");
    info.set("a", "zwölf");
    info.set("b", "3");
    let all: Vec<(&str, &str)> = info.iter().collect();
    assert_eq!(all, [("b", "3"), ("a", "zwölf")]);
    assert_eq!((info.len(), info.key(1), info.key(2)), (2, Some("a"), None));
    let twin = info.duplicate();
    assert!(info.delete("b") && !info.delete("b"));
    assert_eq!((info.get("b"), twin.get("b")), (None, Some("3")));
    assert!(info.try_set("", "v").is_err());
    assert!(info.try_set(&"k".repeat(256), "v").is_err());
    assert!(info.try_set("k", &"v".repeat(1024)).is_err());
    assert_eq!(info.len(), 1);
}

fn main() {
    assert!(Info::environment().is_err());
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    keys_and_values();
    let environment = Info::environment().unwrap();
    let processes = environment.get("maxprocs").map(str::parse);
    assert_eq!(processes, Some(Ok(world.size())));

    let mut info = Info::new();
    info.set(REORDER, "true");
    info.set("something else", "7");
    // Communicators ignore all keys.
    let twin = world.duplicate();
    twin.set_info(&info);
    assert!(twin.get_info().is_empty());
    let own = world.split_shared(0);
    own.set_info(&info);
    assert_eq!(own.size(), 1);

    // Windows support some keys, separately for each process.
    let mut memory = [0u32; 2];
    mpi::request::scope(|scope| {
        let window = Window::create(scope, &mut memory[..], &world);
        window.set_info(&info);
        assert_eq!(window.get_info().get(REORDER), Some("true"));
        info.set(REORDER, "no truth value");
        window.set_info(&info);
        assert!(window.reorder().access_after_access);
        info.set(REORDER, "0");
        window.set_info(&info);
        let used = window.get_info();
        assert_eq!(
            (used.get(REORDER), used.get("something else")),
            (Some("false"), None)
        );
        assert!(!window.reorder().access_after_access);
    });
    info.set(REORDER, "1");
    let allocated = Window::<u8>::allocate(1, &world);
    allocated.set_info(&info);
    let dynamic = DynamicWindow::create(&world);
    dynamic.set_info(&info);
    assert!(allocated.reorder().access_after_access && dynamic.reorder().access_after_access);
    let plain = Window::<u8>::allocate(1, &world);
    assert_eq!(plain.get_info().get(REORDER), Some("false"));
}
