//! Reduction operations on the bytes of a datatype (MPI-3.1 sections 5.9.2 and 5.9.4).
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::ffi::c_int;
use core::ops::{Add, Mul};

use rustc_apfloat::ieee::{Quad, X87DoubleExtended};

use crate::datatype::{BasicType, ElementKind, LONG_DOUBLE, LongDouble, NumericType};

/// A predefined operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PredefinedOp {
    /// Maximum.
    Max = 1,
    /// Minimum.
    Min,
    /// Sum; integers wrap around.
    Sum,
    /// Product; integers wrap around.
    Prod,
    /// Logical and.
    Land,
    /// Bitwise and.
    Band,
    /// Logical or.
    Lor,
    /// Bitwise or.
    Bor,
    /// Logical exclusive or.
    Lxor,
    /// Bitwise exclusive or.
    Bxor,
    /// Minimum and its index; the lower index among equal values.
    MinLoc,
    /// Maximum and its index; the lower index among equal values.
    MaxLoc,
}

/// The operation is not defined for the datatype (MPI-3.1 section 5.9.2): MPI_ERR_OP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndefinedOp;

impl PredefinedOp {
    /// All operations, ordered by discriminant.
    pub const ALL: [PredefinedOp; 12] = {
        use PredefinedOp::*;
        [Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor, MinLoc, MaxLoc]
    };

    /// Returns the handle in `mpi.h` (MPI-5.0 chapter 20).
    pub const fn handle(self) -> c_int {
        match self {
            PredefinedOp::Max => 0x23,
            PredefinedOp::Min => 0x22,
            PredefinedOp::Sum => 0x21,
            PredefinedOp::Prod => 0x24,
            PredefinedOp::Land => 0x30,
            PredefinedOp::Band => 0x28,
            PredefinedOp::Lor => 0x31,
            PredefinedOp::Bor => 0x29,
            PredefinedOp::Lxor => 0x32,
            PredefinedOp::Bxor => 0x2a,
            PredefinedOp::MinLoc => 0x38,
            PredefinedOp::MaxLoc => 0x39,
        }
    }

    /// Checks whether the operation is defined for `basic`.
    pub const fn is_defined(self, basic: BasicType) -> bool {
        use PredefinedOp::*;
        match basic.kind() {
            ElementKind::Number(NumericType::Signed(_) | NumericType::Unsigned(_)) => !matches!(self, MinLoc | MaxLoc),
            // The standard defines logical operations for integers only; other MPI libraries support them for all
            // numbers.
            ElementKind::Number(_) => matches!(self, Max | Min | Sum | Prod | Land | Lor | Lxor),
            ElementKind::Logical => matches!(self, Land | Lor | Lxor),
            ElementKind::Bits => matches!(self, Band | Bor | Bxor),
            ElementKind::Complex(_) => matches!(self, Sum | Prod),
            ElementKind::Located(_) | ElementKind::Twin(_) => matches!(self, MinLoc | MaxLoc),
            ElementKind::Opaque => false,
        }
    }

    /// Combines element by element: `right[i] = left[i] op right[i]`, for the complete elements that both contain.
    /// `left` contains the operand of the lower ranks. Neither must be aligned.
    pub fn combine(self, basic: BasicType, left: &[u8], right: &mut [u8]) -> Result<(), UndefinedOp> {
        if !self.is_defined(basic) {
            return Err(UndefinedOp);
        }
        match basic.kind() {
            ElementKind::Number(number) => numbers(self, number, left, right),
            ElementKind::Bits => numbers(self, NumericType::Unsigned(1), left, right),
            ElementKind::Logical => truths(self, left, right),
            ElementKind::Complex(number) => complex_numbers(self, number, left, right),
            ElementKind::Located(number) => {
                let index = NumericType::Signed(size_of::<c_int>());
                located(self, basic, number, index, left, right);
            }
            ElementKind::Twin(number) => located(self, basic, number, number, left, right),
            ElementKind::Opaque => {}
        }
        Ok(())
    }
}

