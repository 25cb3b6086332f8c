//! Jobs of three processes and two windows, small enough to see all that can happen.

use mpi_adi::device::rma::epochs::{Flaw, Reorder, Sort};
use mpi_adi::device::rma::wire::Kind;
use mpi_adi::envelope::Rank;

use super::explore::{BESIDE, Case, END};
use super::memory::{BUFFERS, WINDOW};
use super::script::{ADD, Call, Do, REPLACE, WRONG_BYTES};

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// The job.
    pub case: Case,
    /// What does not hold, if something is broken.
    pub finds: Option<&'static str>,
}

/// No epoch passes another.
pub const IN_ORDER: Reorder = Reorder {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};
/// All that may be passed is.
pub const ANY_ORDER: Reorder = Reorder {
    access_after_access: true,
    access_after_exposure: true,
    exposure_after_exposure: true,
    exposure_after_access: true,
};

fn post(window: usize, from: &[u32]) -> Call {
    Call::Open(window, Sort::Post, from.to_vec())
}

fn start(window: usize, to: &[u32]) -> Call {
    Call::Open(window, Sort::Start, to.to_vec())
}

fn fence(window: usize) -> Call {
    Call::Open(window, Sort::Fence, Vec::new())
}

fn lock(window: usize, target: u32, is_exclusive: bool) -> Call {
    let target = Rank::new(target);
    let sort = Sort::Lock {
        target,
        is_exclusive,
    };
    Call::Open(window, sort, Vec::new())
}

fn lock_all(window: usize) -> Call {
    Call::Open(window, Sort::LockAll, Vec::new())
}

/// Two bytes at buffer `from`, which has room for eight, and place `place`.
fn operation(kind: Kind, (epoch, target): (usize, u32), place: usize, from: usize) -> Call {
    Call::Do(Do {
        other: BUFFERS + 8 * from + 4,
        ..Do::new((epoch, target), kind, (place, BUFFERS + 8 * from), 2)
    })
}

fn put(at: (usize, u32), place: usize, from: usize) -> Call {
    operation(Kind::Put, at, place, from)
}

fn buffer(number: usize, bytes: [u8; 2]) -> Call {
    Call::Write(BUFFERS + 8 * number, bytes.to_vec())
}

fn finds(number: usize, bytes: [u8; 2]) -> Call {
    Call::Expect(BUFFERS + 8 * number, bytes.to_vec())
}

fn has(window: usize, place: usize, bytes: [u8; 2]) -> Call {
    Call::Expect(window * WINDOW + place, bytes.to_vec())
}

use Call::{Close, WaitClosed, WaitOpen};

/// Two processes that post to each other, start, complete and wait; twice, and nothing is waited for until the end.
fn exchange() -> Vec<Vec<Call>> {
    let one = |other: u32, mine: u8, theirs: u8| {
        vec![
            buffer(0, [mine, 1]),
            buffer(1, [mine, 2]),
            post(0, &[other]),
            start(0, &[other]),
            put((1, other), 0, 0),
            Close(1),
            Close(0),
            post(0, &[other]),
            start(0, &[other]),
            put((3, other), 4, 1),
            Close(3),
            Close(2),
            WaitClosed(3),
            WaitClosed(2),
            has(0, 0, [theirs, 1]),
            has(0, 4, [theirs, 2]),
        ]
    };
    vec![one(1, 5, 6), one(0, 6, 5), vec![]]
}

/// A ring of posts and starts.
fn ring() -> Vec<Vec<Call>> {
    let one = |rank: u32| {
        let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);
        vec![
            buffer(0, [rank as u8, 9]),
            post(0, &[left]),
            start(0, &[right]),
            put((1, right), 0, 0),
            Close(1),
            Close(0),
            WaitClosed(0),
            has(0, 0, [left as u8, 9]),
            WaitClosed(1),
        ]
    };
    vec![one(0), one(1), one(2)]
}

