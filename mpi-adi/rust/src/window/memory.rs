//! Windows and their exposed memory.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::record::{WatchedEvent, WindowRecord};
use crate::Address;
use crate::attribute::CommAttribute;
use crate::datatype::Equivalence;
use crate::datatype::operands::{BufferLoan, TargetOperand, borrow_whole_mut};
use crate::datatype::user::kind_of;
use crate::info::Info;
use crate::request::{Scope, Ticket, TicketKind, zeroed};
use crate::topology::{Communicator, Context, UserGroup};
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::rma::epochs::ReorderFlags;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::windows::{hints, wrong};

const PADDED: Error = wrong(
    ErrorClass::Type,
    "elements of a window have no padding; order the fields of the struct so that it has none",
);

/// Memory of this process that a window exposes: the address and count of its elements.
struct ExposedSlice<T> {
    first: NonNull<T>,
    len: usize,
}

impl<T: Equivalence> ExposedSlice<T> {
    /// Returns class Type for elements with padding, which a get would read.
    fn check() -> Result<(), Error> {
        let datatype = T::equivalent_datatype();
        let kind = kind_of(&datatype);
        if kind.row() == Some(0) && kind.size() == size_of::<T>() {
            Ok(())
        } else {
            Err(PADDED)
        }
    }

    fn from_slice(memory: &mut [T]) -> ExposedSlice<T> {
        ExposedSlice {
            first: NonNull::from(&mut *memory).cast(),
            len: memory.len(),
        }
    }

    fn span(&self) -> Span {
        match self.len * size_of::<T>() {
            0 => Span::EMPTY,
            // SAFETY: the memory exists while it is exposed: a window is freed, and attached memory detached, before it
            // is dropped; forgotten memory lives forever, or is freed by its scope.
            bytes => unsafe { Span::new(self.first.as_ptr().cast_const().cast(), bytes) },
        }
    }

    /// Returns the offset of an element in bytes.
    ///
    /// # Panics
    /// When there is no such element.
    #[track_caller]
    fn offset(&self, index: usize) -> usize {
        let len = self.len;
        assert!(index < len, "element {index} of a part of {len} elements");
        index * size_of::<T>()
    }

    #[track_caller]
    fn load(&self, record: &WindowRecord, index: usize) -> T {
        let offset = self.offset(index);
        let mut value = zeroed::<T>();
        // SAFETY: a value without padding consists of bytes, and `normalize` makes it valid again.
        let bytes = unsafe { core::slice::from_raw_parts_mut((&raw mut value).cast::<u8>(), size_of::<T>()) };
        record.run("MPI_Win_sync", |call| {
            let span = self.span();
            call.env.advance(call.note(None), None);
            let element = BufferSlice::from(span).part(offset, bytes.len());
            call.env.read(element, bytes);
            Ok(())
        });
        // SAFETY: `value` is a local variable.
        unsafe { T::normalize(&mut value, 1) };
        value
    }

    #[track_caller]
    fn store(&self, record: &WindowRecord, index: usize, value: &T) {
        let offset = self.offset(index);
        // SAFETY: a value without padding consists of bytes.
        let bytes = unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) };
        record.run("MPI_Win_sync", |call| {
            let span = self.span();
            let element = BufferSlice::from(span).part(offset, bytes.len());
            call.env.write(element, bytes);
            Ok(())
        });
    }

    fn local<'l>(&'l mut self, record: &'l Rc<WindowRecord>) -> Result<LocalPart<'l, T>, Error> {
        record.withdraw("Window::local", self.span())?;
        // SAFETY: only this process accesses the memory until it is given back, and `self` is borrowed for as long.
        let memory = unsafe {
            T::normalize(self.first.as_ptr(), self.len);
            core::slice::from_raw_parts_mut(self.first.as_ptr(), self.len)
        };
        Ok(LocalPart { record, memory })
    }
}

