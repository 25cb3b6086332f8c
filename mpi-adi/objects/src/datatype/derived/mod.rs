//! Derived datatypes (MPI-3.1 section 4.1): a layout, and the bounds that say how far apart elements are.
//!
//! Pure: what a constructor makes of its arguments. Handles, counting references and the arguments as the program
//! gave them are the binding's.
#![forbid(unsafe_code)]

mod grids;
#[cfg(test)]
mod tests;

use core::ffi::c_int;

pub use grids::{Distribution, GridDimension, Order, part_of};

use crate::datatype::{Basic, Kind, Number};
use crate::error::{Error, Limited};
use midplane_device::memory::layout::{Layout, LayoutError, MOST_LEVELS, Part};

impl From<LayoutError> for Error {
    fn from(error: LayoutError) -> Error {
        match error {
            LayoutError::NoRoom { bytes } => Error::NoRoom { bytes },
            LayoutError::TooLarge => Error::TooGreat,
            LayoutError::TooDeep => Error::Limit {
                what: Limited::DatatypeLevels,
                limit: MOST_LEVELS as usize,
            },
        }
    }
}

/// Where a datatype begins and ends, in bytes from its origin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bounds {
    /// From the first byte of data to the last one's end; `None`: no data.
    data: Option<(isize, isize)>,
    /// As the program has set it (MPI_Type_create_resized, MPI_LB).
    lb: Option<isize>,
    /// As the program has set it (MPI_Type_create_resized, MPI_UB).
    ub: Option<isize>,
    /// The greatest alignment of the basic datatypes in it.
    align: usize,
}

/// A datatype. Its memory is that of its layout.
#[derive(PartialEq, Eq, Debug)]
pub struct Type {
    layout: Layout,
    bounds: Bounds,
}

/// Copies of a datatype that become a part of another one.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The displacement of the first copy, in bytes.
    pub at: isize,
    /// How many copies, at the datatype's extent.
    pub count: usize,
    /// The datatype.
    pub datatype: &'a Type,
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

impl Bounds {
    fn of_basic(basic: Basic) -> Bounds {
        let align = match basic.kind() {
            Kind::Number(number) | Kind::Complex(number) => number.size(),
            _ => basic.size(),
        };
        Bounds {
            data: Some((0, basic.size() as isize)),
            lb: None,
            ub: None,
            align,
        }
    }

    fn lb(&self) -> isize {
        self.lb.or(self.data.map(|data| data.0)).unwrap_or(0)
    }

    /// Without one that the program has set, the extent is a multiple of the alignment (section 4.1.6).
    // Once in the image, as every constructor asks for it.
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

    /// From the least to the greatest displacement at which there are copies.
    fn spread(&self, least: isize, greatest: isize) -> Result<Bounds, Error> {
        let low = |at: isize| too_large(at.checked_add(least));
        let high = |at: isize| too_large(at.checked_add(greatest));
        let data = match self.data {
            Some((first, end)) => Some((low(first)?, high(end)?)),
            None => None,
        };
        Ok(Bounds {
            data,
            lb: self.lb.map(low).transpose()?,
            ub: self.ub.map(high).transpose()?,
            align: self.align,
        })
    }

    /// `count` copies, at least 1, the first at `at`, `stride` apart.
    fn copies(&self, at: isize, count: usize, stride: isize) -> Result<Bounds, Error> {
        let last = isize::try_from(count - 1).ok();
        let last = too_large(last.and_then(|last| last.checked_mul(stride)?.checked_add(at)))?;
        self.spread(at.min(last), at.max(last))
    }

    fn with(self, other: Bounds) -> Bounds {
        Bounds {
            data: both(self.data, other.data, |a, b| (a.0.min(b.0), a.1.max(b.1))),
            lb: both(self.lb, other.lb, isize::min),
            ub: both(self.ub, other.ub, isize::max),
            align: self.align.max(other.align),
        }
    }

    /// The extent must be an address's distance, too.
    fn checked(self) -> Result<Bounds, Error> {
        too_large(self.ub().checked_sub(self.lb()))?;
        let (first, end) = self.data.unwrap_or_default();
        too_large(end.checked_sub(first))?;
        Ok(self)
    }
}

