//! Datatypes by handle: the predefined ones, and objects created by the program.

use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use spin::Mutex;

use super::try_arc::TryArc;
use crate::handles::{HandleKind, HandleTable};
use crate::lazy_callback::LazyCallback;
use midplane_device::interface::HAS_FAST_PATH;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::{DerivedType, PairLayout};
use midplane_objects::error::{Error, LimitedResource};

const LB: c_int = 0x2f0;
const UB: c_int = 0x2f1;
/// Predefined datatypes of C++ and Fortran, with the sizes that GCC uses (annex A.1). Each has a separate handle and
/// name; its elements are those of a C datatype.
const OTHERS: [(c_int, BasicType, &str); 24] = [
    (0x213, BasicType::FloatComplex, "MPI_CXX_FLOAT_COMPLEX"),
    (0x217, BasicType::DoubleComplex, "MPI_CXX_DOUBLE_COMPLEX"),
    (0x218, BasicType::Int, "MPI_LOGICAL"),
    (0x219, BasicType::Int, "MPI_INTEGER"),
    (0x21a, BasicType::Float, "MPI_REAL"),
    (0x21b, BasicType::FloatComplex, "MPI_COMPLEX"),
    (0x21c, BasicType::Double, "MPI_DOUBLE_PRECISION"),
    (0x21d, BasicType::DoubleComplex, "MPI_DOUBLE_COMPLEX"),
    (0x21e, BasicType::Char, "MPI_CHARACTER"),
    (0x225, BasicType::LongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX"),
    (0x232, BasicType::TwoInt, "MPI_2INTEGER"),
    (0x239, BasicType::CBool, "MPI_CXX_BOOL"),
    (0x2c0, BasicType::Int8, "MPI_LOGICAL1"),
    (0x2c1, BasicType::Int8, "MPI_INTEGER1"),
    (0x2c8, BasicType::Int16, "MPI_LOGICAL2"),
    (0x2c9, BasicType::Int16, "MPI_INTEGER2"),
    (0x2d0, BasicType::Int32, "MPI_LOGICAL4"),
    (0x2d1, BasicType::Int32, "MPI_INTEGER4"),
    (0x2d2, BasicType::Float, "MPI_REAL4"),
    (0x2d8, BasicType::Int64, "MPI_LOGICAL8"),
    (0x2d9, BasicType::Int64, "MPI_INTEGER8"),
    (0x2da, BasicType::Double, "MPI_REAL8"),
    (0x2db, BasicType::FloatComplex, "MPI_COMPLEX8"),
    (0x2e3, BasicType::DoubleComplex, "MPI_COMPLEX16"),
];

/// Lowest handle of the predefined datatypes: MPI_DATATYPE_NULL.
const FIRST: c_int = 0x200;
/// Number of handles from [`FIRST`] to the last one of a datatype without a size in its name.
const COMMON: usize = 0x5a;
/// Lowest handle of the datatypes with a size in their names, and the number of handles from it to the last one.
const FIRST_SIZED: c_int = 0x2c0;
const SIZED: usize = 0x24;
/// Predefined datatypes by handle: from [`FIRST`], and then from [`FIRST_SIZED`]. Some handles are of no datatype.
static BY_HANDLE: [Option<BasicType>; COMMON + SIZED] = {
    let mut all = [None; COMMON + SIZED];
    let mut at = 0;
    while at < BasicType::ALL.len() {
        let basic = BasicType::ALL[at];
        all[place(basic.handle())] = Some(basic);
        at += 1;
    }
    at = 0;
    while at < OTHERS.len() {
        let (handle, basic, _) = OTHERS[at];
        all[place(handle)] = Some(basic);
        at += 1;
    }
    all
};

/// Returns the index of a predefined datatype's handle in [`BY_HANDLE`]; it is out of range for other handles.
const fn place(handle: c_int) -> usize {
    let common = handle.wrapping_sub(FIRST) as u32 as usize;
    let sized = handle.wrapping_sub(FIRST_SIZED) as u32 as usize;
    if common < COMMON {
        common
    } else if sized < SIZED {
        COMMON + sized
    } else {
        usize::MAX
    }
}

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Datatypes,
    tag: 0x7000_0000,
    place_bits: 18,
    generation_bits: 10,
    limit: 1 << 18,
};

/// Bytes of an object on a 64-bit machine, without the constructor arguments.
pub const OBJECT_BYTES: usize = 280;
const _: () = assert!(usize::BITS != 64 || size_of::<DatatypeObject>() + 2 * size_of::<usize>() <= OBJECT_BYTES);

/// Constructor and arguments of a datatype (section 4.1.13).
pub struct TypeConstructor {
    pub combiner: c_int,
    /// Whether `addresses` are the counts of a large-count form, which has no addresses.
    pub has_large_counts: bool,
    pub integers: Vec<c_int>,
    pub addresses: Vec<isize>,
    pub datatypes: Vec<KnownDatatype>,
}