/// The memory of a window's part, for this process alone. Its drop gives the memory back to the window.
pub struct LocalPart<'l, T> {
    record: &'l Rc<WindowRecord>,
    memory: &'l mut [T],
}

impl<T> Deref for LocalPart<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.memory
    }
}

impl<T> DerefMut for LocalPart<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.memory
    }
}

impl<T> Drop for LocalPart<'_, T> {
    fn drop(&mut self) {
        if self.record.here().env().is_ok() {
            let here = self.record.here();
            here.or_fatal("MPI_Win_unlock", self.record.give_back("MPI_Win_unlock"));
        }
    }
}

/// Calls of all windows. Sealed.
pub trait AnyWindow: sealed::Sealed {
    /// Returns its group of processes (MPI_Win_get_group, MPI-3.1 section 11.2.6). Does not block. Aborts the job when
    /// the heap has no space.
    fn group(&self) -> UserGroup {
        self.record().comm.group()
    }

    /// Sets its name (MPI_Win_set_name, MPI-3.1 section 6.8). Does not block.
    fn set_name(&self, name: &str) {
        self.record().comm.set_name(name);
    }

    /// Returns its name, which is empty unless it was set.
    fn get_name(&self) -> String {
        self.record().comm.get_name()
    }

    /// Allows epochs of this window to be reordered at this process from now on (MPI_Win_set_info with the keys in
    /// `docs/rma.md`). The program guarantees that these epochs use disjoint memory. Does not block.
    fn set_reorder(&self, reorder: ReorderFlags) {
        self.record().run("MPI_Win_set_info", |call| {
            call.set_reorder(reorder);
            Ok(())
        });
    }

    /// Returns the permitted reorderings (MPI_Win_get_info); by default none. Does not block.
    fn reorder(&self) -> ReorderFlags {
        let record = self.record();
        record.run("MPI_Win_get_info", |call| Ok(call.reorder()))
    }

    /// Sets hints at this process (MPI_Win_set_info, MPI-3.1 section 11.2.7). Uses the keys in `docs/rma.md` whose
    /// value is true or false, like [`set_reorder`](AnyWindow::set_reorder). Does not block.
    fn set_info(&self, info: &Info) {
        let mut reorder = self.reorder();
        for (key, place) in hints::REORDER {
            if let Some(value) = info.0.flag(key) {
                *place(&mut reorder) = value;
            }
        }
        self.set_reorder(reorder);
    }

    /// Returns the attached value of this type (MPI_Win_get_attr, MPI-3.1 section 6.7.3). Does not block.
    fn get_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().comm.get_attr()
    }

    /// Removes the attached value of this type (MPI_Win_delete_attr, MPI-3.1 section 6.7.3). Does not block.
    fn delete_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().comm.delete_attr()
    }

    /// Makes progress (MPI_Win_sync, MPI-3.1 section 11.5.4). A window has a single copy, so that nothing needs
    /// synchronization. Does not block.
    fn sync(&self) {
        self.record().run("MPI_Win_sync", |call| {
            call.env.advance(call.note(None), None);
            Ok(())
        });
    }

    ends_the_job! {
        "mpi::window::AnyWindow", [fn(&self)], self.record().here();

        /// Returns the hints in use, allocated from the program's heap (MPI_Win_get_info, MPI-3.1 section 11.2.7). Does
        /// not block. Aborts the job where [`try_get_info`](AnyWindow::try_get_info) fails.
        get_info[]() -> Info, "MPI_Win_get_info";
        /// [`get_info`](AnyWindow::get_info) that returns [`Error::NoSpace`].
        or try_get_info = Info::from_pairs(&hints::in_use(self.reorder()));

        /// Attaches a value, which replaces one of the same type (MPI_Win_set_attr, MPI-3.1 section 6.7.3); see
        /// [`Context::set_attr`](crate::topology::Context::set_attr). The value is dropped with the window.
        set_attr[A: CommAttribute](value: A), "MPI_Win_set_attr";
        /// [`set_attr`](AnyWindow::set_attr) that returns [`Error::NoSpace`].
        or try_set_attr = self.record().comm.try_set_attr(value);
    }
}