fn numbers(op: PredefinedOp, number: NumericType, left: &[u8], right: &mut [u8]) {
    macro_rules! with {
        ($combine:ident, $t:ty) => {
            $combine(op, <$t>::from_ne_bytes, <$t>::to_ne_bytes, left, right)
        };
    }
    match number {
        NumericType::Signed(1) => with!(integers, i8),
        NumericType::Signed(2) => with!(integers, i16),
        NumericType::Signed(4) => with!(integers, i32),
        NumericType::Signed(_) => with!(integers, i64),
        NumericType::Unsigned(1) => with!(integers, u8),
        NumericType::Unsigned(2) => with!(integers, u16),
        NumericType::Unsigned(4) => with!(integers, u32),
        NumericType::Unsigned(_) => with!(integers, u64),
        NumericType::Float => with!(reals, f32),
        NumericType::Double => with!(reals, f64),
        NumericType::LongDouble => match LONG_DOUBLE {
            LongDouble::Double => with!(reals, f64),
            LongDouble::Quad => with!(reals, WideFloat<Quad>),
            LongDouble::Extended => with!(reals, WideFloat<X87DoubleExtended>),
        },
    }
}

/// Combines complex numbers with parts of the specified type.
fn complex_numbers(op: PredefinedOp, part: NumericType, left: &[u8], right: &mut [u8]) {
    macro_rules! with {
        ($t:ty) => {
            complexes(op, <$t>::from_ne_bytes, <$t>::to_ne_bytes, left, right)
        };
    }
    match (part, LONG_DOUBLE) {
        (NumericType::Float, _) => with!(f32),
        (NumericType::LongDouble, LongDouble::Quad) => with!(WideFloat<Quad>),
        (NumericType::LongDouble, LongDouble::Extended) => with!(WideFloat<X87DoubleExtended>),
        _ => with!(f64),
    }
}

/// Replaces each element of `right` by `f` of the elements of `left` and `right`.
fn zip<const N: usize>(left: &[u8], right: &mut [u8], mut f: impl FnMut([u8; N], [u8; N]) -> [u8; N]) {
    for (a, b) in left.as_chunks::<N>().0.iter().zip(right.as_chunks_mut::<N>().0) {
        *b = f(*a, *b);
    }
}

/// An integer with the operations that the reductions use.
trait IntegerElement: Copy + Ord + Default + From<bool> {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn truth(self) -> bool {
        self != Self::default()
    }
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl IntegerElement for $t {
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
        }
    )*};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);

fn integers<T: IntegerElement, const N: usize>(
    op: PredefinedOp,
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    left: &[u8],
    right: &mut [u8],
) {
    zip(left, right, |a, b| {
        let (a, b) = (read(a), read(b));
        write(match op {
            PredefinedOp::Max => a.max(b),
            PredefinedOp::Min => a.min(b),
            PredefinedOp::Sum => a.sum(b),
            PredefinedOp::Prod => a.product(b),
            PredefinedOp::Land => (a.truth() && b.truth()).into(),
            PredefinedOp::Lor => (a.truth() || b.truth()).into(),
            PredefinedOp::Lxor => (a.truth() != b.truth()).into(),
            PredefinedOp::Band => a.and(b),
            PredefinedOp::Bor => a.or(b),
            PredefinedOp::Bxor => a.xor(b),
            PredefinedOp::MinLoc | PredefinedOp::MaxLoc => b,
        })
    });
}

/// A floating-point number with the operations that the reductions use.
trait RealElement: Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> {
    /// Returns 1 for true and 0 for false.
    fn truth(value: bool) -> Self;
}

