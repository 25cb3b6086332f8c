//! Element operations of one-sided communication (MPI-3.1 section 11.3.4).
#![forbid(unsafe_code)]

use crate::datatype::{Basic, Kind, Number};
use crate::error::Error;
use crate::op::Op;

/// An operation on the elements of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A predefined reduction operation.
    Combine(Op),
    /// MPI_REPLACE.
    Replace,
    /// MPI_NO_OP.
    Nothing,
}

/// Wire codes after those of the reduction operations, which start at 1.
const REPLACE: u8 = Op::ALL.len() as u8 + 1;
const NOTHING: u8 = REPLACE + 1;

impl Operation {
    /// Returns the wire code of the operation.
    pub const fn number(self) -> u8 {
        match self {
            Operation::Combine(op) => op as u8,
            Operation::Replace => REPLACE,
            Operation::Nothing => NOTHING,
        }
    }

    /// Returns the operation with this wire code.
    pub fn of(number: u8) -> Option<Operation> {
        match number {
            REPLACE => Some(Operation::Replace),
            NOTHING => Some(Operation::Nothing),
            _ => {
                let place = usize::from(number).checked_sub(1)?;
                Op::ALL.get(place).copied().map(Operation::Combine)
            }
        }
    }

    /// Checks that the operation is defined for this datatype. Fails with [`Error::Undefined`].
    pub fn check(self, basic: Basic) -> Result<(), Error> {
        match self {
            Operation::Combine(op) if !op.is_defined(basic) => Err(Error::Undefined),
            _ => Ok(()),
        }
    }
}

/// Returns the wire code of a datatype.
pub const fn number_of(basic: Basic) -> u8 {
    basic as u8
}

/// Returns the datatype with this wire code.
pub fn basic_of(number: u8) -> Option<Basic> {
    Basic::ALL.get(usize::from(number).checked_sub(1)?).copied()
}

/// Checks whether a pair is transmitted packed, without the padding after its index. The padding of MPI_SHORT_INT is
/// between its members, and is transmitted.
const fn is_packed(basic: Basic) -> bool {
    basic.size() < basic.extent() && basic.size() == basic.true_extent()
}

/// Returns the transmitted size of an element in bytes. An element is never divided.
pub const fn element_bytes(basic: Basic) -> usize {
    if is_packed(basic) {
        basic.size()
    } else {
        basic.extent()
    }
}

/// Combines pairs without the padding after their indices.
fn combine_packed(op: Op, basic: Basic, origin: &[u8], target: &mut [u8]) -> bool {
    // The largest pair contains a `long double`.
    const MOST: usize = 32;
    let (size, extent) = (basic.size(), basic.extent());
    let mut pairs = origin.chunks(size).zip(target.chunks_mut(size));
    pairs.all(|(origin, target)| {
        let (mut left, mut right) = ([0; MOST], [0; MOST]);
        left[..size].copy_from_slice(origin);
        right[..size].copy_from_slice(target);
        let is_done = op.combine(basic, &left[..extent], &mut right[..extent]);
        target.copy_from_slice(&right[..size]);
        is_done.is_ok()
    })
}

/// Applies an operation to window memory: `target[i] = target[i] op origin[i]`. Returns false for an invalid operation,
/// or if the bytes do not contain complete elements.
pub fn combine(operation: u8, datatype: u8, origin: &[u8], target: &mut [u8]) -> bool {
    let (Some(operation), Some(basic)) = (Operation::of(operation), basic_of(datatype)) else {
        return false;
    };
    if origin.len() != target.len() || !target.len().is_multiple_of(element_bytes(basic)) {
        return false;
    }
    match operation {
        Operation::Combine(op) if is_packed(basic) => combine_packed(op, basic, origin, target),
        Operation::Combine(op) => op.combine(basic, origin, target).is_ok(),
        Operation::Replace => {
            target.copy_from_slice(origin);
            true
        }
        Operation::Nothing => true,
    }
}

/// Checks whether elements of this datatype support compare-and-swap (section 11.3.4): integers, logical values and
/// bytes.
pub fn is_comparable(basic: Basic) -> bool {
    match basic.kind() {
        Kind::Number(Number::Signed(_) | Number::Unsigned(_)) | Kind::Logical | Kind::Bits => true,
        Kind::Number(_) | Kind::Complex(_) => false,
        Kind::Located(_) | Kind::Twin(_) | Kind::Opaque => false,
    }
}

/// Returns the pair type of this value type and an index.
fn pair_of(value: u8) -> Option<Basic> {
    match basic_of(value)? {
        Basic::Short => Some(Basic::ShortInt),
        Basic::Float => Some(Basic::FloatInt),
        Basic::Double => Some(Basic::DoubleInt),
        Basic::Long => Some(Basic::LongInt),
        Basic::LongDouble => Some(Basic::LongDoubleInt),
        _ => None,
    }
}

/// Returns the pair type with two members of this value type.
fn twin_of(value: Basic) -> Option<Basic> {
    match value {
        Basic::Int => Some(Basic::TwoInt),
        Basic::Float => Some(Basic::TwoReal),
        Basic::Double => Some(Basic::TwoDoublePrecision),
        _ => None,
    }
}

/// Returns the datatype that the operation applies to elements of a predefined datatype, consistent with [`only_basic`]
/// for derived ones: if nothing is combined, a pair of two numbers of the same type is handled as two numbers.
pub fn parts_of(operation: Operation, basic: Basic) -> Basic {
    match (operation, basic) {
        (Operation::Combine(_), _) => basic,
        (_, Basic::TwoInt) => Basic::Int,
        (_, Basic::TwoReal) => Basic::Float,
        (_, Basic::TwoDoublePrecision) => Basic::Double,
        _ => basic,
    }
}

