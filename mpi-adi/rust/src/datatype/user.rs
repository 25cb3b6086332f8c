//! Predefined and user-defined datatypes.
#![forbid(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;

use super::super::fatal;
use super::super::{Address, Count};
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::{ArrayOrder, DerivedType, GridDimension, TypeBlock, part_of};
use midplane_objects::error::Error;

/// A datatype in the form that calls use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DatatypeKind<'a> {
    Basic(BasicType),
    Made(&'a DerivedType),
}

impl DatatypeKind<'_> {
    /// Returns the packed size of an element in bytes.
    #[inline]
    pub(crate) fn size(self) -> usize {
        match self {
            DatatypeKind::Basic(basic) => basic.size(),
            DatatypeKind::Made(made) => made.size(),
        }
    }

    /// Returns the packed size of `count` elements in bytes, or [`Error::TooLong`].
    #[inline]
    pub(crate) fn bytes(self, count: usize) -> Result<usize, Error> {
        let bytes = self.size().checked_mul(count);
        bytes.ok_or(Error::TooLong { bytes: usize::MAX })
    }

    /// Returns the distance between consecutive elements in bytes.
    fn extent(self) -> isize {
        match self {
            DatatypeKind::Basic(basic) => basic.extent() as isize,
            DatatypeKind::Made(made) => made.extent(),
        }
    }

    /// Returns the offset of an element's data, and the bytes from there to its end.
    pub(crate) fn true_extent(self) -> (isize, isize) {
        match self {
            DatatypeKind::Basic(basic) => (0, basic.true_extent() as isize),
            DatatypeKind::Made(made) => made.true_extent(),
        }
    }

    /// Returns the byte range of `count` elements, which is empty if they have no bytes.
    pub(crate) fn range(self, count: usize) -> (i128, i128) {
        if count == 0 || self.size() == 0 {
            return (0, 0);
        }
        let (low, reach) = self.true_extent();
        let last = (count as i128 - 1) * self.extent() as i128;
        let high = low as i128 + reach as i128;
        (last.min(0) + low as i128, last.max(0) + high)
    }

    /// Returns the offset of the first byte of contiguous elements, or `None` for others.
    #[inline]
    pub(crate) fn row(self) -> Option<isize> {
        match self {
            DatatypeKind::Basic(_) => Some(0),
            DatatypeKind::Made(made) => made.is_row().then(|| made.layout().first()),
        }
    }

    /// Returns the number of basic elements in `bytes` bytes, or `None` if the last is partial.
    pub(crate) fn elements_in(self, bytes: usize) -> Option<usize> {
        match self {
            DatatypeKind::Basic(basic) => basic.elements_in(bytes),
            DatatypeKind::Made(made) => made.layout().items_in(bytes),
        }
    }

    /// Returns the size of `elements` basic elements in bytes, or `None` if it exceeds `usize`.
    pub(crate) fn bytes_of(self, elements: usize) -> Option<usize> {
        match self {
            DatatypeKind::Basic(basic) => basic.bytes_of(elements),
            DatatypeKind::Made(made) => made.layout().bytes_of(elements),
        }
    }

    /// Runs `f` with the datatype as layout and bounds. Returns its error, or [`Error::NoSpace`].
    pub(crate) fn with_type<R>(self, f: impl FnOnce(&DerivedType) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            DatatypeKind::Basic(basic) => f(&DerivedType::basic(basic)?),
            DatatypeKind::Made(made) => f(made),
        }
    }
}

pub(crate) mod sealed {
    /// Access to a datatype's description.
    pub trait HasDescription {
        fn described(&self) -> super::DatatypeDescription<'_>;
    }

    /// Type names of borrowed datatypes, without `Ref`, and of user-defined ones.
    pub trait CommitState {
        const NAMES: [&'static str; 2];
    }
    impl CommitState for super::CommittedState {
        const NAMES: [&'static str; 2] = ["Datatype", "UserDatatype"];
    }
    impl CommitState for super::UncommittedState {
        const NAMES: [&'static str; 2] = ["UncommittedDatatype", "UncommittedUserDatatype"];
    }
}
use sealed::HasDescription;

/// Description of a datatype, for this library.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct DatatypeDescription<'a>(pub(crate) DatatypeKind<'a>);

pub(crate) fn kind_of<D: UncommittedDatatype + ?Sized>(datatype: &D) -> DatatypeKind<'_> {
    datatype.described().0
}

/// A datatype for constructors, committed or not. Sealed, because it defines a buffer's checked bounds.
pub trait UncommittedDatatype: HasDescription {
    /// Type of a duplicate.
    type DuplicatedDatatype;

