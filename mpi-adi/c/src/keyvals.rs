//! Attribute keys, and the callbacks for setting, deleting and copying attributes (MPI-3.1 section 6.7), for all kinds
//! of objects with attributes.
//!
//! A freed key remains until the last attribute with it is deleted (section 6.7.2). The program's functions are called
//! without locks and outside the device, so that they may call MPI.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::addresses::DUP_FN;
use super::handles::{HandleKind, HandleTable};
use super::types::Handle;
use super::unlocked::without_lock;
use midplane_objects::attributes::{Attribute, Attributes};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};

/// `MPI_Comm_copy_attr_function`, which may be [`DUP_FN`], and its counterparts for other objects, whose handles are also integers.
pub type CopyFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and its counterparts for other objects.
pub type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// Calls a copy function for a program with another ABI.
#[cfg(target_os = "linux")]
pub type CopyAdapter =
    unsafe extern "C" fn(CopyFunction, Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Calls a delete function for a program with another ABI.
#[cfg(target_os = "linux")]
pub type DeleteAdapter = unsafe extern "C" fn(DeleteFunction, Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// Kinds of objects with attributes; a key is for one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CarrierKind {
    Communicators,
    Datatypes,
    Windows,
}

/// A kind of objects with attributes.
pub(super) trait AttributeCarrier {
    const OF: CarrierKind;

    /// Runs `f` on the attributes of the object with handle `handle`, if it is valid, with exclusive access.
    fn with<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R>;
}

#[derive(Clone, Copy)]
pub(super) struct Keyval {
    pub of: CarrierKind,
    pub copy: Option<CopyFunction>,
    pub delete: Option<DeleteFunction>,
    /// `extra_state`: an address specified by the program.
    pub extra: usize,
}

struct KeyvalObject {
    keyval: Keyval,
    /// Number of attributes with this key.
    uses: u32,
    freed: bool,
    /// Adapters of the functions, for programs with another ABI.
    #[cfg(target_os = "linux")]
    adapters: Option<(CopyAdapter, DeleteAdapter)>,
}

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Keyvals,
    tag: 0x2400_0000,
    place_bits: 12,
    generation_bits: 13,
    limit: 1 << 12,
};

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_keyvals")]
static TABLE: Mutex<HandleTable<KeyvalObject>> = Mutex::new(HandleTable::new(KIND));

/// Creates a key and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub(super) fn create(keyval: Keyval) -> Result<c_int, Error> {
    TABLE.lock().add(KeyvalObject {
        keyval,
        uses: 0,
        freed: false,
        #[cfg(target_os = "linux")]
        adapters: None,
    })
}

/// Installs the adapters of a key that the program has just created.
#[cfg(target_os = "linux")]
pub(super) fn adapt(handle: c_int, adapters: (CopyAdapter, DeleteAdapter)) {
    change(handle, |object| object.adapters = Some(adapters));
}

#[cfg(target_os = "linux")]
fn adapters(handle: c_int) -> Option<(CopyAdapter, DeleteAdapter)> {
    TABLE.lock().get(handle)?.adapters
}

/// Calls a delete function of the program.
///
/// # Safety
/// The function and its arguments must be those of the key.
unsafe fn call_delete(delete: DeleteFunction, object: c_int, keyval: c_int, value: usize, extra: usize) -> c_int {
    let (object, value, extra) = (Handle::new(object), pointer(value), pointer(extra));
    #[cfg(target_os = "linux")]
    if let Some((_, adapter)) = adapters(keyval) {
        // SAFETY: guaranteed by the caller.
        return without_lock(|| unsafe { adapter(delete, object, keyval, value, extra) });
    }
    // SAFETY: guaranteed by the caller.
    without_lock(|| unsafe { delete(object, keyval, value, extra) })
}

/// Calls a copy function of the program, which returns the copy and whether there is one.
///
/// # Safety
/// As for [`call_delete`].
unsafe fn call_copy(
    copy: CopyFunction,
    object: c_int,
    keyval: c_int,
    value: usize,
    extra: usize,
) -> (c_int, *mut c_void, c_int) {
    let (object, value, extra) = (Handle::new(object), pointer(value), pointer(extra));
    let (mut copied, mut flag) = (value, 0);
    let place = (&raw mut copied).cast();
    #[cfg(target_os = "linux")]
    if let Some((adapter, _)) = adapters(keyval) {
        // SAFETY: guaranteed by the caller: the address is that of a pointer.
        let code = without_lock(|| unsafe { adapter(copy, object, keyval, extra, value, place, &mut flag) });
        return (code, copied, flag);
    }
    // SAFETY: as above.
    let code = without_lock(|| unsafe { copy(object, keyval, extra, value, place, &mut flag) });
    (code, copied, flag)
}

