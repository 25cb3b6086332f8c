//! Cases with locks (passive target), some concurrent with exposures.

use midplane_device::rma::wire::PacketKind;

use super::calls::{buffer, finds, has, lock, lock_all, operation, post, put, start};
use crate::epochs::memory::BUFFERS;
use crate::epochs::script::ScriptCall::{self, Close, WaitClosed, WaitOpen};
use crate::epochs::script::{ADD, REPLACE, TargetOp};

/// A process that fetches from itself, byte by byte, the data that it replaces next.
pub(super) fn on_itself() -> Vec<Vec<ScriptCall>> {
    let strided = |kind, operation, from| {
        ScriptCall::Operation(TargetOp {
            operation,
            other: BUFFERS + 16,
            is_strided: true,
            ..TargetOp::new(0, 0, kind, 0, BUFFERS + from, 2)
        })
    };
    let script = vec![
        ScriptCall::Write(BUFFERS, vec![3, 0, 4, 0, 5, 0, 6]),
        lock_all(0),
        strided(PacketKind::Fetch, ADD, 0),
        strided(PacketKind::Accumulate, REPLACE, 4),
        Close(0),
        WaitClosed(0),
        ScriptCall::Expect(BUFFERS + 16, vec![0; 3]),
        ScriptCall::Expect(0, vec![5, 0, 6]),
    ];
    vec![script, vec![], vec![]]
}

/// Writes these bytes under an exclusive lock of process 0, and reads them back.
fn under_lock(bytes: [u8; 2]) -> Vec<ScriptCall> {
    vec![
        buffer(0, bytes),
        lock(0, 0, true),
        put(0, 0, 0, 0),
        operation(PacketKind::Get, 0, 0, 0, 1),
        Close(0),
        WaitClosed(0),
        finds(1, bytes),
    ]
}

/// A process reads back its own writes under an exclusive lock.
pub(super) fn locks() -> Vec<Vec<ScriptCall>> {
    vec![vec![], under_lock([1, 8]), under_lock([2, 8])]
}

/// Two processes that lock the same part, which belongs to one of them.
pub(super) fn own_lock() -> Vec<Vec<ScriptCall>> {
    vec![under_lock([1, 1]), under_lock([2, 1]), vec![]]
}

/// Transactions of two processes at these targets, one after the other.
pub(super) fn transactions(first: &[u32], second: &[u32]) -> Vec<Vec<ScriptCall>> {
    let one = |targets: &[u32]| {
        let mut calls = vec![buffer(0, [1, 1])];
        for (number, target) in targets.iter().enumerate() {
            calls.push(lock(0, *target, true));
            calls.push(operation(PacketKind::Accumulate, number, *target, 0, 0));
            calls.push(Close(number));
        }
        calls.extend((0..targets.len()).map(WaitClosed));
        calls
    };
    vec![one(first), one(second), vec![]]
}

/// A lock of all, concurrent with an exclusive lock.
pub(super) fn everyone() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            buffer(0, [4, 4]),
            lock_all(0),
            put(0, 1, 0, 0),
            operation(PacketKind::Fetch, 0, 2, 0, 1),
            ScriptCall::Flush(0, None, false),
            ScriptCall::WaitDone(2),
            Close(0),
            WaitClosed(0),
        ],
        vec![
            buffer(0, [5, 5]),
            lock(0, 2, true),
            put(0, 2, 4, 0),
            operation(PacketKind::Get, 0, 2, 4, 1),
            Close(0),
            WaitClosed(0),
            finds(1, [5, 5]),
        ],
        vec![],
    ]
}

/// Epochs of two windows block each other only by the program's order.
pub(super) fn two_windows() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            buffer(0, [1, 2]),
            start(0, &[1]),
            put(0, 1, 0, 0),
            Close(0),
            post(1, &[1]),
            Close(1),
            lock(1, 2, false),
            put(2, 2, 2, 0),
            Close(2),
            WaitClosed(0),
            WaitClosed(1),
            WaitClosed(2),
            has(1, 0, [3, 4]),
        ],
        // Exposes the one window only after its access to the other is complete.
        vec![
            buffer(0, [3, 4]),
            start(1, &[0]),
            put(0, 0, 0, 0),
            Close(0),
            WaitClosed(0),
            post(0, &[0]),
            Close(1),
            WaitClosed(1),
            has(0, 0, [1, 2]),
        ],
        vec![],
    ]
}