impl RealElement for f32 {
    fn truth(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl RealElement for f64 {
    fn truth(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl<F: rustc_apfloat::Float> RealElement for WideFloat<F> {
    fn truth(value: bool) -> Self {
        WideFloat(F::from_u128(value.into()).value)
    }
}

fn reals<T: RealElement, const N: usize>(
    op: PredefinedOp,
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    left: &[u8],
    right: &mut [u8],
) {
    let is_true = |number: T| number != T::truth(false);
    zip(left, right, |a, b| {
        let (a, b) = (read(a), read(b));
        write(match op {
            PredefinedOp::Sum => a + b,
            PredefinedOp::Prod => a * b,
            PredefinedOp::Max if a > b => a,
            PredefinedOp::Min if a < b => a,
            PredefinedOp::Land => T::truth(is_true(a) && is_true(b)),
            PredefinedOp::Lor => T::truth(is_true(a) || is_true(b)),
            PredefinedOp::Lxor => T::truth(is_true(a) != is_true(b)),
            _ => b,
        })
    });
}

fn truths(op: PredefinedOp, left: &[u8], right: &mut [u8]) {
    zip(left, right, |[a], [b]| {
        let (a, b) = (a != 0, b != 0);
        [u8::from(match op {
            PredefinedOp::Land => a && b,
            PredefinedOp::Lor => a || b,
            _ => a != b,
        })]
    });
}

fn complexes<T: Copy + Add<Output = T> + Mul<Output = T> + core::ops::Neg<Output = T>, const N: usize>(
    op: PredefinedOp,
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    left: &[u8],
    right: &mut [u8],
) {
    let pairs = left
        .as_chunks::<N>()
        .0
        .chunks_exact(2)
        .zip(right.as_chunks_mut::<N>().0.chunks_exact_mut(2));
    for (a, b) in pairs {
        let (ar, ai, br, bi) = (read(a[0]), read(a[1]), read(b[0]), read(b[1]));
        let (real, imaginary) = if op == PredefinedOp::Sum {
            (ar + br, ai + bi)
        } else {
            (ar * br + -(ai * bi), ar * bi + ai * br)
        };
        b[0] = write(real);
        b[1] = write(imaginary);
    }
}

/// Combines pairs of a value and an index of the specified types. The index ends at the pair's true extent.
fn located(op: PredefinedOp, basic: BasicType, value: NumericType, index: NumericType, left: &[u8], right: &mut [u8]) {
    let end = basic.true_extent();
    let (values, indices) = (..value.size(), end - index.size()..end);
    for (a, b) in left
        .chunks_exact(basic.extent())
        .zip(right.chunks_exact_mut(basic.extent()))
    {
        let wins = match compare(value, &a[values], &b[values]) {
            Some(Ordering::Equal) => compare(index, &a[indices.clone()], &b[indices.clone()]) == Some(Ordering::Less),
            Some(Ordering::Less) => op == PredefinedOp::MinLoc,
            Some(Ordering::Greater) => op == PredefinedOp::MaxLoc,
            None => false,
        };
        if wins {
            b.copy_from_slice(a);
        }
    }
}

/// Compares two numbers. Returns `None` if one is a NaN.
fn compare(number: NumericType, a: &[u8], b: &[u8]) -> Option<Ordering> {
    fn by<T: PartialOrd, const N: usize>(read: fn([u8; N]) -> T, a: &[u8], b: &[u8]) -> Option<Ordering> {
        read(*a.first_chunk()?).partial_cmp(&read(*b.first_chunk()?))
    }
    match number {
        NumericType::Signed(2) => by(i16::from_ne_bytes, a, b),
        NumericType::Signed(4) => by(i32::from_ne_bytes, a, b),
        NumericType::Signed(8) => by(i64::from_ne_bytes, a, b),
        NumericType::Float => by(f32::from_ne_bytes, a, b),
        NumericType::Double => by(f64::from_ne_bytes, a, b),
        NumericType::LongDouble => match LONG_DOUBLE {
            LongDouble::Double => by(f64::from_ne_bytes, a, b),
            LongDouble::Quad => by(WideFloat::<Quad>::from_ne_bytes, a, b),
            LongDouble::Extended => by(WideFloat::<X87DoubleExtended>::from_ne_bytes, a, b),
        },
        NumericType::Signed(_) | NumericType::Unsigned(_) => None,
    }
}

/// A `long double` without hardware support or without a Rust type.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct WideFloat<F>(F);

impl<F: rustc_apfloat::Float> WideFloat<F> {
    fn from_ne_bytes(bytes: [u8; 16]) -> Self {
        let bits = u128::from_ne_bytes(bytes);
        WideFloat(F::from_bits(if F::BITS < 128 {
            bits & ((1 << F::BITS) - 1)
        } else {
            bits
        }))
    }

    fn to_ne_bytes(self) -> [u8; 16] {
        self.0.to_bits().to_ne_bytes()
    }
}

impl<F: rustc_apfloat::Float> Add for WideFloat<F> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        WideFloat((self.0 + other.0).value)
    }
}

impl<F: rustc_apfloat::Float> Mul for WideFloat<F> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        WideFloat((self.0 * other.0).value)
    }
}

