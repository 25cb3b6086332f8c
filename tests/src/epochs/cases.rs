//! Jobs of three processes and two windows, small enough to see all that can happen.

use mpi_adi::device::rma::epochs::{Flaw, Reorder, Sort};
use mpi_adi::device::rma::wire::Kind;
use mpi_adi::envelope::Rank;

use super::explore::{BESIDE, Case, END, SENSE};
use super::memory::{BUFFERS, WINDOW};
use super::script::{ADD, Call, Do, REPLACE, WRONG_BYTES};

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The job.
    pub case: Case,
    /// What must be found.
    pub finds: Finds,
}

/// What an exploration must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finds {
    /// All holds.
    Sound,
    /// Something is broken, and this does not hold.
    Broken(&'static str),
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

/// More bytes than an answer holds.
fn long_get(at: (usize, u32), place: usize, into: usize) -> Call {
    Call::Do(Do::new(at, Kind::Get, (place, BUFFERS + 8 * into), 20))
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

/// Under an exclusive lock of process 0 a process writes these, and finds them.
fn under_lock(bytes: [u8; 2]) -> Vec<Call> {
    vec![
        buffer(0, bytes),
        lock(0, 0, true),
        put((0, 0), 0, 0),
        operation(Kind::Get, (0, 0), 0, 1),
        Close(0),
        WaitClosed(0),
        finds(1, bytes),
    ]
}

/// Under an exclusive lock a process finds what it has written itself.
fn locks() -> Vec<Vec<Call>> {
    vec![vec![], under_lock([1, 8]), under_lock([2, 8])]
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
            long_get((0, 0), 0, 0),
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

/// What two processes put is to lie there in the end: whose, where, what.
type Ends = Vec<(usize, usize, [u8; 2])>;

/// The kinds of epochs that a process can have with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kinds {
    Fence,
    Post,
    Start,
    Shared,
    Exclusive,
    LockAll,
}

impl Kinds {
    const ALL: [Kinds; 6] = [
        Kinds::Fence,
        Kinds::Post,
        Kinds::Start,
        Kinds::Shared,
        Kinds::Exclusive,
        Kinds::LockAll,
    ];

    /// Opens it at process 0, with process 1.
    fn open(self) -> Call {
        match self {
            Kinds::Fence => fence(0),
            Kinds::Post => post(0, &[1]),
            Kinds::Start => start(0, &[1]),
            Kinds::Shared => lock(0, 1, false),
            Kinds::Exclusive => lock(0, 1, true),
            Kinds::LockAll => lock_all(0),
        }
    }

    /// What process 1 opens for it.
    fn open_there(self) -> Option<Call> {
        match self {
            Kinds::Fence => Some(fence(0)),
            Kinds::Post => Some(start(0, &[0])),
            Kinds::Start => Some(post(0, &[0])),
            _ => None,
        }
    }

    /// The key by which one of this kind may be passed by one of another.
    fn key(self, next: Kinds) -> Option<Reorder> {
        let is_alone = |kind| matches!(kind, Kinds::Fence | Kinds::LockAll);
        if is_alone(self) || is_alone(next) {
            return None;
        }
        let mut keys = IN_ORDER;
        *match (self == Kinds::Post, next == Kinds::Post) {
            (false, false) => &mut keys.access_after_access,
            (true, false) => &mut keys.access_after_exposure,
            (true, true) => &mut keys.exposure_after_exposure,
            (false, true) => &mut keys.exposure_after_access,
        } = true;
        Some(keys)
    }
}

/// Two epochs of a process with another in one window, one behind the other; between them it has one in a second window,
/// whose lock another wants, too, if it comes to no fence; and what is there in the end.
fn pair(first: Kinds, second: Kinds) -> (Vec<Vec<Call>>, Ends) {
    let mut ends = vec![(2, WINDOW, [3, 3])];
    let mut here = vec![buffer(0, [1, 1]), buffer(1, [2, 2]), buffer(2, [3, 3])];
    let (mut there, mut other) = (vec![buffer(0, [7, 7])], Vec::new());
    let mut opened = [0; 3];
    let mut open = |rank: usize, call: Call, put: Option<(u32, usize, usize)>| {
        let mut calls = vec![call];
        let epoch = opened[rank];
        calls.extend(put.map(|(target, at, from)| super::cases::put((epoch, target), at, from)));
        calls.push(Close(epoch));
        opened[rank] += 1;
        calls
    };
    for (number, kind) in [first, second].into_iter().enumerate() {
        let puts = (kind != Kinds::Post).then_some((1, 4 * number, number));
        here.extend(open(0, kind.open(), puts));
        if number == 0 {
            here.extend(open(0, lock(1, 2, false), Some((2, 0, 2))));
        }
        let puts = (kind == Kinds::Post).then_some((0, 4 * number, 0));
        there.extend(
            kind.open_there()
                .map(|call| open(1, call, puts))
                .into_iter()
                .flatten(),
        );
        if kind == Kinds::Fence {
            other.extend(open(2, fence(0), None));
        }
        ends.push(match kind {
            Kinds::Post => (0, 4 * number, [7, 7]),
            _ => (1, 4 * number, [number as u8 + 1; 2]),
        });
    }
    if other.is_empty() {
        other.extend(open(2, lock(1, 2, true), None));
    }
    let mut scripts = vec![here, there, other];
    for (script, opened) in scripts.iter_mut().zip(opened) {
        script.extend((0..opened).map(WaitClosed));
    }
    (scripts, ends)
}

/// An access behind an exposure and a fence that waits for the exposure's late origin.
fn behind_a_fence() -> Vec<Vec<Call>> {
    vec![
        vec![
            buffer(0, [7, 7]),
            post(0, &[1]),
            Close(0),
            fence(0),
            Close(1),
            start(0, &[2]),
            put((2, 2), 0, 0),
            Close(2),
            WaitClosed(2),
        ],
        vec![start(0, &[0]), Close(0), fence(0), Close(1), WaitClosed(1)],
        vec![
            fence(0),
            Close(0),
            WaitClosed(0),
            has(0, 0, [0, 0]),
            post(0, &[0]),
            Close(1),
            WaitClosed(1),
            has(0, 0, [7, 7]),
        ],
    ]
}

/// A process that has another's part locked, and tells it so by the second window; only then that one exposes it to a
/// third, while its access to the first process waits.
fn locked_here() -> Vec<Vec<Call>> {
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
            put((0, 0), 0, 0),
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
            put((0, 0), 0, 0),
            operation(Kind::Get, (0, 0), 0, 1),
            Close(0),
            WaitClosed(0),
            finds(1, [2, 2]),
            post(0, &[0]),
            Close(2),
            WaitClosed(2),
        ],
    ]
}

