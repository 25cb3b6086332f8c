//! Reduction operations on the bytes of a datatype (MPI-3.1 sections 5.9.2 and 5.9.4).
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::ffi::c_int;
use core::ops::{Add, Mul};

use rustc_apfloat::ieee::{Quad, X87DoubleExtended};

use crate::datatype::{Basic, Kind, LONG_DOUBLE, LongDouble, Number};

/// A predefined operation. The discriminants are the low bits of the handles in `mpi.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Op {
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
pub struct Undefined;

impl Op {
    /// All operations, ordered by discriminant.
    pub const ALL: [Op; 12] = {
        use Op::*;
        [
            Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor, MinLoc, MaxLoc,
        ]
    };

    /// Checks whether the operation is defined for `basic`.
    pub const fn is_defined(self, basic: Basic) -> bool {
        use Op::*;
        match basic.kind() {
            Kind::Number(Number::Signed(_) | Number::Unsigned(_)) => {
                !matches!(self, MinLoc | MaxLoc)
            }
            // The standard defines logical operations for integers only; other MPI libraries support them for all
            // numbers.
            Kind::Number(_) => matches!(self, Max | Min | Sum | Prod | Land | Lor | Lxor),
            Kind::Logical => matches!(self, Land | Lor | Lxor),
            Kind::Bits => matches!(self, Band | Bor | Bxor),
            Kind::Complex(_) => matches!(self, Sum | Prod),
            Kind::Located(_) | Kind::Twin(_) => matches!(self, MinLoc | MaxLoc),
            Kind::Opaque => false,
        }
    }

    /// Combines element by element: `right[i] = left[i] op right[i]`, for the complete elements that both contain.
    /// `left` contains the operand of the lower ranks. Neither must be aligned.
    pub fn combine(self, basic: Basic, left: &[u8], right: &mut [u8]) -> Result<(), Undefined> {
        if !self.is_defined(basic) {
            return Err(Undefined);
        }
        match basic.kind() {
            Kind::Number(number) => numbers(self, number, left, right),
            Kind::Bits => numbers(self, Number::Unsigned(1), left, right),
            Kind::Logical => truths(self, left, right),
            Kind::Complex(number) => complex_numbers(self, number, left, right),
            Kind::Located(number) => {
                let index = Number::Signed(size_of::<c_int>());
                located(self, basic, (number, index), left, right);
            }
            Kind::Twin(number) => located(self, basic, (number, number), left, right),
            Kind::Opaque => {}
        }
        Ok(())
    }
}

fn numbers(op: Op, number: Number, left: &[u8], right: &mut [u8]) {
    macro_rules! with {
        ($combine:ident, $t:ty) => {
            $combine(op, <$t>::from_ne_bytes, <$t>::to_ne_bytes, left, right)
        };
    }
    match number {
        Number::Signed(1) => with!(integers, i8),
        Number::Signed(2) => with!(integers, i16),
        Number::Signed(4) => with!(integers, i32),
        Number::Signed(_) => with!(integers, i64),
        Number::Unsigned(1) => with!(integers, u8),
        Number::Unsigned(2) => with!(integers, u16),
        Number::Unsigned(4) => with!(integers, u32),
        Number::Unsigned(_) => with!(integers, u64),
        Number::Float => with!(reals, f32),
        Number::Double => with!(reals, f64),
        Number::LongDouble => match LONG_DOUBLE {
            LongDouble::Double => with!(reals, f64),
            LongDouble::Quad => with!(reals, Wide<Quad>),
            LongDouble::Extended => with!(reals, Wide<X87DoubleExtended>),
        },
    }
}

/// Combines complex numbers with parts of the specified type.
fn complex_numbers(op: Op, part: Number, left: &[u8], right: &mut [u8]) {
    macro_rules! with {
        ($t:ty) => {
            complexes(op, <$t>::from_ne_bytes, <$t>::to_ne_bytes, left, right)
        };
    }
    match (part, LONG_DOUBLE) {
        (Number::Float, _) => with!(f32),
        (Number::LongDouble, LongDouble::Quad) => with!(Wide<Quad>),
        (Number::LongDouble, LongDouble::Extended) => with!(Wide<X87DoubleExtended>),
        _ => with!(f64),
    }
}

