//! Cases with fences, posts and starts (active target).

use midplane_device::rma::wire::PacketKind;

use super::calls::{buffer, fence, finds, has, long_get, operation, post, put, start};
use crate::epochs::script::ScriptCall::{self, Close, WaitClosed, WaitOpen};

/// Two processes that post to each other, start, complete and wait, twice; all waits are at the end.
pub(super) fn exchange() -> Vec<Vec<ScriptCall>> {
    let one = |other: u32, mine: u8, theirs: u8| {
        vec![
            buffer(0, [mine, 1]),
            buffer(1, [mine, 2]),
            post(0, &[other]),
            start(0, &[other]),
            put(1, other, 0, 0),
            Close(1),
            Close(0),
            post(0, &[other]),
            start(0, &[other]),
            put(3, other, 4, 1),
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

pub(super) fn ring() -> Vec<Vec<ScriptCall>> {
    let one = |rank: u32| {
        let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);
        vec![
            buffer(0, [rank as u8, 9]),
            post(0, &[left]),
            start(0, &[right]),
            put(1, right, 0, 0),
            Close(1),
            Close(0),
            WaitClosed(0),
            has(0, 0, [left as u8, 9]),
            WaitClosed(1),
        ]
    };
    vec![one(0), one(1), one(2)]
}

/// A target with two exposures, each to one of two origins, the first of them late; a fence at the end if `with_fence`.
pub(super) fn late_origin(with_fence: bool) -> Vec<Vec<ScriptCall>> {
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
            ScriptCall::Compute(1),
            start(0, &[0]),
            put(0, 0, 0, 0),
            Close(0),
        ],
        vec![buffer(0, [2, 2]), start(0, &[0]), put(0, 0, 4, 0), Close(0)],
    ];
    if with_fence {
        for script in &mut scripts {
            let epochs = script
                .iter()
                .filter(|call| matches!(call, ScriptCall::Open(..)))
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

/// An exposure with a late origin, a later access that overtakes it, and then a fence, which must not.
pub(super) fn passed_by() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            buffer(0, [7, 7]),
            post(0, &[1]),
            Close(0),
            start(0, &[2]),
            put(1, 2, 0, 0),
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

/// An access after an exposure and a fence that waits for the exposure's late origin.
pub(super) fn behind_a_fence() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            buffer(0, [7, 7]),
            post(0, &[1]),
            Close(0),
            fence(0),
            Close(1),
            start(0, &[2]),
            put(2, 2, 0, 0),
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

/// Three fences, between which a process writes to the next and reads its own data back.
pub(super) fn fences() -> Vec<Vec<ScriptCall>> {
    let comes = || vec![fence(0), Close(0), fence(0), Close(1), fence(0), Close(2), WaitOpen(2)];
    let mut scripts = vec![
        vec![
            buffer(0, [5, 3]),
            fence(0),
            put(0, 1, 0, 0),
            Close(0),
            fence(0),
            operation(PacketKind::Get, 1, 1, 0, 1),
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

/// A fence that one process has completed while another still writes: no write follows it.
pub(super) fn fence_and_look() -> Vec<Vec<ScriptCall>> {
    let comes = || vec![fence(0), Close(0), fence(0), Close(1), WaitOpen(1)];
    let mut scripts = vec![
        comes(),
        vec![
            buffer(0, [1, 1]),
            fence(0),
            put(0, 2, 0, 0),
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

/// One origin with two epochs for one target that exposes itself twice; the results of the first are gets.
pub(super) fn gets() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            ScriptCall::Write(0, vec![6, 6]),
            post(0, &[1]),
            Close(0),
            WaitClosed(0),
            // The origin's get is complete.
            ScriptCall::Write(0, vec![9, 9]),
        ],
        vec![
            start(0, &[0]),
            long_get(0, 0, 0, 0),
            Close(0),
            WaitClosed(0),
            finds(0, [6, 6]),
        ],
        vec![],
    ]
}

/// [`gets`], followed by an access that need not wait.
pub(super) fn gets_and_more() -> Vec<Vec<ScriptCall>> {
    let mut scripts = gets();
    scripts[0].extend([post(0, &[1]), Close(1), WaitClosed(1)]);
    scripts[1].splice(3..3, [start(0, &[0]), Close(1)]);
    scripts
}

/// A target with two exposures, to both others and to one of them again, whose second exposure ends first.
pub(super) fn counted() -> Vec<Vec<ScriptCall>> {
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
            put(0, 0, 0, 0),
            Close(0),
            start(0, &[0]),
            put(1, 0, 8, 1),
            Close(1),
            WaitClosed(1),
        ],
        vec![buffer(0, [2, 2]), start(0, &[0]), put(0, 0, 4, 0), Close(0)],
    ]
}

/// Two accesses to one target, which exposes itself twice, and checks its memory between the two.
pub(super) fn granted_twice() -> Vec<Vec<ScriptCall>> {
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
            long_get(0, 0, 32, 1),
            Close(0),
            start(0, &[0]),
            put(1, 0, 0, 0),
            Close(1),
            WaitClosed(1),
        ],
        vec![],
    ]
}

/// A target that checks its memory before it exposes it.
pub(super) fn unexposed() -> Vec<Vec<ScriptCall>> {
    vec![
        vec![
            ScriptCall::Compute(2),
            has(0, 0, [0, 0]),
            post(0, &[1]),
            Close(0),
            WaitClosed(0),
            has(0, 0, [1, 1]),
        ],
        vec![
            buffer(0, [1, 1]),
            start(0, &[0]),
            put(0, 0, 0, 0),
            Close(0),
            WaitClosed(0),
        ],
        vec![],
    ]
}
