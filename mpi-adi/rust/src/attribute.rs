//! Attributes: values that a program attaches to a communicator (MPI-3.1 section 6.7).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//! use std::cell::Cell;
//!
//! /// Number of calls of a library on a communicator, from any caller.
//! #[derive(Clone, Default)]
//! struct Calls(Cell<u32>);
//!
//! impl CommAttribute for Calls {}
//!
//! fn library(comm: &impl Communicator) -> u32 {
//!     if comm.get_attr::<Calls>().is_none() {
//!         comm.set_attr(Calls::default());
//!     }
//!     let Calls(count) = &*comm.get_attr::<Calls>().unwrap();
//!     count.set(count.get() + 1);
//!     count.get()
//! }
//! ```
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::cell::{OnceCell, RefCell};

use midplane_objects::coll::try_with_capacity;
use midplane_objects::error::Error;

/// The traits of this module.
pub mod traits {
    pub use super::CommAttribute;
}

/// A value that [`set_attr`](crate::topology::Context::set_attr) can attach to a communicator. Its type is the
/// key: a communicator contains at most one value of a type, so libraries do not interfere with each other.
pub trait CommAttribute: Clone + 'static {
    /// Whether a [duplicate](crate::topology::Communicator::duplicate) of the communicator receives a clone of
    /// the value (MPI-3.1 section 6.7.2).
    const CLONE_ON_DUP: bool = false;
}

/// A value, and the function that creates its copy for a duplicate communicator.
#[derive(Clone)]
pub(crate) struct AttributeValue {
    value: Rc<dyn Any>,
    duplicated: fn(&dyn Any) -> Option<Rc<dyn Any>>,
}

impl AttributeValue {
    fn new<A: CommAttribute>(value: A) -> AttributeValue {
        AttributeValue {
            value: Rc::new(value),
            duplicated: |value| {
                let value = value.downcast_ref::<A>().filter(|_| A::CLONE_ON_DUP);
                value.map(|value| Rc::new(value.clone()) as Rc<dyn Any>)
            },
        }
    }

    fn key(&self) -> TypeId {
        (*self.value).type_id()
    }
}

/// The attributes of a communicator, behind a function table: only programs that set an attribute link this code.
trait AttributeStore {
    /// Sets an attribute and returns the previous one of its type. Returns [`Error::NoSpace`] when the heap is full.
    fn set(&self, attribute: AttributeValue) -> Result<Option<AttributeValue>, Error>;

    fn get(&self, key: TypeId) -> Option<Rc<dyn Any>>;

    fn remove(&self, key: TypeId) -> Option<AttributeValue>;

    /// Returns the attributes for a duplicate of the communicator, or [`Error::NoSpace`].
    fn duplicated(&self) -> Result<Box<dyn AttributeStore>, Error>;

    /// Drops all attributes, the last set first.
    fn clear(&self);
}

/// Attributes in the order of setting. No program code runs while the list is borrowed.
struct AttributeList(RefCell<Vec<AttributeValue>>);

impl AttributeList {
    fn place(list: &[AttributeValue], key: TypeId) -> Option<usize> {
        list.iter().position(|attribute| attribute.key() == key)
    }
}

impl AttributeStore for AttributeList {
    fn set(&self, attribute: AttributeValue) -> Result<Option<AttributeValue>, Error> {
        let mut list = self.0.borrow_mut();
        let before = Self::place(&list, attribute.key());
        if before.is_none() {
            let bytes = size_of::<AttributeValue>();
            list.try_reserve(1).map_err(|_| Error::NoSpace { bytes })?;
        }
        let before = before.map(|place| list.remove(place));
        list.push(attribute);
        Ok(before)
    }

    fn get(&self, key: TypeId) -> Option<Rc<dyn Any>> {
        let list = self.0.borrow();
        let place = Self::place(&list, key)?;
        Some(list[place].value.clone())
    }

    fn remove(&self, key: TypeId) -> Option<AttributeValue> {
        let mut list = self.0.borrow_mut();
        let place = Self::place(&list, key)?;
        Some(list.remove(place))
    }

    fn duplicated(&self) -> Result<Box<dyn AttributeStore>, Error> {
        // The clones may change this list, so they are created from a copy of it.
        let mut list: Vec<AttributeValue> = try_with_capacity(self.0.borrow().len())?;
        list.extend(self.0.borrow().iter().cloned());
        list.retain_mut(|attribute| {
            let value = (attribute.duplicated)(&*attribute.value);
            value.map(|value| attribute.value = value).is_some()
        });
        Ok(Box::new(AttributeList(RefCell::new(list))))
    }

    fn clear(&self) {
        loop {
            let last = self.0.borrow_mut().pop();
            if last.is_none() {
                return;
            }
        }
    }
}

impl Drop for AttributeList {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The attributes of a communicator; allocates nothing before the first one is set.
pub(crate) struct CommAttributes(OnceCell<Box<dyn AttributeStore>>);

impl CommAttributes {
    pub(crate) const fn new() -> CommAttributes {
        CommAttributes(OnceCell::new())
    }

