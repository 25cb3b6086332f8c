//! The external32 representation (MPI-3.1 section 13.5.2): big-endian, IEEE 754, two's complement.
//!
//! In it, `long` has 4 bytes: the upper half of an 8-byte number is lost, as specified by the standard's table. `bool`
//! has 1 byte, as in later versions and other MPI libraries; MPI-3.1 specifies 4.
#![forbid(unsafe_code)]

use rustc_apfloat::ieee::{Double, Quad, X87DoubleExtended};
use rustc_apfloat::{Float, FloatConvert};

use crate::datatype::{BasicType, ElementKind, LONG_DOUBLE, LongDouble, NumericType};

/// Maximum bytes of a basic datatype, native or external.
pub const LONGEST: usize = 32;

/// Number format of a basic datatype.
#[derive(Clone, Copy)]
enum NumberFormat {
    /// Two's complement or unsigned.
    Integer {
        signed: bool,
    },
    Real,
    LongDouble,
}

struct ElementShape {
    numbers: usize,
    native: usize,
    external: usize,
    digits: NumberFormat,
}

fn shape(basic: BasicType) -> ElementShape {
    let of = |numbers, number: NumericType| {
        let (external, digits) = match number {
            NumericType::Signed(bytes) => (bytes, NumberFormat::Integer { signed: true }),
            NumericType::Unsigned(bytes) => (bytes, NumberFormat::Integer { signed: false }),
            NumericType::Float | NumericType::Double => (number.size(), NumberFormat::Real),
            NumericType::LongDouble => (16, NumberFormat::LongDouble),
        };
        ElementShape {
            numbers,
            native: number.size(),
            external,
            digits,
        }
    };
    let whole = |external, signed| ElementShape {
        numbers: 1,
        native: basic.size(),
        external,
        digits: NumberFormat::Integer { signed },
    };
    match basic {
        BasicType::Long => whole(4, true),
        BasicType::UnsignedLong => whole(4, false),
        BasicType::Aint | BasicType::Offset | BasicType::Count => whole(8, true),
        BasicType::Wchar => whole(2, false),
        _ => match basic.kind() {
            ElementKind::Number(number) => of(1, number),
            ElementKind::Complex(number) | ElementKind::Twin(number) => of(2, number),
            _ => whole(basic.size(), false),
        },
    }
}

/// Returns the external size in bytes of an element without members, or of a pair's value.
pub fn size(basic: BasicType) -> usize {
    let shape = shape(basic);
    shape.numbers * shape.external
}

/// Copies an integer to another byte order and length; `fill` is the padding byte.
fn copy_whole(from: impl DoubleEndedIterator<Item = u8>, to: &mut [u8], fill: u8, ascends: bool) {
    // In order of significance, least significant byte first.
    let bytes = from.chain(core::iter::repeat_n(fill, to.len()));
    if ascends {
        to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte)
    } else {
        to.iter_mut().rev().zip(bytes).for_each(|(to, byte)| *to = byte)
    }
}

fn fill(signed: bool, most: Option<&u8>) -> u8 {
    if signed && most.is_some_and(|byte| byte & 0x80 != 0) {
        0xff
    } else {
        0
    }
}

const LITTLE: bool = cfg!(target_endian = "little");

fn encode_one(digits: NumberFormat, native: &[u8], out: &mut [u8]) {
    match digits {
        NumberFormat::Integer { signed } if LITTLE => {
            let sign = fill(signed, native.last());
            copy_whole(native.iter().copied(), out, sign, false);
        }
        NumberFormat::Integer { signed } => {
            let sign = fill(signed, native.first());
            copy_whole(native.iter().rev().copied(), out, sign, false);
        }
        NumberFormat::Real if LITTLE => copy_whole(native.iter().copied(), out, 0, false),
        NumberFormat::Real => out.copy_from_slice(native),
        NumberFormat::LongDouble => out.copy_from_slice(&quad_of(native).to_be_bytes()),
    }
}

fn decode_one(digits: NumberFormat, external: &[u8], out: &mut [u8]) {
    match digits {
        NumberFormat::Integer { signed } => {
            let sign = fill(signed, external.first());
            copy_whole(external.iter().rev().copied(), out, sign, LITTLE);
        }
        NumberFormat::Real if LITTLE => copy_whole(external.iter().rev().copied(), out, 0, true),
        NumberFormat::Real => out.copy_from_slice(external),
        NumberFormat::LongDouble => {
            let mut bits = [0; 16];
            bits.copy_from_slice(external);
            of_quad(u128::from_be_bytes(bits), out);
        }
    }
}

