//! One-sided communication: all kinds of windows, epochs and operations, blocking and nonblocking.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::{vec, vec::Vec};

use kernel_rt::println;
use mpi::collective::SystemOperation;
use mpi::datatype::UserDatatype;
use mpi::topology::SystemCommunicator;
use mpi::traits::*;
use mpi::window::{TargetLocation, DynamicWindow, ReorderFlags, Window, WindowOperation};

kernel_rt::program!(main);

const LEN: usize = 96;

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    fences(&world);
    posts(&world);
    locks(&world);
    atomics(&world);
    derived(&world);
    own_memory(&world);
    dynamic(&world);
    without_blocking(&world);
    errors(&world);
    if world.rank() == 0 {
        println!("windows are right");
    }
}

fn neighbours(world: &SystemCommunicator) -> [i32; 2] {
    let (rank, size) = (world.rank(), world.size());
    [(rank + 1) % size, (rank + size - 1) % size]
}

fn value(rank: i32, index: usize) -> u64 {
    rank as u64 * 1000 + index as u64
}

fn row(rank: i32) -> Vec<u64> {
    (0..LEN).map(|index| value(rank, index)).collect()
}

fn fences(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let mut window = Window::<u64>::allocate(LEN, world);
    let mine = row(world.rank());
    let mut epoch = window.fence();
    epoch.process_at_rank(right).put(0, &mine);
    epoch.next();
    let got: u64 = epoch.process_at_rank(right).get(7);
    assert_eq!(got, value(world.rank(), 7));
    epoch.next();
    epoch
        .process_at_rank(right)
        .accumulate(0, &mine[..], SystemOperation::sum());
    epoch.end();
    let part = window.local();
    assert_eq!(part.len(), LEN);
    assert!((0..LEN).all(|index| part[index] == 2 * value(left, index)));
}

fn posts(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let everyone = world.group();
    let (to, from) = (everyone.include(&[right]), everyone.include(&[left]));
    let mut window = Window::<u64>::allocate(LEN, world);
    for round in 0..3 {
        let exposure = window.post(&from);
        let access = window.start(&to);
        access
            .process_at_rank(right)
            .put(round, &value(world.rank(), round));
        access.complete();
        if round == 1 {
            let mut exposure = exposure;
            while let Err(open) = exposure.test() {
                exposure = open;
            }
        } else {
            exposure.wait();
        }
        assert_eq!(window.local()[round], value(left, round));
        // The next access starts after all have checked.
        world.barrier();
    }
}

fn locks(world: &SystemCommunicator) {
    let size = world.size() as usize;
    let mut window = Window::<u32>::allocate(size + 1, world);
    // Each process increments a counter at all others under an exclusive lock.
    for rank in 0..world.size() {
        let lock = window.lock_exclusive(rank);
        let target = lock.target();
        let count: u32 = target.get(size);
        target.put(size, &(count + 1));
        lock.unlock();
    }
    let all = window.lock_all();
    for rank in 0..world.size() {
        all.process_at_rank(rank)
            .put(world.rank() as usize, &(rank as u32 + 1));
    }
    window.flush_all().unwrap();
    all.unlock_all();
    world.barrier();
    {
        let lock = window.lock_shared(world.rank());
        let mut part = vec![0u32; size + 1];
        lock.target().get_into(0, &mut part);
        assert_eq!(part[size], size as u32);
    }
    let rank = world.rank() as u32;
    assert!(window.local()[..size].iter().all(|got| *got == rank + 1));
}

fn atomics(world: &SystemCommunicator) {
    let size = world.size();
    let window = Window::<i64>::allocate(3, world);
    let all = window.lock_all();
    let first = all.process_at_rank(0);
    // Tickets: each number is drawn once.
    let drawn = first.fetch_and_op(0, &1i64, SystemOperation::sum());
    assert!((0..i64::from(size)).contains(&drawn));
    first.accumulate(1, &(1i64 << drawn), SystemOperation::bitwise_or());
    // Exactly one process wins.
    let won = first.compare_and_swap(2, &0i64, &(drawn + 1)) == 0;
    first.flush().unwrap();
    world.barrier();
    let mut now = [0i64; 3];
    first.get_accumulate_into(0, &[0i64; 3], &mut now, WindowOperation::no_op());
    assert_eq!(now[..2], [i64::from(size), (1i64 << size) - 1]);
    assert_eq!(won, now[2] == drawn + 1);
    world.barrier();
    let was = first.fetch_and_op(1, &-1i64, WindowOperation::replace());
    assert!(was == now[1] || was == -1);
    all.unlock_all();
}

fn derived(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let mut window = Window::<u16>::allocate(LEN, world);
    // Every third element there, of every second here.
    let (there, here) = (
        UserDatatype::vector(8, 1, 3, &u16::equivalent_datatype()),
        UserDatatype::vector(8, 1, 2, &u16::equivalent_datatype()),
    );
    let mine: Vec<u16> = (0..16).map(|at| at + 100 * world.rank() as u16).collect();
    let epoch = window.fence();
    let target = epoch.process_at_rank(right);
    let from = mpi::datatype::View::with_count_and_datatype(&mine[..], 1, &here);
    target.put(TargetLocation::from(1).elements(1, &there), &from);
    let place = TargetLocation::from(40).elements(1, &there);
    target.accumulate(place, &mine[..8], SystemOperation::max());
    epoch.end();
    let part = window.local();
    for at in 0..8u16 {
        assert_eq!(part[1 + 3 * at as usize], 2 * at + 100 * left as u16);
        assert_eq!(part[40 + 3 * at as usize], at + 100 * left as u16);
    }
    let touched = |at: usize| at % 3 == 1 && !(23..40).contains(&at);
    assert!((0..64).all(|at| touched(at) || part[at] == 0));
}