pub(super) mod sealed {
    use alloc::rc::Rc;

    pub trait Sealed {
        #[allow(private_interfaces)]
        fn record(&self) -> &Rc<super::WindowRecord>;
    }
}

/// A window whose parts consist of elements of one type (MPI-3.1 section 11.2). Each process exposes its part to all
/// processes of a communicator. Its drop frees it (MPI_Win_free, MPI-3.1 section 11.2.5), which blocks until all
/// processes have called it.
pub struct Window<'a, T: Equivalence> {
    record: Rc<WindowRecord>,
    memory: ExposedSlice<T>,
    /// Capacity of the memory allocated for the window; `None`: the program's memory.
    capacity: Option<usize>,
    borrowed: PhantomData<&'a mut [T]>,
}

#[allow(private_interfaces)]
impl<T: Equivalence> sealed::Sealed for Window<'_, T> {
    fn record(&self) -> &Rc<WindowRecord> {
        &self.record
    }
}
impl<T: Equivalence> AnyWindow for Window<'_, T> {}

impl<T: Equivalence> Window<'static, T> {
    ends_the_job! {
        "mpi::window::Window", [pub fn()], comm.as_simple().record.here;

        /// Allocates a window of `len` zeroed elements at this process, from the program's heap (MPI_Win_allocate,
        /// MPI-3.1 section 11.2.2). Blocks until all processes of the communicator have called it. An error aborts the
        /// job.
        allocate[C: Communicator + ?Sized](len: usize, comm: &C) -> Self, "MPI_Win_allocate";
        /// [`allocate`](Window::allocate) that returns its error.
        ///
        /// # Errors
        /// All processes fail together: with [`Error::NoSpace`] where the heap has no space, with class NoMem at the
        /// others, and with [`Error::Limit`] for too many windows and communicators. Class Type for elements with
        /// padding.
        or try_allocate = {
            ExposedSlice::<T>::check()?;
            let (record, (memory, capacity)) = WindowRecord::make("MPI_Win_allocate", comm.as_simple(), size_of::<T>(), || {
                let mut values: Vec<T> = try_with_capacity(len)?;
                values.extend((0..len).map(|_| zeroed::<T>()));
                let memory = ExposedSlice::from_slice(&mut values);
                // The window owns the memory from here on.
                let values = core::mem::ManuallyDrop::new(values);
                Ok((Some(memory.span()), (memory, values.capacity())))
            })?;
            let capacity = Some(capacity);
            Ok(Window { record, memory, capacity, borrowed: PhantomData })
        };
    }

    /// Allocates a window of shared memory (MPI_Win_allocate_shared, MPI-3.1 section 11.2.3). Processes do not share
    /// memory: returns class RmaShared unless the communicator contains one process, like those of
    /// [`split_shared`](Communicator::split_shared). Otherwise see [`try_allocate`](Window::try_allocate).
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_allocate_shared(len: usize, comm: &(impl Communicator + ?Sized)) -> Result<Self, Error> {
        match comm.size() {
            1 => Self::try_allocate(len, comm),
            _ => Err(wrong(
                ErrorClass::RmaShared,
                "each process has memory of its own; only a communicator of one process can share",
            )),
        }
    }
}