    /// Returns a duplicate (MPI_Type_dup, MPI-3.1 section 4.1.10), allocated from the heap. Does not block. Aborts the
    /// job when the heap has no space.
    fn dup(&self) -> Self::DuplicatedDatatype;

    /// Returns the size of an element's data in bytes (MPI_Type_size, MPI-3.1 section 4.1.5). Does not block.
    fn size(&self) -> usize {
        kind_of(self).size()
    }

    /// Returns the distance between consecutive elements in bytes (MPI_Type_get_extent, MPI-3.1 section 4.1.7). Does
    /// not block.
    fn extent(&self) -> Address {
        kind_of(self).extent()
    }

    /// Returns the lower bound: the distance from an element's address to its start, in bytes (MPI_Type_get_extent,
    /// MPI-3.1 section 4.1.7). Does not block.
    fn lower_bound(&self) -> Address {
        match kind_of(self) {
            DatatypeKind::Basic(_) => 0,
            DatatypeKind::Made(made) => made.lb(),
        }
    }

    /// Returns the offset of an element's data, and the bytes from there to its end, independent of its bounds
    /// (MPI_Type_get_true_extent, MPI-3.1 section 4.1.8). Does not block.
    fn true_extent(&self) -> (Address, Address) {
        kind_of(self).true_extent()
    }
}

/// A committed datatype, which messages can use (MPI-3.1 section 4.1.9). Sealed.
pub trait Datatype: UncommittedDatatype {}

impl<D: HasDescription + ?Sized> HasDescription for &D {
    fn described(&self) -> DatatypeDescription<'_> {
        (**self).described()
    }
}

impl<D: UncommittedDatatype + ?Sized> UncommittedDatatype for &D {
    type DuplicatedDatatype = D::DuplicatedDatatype;
    fn dup(&self) -> Self::DuplicatedDatatype {
        (**self).dup()
    }
}

impl<D: Datatype + ?Sized> Datatype for &D {}

/// State of a datatype that messages can use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommittedState;

/// State of a datatype that only constructors can use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UncommittedState;

/// A borrowed datatype: a [`DatatypeRef`] or an [`UncommittedDatatypeRef`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BorrowedDatatype<'a, C>(pub(crate) DatatypeKind<'a>, PhantomData<C>);

/// A user-defined datatype: a [`UserDatatype`] or an [`UncommittedUserDatatype`].
pub struct OwnDatatype<C>(pub(crate) DerivedType, PhantomData<C>);

/// A borrowed committed datatype; every predefined datatype is a `DatatypeRef<'static>`.
pub type DatatypeRef<'a> = BorrowedDatatype<'a, CommittedState>;
/// A borrowed datatype for constructors.
pub type UncommittedDatatypeRef<'a> = BorrowedDatatype<'a, UncommittedState>;
/// A predefined datatype, such as that of `f64` (MPI-3.1 section 3.2.2).
pub type SystemDatatype = DatatypeRef<'static>;
/// A committed user-defined datatype (MPI-3.1 section 4.1), allocated from the program's heap; its drop frees it.
pub type UserDatatype = OwnDatatype<CommittedState>;
/// An uncommitted user-defined datatype: constructors can use it, messages cannot.
pub type UncommittedUserDatatype = OwnDatatype<UncommittedState>;

impl<'a, C> BorrowedDatatype<'a, C> {
    pub(crate) const fn new(kind: DatatypeKind<'a>) -> Self {
        BorrowedDatatype(kind, PhantomData)
    }
}

impl<C> HasDescription for BorrowedDatatype<'_, C> {
    fn described(&self) -> DatatypeDescription<'_> {
        DatatypeDescription(self.0)
    }
}

impl<C> HasDescription for OwnDatatype<C> {
    fn described(&self) -> DatatypeDescription<'_> {
        DatatypeDescription(DatatypeKind::Made(&self.0))
    }
}

