//! Writer of the records: the functions that the tool links (`qemu/trace/src/rust.c`).

use core::panic::Location;
use core::slice;

use super::fields::Fields;
use crate::process::{ProcessState, current};
use crate::topology::CommRecord;
use midplane_device::envelope::Rank;
use midplane_device::interface::{Device, MeasuredQuantity};
use midplane_objects::process::Env;

/// Minimum time between two records of the counters in nanoseconds.
const COUNTERS_INTERVAL: u64 = 200_000;

/// Number of contiguous words of the stream: that of the C text.
const CHUNK_WORDS: usize = 64;

/// Kinds of records.
const ENTER: u64 = 1;
const LEAVE: u64 = 2;
const COMMUNICATOR: u64 = 3;
const COUNTERS: u64 = 5;
const SOURCE_LINE: u64 = 8;

unsafe extern "C" {
    fn midplane_record_open(rank: i32) -> i32;
    fn midplane_record_function(name: *const u8, length: usize) -> u32;
    fn midplane_record_begin() -> *mut u64;
    fn midplane_record_continue(count: usize) -> *mut u64;
    fn midplane_record_end(count: usize);
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
        run(&here, env, env.now_ns());
    }
}

#[inline(always)]
pub(super) fn enter(function: &'static str, line: &'static Location<'static>, arguments: impl FnOnce(&mut Fields)) {
    with_open(|here, _, time| {
        let address = core::ptr::from_ref(line).addr();
        { &here.recording.recent_lines }.find_or_compute(address, address, || record_line(here, line, time));
        let mut words = begin(here, ENTER, function, time);
        words.value(address as i64);
        arguments(&mut words);
        end_record(&words);
    });
}

#[inline(always)]
pub(super) fn write_end(function: &'static str, class: i64, results: impl FnOnce(&mut Fields)) {
    with_open(|here, env, time| {
        let mut words = begin(here, LEAVE, function, time);
        words.value(class);
        results(&mut words);
        end_record(&words);
        if time - here.recording.last_counters.get() >= COUNTERS_INTERVAL || function == "MPI_Finalize" {
            here.recording.last_counters.set(time);
            write_counters(env, time);
        }
    });
}

pub(super) fn communicator(record: &CommRecord) {
    with_open(|_, _, time| {
        let mut words = begin_record(COMMUNICATOR, time);
        words.communicator(record);
        add_members(record, &mut words);
        end_record(&words);
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
#[inline(always)]
fn begin(here: &ProcessState, kind: u64, function: &'static str, time: u64) -> Fields {
    let address = function.as_ptr().addr();
    let recent = &here.recording.recent_functions;
    let number = recent.find_or_compute(address, (address, function.len()), || number_of(here, function));
    begin_record(kind | u64::from(number) << 8, time)
}

/// Returns the number of a function.
#[cold]
fn number_of(here: &ProcessState, function: &'static str) -> u32 {
    let mut known = here.recording.functions.borrow_mut();
    let number = known.entry((function.as_ptr().addr(), function.len()));
    // SAFETY: the function reads the name.
    *number.or_insert_with(|| unsafe { midplane_record_function(function.as_ptr(), function.len()) })
}

/// Records a source line once, unless it is of the binding itself: that of a drop.
#[cold]
fn record_line(here: &ProcessState, line: &'static Location<'static>, time: u64) {
    let address = core::ptr::from_ref(line).addr();
    if line.file().contains("mpi-adi/rust/src/") || !here.recording.lines.borrow_mut().insert(address) {
        return;
    }
    let name = line.file().as_bytes();
    let mut words = begin_record(SOURCE_LINE, time);
    words.value(address as i64).value(line.line()).value(name.len() as i64);
    for chunk in name.chunks(8) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        words.value(i64::from_le_bytes(bytes));
    }
    end_record(&words);
}

#[cold]
fn write_counters(env: &dyn Env, time: u64) {
    // SAFETY: the tool links the list with its length, and both are constant.
    let indices = unsafe { slice::from_raw_parts(&raw const midplane_counters, midplane_counter_count as usize) };
    let mut words = begin_record(COUNTERS, time);
    words.value(indices.len() as i64);
    for index in indices {
        words.add(env.measure(MeasuredQuantity::Counter(*index as usize)));
    }
    end_record(&words);
}

/// Begins a record. Nothing else is recorded before its [end](end_record).
#[inline(always)]
fn begin_record(kind: u64, time: u64) -> Fields {
    // SAFETY: the function returns the address of a chunk, which nothing else uses before the end of the record.
    let chunk = unsafe { slice::from_raw_parts_mut(midplane_record_begin(), CHUNK_WORDS) };
    let mut fields = Fields::new(chunk, continue_record);
    fields.add(kind);
    fields.add(time);
    fields
}

#[cold]
fn continue_record() -> &'static mut [u64] {
    // SAFETY: the chunk is full; the function returns the address of the next one, as above.
    unsafe { slice::from_raw_parts_mut(midplane_record_continue(CHUNK_WORDS), CHUNK_WORDS) }
}

#[inline(always)]
fn end_record(fields: &Fields) {
    // SAFETY: the last chunk has as many words of the record.
    unsafe { midplane_record_end(fields.count()) }
}