/// Frees a key. A freed key remains in use as long as an attribute has it, and freeing it again is no error (section
/// 6.7.2). Fails with [`Error::Keyval`].
pub(super) fn free(of: CarrierKind, handle: c_int) -> Result<(), Error> {
    let known = keyval(handle).filter(|key| key.of == of);
    known.ok_or(Error::Keyval { keyval: handle })?;
    change(handle, |object| object.freed = true);
    Ok(())
}

/// Runs `f`, which passes this key to a function of the program. Until `f` returns the key is valid, even if it is
/// freed.
fn with_key_held<R>(handle: c_int, f: impl FnOnce() -> R) -> R {
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

/// Changes a key, and removes it if it is freed and no attribute uses it.
fn change(handle: c_int, f: impl FnOnce(&mut KeyvalObject)) {
    let mut table = TABLE.lock();
    let Some(object) = table.get_mut(handle) else {
        return;
    };
    f(object);
    if object.freed && object.uses == 0 {
        table.remove(handle);
    }
}

/// Returns a key, freed or not.
fn keyval(handle: c_int) -> Option<Keyval> {
    TABLE.lock().get(handle).map(|object| object.keyval)
}

/// Checks that `handle` is a key of this kind that the program has not freed. Fails with [`Error::Keyval`].
fn usable(of: CarrierKind, handle: c_int) -> Result<(), Error> {
    let table = TABLE.lock();
    let object = table.get(handle);
    match object.filter(|object| object.keyval.of == of && !object.freed) {
        Some(_) => Ok(()),
        None => Err(Error::Keyval { keyval: handle }),
    }
}

/// Converts the result of a function of the program. Fails with [`Error::Raised`].
pub(super) fn check_callback(code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        _ => Err(Error::Raised {
            class: ErrorClass::from_code(code).unwrap_or(ErrorClass::Other),
            code,
        }),
    }
}

