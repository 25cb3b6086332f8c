//! Derived datatypes (MPI-3.1 section 4.1): a layout, and the bounds that define the extent.
//!
//! Pure: this module implements the constructors. Handles, reference counts and the recorded constructor arguments
//! belong to the binding.
#![forbid(unsafe_code)]

mod grids;
#[cfg(test)]
mod tests;

use core::ffi::c_int;

pub use grids::{ArrayDistribution, ArrayOrder, GridDimension, part_of};

use crate::datatype::{BasicType, ElementKind, NumericType};
use crate::error::{Error, LimitedResource};
use midplane_device::memory::layout::{Layout, LayoutError, LayoutPart, MAX_LEVELS};

impl From<LayoutError> for Error {
    fn from(error: LayoutError) -> Error {
        match error {
            LayoutError::OutOfMemory { bytes } => Error::NoSpace { bytes },
            LayoutError::TooLarge => Error::TooLarge,
            LayoutError::TooDeep => Error::Limit {
                what: LimitedResource::DatatypeLevels,
                limit: MAX_LEVELS as usize,
            },
        }
    }
}

/// Bounds of a datatype, in bytes from its origin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct TypeBounds {
    /// From the first byte of data to the end of the last one; `None`: no data.
    data: Option<(isize, isize)>,
    /// Set by the program (MPI_Type_create_resized, MPI_LB).
    lb: Option<isize>,
    /// Set by the program (MPI_Type_create_resized, MPI_UB).
    ub: Option<isize>,
    /// Maximum alignment of its basic datatypes.
    align: usize,
}

/// A datatype. All of its heap memory belongs to its layout.
#[derive(PartialEq, Eq, Debug)]
pub struct DerivedType {
    layout: Layout,
    bounds: TypeBounds,
}

/// Copies of a datatype that form a part of another one.
#[derive(Clone, Copy, Debug)]
pub struct TypeBlock<'a> {
    /// Displacement of the first copy in bytes.
    pub at: isize,
    /// Number of copies, spaced by the datatype's extent.
    pub count: usize,
    /// The datatype.
    pub datatype: &'a DerivedType,
}

fn too_large<T>(value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| LayoutError::TooLarge.into())
}

fn both<T>(a: Option<T>, b: Option<T>, choose: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (a, b) => a.or(b),
    }
}

impl TypeBounds {
    fn of_basic(basic: BasicType) -> TypeBounds {
        let align = match basic.kind() {
            ElementKind::Number(number) | ElementKind::Complex(number) => number.size(),
            _ => basic.size(),
        };
        TypeBounds {
            data: Some((0, basic.size() as isize)),
            lb: None,
            ub: None,
            align,
        }
    }

    fn lb(&self) -> isize {
        self.lb.or(self.data.map(|data| data.0)).unwrap_or(0)
    }

    /// Returns the upper bound. Unless the program has set it, the extent is a multiple of the alignment (section
    /// 4.1.6).
    // Not inlined, because every constructor uses it.
    #[inline(never)]
    fn ub(&self) -> isize {
        if let Some(ub) = self.ub {
            return ub;
        }
        let (lb, Some((_, end))) = (self.lb(), self.data) else {
            return self.lb();
        };
        let align = self.align.max(1) as isize;
        end.saturating_add((lb.wrapping_sub(end)).rem_euclid(align))
    }

    /// Returns the bounds of copies at displacements from `least` to `greatest`.
    fn spread(&self, least: isize, greatest: isize) -> Result<TypeBounds, Error> {
        let low = |at: isize| too_large(at.checked_add(least));
        let high = |at: isize| too_large(at.checked_add(greatest));
        let data = match self.data {
            Some((first, end)) => Some((low(first)?, high(end)?)),
            None => None,
        };
        Ok(TypeBounds {
            data,
            lb: self.lb.map(low).transpose()?,
            ub: self.ub.map(high).transpose()?,
            align: self.align,
        })
    }

    /// Returns the bounds of `count` copies, at least 1, the first at `at`, `stride` apart.
    fn copies(&self, at: isize, count: usize, stride: isize) -> Result<TypeBounds, Error> {
        let last = isize::try_from(count - 1).ok();
        let last = too_large(last.and_then(|last| last.checked_mul(stride)?.checked_add(at)))?;
        self.spread(at.min(last), at.max(last))
    }

    fn with(self, other: TypeBounds) -> TypeBounds {
        TypeBounds {
            data: both(self.data, other.data, |a, b| (a.0.min(b.0), a.1.max(b.1))),
            lb: both(self.lb, other.lb, isize::min),
            ub: both(self.ub, other.ub, isize::max),
            align: self.align.max(other.align),
        }
    }

