//! A collective as a value, between its arguments and its run.

use core::marker::PhantomData;

use super::group::{CollectiveMode, CollectiveTarget, PartnerCounts};
use super::operation::{CollectiveReduction, CombineElements};
use super::recorded_arguments::{RecordedArguments, RecordedBuffer};
use crate::datatype::operands::CollectiveBuffer;
use crate::recording::{Call, Fields, RequestNumber};
use crate::request::{Request, Scope, Ticket, TicketKind, in_flight};
use crate::topology::{CommRecord, Rank};
use midplane_objects::coll::{CollectiveSchedule, CombineFn, ReduceElements};
use midplane_objects::error::Error;

/// A collective with its arguments. Does nothing before it is run or started; see the [module](super). Its buffers are
/// borrowed for `'a`, its communicator for `'c`. `D` is the buffer type of its request.
#[must_use = "it does nothing until it is run or started"]
pub struct Collective<'c, 'a, D: ?Sized, F> {
    record: &'c CommRecord,
    names: CallNames,
    /// The ranks of this process and of the root, if this process must call the other form.
    misplaced: Option<[Rank; 2]>,
    buffer: *const D,
    form: F,
    borrowed: PhantomData<&'a D>,
}

/// Function names of a collective's forms, in Rust and in MPI.
#[derive(Clone, Copy)]
pub(super) struct CallNames {
    pub(super) run: [&'static str; 2],
    pub(super) start: [&'static str; 2],
}

const FORMS: &str = "the root calls the form with `_root`, the others the form without";

impl<'c, 'a, D: ?Sized, F: CollectiveForm> Collective<'c, 'a, D, F> {
    /// Creates a collective. `form` borrows its buffers for `'a`, exclusively if written; `buffer` is one of them.
    pub(super) fn new(
        record: &'c CommRecord,
        names: CallNames,
        misplaced: Option<[Rank; 2]>,
        buffer: *const D,
        form: F,
    ) -> Self {
        Collective {
            record,
            names,
            misplaced,
            buffer,
            form,
            borrowed: PhantomData,
        }
    }

    #[track_caller]
    fn assert_form(&self) {
        if let Some([rank, root]) = self.misplaced {
            panic!("rank {rank} of a collective whose root is rank {root}: {FORMS}");
        }
    }

    fn check_form(&self) -> Result<(), Error> {
        let misplaced = self.misplaced.map(|_| Err(Error::argument(FORMS)));
        misplaced.unwrap_or(Ok(()))
    }

    /// Runs the collective: blocks until this process has completed its part. An error aborts the job.
    ///
    /// # Panics
    /// In a process that must call the other form (root or non-root).
    #[track_caller]
    pub fn run(self) {
        self.assert_form();
        let (here, name) = (&self.record.here, self.names.run[0]);
        here.or_fatal(name, self.try_run());
    }

    /// Runs the collective and returns its error; see the [module](super). [`Error::Argument`] where
    /// [`Collective::run`] panics.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_run(self) -> Result<(), Error> {
        self.check_form()?;
        let function = self.names.run[1];
        let call = Call::enter(function, |fields| self.form.add_arguments(function, fields));
        call.end_with(self.form.run(function), |_, _| {})
    }

    /// Starts the collective without blocking (MPI-3.1 section 5.12). An error aborts the job.
    ///
    /// The request is complete when this process has completed its part.
    ///
    /// # Panics
    /// In a process that must call the other form (root or non-root).
    #[track_caller]
    pub fn start<Sc: Scope<'a>>(self, scope: Sc) -> Request<'a, D, Sc> {
        self.assert_form();
        let (here, name) = (&self.record.here, self.names.start[0]);
        here.or_fatal(name, self.try_start(scope))
    }

    /// Starts the collective and returns its error; see [`Collective::try_run`].
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_start<Sc: Scope<'a>>(self, scope: Sc) -> Result<Request<'a, D, Sc>, Error> {
        self.check_form()?;
        let (form, function) = (self.form, self.names.start[1]);
        let call = Call::enter(function, |fields| {
            form.add_arguments(function, fields);
            fields.unknown(1);
        });
        // SAFETY: the buffers and everything else that the form borrows are borrowed for `'a` ([`Collective::new`]).
        let started = unsafe { Request::start(scope, self.buffer, || form.ticket(function)) };
        call.end_with(started, Request::add_number)
    }
}

/// Implementation of a collective: how to run and start it. Sealed.
#[doc(hidden)]
#[allow(private_interfaces)]
pub trait CollectiveForm {
    /// Adds the arguments of `function`, without the request of a nonblocking one, to the record of the call.
    fn add_arguments(&self, function: &'static str, fields: &mut Fields);

    /// Runs the collective in a call of `function`, and blocks until it is complete.
    fn run(self, function: &'static str) -> Result<(), Error>;

    /// Starts the collective in a call of `function`.
    ///
    /// # Safety
    /// Everything that it borrows stays borrowed until the ticket's operation is complete.
    unsafe fn ticket(self, function: &'static str) -> Result<Ticket, Error>;
}

/// Arguments that locate a call: the communicator's record, the group, the root, and the ranks of this process and of
/// the root if this process must call the other form.
pub(super) type CallTarget<'c, C, X> = (&'c CommRecord, C, Result<X, Error>, Option<[Rank; 2]>);

/// A collective with two implementations: `run` blocks, and `plan` creates the schedule of a nonblocking one.
pub(super) struct CollectiveCall<'c, C, X, S, T, O, B, P> {
    at: (&'c CommRecord, C, Result<X, Error>),
    buffers: (S, T),
    op: O,
    run: B,
    plan: P,
}

/// Creates a collective from its blocking and its nonblocking implementation.
pub(super) fn form<'c, C: CollectiveTarget, X, S: CollectiveBuffer, T: CollectiveBuffer, O: CollectiveReduction, B, P>(
    at: (&'c CommRecord, C, Result<X, Error>),
    buffers: (S, T),
    op: O,
    run: B,
    plan: P,
) -> CollectiveCall<'c, C, X, S, T, O, B, P>
where
    B: FnOnce(C, BlockingMode<'_>, X, S::PartMap, T::PartMap) -> Result<(), Error>,
    P: FnOnce(C, ScheduleMode<O::OwnedCombiner>, X, S::PartMap, T::PartMap) -> Result<CollectiveSchedule, Error>,
{
    CollectiveCall {
        at,
        buffers,
        op,
        run,
        plan,
    }
}

impl<C, X, S: CollectiveBuffer, T: CollectiveBuffer, O: CollectiveReduction, B, P>
    CollectiveCall<'_, C, X, S, T, O, B, P>
{
    /// Returns the elements to reduce and their combiner, from the send buffer or from the in-place buffer.
    fn elements(&self) -> Result<(ReduceElements, O::CallCombiner), Error> {
        self.at.0.here.env()?;
        let shape = self.buffers.0.shape().or(self.buffers.1.shape());
        let kind = shape.map(|(_, kind)| kind);
        let size = kind.map_or(0, |kind| kind.size());
        Ok((self.op.elements(size), self.op.combiner(kind)?))
    }
}

#[allow(private_interfaces)]
impl<C, X, S, T, O, B, P> CollectiveForm for CollectiveCall<'_, C, X, S, T, O, B, P>
where
    C: CollectiveTarget,
    X: PartnerCounts,
    S: CollectiveBuffer,
    T: CollectiveBuffer,
    O: CollectiveReduction,
    B: FnOnce(C, BlockingMode<'_>, X, S::PartMap, T::PartMap) -> Result<(), Error>,
    P: FnOnce(C, ScheduleMode<O::OwnedCombiner>, X, S::PartMap, T::PartMap) -> Result<CollectiveSchedule, Error>,
{
    fn add_arguments(&self, function: &'static str, fields: &mut Fields) {
        let (record, on, root) = &self.at;
        let root = root.as_ref().ok();
        let [to, from] = root.map_or([1, 1], |root| root.numbers(on.partners()));
        let arguments = RecordedArguments {
            communicator: record,
            root: root.map_or(-1, PartnerCounts::root_argument),
            operation: self.op.recorded_handle(),
            sent: RecordedBuffer::new(&self.buffers.0, to),
            received: RecordedBuffer::new(&self.buffers.1, from),
        };
        arguments.add(function, fields);
    }

    fn run(self, function: &'static str) -> Result<(), Error> {
        let (elements, mut combiner) = self.elements()?;
        let (_, on, root) = self.at;
        let root = root?;
        let [to, from] = root.numbers(on.partners());
        self.buffers.0.with_parts(to, |given| {
            self.buffers.1.with_parts(from, |taken| {
                let mode = BlockingMode {
                    function,
                    elements,
                    combine: &mut |left, right| combiner.combine(left, right),
                };
                (self.run)(on, mode, root, given, taken)
            })
        })
    }

    unsafe fn ticket(self, function: &'static str) -> Result<Ticket, Error> {
        let (elements, combiner) = self.elements()?;
        let (record, on, root) = self.at;
        let root = root?;
        let [to, from] = root.numbers(on.partners());
        // SAFETY: the caller guarantees the borrows; a ticket returns its loans.
        let ((given_loan, given), (taken_loan, taken), combine) = unsafe {
            (
                self.buffers.0.loan(to)?,
                self.buffers.1.loan(from)?,
                O::lasting(combiner),
            )
        };
        let mode = ScheduleMode { elements, combine };
        let plan = (self.plan)(on, mode, root, given, taken)?;
        let plan = plan.advances_in_interrupts(elements.predefined);
        let place = in_flight::start(record, function, plan)?;
        let what = TicketKind::Collective(record.clone(), place);
        Ok(Ticket {
            what,
            loans: [given_loan, taken_loan],
            number: RequestNumber::next(),
        })
    }
}

/// Mode of a blocking call: allocates nothing from the program's heap.
pub(super) struct BlockingMode<'x> {
    function: &'static str,
    elements: ReduceElements,
    combine: &'x mut CombineFn<'x>,
}

pub(super) struct ScheduleMode<L> {
    elements: ReduceElements,
    combine: L,
}

impl CollectiveMode for BlockingMode<'_> {
    type ModeOutput = ();
    type OwnedCombiner = ();

    fn elements(&self) -> ReduceElements {
        self.elements
    }

    fn choose<W>(
        self,
        with: W,
        run: impl FnOnce(&'static str, W, &mut CombineFn<'_>) -> Result<(), Error>,
        _: impl FnOnce(W, Self::OwnedCombiner) -> Result<CollectiveSchedule, Error>,
    ) -> Result<(), Error> {
        run(self.function, with, self.combine)
    }
}

impl<L: CombineElements + Send + 'static> CollectiveMode for ScheduleMode<L> {
    type ModeOutput = CollectiveSchedule;
    type OwnedCombiner = L;

    fn elements(&self) -> ReduceElements {
        self.elements
    }

    fn choose<W>(
        self,
        with: W,
        _: impl FnOnce(&'static str, W, &mut CombineFn<'_>) -> Result<(), Error>,
        plan: impl FnOnce(W, L) -> Result<CollectiveSchedule, Error>,
    ) -> Result<CollectiveSchedule, Error> {
        plan(with, self.combine)
    }
}

macro_rules! names {
    ($owner:literal, $run:ident, $start:ident, $mpi:literal, $immediate:literal) => {
        $crate::collective::call::CallNames {
            run: [called!($owner, $run, $mpi), $mpi],
            start: [called!($owner, $start, $immediate), $immediate],
        }
    };
}

/// Defines the collectives, one per row: the function that creates its value, the functions that run and start it, and
/// their MPI names; its caller; arguments; the buffer of its request; how its buffers are borrowed; its combiner; its
/// body.
macro_rules! collectives {
    (
        $owner:literal, [$vis:vis fn], |$on:ident, $mode:ident, $root:ident, $given:ident, $taken:ident|;
        $(
            $(#[$doc:meta])*
            $make:ident => $run:ident, $start:ident, $mpi:literal, $immediate:literal;
            $by:ident [$($generics:tt)*]($($arg:ident: $type:ty),*) -> $data:ty, $from:ident;
            $lend:expr, $lend_mut:expr, $op:expr => $body:expr;
        )*
    ) => {$(
        $(#[$doc])*
        #[allow(unused_variables, reason = "a row names what it needs")]
        $vis fn $make<$($generics)*>(
            &self,
            $($arg: $type),*
        ) -> $crate::collective::Collective<'_, 'a, $data, impl $crate::collective::call::CollectiveForm> {
            use $crate::collective::call;
            let (record, on, root, misplaced) = $by(self);
            let ($given, $taken) = ($lend, $lend_mut);
            let buffer = $crate::datatype::operands::CollectiveBuffer::buffer(&$from);
            let names = call::names!($owner, $run, $start, $mpi, $immediate);
            let form = call::form(
                (record, on, root),
                ($given, $taken),
                $op,
                |$on, $mode, $root, $given, $taken| $body,
                |$on, $mode, $root, $given, $taken| $body,
            );
            call::Collective::new(record, names, misplaced, buffer, form)
        }

        #[doc = concat!("Runs [`", stringify!($make), "`](Self::", stringify!($make), ") (", $mpi, ").")]
        #[track_caller]
        $vis fn $run<$($generics)*>(&self, $($arg: $type),*) {
            self.$make($($arg),*).run();
        }

        #[doc = concat!("Starts [`", stringify!($make), "`](Self::", stringify!($make), ") (", $immediate, ").")]
        #[track_caller]
        $vis fn $start<$($generics)*, Sc: $crate::request::Scope<'a>>(
            &self,
            scope: Sc,
            $($arg: $type),*
        ) -> $crate::request::Request<'a, $data, Sc> {
            self.$make($($arg),*).start(scope)
        }
    )*};
}

pub(super) use {collectives, names};