/// A target with two exposures, each to one of two origins, the first of which comes late; and at the end a fence.
fn late_origin(with_fence: bool) -> Vec<Vec<Call>> {
    let mut scripts = vec![
        vec![
            post(0, &[1]),
            Close(0),
            post(0, &[2]),
            Close(1),
            WaitClosed(0),
            WaitClosed(1),
            has(0, 0, [1, 1]),
            has(0, 4, [2, 2]),
        ],
        vec![
            buffer(0, [1, 1]),
            Call::Compute(1),
            start(0, &[0]),
            put((0, 0), 0, 0),
            Close(0),
        ],
        vec![
            buffer(0, [2, 2]),
            start(0, &[0]),
            put((0, 0), 4, 0),
            Close(0),
        ],
    ];
    if with_fence {
        for script in &mut scripts {
            let epochs = script
                .iter()
                .filter(|call| matches!(call, Call::Open(..)))
                .count();
            let place = script
                .iter()
                .position(|call| matches!(call, WaitClosed(_)))
                .unwrap_or(script.len());
            script.splice(place..place, [fence(0), Close(epochs)]);
            script.push(WaitClosed(epochs));
        }
    }
    scripts
}

/// A process that fetches of itself byte by byte what it replaces next.
fn on_itself() -> Vec<Vec<Call>> {
    let strided = |kind, operation, from| {
        Call::Do(Do {
            operation,
            other: BUFFERS + 16,
            is_strided: true,
            ..Do::new((0, 0), kind, (0, BUFFERS + from), 2)
        })
    };
    let script = vec![
        Call::Write(BUFFERS, vec![3, 0, 4, 0, 5, 0, 6]),
        lock_all(0),
        strided(Kind::Fetch, ADD, 0),
        strided(Kind::Accumulate, REPLACE, 4),
        Close(0),
        WaitClosed(0),
        Call::Expect(BUFFERS + 16, vec![0; 3]),
        Call::Expect(0, vec![5, 0, 6]),
    ];
    vec![script, vec![], vec![]]
}

/// An exposure whose origin is late, an access behind it that passes it, and then a fence, which must not.
fn passed_by() -> Vec<Vec<Call>> {
    vec![
        vec![
            buffer(0, [7, 7]),
            post(0, &[1]),
            Close(0),
            start(0, &[2]),
            put((1, 2), 0, 0),
            Close(1),
            fence(0),
            Close(2),
            WaitClosed(2),
        ],
        vec![start(0, &[0]), Close(0), fence(0), Close(1), WaitClosed(1)],
        vec![
            post(0, &[0]),
            Close(0),
            fence(0),
            Close(1),
            WaitClosed(1),
            has(0, 0, [7, 7]),
        ],
    ]
}

/// Three fences, between which a process writes to the next and reads what it has written.
fn fences() -> Vec<Vec<Call>> {
    let comes = || {
        vec![
            fence(0),
            Close(0),
            fence(0),
            Close(1),
            fence(0),
            Close(2),
            WaitOpen(2),
        ]
    };
    let mut scripts = vec![
        vec![
            buffer(0, [5, 3]),
            fence(0),
            put((0, 1), 0, 0),
            Close(0),
            fence(0),
            operation(Kind::Get, (1, 1), 0, 1),
            Close(1),
            fence(0),
            Close(2),
            WaitOpen(2),
            finds(1, [5, 3]),
        ],
        comes(),
        comes(),
    ];
    scripts[1].push(has(0, 0, [5, 3]));
    scripts
}

/// A fence that one process is through with while another still writes: none writes behind it.
fn fence_and_look() -> Vec<Vec<Call>> {
    let comes = || vec![fence(0), Close(0), fence(0), Close(1), WaitOpen(1)];
    let mut scripts = vec![
        comes(),
        vec![
            buffer(0, [1, 1]),
            fence(0),
            put((0, 2), 0, 0),
            Close(0),
            fence(0),
            Close(1),
            WaitClosed(1),
        ],
        comes(),
    ];
    scripts[2].push(has(0, 0, [1, 1]));
    scripts
}