impl<'a, T: Equivalence> Window<'a, T> {
    ends_the_job! {
        "mpi::window::Window", [pub fn()], comm.as_simple().record.here;

        /// Creates a window on the program's memory (MPI_Win_create, MPI-3.1 section 11.2.1). Blocks until all
        /// processes of the communicator have called it. The program may use the memory again when the scope ends,
        /// which frees the window if it was not dropped. An error aborts the job.
        create[S: Scope<'a>, C: Communicator + ?Sized](scope: S, memory: &'a mut [T], comm: &C)
            -> Self, "MPI_Win_create";
        /// [`create`](Window::create) that returns the errors of [`try_allocate`](Window::try_allocate).
        or try_create = {
            ExposedSlice::<T>::check()?;
            // SAFETY: borrowed until the end of the scope; that returns the loan.
            let prepared = scope.prepare().and_then(|()| unsafe { borrow_whole_mut(memory).loan_span() });
            let memory = ExposedSlice::from_slice(memory);
            let (record, loan) = WindowRecord::make("MPI_Win_create", comm.as_simple(), size_of::<T>(), || {
                Ok((Some(memory.span()), prepared?))
            })?;
            keep(scope, TicketKind::OneSided(record.clone(), WatchedEvent::Freed), loan);
            Ok(Window { record, memory, capacity: None, borrowed: PhantomData })
        };
    }

    /// Returns the number of elements of this process's part.
    pub fn len(&self) -> usize {
        self.memory.len
    }

    /// Checks whether this process's part has no elements.
    pub fn is_empty(&self) -> bool {
        self.memory.len == 0
    }

    /// Returns a copy of an element of this process's part; other processes may update it at the same time. Makes
    /// progress and does not block, so that a program can poll for a value.
    ///
    /// # Panics
    /// When there is no such element.
    #[track_caller]
    pub fn load(&self, index: usize) -> T {
        self.memory.load(&self.record, index)
    }

    /// Sets an element of this process's part; other processes may update it, too. Does not block.
    ///
    /// # Panics
    /// When there is no such element.
    #[track_caller]
    pub fn store(&self, index: usize, value: &T) {
        self.memory.store(&self.record, index, value);
    }

    /// Returns exclusive access to this process's part, under an exclusive lock. Blocks until the epochs of this
    /// process are complete and no other process has a lock here. An error aborts the job.
    #[track_caller]
    pub fn local(&mut self) -> LocalPart<'_, T> {
        let here = self.record.here().clone();
        let function = "mpi::window::Window::local (MPI_Win_lock)";
        here.or_fatal(function, self.try_local())
    }

    /// [`local`](Window::local) that returns [`Error::NoSpace`], or class RmaSync while a forgotten epoch is open.
    pub fn try_local(&mut self) -> Result<LocalPart<'_, T>, Error> {
        self.memory.local(&self.record)
    }
}

impl<T: Equivalence> Drop for Window<'_, T> {
    fn drop(&mut self) {
        let here = self.record.here();
        // Without a device, others may still access the memory, so it is not freed.
        if here.env().is_err() {
            return;
        }
        here.or_fatal("MPI_Win_free", self.record.free("MPI_Win_free"));
        if let Some(capacity) = self.capacity {
            let (first, len) = (self.memory.first.as_ptr(), self.memory.len);
            // SAFETY: from a vector that was forgotten on creation of the window; no other process accesses it any
            // more.
            unsafe {
                T::normalize(first, len);
                drop(Vec::from_raw_parts(first, len, capacity));
            }
        }
    }
}

/// Makes a scope complete an operation at its end. The scope has a free slot.
fn keep<'a, S: Scope<'a>>(scope: S, what: TicketKind, loan: BufferLoan) {
    drop(scope.keep(Ticket::new(what, loan)));
}

/// A window to which processes attach memory (MPI-3.1 section 11.2.4). Its drop frees it (MPI_Win_free), which blocks
/// until all processes have called it.
pub struct DynamicWindow {
    record: Rc<WindowRecord>,
}

#[allow(private_interfaces)]
impl sealed::Sealed for DynamicWindow {
    fn record(&self) -> &Rc<WindowRecord> {
        &self.record
    }
}
impl AnyWindow for DynamicWindow {}