/// Two accesses to one target, which exposes itself twice, and looks between the two.
fn granted_twice() -> Vec<Vec<Call>> {
    vec![
        vec![
            post(0, &[1]),
            Close(0),
            WaitClosed(0),
            has(0, 0, [0, 0]),
            post(0, &[1]),
            Close(1),
            WaitClosed(1),
            has(0, 0, [1, 1]),
        ],
        vec![
            buffer(0, [1, 1]),
            start(0, &[0]),
            long_get((0, 0), 32, 1),
            Close(0),
            start(0, &[0]),
            put((1, 0), 0, 0),
            Close(1),
            WaitClosed(1),
        ],
        vec![],
    ]
}

/// As [`gets`], and an access behind it that has nothing to wait for.
fn gets_and_more() -> Vec<Vec<Call>> {
    let mut scripts = gets();
    scripts[0].extend([post(0, &[1]), Close(1), WaitClosed(1)]);
    scripts[1].splice(3..3, [start(0, &[0]), Close(1)]);
    scripts
}

/// Two processes that take the lock of the same part, which is the one's own.
fn own_lock() -> Vec<Vec<Call>> {
    vec![under_lock([1, 1]), under_lock([2, 1]), vec![]]
}

/// Two processes take the shared locks of two windows in opposite orders, while a third wants each exclusively: at the
/// same process, one after the other; or at two, both `at_once`.
fn crossed(at_once: bool) -> Vec<Vec<Call>> {
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
        // At once there are too many ways to wait in all of them.
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

/// Two processes under locks of all go from one target to another in opposite orders, while a third wants each alone.
fn locks_of_all_crossed() -> Vec<Vec<Call>> {
    let one = |[first, second]: [u32; 2]| {
        vec![
            buffer(0, [1, 1]),
            lock_all(0),
            operation(Kind::Accumulate, (0, first), 0, 0),
            Call::Flush(0, Some(first), false),
            Call::WaitDone(1),
            operation(Kind::Accumulate, (0, second), 0, 0),
            Close(0),
            WaitClosed(0),
        ]
    };
    let alone = vec![
        buffer(0, [1, 1]),
        lock(0, 1, true),
        operation(Kind::Accumulate, (0, 1), 0, 0),
        Close(0),
        lock(0, 2, true),
        operation(Kind::Accumulate, (1, 2), 0, 0),
        Close(1),
        WaitClosed(0),
        WaitClosed(1),
    ];
    vec![one([1, 2]), one([2, 1]), alone]
}

/// What has been flushed is there: a process that the second window tells so finds it.
fn flushed(of_all: bool) -> Vec<Vec<Call>> {
    let open = if of_all {
        lock_all(0)
    } else {
        lock(0, 1, false)
    };
    let target = (!of_all).then_some(1);
    vec![
        vec![
            buffer(0, [5, 5]),
            open,
            put((0, 1), 0, 0),
            Call::Flush(0, target, true),
            Call::Flush(0, target, false),
            Call::WaitDone(1),
            buffer(0, [6, 6]),
            Call::WaitDone(2),
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
            put((0, 1), 4, 0),
            Close(0),
            WaitClosed(0),
        ],
    ]
}

/// All rows.
pub fn table() -> Vec<Row> {
    let mut rows = sound();
    rows.extend(pairs());
    rows.extend(broken());
    rows
}

fn row(name: impl Into<String>, scripts: Vec<Vec<Call>>, reorder: Reorder, finds: Finds) -> Row {
    Row {
        name: name.into(),
        case: Case {
            scripts,
            reorder,
            flaw: None,
            ends: Vec::new(),
        },
        finds,
    }
}

/// Jobs in which all holds, each without keys and with all.
fn sound() -> Vec<Row> {
    let on_all = vec![vec![fence(0), WaitOpen(0)]; 3];
    [
        ("exchange", exchange()),
        ("ring", ring()),
        ("late origin", late_origin(false)),
        ("late origin and a fence", late_origin(true)),
        ("passed by", passed_by()),
        ("behind a fence", behind_a_fence()),
        ("fences", fences()),
        ("a fence alone", on_all),
        ("fences and a look", fence_and_look()),
        ("locks", locks()),
        ("a lock of one's own", own_lock()),
        ("transactions", transactions(&[2, 1], &[2])),
        ("everyone", everyone()),
        ("two windows", two_windows()),
        ("locks of two windows", crossed(false)),
        ("locks of two windows at once", crossed(true)),
        ("locks of all", locks_of_all_crossed()),
        ("flushed", flushed(false)),
        ("flushed at all", flushed(true)),
        ("gets", gets()),
        ("gets and more", gets_and_more()),
        ("counted", counted()),
        ("granted twice", granted_twice()),
        ("unexposed", unexposed()),
        ("on itself", on_itself()),
    ]
    .into_iter()
    .flat_map(|(name, scripts)| {
        let keys = [("no key", IN_ORDER), ("all keys", ANY_ORDER)];
        keys.map(|(keys, reorder)| {
            let name = format!("{name}, {keys}");
            row(name, scripts.clone(), reorder, Finds::Sound)
        })
    })
    .collect()
}

/// Each kind of epoch behind each other, beside a second window, with keys and without.
fn pairs() -> Vec<Row> {
    let mut rows = Vec::new();
    for (first, second) in Kinds::ALL
        .into_iter()
        .flat_map(|first| Kinds::ALL.map(|second| (first, second)))
    {
        let (scripts, ends) = pair(first, second);
        let keys = [
            ("no key", Some(IN_ORDER)),
            ("its key", first.key(second)),
            ("all keys", Some(ANY_ORDER)),
        ];
        for (keys, reorder) in keys {
            let Some(reorder) = reorder else {
                continue;
            };
            let name = format!("{first:?} and {second:?}, {keys}");
            let mut row = row(name, scripts.clone(), reorder, Finds::Sound);
            row.case.ends = ends.clone();
            rows.push(row);
        }
    }
    rows
}

/// Each rule that is broken, and by what it is found.
fn broken() -> Vec<Row> {
    let of = |first, second| pair(first, second).0;
    let twice = of(Kinds::Exclusive, Kinds::Exclusive);
    [
        (Flaw::DefersWhatIsNested, exchange(), IN_ORDER, END),
        (Flaw::AsksTheLastOnly, passed_by(), ANY_ORDER, BESIDE),
        (Flaw::AsksNone, passed_by(), IN_ORDER, BESIDE),
        (Flaw::DoneBeforeResults, gets(), IN_ORDER, WRONG_BYTES),
        (Flaw::DoneBeforeOperations, counted(), IN_ORDER, WRONG_BYTES),
        (Flaw::CountsForTheNewest, counted(), ANY_ORDER, WRONG_BYTES),
        (
            Flaw::ArrivesUnflushed,
            fence_and_look(),
            IN_ORDER,
            WRONG_BYTES,
        ),
        (Flaw::NeedsNoGrant, unexposed(), IN_ORDER, WRONG_BYTES),
        (Flaw::UnlocksEarly, locks(), IN_ORDER, WRONG_BYTES),
        (Flaw::EndsWithAny, locks(), IN_ORDER, WRONG_BYTES),
        (Flaw::PassesDeferred, behind_a_fence(), ANY_ORDER, BESIDE),
        (Flaw::PassesFences, passed_by(), ANY_ORDER, BESIDE),
        (
            Flaw::PassesAccess,
            of(Kinds::Start, Kinds::Start),
            IN_ORDER,
            BESIDE,
        ),
        (
            Flaw::AccessPassesExposure,
            of(Kinds::Post, Kinds::Start),
            IN_ORDER,
            BESIDE,
        ),
        (
            Flaw::PassesExposure,
            of(Kinds::Post, Kinds::Post),
            IN_ORDER,
            BESIDE,
        ),
        (
            Flaw::ExposurePassesAccess,
            of(Kinds::Start, Kinds::Post),
            IN_ORDER,
            BESIDE,
        ),
        (Flaw::LocksWhatIsAccessed, twice, ANY_ORDER, SENSE),
        (
            Flaw::ExposesWhatIsLocked,
            locked_here(),
            ANY_ORDER,
            WRONG_BYTES,
        ),
        (Flaw::TakesAnyGrant, granted_twice(), ANY_ORDER, WRONG_BYTES),
        (
            Flaw::DonesInAnyOrder,
            gets_and_more(),
            ANY_ORDER,
            WRONG_BYTES,
        ),
        (Flaw::ArrivesAlone, fence_and_look(), IN_ORDER, SENSE),
        (Flaw::QueuesBeside, crossed(false), IN_ORDER, END),
        (Flaw::QueuesBeside, locks_of_all_crossed(), ANY_ORDER, END),
        (Flaw::NeverUrges, crossed(true), IN_ORDER, END),
        (Flaw::MovesUnseen, own_lock(), IN_ORDER, END),
    ]
    .into_iter()
    .map(|(flaw, scripts, reorder, finds)| {
        let mut row = row(format!("{flaw:?}"), scripts, reorder, Finds::Broken(finds));
        row.case.flaw = Some(flaw);
        row
    })
    .collect()
}
