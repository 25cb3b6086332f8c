//! Datatypes of a rank: size, extent and type signature (MPI-3.1 section 4.1) of each handle, at each call.

use crate::job::{Call, DatatypeRecord, Event, RankTrace};
use crate::objects::handle_name;
use std::collections::HashMap;
use std::rc::Rc;

/// Handle of MPI_PACKED, which matches every signature (MPI-3.1 section 3.3.1).
const PACKED: i64 = 0x207;
/// Handles of MPI_LB and MPI_UB, which are no data.
const MARKERS: [i64; 2] = [0x2f0, 0x2f1];
/// Maximum number of runs of a signature. A longer one is not compared.
const MAX_RUNS: usize = 4096;

/// Elements of the same predefined datatype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignatureRun {
    /// Handle of the predefined datatype.
    pub datatype: i64,
    /// Number of elements.
    pub count: u64,
}

/// Predefined datatypes of the elements, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signature {
    runs: Vec<SignatureRun>,
}

impl Signature {
    fn push(&mut self, run: SignatureRun) {
        match self.runs.last_mut() {
            _ if run.count == 0 || MARKERS.contains(&run.datatype) => {}
            Some(last) if last.datatype == run.datatype => last.count = last.count.saturating_add(run.count),
            _ => self.runs.push(run),
        }
    }

    /// Returns the signature of several elements. `None` for too many runs.
    #[must_use]
    pub fn repeat(&self, count: u64) -> Option<Signature> {
        let mut repeated = Signature::default();
        if let [run] = self.runs[..] {
            repeated.push(SignatureRun {
                count: run.count.checked_mul(count)?,
                ..run
            });
            return Some(repeated);
        }
        if (self.runs.len() as u64).checked_mul(count)? > MAX_RUNS as u64 {
            return None;
        }
        for _ in 0..count {
            repeated.extend(self);
        }
        Some(repeated)
    }

    fn extend(&mut self, other: &Signature) {
        for run in &other.runs {
            self.push(*run);
        }
    }

    /// Finds the first difference from the elements of a receive, which may be more.
    #[must_use]
    pub fn difference(&self, receive: &Signature) -> Option<SignatureDifference> {
        let is_packed = |signature: &Signature| signature.runs.iter().any(|run| run.datatype == PACKED);
        if is_packed(self) || is_packed(receive) {
            return None;
        }
        let (mut sent, mut received) = (self.runs.iter().copied(), receive.runs.iter().copied());
        let (mut left, mut right) = (sent.next(), received.next());
        let mut element = 0;
        loop {
            let (one, other) = match (left, right) {
                (None, _) => return None,
                (Some(_), None) => return Some(SignatureDifference::Longer { elements: element }),
                (Some(one), Some(other)) => (one, other),
            };
            if one.datatype != other.datatype {
                return Some(SignatureDifference::Element {
                    index: element,
                    sent: one.datatype,
                    received: other.datatype,
                });
            }
            let common = one.count.min(other.count);
            element = element.saturating_add(common);
            let rest = |run: SignatureRun| {
                let count = run.count - common;
                (count > 0).then_some(SignatureRun { count, ..run })
            };
            left = rest(one).or_else(|| sent.next());
            right = rest(other).or_else(|| received.next());
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.count))
    }
}

/// First difference of two signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureDifference {
    /// An element has another datatype.
    Element {
        /// Index of the element.
        index: u64,
        /// Handle of the sent datatype.
        sent: i64,
        /// Handle of the received one.
        received: i64,
    },
    /// The message has more elements than the receive.
    Longer {
        /// Number of elements of the receive.
        elements: u64,
    },
}

/// A datatype.
#[derive(Clone, Debug)]
pub struct Datatype {
    /// Sizes in bytes.
    pub sizes: DatatypeRecord,
    /// Signature; `None` for one that is too long.
    pub signature: Option<Rc<Signature>>,
    /// Index of the call that has created it; `None` for a predefined one.
    pub created: Option<usize>,
}

impl Datatype {
    /// Checks that elements have no gaps inside, and none between them if there are several.
    #[must_use]
    pub fn is_contiguous(&self, count: i64) -> bool {
        self.sizes.size == self.sizes.true_extent && (count <= 1 || self.sizes.size == self.sizes.extent)
    }
}

/// Datatypes of a rank, by handle and call.
#[derive(Clone, Debug, Default)]
pub struct RankDatatypes {
    /// Datatypes that a handle has identified, each with the index of the call that has created it.
    by_handle: HashMap<i64, Vec<Datatype>>,
}

impl RankDatatypes {
    /// Collects the datatypes of a rank.
    #[must_use]
    pub fn collect(trace: &RankTrace) -> Self {
        let mut datatypes = Self::default();
        let mut last = None;
        for event in &trace.events {
            match event {
                Event::Leave(index) => last = Some(*index),
                Event::Datatype(sizes) => {
                    if let Some(index) = last {
                        let signature = datatypes.signature(index, &trace.calls[index], sizes).map(Rc::new);
                        let list = datatypes.by_handle.entry(sizes.handle).or_default();
                        list.push(Datatype {
                            sizes: *sizes,
                            signature,
                            created: Some(index),
                        });
                    }
                }
                _ => {}
            }
        }
        datatypes
    }

    /// Returns the datatype that a handle identifies in a call. `None` for an invalid handle.
    #[must_use]
    pub fn get(&self, handle: i64, call: usize) -> Option<Datatype> {
        let created = self.by_handle.get(&handle);
        let created = created.and_then(|list| list.iter().rev().find(|datatype| datatype.created < Some(call)));
        created.cloned().or_else(|| predefined(handle))
    }