pub(super) fn pointer(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

/// Adds an attribute, and increments the use count of its key.
fn attach<C: AttributeCarrier>(object: c_int, attribute: Attribute) -> Result<(), Error> {
    C::with(object, |attributes| attributes.add(attribute)).unwrap_or(Ok(()))?;
    change(attribute.keyval, |key| key.uses += 1);
    Ok(())
}

/// Calls the program's delete function, and removes the attribute if it succeeds.
fn detach<C: AttributeCarrier>(object: c_int, attribute: Attribute) -> Result<(), Error> {
    let Attribute { keyval, value } = attribute;
    let key = self::keyval(keyval);
    if let Some(Keyval {
        delete: Some(delete),
        extra,
        ..
    }) = key
    {
        // SAFETY: a function of the program, called with the arguments that the standard specifies (section 6.7.2).
        let call = || unsafe { call_delete(delete, object, keyval, value, extra) };
        check_callback(with_key_held(keyval, call))?;
    }
    drop_attribute::<C>(object, keyval);
    Ok(())
}

/// Removes an attribute, unless the program's function has removed it.
fn drop_attribute<C: AttributeCarrier>(object: c_int, keyval: c_int) {
    if C::with(object, |attributes| attributes.remove(keyval)) == Some(true) {
        change(keyval, |key| key.uses = key.uses.saturating_sub(1));
    }
}

/// Sets an attribute, after deleting an earlier one. Fails with [`Error::Keyval`], [`Error::NoSpace`], and with the
/// error of the delete function; the earlier one then remains.
pub(super) fn set<C: AttributeCarrier>(object: c_int, keyval: c_int, value: usize) -> Result<(), Error> {
    usable(C::OF, keyval)?;
    delete::<C>(object, keyval)?;
    attach::<C>(object, Attribute { keyval, value })
}

/// Returns the value of an attribute, if it is set. Fails with [`Error::Keyval`].
pub(super) fn get<C: AttributeCarrier>(object: c_int, keyval: c_int) -> Result<Option<usize>, Error> {
    usable(C::OF, keyval)?;
    Ok(C::with(object, |attributes| attributes.get(keyval)).flatten())
}

/// Deletes an attribute, if it is set, even if its key is freed: the program thereby releases the key (section 6.7.2).
/// Fails with [`Error::Keyval`], and with the error of the delete function; the attribute then remains.
pub(super) fn delete<C: AttributeCarrier>(object: c_int, keyval: c_int) -> Result<(), Error> {
    match C::with(object, |attributes| attributes.get(keyval)).flatten() {
        Some(value) => detach::<C>(object, Attribute { keyval, value }),
        None => usable(C::OF, keyval),
    }
}

/// Deletes all attributes of an object, newest first. Fails with the error of a delete function; that attribute and the
/// earlier ones then remain.
pub(super) fn delete_all<C: AttributeCarrier>(object: c_int) -> Result<(), Error> {
    while let Some(attribute) = C::with(object, |attributes| attributes.last()).flatten() {
        detach::<C>(object, attribute)?;
    }
    Ok(())
}

/// Deletes all attributes of an object that ends regardless of errors: each delete function is called. Fails with the
/// first of their errors.
pub(super) fn delete_all_at_end<C: AttributeCarrier>(object: c_int) -> Result<(), Error> {
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

/// Copies the attributes of `old` to `new`, as their copy functions decide. Fails with [`Error::NoSpace`] and with the
/// error of a copy function; `new` then has the attributes before it.
pub(super) fn copy_all<C: AttributeCarrier>(old: c_int, new: c_int) -> Result<(), Error> {
    copies::<C>(old, |attribute| attach::<C>(new, attribute))
}

/// Attributes for an object that does not exist yet.
#[derive(Default)]
pub(super) struct AttributeCopies(Vec<Attribute>);

impl AttributeCopies {
    /// Adds the attributes of `old` that their copy functions copy. Fails like [`copy_all`].
    pub(super) fn add_all<C: AttributeCarrier>(&mut self, old: c_int) -> Result<(), Error> {
        copies::<C>(old, |attribute| {
            let bytes = size_of::<Attribute>();
            let none = |_| Error::NoSpace { bytes };
            self.0.try_reserve(1).map_err(none)?;
            self.0.push(attribute);
            // Its key is kept as if it were attached.
            change(attribute.keyval, |key| key.uses += 1);
            Ok(())
        })
    }

    /// Reserves memory for them in `new`. Fails with [`Error::NoSpace`].
    pub(super) fn reserve<C: AttributeCarrier>(&self, new: c_int) -> Result<(), Error> {
        C::with(new, |attributes| attributes.reserve(self.0.len())).unwrap_or(Ok(()))
    }

    /// Attaches them to the object. Fails with [`Error::NoSpace`].
    pub(super) fn attach<C: AttributeCarrier>(&mut self, new: c_int) -> Result<(), Error> {
        while let Some(&attribute) = self.0.first() {
            C::with(new, |attributes| attributes.add(attribute)).unwrap_or(Ok(()))?;
            self.0.remove(0);
        }
        Ok(())
    }
}

impl Drop for AttributeCopies {
    fn drop(&mut self) {
        for attribute in &self.0 {
            change(attribute.keyval, |key| key.uses -= 1);
        }
    }
}

/// Passes the attributes of `old` that their copy functions copy to `take`.
fn copies<C: AttributeCarrier>(old: c_int, mut take: impl FnMut(Attribute) -> Result<(), Error>) -> Result<(), Error> {
    let list = C::with(old, |attributes| attributes.snapshot()).unwrap_or(Ok(Default::default()))?;
    for Attribute { keyval, value } in list {
        let Some(Keyval {
            copy: Some(copy),
            extra,
            ..
        }) = self::keyval(keyval)
        else {
            continue;
        };
        with_key_held(keyval, || {
            if copy as usize == DUP_FN {
                return take(Attribute { keyval, value });
            }
            // SAFETY: a function of the program, called with the arguments that the standard specifies (section 6.7.2).
            let (code, copied, flag) = unsafe { call_copy(copy, old, keyval, value, extra) };
            check_callback(code)?;
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

    /// A single object, independent of the handle.
    struct SingleObject;

    impl AttributeCarrier for SingleObject {
        const OF: CarrierKind = CarrierKind::Communicators;
        fn with<R>(_: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
            Some(f(&mut ATTRIBUTES.lock()))
        }
    }

    #[test]
    fn attributes_set_and_deleted_leave_memory_as_it_was() {
        let keyval = Keyval {
            of: CarrierKind::Communicators,
            copy: None,
            delete: None,
            extra: 0,
        };
        for value in 0..100_000 {
            let handle = create(keyval).expect("room");
            set::<SingleObject>(1, handle, value).expect("a key");
            assert_eq!(get::<SingleObject>(1, handle), Ok(Some(value)));
            free(CarrierKind::Communicators, handle).expect("a key");
            assert!(self::keyval(handle).is_some(), "an attribute has it");
            assert_eq!(get::<SingleObject>(1, handle), Err(Error::Keyval { keyval: handle }));
            delete_all::<SingleObject>(1).expect("no function says no");
            assert!(self::keyval(handle).is_none(), "no attribute has it");
            assert!(ATTRIBUTES.lock().last().is_none());
        }
        let table = TABLE.lock();
        assert_eq!((table.objects().count(), table.places()), (0, 1));
    }
}
