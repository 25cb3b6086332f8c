//! Keys of attributes, and what setting, deleting and copying attributes calls (MPI-3.1 section 6.7): one way for all
//! kinds of objects that can carry them.
//!
//! A key that is freed stays until the last attribute with it is deleted (section 6.7.2). The program's functions
//! are called with no lock held and outside of the device, so that they may call MPI.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::handles::{Kind, Table};
use midplane_objects::attributes::{Attribute, Attributes};
use midplane_objects::error::{Class, Error, Limited};

/// `MPI_Comm_copy_attr_function` and its like for other objects, whose handles are numbers, too.
pub type CopyFunction =
    unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and its like for other objects.
pub type DeleteFunction = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// The kinds of objects with attributes; a key is for one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Communicators,
    Datatypes,
    Windows,
}

/// Objects that carry attributes.
pub(super) trait Carrier {
    /// Their kind.
    const OF: Of;

    /// Runs `f` on the attributes of the object that `handle` names, if it names one; for as long as `f` runs nothing
    /// else has them.
    fn with<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R>;
}

/// A key.
#[derive(Clone, Copy)]
pub(super) struct Keyval {
    pub of: Of,
    pub copy: Option<CopyFunction>,
    pub delete: Option<DeleteFunction>,
    /// `extra_state`: the address that the program gave.
    pub extra: usize,
}

struct Object {
    keyval: Keyval,
    /// Attributes with this key.
    uses: u32,
    freed: bool,
}

const KIND: Kind = Kind {
    name: Limited::Keyvals,
    tag: 0xa400_0000_u32 as c_int,
    place_bits: 12,
    generation_bits: 13,
    limit: 1 << 12,
};

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

/// Makes a key; its handle. Fails with [`Error::Limit`] or [`Error::NoRoom`].
pub(super) fn create(keyval: Keyval) -> Result<c_int, Error> {
    TABLE.lock().add(Object {
        keyval,
        uses: 0,
        freed: false,
    })
}

/// Frees a key, which may have been freed for as long as an attribute has it: it is in use then, and to free such a
/// key is no error (section 6.7.2). Fails with [`Error::Keyval`].
pub(super) fn free(of: Of, handle: c_int) -> Result<(), Error> {
    let known = keyval(handle).filter(|key| key.of == of);
    known.ok_or(Error::Keyval { keyval: handle })?;
    change(handle, |object| object.freed = true);
    Ok(())
}

/// Runs `f`, which calls a function of the program's that is told this key. Until it returns the key is there and may be
/// used, freed or not.
fn lend<R>(handle: c_int, f: impl FnOnce() -> R) -> R {
    let mut was_freed = false;
    change(handle, |object| {
        object.uses += 1;
        was_freed = core::mem::replace(&mut object.freed, false);
    });
    let result = f();
    change(handle, |object| {
        object.uses -= 1;
        object.freed |= was_freed;
    });
    result
}

/// Changes a key, and takes it out if it is freed and no attribute has it any more.
fn change(handle: c_int, f: impl FnOnce(&mut Object)) {
    let mut table = TABLE.lock();
    let Some(object) = table.get_mut(handle) else {
        return;
    };
    f(object);
    if object.freed && object.uses == 0 {
        table.remove(handle);
    }
}

/// The key that `handle` names, freed or not.
fn keyval(handle: c_int) -> Option<Keyval> {
    TABLE.lock().get(handle).map(|object| object.keyval)
}

/// The key of this kind that `handle` names and the program may use. Fails with [`Error::Keyval`].
fn usable(of: Of, handle: c_int) -> Result<(), Error> {
    let table = TABLE.lock();
    let object = table.get(handle);
    match object.filter(|object| object.keyval.of == of && !object.freed) {
        Some(_) => Ok(()),
        None => Err(Error::Keyval { keyval: handle }),
    }
}