pub struct DatatypeObject {
    pub datatype: DerivedType,
    pub recipe: TypeConstructor,
    committed: AtomicBool,
    pub name: Mutex<Vec<u8>>,
}

impl DatatypeObject {
    fn new(datatype: DerivedType, recipe: TypeConstructor) -> DatatypeObject {
        DatatypeObject {
            datatype,
            recipe,
            committed: AtomicBool::new(false),
            name: Mutex::new(Vec::new()),
        }
    }

    fn nameless(datatype: DerivedType) -> DatatypeObject {
        let recipe = TypeConstructor {
            combiner: 0,
            integers: Vec::new(),
            has_large_counts: false,
            addresses: Vec::new(),
            datatypes: Vec::new(),
        };
        let object = DatatypeObject::new(datatype, recipe);
        object.commit();
        object
    }

    pub fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }
}

impl Drop for DatatypeObject {
    /// Drops the component datatypes iteratively, because nested datatypes can form a chain of any length.
    fn drop(&mut self) {
        let mut waiting = core::mem::take(&mut self.recipe.datatypes);
        while let Some(datatype) = waiting.pop() {
            let KnownDatatype::Made(object) = datatype else {
                continue;
            };
            let Some(mut object) = object.into_last() else {
                continue;
            };
            let more = core::mem::take(&mut object.recipe.datatypes);
            // Without memory for the list they are dropped immediately, each with its components.
            if waiting.try_reserve(more.len()).is_ok() {
                waiting.extend(more);
            }
        }
    }
}

/// Datatype of a handle.
#[derive(Clone)]
pub enum KnownDatatype {
    /// A predefined datatype with this handle; some have more than one handle.
    Basic(BasicType, c_int),
    /// MPI_LB or MPI_UB.
    Marker {
        is_upper: bool,
    },
    Made(TryArc<DatatypeObject>),
}

/// Size and bounds of a datatype in bytes.
#[derive(Clone, Copy)]
pub struct SizeAndBounds {
    pub size: usize,
    pub lb: isize,
    pub extent: isize,
    pub true_lb: isize,
    pub true_extent: isize,
}

impl SizeAndBounds {
    pub fn ub(&self) -> isize {
        self.lb.wrapping_add(self.extent)
    }
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<HandleTable<TryArc<DatatypeObject>>> = Mutex::new(HandleTable::new(KIND));

/// Returns the element size in bytes of a datatype without holes; 0 for others.
const fn bytes_without_holes(basic: BasicType) -> u8 {
    if basic.size() == basic.extent() {
        basic.extent() as u8
    } else {
        0
    }
}

/// Element sizes in bytes by datatype ([`BasicType`]); 0 for those with holes.
static BASIC_BYTES: [u8; BasicType::ALL.len() + 1] = {
    let mut bytes = [0; BasicType::ALL.len() + 1];
    let mut at = 0;
    while at < BasicType::ALL.len() {
        let basic = BasicType::ALL[at];
        bytes[basic as usize] = bytes_without_holes(basic);
        at += 1;
    }
    bytes
};

/// The same by handle from [`FIRST`], for the fast path; 0 also for handles of no datatype.
static ROWS: [u8; COMMON] = {
    let mut bytes = [0; COMMON];
    let mut at = 0;
    while at < COMMON {
        if let Some(basic) = BY_HANDLE[at] {
            bytes[at] = bytes_without_holes(basic);
        }
        at += 1;
    }
    bytes
};

/// Returns the element size in bytes of a predefined datatype without holes; `None` for other handles.
pub fn row_bytes(handle: c_int) -> Option<usize> {
    if HAS_FAST_PATH && let Some(bytes) = plain_bytes(handle) {
        return Some(bytes);
    }
    match BASIC_BYTES.get(predefined(handle)? as usize) {
        Some(0) | None => None,
        Some(bytes) => Some((*bytes).into()),
    }
}

/// Returns the index in [`PairLayout::ALL`] of a C pair; `None` for other handles.
pub fn pair(handle: c_int) -> Option<usize> {
    let at = (predefined(handle)? as usize - 1).checked_sub(PairLayout::FIRST)?;
    (at < PairLayout::ALL.len()).then_some(at)
}

/// Returns the element size in bytes of a predefined datatype without holes (the common case): with a fast path, of one
/// without a size in its name.
#[inline(always)]
pub fn plain_bytes(handle: c_int) -> Option<usize> {
    if !HAS_FAST_PATH {
        // The image has no space for another table.
        return row_bytes(handle);
    }
    match ROWS.get(handle.wrapping_sub(FIRST) as u32 as usize) {
        Some(0) | None => None,
        Some(bytes) => Some((*bytes).into()),
    }
}

fn predefined(handle: c_int) -> Option<BasicType> {
    *BY_HANDLE.get(place(handle))?
}

/// Returns the C++ or Fortran name of a datatype in [`OTHERS`].
pub fn other_name(handle: c_int) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(its, ..)| *its == handle);
    other.map(|(_, _, name)| *name)
}