fn own_memory(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let mut memory = [false; 8];
    mpi::request::scope(|scope| {
        let mut window = Window::create(scope, &mut memory[..], world);
        window.set_name("flags");
        assert_eq!((window.get_name().as_str(), window.len()), ("flags", 8));
        window.local()[7] = true;
        world.barrier();
        let lock = window.lock_shared(right);
        lock.target().put(left as usize % 7, &true);
        lock.unlock();
        // Received both during this process's calls and between them.
        let place = neighbours_of(world, left)[1] as usize % 7;
        while !window.load(place) {}
        window.store(6, &true);
    });
    assert!(memory[6] && memory[7]);
}

fn neighbours_of(world: &SystemCommunicator, rank: i32) -> [i32; 2] {
    let size = world.size();
    [(rank + 1) % size, (rank + size - 1) % size]
}

fn dynamic(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let mut memory = row(world.rank());
    mpi::request::scope(|scope| {
        let mut window = DynamicWindow::create(world);
        let mut attached = window.attach(scope, &mut memory[..]);
        let mut addresses = vec![0i64; world.size() as usize];
        let own = attached.address() as i64;
        world.all_gather_into(&own, &mut addresses);
        let there = TargetLocation::address(addresses[right as usize] as isize);
        let lock = window.lock_exclusive(right);
        let got: u64 = lock.target().get(there);
        assert_eq!(got, value(right, 0));
        lock.target().put(there, &value(world.rank(), 1));
        lock.unlock();
        world.barrier();
        assert_eq!(attached.local(&mut window)[0], value(left, 1));
        world.barrier();
        drop(attached);
        world.barrier();
        let lock = window.lock_shared(right);
        lock.target().put(there, &0u64);
        assert!(lock.try_close().is_err(), "nothing is attached there");
    });
}

fn without_blocking(world: &SystemCommunicator) {
    let [right, left] = neighbours(world);
    let everyone = world.group();
    let (to, from) = (everyone.include(&[right]), everyone.include(&[left]));
    let mut window = Window::<u64>::allocate(LEN, world);
    window.set_reorder(ReorderFlags {
        access_after_access: true,
        ..window.reorder()
    });
    let mine = row(world.rank());
    let (mut theirs, mut was) = (vec![0u64; LEN], 0u64);
    mpi::request::scope(|scope| {
        let lock = window.immediate_lock_exclusive(right);
        let opening = lock.opening();
        let put = lock.target().immediate_put(scope, 0, &mine);
        let unlocked = lock.immediate_close();
        opening.wait();
        unlocked.wait();
        put.wait();
        world.barrier();
        let mut fence = window.immediate_fence();
        let target = fence.process_at_rank(left);
        let add = target.immediate_accumulate(scope, 3, &mine[3], SystemOperation::sum());
        let next = fence.immediate_next();
        let target = fence.process_at_rank(right);
        let get = target.immediate_get_into(scope, 0, &mut theirs);
        let ended = fence.immediate_close();
        add.wait();
        next.wait();
        ended.wait();
        // The scope waits for dropped requests.
        drop(get);
        let exposure = window.immediate_post(&from);
        let access = window.immediate_start(&to);
        let target = access.process_at_rank(right);
        let swap = (&mine[5], &mine[6]);
        let _swap = target.immediate_compare_and_swap_into(scope, 5, swap, &mut was);
        let completed = access.immediate_close();
        let waited = exposure.immediate_close();
        assert!(mpi::request::wait_any(&mut vec![completed, waited]).is_some());
        let all = window.immediate_lock_all();
        let target = all.process_at_rank(right);
        let put = target.immediate_put(scope, LEN - 1, &mine[0]);
        let flushed = target.immediate_flush();
        window.immediate_flush_local_all().wait();
        flushed.wait();
        assert!(put.is_complete());
        all.immediate_close().wait();
    });
    world.barrier();
    assert_eq!(was, mine[5]);
    let sum = |rank: i32, other: i32| value(rank, 3) + value(other, 3);
    let second = neighbours_of(world, right)[0];
    assert_eq!(theirs[3], sum(world.rank(), second));
    let part = window.local();
    assert_eq!(part[3], sum(left, right));
    assert_eq!([part[5], part[LEN - 1]], [value(left, 6), value(left, 0)]);
}

fn errors(world: &SystemCommunicator) {
    let mut window = Window::<u8>::allocate(4, world);
    let lock = window.lock_shared(world.rank());
    assert!(lock.target().try_put(2, &[0u8; 3]).is_err(), "beyond");
    assert!(window.try_fence().is_err(), "a lock is held");
    assert!(window.try_lock(world.rank(), true).is_err(), "held already");
    let no = WindowOperation::no_op();
    assert!(lock.target().try_accumulate(0, &0u8, no).is_err());
    drop(lock);
    assert_eq!(window.local().len(), 4);
    let shared = Window::<u8>::try_allocate_shared(4, world);
    assert_eq!(shared.is_ok(), world.size() == 1);
}
