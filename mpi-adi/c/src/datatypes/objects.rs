//! Datatypes by handle: the predefined ones, and objects created by the program.

use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use spin::Mutex;

use super::shared::Shared;
use crate::handles::{Kind, Table};
use crate::hook::Hook;
use midplane_objects::datatype::Basic;
use midplane_objects::datatype::derived::{Pair, Type};
use midplane_objects::error::{Error, Limited};

const PREDEFINED: c_int = 0x4c00_0000;
const LB: c_int = 0x4c00_00f0;
const UB: c_int = 0x4c00_00f1;
/// Predefined datatypes of C++ and Fortran, with the sizes that GCC uses (annex A.1). Each has a separate handle and
/// name; its elements are those of a C datatype. Their handles follow those of [`Basic::ALL`].
const OTHERS: [(Basic, &str); 20] = [
    (Basic::CBool, "MPI_CXX_BOOL"),
    (Basic::FloatComplex, "MPI_CXX_FLOAT_COMPLEX"),
    (Basic::DoubleComplex, "MPI_CXX_DOUBLE_COMPLEX"),
    (Basic::LongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX"),
    (Basic::Char, "MPI_CHARACTER"),
    (Basic::Int, "MPI_LOGICAL"),
    (Basic::Int, "MPI_INTEGER"),
    (Basic::Float, "MPI_REAL"),
    (Basic::Double, "MPI_DOUBLE_PRECISION"),
    (Basic::FloatComplex, "MPI_COMPLEX"),
    (Basic::DoubleComplex, "MPI_DOUBLE_COMPLEX"),
    (Basic::TwoInt, "MPI_2INTEGER"),
    (Basic::Int8, "MPI_INTEGER1"),
    (Basic::Int16, "MPI_INTEGER2"),
    (Basic::Int32, "MPI_INTEGER4"),
    (Basic::Int64, "MPI_INTEGER8"),
    (Basic::Float, "MPI_REAL4"),
    (Basic::Double, "MPI_REAL8"),
    (Basic::FloatComplex, "MPI_COMPLEX8"),
    (Basic::DoubleComplex, "MPI_COMPLEX16"),
];
/// Predefined datatypes in handle order.
const BY_HANDLE: [Basic; Basic::ALL.len() + OTHERS.len()] = {
    let mut all = [Basic::Byte; Basic::ALL.len() + OTHERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < Basic::ALL.len() {
            Basic::ALL[at]
        } else {
            OTHERS[at - Basic::ALL.len()].0
        };
        at += 1;
    }
    all
};
/// Number of predefined datatypes without holes; the pairs follow them.
const PLAIN: usize = Pair::FIRST;

const KIND: Kind = Kind {
    name: Limited::Datatypes,
    tag: 0x7000_0000,
    place_bits: 18,
    generation_bits: 10,
    limit: 1 << 18,
};

/// Bytes of an object on a 64-bit machine, without the constructor arguments.
pub const OBJECT_BYTES: usize = 280;
const _: () =
    assert!(usize::BITS != 64 || size_of::<Object>() + 2 * size_of::<usize>() <= OBJECT_BYTES);

/// Constructor and arguments of a datatype (section 4.1.13).
pub struct Recipe {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<isize>,
    pub datatypes: Vec<Known>,
}

pub struct Object {
    pub datatype: Type,
    pub recipe: Recipe,
    committed: AtomicBool,
    pub name: Mutex<Vec<u8>>,
}

impl Object {
    fn new(datatype: Type, recipe: Recipe) -> Object {
        Object {
            datatype,
            recipe,
            committed: AtomicBool::new(false),
            name: Mutex::new(Vec::new()),
        }
    }

    fn nameless(datatype: Type) -> Object {
        let recipe = Recipe {
            combiner: 0,
            integers: Vec::new(),
            addresses: Vec::new(),
            datatypes: Vec::new(),
        };
        let object = Object::new(datatype, recipe);
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

impl Drop for Object {
    /// Drops the component datatypes iteratively, because nested datatypes can form a chain of any length.
    fn drop(&mut self) {
        let mut waiting = core::mem::take(&mut self.recipe.datatypes);
        while let Some(datatype) = waiting.pop() {
            let Known::Made(object) = datatype else {
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
pub enum Known {
    /// A predefined datatype with this handle; some have more than one handle.
    Basic(Basic, c_int),
    /// MPI_LB or MPI_UB.
    Marker {
        is_upper: bool,
    },
    Made(Shared<Object>),
}

/// Size and bounds of a datatype in bytes.
#[derive(Clone, Copy)]
pub struct Facts {
    pub size: usize,
    pub lb: isize,
    pub extent: isize,
    pub true_lb: isize,
    pub true_extent: isize,
}

impl Facts {
    pub fn ub(&self) -> isize {
        self.lb.wrapping_add(self.extent)
    }
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<Table<Shared<Object>>> = Mutex::new(Table::new(KIND));

/// Element sizes of the predefined datatypes in bytes, by handle; 0 for those with holes.
static ROWS: [u8; BY_HANDLE.len()] = {
    let mut bytes = [0; BY_HANDLE.len()];
    let mut at = 0;
    while at < bytes.len() {
        if BY_HANDLE[at].size() == BY_HANDLE[at].extent() {
            bytes[at] = BY_HANDLE[at].extent() as u8;
        }
        at += 1;
    }
    bytes
};

/// Returns the element size in bytes of a predefined datatype without holes; `None` for other handles.
pub fn row_bytes(handle: c_int) -> Option<usize> {
    match ROWS.get(place(handle)?) {
        Some(0) | None => None,
        Some(bytes) => Some((*bytes).into()),
    }
}

/// Returns the index in [`Pair::ALL`] of a C pair; `None` for other handles.
pub fn pair(handle: c_int) -> Option<usize> {
    let at = place(handle)?.checked_sub(PLAIN)?;
    (at < Pair::ALL.len()).then_some(at)
}

/// Returns the element size in bytes of a C datatype other than a pair (the common case).
#[inline(always)]
pub fn plain_bytes(handle: c_int) -> Option<usize> {
    ROWS[..PLAIN]
        .get(place(handle)?)
        .map(|bytes| usize::from(*bytes))
}

fn predefined(handle: c_int) -> Option<Basic> {
    BY_HANDLE.get(place(handle)?).copied()
}

/// Returns the index of a predefined datatype's handle; it may be out of range.
#[inline]
fn place(handle: c_int) -> Option<usize> {
    usize::try_from(handle.wrapping_sub(PREDEFINED + 1)).ok()
}

/// Returns the C++ or Fortran name of a datatype in [`OTHERS`].
pub fn other_name(handle: c_int) -> Option<&'static str> {
    let at = place(handle)?.checked_sub(Basic::ALL.len())?;
    OTHERS.get(at).map(|(_, name)| *name)
}

/// Returns the datatype with handle `handle`. Fails with [`Error::Datatype`].
pub fn known(handle: c_int) -> Result<Known, Error> {
    if let Some(basic) = predefined(handle) {
        return Ok(Known::Basic(basic, handle));
    }
    match handle {
        LB | UB => Ok(Known::Marker {
            is_upper: handle == UB,
        }),
        _ => made(handle).map(Known::Made),
    }
}

/// Finds datatypes created by the program. Installed with the first such handle, so that the image of a program without
/// one does not contain this code.
static LOOK: Hook<Look> = Hook::new();

type Look = fn(c_int) -> Option<Shared<Object>>;

/// Returns the datatype created by the program with handle `handle`. Fails with [`Error::Datatype`].
pub fn made(handle: c_int) -> Result<Shared<Object>, Error> {
    let look = LOOK.get();
    let found = look.and_then(|look| look(handle));
    found.ok_or(Error::Datatype { handle })
}

/// Returns a committed datatype; see [`made`]. Also fails with [`Error::Uncommitted`].
pub fn committed(handle: c_int) -> Result<Shared<Object>, Error> {
    let object = made(handle)?;
    if object.is_committed() {
        Ok(object)
    } else {
        Err(Error::Uncommitted { handle })
    }
}

/// Adds a datatype and returns its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
pub fn enter(datatype: Type, recipe: Recipe) -> Result<c_int, Error> {
    enter_object(Shared::new(Object::new(datatype, recipe))?)
}

/// Adds another handle of a datatype. Fails like [`enter`].
pub fn enter_again(object: &Shared<Object>) -> Result<c_int, Error> {
    enter_object(object.clone())
}

fn enter_object(object: Shared<Object>) -> Result<c_int, Error> {
    LOOK.set(|handle| TABLE.lock().get(handle).cloned());
    HOLD.set(|handle, what| match what {
        Hold::Begin => TABLE.lock().hold(handle),
        Hold::Show(is_shown) => TABLE.lock().show(handle, is_shown),
        Hold::End => {
            let last = TABLE.lock().end_hold(handle);
            last.is_some()
        }
    });
    TABLE.lock().add(object)
}

/// Operation on a handle that is passed to user-defined functions.
enum Hold {
    Begin,
    Show(bool),
    End,
}

/// Performs it. Installed with the first handle created by the program, like [`LOOK`].
static HOLD: Hook<fn(c_int, Hold) -> bool> = Hook::new();

/// A handle for user-defined functions: while they run it refers to the same datatype, freed or not.
pub struct HeldHandle {
    handle: c_int,
    /// Function that holds it; not required for a predefined handle.
    hold: Option<fn(c_int, Hold) -> bool>,
}

impl HeldHandle {
    /// Holds the handle of this datatype. Fails with [`Error::Datatype`] if it has too many holders.
    pub fn new(handle: c_int, known: &Known) -> Result<HeldHandle, Error> {
        let hold = match known {
            Known::Made(_) => HOLD.get(),
            _ => None,
        };
        if hold.is_none_or(|hold| hold(handle, Hold::Begin)) {
            Ok(HeldHandle { handle, hold })
        } else {
            Err(Error::Datatype { handle })
        }
    }

    /// Calls a user-defined function with it.
    pub fn lend<R>(&self, call: impl FnOnce(c_int) -> R) -> R {
        let Some(hold) = self.hold else {
            return call(self.handle);
        };
        let was_shown = hold(self.handle, Hold::Show(true));
        let result = call(self.handle);
        if !was_shown {
            hold(self.handle, Hold::Show(false));
        }
        result
    }
}

impl Drop for HeldHandle {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            hold(self.handle, Hold::End);
        }
    }
}

/// Returns the bytes of data in an element. Fails with [`Error::Datatype`].
pub fn size_of_one(handle: c_int) -> Result<usize, Error> {
    if let Some(bytes) = row_bytes(handle) {
        return Ok(bytes);
    }
    match (pair(handle), handle) {
        (Some(at), _) => Ok(Pair::ALL[at].size()),
        (None, LB | UB) => Ok(0),
        _ => made(handle).map(|object| object.datatype.size()),
    }
}

/// Frees a handle; its datatype remains as long as other references exist. Fails with [`Error::Datatype`].
pub fn leave(handle: c_int) -> Result<(), Error> {
    let object = TABLE.lock().free(handle);
    match object {
        Some(_) => Ok(()),
        None => Err(Error::Datatype { handle }),
    }
}

impl Known {
    /// Returns a predefined datatype with its C handle.
    pub fn of_basic(basic: Basic) -> Known {
        Known::Basic(basic, PREDEFINED + basic as c_int)
    }

    /// Returns its handle, if the handle is constant.
    pub fn handle(&self) -> Option<c_int> {
        match self {
            Known::Basic(_, handle) => Some(*handle),
            Known::Marker { is_upper: true } => Some(UB),
            Known::Marker { is_upper: false } => Some(LB),
            Known::Made(_) => None,
        }
    }

    /// Returns its size and bounds. Does not allocate.
    pub fn facts(&self) -> Facts {
        let of = |datatype: &Type| {
            let (true_lb, true_extent) = datatype.true_extent();
            Facts {
                size: datatype.size(),
                lb: datatype.lb(),
                extent: datatype.extent(),
                true_lb,
                true_extent,
            }
        };
        match self {
            Known::Basic(basic, _) => Facts {
                size: basic.size(),
                lb: 0,
                extent: basic.extent() as isize,
                true_lb: 0,
                true_extent: basic.true_extent() as isize,
            },
            Known::Marker { is_upper } => of(&Type::marker(*is_upper)),
            Known::Made(object) => of(&object.datatype),
        }
    }

    /// Returns the number of basic elements in `bytes` bytes; `None` if the last one is incomplete. Does not allocate.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        match self {
            Known::Basic(basic, _) => basic.elements_in(bytes),
            Known::Marker { .. } => (bytes == 0).then_some(0),
            Known::Made(object) => object.datatype.layout().items_in(bytes),
        }
    }

    /// Returns the bytes of `elements` basic elements; `None` on `usize` overflow. Does not allocate.
    pub fn bytes_of(&self, elements: usize) -> Option<usize> {
        match self {
            Known::Basic(basic, _) => basic.bytes_of(elements),
            Known::Marker { .. } => (elements == 0).then_some(0),
            Known::Made(object) => object.datatype.layout().bytes_of(elements),
        }
    }

    /// Runs `f` with its type. Fails like `f`, and with [`Error::NoRoom`].
    pub fn with_type<R>(&self, f: impl FnOnce(&Type) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            Known::Basic(basic, _) => f(&Type::basic(*basic)?),
            Known::Marker { is_upper } => f(&Type::marker(*is_upper)),
            Known::Made(object) => f(&object.datatype),
        }
    }
}

/// Used pairs as objects; created once, because they have holes.
static PAIRS: Mutex<[Option<Shared<Object>>; Pair::ALL.len()]> =
    Mutex::new([const { None }; Pair::ALL.len()]);

/// Returns the pair at this index of [`Pair::ALL`] as an object. Fails with [`Error::NoRoom`].
pub fn object_of(at: usize) -> Result<Shared<Object>, Error> {
    let place = &mut PAIRS.lock()[at];
    if let Some(object) = place {
        return Ok(object.clone());
    }
    let datatype = Type::pair(Pair::ALL[at])?;
    let object = Shared::lasting(|| Object::nameless(datatype))?;
    *place = Some(object.clone());
    Ok(object)
}

/// Creates a committed datatype without a handle. Fails with [`Error::NoRoom`].
pub fn nameless(datatype: Type) -> Result<Shared<Object>, Error> {
    Shared::new(Object::nameless(datatype))
}