/// Under an exclusive lock a process finds what it has written itself.
fn locks() -> Vec<Vec<Call>> {
    let one = |rank: u8| {
        vec![
            buffer(0, [rank, 8]),
            lock(0, 0, true),
            put((0, 0), 0, 0),
            operation(Kind::Get, (0, 0), 0, 1),
            Close(0),
            WaitClosed(0),
            finds(1, [rank, 8]),
        ]
    };
    vec![vec![], one(1), one(2)]
}

/// Transactions of two processes, one behind the other, at these targets.
fn transactions(first: &[u32], second: &[u32]) -> Vec<Vec<Call>> {
    let one = |targets: &[u32]| {
        let mut calls = vec![buffer(0, [1, 1])];
        for (number, target) in targets.iter().enumerate() {
            calls.push(lock(0, *target, true));
            calls.push(operation(Kind::Accumulate, (number, *target), 0, 0));
            calls.push(Close(number));
        }
        calls.extend((0..targets.len()).map(WaitClosed));
        calls
    };
    vec![one(first), one(second), vec![]]
}

/// A lock of all beside an exclusive one.
fn everyone() -> Vec<Vec<Call>> {
    vec![
        vec![
            buffer(0, [4, 4]),
            lock_all(0),
            put((0, 1), 0, 0),
            operation(Kind::Fetch, (0, 2), 0, 1),
            Call::Flush(0, None, false),
            Call::WaitDone(2),
            Close(0),
            WaitClosed(0),
        ],
        vec![
            buffer(0, [5, 5]),
            lock(0, 2, true),
            put((0, 2), 4, 0),
            operation(Kind::Get, (0, 2), 4, 1),
            Close(0),
            WaitClosed(0),
            finds(1, [5, 5]),
        ],
        vec![],
    ]
}