/// Returns the datatype with handle `handle`. Fails with [`Error::Datatype`].
pub fn known(handle: c_int) -> Result<KnownDatatype, Error> {
    if let Some(basic) = predefined(handle) {
        return Ok(KnownDatatype::Basic(basic, handle));
    }
    match handle {
        LB | UB => Ok(KnownDatatype::Marker { is_upper: handle == UB }),
        _ => made(handle).map(|object| {
            let basic = KINDS.get().and_then(|basic| basic(&object));
            basic.map_or(KnownDatatype::Made(object), |basic| KnownDatatype::Basic(basic, handle))
        }),
    }
}

/// Returns the predefined datatype that an object stands for: a datatype of a Fortran kind. Installed with the first of
/// them.
pub(super) static KINDS: LazyCallback<fn(&DatatypeObject) -> Option<BasicType>> = LazyCallback::new();

/// Finds datatypes created by the program. Installed with the first such handle, so that the image of a program without
/// one does not contain this code.
static LOOK: LazyCallback<LookupFn> = LazyCallback::new();

type LookupFn = fn(c_int) -> Option<TryArc<DatatypeObject>>;

/// Returns the datatype created by the program with handle `handle`. Fails with [`Error::Datatype`].
pub fn made(handle: c_int) -> Result<TryArc<DatatypeObject>, Error> {
    let look = LOOK.get();
    let found = look.and_then(|look| look(handle));
    found.ok_or(Error::Datatype { handle })
}

/// Returns a committed datatype; see [`made`]. Also fails with [`Error::Uncommitted`].
pub fn committed(handle: c_int) -> Result<TryArc<DatatypeObject>, Error> {
    let object = made(handle)?;
    if object.is_committed() {
        Ok(object)
    } else {
        Err(Error::Uncommitted { handle })
    }
}

/// Adds a datatype and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub fn enter(datatype: DerivedType, recipe: TypeConstructor) -> Result<c_int, Error> {
    enter_object(TryArc::new(DatatypeObject::new(datatype, recipe))?)
}

/// Adds another handle of the datatype with this handle; `None` for a handle that cannot be freed, or of no datatype.
/// Fails like [`enter`].
pub fn another_handle(handle: c_int) -> Result<Option<c_int>, Error> {
    match known(handle) {
        Ok(KnownDatatype::Made(object)) => enter_again(&object).map(Some),
        _ => Ok(None),
    }
}

/// Adds another handle of a datatype. Fails like [`enter`].
pub fn enter_again(object: &TryArc<DatatypeObject>) -> Result<c_int, Error> {
    enter_object(object.clone())
}

fn enter_object(object: TryArc<DatatypeObject>) -> Result<c_int, Error> {
    LOOK.set(|handle| TABLE.lock().get(handle).cloned());
    HOLD.set(|handle, what| match what {
        HandleHold::Begin => TABLE.lock().hold(handle),
        HandleHold::Show(is_shown) => TABLE.lock().show(handle, is_shown),
        HandleHold::End => {
            let last = TABLE.lock().end_hold(handle);
            last.is_some()
        }
    });
    TABLE.lock().add(object)
}

/// Operation on a handle that is passed to user-defined functions.
enum HandleHold {
    Begin,
    Show(bool),
    End,
}

/// Performs it. Installed with the first handle created by the program, like [`LOOK`].
static HOLD: LazyCallback<fn(c_int, HandleHold) -> bool> = LazyCallback::new();

/// A handle for user-defined functions: while they run it refers to the same datatype, freed or not.
pub struct HeldHandle {
    handle: c_int,
    /// Function that holds it; not required for a predefined handle.
    hold: Option<fn(c_int, HandleHold) -> bool>,
}

impl HeldHandle {
    /// Holds the handle of this datatype. Fails with [`Error::Datatype`] if it has too many holders.
    pub fn new(handle: c_int, known: &KnownDatatype) -> Result<HeldHandle, Error> {
        let hold = match known {
            KnownDatatype::Made(_) => HOLD.get(),
            _ => None,
        };
        if hold.is_none_or(|hold| hold(handle, HandleHold::Begin)) {
            Ok(HeldHandle { handle, hold })
        } else {
            Err(Error::Datatype { handle })
        }
    }

    /// Calls a user-defined function with it.
    pub fn with_handle<R>(&self, call: impl FnOnce(c_int) -> R) -> R {
        let Some(hold) = self.hold else {
            return call(self.handle);
        };
        let was_shown = hold(self.handle, HandleHold::Show(true));
        let result = call(self.handle);
        if !was_shown {
            hold(self.handle, HandleHold::Show(false));
        }
        result
    }
}

