//! Collectives of a random program: each process's input and required result.
//!
//! They use a separate random stream, so that they do not change the messages of a seed. All processes of a
//! communicator start its collectives in one order, as MPI requires; a wait follows the starts of all of them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::envelope::{Context, Rank};
use midplane_objects::coll::sim_driver::{CollectiveKind, CommView};

use super::op::{OpEvent, RankOp};

/// A communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommGroup {
    /// Its processes; for an intercommunicator, the first group before the second.
    pub list: &'static [Rank],
    /// Size of the first group, for an intercommunicator.
    pub first: Option<u32>,
    /// Context of its messages; the next one is that of its collectives.
    pub context: Context,
}

/// A collective, identified by its index in [`super::RankPrograms::collectives`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    /// Its communicator.
    pub group: CommGroup,
    /// Its sequence number in the communicator.
    pub number: u32,
    /// Kind of operation.
    pub what: CollectiveKind,
    /// Elements of a part.
    pub elements: usize,
    /// The result replaces the input, where that is allowed.
    pub in_place: bool,
    /// Elements may be combined in any order.
    pub commute: bool,
}

/// First context of a communicator with random collectives; the others follow.
const FIRST_CONTEXT: Context = 10;
/// Numbers of elements of a part: none, one, few, a message that is long in total, more than a segment of a reduction.
const ELEMENTS: [usize; 6] = [0, 1, 1, 3, 40, 200];

/// An element is a function x -> ax + b, in 32 bits: combination is composition, associative but not commutative.
pub const ELEMENT: usize = 8;

fn words(element: &[u8]) -> [u32; 2] {
    let word = |at: usize| u32::from_le_bytes(element[at..at + 4].try_into().expect("four bytes"));
    [word(0), word(4)]
}

/// `right[i] = left[i] + right[i]`, word by word: the commutative operation.
fn add(left: &[u8], right: &mut [u8]) {
    for (left, right) in left.chunks(ELEMENT).zip(right.chunks_mut(ELEMENT)) {
        let ([a, b], [c, d]) = (words(left), words(right));
        right[..4].copy_from_slice(&a.wrapping_add(c).to_le_bytes());
        right[4..].copy_from_slice(&b.wrapping_add(d).to_le_bytes());
    }
}

/// `right[i] = left[i] op right[i]`: applies the left function, then the right one.
pub fn combine(left: &[u8], right: &mut [u8]) {
    for (left, right) in left.chunks(ELEMENT).zip(right.chunks_mut(ELEMENT)) {
        let ([a, b], [c, d]) = (words(left), words(right));
        let both = [c.wrapping_mul(a), c.wrapping_mul(b).wrapping_add(d)];
        right[..4].copy_from_slice(&both[0].to_le_bytes());
        right[4..].copy_from_slice(&both[1].to_le_bytes());
    }
}

/// Returns a static copy of a list, shared by equal lists.
pub(crate) fn intern_list(list: Vec<Rank>) -> &'static [Rank] {
    static LISTS: OnceLock<Mutex<HashMap<Vec<Rank>, &'static [Rank]>>> = OnceLock::new();
    let lists = LISTS.get_or_init(Mutex::default);
    let mut lists = lists.lock().expect("no holder panics");
    lists
        .entry(list)
        .or_insert_with_key(|list| Box::leak(list.clone().into_boxed_slice()))
}

/// Draws the collectives of a program of `ranks` ranks, and their starts and waits.
pub(super) fn draw(ranks: u32, seed: u64) -> (Vec<CollectiveCall>, Vec<OpEvent>) {
    let mut random = Random::new(seed, RandomStream::Collectives);
    let r = &mut random;
    let (mut collectives, mut events) = (Vec::new(), Vec::new());
    for nth in 0..r.pick(&[0, 0, 1, 1, 2]) {
        let group = CommGroup::draw(ranks, FIRST_CONTEXT + 2 * nth, r);
        let count = 1 + r.index(3);
        let mut times: Vec<f64> = (0..=count).map(|_| 2.0 * r.part()).collect();
        times.sort_by(f64::total_cmp);
        for number in 0..count {
            let at = collectives.len() as u32;
            let (from, until) = (times[number], times[number + 1]);
            collectives.push(CollectiveCall::draw(&group, number as u32, r));
            for &rank in group.list {
                let event = |time, op| OpEvent { time, rank, op };
                let start = from + (until - from) * r.part();
                events.push(event(start, RankOp::Collective(at)));
                // The others are completed by the final MPI_Waitall.
                if r.chance(0.6) {
                    let end = until + r.pick(&[0.0, 0.1, 1.0]) * r.part();
                    events.push(event(end, RankOp::WaitCollective(at)));
                }
            }
        }
    }
    // A separate random stream, so that it does not change the collectives of a seed.
    let mut random = Random::new(seed, RandomStream::Operations);
    for collective in &mut collectives {
        collective.commute = random.chance(0.5);
    }
    (collectives, events)
}

