//! Every pair of consecutive epoch kinds.

use midplane_device::rma::epochs::ReorderFlags;

use super::calls::{self, buffer, fence, lock, lock_all, post, start};
use super::row::{ANY_ORDER, CaseRow, IN_ORDER, RequiredResult, row};
use crate::epochs::memory::WINDOW;
use crate::epochs::script::ScriptCall::{self, Close, WaitClosed};

/// Required bytes at the end: process, address, bytes.
type FinalBytes = Vec<(usize, usize, [u8; 2])>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EpochKinds {
    Fence,
    Post,
    Start,
    Shared,
    Exclusive,
    LockAll,
}

impl EpochKinds {
    const ALL: [EpochKinds; 6] = [
        EpochKinds::Fence,
        EpochKinds::Post,
        EpochKinds::Start,
        EpochKinds::Shared,
        EpochKinds::Exclusive,
        EpochKinds::LockAll,
    ];

    /// Returns the call that opens it at process 0, with process 1.
    fn open(self) -> ScriptCall {
        match self {
            EpochKinds::Fence => fence(0),
            EpochKinds::Post => post(0, &[1]),
            EpochKinds::Start => start(0, &[1]),
            EpochKinds::Shared => lock(0, 1, false),
            EpochKinds::Exclusive => lock(0, 1, true),
            EpochKinds::LockAll => lock_all(0),
        }
    }

    /// Returns the matching opening call of process 1.
    fn open_there(self) -> Option<ScriptCall> {
        match self {
            EpochKinds::Fence => Some(fence(0)),
            EpochKinds::Post => Some(start(0, &[0])),
            EpochKinds::Start => Some(post(0, &[0])),
            _ => None,
        }
    }

    /// Returns the key that permits an epoch of kind `next` to overtake one of this kind.
    fn key(self, next: EpochKinds) -> Option<ReorderFlags> {
        let is_alone = |kind| matches!(kind, EpochKinds::Fence | EpochKinds::LockAll);
        if is_alone(self) || is_alone(next) {
            return None;
        }
        let mut keys = IN_ORDER;
        *match (self == EpochKinds::Post, next == EpochKinds::Post) {
            (false, false) => &mut keys.access_after_access,
            (true, false) => &mut keys.access_after_exposure,
            (true, true) => &mut keys.exposure_after_exposure,
            (false, true) => &mut keys.exposure_after_access,
        } = true;
        Some(keys)
    }
}

/// Returns two consecutive epochs of one process with another in one window, and the required bytes at the end. Between
/// them the process opens an epoch in a second window, whose lock a third process requests, too, unless there is a
/// fence.
pub(super) fn pair(first: EpochKinds, second: EpochKinds) -> (Vec<Vec<ScriptCall>>, FinalBytes) {
    let mut ends = vec![(2, WINDOW, [3, 3])];
    let mut here = vec![buffer(0, [1, 1]), buffer(1, [2, 2]), buffer(2, [3, 3])];
    let (mut there, mut other) = (vec![buffer(0, [7, 7])], Vec::new());
    let mut opened = [0; 3];
    let mut open = |rank: usize, call: ScriptCall, put: Option<(u32, usize, usize)>| {
        let mut calls = vec![call];
        let epoch = opened[rank];
        calls.extend(put.map(|(target, at, from)| calls::put(epoch, target, at, from)));
        calls.push(Close(epoch));
        opened[rank] += 1;
        calls
    };
    for (number, kind) in [first, second].into_iter().enumerate() {
        let puts = (kind != EpochKinds::Post).then_some((1, 4 * number, number));
        here.extend(open(0, kind.open(), puts));
        if number == 0 {
            here.extend(open(0, lock(1, 2, false), Some((2, 0, 2))));
        }
        let puts = (kind == EpochKinds::Post).then_some((0, 4 * number, 0));
        there.extend(kind.open_there().map(|call| open(1, call, puts)).into_iter().flatten());
        if kind == EpochKinds::Fence {
            other.extend(open(2, fence(0), None));
        }
        ends.push(match kind {
            EpochKinds::Post => (0, 4 * number, [7, 7]),
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

/// Returns every pair of consecutive kinds, concurrent with a second window, with keys and without.
pub(super) fn pairs() -> Vec<CaseRow> {
    let mut rows = Vec::new();
    for (first, second) in EpochKinds::ALL
        .into_iter()
        .flat_map(|first| EpochKinds::ALL.map(|second| (first, second)))
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
            let mut row = row(name, scripts.clone(), reorder, RequiredResult::Sound);
            row.case.ends = ends.clone();
            rows.push(row);
        }
    }
    rows
}