/// What a number is as a datatype of its own.
const fn basic_of(number: Number) -> Basic {
    match number {
        Number::Float => Basic::Float,
        Number::Double => Basic::Double,
        Number::LongDouble => Basic::LongDouble,
        Number::Signed(bytes) | Number::Unsigned(bytes) => match bytes {
            1 => Basic::Int8,
            2 => Basic::Int16,
            4 => Basic::Int32,
            _ => Basic::Int64,
        },
    }
}

/// A predefined pair: a value, and an index behind it. Few bytes, for programs that make no datatypes.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The discriminants of both parts.
    tags: [u8; 2],
    /// The bytes of both.
    sizes: [u8; 2],
    /// The displacement of the index.
    behind: u8,
}

impl Pair {
    /// The place of the first among [`Basic::ALL`], of which they are the last ones.
    pub const FIRST: usize = Basic::FloatInt as usize - 1;

    /// All of them, in the order of their discriminants.
    pub const ALL: [Pair; Basic::ALL.len() - Pair::FIRST] = {
        let none = Pair {
            tags: [0; 2],
            sizes: [0; 2],
            behind: 0,
        };
        let mut all = [none; Basic::ALL.len() - Pair::FIRST];
        let mut at = 0;
        while at < all.len() {
            all[at] = Pair::of(Basic::ALL[Pair::FIRST + at]).expect("a pair");
            at += 1;
        }
        all
    };

    const fn of(basic: Basic) -> Option<Pair> {
        let value = match (basic.kind(), basic) {
            (_, Basic::LongInt) => Basic::Long,
            (_, Basic::ShortInt) => Basic::Short,
            (Kind::Located(Number::Signed(_)), _) => Basic::Int,
            (Kind::Located(number) | Kind::Twin(number), _) => basic_of(number),
            _ => return None,
        };
        let index = match basic.kind() {
            Kind::Twin(_) => value,
            _ => Basic::Int,
        };
        Some(Pair {
            tags: [value as u8, index as u8],
            sizes: [value.size() as u8, index.size() as u8],
            behind: (basic.true_extent() - index.size()) as u8,
        })
    }

    /// Bytes of data in one.
    pub fn size(self) -> usize {
        self.sizes.map(usize::from).iter().sum()
    }
}

impl Type {
    fn made(layout: Layout, bounds: Bounds) -> Result<Type, Error> {
        let bounds = bounds.checked()?;
        Ok(Type { layout, bounds })
    }

    /// A predefined datatype; pairs have two parts. Fails with [`Error::NoRoom`].
    pub fn basic(basic: Basic) -> Result<Type, Error> {
        match Pair::of(basic) {
            Some(pair) => Type::pair(pair),
            None => Ok(Type {
                layout: Layout::leaf(basic.size(), basic as u8)?,
                bounds: Bounds::of_basic(basic),
            }),
        }
    }

    /// A predefined pair. Fails with [`Error::NoRoom`].
    pub fn pair(pair: Pair) -> Result<Type, Error> {
        let [value, index] = pair.sizes.map(usize::from);
        let behind = isize::from(pair.behind);
        Ok(Type {
            layout: Layout::pair((value, pair.tags[0]), behind, (index, pair.tags[1]))?,
            bounds: Bounds {
                data: Some((0, behind + index as isize)),
                lb: None,
                ub: None,
                align: value.max(index),
            },
        })
    }

    /// The lower bound or the upper bound of a struct, as MPI-1 set them (MPI_LB and MPI_UB).
    pub fn marker(is_upper: bool) -> Type {
        let (lb, ub) = match is_upper {
            true => (None, Some(0)),
            false => (Some(0), None),
        };
        Type {
            layout: Layout::EMPTY,
            bounds: Bounds {
                lb,
                ub,
                ..Bounds::default()
            },
        }
    }

    /// A copy. Fails with [`Error::NoRoom`].
    pub fn try_clone(&self) -> Result<Type, Error> {
        Ok(Type {
            layout: self.layout.try_clone()?,
            bounds: self.bounds,
        })
    }

