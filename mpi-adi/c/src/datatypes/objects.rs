//! Datatypes by handle: the predefined ones, and objects of the program's own.

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
/// What C++ and Fortran call predefined datatypes, with the sizes that GCC gives them (annex A.1). Each has a handle
/// and a name of its own; its elements are those of C's. Their handles follow those of [`Basic::ALL`].
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
/// The predefined datatypes in the order of their handles.
const BY_HANDLE: [Basic; Basic::ALL.len() + OTHERS.len()] = {
    let mut all = [Basic::Byte; Basic::ALL.len() + OTHERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at < Basic::ALL.len() {
            true => Basic::ALL[at],
            false => OTHERS[at - Basic::ALL.len()].0,
        };
        at += 1;
    }
    all
};
/// So many predefined datatypes have no holes; those behind them are pairs.
const PLAIN: usize = Pair::FIRST;

const KIND: Kind = Kind {
    name: Limited::Datatypes,
    tag: 0x7000_0000,
    place_bits: 18,
    generation_bits: 10,
    limit: 1 << 18,
};

/// Bytes of an object on a machine of 64 bits, without what it was made of.
pub const OBJECT_BYTES: usize = 280;
const _: () =
    assert!(usize::BITS != 64 || size_of::<Object>() + 2 * size_of::<usize>() <= OBJECT_BYTES);

/// What a datatype was made by and of (section 4.1.13).
pub struct Recipe {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<isize>,
    pub datatypes: Vec<Known>,
}

/// A datatype of the program's own.
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
    /// What it was made of, one after the other: datatypes made of datatypes may be a chain of any length.
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
            // Without room for them they go at once, each with its own.
            if waiting.try_reserve(more.len()).is_ok() {
                waiting.extend(more);
            }
        }
    }
}

/// What a handle names.
#[derive(Clone)]
pub enum Known {
    /// A predefined datatype by this handle; some have more than one.
    Basic(Basic, c_int),
    /// MPI_LB, or MPI_UB.
    Marker {
        is_upper: bool,
    },
    Made(Shared<Object>),
}

/// A datatype's size and bounds, in bytes.
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

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<Shared<Object>>> = Mutex::new(Table::new(KIND));

/// The bytes of an element of each predefined datatype, by handle; 0 for those that have holes.
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

/// The bytes of an element of the predefined datatype that `handle` names, if it names one without holes.
pub fn row_bytes(handle: c_int) -> Option<usize> {
    match ROWS.get(place(handle)?) {
        Some(0) | None => None,
        Some(bytes) => Some((*bytes).into()),
    }
}

/// The place among [`Pair::ALL`] of the pair that `handle` names, if it names one of C's.
pub fn pair(handle: c_int) -> Option<usize> {
    let at = place(handle)?.checked_sub(PLAIN)?;
    (at < Pair::ALL.len()).then_some(at)
}

/// The bytes of an element of the datatype of C's that `handle` names, if it names one that is no pair: most do.
#[inline(always)]
pub fn plain_bytes(handle: c_int) -> Option<usize> {
    ROWS[..PLAIN]
        .get(place(handle)?)
        .map(|bytes| usize::from(*bytes))
}

fn predefined(handle: c_int) -> Option<Basic> {
    BY_HANDLE.get(place(handle)?).copied()
}

/// The place of a predefined datatype's handle among those that there may be.
#[inline]
fn place(handle: c_int) -> Option<usize> {
    usize::try_from(handle.wrapping_sub(PREDEFINED + 1)).ok()
}

/// The name that C++ or Fortran gives to what `handle` names, if it is one of [`OTHERS`].
pub fn other_name(handle: c_int) -> Option<&'static str> {
    let at = place(handle)?.checked_sub(Basic::ALL.len())?;
    OTHERS.get(at).map(|(_, name)| *name)
}

/// The datatype that `handle` names. Fails with [`Error::Datatype`].
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

/// What looks for a datatype of the program's own, from the first handle of one on: a program that makes none has nothing
/// of this in its image.
static LOOK: Hook<Look> = Hook::new();

type Look = fn(c_int) -> Option<Shared<Object>>;

/// The datatype of the program's own that `handle` names. Fails with [`Error::Datatype`].
pub fn made(handle: c_int) -> Result<Shared<Object>, Error> {
    let look = LOOK.get();
    let found = look.and_then(|look| look(handle));
    found.ok_or(Error::Datatype { handle })
}