impl CommGroup {
    fn draw(ranks: u32, context: Context, r: &mut Random) -> CommGroup {
        let mut list: Vec<Rank> = (0..ranks).map(Rank::new).collect();
        if r.chance(0.5) {
            r.shuffle(&mut list);
            list.truncate(1 + r.index(ranks as usize));
        }
        let size = list.len() as u32;
        let first = (size > 1 && r.chance(0.5)).then(|| 1 + r.below(size - 1));
        let list = intern_list(list);
        CommGroup { list, first, context }
    }

    /// Returns this rank's view of the group.
    pub fn among(&self, rank: Rank) -> CommView {
        let place = self.list.iter().position(|member| *member == rank);
        CommView {
            list: self.list,
            first: self.first,
            place: place.expect("a member") as u32,
            context: self.context,
        }
    }

    /// Returns the group of a process and the group that it exchanges with, which are the same in a communicator.
    fn sides(&self, place: u32) -> [Range<u32>; 2] {
        let size = self.list.len() as u32;
        match self.first {
            None => [0..size, 0..size],
            Some(first) if place < first => [0..first, first..size],
            Some(first) => [first..size, 0..first],
        }
    }
}

/// Buffers of a process.
pub struct ProcessBuffers {
    /// Contents of the send buffer.
    pub given: Vec<u8>,
    /// Required contents of the send buffer afterwards.
    pub left: Vec<u8>,
    /// Required contents of the receive buffer; `None`: the same buffer.
    pub taken: Option<Vec<u8>>,
    /// Size of a part in bytes.
    pub each: usize,
}

/// Initial contents of a receive buffer.
const UNTOUCHED: u8 = super::memory::UNTOUCHED;

impl CollectiveCall {
    fn draw(group: &CommGroup, number: u32, r: &mut Random) -> CollectiveCall {
        let root = r.index(group.list.len()) as u32;
        let what = match r.below(10) {
            0 => CollectiveKind::Barrier,
            1 => CollectiveKind::Bcast { root },
            2 => CollectiveKind::Gather { root },
            3 => CollectiveKind::Scatter { root },
            4 => CollectiveKind::Allgather,
            5 => CollectiveKind::Alltoall,
            6 => CollectiveKind::Reduce { root },
            7 => CollectiveKind::ReduceScatter,
            8 if group.first.is_none() => CollectiveKind::Scan,
            _ => CollectiveKind::Allreduce,
        };
        let may_be_in_place = match what {
            CollectiveKind::Alltoall | CollectiveKind::Allreduce | CollectiveKind::Scan => group.first.is_none(),
            _ => false,
        };
        CollectiveCall {
            group: group.clone(),
            number,
            what,
            elements: r.pick(&ELEMENTS),
            in_place: r.chance(0.3) && may_be_in_place,
            commute: false,
        }
    }

    /// Returns the operation: `right[i] = left[i] op right[i]`.
    pub fn combine(&self) -> fn(&[u8], &mut [u8]) {
        if self.commute { add } else { combine }
    }

    /// Returns element `at` of the input of the process with index `place`.
    fn element(&self, place: u32, at: usize) -> [u8; ELEMENT] {
        let salt = u32::from(self.group.context) * 64 + self.number;
        let word = |salt: u32| {
            let mut word = (at as u32).wrapping_mul(0x9E37_79B9) ^ salt.wrapping_mul(0x85EB_CA6B);
            word = (word ^ (place + 1).wrapping_mul(0xC2B2_AE35)).wrapping_mul(0x27D4_EB2F);
            word ^ word >> 15
        };
        let mut element = [0; ELEMENT];
        element[..4].copy_from_slice(&(word(salt) | 1).to_le_bytes());
        element[4..].copy_from_slice(&word(!salt).to_le_bytes());
        element
    }