#[track_caller]
fn copy_of<C>(kind: DatatypeKind<'_>) -> OwnDatatype<C> {
    let made = kind.with_type(DerivedType::try_clone).map(OwnDatatype::new);
    fatal("mpi::datatype::UncommittedDatatype::dup (MPI_Type_dup)", made)
}

impl<C: sealed::CommitState> UncommittedDatatype for BorrowedDatatype<'_, C> {
    type DuplicatedDatatype = OwnDatatype<C>;
    #[track_caller]
    fn dup(&self) -> OwnDatatype<C> {
        copy_of(self.0)
    }
}

impl<C: sealed::CommitState> UncommittedDatatype for OwnDatatype<C> {
    type DuplicatedDatatype = OwnDatatype<C>;
    #[track_caller]
    fn dup(&self) -> OwnDatatype<C> {
        copy_of(DatatypeKind::Made(&self.0))
    }
}

impl Datatype for DatatypeRef<'_> {}
impl Datatype for UserDatatype {}

impl<C: sealed::CommitState> Clone for OwnDatatype<C> {
    fn clone(&self) -> Self {
        self.dup()
    }
}

impl<'a, C> From<&'a OwnDatatype<C>> for BorrowedDatatype<'a, C> {
    fn from(datatype: &'a OwnDatatype<C>) -> Self {
        BorrowedDatatype::new(DatatypeKind::Made(&datatype.0))
    }
}

impl<'a> From<&'a UserDatatype> for UncommittedDatatypeRef<'a> {
    fn from(datatype: &'a UserDatatype) -> Self {
        datatype.as_ref().into()
    }
}

impl<'a> From<DatatypeRef<'a>> for UncommittedDatatypeRef<'a> {
    fn from(datatype: DatatypeRef<'a>) -> Self {
        BorrowedDatatype::new(datatype.0)
    }
}

impl<C: sealed::CommitState> fmt::Debug for BorrowedDatatype<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DatatypeKind::Basic(basic) => write!(f, "{}Ref({basic:?})", C::NAMES[0]),
            DatatypeKind::Made(made) => write!(f, "{}Ref({} bytes)", C::NAMES[0], made.size()),
        }
    }
}

impl<C: sealed::CommitState> fmt::Debug for OwnDatatype<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({} bytes)", C::NAMES[1], self.0.size())
    }
}

pub(crate) fn wrong_count(count: Count) -> Error {
    let count = count.into();
    Error::Count { count }
}

fn number(count: Count) -> Result<usize, Error> {
    usize::try_from(count).map_err(|_| wrong_count(count))
}

fn same_number(a: usize, b: usize) -> Result<(), Error> {
    if a == b {
        Ok(())
    } else {
        Err(Error::argument(
            "as many displacements, and datatypes, as block lengths are needed",
        ))
    }
}

/// Returns pairs of a length and a displacement in bytes; `displacements` are multiples of `unit` bytes.
fn listed(
    lengths: impl ExactSizeIterator<Item = Count>,
    displacements: impl ExactSizeIterator<Item = isize>,
    unit: isize,
) -> Result<alloc::vec::Vec<(usize, isize)>, Error> {
    same_number(lengths.len(), displacements.len())?;
    let mut list = try_with_capacity(displacements.len())?;
    for (length, displacement) in lengths.zip(displacements) {
        let at = displacement
            .checked_mul(unit)
            .ok_or(Error::argument("a displacement greater than an address can say"))?;
        list.push((number(length)?, at));
    }
    Ok(list)
}

fn elements(displacements: &[Count]) -> impl ExactSizeIterator<Item = isize> {
    displacements.iter().map(|at| *at as isize)
}

impl<C> OwnDatatype<C> {
    pub(crate) const fn new(made: DerivedType) -> Self {
        OwnDatatype(made, PhantomData)
    }