impl<F: rustc_apfloat::Float> core::ops::Neg for WideFloat<F> {
    type Output = Self;
    fn neg(self) -> Self {
        WideFloat(-self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<const N: usize>(op: PredefinedOp, basic: BasicType, left: [u8; N], right: [u8; N]) -> [u8; N] {
        let mut out = right;
        op.combine(basic, &left, &mut out).expect("defined");
        out
    }

    #[test]
    fn discriminants_count_up_from_one_as_the_handles_do() {
        for (i, op) in PredefinedOp::ALL.iter().enumerate() {
            assert_eq!(*op as usize, i + 1);
        }
    }

    #[test]
    fn whole_numbers_wrap_and_keep_their_sign() {
        let sum = run(
            PredefinedOp::Sum,
            BasicType::Int,
            i32::MAX.to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(i32::from_ne_bytes(sum), i32::MIN);
        let max = run(
            PredefinedOp::Max,
            BasicType::Int,
            (-1i32).to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(i32::from_ne_bytes(max), 1);
        let max = run(
            PredefinedOp::Max,
            BasicType::Unsigned,
            (-1i32).to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(u32::from_ne_bytes(max), u32::MAX);
        let lxor = run(
            PredefinedOp::Lxor,
            BasicType::Short,
            4i16.to_ne_bytes(),
            2i16.to_ne_bytes(),
        );
        assert_eq!(i16::from_ne_bytes(lxor), 0, "both are true");
    }

    #[test]
    fn complex_products_turn() {
        let i = [0.0f64, 1.0];
        let bytes: [u8; 16] = bytemuck::cast(i);
        let square: [f64; 2] = bytemuck::cast(run(PredefinedOp::Prod, BasicType::DoubleComplex, bytes, bytes));
        assert_eq!(square, [-1.0, 0.0]);
    }

    #[test]
    fn a_location_keeps_the_lower_index_of_equal_values() {
        let pair = |value: i32, index: i32| -> [u8; 8] { bytemuck::cast([value, index]) };
        assert_eq!(
            run(PredefinedOp::MinLoc, BasicType::TwoInt, pair(3, 7), pair(3, 5)),
            pair(3, 5)
        );
        assert_eq!(
            run(PredefinedOp::MaxLoc, BasicType::TwoInt, pair(3, 4), pair(3, 5)),
            pair(3, 4)
        );
        assert_eq!(
            run(PredefinedOp::MaxLoc, BasicType::TwoInt, pair(9, 8), pair(3, 5)),
            pair(9, 8)
        );
        assert_eq!(
            run(PredefinedOp::MinLoc, BasicType::TwoInt, pair(9, 1), pair(3, 5)),
            pair(3, 5)
        );
    }

    #[test]
    fn an_index_is_read_where_it_stands() {
        let pair = |value: i16, hole: u8, index: i32| -> [u8; 8] {
            let mut bytes = [hole; 8];
            bytes[..2].copy_from_slice(&value.to_ne_bytes());
            bytes[4..].copy_from_slice(&index.to_ne_bytes());
            bytes
        };
        let (low, high) = (pair(3, 9, 5), pair(3, 0, 0x8000));
        for op in [PredefinedOp::MinLoc, PredefinedOp::MaxLoc] {
            assert_eq!(run(op, BasicType::ShortInt, low, high), low);
            assert_eq!(run(op, BasicType::ShortInt, high, low), low);
        }
    }

    #[test]
    fn fortrans_pairs_have_indices_of_the_values_kind() {
        let pair = |value: f32, index: f32| -> [u8; 8] { bytemuck::cast([value, index]) };
        for (op, left, right, result) in [
            (PredefinedOp::MinLoc, pair(3.0, 7.0), pair(3.0, 5.5), pair(3.0, 5.5)),
            (PredefinedOp::MaxLoc, pair(3.0, -4.0), pair(3.0, 5.0), pair(3.0, -4.0)),
            (PredefinedOp::MaxLoc, pair(9.0, 8.0), pair(3.0, 5.0), pair(9.0, 8.0)),
        ] {
            assert_eq!(run(op, BasicType::TwoReal, left, right), result);
        }
        let pair = |value: f64, index: f64| -> [u8; 16] { bytemuck::cast([value, index]) };
        assert_eq!(
            run(
                PredefinedOp::MinLoc,
                BasicType::TwoDoublePrecision,
                pair(1.0, 2.0),
                pair(1.0, 1.0)
            ),
            pair(1.0, 1.0)
        );
        assert!(!PredefinedOp::Sum.is_defined(BasicType::TwoReal));
    }

    #[test]
    fn characters_and_truths_of_reals_combine_as_in_other_mpis() {
        assert_eq!(run(PredefinedOp::Sum, BasicType::Char, [3], [4]), [7]);
        for (left, right, [and, or, xor]) in [
            (0.0, 2.5, [0.0, 1.0, 1.0]),
            (-1.0, 2.5, [1.0, 1.0, 0.0]),
            (0.0, -0.0, [0.0, 0.0, 0.0]),
        ] {
            for (op, wanted) in [
                (PredefinedOp::Land, and),
                (PredefinedOp::Lor, or),
                (PredefinedOp::Lxor, xor),
            ] {
                let of = |number: f64| {
                    let quad: [u8; 16] = WideFloat(number.to_string().parse::<Quad>().expect("a number")).to_ne_bytes();
                    (number.to_ne_bytes(), (number as f32).to_ne_bytes(), quad)
                };
                let (a, mut b, want) = (of(left), of(right), of(wanted));
                assert_eq!(run(op, BasicType::Double, a.0, b.0), want.0);
                assert_eq!(run(op, BasicType::Float, a.1, b.1), want.1);
                reals(
                    op,
                    WideFloat::<Quad>::from_ne_bytes,
                    WideFloat::to_ne_bytes,
                    &a.2,
                    &mut b.2,
                );
                assert_eq!(b.2, want.2);
            }
        }
    }

    #[test]
    fn wide_floats_add_multiply_and_compare() {
        let wide = |value: &str| WideFloat(value.parse::<Quad>().expect("a number"));
        let third = wide("1.5") * wide("4.25") + wide("-0.375");
        assert!(third == wide("6.0") && third < wide("6.0000000000000000001"));
        assert!(WideFloat::<Quad>::from_ne_bytes(third.to_ne_bytes()) == third);
        let x87 = WideFloat("0.1".parse::<X87DoubleExtended>().expect("a number"));
        let mut padded = x87.to_ne_bytes();
        padded[15] = 0xee;
        assert!(
            WideFloat::<X87DoubleExtended>::from_ne_bytes(padded) == x87,
            "padding does not count"
        );
    }

    #[test]
    fn every_undefined_pair_is_refused_and_changes_nothing() {
        let mut refused = 0;
        for op in PredefinedOp::ALL {
            for basic in BasicType::ALL {
                let (left, mut right) = ([1u8; 64], [2u8; 64]);
                let result = op.combine(basic, &left, &mut right);
                assert_eq!(result.is_ok(), op.is_defined(basic));
                if result.is_err() {
                    refused += 1;
                    assert_eq!(right, [2; 64]);
                }
            }
        }
        assert!(refused > 0);
        assert!(!PredefinedOp::Band.is_defined(BasicType::Double) && !PredefinedOp::Sum.is_defined(BasicType::Wchar));
    }
}