    /// Returns `count` elements, starting at `from`, of the input of the process with index `place`.
    fn row(&self, place: u32, from: usize, count: usize) -> Vec<u8> {
        let elements = from..from + count;
        elements.flat_map(|at| self.element(place, at)).collect()
    }

    /// Returns the combination of these elements of all these processes.
    fn combined(&self, places: Range<u32>, from: usize, count: usize) -> Vec<u8> {
        let mut rows = places.map(|place| self.row(place, from, count));
        let mut all = rows.next().expect("a process");
        for mut row in rows {
            self.combine()(&all, &mut row);
            all = row;
        }
        all
    }

    /// Returns the buffers of the process with index `place`.
    pub fn part(&self, place: u32) -> ProcessBuffers {
        let e = self.elements;
        let [own, others] = self.group.sides(place);
        let (at, count) = ((place - own.start) as usize, others.len());
        // Whether the root is in the other group; always true within one group.
        let faces = |root: u32| others.contains(&root);
        let rows = |places: Range<u32>, from: usize| {
            let row = |place| self.row(place, from, e);
            places.flat_map(row).collect::<Vec<u8>>()
        };
        let (give, take) = match self.what {
            CollectiveKind::Barrier => (0, Vec::new()),
            CollectiveKind::Bcast { root } => return self.part_of_bcast(place, root, faces(root)),
            CollectiveKind::Gather { root } if place == root => {
                let own = if faces(root) { e } else { 0 };
                (own, rows(others, 0))
            }
            CollectiveKind::Scatter { root } if place == root => {
                let own = if faces(root) { e } else { 0 };
                (e * count, self.row(root, at * e, own))
            }
            CollectiveKind::Gather { root } => (if faces(root) { e } else { 0 }, Vec::new()),
            CollectiveKind::Scatter { root } => {
                let own = if faces(root) { e } else { 0 };
                (0, self.row(root, at * e, own))
            }
            CollectiveKind::Allgather => (e, rows(others, 0)),
            CollectiveKind::Alltoall => (e * count, rows(others, at * e)),
            CollectiveKind::Reduce { root } if place == root => {
                let own = if faces(root) { e } else { 0 };
                (own, self.combined(others, 0, e))
            }
            CollectiveKind::Reduce { root } => (if faces(root) { e } else { 0 }, Vec::new()),
            CollectiveKind::Allreduce => (e, self.combined(others, 0, e)),
            CollectiveKind::Scan => (e, self.combined(0..place + 1, 0, e)),
            CollectiveKind::ReduceScatter => {
                // A number of elements that both groups can divide.
                let each = self.part_elements(place);
                let share = if self.group.first.is_some() { e * count } else { e };
                (each * count, self.combined(others, at * share, share))
            }
        };
        let given = self.row(place, 0, give);
        let each = self.part_elements(place) * ELEMENT;
        if self.in_place {
            ProcessBuffers {
                given,
                left: take,
                taken: None,
                each,
            }
        } else {
            ProcessBuffers {
                left: given.clone(),
                given,
                taken: Some(take),
                each,
            }
        }
    }

    /// Returns the number of elements exchanged with each process.
    fn part_elements(&self, place: u32) -> usize {
        let [own, _] = self.group.sides(place);
        match self.what {
            CollectiveKind::ReduceScatter if self.group.first.is_some() => self.elements * own.len(),
            _ => self.elements,
        }
    }

    fn part_of_bcast(&self, place: u32, root: u32, faces: bool) -> ProcessBuffers {
        let each = self.elements * ELEMENT;
        let own = self.row(root, 0, self.elements);
        let untouched = vec![UNTOUCHED; each];
        let is_root = place == root;
        ProcessBuffers {
            given: if is_root { own.clone() } else { untouched.clone() },
            left: if is_root || faces { own } else { untouched },
            taken: None,
            each,
        }
    }

    /// Returns the approximate number of bytes and messages.
    pub fn traffic(&self) -> (usize, u64) {
        let size = self.group.list.len();
        let rounds = (size * size) as u64 * (2 + (self.elements * ELEMENT / 1024) as u64);
        (self.elements * ELEMENT * size * size, rounds)
    }
}
