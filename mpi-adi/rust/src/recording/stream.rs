//! Writer of the records: the functions that the tool links (`qemu/trace/src/rust.c`).

use alloc::vec::Vec;
use core::panic::Location;
use core::slice;

use super::fields::Fields;
use crate::process::{ProcessState, current};
use crate::topology::CommRecord;
use midplane_device::envelope::Rank;
use midplane_device::interface::{Device, MeasuredQuantity};
use midplane_objects::environment as job;
use midplane_objects::process::Env;

/// Minimum time between two records of the counters in nanoseconds.
const COUNTERS_INTERVAL: u64 = 200_000;

/// Kinds of records.
const ENTER: u64 = 1;
const LEAVE: u64 = 2;
const COMMUNICATOR: u64 = 3;
const COUNTERS: u64 = 5;
const SOURCE_LINE: u64 = 8;

unsafe extern "C" {
    fn midplane_record_open(rank: i32) -> i32;
    fn midplane_record_function(name: *const u8, length: usize) -> u32;
    fn midplane_record(words: *const u64, count: usize);
    static midplane_counters: u32;
    static midplane_counter_count: u32;
}

/// Returns the number of a new request of this process.
pub(super) fn next_request() -> u32 {
    current().map_or(0, |here| {
        let number = here.recording.last_request.get().wrapping_add(1).max(1);
        here.recording.last_request.set(number);
        number
    })
}

/// Opens the stream of the process that initializes MPI.
pub(super) fn open(here: &ProcessState) {
    let Ok(env) = here.env() else { return };
    let rank = midplane_objects::comm::Communicator::world(env).rank();
    // SAFETY: the function opens the stream of this process.
    let is_open = unsafe { midplane_record_open(rank as i32) } != 0;
    here.recording.is_open.set(is_open);
}

/// Runs `run` with the process whose records are open, and its time in nanoseconds.
fn with_open(run: impl FnOnce(&ProcessState, &dyn Env, u64)) {
    if let Some(here) = current()
        && here.recording.is_open.get()
        && let Ok(env) = here.env()
    {
        run(&here, env, job::now(env));
    }
}

pub(super) fn enter(function: &'static str, line: &'static Location<'static>, arguments: impl FnOnce(&mut Fields)) {
    with_open(|here, _, time| {
        let address = core::ptr::from_ref(line).addr();
        // A line of the binding itself is that of a drop.
        let is_programs = !line.file().contains("mpi-adi/rust/src/");
        if is_programs && here.recording.lines.borrow_mut().insert(address) {
            write_line(line, address, time);
        }
        let mut words = head(here, ENTER, function, time);
        words.0.push(address as u64);
        arguments(&mut words);
        write(&words.0);
    });
}

pub(super) fn write_end(function: &'static str, class: i64, results: impl FnOnce(&mut Fields)) {
    with_open(|here, env, time| {
        let mut words = head(here, LEAVE, function, time);
        words.value(class);
        results(&mut words);
        write(&words.0);
        let last = &here.recording.last_counters;
        if time - last.get() >= COUNTERS_INTERVAL || function == "MPI_Finalize" {
            last.set(time);
            write_counters(env, time);
        }
    });
}

pub(super) fn communicator(record: &CommRecord) {
    with_open(|_, _, time| {
        let mut words = Fields(alloc::vec![COMMUNICATOR, time]);
        words.communicator(record);
        add_members(record, &mut words);
        write(&words.0);
    });
}

/// Adds the rank of this process, and the members of both groups.
fn add_members(record: &CommRecord, fields: &mut Fields) {
    let world = |rank: &Rank| i64::from(rank.index());
    match record.sides() {
        Some(sides) => {
            fields.value(sides.local().rank.0);
            fields.list(sides.local_members().iter().map(world));
            fields.list(sides.remote_members().iter().map(world));
        }
        None => {
            let membership = record.membership();
            fields.value(membership.rank.0);
            fields.list(membership.ranks().map(|rank| world(&membership.to_world(rank))));
            fields.list([]);
        }
    }
}

/// Begins a record of a function.
fn head(here: &ProcessState, kind: u64, function: &'static str, time: u64) -> Fields {
    let mut known = here.recording.functions.borrow_mut();
    let number = known
        .entry((function.as_ptr().addr(), function.len()))
        .or_insert_with(|| {
            // SAFETY: the function reads the name.
            unsafe { midplane_record_function(function.as_ptr(), function.len()) }
        });
    Fields(alloc::vec![kind | u64::from(*number) << 8, time])
}

fn write_line(line: &Location<'_>, address: usize, time: u64) {
    let name = line.file().as_bytes();
    let mut words = alloc::vec![SOURCE_LINE, time, address as u64, line.line().into(), name.len() as u64];
    words.extend(name.chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    }));
    write(&words);
}

fn write_counters(env: &dyn Env, time: u64) {
    // SAFETY: the tool links the list with its length, and both are constant.
    let indices = unsafe { slice::from_raw_parts(&raw const midplane_counters, midplane_counter_count as usize) };
    let values = indices
        .iter()
        .map(|index| env.measure(MeasuredQuantity::Counter(*index as usize)));
    let words: Vec<u64> = [COUNTERS, time, indices.len() as u64]
        .into_iter()
        .chain(values)
        .collect();
    write(&words);
}

fn write(words: &[u64]) {
    // SAFETY: the function reads the words.
    unsafe { midplane_record(words.as_ptr(), words.len()) };
}
