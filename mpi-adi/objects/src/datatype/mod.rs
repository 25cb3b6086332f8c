//! Predefined datatypes of message elements (MPI-3.1 sections 3.2.2 and 5.9.4).
//!
//! A message consists of bytes in native order, because all nodes are alike. Datatypes define the unit of counts and
//! the arithmetic of reductions.
#![forbid(unsafe_code)]

pub mod derived;
pub mod external;

use core::ffi::{c_int, c_long, c_longlong, c_short};

/// A predefined datatype of the C binding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // The names are MPI's.
pub enum BasicType {
    Char = 1,
    SignedChar,
    UnsignedChar,
    Byte,
    Packed,
    Wchar,
    Short,
    UnsignedShort,
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
    LongDouble,
    CBool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Aint,
    Offset,
    Count,
    FloatComplex,
    DoubleComplex,
    LongDoubleComplex,
    FloatInt,
    DoubleInt,
    LongInt,
    TwoInt,
    ShortInt,
    LongDoubleInt,
    TwoReal,
    TwoDoublePrecision,
}

/// Storage format of C's `long double`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LongDouble {
    /// Same as `double`: 8 bytes.
    Double,
    /// IEEE 754 binary128: 16 bytes.
    Quad,
    /// x87 extended precision: 80 bits in 16 bytes.
    Extended,
}

/// C's `long double` on this target, as specified by its psABI.
pub const LONG_DOUBLE: LongDouble = if cfg!(any(
    target_arch = "riscv64",
    target_arch = "riscv32",
    all(target_arch = "aarch64", not(target_vendor = "apple")),
)) {
    LongDouble::Quad
} else if cfg!(target_arch = "x86_64") {
    LongDouble::Extended
} else {
    LongDouble::Double
};

const LONG_DOUBLE_BYTES: usize = match LONG_DOUBLE {
    LongDouble::Double => 8,
    LongDouble::Quad | LongDouble::Extended => 16,
};

/// Numeric type of an element in a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumericType {
    /// Two's complement integer of this many bytes.
    Signed(usize),
    /// Unsigned integer of this many bytes.
    Unsigned(usize),
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `long double`.
    LongDouble,
}

/// Structure of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// A number.
    Number(NumericType),
    /// A logical value: a byte, zero or nonzero.
    Logical,
    /// Bits without a numeric value.
    Bits,
    /// Real and imaginary part.
    Complex(NumericType),
    /// A C struct of a value and an `int` index.
    Located(NumericType),
    /// A value and an index of the same type: a Fortran pair.
    Twin(NumericType),
    /// No arithmetic: wide characters, packed data.
    Opaque,
}

impl BasicType {
    /// All datatypes, ordered by discriminant.
    pub const ALL: [BasicType; 40] = {
        use BasicType::*;
        [
            Char,
            SignedChar,
            UnsignedChar,
            Byte,
            Packed,
            Wchar,
            Short,
            UnsignedShort,
            Int,
            Unsigned,
            Long,
            UnsignedLong,
            LongLong,
            UnsignedLongLong,
            Float,
            Double,
            LongDouble,
            CBool,
            Int8,
            Int16,
            Int32,
            Int64,
            Uint8,
            Uint16,
            Uint32,
            Uint64,
            Aint,
            Offset,
            Count,
            FloatComplex,
            DoubleComplex,
            LongDoubleComplex,
            FloatInt,
            DoubleInt,
            LongInt,
            TwoInt,
            ShortInt,
            LongDoubleInt,
            TwoReal,
            TwoDoublePrecision,
        ]
    };