    pub(crate) fn set<A: CommAttribute>(&self, value: A) -> Result<(), Error> {
        let list = self.0.get_or_init(|| Box::new(AttributeList(RefCell::new(Vec::new()))));
        list.set(AttributeValue::new(value)).map(drop)
    }

    pub(crate) fn get<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.0.get()?.get(TypeId::of::<A>())?.downcast().ok()
    }

    pub(crate) fn remove<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.0.get()?.remove(TypeId::of::<A>())?.value.downcast().ok()
    }

    /// Returns the attributes for a duplicate of the communicator, or [`Error::NoSpace`].
    pub(crate) fn duplicated(&self) -> Result<CommAttributes, Error> {
        let list = self.0.get().map(|list| list.duplicated()).transpose()?;
        Ok(CommAttributes(list.map(OnceCell::from).unwrap_or_default()))
    }

    /// Moves a duplicate's attributes to a communicator without attributes.
    pub(crate) fn take_over(&self, duplicated: CommAttributes) {
        if let Some(list) = duplicated.0.into_inner() {
            let _ = self.0.set(list);
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(list) = self.0.get() {
            list.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    type DropLog = Rc<RefCell<String>>;

    #[derive(Clone)]
    struct LoggedValue<const CLONE: bool>(&'static str, DropLog);

    impl<const CLONE: bool> CommAttribute for LoggedValue<CLONE> {
        const CLONE_ON_DUP: bool = CLONE;
    }

    impl<const CLONE: bool> Drop for LoggedValue<CLONE> {
        fn drop(&mut self) {
            self.1.borrow_mut().push_str(self.0);
        }
    }

    fn with_both(log: &DropLog) -> CommAttributes {
        let attributes = CommAttributes::new();
        attributes.set(LoggedValue::<true>("a", log.clone())).unwrap();
        attributes.set(LoggedValue::<false>("b", log.clone())).unwrap();
        attributes
    }

    #[test]
    fn a_type_has_one_value_and_the_one_before_is_dropped() {
        let log = DropLog::default();
        let attributes = with_both(&log);
        attributes.set(LoggedValue::<true>("c", log.clone())).unwrap();
        assert_eq!(*log.borrow(), "a");
        assert_eq!(attributes.get::<LoggedValue<true>>().unwrap().0, "c");
        assert_eq!(attributes.get::<LoggedValue<false>>().unwrap().0, "b");
        let seen = attributes.remove::<LoggedValue<false>>();
        assert!(
            attributes.get::<LoggedValue<false>>().is_none() && attributes.remove::<LoggedValue<false>>().is_none()
        );
        assert_eq!(*log.borrow(), "a");
        drop(seen);
        assert_eq!(*log.borrow(), "ab");
    }

    #[test]
    fn what_was_set_last_is_dropped_first() {
        let log = DropLog::default();
        let attributes = with_both(&log);
        // Setting it again moves it to the end.
        let last = attributes.remove::<LoggedValue<true>>().unwrap();
        attributes.set((*last).clone()).unwrap();
        drop(last);
        attributes.clear();
        assert_eq!(*log.borrow(), "aab");
        drop(with_both(&log));
        assert_eq!(*log.borrow(), "aabba");
    }

    #[test]
    fn a_duplicate_has_what_is_to_be_cloned() {
        let log = DropLog::default();
        let attributes = with_both(&log);
        let twin = attributes.duplicated().unwrap();
        assert_eq!(*log.borrow(), "");
        assert!(twin.get::<LoggedValue<true>>().is_some() && twin.get::<LoggedValue<false>>().is_none());
        drop(attributes);
        assert_eq!(*log.borrow(), "ba");
        assert_eq!(twin.get::<LoggedValue<true>>().unwrap().0, "a");
        drop(twin);
        assert_eq!(*log.borrow(), "baa");
        assert!(CommAttributes::new().duplicated().unwrap().0.get().is_none());
    }

    /// Sets another attribute when it is cloned or dropped.
    struct ReentrantValue(Rc<CommAttributes>, DropLog);

    impl CommAttribute for ReentrantValue {
        const CLONE_ON_DUP: bool = true;
    }

    impl Clone for ReentrantValue {
        fn clone(&self) -> Self {
            self.0.set(LoggedValue::<true>("x", self.1.clone())).unwrap();
            ReentrantValue(self.0.clone(), self.1.clone())
        }
    }

    #[test]
    fn a_clone_may_change_the_list_that_it_is_of() {
        let log = DropLog::default();
        let attributes = Rc::new(with_both(&log));
        attributes.set(ReentrantValue(attributes.clone(), log.clone())).unwrap();
        let twin = attributes.duplicated().unwrap();
        assert_eq!(*log.borrow(), "a", "in place of which x was set");
        assert_eq!(twin.get::<LoggedValue<true>>().unwrap().0, "a");
        attributes.clear();
    }
}