impl Drop for HeldHandle {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            hold(self.handle, HandleHold::End);
        }
    }
}

/// Returns the bytes of data in an element. Fails with [`Error::Datatype`].
// Inlined, so that both forms of MPI_Get_count have their own.
#[inline(always)]
pub fn size_of_one(handle: c_int) -> Result<usize, Error> {
    if let Some(bytes) = row_bytes(handle) {
        return Ok(bytes);
    }
    match (pair(handle), handle) {
        (Some(at), _) => Ok(PairLayout::ALL[at].size()),
        (None, LB | UB) => Ok(0),
        _ => made(handle).map(|object| object.datatype.size()),
    }
}

/// Frees a handle; its datatype remains as long as other references exist. Fails with [`Error::Datatype`].
pub fn free_handle(handle: c_int) -> Result<(), Error> {
    let object = TABLE.lock().free(handle);
    match object {
        Some(_) => Ok(()),
        None => Err(Error::Datatype { handle }),
    }
}

impl KnownDatatype {
    /// Returns a predefined datatype with its C handle.
    pub fn from_basic(basic: BasicType) -> KnownDatatype {
        KnownDatatype::Basic(basic, basic.handle())
    }

    /// Returns its handle, if the handle is constant.
    pub fn handle(&self) -> Option<c_int> {
        match self {
            KnownDatatype::Basic(_, handle) => Some(*handle),
            KnownDatatype::Marker { is_upper: true } => Some(UB),
            KnownDatatype::Marker { is_upper: false } => Some(LB),
            KnownDatatype::Made(_) => None,
        }
    }

    /// Returns its size and bounds. Does not allocate.
    pub fn facts(&self) -> SizeAndBounds {
        let of = |datatype: &DerivedType| {
            let (true_lb, true_extent) = datatype.true_extent();
            SizeAndBounds {
                size: datatype.size(),
                lb: datatype.lb(),
                extent: datatype.extent(),
                true_lb,
                true_extent,
            }
        };
        match self {
            KnownDatatype::Basic(basic, _) => SizeAndBounds {
                size: basic.size(),
                lb: 0,
                extent: basic.extent() as isize,
                true_lb: 0,
                true_extent: basic.true_extent() as isize,
            },
            KnownDatatype::Marker { is_upper } => of(&DerivedType::marker(*is_upper)),
            KnownDatatype::Made(object) => of(&object.datatype),
        }
    }

    /// Returns the number of basic elements in `bytes` bytes; `None` if the last one is incomplete. Does not allocate.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        match self {
            KnownDatatype::Basic(basic, _) => basic.elements_in(bytes),
            KnownDatatype::Marker { .. } => (bytes == 0).then_some(0),
            KnownDatatype::Made(object) => object.datatype.layout().items_in(bytes),
        }
    }

    /// Returns the bytes of `elements` basic elements; `None` on `usize` overflow. Does not allocate.
    pub fn bytes_of(&self, elements: usize) -> Option<usize> {
        match self {
            KnownDatatype::Basic(basic, _) => basic.bytes_of(elements),
            KnownDatatype::Marker { .. } => (elements == 0).then_some(0),
            KnownDatatype::Made(object) => object.datatype.layout().bytes_of(elements),
        }
    }

    /// Runs `f` with its type. Fails like `f`, and with [`Error::NoSpace`].
    pub fn with_type<R>(&self, f: impl FnOnce(&DerivedType) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            KnownDatatype::Basic(basic, _) => f(&DerivedType::basic(*basic)?),
            KnownDatatype::Marker { is_upper } => f(&DerivedType::marker(*is_upper)),
            KnownDatatype::Made(object) => f(&object.datatype),
        }
    }
}

/// Used pairs as objects; created once, because they have holes.
static PAIRS: Mutex<[Option<TryArc<DatatypeObject>>; PairLayout::ALL.len()]> =
    Mutex::new([const { None }; PairLayout::ALL.len()]);

/// Returns the pair at this index of [`PairLayout::ALL`] as an object. Fails with [`Error::NoSpace`].
pub fn object_of(at: usize) -> Result<TryArc<DatatypeObject>, Error> {
    let place = &mut PAIRS.lock()[at];
    if let Some(object) = place {
        return Ok(object.clone());
    }
    let datatype = DerivedType::pair(PairLayout::ALL[at])?;
    let object = TryArc::lasting(|| DatatypeObject::nameless(datatype))?;
    *place = Some(object.clone());
    Ok(object)
}

/// Creates a committed datatype without a handle. Fails with [`Error::NoSpace`].
pub fn nameless(datatype: DerivedType) -> Result<TryArc<DatatypeObject>, Error> {
    TryArc::new(DatatypeObject::nameless(datatype))
}