/// Replaces each element of `right` by `f` of the elements of `left` and `right`.
fn zip<const N: usize>(
    left: &[u8],
    right: &mut [u8],
    mut f: impl FnMut([u8; N], [u8; N]) -> [u8; N],
) {
    for (a, b) in left
        .as_chunks::<N>()
        .0
        .iter()
        .zip(right.as_chunks_mut::<N>().0)
    {
        *b = f(*a, *b);
    }
}

/// An integer with the operations that the reductions use.
trait Integer: Copy + Ord + Default + From<bool> {
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
        impl Integer for $t {
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
        }
    )*};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);

fn integers<T: Integer, const N: usize>(
    op: Op,
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    left: &[u8],
    right: &mut [u8],
) {
    zip(left, right, |a, b| {
        let (a, b) = (read(a), read(b));
        write(match op {
            Op::Max => a.max(b),
            Op::Min => a.min(b),
            Op::Sum => a.sum(b),
            Op::Prod => a.product(b),
            Op::Land => (a.truth() && b.truth()).into(),
            Op::Lor => (a.truth() || b.truth()).into(),
            Op::Lxor => (a.truth() != b.truth()).into(),
            Op::Band => a.and(b),
            Op::Bor => a.or(b),
            Op::Bxor => a.xor(b),
            Op::MinLoc | Op::MaxLoc => b,
        })
    });
}

/// A floating-point number with the operations that the reductions use.
trait Real: Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> {
    /// Returns 1 for true and 0 for false.
    fn truth(value: bool) -> Self;
}

impl Real for f32 {
    fn truth(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl Real for f64 {
    fn truth(value: bool) -> Self {
        u8::from(value).into()
    }
}

impl<F: rustc_apfloat::Float> Real for Wide<F> {
    fn truth(value: bool) -> Self {
        Wide(F::from_u128(value.into()).value)
    }
}

fn reals<T: Real, const N: usize>(
    op: Op,
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    left: &[u8],
    right: &mut [u8],
) {
    let is_true = |number: T| number != T::truth(false);
    zip(left, right, |a, b| {
        let (a, b) = (read(a), read(b));
        write(match op {
            Op::Sum => a + b,
            Op::Prod => a * b,
            Op::Max if a > b => a,
            Op::Min if a < b => a,
            Op::Land => T::truth(is_true(a) && is_true(b)),
            Op::Lor => T::truth(is_true(a) || is_true(b)),
            Op::Lxor => T::truth(is_true(a) != is_true(b)),
            _ => b,
        })
    });
}

fn truths(op: Op, left: &[u8], right: &mut [u8]) {
    zip(left, right, |[a], [b]| {
        let (a, b) = (a != 0, b != 0);
        [u8::from(match op {
            Op::Land => a && b,
            Op::Lor => a || b,
            _ => a != b,
        })]
    });
}

fn complexes<
    T: Copy + Add<Output = T> + Mul<Output = T> + core::ops::Neg<Output = T>,
    const N: usize,
>(
    op: Op,
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
        let (real, imaginary) = if op == Op::Sum {
            (ar + br, ai + bi)
        } else {
            (ar * br + -(ai * bi), ar * bi + ai * br)
        };
        b[0] = write(real);
        b[1] = write(imaginary);
    }
}

/// Combines pairs of a value and an index of the specified types. The index ends at the pair's true extent.
fn located(op: Op, basic: Basic, (value, index): (Number, Number), left: &[u8], right: &mut [u8]) {
    let end = basic.true_extent();
    let (values, indices) = (..value.size(), end - index.size()..end);
    for (a, b) in left
        .chunks_exact(basic.extent())
        .zip(right.chunks_exact_mut(basic.extent()))
    {
        let wins = match compare(value, &a[values], &b[values]) {
            Some(Ordering::Equal) => {
                compare(index, &a[indices.clone()], &b[indices.clone()]) == Some(Ordering::Less)
            }
            Some(Ordering::Less) => op == Op::MinLoc,
            Some(Ordering::Greater) => op == Op::MaxLoc,
            None => false,
        };
        if wins {
            b.copy_from_slice(a);
        }
    }
}

/// Compares two numbers. Returns `None` if one is a NaN.
fn compare(number: Number, a: &[u8], b: &[u8]) -> Option<Ordering> {
    fn by<T: PartialOrd, const N: usize>(
        read: fn([u8; N]) -> T,
        a: &[u8],
        b: &[u8],
    ) -> Option<Ordering> {
        read(*a.first_chunk()?).partial_cmp(&read(*b.first_chunk()?))
    }
    match number {
        Number::Signed(2) => by(i16::from_ne_bytes, a, b),
        Number::Signed(4) => by(i32::from_ne_bytes, a, b),
        Number::Signed(8) => by(i64::from_ne_bytes, a, b),
        Number::Float => by(f32::from_ne_bytes, a, b),
        Number::Double => by(f64::from_ne_bytes, a, b),
        Number::LongDouble => match LONG_DOUBLE {
            LongDouble::Double => by(f64::from_ne_bytes, a, b),
            LongDouble::Quad => by(Wide::<Quad>::from_ne_bytes, a, b),
            LongDouble::Extended => by(Wide::<X87DoubleExtended>::from_ne_bytes, a, b),
        },
        Number::Signed(_) | Number::Unsigned(_) => None,
    }
}

/// A `long double` without hardware support or without a Rust type.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Wide<F>(F);

impl<F: rustc_apfloat::Float> Wide<F> {
    fn from_ne_bytes(bytes: [u8; 16]) -> Self {
        let bits = u128::from_ne_bytes(bytes);
        Wide(F::from_bits(if F::BITS < 128 {
            bits & ((1 << F::BITS) - 1)
        } else {
            bits
        }))
    }