/// What a function of the program's says. Fails with [`Error::Raised`].
pub(super) fn said(code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        _ => Err(Error::Raised {
            class: Class::from_code(code).unwrap_or(Class::Other),
            code,
        }),
    }
}

pub(super) fn pointer(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

/// Adds an attribute, and counts it at its key.
fn attach<C: Carrier>(object: c_int, attribute: Attribute) -> Result<(), Error> {
    C::with(object, |attributes| attributes.add(attribute)).unwrap_or(Ok(()))?;
    change(attribute.keyval, |key| key.uses += 1);
    Ok(())
}

/// Asks the program's function, and takes the attribute out if it agrees.
fn detach<C: Carrier>(object: c_int, attribute: Attribute) -> Result<(), Error> {
    let Attribute { keyval, value } = attribute;
    let key = self::keyval(keyval);
    if let Some(Keyval {
        delete: Some(delete),
        extra,
        ..
    }) = key
    {
        // SAFETY: the program's function, given what the standard says (section 6.7.2).
        let call = || unsafe { delete(object, keyval, pointer(value), pointer(extra)) };
        said(lend(keyval, call))?;
    }
    drop_attribute::<C>(object, keyval);
    Ok(())
}

/// Takes an attribute out, unless the program's function has done so itself.
fn drop_attribute<C: Carrier>(object: c_int, keyval: c_int) {
    if C::with(object, |attributes| attributes.remove(keyval)) == Some(true) {
        change(keyval, |key| key.uses = key.uses.saturating_sub(1));
    }
}

/// Sets an attribute; an earlier one is deleted first. Fails with [`Error::Keyval`], [`Error::NoRoom`], and with what
/// the delete function says: then the earlier one stays.
pub(super) fn set<C: Carrier>(object: c_int, keyval: c_int, value: usize) -> Result<(), Error> {
    usable(C::OF, keyval)?;
    delete::<C>(object, keyval)?;
    attach::<C>(object, Attribute { keyval, value })
}

/// The value of an attribute, if it is set. Fails with [`Error::Keyval`].
pub(super) fn get<C: Carrier>(object: c_int, keyval: c_int) -> Result<Option<usize>, Error> {
    usable(C::OF, keyval)?;
    Ok(C::with(object, |attributes| attributes.get(keyval)).flatten())
}

/// Deletes an attribute, if it is set; one whose key is freed, too: that is how the program lets go of the key
/// (section 6.7.2). Fails with [`Error::Keyval`], and with what the delete function says: then the attribute stays.
pub(super) fn delete<C: Carrier>(object: c_int, keyval: c_int) -> Result<(), Error> {
    match C::with(object, |attributes| attributes.get(keyval)).flatten() {
        Some(value) => detach::<C>(object, Attribute { keyval, value }),
        None => usable(C::OF, keyval),
    }
}

/// Deletes all attributes of an object, the last one that was set first. Fails with what a delete function says: then
/// that attribute and the earlier ones stay.
pub(super) fn delete_all<C: Carrier>(object: c_int) -> Result<(), Error> {
    while let Some(attribute) = C::with(object, |attributes| attributes.last()).flatten() {
        detach::<C>(object, attribute)?;
    }
    Ok(())
}

/// As [`delete_all`], of an object that ends whatever the functions say: each of them is called. Fails with what the first
/// one says that fails.
pub(super) fn delete_all_at_end<C: Carrier>(object: c_int) -> Result<(), Error> {
    let mut first = Ok(());
    while let Some(attribute) = C::with(object, |attributes| attributes.last()).flatten() {
        let deleted = detach::<C>(object, attribute);
        if deleted.is_err() {
            drop_attribute::<C>(object, attribute.keyval);
        }
        first = first.and(deleted);
    }
    first
}

/// Gives `new` the attributes of `old` that their copy functions want it to have. Fails with [`Error::NoRoom`] and
/// with what a copy function says: then `new` has those before.
pub(super) fn copy_all<C: Carrier>(old: c_int, new: c_int) -> Result<(), Error> {
    copies::<C>(old, |attribute| attach::<C>(new, attribute))
}

/// Attributes for an object that is not there yet.
#[derive(Default)]
pub(super) struct Copies(Vec<Attribute>);

impl Copies {
    /// Adds what the copy functions of the attributes of `old` want a new object to have. Fails as [`copy_all`].
    pub(super) fn add_all<C: Carrier>(&mut self, old: c_int) -> Result<(), Error> {
        copies::<C>(old, |attribute| {
            let bytes = size_of::<Attribute>();
            let none = |_| Error::NoRoom { bytes };
            self.0.try_reserve(1).map_err(none)?;
            self.0.push(attribute);
            // Its key stays as if it were attached.
            change(attribute.keyval, |key| key.uses += 1);
            Ok(())
        })
    }

    /// Makes room in `new` for them. Fails with [`Error::NoRoom`].
    pub(super) fn reserve<C: Carrier>(&self, new: c_int) -> Result<(), Error> {
        C::with(new, |attributes| attributes.reserve(self.0.len())).unwrap_or(Ok(()))
    }

    /// The object is there. Fails with [`Error::NoRoom`].
    pub(super) fn attach<C: Carrier>(&mut self, new: c_int) -> Result<(), Error> {
        while let Some(&attribute) = self.0.first() {
            C::with(new, |attributes| attributes.add(attribute)).unwrap_or(Ok(()))?;
            self.0.remove(0);
        }
        Ok(())
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for attribute in &self.0 {
            change(attribute.keyval, |key| key.uses -= 1);
        }
    }
}

/// Gives `take` the attributes of `old` that their copy functions want another object to have.
fn copies<C: Carrier>(
    old: c_int,
    mut take: impl FnMut(Attribute) -> Result<(), Error>,
) -> Result<(), Error> {
    let list =
        C::with(old, |attributes| attributes.snapshot()).unwrap_or(Ok(Default::default()))?;
    for Attribute { keyval, value } in list {
        let Some(Keyval {
            copy: Some(copy),
            extra,
            ..
        }) = self::keyval(keyval)
        else {
            continue;
        };
        lend(keyval, || {
            let (mut copied, mut flag) = (pointer(value), 0);
            let place = (&raw mut copied).cast();
            // SAFETY: the program's function, given what the standard says (section 6.7.2): the place is that of a
            // pointer.
            said(unsafe {
                copy(
                    old,
                    keyval,
                    pointer(extra),
                    pointer(value),
                    place,
                    &mut flag,
                )
            })?;
            let value = copied.expose_provenance();
            match flag {
                0 => Ok(()),
                _ => take(Attribute { keyval, value }),
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static ATTRIBUTES: Mutex<Attributes> = Mutex::new(Attributes::new());

    /// One object, whatever its handle.
    struct One;

    impl Carrier for One {
        const OF: Of = Of::Communicators;
        fn with<R>(_: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
            Some(f(&mut ATTRIBUTES.lock()))
        }
    }

    #[test]
    fn attributes_set_and_deleted_leave_memory_as_it_was() {
        let keyval = Keyval {
            of: Of::Communicators,
            copy: None,
            delete: None,
            extra: 0,
        };
        for value in 0..100_000 {
            let handle = create(keyval).expect("room");
            set::<One>(1, handle, value).expect("a key");
            assert_eq!(get::<One>(1, handle), Ok(Some(value)));
            free(Of::Communicators, handle).expect("a key");
            assert!(self::keyval(handle).is_some(), "an attribute has it");
            assert_eq!(get::<One>(1, handle), Err(Error::Keyval { keyval: handle }));
            delete_all::<One>(1).expect("no function says no");
            assert!(self::keyval(handle).is_none(), "no attribute has it");
            assert!(ATTRIBUTES.lock().last().is_none());
        }
        let table = TABLE.lock();
        assert_eq!((table.objects().count(), table.places()), (0, 1));
    }
}
