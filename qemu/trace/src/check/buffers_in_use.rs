//! Memory of pending operations: a program must not write to the buffer of a pending send, nor use the buffer of a pending
//! receive (MPI-3.1 section 3.7.2). Two operations must not use the same memory if one of them writes it.

use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use crate::buffers::{BlockCount, BufferAccess, BufferParameter, UsedBy, buffers};
use crate::job::{AccessRecord, AccessedMemory, Call, Event};
use crate::objects::Communicator;
use crate::operations::{Operation, OperationKind, is_blocking};
use std::ops::Range;

/// Buffer of a pending operation.
struct PendingBuffer {
    call: CallAt,
    range: Range<u64>,
    is_written: bool,
    /// Call after which the program may use the buffer; `None`: the operation has not completed.
    until: Option<usize>,
    key: PendingKey,
}

/// Owner of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingKey {
    Request(i64),
    Window(i64),
    Call,
}

pub(super) fn check(job: &CheckedJob<'_>, findings: &mut FindingList) {
    for (rank, trace) in job.job.ranks.iter().enumerate() {
        if trace.is_rust() {
            // A pending operation borrows its buffers.
            continue;
        }
        let mut buffers = operation_buffers(job, rank);
        buffers.extend(window_buffers(job, rank));
        buffers.sort_by_key(|buffer| buffer.call.index);
        check_overlaps(job, &buffers, findings);
        check_accesses(job, rank, &buffers, findings);
    }
}

/// Compares each buffer with those of earlier operations that are pending.
fn check_overlaps(job: &CheckedJob<'_>, buffers: &[PendingBuffer], findings: &mut FindingList) {
    let mut pending: Vec<&PendingBuffer> = Vec::new();
    for buffer in buffers {
        pending.retain(|earlier| earlier.until.is_none_or(|until| until > buffer.call.index));
        for earlier in &pending {
            let overlaps = earlier.range.start < buffer.range.end && buffer.range.start < earlier.range.end;
            let is_conflict = overlaps && (earlier.is_written || buffer.is_written) && earlier.call != buffer.call;
            if is_conflict {
                findings.add(
                    FindingClass::BufferInUse,
                    &[job.site(earlier.call), job.site(buffer.call)],
                    || {
                        format!(
                            "{} uses the buffer of {}, which is pending",
                            job.describe(buffer.call),
                            job.describe(earlier.call)
                        )
                    },
                );
            }
        }
        if buffer.until != Some(buffer.call.index) {
            pending.push(buffer);
        }
    }
}

/// Finds the operation whose memory the program has accessed.
fn check_accesses(job: &CheckedJob<'_>, rank: usize, buffers: &[PendingBuffer], findings: &mut FindingList) {
    let mut last_call = 0;
    for event in &job.job.ranks[rank].events {
        match event {
            Event::Enter(index) => last_call = *index,
            Event::Access(access) => {
                if let Some(buffer) = owner(buffers, access, last_call) {
                    report_access(job, rank, buffer.call, access, findings);
                }
            }
            _ => {}
        }
    }
}

fn owner<'b>(buffers: &'b [PendingBuffer], access: &AccessRecord, last_call: usize) -> Option<&'b PendingBuffer> {
    let key = match access.memory {
        AccessedMemory::Request => PendingKey::Request(access.key),
        AccessedMemory::WindowOperation => PendingKey::Window(access.key),
        AccessedMemory::Window => return None,
    };
    let is_owner = |buffer: &&PendingBuffer| {
        buffer.key == key && buffer.call.index <= last_call && buffer.range.contains(&access.address)
    };
    buffers.iter().rev().find(is_owner)
}

fn report_access(job: &CheckedJob<'_>, rank: usize, call: CallAt, access: &AccessRecord, findings: &mut FindingList) {
    let site = super::findings::CallSite {
        address: access.instruction,
    };
    findings.add(FindingClass::BufferInUse, &[job.site(call), site], || {
        let verb = if access.is_write { "writes to" } else { "reads" };
        format!(
            "rank {rank} {verb} the buffer of {} before the operation is complete ({})",
            job.describe(call),
            job.line(rank, access.instruction)
        )
    });
}