    /// Checks that the extent and the true extent fit in an address difference.
    fn checked(self) -> Result<TypeBounds, Error> {
        too_large(self.ub().checked_sub(self.lb()))?;
        let (first, end) = self.data.unwrap_or_default();
        too_large(end.checked_sub(first))?;
        Ok(self)
    }
}

/// Returns the datatype of a number.
const fn basic_of(number: NumericType) -> BasicType {
    match number {
        NumericType::Float => BasicType::Float,
        NumericType::Double => BasicType::Double,
        NumericType::LongDouble => BasicType::LongDouble,
        NumericType::Signed(bytes) | NumericType::Unsigned(bytes) => match bytes {
            1 => BasicType::Int8,
            2 => BasicType::Int16,
            4 => BasicType::Int32,
            _ => BasicType::Int64,
        },
    }
}

/// A predefined pair of a value and an index, stored compactly for programs that create no datatypes.
#[derive(Clone, Copy, Debug)]
pub struct PairLayout {
    /// Discriminants of both members.
    tags: [u8; 2],
    /// Sizes of both members in bytes.
    sizes: [u8; 2],
    /// Displacement of the index.
    behind: u8,
}

impl PairLayout {
    /// Index of the first pair in [`BasicType::ALL`]; the pairs are the last entries.
    pub const FIRST: usize = BasicType::FloatInt as usize - 1;

    /// All pairs, ordered by discriminant.
    pub const ALL: [PairLayout; BasicType::ALL.len() - PairLayout::FIRST] = {
        let none = PairLayout {
            tags: [0; 2],
            sizes: [0; 2],
            behind: 0,
        };
        let mut all = [none; BasicType::ALL.len() - PairLayout::FIRST];
        let mut at = 0;
        while at < all.len() {
            all[at] = PairLayout::from_basic(BasicType::ALL[PairLayout::FIRST + at]).expect("a pair");
            at += 1;
        }
        all
    };

    const fn from_basic(basic: BasicType) -> Option<PairLayout> {
        let value = match (basic.kind(), basic) {
            (_, BasicType::LongInt) => BasicType::Long,
            (_, BasicType::ShortInt) => BasicType::Short,
            (ElementKind::Located(NumericType::Signed(_)), _) => BasicType::Int,
            (ElementKind::Located(number) | ElementKind::Twin(number), _) => basic_of(number),
            _ => return None,
        };
        let index = match basic.kind() {
            ElementKind::Twin(_) => value,
            _ => BasicType::Int,
        };
        Some(PairLayout {
            tags: [value as u8, index as u8],
            sizes: [value.size() as u8, index.size() as u8],
            behind: (basic.true_extent() - index.size()) as u8,
        })
    }

    /// Returns the bytes of data in a pair.
    pub fn size(self) -> usize {
        self.sizes.map(usize::from).iter().sum()
    }
}

impl DerivedType {
    fn made(layout: Layout, bounds: TypeBounds) -> Result<DerivedType, Error> {
        let bounds = bounds.checked()?;
        Ok(DerivedType { layout, bounds })
    }

    /// Creates a predefined datatype; pairs have two members. Fails with [`Error::NoSpace`].
    pub fn basic(basic: BasicType) -> Result<DerivedType, Error> {
        match PairLayout::from_basic(basic) {
            Some(pair) => DerivedType::pair(pair),
            None => Ok(DerivedType {
                layout: Layout::leaf(basic.size(), basic as u8)?,
                bounds: TypeBounds::of_basic(basic),
            }),
        }
    }

    /// Creates a predefined pair. Fails with [`Error::NoSpace`].
    pub fn pair(pair: PairLayout) -> Result<DerivedType, Error> {
        let [value, index] = pair.sizes.map(usize::from);
        let behind = isize::from(pair.behind);
        Ok(DerivedType {
            layout: Layout::pair(value, pair.tags[0], behind, index, pair.tags[1])?,
            bounds: TypeBounds {
                data: Some((0, behind + index as isize)),
                lb: None,
                ub: None,
                align: value.max(index),
            },
        })
    }

    /// Creates a marker of the lower or upper bound of a struct, as in MPI-1 (MPI_LB and MPI_UB).
    pub fn marker(is_upper: bool) -> DerivedType {
        let (lb, ub) = if is_upper { (None, Some(0)) } else { (Some(0), None) };
        DerivedType {
            layout: Layout::EMPTY,
            bounds: TypeBounds {
                lb,
                ub,
                ..TypeBounds::default()
            },
        }
    }

    /// Returns a copy. Fails with [`Error::NoSpace`].
    pub fn try_clone(&self) -> Result<DerivedType, Error> {
        Ok(DerivedType {
            layout: self.layout.try_clone()?,
            bounds: self.bounds,
        })
    }