    fn to_ne_bytes(self) -> [u8; 16] {
        self.0.to_bits().to_ne_bytes()
    }
}

impl<F: rustc_apfloat::Float> Add for Wide<F> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Wide((self.0 + other.0).value)
    }
}

impl<F: rustc_apfloat::Float> Mul for Wide<F> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Wide((self.0 * other.0).value)
    }
}

impl<F: rustc_apfloat::Float> core::ops::Neg for Wide<F> {
    type Output = Self;
    fn neg(self) -> Self {
        Wide(-self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<const N: usize>(op: Op, basic: Basic, left: [u8; N], right: [u8; N]) -> [u8; N] {
        let mut out = right;
        op.combine(basic, &left, &mut out).expect("defined");
        out
    }

    #[test]
    fn discriminants_count_up_from_one_as_the_handles_do() {
        for (i, op) in Op::ALL.iter().enumerate() {
            assert_eq!(*op as usize, i + 1);
        }
    }

    #[test]
    fn whole_numbers_wrap_and_keep_their_sign() {
        let sum = run(
            Op::Sum,
            Basic::Int,
            i32::MAX.to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(i32::from_ne_bytes(sum), i32::MIN);
        let max = run(
            Op::Max,
            Basic::Int,
            (-1i32).to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(i32::from_ne_bytes(max), 1);
        let max = run(
            Op::Max,
            Basic::Unsigned,
            (-1i32).to_ne_bytes(),
            1i32.to_ne_bytes(),
        );
        assert_eq!(u32::from_ne_bytes(max), u32::MAX);
        let lxor = run(
            Op::Lxor,
            Basic::Short,
            4i16.to_ne_bytes(),
            2i16.to_ne_bytes(),
        );
        assert_eq!(i16::from_ne_bytes(lxor), 0, "both are true");
    }

    #[test]
    fn complex_products_turn() {
        let i = [0.0f64, 1.0];
        let bytes: [u8; 16] = bytemuck::cast(i);
        let square: [f64; 2] = bytemuck::cast(run(Op::Prod, Basic::DoubleComplex, bytes, bytes));
        assert_eq!(square, [-1.0, 0.0]);
    }

    #[test]
    fn a_location_keeps_the_lower_index_of_equal_values() {
        let pair = |value: i32, index: i32| -> [u8; 8] { bytemuck::cast([value, index]) };
        assert_eq!(
            run(Op::MinLoc, Basic::TwoInt, pair(3, 7), pair(3, 5)),
            pair(3, 5)
        );
        assert_eq!(
            run(Op::MaxLoc, Basic::TwoInt, pair(3, 4), pair(3, 5)),
            pair(3, 4)
        );
        assert_eq!(
            run(Op::MaxLoc, Basic::TwoInt, pair(9, 8), pair(3, 5)),
            pair(9, 8)
        );
        assert_eq!(
            run(Op::MinLoc, Basic::TwoInt, pair(9, 1), pair(3, 5)),
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
        for op in [Op::MinLoc, Op::MaxLoc] {
            assert_eq!(run(op, Basic::ShortInt, low, high), low);
            assert_eq!(run(op, Basic::ShortInt, high, low), low);
        }
    }

    #[test]
    fn fortrans_pairs_have_indices_of_the_values_kind() {
        let pair = |value: f32, index: f32| -> [u8; 8] { bytemuck::cast([value, index]) };
        for (op, left, right, result) in [
            (Op::MinLoc, pair(3.0, 7.0), pair(3.0, 5.5), pair(3.0, 5.5)),
            (Op::MaxLoc, pair(3.0, -4.0), pair(3.0, 5.0), pair(3.0, -4.0)),
            (Op::MaxLoc, pair(9.0, 8.0), pair(3.0, 5.0), pair(9.0, 8.0)),
        ] {
            assert_eq!(run(op, Basic::TwoReal, left, right), result);
        }
        let pair = |value: f64, index: f64| -> [u8; 16] { bytemuck::cast([value, index]) };
        assert_eq!(
            run(
                Op::MinLoc,
                Basic::TwoDoublePrecision,
                pair(1.0, 2.0),
                pair(1.0, 1.0)
            ),
            pair(1.0, 1.0)
        );
        assert!(!Op::Sum.is_defined(Basic::TwoReal));
    }

    #[test]
    fn characters_and_truths_of_reals_combine_as_in_other_mpis() {
        assert_eq!(run(Op::Sum, Basic::Char, [3], [4]), [7]);
        for (left, right, [and, or, xor]) in [
            (0.0, 2.5, [0.0, 1.0, 1.0]),
            (-1.0, 2.5, [1.0, 1.0, 0.0]),
            (0.0, -0.0, [0.0, 0.0, 0.0]),
        ] {
            for (op, wanted) in [(Op::Land, and), (Op::Lor, or), (Op::Lxor, xor)] {
                let of = |number: f64| {
                    let quad: [u8; 16] =
                        Wide(number.to_string().parse::<Quad>().expect("a number")).to_ne_bytes();
                    (number.to_ne_bytes(), (number as f32).to_ne_bytes(), quad)
                };
                let (a, mut b, want) = (of(left), of(right), of(wanted));
                assert_eq!(run(op, Basic::Double, a.0, b.0), want.0);
                assert_eq!(run(op, Basic::Float, a.1, b.1), want.1);
                reals(
                    op,
                    Wide::<Quad>::from_ne_bytes,
                    Wide::to_ne_bytes,
                    &a.2,
                    &mut b.2,
                );
                assert_eq!(b.2, want.2);
            }
        }
    }

    #[test]
    fn wide_floats_add_multiply_and_compare() {
        let wide = |value: &str| Wide(value.parse::<Quad>().expect("a number"));
        let third = wide("1.5") * wide("4.25") + wide("-0.375");
        assert!(third == wide("6.0") && third < wide("6.0000000000000000001"));
        assert!(Wide::<Quad>::from_ne_bytes(third.to_ne_bytes()) == third);
        let x87 = Wide("0.1".parse::<X87DoubleExtended>().expect("a number"));
        let mut padded = x87.to_ne_bytes();
        padded[15] = 0xee;
        assert!(
            Wide::<X87DoubleExtended>::from_ne_bytes(padded) == x87,
            "padding does not count"
        );
    }

    #[test]
    fn every_undefined_pair_is_refused_and_changes_nothing() {
        let mut refused = 0;
        for op in Op::ALL {
            for basic in Basic::ALL {
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
        assert!(!Op::Band.is_defined(Basic::Double) && !Op::Sum.is_defined(Basic::Wchar));
    }
}