impl DynamicWindow {
    ends_the_job! {
        "mpi::window::DynamicWindow", [pub fn()], comm.as_simple().record.here;

        /// Creates a window without memory (MPI_Win_create_dynamic). Blocks until all processes of the communicator
        /// have called it. An error aborts the job.
        create[C: Communicator + ?Sized](comm: &C) -> DynamicWindow, "MPI_Win_create_dynamic";
        /// [`create`](DynamicWindow::create) that returns the errors of [`Window::try_allocate`].
        or try_create = {
            let (record, ()) = WindowRecord::make("MPI_Win_create_dynamic", comm.as_simple(), 1, || Ok((None, ())))?;
            Ok(DynamicWindow { record })
        };
    }

    ends_the_job! {
        "mpi::window::DynamicWindow", [pub fn(&self)], self.record.here();

        /// Attaches memory (MPI_Win_attach) until the result is dropped or the scope ends. Does not block. An error
        /// aborts the job.
        attach['a, S: Scope<'a>, T: Equivalence](scope: S, memory: &'a mut [T]) -> AttachedMemory<'a, T>, "MPI_Win_attach";
        /// [`attach`](DynamicWindow::attach) that returns [`Error::NoSpace`], or class Type for elements with padding.
        or try_attach = {
            ExposedSlice::<T>::check()?;
            scope.prepare()?;
            // SAFETY: borrowed until the end of the scope; that returns the loan.
            let loan = unsafe { borrow_whole_mut(memory).loan_span() }?;
            let (record, memory) = (self.record.clone(), ExposedSlice::from_slice(memory));
            let span = memory.span();
            if !span.is_empty() {
                record.attach("MPI_Win_attach", span)?;
                let watched = WatchedEvent::Detached(span.address());
                keep(scope, TicketKind::OneSided(record.clone(), watched), loan);
            }
            Ok(AttachedMemory { record, memory, borrowed: PhantomData })
        };
    }
}

impl Drop for DynamicWindow {
    fn drop(&mut self) {
        let here = self.record.here();
        if here.env().is_ok() {
            here.or_fatal("MPI_Win_free", self.record.free("MPI_Win_free"));
        }
    }
}

/// Memory attached to a [`DynamicWindow`]. Its drop detaches it (MPI_Win_detach), which blocks while another process
/// gets data from it.
pub struct AttachedMemory<'a, T: Equivalence> {
    record: Rc<WindowRecord>,
    memory: ExposedSlice<T>,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<T: Equivalence> AttachedMemory<'_, T> {
    /// Returns the address of its first element, for use by other processes (MPI_Get_address).
    pub fn address(&self) -> Address {
        self.memory.first.as_ptr().expose_provenance() as Address
    }

    /// Returns a copy of an element; see [`Window::load`].
    ///
    /// # Panics
    /// When there is no such element.
    #[track_caller]
    pub fn load(&self, index: usize) -> T {
        self.memory.load(&self.record, index)
    }

    /// Sets an element; see [`Window::store`].
    ///
    /// # Panics
    /// When there is no such element.
    #[track_caller]
    pub fn store(&self, index: usize, value: &T) {
        self.memory.store(&self.record, index, value);
    }

    /// Returns exclusive access to the memory; see [`Window::local`]. Meanwhile no other process can access the window.
    ///
    /// # Panics
    /// When it is attached to another window.
    #[track_caller]
    pub fn local<'l>(&'l mut self, window: &'l mut DynamicWindow) -> LocalPart<'l, T> {
        let is_its_own = Rc::ptr_eq(&self.record, &window.record);
        assert!(is_its_own, "attached to another window");
        let local = self.memory.local(&self.record);
        let function = "mpi::window::AttachedMemory::local (MPI_Win_lock)";
        window.record.here().or_fatal(function, local)
    }
}

impl<T: Equivalence> Drop for AttachedMemory<'_, T> {
    fn drop(&mut self) {
        let here = self.record.here();
        if here.env().is_ok() && self.memory.len > 0 {
            let base = self.memory.first.addr().get();
            here.or_fatal("MPI_Win_detach", self.record.detach("MPI_Win_detach", base));
        }
    }
}