    ends_the_job! {
        "mpi::datatype::UncommittedUserDatatype", [pub fn()], crate::NoObject;

        /// Creates `count` consecutive copies (MPI_Type_contiguous, MPI-3.1 section 4.1.2).
        contiguous[D: UncommittedDatatype](count: Count, oldtype: &D) -> Self, "MPI_Type_contiguous";
        /// [`contiguous`](Self::contiguous) that returns its error.
        or try_contiguous = Self::made(oldtype, |old| old.contiguous(number(count)?));

        /// Creates `count` blocks of `blocklength` copies, `stride` copies apart (MPI_Type_vector, MPI-3.1 section
        /// 4.1.2).
        vector[D: UncommittedDatatype](count: Count, blocklength: Count, stride: Count, oldtype: &D)
            -> Self, "MPI_Type_vector";
        /// [`vector`](Self::vector) that returns its error.
        or try_vector =
            Self::strided([count, blocklength], oldtype, |old| old.extent().checked_mul(stride as isize));

        /// [`vector`](Self::vector) with the stride in bytes (MPI_Type_create_hvector).
        heterogeneous_vector[D: UncommittedDatatype](count: Count, blocklength: Count, stride: Address, oldtype: &D)
            -> Self, "MPI_Type_create_hvector";
        /// [`heterogeneous_vector`](Self::heterogeneous_vector) that returns its error.
        or try_heterogeneous_vector = Self::strided([count, blocklength], oldtype, |_| Some(stride));

        /// Creates blocks of `blocklengths[i]` copies, `displacements[i]` copies from the start (MPI_Type_indexed,
        /// MPI-3.1 section 4.1.2).
        indexed[D: UncommittedDatatype](blocklengths: &[Count], displacements: &[Count], oldtype: &D)
            -> Self, "MPI_Type_indexed";
        /// [`indexed`](Self::indexed) that returns its error.
        or try_indexed =
            Self::blocks(oldtype, blocklengths.iter().copied(), elements(displacements), DerivedType::extent);

        /// [`indexed`](Self::indexed) with displacements in bytes (MPI_Type_create_hindexed).
        heterogeneous_indexed[D: UncommittedDatatype](blocklengths: &[Count], displacements: &[Address], oldtype: &D)
            -> Self, "MPI_Type_create_hindexed";
        /// [`heterogeneous_indexed`](Self::heterogeneous_indexed) that returns its error.
        or try_heterogeneous_indexed =
            Self::blocks(oldtype, blocklengths.iter().copied(), displacements.iter().copied(), |_| 1);

        /// [`indexed`](Self::indexed) with blocks of one length (MPI_Type_create_indexed_block).
        indexed_block[D: UncommittedDatatype](blocklength: Count, displacements: &[Count], oldtype: &D)
            -> Self, "MPI_Type_create_indexed_block";
        /// [`indexed_block`](Self::indexed_block) that returns its error.
        or try_indexed_block = {
            let lengths = displacements.iter().map(|_| blocklength);
            Self::blocks(oldtype, lengths, elements(displacements), DerivedType::extent)
        };

        /// [`indexed_block`](Self::indexed_block) with displacements in bytes (MPI_Type_create_hindexed_block).
        heterogeneous_indexed_block[D: UncommittedDatatype](blocklength: Count, displacements: &[Address], oldtype: &D)
            -> Self, "MPI_Type_create_hindexed_block";
        /// [`heterogeneous_indexed_block`](Self::heterogeneous_indexed_block) that returns its error.
        or try_heterogeneous_indexed_block = {
            let lengths = displacements.iter().map(|_| blocklength);
            Self::blocks(oldtype, lengths, displacements.iter().copied(), |_| 1)
        };

        /// Creates blocks of `blocklengths[i]` copies of `types[i]`, `displacements[i]` bytes from the start
        /// (MPI_Type_create_struct, MPI-3.1 section 4.1.2).
        structured[D: UncommittedDatatype](blocklengths: &[Count], displacements: &[Address], types: &[D])
            -> Self, "MPI_Type_create_struct";
        /// [`structured`](Self::structured) that returns its error.
        or try_structured = {
            let list = listed(blocklengths.iter().copied(), displacements.iter().copied(), 1)?;
            same_number(list.len(), types.len())?;
            let mut parts = try_with_capacity(types.len())?;
            for datatype in types {
                parts.push(kind_of(datatype).with_type(DerivedType::try_clone)?);
            }
            let block = |(&(count, at), datatype)| TypeBlock { at, count, datatype };
            DerivedType::blocks(list.iter().zip(&parts).map(block)).map(Self::new)
        };

        /// Creates a datatype of the same data with these bounds, in bytes (MPI_Type_create_resized, MPI-3.1 section
        /// 4.1.7).
        resized[D: UncommittedDatatype](lb: Address, extent: Address, oldtype: &D) -> Self, "MPI_Type_create_resized";
        /// [`resized`](Self::resized) that returns its error.
        or try_resized = Self::made(oldtype, |old| old.resized(lb, extent));

        /// Creates a part of a multidimensional array (MPI_Type_create_subarray, MPI-3.1 section 4.1.3): in each
        /// dimension `subsizes[i]` of `sizes[i]` elements from `starts[i]` on. Its extent is that of the array.
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::datatype::{ArrayOrder, UserDatatype, View};
        /// use mpi::traits::*;
        ///
        /// /// Sends the inner elements of a field with a border.
        /// fn send_inner(field: &[f64; 36], to: &impl Destination) {
        ///     let double = f64::equivalent_datatype();
        ///     let inner = UserDatatype::subarray(&[6, 6], &[4, 4], &[1, 1], ArrayOrder::C, &double);
        ///     to.send(&View::with_count_and_datatype(&field[..], 1, &inner));
        /// }
        /// ```
        subarray[D: UncommittedDatatype]
            (sizes: &[Count], subsizes: &[Count], starts: &[Count], order: ArrayOrder, oldtype: &D)
            -> Self, "MPI_Type_create_subarray";
        /// [`subarray`](Self::subarray) that returns its error.
        or try_subarray = {
            Self::made(oldtype, |old| {
                same_number(sizes.len(), subsizes.len())?;
                same_number(sizes.len(), starts.len())?;
                let mut dimensions = try_with_capacity(sizes.len())?;
                for ((&size, &part), &start) in sizes.iter().zip(subsizes).zip(starts) {
                    dimensions.push(part_of(number(size)?, number(part)?, number(start)?)?);
                }
                old.subarray(order, &dimensions)
            })
        };

        /// Creates one process's part of an array that is distributed over a process grid (MPI_Type_create_darray,
        /// MPI-3.1 section 4.1.4). Each dimension contains the process's coordinate, such as its Cartesian one.
        distributed_array[D: UncommittedDatatype](dimensions: &[GridDimension], order: ArrayOrder, oldtype: &D)
            -> Self, "MPI_Type_create_darray";
        /// [`distributed_array`](Self::distributed_array) that returns its error.
        or try_distributed_array = {
            Self::made(oldtype, |old| {
                for dimension in dimensions {
                    dimension.checked()?;
                }
                old.darray(order, dimensions)
            })
        };
    }