    /// Returns the signature of elements in a call.
    #[must_use]
    pub fn signature_of(&self, handle: i64, count: i64, call: usize) -> Option<Signature> {
        let count = u64::try_from(count).ok()?;
        self.get(handle, call)?.signature?.repeat(count)
    }

    /// Returns the signature of a datatype that a call has created.
    fn signature(&self, index: usize, call: &Call, sizes: &DatatypeRecord) -> Option<Signature> {
        let types = call.input_list("array_of_types");
        if !types.is_empty() {
            let mut signature = Signature::default();
            for (handle, length) in types.iter().zip(call.input_list("array_of_blocklengths")) {
                if !MARKERS.contains(handle) {
                    signature.extend(&self.signature_of(*handle, *length, index)?);
                }
            }
            return Some(signature);
        }
        // All other constructors repeat one datatype.
        let old = call.try_input("oldtype").or_else(|| call.try_input("datatype"))?;
        let old = self.get(old, index)?;
        let count = match old.sizes.size {
            0 => 0,
            size => u64::try_from(sizes.size / size).ok()?,
        };
        old.signature?.repeat(count)
    }
}

/// Handles and sizes in bytes of the predefined datatypes, ordered by handle.
const PREDEFINED_SIZES: [(i64, i64); 65] = [
    (0x200, 0),
    (0x201, 8),
    (0x202, 8),
    (0x203, 8),
    (0x207, 1),
    (0x208, 2),
    (0x209, 4),
    (0x20a, 8),
    (0x20b, 8),
    (0x20c, 2),
    (0x20d, 4),
    (0x20e, 8),
    (0x20f, 8),
    (0x210, 4),
    (0x212, 8),
    (0x213, 8),
    (0x214, 8),
    (0x216, 16),
    (0x217, 16),
    (0x218, 4),
    (0x219, 4),
    (0x21a, 4),
    (0x21b, 8),
    (0x21c, 8),
    (0x21d, 16),
    (0x21e, 1),
    (0x220, 16),
    (0x224, 32),
    (0x225, 32),
    (0x228, 8),
    (0x229, 12),
    (0x22a, 12),
    (0x22b, 8),
    (0x22c, 6),
    (0x22d, 20),
    (0x230, 8),
    (0x231, 16),
    (0x232, 8),
    (0x238, 1),
    (0x239, 1),
    (0x23c, 4),
    (0x240, 1),
    (0x241, 1),
    (0x243, 1),
    (0x244, 1),
    (0x245, 1),
    (0x247, 1),
    (0x248, 2),
    (0x249, 2),
    (0x250, 4),
    (0x251, 4),
    (0x258, 8),
    (0x259, 8),
    (0x2c0, 1),
    (0x2c1, 1),
    (0x2c8, 2),
    (0x2c9, 2),
    (0x2d0, 4),
    (0x2d1, 4),
    (0x2d2, 4),
    (0x2d8, 8),
    (0x2d9, 8),
    (0x2da, 8),
    (0x2db, 8),
    (0x2e3, 16),
];

fn predefined(handle: i64) -> Option<Datatype> {
    let at = PREDEFINED_SIZES
        .binary_search_by_key(&handle, |(known, _)| *known)
        .ok()?;
    let (_, size) = PREDEFINED_SIZES[at];
    let run = SignatureRun {
        datatype: handle,
        count: 1,
    };
    Some(Datatype {
        sizes: DatatypeRecord {
            handle,
            size,
            lower: 0,
            extent: size,
            true_lower: 0,
            true_extent: size,
        },
        signature: Some(Rc::new(Signature { runs: vec![run] })),
        created: None,
    })
}

/// Returns the name of a predefined datatype, by the definitions of mpi.h.
#[must_use]
pub fn name(handle: i64) -> String {
    let name = handle_name("MPI_Datatype", handle);
    name.unwrap_or("a datatype of the program").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: i64 = 0x209;
    const DOUBLE: i64 = 0x214;

    fn signature(runs: &[(i64, u64)]) -> Signature {
        let runs = runs.iter().map(|&(datatype, count)| SignatureRun { datatype, count });
        Signature { runs: runs.collect() }
    }

    #[test]
    fn a_receive_may_be_longer_but_not_different() {
        let (int, double) = (INT, DOUBLE);
        let sent = signature(&[(int, 2), (double, 1)]);
        assert_eq!(sent.difference(&signature(&[(int, 2), (double, 5)])), None);
        assert_eq!(
            sent.difference(&signature(&[(int, 3)])),
            Some(SignatureDifference::Element {
                index: 2,
                sent: double,
                received: int
            })
        );
        assert_eq!(
            sent.difference(&signature(&[(int, 2)])),
            Some(SignatureDifference::Longer { elements: 2 })
        );
        assert_eq!(sent.difference(&signature(&[(PACKED, 9)])), None);
    }

    #[test]
    fn runs_are_merged() {
        let int = INT;
        assert_eq!(signature(&[(int, 3)]).repeat(4), Some(signature(&[(int, 12)])));
        let mixed = signature(&[(int, 1), (int + 1, 1)]);
        assert_eq!(mixed.repeat(2).unwrap().elements(), 4);
        assert_eq!(mixed.repeat(1 << 40), None);
    }

    #[test]
    fn predefined_datatypes_have_names() {
        assert_eq!(name(INT), "MPI_INT");
        assert_eq!(predefined(DOUBLE).unwrap().sizes.size, 8);
    }
}
