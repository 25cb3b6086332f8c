//! The value that a collective is, between its arguments and its run.

use alloc::rc::Rc;
use core::marker::PhantomData;

use super::group::{Group, Mode, Partners};
use super::operation::{Combines, Reducing};
use crate::datatype::lent::Side;
use crate::request::{Request, Scope, Ticket, What, under_way};
use crate::topology::{Rank, Record};
use midplane_objects::coll::{Combine, Elements, Plan};
use midplane_objects::error::Error;

/// A collective with its arguments, which does nothing before it is run or started; see the [module](super). Its buffers
/// are borrowed for `'a`, its communicator for `'c`. A request has the buffer of type `D`.
#[must_use = "it does nothing until it is run or started"]
pub struct Collective<'c, 'a, D: ?Sized, F> {
    record: &'c Rc<Record>,
    names: Names,
    /// This process's rank and the root's, where the other form is for this process.
    misplaced: Option<[Rank; 2]>,
    buffer: *const D,
    form: F,
    borrowed: PhantomData<&'a D>,
}

/// What the forms of a collective are called, in Rust and in MPI.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) run: [&'static str; 2],
    pub(super) start: [&'static str; 2],
}

const FORMS: &str = "the root calls the form with `_root`, the others the form without";

impl<'c, 'a, D: ?Sized, F: Form> Collective<'c, 'a, D, F> {
    /// `form` borrows its buffers for `'a`, exclusively where they are written; `buffer` is one of them.
    pub(super) fn new(
        record: &'c Rc<Record>,
        names: Names,
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

    /// Runs it: blocks until this process has done its part. An error ends the job.
    ///
    /// # Panics
    /// In a process that is to call the other one of the forms for the root and for the others.
    #[track_caller]
    pub fn run(self) {
        self.assert_form();
        let (here, name) = (&self.record.here, self.names.run[0]);
        here.or_fatal(name, self.try_run());
    }

    /// As [`Collective::run`], with the error as its result: see the [module](super); [`Error::Argument`] where that
    /// panics.
    pub fn try_run(self) -> Result<(), Error> {
        self.check_form()?;
        self.form.run(self.names.run[1])
    }

    /// Starts it without blocking; the request is complete when this process has done its part (MPI-3.1 section 5.12). An
    /// error ends the job.
    ///
    /// # Panics
    /// As [`Collective::run`].
    #[track_caller]
    pub fn start<Sc: Scope<'a>>(self, scope: Sc) -> Request<'a, D, Sc> {
        self.assert_form();
        let (here, name) = (&self.record.here, self.names.start[0]);
        here.or_fatal(name, self.try_start(scope))
    }

    /// As [`Collective::start`], with the error as its result, as [`Collective::try_run`] has it.
    pub fn try_start<Sc: Scope<'a>>(self, scope: Sc) -> Result<Request<'a, D, Sc>, Error> {
        self.check_form()?;
        let (form, function) = (self.form, self.names.start[1]);
        // SAFETY: the buffers and what else the form borrows are borrowed for `'a` ([`Collective::new`]).
        unsafe { Request::start(scope, self.buffer, || form.ticket(function)) }
    }
}

/// How a collective is run and started. Sealed.
#[doc(hidden)]
#[allow(private_interfaces)]
pub trait Form {
    /// Blocks until it is over, in a call of `function`.
    fn run(self, function: &'static str) -> Result<(), Error>;

    /// Starts it in a call of `function`.
    ///
    /// # Safety
    /// What it borrows stays borrowed until the ticket's operation is over.
    unsafe fn ticket(self, function: &'static str) -> Result<Ticket, Error>;
}

/// Where a collective is called: in which context, on what, with which root, and with the ranks of this process and the root
/// where the other form is for this process.
pub(super) type At<'c, C, X> = (&'c Rc<Record>, C, Result<X, Error>, Option<[Rank; 2]>);

/// A collective by two routes: `run` blocks, and `plan` makes what is started.
pub(super) struct Call<'c, C, X, S, T, O, B, P> {
    at: (&'c Rc<Record>, C, Result<X, Error>),
    buffers: (S, T),
    op: O,
    run: B,
    plan: P,
}

/// The two routes of a collective.
pub(super) fn form<'c, C: Group, X, S: Side, T: Side, O: Reducing, B, P>(
    at: (&'c Rc<Record>, C, Result<X, Error>),
    buffers: (S, T),
    op: O,
    run: B,
    plan: P,
) -> Call<'c, C, X, S, T, O, B, P>
where
    B: FnOnce(C, Blocking<'_>, X, S::Parts, T::Parts) -> Result<(), Error>,
    P: FnOnce(C, Planned<O::Lasting>, X, S::Parts, T::Parts) -> Result<Plan, Error>,
{
    Call {
        at,
        buffers,
        op,
        run,
        plan,
    }
}

impl<C, X, S: Side, T: Side, O: Reducing, B, P> Call<'_, C, X, S, T, O, B, P> {
    /// What is reduced: elements of the buffer that is given, or of the one that is both.
    fn elements(&self) -> Result<(Elements, O::Combiner), Error> {
        self.at.0.here.env()?;
        let shape = self.buffers.0.shape().or(self.buffers.1.shape());
        let kind = shape.map(|(_, kind)| kind);
        let size = kind.map_or(0, |kind| kind.size());
        Ok((self.op.elements(size), self.op.combiner(kind)?))
    }
}

#[allow(private_interfaces)]
impl<C, X, S, T, O, B, P> Form for Call<'_, C, X, S, T, O, B, P>
where
    C: Group,
    X: Partners,
    S: Side,
    T: Side,
    O: Reducing,
    B: FnOnce(C, Blocking<'_>, X, S::Parts, T::Parts) -> Result<(), Error>,
    P: FnOnce(C, Planned<O::Lasting>, X, S::Parts, T::Parts) -> Result<Plan, Error>,
{
    fn run(self, function: &'static str) -> Result<(), Error> {
        let (elements, mut combiner) = self.elements()?;
        let (_, on, root) = self.at;
        let root = root?;
        let [to, from] = root.numbers(on.partners());
        self.buffers.0.lend(to, |given| {
            self.buffers.1.lend(from, |taken| {
                let mode = Blocking {
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
        // SAFETY: the caller's promise; a ticket gives its loans back.
        let ((given_loan, given), (taken_loan, taken), combine) = unsafe {
            (
                self.buffers.0.loan(to)?,
                self.buffers.1.loan(from)?,
                O::lasting(combiner),
            )
        };
        let mode = Planned { elements, combine };
        let plan = (self.plan)(on, mode, root, given, taken)?;
        let plan = plan.advances_in_interrupts(elements.predefined);
        let place = under_way::start(record, function, plan)?;
        let what = What::Collective(record.clone(), place);
        Ok(Ticket {
            what,
            loans: [given_loan, taken_loan],
        })
    }
}

/// In a call that blocks: takes nothing of the program's heap.
pub(super) struct Blocking<'x> {
    function: &'static str,
    elements: Elements,
    combine: &'x mut Combine<'x>,
}

/// To be started.
pub(super) struct Planned<L> {
    elements: Elements,
    combine: L,
}

impl Mode for Blocking<'_> {
    type Done = ();
    type Lasting = ();

    fn elements(&self) -> Elements {
        self.elements
    }

    fn choose<W>(
        self,
        with: W,
        run: impl FnOnce(&'static str, W, &mut Combine<'_>) -> Result<(), Error>,
        _: impl FnOnce(W, Self::Lasting) -> Result<Plan, Error>,
    ) -> Result<(), Error> {
        run(self.function, with, self.combine)
    }
}

impl<L: Combines + Send + 'static> Mode for Planned<L> {
    type Done = Plan;
    type Lasting = L;

    fn elements(&self) -> Elements {
        self.elements
    }

    fn choose<W>(
        self,
        with: W,
        _: impl FnOnce(&'static str, W, &mut Combine<'_>) -> Result<(), Error>,
        plan: impl FnOnce(W, L) -> Result<Plan, Error>,
    ) -> Result<Plan, Error> {
        plan(with, self.combine)
    }
}

macro_rules! names {
    ($owner:literal, $run:ident, $start:ident, $mpi:literal, $immediate:literal) => {
        $crate::collective::call::Names {
            run: [called!($owner, $run, $mpi), $mpi],
            start: [called!($owner, $start, $immediate), $immediate],
        }
    };
}

/// A row for each collective: the function that makes its value, with those that run and start it, and their names in MPI;
/// who calls it; arguments; the buffer of a request; how its buffers are lent; what combines elements; what is done.
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
        ) -> $crate::collective::Collective<'_, 'a, $data, impl $crate::collective::call::Form> {
            use $crate::collective::call;
            let (record, on, root, misplaced) = $by(self);
            let ($given, $taken) = ($lend, $lend_mut);
            let buffer = $crate::datatype::lent::Side::buffer(&$from);
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