/// Epochs of two windows stand in each other's way only in the program.
fn two_windows() -> Vec<Vec<Call>> {
    vec![
        vec![
            buffer(0, [1, 2]),
            start(0, &[1]),
            put((0, 1), 0, 0),
            Close(0),
            post(1, &[1]),
            Close(1),
            lock(1, 2, false),
            put((2, 2), 2, 0),
            Close(2),
            WaitClosed(0),
            WaitClosed(1),
            WaitClosed(2),
            has(1, 0, [3, 4]),
        ],
        // Only when its access to the one window has ended does it expose the other.
        vec![
            buffer(0, [3, 4]),
            start(1, &[0]),
            put((0, 0), 0, 0),
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

/// One origin with two epochs for one target that exposes itself twice; the results of the first are gets.
fn gets() -> Vec<Vec<Call>> {
    vec![
        vec![
            Call::Write(0, vec![6, 6]),
            post(0, &[1]),
            Close(0),
            WaitClosed(0),
            // The origin's get is over.
            Call::Write(0, vec![9, 9]),
        ],
        vec![
            start(0, &[0]),
            Call::Do(Do {
                len: 20,
                ..match operation(Kind::Get, (0, 0), 0, 0) {
                    Call::Do(what) => what,
                    _ => unreachable!("an operation"),
                }
            }),
            Close(0),
            WaitClosed(0),
            finds(0, [6, 6]),
        ],
        vec![],
    ]
}

/// A target with two exposures, to both others and to one of them again, which is the first to end.
fn counted() -> Vec<Vec<Call>> {
    vec![
        vec![
            post(0, &[1, 2]),
            Close(0),
            post(0, &[1]),
            Close(1),
            WaitClosed(1),
            has(0, 8, [3, 3]),
            WaitClosed(0),
            has(0, 0, [1, 1]),
            has(0, 4, [2, 2]),
        ],
        vec![
            buffer(0, [1, 1]),
            buffer(1, [3, 3]),
            start(0, &[0]),
            put((0, 0), 0, 0),
            Close(0),
            start(0, &[0]),
            put((1, 0), 8, 1),
            Close(1),
            WaitClosed(1),
        ],
        vec![
            buffer(0, [2, 2]),
            start(0, &[0]),
            put((0, 0), 4, 0),
            Close(0),
        ],
    ]
}

/// A target that looks at its memory before it exposes it.
fn unexposed() -> Vec<Vec<Call>> {
    vec![
        vec![
            Call::Compute(2),
            has(0, 0, [0, 0]),
            post(0, &[1]),
            Close(0),
            WaitClosed(0),
            has(0, 0, [1, 1]),
        ],
        vec![
            buffer(0, [1, 1]),
            start(0, &[0]),
            put((0, 0), 0, 0),
            Close(0),
            WaitClosed(0),
        ],
        vec![],
    ]
}

/// The table.
pub fn table() -> Vec<Row> {
    let row = |name, scripts, reorder, broken: Option<(Flaw, &'static str)>| Row {
        name,
        case: Case {
            scripts,
            reorder,
            flaw: broken.map(|(flaw, _)| flaw),
        },
        finds: broken.map(|(_, finds)| finds),
    };
    let sound = |name, scripts, reorder| row(name, scripts, reorder, None);
    let broken =
        |name, scripts, reorder, flaw, finds| row(name, scripts, reorder, Some((flaw, finds)));
    vec![
        sound("exchange", exchange(), IN_ORDER),
        sound("exchange, any order", exchange(), ANY_ORDER),
        sound("ring", ring(), IN_ORDER),
        sound("late origin", late_origin(false), IN_ORDER),
        sound("late origin, any order", late_origin(false), ANY_ORDER),
        sound("late origin and a fence", late_origin(true), IN_ORDER),
        sound(
            "late origin and a fence, any order",
            late_origin(true),
            ANY_ORDER,
        ),
        sound("passed by", passed_by(), ANY_ORDER),
        sound("fences", fences(), IN_ORDER),
        sound(
            "a fence alone",
            vec![vec![fence(0), WaitOpen(0)]; 3],
            IN_ORDER,
        ),
        sound("fences and a look", fence_and_look(), IN_ORDER),
        sound("locks", locks(), IN_ORDER),
        sound("transactions", transactions(&[2, 1], &[2]), IN_ORDER),
        sound(
            "transactions, any order",
            transactions(&[2, 1, 2], &[2]),
            ANY_ORDER,
        ),
        sound("everyone", everyone(), IN_ORDER),
        sound("two windows", two_windows(), IN_ORDER),
        sound("gets", gets(), IN_ORDER),
        sound("counted", counted(), IN_ORDER),
        sound("counted, any order", counted(), ANY_ORDER),
        sound("unexposed", unexposed(), IN_ORDER),
        sound("on itself", on_itself(), IN_ORDER),
        broken(
            "nested epochs are deferred",
            exchange(),
            IN_ORDER,
            Flaw::DefersWhatIsNested,
            END,
        ),
        broken(
            "only the last is asked",
            passed_by(),
            ANY_ORDER,
            Flaw::AsksTheLastOnly,
            BESIDE,
        ),
        broken(
            "none is asked",
            passed_by(),
            IN_ORDER,
            Flaw::AsksNone,
            BESIDE,
        ),
        broken(
            "a done before results",
            gets(),
            IN_ORDER,
            Flaw::DoneBeforeResults,
            WRONG_BYTES,
        ),
        broken(
            "a done before operations",
            counted(),
            IN_ORDER,
            Flaw::DoneBeforeOperations,
            WRONG_BYTES,
        ),
        broken(
            "dones for the newest",
            counted(),
            ANY_ORDER,
            Flaw::CountsForTheNewest,
            WRONG_BYTES,
        ),
        broken(
            "a fence unflushed",
            fence_and_look(),
            IN_ORDER,
            Flaw::ArrivesUnflushed,
            WRONG_BYTES,
        ),
        broken(
            "no grant",
            unexposed(),
            IN_ORDER,
            Flaw::NeedsNoGrant,
            WRONG_BYTES,
        ),
        broken(
            "early unlocks",
            locks(),
            IN_ORDER,
            Flaw::UnlocksEarly,
            WRONG_BYTES,
        ),
        broken(
            "an epoch ends with any of its operations",
            locks(),
            IN_ORDER,
            Flaw::EndsWithAny,
            WRONG_BYTES,
        ),
    ]
}