fn bits(native: &[u8]) -> u128 {
    let mut all = [0; 16];
    let at = if LITTLE { 0 } else { 16 - native.len() };
    all[at..at + native.len()].copy_from_slice(native);
    u128::from_ne_bytes(all)
}

/// Converts the bits of a `long double` to IEEE binary128.
fn quad_of(native: &[u8]) -> u128 {
    let bits = bits(native);
    let mut lost = false;
    match LONG_DOUBLE {
        LongDouble::Quad => bits,
        LongDouble::Extended => {
            let number = X87DoubleExtended::from_bits(bits & ((1 << 80) - 1));
            FloatConvert::<Quad>::convert(number, &mut lost).value.to_bits()
        }
        LongDouble::Double => {
            let number = Double::from_bits(bits);
            FloatConvert::<Quad>::convert(number, &mut lost).value.to_bits()
        }
    }
}

fn of_quad(quad: u128, out: &mut [u8]) {
    let number = Quad::from_bits(quad);
    let mut lost = false;
    let bits = match LONG_DOUBLE {
        LongDouble::Quad => quad,
        LongDouble::Extended => FloatConvert::<X87DoubleExtended>::convert(number, &mut lost)
            .value
            .to_bits(),
        LongDouble::Double => FloatConvert::<Double>::convert(number, &mut lost).value.to_bits(),
    };
    let all = bits.to_ne_bytes();
    let at = if LITTLE { 0 } else { all.len() - out.len() };
    out.copy_from_slice(&all[at..at + out.len()]);
}

/// Converts an element without members from native to external form. `native` and `out` must have the size of their
/// form.
pub fn encode(basic: BasicType, native: &[u8], out: &mut [u8]) {
    let shape = shape(basic);
    let numbers = native.chunks_exact(shape.native);
    for (native, out) in numbers.zip(out.chunks_exact_mut(shape.external)) {
        encode_one(shape.digits, native, out);
    }
}

/// Converts an element without members from external to native form; see [`encode`].
pub fn decode(basic: BasicType, external: &[u8], out: &mut [u8]) {
    let shape = shape(basic);
    let numbers = external.chunks_exact(shape.external);
    for (external, out) in numbers.zip(out.chunks_exact_mut(shape.native)) {
        decode_one(shape.digits, external, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(basic: BasicType, native: &[u8]) -> Vec<u8> {
        let mut out = vec![0; size(basic)];
        encode(basic, native, &mut out);
        let mut back = vec![0; native.len()];
        decode(basic, &out, &mut back);
        assert_eq!(back, native, "{basic:?}");
        out
    }

    #[test]
    fn numbers_are_big_endian_and_as_long_as_the_table_says() {
        assert_eq!(encoded(BasicType::Int, &(-2i32).to_ne_bytes()), [255, 255, 255, 254]);
        assert_eq!(encoded(BasicType::Short, &258i16.to_ne_bytes()), [1, 2]);
        assert_eq!(
            encoded(BasicType::Long, &core::ffi::c_long::to_ne_bytes(-3)),
            [255, 255, 255, 253]
        );
        assert_eq!(
            encoded(BasicType::LongLong, &7i64.to_ne_bytes()),
            [0, 0, 0, 0, 0, 0, 0, 7]
        );
        assert_eq!(encoded(BasicType::CBool, &[1]), [1]);
        assert_eq!(encoded(BasicType::Wchar, &0x41u32.to_ne_bytes()), [0, 0x41]);
        assert_eq!(
            encoded(BasicType::Double, &1.0f64.to_ne_bytes()),
            [63, 240, 0, 0, 0, 0, 0, 0]
        );
        let complex = [1.0f32.to_ne_bytes(), (-2.0f32).to_ne_bytes()].concat();
        assert_eq!(
            encoded(BasicType::FloatComplex, &complex),
            [63, 128, 0, 0, 192, 0, 0, 0]
        );
        for basic in BasicType::ALL {
            assert!(size(basic) <= LONGEST && basic.size() <= LONGEST);
        }
    }

    #[test]
    fn a_long_double_is_binary128() {
        let one = match LONG_DOUBLE {
            LongDouble::Double => 1.0f64.to_ne_bytes().to_vec(),
            LongDouble::Quad => (0x3fff_u128 << 112).to_ne_bytes().to_vec(),
            LongDouble::Extended => (0x3fff_8000_0000_0000_0000_u128).to_ne_bytes().to_vec(),
        };
        let mut wanted = vec![0x3f, 0xff];
        wanted.resize(16, 0);
        assert_eq!(encoded(BasicType::LongDouble, &one), wanted);
    }
}