    /// Creates a datatype from one other, by `make`.
    fn made<D: UncommittedDatatype>(
        oldtype: &D,
        make: impl FnOnce(&DerivedType) -> Result<DerivedType, Error>,
    ) -> Result<Self, Error> {
        kind_of(oldtype).with_type(make).map(Self::new)
    }

    /// Creates blocks of one length. Returns an error for a stride beyond an address.
    fn strided<D: UncommittedDatatype>(
        [count, length]: [Count; 2],
        oldtype: &D,
        stride: impl Fn(&DerivedType) -> Option<isize>,
    ) -> Result<Self, Error> {
        Self::made(oldtype, |old| {
            let stride = stride(old).ok_or(Error::argument("a stride greater than an address can say"))?;
            old.vector(number(count)?, number(length)?, stride)
        })
    }

    /// Creates blocks of copies, each with its length and its displacement in multiples of `unit` bytes.
    fn blocks<D: UncommittedDatatype>(
        oldtype: &D,
        lengths: impl ExactSizeIterator<Item = Count>,
        displacements: impl ExactSizeIterator<Item = isize>,
        unit: fn(&DerivedType) -> isize,
    ) -> Result<Self, Error> {
        Self::made(oldtype, |datatype| {
            let blocks = listed(lengths, displacements, unit(datatype))?;
            let block = |&(count, at): &(usize, isize)| TypeBlock { at, count, datatype };
            DerivedType::blocks(blocks.iter().map(block))
        })
    }

    /// Returns it, borrowed.
    #[allow(clippy::should_implement_trait)] // The name is rsmpi's.
    pub fn as_ref(&self) -> BorrowedDatatype<'_, C> {
        self.into()
    }
}

impl UncommittedUserDatatype {
    /// Commits it (MPI_Type_commit, MPI-3.1 section 4.1.9). Changes only the type: every datatype is ready for use.
    pub fn commit(self) -> UserDatatype {
        OwnDatatype::new(self.0)
    }
}
