//! Element operations of one-sided communication (MPI-3.1 section 11.3.4).
#![forbid(unsafe_code)]

use crate::datatype::{BasicType, ElementKind, NumericType};
use crate::error::Error;
use crate::op::PredefinedOp;

/// An operation on the elements of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaOperation {
    /// A predefined reduction operation.
    Combine(PredefinedOp),
    /// MPI_REPLACE.
    Replace,
    /// MPI_NO_OP.
    NoOp,
}

/// Wire codes after those of the reduction operations, which start at 1.
const REPLACE: u8 = PredefinedOp::ALL.len() as u8 + 1;
const NO_OP: u8 = REPLACE + 1;

impl RmaOperation {
    /// Returns the wire code of the operation.
    pub const fn number(self) -> u8 {
        match self {
            RmaOperation::Combine(op) => op as u8,
            RmaOperation::Replace => REPLACE,
            RmaOperation::NoOp => NO_OP,
        }
    }

    /// Returns the operation with this wire code.
    pub fn from_number(number: u8) -> Option<RmaOperation> {
        match number {
            REPLACE => Some(RmaOperation::Replace),
            NO_OP => Some(RmaOperation::NoOp),
            _ => {
                let place = usize::from(number).checked_sub(1)?;
                PredefinedOp::ALL.get(place).copied().map(RmaOperation::Combine)
            }
        }
    }

    /// Checks that the operation is defined for this datatype. Fails with [`Error::Undefined`].
    pub fn check(self, basic: BasicType) -> Result<(), Error> {
        match self {
            RmaOperation::Combine(op) if !op.is_defined(basic) => Err(Error::Undefined),
            _ => Ok(()),
        }
    }
}

/// Returns the wire code of a datatype.
pub const fn number_of(basic: BasicType) -> u8 {
    basic as u8
}

/// Returns the datatype with this wire code.
pub fn basic_of(number: u8) -> Option<BasicType> {
    BasicType::ALL.get(usize::from(number).checked_sub(1)?).copied()
}

/// Checks whether a pair is transmitted packed, without the padding after its index. The padding of MPI_SHORT_INT is
/// between its members, and is transmitted.
const fn is_packed(basic: BasicType) -> bool {
    basic.size() < basic.extent() && basic.size() == basic.true_extent()
}

/// Returns the transmitted size of an element in bytes. An element is never divided.
pub const fn element_bytes(basic: BasicType) -> usize {
    if is_packed(basic) { basic.size() } else { basic.extent() }
}