/// Two processes acquire the shared locks of two windows in opposite orders, while a third acquires each exclusively:
/// at the same process, one after the other; or at two processes, both at the same time (`at_once`).
pub(super) fn crossed(at_once: bool) -> Vec<Vec<ScriptCall>> {
    let lock = |window: usize, is_exclusive| {
        let target = if at_once { 2 - 2 * window as u32 } else { 2 };
        lock(window, target, is_exclusive)
    };
    let one = |first: usize| {
        let mut calls = vec![lock(first, false), lock(1 - first, false)];
        if !at_once {
            calls.insert(1, WaitOpen(0));
        }
        calls.extend([WaitOpen(0), WaitOpen(1), Close(1), Close(0)]);
        // With both at the same time there are too many orders to wait in each of them.
        if !at_once {
            calls.extend([WaitClosed(0), WaitClosed(1)]);
        }
        calls
    };
    let mut alone = vec![lock(0, true), Close(0), lock(1, true), Close(1)];
    if !at_once {
        alone.extend([WaitClosed(0), WaitClosed(1)]);
    }
    vec![one(0), one(1), alone]
}

/// Two processes with locks of all access two targets in opposite orders, while a third locks each exclusively.
pub(super) fn locks_of_all_crossed() -> Vec<Vec<ScriptCall>> {
    let one = |[first, second]: [u32; 2]| {
        vec![
            buffer(0, [1, 1]),
            lock_all(0),
            operation(PacketKind::Accumulate, 0, first, 0, 0),
            ScriptCall::Flush(0, Some(first), false),
            ScriptCall::WaitDone(1),
            operation(PacketKind::Accumulate, 0, second, 0, 0),
            Close(0),
            WaitClosed(0),
        ]
    };
    let alone = vec![
        buffer(0, [1, 1]),
        lock(0, 1, true),
        operation(PacketKind::Accumulate, 0, 1, 0, 0),
        Close(0),
        lock(0, 2, true),
        operation(PacketKind::Accumulate, 1, 2, 0, 0),
        Close(1),
        WaitClosed(0),
        WaitClosed(1),
    ];
    vec![one([1, 2]), one([2, 1]), alone]
}

/// Flushed data is visible: a process notified through the second window reads it.
pub(super) fn flushed(of_all: bool) -> Vec<Vec<ScriptCall>> {
    let open = if of_all { lock_all(0) } else { lock(0, 1, false) };
    let target = (!of_all).then_some(1);
    vec![
        vec![
            buffer(0, [5, 5]),
            open,
            put(0, 1, 0, 0),
            ScriptCall::Flush(0, target, true),
            ScriptCall::Flush(0, target, false),
            ScriptCall::WaitDone(1),
            buffer(0, [6, 6]),
            ScriptCall::WaitDone(2),
            start(1, &[1]),
            Close(1),
            WaitClosed(1),
            Close(0),
            WaitClosed(0),
        ],
        vec![post(1, &[0]), Close(0), WaitClosed(0), has(0, 0, [5, 5])],
        vec![
            buffer(0, [8, 8]),
            lock(0, 1, true),
            put(0, 1, 4, 0),
            Close(0),
            WaitClosed(0),
        ],
    ]
}

/// A process locks another's part, and notifies it through the second window. Only then that process exposes the part
/// to a third, while its access to the first process waits.
pub(super) fn locked_here() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            start(0, &[2]),
            Close(0),
            post(1, &[2]),
            Close(1),
            WaitClosed(1),
            post(0, &[1]),
            Close(2),
            WaitClosed(0),
            WaitClosed(2),
            has(0, 0, [1, 1]),
        ],
        vec![
            buffer(0, [1, 1]),
            start(0, &[0]),
            put(0, 0, 0, 0),
            Close(0),
            WaitClosed(0),
        ],
        vec![
            buffer(0, [2, 2]),
            lock(0, 0, true),
            WaitOpen(0),
            start(1, &[0]),
            Close(1),
            WaitClosed(1),
            put(0, 0, 0, 0),
            operation(PacketKind::Get, 0, 0, 0, 1),
            Close(0),
            WaitClosed(0),
            finds(1, [2, 2]),
            post(0, &[0]),
            Close(2),
            WaitClosed(2),
        ],
    ]
}
