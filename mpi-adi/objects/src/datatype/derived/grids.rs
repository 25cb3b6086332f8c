//! Subarrays and distributed arrays (MPI-3.1 sections 4.1.3 and 4.1.4).
#![forbid(unsafe_code)]

use crate::datatype::derived::{DerivedType, TypeBlock, too_large};
use crate::error::Error;

/// Storage order of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayOrder {
    /// The last dimension is contiguous (MPI_ORDER_C).
    C,
    /// The first dimension is contiguous (MPI_ORDER_FORTRAN).
    Fortran,
}

/// Distribution of a dimension of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayDistribution {
    /// One block per process, of this many elements or as many as required.
    Block(Option<usize>),
    /// Blocks of this many elements, distributed round robin.
    Cyclic(usize),
    /// Not distributed.
    None,
}

/// A dimension of a distributed array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GridDimension {
    /// Elements of the global array, at least 1.
    pub elements: usize,
    /// Distribution of the elements.
    pub distribution: ArrayDistribution,
    /// Number of processes, at least 1.
    pub processes: usize,
    /// Index of this process, from 0.
    pub own: usize,
}

impl GridDimension {
    /// Checks the dimension. Fails with [`Error::Argument`] unless each of its elements is assigned to a valid process.
    pub fn checked(self) -> Result<Self, Error> {
        let wrong = |what| Err(Error::Argument { what });
        match self.distribution {
            ArrayDistribution::Block(Some(block)) if block.saturating_mul(self.processes) < self.elements => {
                wrong("blocks that are too short for the processes to have all elements")
            }
            ArrayDistribution::None if self.processes != 1 => {
                wrong("more than one process in a dimension that is not distributed")
            }
            ArrayDistribution::Cyclic(0) => wrong("a distribution in blocks without elements"),
            _ if self.elements == 0 || self.own >= self.processes => {
                wrong("a dimension without elements, or a process outside of the grid")
            }
            _ => Ok(self),
        }
    }
}

/// Checks a dimension with `elements` elements and a part with `own` elements from `first` on, given as possibly
/// negative numbers. Fails with [`Error::Argument`] if the part is invalid.
pub fn part_of<N>(elements: N, own: N, first: N) -> Result<(usize, usize, usize), Error>
where
    usize: TryFrom<N>,
{
    let part = || {
        let number = |given| usize::try_from(given).ok();
        let (elements, own, first) = (number(elements)?, number(own)?, number(first)?);
        let is_within = own > 0 && first <= elements.checked_sub(own)?;
        is_within.then_some((elements, own, first))
    };
    part().ok_or(Error::Argument {
        what: "a part that is empty or not within the array",
    })
}

/// Returns the nesting order of the dimensions, innermost first.
pub(super) fn inner_first(order: ArrayOrder, dimensions: usize) -> impl Iterator<Item = usize> {
    (0..dimensions).map(move |i| match order {
        ArrayOrder::C => dimensions - 1 - i,
        ArrayOrder::Fortran => i,
    })
}

fn moved(at: isize, by: usize, unit: isize) -> Result<isize, Error> {
    let by = isize::try_from(by).ok();
    too_large(by.and_then(|by| at.checked_add(by.checked_mul(unit)?)))
}

impl DerivedType {
    /// Returns the element type without bounds set by the program, and its extent: inside an array only the extent
    /// matters.
    fn element(&self) -> Result<(DerivedType, isize), Error> {
        let mut element = self.try_clone()?;
        (element.bounds.lb, element.bounds.ub) = (None, None);
        Ok((element, self.extent()))
    }

    /// Returns this type, displaced by `at`, as a part of an array of `extent` bytes.
    fn within(&self, at: isize, extent: isize) -> Result<DerivedType, Error> {
        let datatype = self;
        let placed = DerivedType::blocks(core::iter::once(TypeBlock { at, count: 1, datatype }))?;
        placed.resized(0, extent)
    }

    /// Creates the type of a subarray (MPI_Type_create_subarray). Each dimension is (elements of the array, elements of
    /// the part, first element).
    pub fn subarray(&self, order: ArrayOrder, dimensions: &[(usize, usize, usize)]) -> Result<DerivedType, Error> {
        let (mut part, mut unit) = self.element()?;
        let mut at = 0;
        for dimension in inner_first(order, dimensions.len()) {
            let (elements, own, first) = dimensions[dimension];
            part = part.repeated(own, unit)?;
            at = moved(at, first, unit)?;
            unit = moved(0, elements, unit)?;
        }
        part.within(at, unit)
    }

    /// Creates the type of a process's part of a distributed array (MPI_Type_create_darray).
    pub fn darray(&self, order: ArrayOrder, dimensions: &[GridDimension]) -> Result<DerivedType, Error> {
        let (mut part, mut unit) = self.element()?;
        let mut at = 0;
        for dimension in inner_first(order, dimensions.len()) {
            let dimension = dimensions[dimension];
            let (elements, own) = (dimension.elements, dimension.own);
            let block = match dimension.distribution {
                ArrayDistribution::None => elements,
                ArrayDistribution::Block(given) => given.unwrap_or(elements.div_ceil(dimension.processes)),
                ArrayDistribution::Cyclic(block) => block,
            };
            let first = too_large(block.checked_mul(own))?;
            part = match dimension.distribution {
                ArrayDistribution::Cyclic(_) => part.dealt(dimension, block, first, unit)?,
                _ => part.repeated(elements.saturating_sub(first).min(block), unit)?,
            };
            at = moved(at, first.min(elements), unit)?;
            unit = moved(0, elements, unit)?;
        }
        part.within(at, unit)
    }

    /// Returns this process's part of a dimension distributed in blocks, from its first element on.
    fn dealt(&self, dimension: GridDimension, block: usize, first: usize, unit: isize) -> Result<DerivedType, Error> {
        let left = dimension.elements.saturating_sub(first);
        let round = too_large(block.checked_mul(dimension.processes))?;
        let stride = moved(0, round, unit)?;
        let (rounds, rest) = (left / round, left % round);
        // The last round may end within the block.
        let (whole, last) = if rest >= block { (rounds + 1, 0) } else { (rounds, rest) };
        let blocks = self.repeated(block, unit)?.repeated(whole, stride)?;
        if last == 0 {
            return Ok(blocks);
        }
        let end = self.repeated(last, unit)?;
        let part = |at, datatype| TypeBlock { at, count: 1, datatype };
        let behind = moved(0, whole, stride)?;
        DerivedType::blocks([part(0, &blocks), part(behind, &end)].into_iter())
    }
}