/// Combines pairs without the padding after their indices.
fn combine_packed(op: PredefinedOp, basic: BasicType, origin: &[u8], target: &mut [u8]) -> bool {
    // The largest pair contains a `long double`.
    const MAX: usize = 32;
    let (size, extent) = (basic.size(), basic.extent());
    let mut pairs = origin.chunks(size).zip(target.chunks_mut(size));
    pairs.all(|(origin, target)| {
        let (mut left, mut right) = ([0; MAX], [0; MAX]);
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
    let (Some(operation), Some(basic)) = (RmaOperation::from_number(operation), basic_of(datatype)) else {
        return false;
    };
    if origin.len() != target.len() || !target.len().is_multiple_of(element_bytes(basic)) {
        return false;
    }
    match operation {
        RmaOperation::Combine(op) if is_packed(basic) => combine_packed(op, basic, origin, target),
        RmaOperation::Combine(op) => op.combine(basic, origin, target).is_ok(),
        RmaOperation::Replace => {
            target.copy_from_slice(origin);
            true
        }
        RmaOperation::NoOp => true,
    }
}

/// Checks whether elements of this datatype support compare-and-swap (section 11.3.4): integers, logical values and
/// bytes.
pub fn is_comparable(basic: BasicType) -> bool {
    match basic.kind() {
        ElementKind::Number(NumericType::Signed(_) | NumericType::Unsigned(_))
        | ElementKind::Logical
        | ElementKind::Bits => true,
        ElementKind::Number(_) | ElementKind::Complex(_) => false,
        ElementKind::Located(_) | ElementKind::Twin(_) | ElementKind::Opaque => false,
    }
}

/// Returns the pair type of this value type and an index.
fn pair_of(value: u8) -> Option<BasicType> {
    match basic_of(value)? {
        BasicType::Short => Some(BasicType::ShortInt),
        BasicType::Float => Some(BasicType::FloatInt),
        BasicType::Double => Some(BasicType::DoubleInt),
        BasicType::Long => Some(BasicType::LongInt),
        BasicType::LongDouble => Some(BasicType::LongDoubleInt),
        _ => None,
    }
}

/// Returns the pair type with two members of this value type.
fn twin_of(value: BasicType) -> Option<BasicType> {
    match value {
        BasicType::Int => Some(BasicType::TwoInt),
        BasicType::Float => Some(BasicType::TwoReal),
        BasicType::Double => Some(BasicType::TwoDoublePrecision),
        _ => None,
    }
}

/// Returns the datatype that the operation applies to elements of a predefined datatype, consistent with [`only_basic`]
/// for derived ones: if nothing is combined, a pair of two numbers of the same type is handled as two numbers.
pub fn parts_of(operation: RmaOperation, basic: BasicType) -> BasicType {
    match (operation, basic) {
        (RmaOperation::Combine(_), _) => basic,
        (_, BasicType::TwoInt) => BasicType::Int,
        (_, BasicType::TwoReal) => BasicType::Float,
        (_, BasicType::TwoDoublePrecision) => BasicType::Double,
        _ => basic,
    }
}

fn is_on_pairs(operation: RmaOperation) -> bool {
    matches!(
        operation,
        RmaOperation::Combine(PredefinedOp::MinLoc | PredefinedOp::MaxLoc)
    )
}

/// Returns the predefined datatype that a derived one with these leaf tags consists of; `None` if it is not unique. For
/// operations on pairs, two numbers of the same type form one pair.
pub fn only_basic(operation: RmaOperation, tags: impl Iterator<Item = u8>) -> Option<BasicType> {
    let (mut first, mut others) = (None, None);
    for tag in tags {
        match first {
            None => first = Some(tag),
            Some(first) if first == tag => {}
            _ if others.is_none_or(|other| other == tag) => others = Some(tag),
            _ => return None,
        }
    }
    let int = number_of(BasicType::Int);
    match (first?, others) {
        (tag, None) if is_on_pairs(operation) => basic_of(tag).map(|basic| twin_of(basic).unwrap_or(basic)),
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
            if let Some(operation) = RmaOperation::from_number(number) {
                assert_eq!(operation.number(), number);
            }
            if let Some(basic) = basic_of(number) {
                assert_eq!(number_of(basic), number);
            }
        }
        assert_eq!(RmaOperation::from_number(0), None);
        assert_eq!(RmaOperation::from_number(NO_OP + 1), None);
        assert_eq!((1..=40).filter_map(basic_of).count(), BasicType::ALL.len());
    }

    #[test]
    fn elements_are_combined_replaced_or_left() {
        let int = number_of(BasicType::Int);
        let (three, four) = (3i32.to_ne_bytes(), 4i32.to_ne_bytes());
        for (operation, result) in [
            (RmaOperation::Combine(PredefinedOp::Sum), 7i32),
            (RmaOperation::Combine(PredefinedOp::Max), 4),
            (RmaOperation::Replace, 3),
            (RmaOperation::NoOp, 4),
        ] {
            let mut target = four;
            assert!(combine(operation.number(), int, &three, &mut target));
            assert_eq!(i32::from_ne_bytes(target), result);
        }
    }

    #[test]
    fn pairs_travel_without_the_hole_behind_them() {
        let pair = |value: f64, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
        let max = RmaOperation::Combine(PredefinedOp::MaxLoc).number();
        let origin = [pair(3.0, 5), pair(1.0, 6)].concat();
        let mut target = [pair(3.0, 7), pair(2.0, 8)].concat();
        let double_int = number_of(BasicType::DoubleInt);
        assert_eq!(element_bytes(BasicType::DoubleInt), 12);
        assert!(combine(max, double_int, &origin, &mut target));
        assert_eq!(target, [pair(3.0, 5), pair(2.0, 8)].concat());
        assert!(!combine(max, double_int, &origin[..16], &mut target[..16]));
        assert_eq!(element_bytes(BasicType::ShortInt), BasicType::ShortInt.extent());
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let (int, sum) = (
            number_of(BasicType::Int),
            RmaOperation::Combine(PredefinedOp::Sum).number(),
        );
        let mut target = [1u8; 6];
        assert!(!combine(sum, int, &[1; 6], &mut target), "no whole element");
        assert!(!combine(sum, int, &[1; 2], &mut target[..4]), "other length");
        assert!(!combine(0, int, &[1; 4], &mut target[..4]));
        assert!(!combine(sum, 0, &[1; 4], &mut target[..4]));
        let packed = number_of(BasicType::Packed);
        assert!(!combine(sum, packed, &[1; 4], &mut target[..4]), "undefined");
        assert_eq!(target, [1; 6]);
        let char = number_of(BasicType::Char);
        assert!(combine(sum, char, &[1; 6], &mut target), "a number here");
        assert_eq!(target, [2; 6]);
    }

    #[test]
    fn derived_datatypes_are_of_one_predefined_one() {
        let tags = |basics: &[BasicType]| basics.iter().map(|b| number_of(*b)).collect::<Vec<_>>();
        let sum = RmaOperation::Combine(PredefinedOp::Sum);
        let minloc = RmaOperation::Combine(PredefinedOp::MinLoc);
        let found = |operation, basics: &[BasicType]| only_basic(operation, tags(basics).into_iter());
        assert_eq!(found(sum, &[BasicType::Int, BasicType::Int]), Some(BasicType::Int));
        for (value, pair) in [
            (BasicType::Int, BasicType::TwoInt),
            (BasicType::Float, BasicType::TwoReal),
            (BasicType::Double, BasicType::TwoDoublePrecision),
        ] {
            assert_eq!(found(minloc, &[value]), Some(pair));
            assert_eq!(found(sum, &[value]), Some(value));
            assert_eq!(parts_of(minloc, pair), pair);
            assert_eq!(parts_of(sum, pair), pair, "not defined");
            assert_eq!(parts_of(RmaOperation::Replace, pair), value);
        }
        let pair = [BasicType::Float, BasicType::Int];
        assert_eq!(found(minloc, &pair), Some(BasicType::FloatInt));
        for (value, pair) in [
            (BasicType::Double, Some(BasicType::DoubleInt)),
            (BasicType::Long, Some(BasicType::LongInt)),
            (BasicType::LongDouble, Some(BasicType::LongDoubleInt)),
            (BasicType::Short, Some(BasicType::ShortInt)),
            (BasicType::Int8, None),
        ] {
            assert_eq!(found(minloc, &[value, BasicType::Int]), pair);
        }
        assert_eq!(found(sum, &[BasicType::Double, BasicType::Int, BasicType::Float]), None);
        assert_eq!(found(sum, &[]), None);
    }
}