    /// Returns the handle in `mpi.h` (MPI-5.0 chapter 20).
    pub const fn handle(self) -> c_int {
        match self {
            BasicType::Char => 0x243,
            BasicType::SignedChar => 0x244,
            BasicType::UnsignedChar => 0x245,
            BasicType::Byte => 0x247,
            BasicType::Packed => 0x207,
            BasicType::Wchar => 0x23c,
            BasicType::Short => 0x208,
            BasicType::UnsignedShort => 0x20c,
            BasicType::Int => 0x209,
            BasicType::Unsigned => 0x20d,
            BasicType::Long => 0x20a,
            BasicType::UnsignedLong => 0x20e,
            BasicType::LongLong => 0x20b,
            BasicType::UnsignedLongLong => 0x20f,
            BasicType::Float => 0x210,
            BasicType::Double => 0x214,
            BasicType::LongDouble => 0x220,
            BasicType::CBool => 0x238,
            BasicType::Int8 => 0x240,
            BasicType::Int16 => 0x248,
            BasicType::Int32 => 0x250,
            BasicType::Int64 => 0x258,
            BasicType::Uint8 => 0x241,
            BasicType::Uint16 => 0x249,
            BasicType::Uint32 => 0x251,
            BasicType::Uint64 => 0x259,
            BasicType::Aint => 0x201,
            BasicType::Offset => 0x203,
            BasicType::Count => 0x202,
            BasicType::FloatComplex => 0x212,
            BasicType::DoubleComplex => 0x216,
            BasicType::LongDoubleComplex => 0x224,
            BasicType::FloatInt => 0x228,
            BasicType::DoubleInt => 0x229,
            BasicType::LongInt => 0x22a,
            BasicType::TwoInt => 0x22b,
            BasicType::ShortInt => 0x22c,
            BasicType::LongDoubleInt => 0x22d,
            BasicType::TwoReal => 0x230,
            BasicType::TwoDoublePrecision => 0x231,
        }
    }

    /// Returns the structure of an element.
    pub const fn kind(self) -> ElementKind {
        use BasicType::*;
        use NumericType::{Signed, Unsigned as Natural};
        match self {
            // The standard does not define reductions of characters; other MPI libraries do, and public programs use
            // them.
            Char => match core::ffi::c_char::MIN {
                0 => UnsignedChar.kind(),
                _ => SignedChar.kind(),
            },
            Packed | Wchar => ElementKind::Opaque,
            Byte => ElementKind::Bits,
            CBool => ElementKind::Logical,
            SignedChar | Int8 => ElementKind::Number(Signed(1)),
            Short => ElementKind::Number(Signed(size_of::<c_short>())),
            Int => ElementKind::Number(Signed(size_of::<c_int>())),
            Long => ElementKind::Number(Signed(size_of::<c_long>())),
            LongLong | Offset | Count => ElementKind::Number(Signed(size_of::<c_longlong>())),
            Aint => ElementKind::Number(Signed(size_of::<isize>())),
            Int16 => ElementKind::Number(Signed(2)),
            Int32 => ElementKind::Number(Signed(4)),
            Int64 => ElementKind::Number(Signed(8)),
            UnsignedChar | Uint8 => ElementKind::Number(Natural(1)),
            UnsignedShort => ElementKind::Number(Natural(size_of::<c_short>())),
            Unsigned => ElementKind::Number(Natural(size_of::<c_int>())),
            UnsignedLong => ElementKind::Number(Natural(size_of::<c_long>())),
            UnsignedLongLong => ElementKind::Number(Natural(size_of::<c_longlong>())),
            Uint16 => ElementKind::Number(Natural(2)),
            Uint32 => ElementKind::Number(Natural(4)),
            Uint64 => ElementKind::Number(Natural(8)),
            Float => ElementKind::Number(NumericType::Float),
            Double => ElementKind::Number(NumericType::Double),
            LongDouble => ElementKind::Number(NumericType::LongDouble),
            FloatComplex => ElementKind::Complex(NumericType::Float),
            DoubleComplex => ElementKind::Complex(NumericType::Double),
            LongDoubleComplex => ElementKind::Complex(NumericType::LongDouble),
            FloatInt => ElementKind::Located(NumericType::Float),
            DoubleInt => ElementKind::Located(NumericType::Double),
            LongInt => ElementKind::Located(Signed(size_of::<c_long>())),
            TwoInt => ElementKind::Located(Signed(size_of::<c_int>())),
            ShortInt => ElementKind::Located(Signed(size_of::<c_short>())),
            LongDoubleInt => ElementKind::Located(NumericType::LongDouble),
            TwoReal => ElementKind::Twin(NumericType::Float),
            TwoDoublePrecision => ElementKind::Twin(NumericType::Double),
        }
    }

    /// Returns the bytes of data in an element (MPI_Type_size), without padding.
    pub const fn size(self) -> usize {
        match self.kind() {
            ElementKind::Opaque if matches!(self, BasicType::Wchar) => size_of::<u32>(),
            ElementKind::Opaque | ElementKind::Bits | ElementKind::Logical => 1,
            ElementKind::Number(number) => number.size(),
            ElementKind::Complex(number) | ElementKind::Twin(number) => 2 * number.size(),
            ElementKind::Located(number) => number.size() + size_of::<c_int>(),
        }
    }