/// As [`made`], of one that is committed. Fails with [`Error::Uncommitted`], too.
pub fn committed(handle: c_int) -> Result<Shared<Object>, Error> {
    let object = made(handle)?;
    match object.is_committed() {
        true => Ok(object),
        false => Err(Error::Uncommitted { handle }),
    }
}

/// Enters a datatype; its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
pub fn enter(datatype: Type, recipe: Recipe) -> Result<c_int, Error> {
    enter_object(Shared::new(Object::new(datatype, recipe))?)
}

/// Enters another handle of a datatype. Fails as [`enter`].
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

/// What is done with a handle that functions of the program's own are given.
enum Hold {
    Begin,
    Show(bool),
    End,
}

/// Does so, from the first handle of the program's own on, as [`LOOK`].
static HOLD: Hook<fn(c_int, Hold) -> bool> = Hook::new();

/// A handle for functions of the program's own: while they run it names the same datatype, freed or not.
pub struct HeldHandle {
    handle: c_int,
    /// What holds it; a predefined one always names the same.
    hold: Option<fn(c_int, Hold) -> bool>,
}

impl HeldHandle {
    /// The handle of this datatype. Fails with [`Error::Datatype`] when too many hold it.
    pub fn new(handle: c_int, known: &Known) -> Result<HeldHandle, Error> {
        let hold = match known {
            Known::Made(_) => HOLD.get(),
            _ => None,
        };
        match hold.is_none_or(|hold| hold(handle, Hold::Begin)) {
            true => Ok(HeldHandle { handle, hold }),
            false => Err(Error::Datatype { handle }),
        }
    }

    /// Calls a function of the program's own with it.
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

/// Bytes of data in an element of the datatype that `handle` names. Fails with [`Error::Datatype`].
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

/// Frees a handle; what it named stays for as long as something else holds it. Fails with
/// [`Error::Datatype`].
pub fn leave(handle: c_int) -> Result<(), Error> {
    let object = TABLE.lock().free(handle);
    match object {
        Some(_) => Ok(()),
        None => Err(Error::Datatype { handle }),
    }
}

impl Known {
    /// A predefined datatype by C's own handle.
    pub fn of_basic(basic: Basic) -> Known {
        Known::Basic(basic, PREDEFINED + basic as c_int)
    }

    /// Its handle, where it has always the same.
    pub fn handle(&self) -> Option<c_int> {
        match self {
            Known::Basic(_, handle) => Some(*handle),
            Known::Marker { is_upper: true } => Some(UB),
            Known::Marker { is_upper: false } => Some(LB),
            Known::Made(_) => None,
        }
    }

    /// Its size and its bounds. Takes no memory.
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

    /// How many basic elements so many bytes are; `None`: the last of them is not whole. Takes no memory.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        match self {
            Known::Basic(basic, _) => basic.elements_in(bytes),
            Known::Marker { .. } => (bytes == 0).then_some(0),
            Known::Made(object) => object.datatype.layout().items_in(bytes),
        }
    }

    /// How many bytes so many basic elements are; `None`: more than `usize` holds. Takes no memory.
    pub fn bytes_of(&self, elements: usize) -> Option<usize> {
        match self {
            Known::Basic(basic, _) => basic.bytes_of(elements),
            Known::Marker { .. } => (elements == 0).then_some(0),
            Known::Made(object) => object.datatype.layout().bytes_of(elements),
        }
    }

    /// Runs `f` with its type. Fails as `f` does, and with [`Error::NoRoom`].
    pub fn with_type<R>(&self, f: impl FnOnce(&Type) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            Known::Basic(basic, _) => f(&Type::basic(*basic)?),
            Known::Marker { is_upper } => f(&Type::marker(*is_upper)),
            Known::Made(object) => f(&object.datatype),
        }
    }
}

/// The pairs that have been used, as objects: made once, since they have holes.
static PAIRS: Mutex<[Option<Shared<Object>>; Pair::ALL.len()]> =
    Mutex::new([const { None }; Pair::ALL.len()]);

/// The pair at this place among [`Pair::ALL`] as an object. Fails with [`Error::NoRoom`].
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

/// A datatype that has no handle, committed. Fails with [`Error::NoRoom`].
pub fn nameless(datatype: Type) -> Result<Shared<Object>, Error> {
    Shared::new(Object::nameless(datatype))
}