    /// Copies, `stride` bytes apart.
    pub fn repeated(&self, count: usize, stride: isize) -> Result<Type, Error> {
        if count == 0 {
            return Type::made(Layout::EMPTY, Bounds::default());
        }
        let bounds = self.bounds.copies(0, count, stride)?;
        Type::made(self.layout.repeated(count, stride)?, bounds)
    }

    /// Copies, one behind the other (MPI_Type_contiguous).
    pub fn contiguous(&self, count: usize) -> Result<Type, Error> {
        self.repeated(count, self.extent())
    }

    /// Blocks of copies, `stride` bytes apart (MPI_Type_create_hvector).
    pub fn vector(&self, count: usize, length: usize, stride: isize) -> Result<Type, Error> {
        self.contiguous(length)?.repeated(count, stride)
    }

    /// Blocks of copies of datatypes (MPI_Type_create_struct, and what is less than that).
    pub fn blocks<'a, I>(blocks: I) -> Result<Type, Error>
    where
        I: Iterator<Item = Block<'a>> + Clone,
    {
        let mut bounds = Bounds::default();
        for block in blocks.clone().filter(|block| block.count > 0) {
            let of_copies = block.datatype.bounds;
            let extent = block.datatype.extent();
            bounds = bounds.with(of_copies.copies(block.at, block.count, extent)?);
        }
        let parts = blocks.map(|block| Part {
            at: block.at,
            count: block.count,
            layout: &block.datatype.layout,
            extent: block.datatype.extent(),
        });
        // Bounds first: they say that no distance below is more than an address can say.
        let bounds = bounds.checked()?;
        Type::made(Layout::pieces(parts)?, bounds)
    }

    /// The same data between other bounds (MPI_Type_create_resized).
    pub fn resized(&self, lb: isize, extent: isize) -> Result<Type, Error> {
        let ub = too_large(lb.checked_add(extent))?;
        let bounds = Bounds {
            lb: Some(lb),
            ub: Some(ub),
            ..self.bounds
        };
        Type::made(self.layout.try_clone()?, bounds)
    }

    /// The same with each pair, which has a hole between its parts, in one piece, the hole among it: as such pairs travel
    /// in accumulates. `None`: it is not made of such pairs alone. Fails with [`Error::NoRoom`] or [`Error::Argument`].
    pub fn closed(&self, pair: Basic) -> Result<Option<Type>, Error> {
        let of_pair = Type::basic(pair)?.layout;
        let has = |tag| self.layout.tags().any(|other| other == tag);
        if !of_pair.tags().all(has) {
            return Ok(None);
        }
        let layout = self.layout.closed(&of_pair, (pair.extent(), pair as u8))?;
        let bounds = self.bounds;
        Ok(layout.map(|layout| Type { layout, bounds }))
    }

    /// Where its bytes are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of data (MPI_Type_size).
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// The lower bound.
    pub fn lb(&self) -> isize {
        self.bounds.lb()
    }

    /// The upper bound.
    pub fn ub(&self) -> isize {
        self.bounds.ub()
    }

    /// Bytes from one element to the next.
    pub fn extent(&self) -> isize {
        self.ub().wrapping_sub(self.lb())
    }

    /// From the first byte of data to the end of the last one: lower bound and length.
    pub fn true_extent(&self) -> (isize, isize) {
        let (first, end) = self.bounds.data.unwrap_or_default();
        (first, end - first)
    }

    /// Elements of it lie in memory without holes, in the order in which they travel: from where the first begins.
    pub fn is_row(&self) -> bool {
        self.layout.is_dense() && self.extent() == self.size() as isize
    }
}

/// An element of a datatype that is a number of `size` bytes (MPI_Type_match_size), if C has such a one.
pub fn match_size(class: NumberClass, size: c_int) -> Option<Basic> {
    use Basic::*;
    let candidates: &[Basic] = match class {
        NumberClass::Real => &[Float, Double, LongDouble],
        NumberClass::Integer => &[Int8, Int16, Int32, Int64],
        NumberClass::Complex => &[FloatComplex, DoubleComplex, LongDoubleComplex],
    };
    let fits = |basic: &&Basic| usize::try_from(size) == Ok(basic.size());
    candidates.iter().find(fits).copied()
}

/// What MPI_Type_match_size is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are MPI's.
pub enum NumberClass {
    Real,
    Integer,
    Complex,
}