    /// Returns the distance between consecutive elements in memory, in bytes (MPI_Type_get_extent).
    #[inline]
    pub const fn extent(self) -> usize {
        match self.kind() {
            ElementKind::Located(number) => self.size().next_multiple_of(number.align()),
            _ => self.size(),
        }
    }

    /// Returns the bytes from the first to the last byte of data (MPI_Type_get_true_extent).
    pub const fn true_extent(self) -> usize {
        match self.kind() {
            ElementKind::Located(number) => number.size().next_multiple_of(size_of::<c_int>()) + size_of::<c_int>(),
            _ => self.size(),
        }
    }

    /// Returns the number of basic elements in the first `bytes` of a message of this datatype; `None` if the last one
    /// is incomplete.
    pub const fn elements_in(self, bytes: usize) -> Option<usize> {
        let (whole, rest) = (bytes / self.size(), bytes % self.size());
        match self.kind() {
            _ if rest == 0 => Some(whole * self.parts()),
            ElementKind::Located(number) | ElementKind::Twin(number) if rest == number.size() => {
                Some(whole * self.parts() + 1)
            }
            _ => None,
        }
    }

    /// Returns the bytes of the first `elements` basic elements in a message of this datatype; `None` on `usize`
    /// overflow.
    pub const fn bytes_of(self, elements: usize) -> Option<usize> {
        let (whole, rest) = (elements / self.parts(), elements % self.parts());
        let begun = match self.kind() {
            ElementKind::Located(number) | ElementKind::Twin(number) if rest == 1 => number.size(),
            _ => 0,
        };
        match whole.checked_mul(self.size()) {
            Some(bytes) => bytes.checked_add(begun),
            None => None,
        }
    }

    /// Returns the basic elements in one element (MPI_Get_elements): two for a pair, otherwise one.
    pub const fn parts(self) -> usize {
        match self.kind() {
            ElementKind::Located(_) | ElementKind::Twin(_) => 2,
            _ => 1,
        }
    }
}

impl NumericType {
    /// Returns the size in bytes.
    pub const fn size(self) -> usize {
        match self {
            NumericType::Signed(bytes) | NumericType::Unsigned(bytes) => bytes,
            NumericType::Float => 4,
            NumericType::Double => 8,
            NumericType::LongDouble => LONG_DOUBLE_BYTES,
        }
    }

    /// Returns the alignment of a C struct that contains this number, then an `int`.
    const fn align(self) -> usize {
        if self.size() > size_of::<c_int>() {
            self.size()
        } else {
            size_of::<c_int>()
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type whose slices can be sent, received and reduced. Sealed: it is implemented only for types for which every
/// bit pattern is valid.
pub trait Datatype: bytemuck::Pod + sealed::Sealed {
    /// The MPI datatype.
    const BASIC: BasicType;
}

macro_rules! datatypes {
    ($($rust:ty => $basic:ident),* $(,)?) => {$(
        impl sealed::Sealed for $rust {}
        impl Datatype for $rust {
            const BASIC: BasicType = BasicType::$basic;
        }
        const _: () = assert!(size_of::<$rust>() == BasicType::$basic.extent());
    )*};
}

datatypes! {
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    isize => Aint, f32 => Float, f64 => Double,
}

#[cfg(target_pointer_width = "64")]
datatypes! { usize => Uint64 }
#[cfg(target_pointer_width = "32")]
datatypes! { usize => Uint32 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminants_count_up_from_one_as_the_handles_do() {
        for (i, basic) in BasicType::ALL.iter().enumerate() {
            assert_eq!(*basic as usize, i + 1);
        }
    }

    #[test]
    fn pairs_have_the_layout_that_c_gives_them() {
        #[repr(C)]
        struct AlignedPair<T>(T, c_int);
        for (basic, extent) in [
            (BasicType::FloatInt, size_of::<AlignedPair<f32>>()),
            (BasicType::DoubleInt, size_of::<AlignedPair<f64>>()),
            (BasicType::LongInt, size_of::<AlignedPair<c_long>>()),
            (BasicType::TwoInt, size_of::<AlignedPair<c_int>>()),
            (BasicType::ShortInt, size_of::<AlignedPair<c_short>>()),
        ] {
            assert_eq!(basic.extent(), extent, "{basic:?}");
        }
        assert_eq!(BasicType::ShortInt.size(), 6);
        assert_eq!(BasicType::LongDoubleInt.extent(), 2 * LONG_DOUBLE_BYTES);
    }
}