    /// Creates copies `stride` bytes apart.
    pub fn repeated(&self, count: usize, stride: isize) -> Result<DerivedType, Error> {
        if count == 0 {
            return DerivedType::made(Layout::EMPTY, TypeBounds::default());
        }
        let bounds = self.bounds.copies(0, count, stride)?;
        DerivedType::made(self.layout.repeated(count, stride)?, bounds)
    }

    /// Creates contiguous copies (MPI_Type_contiguous).
    pub fn contiguous(&self, count: usize) -> Result<DerivedType, Error> {
        self.repeated(count, self.extent())
    }

    /// Creates blocks of copies, `stride` bytes apart (MPI_Type_create_hvector).
    pub fn vector(&self, count: usize, length: usize, stride: isize) -> Result<DerivedType, Error> {
        self.contiguous(length)?.repeated(count, stride)
    }

    /// Creates blocks of copies of datatypes (MPI_Type_create_struct and its special cases).
    pub fn blocks<'a, I>(blocks: I) -> Result<DerivedType, Error>
    where
        I: Iterator<Item = TypeBlock<'a>> + Clone,
    {
        let mut bounds = TypeBounds::default();
        for block in blocks.clone().filter(|block| block.count > 0) {
            let of_copies = block.datatype.bounds;
            let extent = block.datatype.extent();
            bounds = bounds.with(of_copies.copies(block.at, block.count, extent)?);
        }
        let parts = blocks.map(|block| LayoutPart {
            at: block.at,
            count: block.count,
            layout: &block.datatype.layout,
            extent: block.datatype.extent(),
        });
        // Bounds first: they ensure that no displacement below overflows.
        let bounds = bounds.checked()?;
        DerivedType::made(Layout::pieces(parts)?, bounds)
    }

    /// Creates the same data with other bounds (MPI_Type_create_resized).
    pub fn resized(&self, lb: isize, extent: isize) -> Result<DerivedType, Error> {
        let ub = too_large(lb.checked_add(extent))?;
        let bounds = TypeBounds {
            lb: Some(lb),
            ub: Some(ub),
            ..self.bounds
        };
        DerivedType::made(self.layout.try_clone()?, bounds)
    }

    /// Creates the same type with each pair contiguous, including the padding between its members, as accumulates
    /// transmit such pairs. `None`: it does not consist only of such pairs. Fails with [`Error::NoSpace`] or
    /// [`Error::Argument`].
    pub fn closed(&self, pair: BasicType) -> Result<Option<DerivedType>, Error> {
        let of_pair = DerivedType::basic(pair)?.layout;
        let has = |tag| self.layout.tags().any(|other| other == tag);
        if !of_pair.tags().all(has) {
            return Ok(None);
        }
        let layout = self.layout.closed(&of_pair, pair.extent(), pair as u8)?;
        let bounds = self.bounds;
        Ok(layout.map(|layout| DerivedType { layout, bounds }))
    }

    /// Returns the layout of its bytes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the bytes of data (MPI_Type_size).
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Returns the lower bound.
    pub fn lb(&self) -> isize {
        self.bounds.lb()
    }

    /// Returns the upper bound.
    pub fn ub(&self) -> isize {
        self.bounds.ub()
    }

    /// Returns the distance between consecutive elements in bytes.
    pub fn extent(&self) -> isize {
        self.ub().wrapping_sub(self.lb())
    }

    /// Returns the true lower bound and the true extent.
    pub fn true_extent(&self) -> (isize, isize) {
        let (first, end) = self.bounds.data.unwrap_or_default();
        (first, end - first)
    }

    /// Checks whether consecutive elements are contiguous in memory, in transmission order from the first byte on.
    pub fn is_row(&self) -> bool {
        self.layout.is_dense() && self.extent() == self.size() as isize
    }
}

/// Returns a numeric datatype of `size` bytes (MPI_Type_match_size), if C has one.
pub fn match_size(class: NumberClass, size: c_int) -> Option<BasicType> {
    use BasicType::*;
    let candidates: &[BasicType] = match class {
        NumberClass::Real => &[Float, Double, LongDouble],
        NumberClass::Integer => &[Int8, Int16, Int32, Int64],
        NumberClass::Complex => &[FloatComplex, DoubleComplex, LongDoubleComplex],
    };
    let fits = |basic: &&BasicType| usize::try_from(size) == Ok(basic.size());
    candidates.iter().find(fits).copied()
}

/// Type class of MPI_Type_match_size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are MPI's.
pub enum NumberClass {
    Real,
    Integer,
    Complex,
}