fn is_on_pairs(operation: Operation) -> bool {
    matches!(operation, Operation::Combine(Op::MinLoc | Op::MaxLoc))
}

/// Returns the predefined datatype that a derived one with these leaf tags consists of; `None` if it is not unique. For
/// operations on pairs, two numbers of the same type form one pair.
pub fn only_basic(operation: Operation, tags: impl Iterator<Item = u8>) -> Option<Basic> {
    let (mut first, mut others) = (None, None);
    for tag in tags {
        match first {
            None => first = Some(tag),
            Some(first) if first == tag => {}
            _ if others.is_none_or(|other| other == tag) => others = Some(tag),
            _ => return None,
        }
    }
    let int = number_of(Basic::Int);
    match (first?, others) {
        (tag, None) if is_on_pairs(operation) => {
            basic_of(tag).map(|basic| twin_of(basic).unwrap_or(basic))
        }
        (tag, None) => basic_of(tag),
        (tag, Some(other)) if other == int => pair_of(tag),
        (tag, Some(other)) if tag == int => pair_of(other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_and_datatype_has_its_number() {
        for number in 0..=u8::MAX {
            if let Some(operation) = Operation::of(number) {
                assert_eq!(operation.number(), number);
            }
            if let Some(basic) = basic_of(number) {
                assert_eq!(number_of(basic), number);
            }
        }
        assert_eq!(Operation::of(0), None);
        assert_eq!(Operation::of(NOTHING + 1), None);
        assert_eq!((1..=40).filter_map(basic_of).count(), Basic::ALL.len());
    }

    #[test]
    fn elements_are_combined_replaced_or_left() {
        let int = number_of(Basic::Int);
        let (three, four) = (3i32.to_ne_bytes(), 4i32.to_ne_bytes());
        for (operation, result) in [
            (Operation::Combine(Op::Sum), 7i32),
            (Operation::Combine(Op::Max), 4),
            (Operation::Replace, 3),
            (Operation::Nothing, 4),
        ] {
            let mut target = four;
            assert!(combine(operation.number(), int, &three, &mut target));
            assert_eq!(i32::from_ne_bytes(target), result);
        }
    }

    #[test]
    fn pairs_travel_without_the_hole_behind_them() {
        let pair =
            |value: f64, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
        let max = Operation::Combine(Op::MaxLoc).number();
        let origin = [pair(3.0, 5), pair(1.0, 6)].concat();
        let mut target = [pair(3.0, 7), pair(2.0, 8)].concat();
        let double_int = number_of(Basic::DoubleInt);
        assert_eq!(element_bytes(Basic::DoubleInt), 12);
        assert!(combine(max, double_int, &origin, &mut target));
        assert_eq!(target, [pair(3.0, 5), pair(2.0, 8)].concat());
        assert!(!combine(max, double_int, &origin[..16], &mut target[..16]));
        assert_eq!(element_bytes(Basic::ShortInt), Basic::ShortInt.extent());
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let (int, sum) = (number_of(Basic::Int), Operation::Combine(Op::Sum).number());
        let mut target = [1u8; 6];
        assert!(!combine(sum, int, &[1; 6], &mut target), "no whole element");
        assert!(
            !combine(sum, int, &[1; 2], &mut target[..4]),
            "other length"
        );
        assert!(!combine(0, int, &[1; 4], &mut target[..4]));
        assert!(!combine(sum, 0, &[1; 4], &mut target[..4]));
        let packed = number_of(Basic::Packed);
        assert!(
            !combine(sum, packed, &[1; 4], &mut target[..4]),
            "undefined"
        );
        assert_eq!(target, [1; 6]);
        let char = number_of(Basic::Char);
        assert!(combine(sum, char, &[1; 6], &mut target), "a number here");
        assert_eq!(target, [2; 6]);
    }

    #[test]
    fn derived_datatypes_are_of_one_predefined_one() {
        let tags = |basics: &[Basic]| basics.iter().map(|b| number_of(*b)).collect::<Vec<_>>();
        let sum = Operation::Combine(Op::Sum);
        let minloc = Operation::Combine(Op::MinLoc);
        let found = |operation, basics: &[Basic]| only_basic(operation, tags(basics).into_iter());
        assert_eq!(found(sum, &[Basic::Int, Basic::Int]), Some(Basic::Int));
        for (value, pair) in [
            (Basic::Int, Basic::TwoInt),
            (Basic::Float, Basic::TwoReal),
            (Basic::Double, Basic::TwoDoublePrecision),
        ] {
            assert_eq!(found(minloc, &[value]), Some(pair));
            assert_eq!(found(sum, &[value]), Some(value));
            assert_eq!(parts_of(minloc, pair), pair);
            assert_eq!(parts_of(sum, pair), pair, "not defined");
            assert_eq!(parts_of(Operation::Replace, pair), value);
        }
        let pair = [Basic::Float, Basic::Int];
        assert_eq!(found(minloc, &pair), Some(Basic::FloatInt));
        for (value, pair) in [
            (Basic::Double, Some(Basic::DoubleInt)),
            (Basic::Long, Some(Basic::LongInt)),
            (Basic::LongDouble, Some(Basic::LongDoubleInt)),
            (Basic::Short, Some(Basic::ShortInt)),
            (Basic::Int8, None),
        ] {
            assert_eq!(found(minloc, &[value, Basic::Int]), pair);
        }
        assert_eq!(found(sum, &[Basic::Double, Basic::Int, Basic::Float]), None);
        assert_eq!(found(sum, &[]), None);
    }
}