/// Returns the buffers of the operations with a communicator.
fn operation_buffers(job: &CheckedJob<'_>, rank: usize) -> Vec<PendingBuffer> {
    let calls = &job.job.ranks[rank].calls;
    let mut buffers = Vec::new();
    for operation in &job.operations.ranks[rank].list {
        let call = &calls[operation.call];
        let until = if operation.is_freed || operation.is_cancelled() {
            Some(operation.started)
        } else if is_blocking(call.function.name) {
            Some(operation.call)
        } else {
            operation.completed
        };
        if let OperationKind::Other = operation.kind {
            // Operations with a request on windows are among the operations of windows.
            continue;
        }
        for UsedMemory { range, is_written } in ranges(job, rank, operation.call, call, Some(operation)) {
            buffers.push(PendingBuffer {
                call: CallAt {
                    rank,
                    // A matched probe has begun the operation before its buffer is known.
                    index: operation.started.max(operation.call),
                },
                range,
                is_written,
                until,
                key: match operation.request {
                    0 => PendingKey::Call,
                    request => PendingKey::Request(request),
                },
            });
        }
    }
    buffers
}

/// Returns the origin's buffers of the one-sided operations.
fn window_buffers(job: &CheckedJob<'_>, rank: usize) -> Vec<PendingBuffer> {
    let calls = &job.job.ranks[rank].calls;
    let mut buffers: Vec<PendingBuffer> = Vec::new();
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.has_succeeded()) {
        let window = call.input("win");
        if completes_operations(call.function.name) {
            for buffer in &mut buffers {
                if buffer.key == PendingKey::Window(window) && buffer.until.is_none() {
                    buffer.until = Some(index);
                }
            }
        } else if call.try_input("target_rank").is_some() && call.output("request").is_none() {
            for UsedMemory { range, is_written } in ranges(job, rank, index, call, None) {
                buffers.push(PendingBuffer {
                    call: CallAt { rank, index },
                    range,
                    is_written,
                    until: None,
                    key: PendingKey::Window(window),
                });
            }
        }
    }
    buffers
}

/// Checks whether one-sided operations of a window are complete at their origin after a call.
fn completes_operations(name: &str) -> bool {
    let blocking = name.replacen("MPI_Win_i", "MPI_Win_", 1);
    matches!(&*blocking, "MPI_Win_fence" | "MPI_Win_complete" | "MPI_Win_free")
        || blocking.starts_with("MPI_Win_unlock")
        || blocking.starts_with("MPI_Win_flush")
}

/// Memory that a call uses.
struct UsedMemory {
    range: Range<u64>,
    is_written: bool,
}

/// Returns the memory that a call uses, without datatypes that have gaps.
fn ranges(
    job: &CheckedJob<'_>,
    rank: usize,
    index: usize,
    call: &Call,
    operation: Option<&Operation>,
) -> Vec<UsedMemory> {
    let comm = operation.and_then(|operation| operation.comm.as_ref());
    let is_root = comm.is_none_or(|comm| comm.rank == call.input("root"));
    let peers = comm.map_or(1, Communicator::partners) as i64;
    let mut ranges = Vec::new();
    for buffer in buffers(call.function) {
        let address = call.input(buffer.address);
        // MPI_IN_PLACE.
        if address == 1 || buffer.used_by == UsedBy::Root && !is_root {
            continue;
        }
        let Some(datatype) = job.datatypes[rank].get(call.input(buffer.datatype), index) else {
            continue;
        };
        let is_written = match buffer.access {
            BufferAccess::Read => false,
            BufferAccess::Write => true,
            BufferAccess::ReadInRoot => !is_root,
        };
        for block in blocks(call, &buffer, peers) {
            let count = block.count;
            let offset = block.displacement.wrapping_mul(datatype.sizes.extent);
            let start = address.wrapping_add(datatype.sizes.true_lower).wrapping_add(offset) as u64;
            let bytes = u64::try_from(datatype.sizes.size.saturating_mul(count)).unwrap_or(0);
            if datatype.is_contiguous(count) && bytes > 0 {
                ranges.push(UsedMemory {
                    range: start..start.saturating_add(bytes),
                    is_written,
                });
            }
        }
    }
    ranges
}

/// Part of a buffer.
struct Block {
    count: i64,
    /// In units of the extent.
    displacement: i64,
}

fn blocks(call: &Call, buffer: &BufferParameter, peers: i64) -> Vec<Block> {
    let one = |count: i64| Block { count, displacement: 0 };
    match buffer.blocks {
        BlockCount::One => vec![one(call.input(buffer.count))],
        BlockCount::Peers => vec![one(call.input(buffer.count).saturating_mul(peers))],
        BlockCount::Vector(displacements) => {
            let counts = call.input_list(buffer.count).iter();
            let blocks = counts.zip(call.input_list(displacements));
            blocks
                .map(|(&count, &displacement)| Block { count, displacement })
                .collect()
        }
    }
}
