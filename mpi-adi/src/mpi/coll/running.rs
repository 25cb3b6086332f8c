//! A collective under way: what it does next, and the messages that it waits for.
//!
//! A plan is run at one go, or started. Then it goes on in any call that makes progress ([`crate::mpi::call`]), until a step has to wait for messages; nothing of
//! it is on a stack. Its memory is from the program's heap, taken when it is started: the schedule and what belongs to
//! it, the places of its messages, what the device needs for them, and, where it computes, two segments. So a program
//! that uses its heap up meanwhile does not keep others waiting.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Adi;
use crate::device::envelope::Tag;
use crate::device::matching::Matching;
use crate::device::memory::Span;
use crate::device::memory::area::Place;
use crate::device::protocol::Sound;
use crate::device::request::{KEPT_SLOTS, Mode, RequestId};
use crate::mpi::call::immediate;
use crate::mpi::coll::run::{Workspace, exactly};
use crate::mpi::coll::schedule::{Buffer, Step, numbered};
use crate::mpi::coll::segments::{LongSegments, SEGMENT_BYTES, Segment};
use crate::mpi::comm::{CommRank, Communicator, wait_cancelled};
use crate::mpi::error::Error;

/// What a collective does, with all that belongs to it.
pub(super) trait Work: Send {
    /// The next step; `None`: this process has done its part. Called outside of the device.
    fn next(&mut self) -> Result<Option<Step>, Error>;

    /// Combines elements: `right[i] = left[i] op right[i]`.
    fn combine(&mut self, left: &[u8], right: &mut [u8]);

    /// An error of a step in the program's terms, where its ranks are not those of the steps.
    fn explained(&self, error: Error) -> Error {
        error
    }
}

/// A collective that is to be started.
pub(crate) struct Plan {
    work: Box<dyn Work>,
    /// Bytes of an element of a segment; `None`: there are no segments.
    element: Option<usize>,
    /// Messages that can be under way at one time.
    messages: usize,
    /// No message waits for the one before.
    at_once: bool,
}

impl Plan {
    /// Step by step, in segments if there is an element.
    pub(super) fn by_steps(
        work: impl Work + 'static,
        element: Option<usize>,
    ) -> Result<Plan, Error> {
        Ok(Plan {
            work: boxed(work)?,
            element,
            messages: 2,
            at_once: false,
        })
    }

    /// All messages at once, which are all that it does.
    pub(super) fn at_once(work: impl Work + 'static, messages: usize) -> Result<Plan, Error> {
        Ok(Plan {
            work: boxed(work)?,
            element: None,
            messages,
            at_once: true,
        })
    }

    /// Runs it to its end in a blocking call, step by step.
    pub(crate) fn run<E: Matching>(
        mut self,
        comm: Communicator<'_, E>,
        function: &'static str,
    ) -> Result<(), Error> {
        let done = match self.element {
            Some(element) if element > SEGMENT_BYTES => {
                let mut segments = LongSegments::new(element)?;
                self.drive(comm, function, segments.both())
            }
            Some(_) => {
                let [first, second] = &mut [Segment::ZERO; 2];
                self.drive(comm, function, [&mut first.0[..], &mut second.0[..]])
            }
            None => self.drive(comm, function, [&mut [], &mut []]),
        };
        done.map_err(|error| self.work.explained(error))
    }

    fn drive<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        function: &'static str,
        [first, second]: [&mut [u8]; 2],
    ) -> Result<(), Error> {
        let partners = comm.partners().for_collectives();
        while let Some(step) = self.work.next()? {
            let mut workspace = Workspace {
                segments: [&mut *first, &mut *second],
                combine: &mut |left: &[u8], right: &mut [u8]| self.work.combine(left, right),
            };
            workspace.perform(comm, partners, function, step)?;
        }
        Ok(())
    }
}

impl<W: Work> Work for [W; 1] {
    fn next(&mut self) -> Result<Option<Step>, Error> {
        self[0].next()
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        self[0].combine(left, right);
    }

    fn explained(&self, error: Error) -> Error {
        self[0].explained(error)
    }
}

/// As [`Box::new`], but fails with [`Error::NoRoom`].
fn boxed<W: Work + 'static>(work: W) -> Result<Box<dyn Work>, Error> {
    let mut one = room(1)?;
    one.push(work);
    match <Box<[W; 1]>>::try_from(one) {
        Ok(one) => Ok(one),
        Err(_) => unreachable!("it has one"),
    }
}

/// An empty list with room for `count`. Fails with [`Error::NoRoom`].
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let none = |_| Error::NoRoom { bytes };
    list.try_reserve_exact(count).map_err(none)?;
    Ok(list)
}

/// A message under way.
struct Message {
    id: RequestId,
    /// Bytes of the buffer that a receive is to fill; `None`: a send.
    expected: Option<usize>,
}

/// A collective under way. It is not dropped before its end: [`Running::advance`].
pub(crate) struct Running {
    function: &'static str,
    /// What is added to the tags of its steps.
    tags: Tag,
    work: Box<dyn Work>,
    at_once: bool,
    segments: LongSegments,
    messages: Vec<Message>,
    /// One for each message: not written while that is under way.
    places: Vec<Place>,
    /// For how many messages the device has set memory aside.
    aside: u32,
    has_begun: bool,
}

impl Running {
    /// The collective with this number on its communicator, of which nothing has been done. Fails with
    /// [`Error::NoRoom`] or [`Error::NoMemory`].
    pub(crate) fn new<E: Matching>(
        comm: Communicator<'_, E>,
        function: &'static str,
        number: u32,
        plan: Plan,
    ) -> Result<Running, Error> {
        let bytes = plan.element.map(|element| element.max(SEGMENT_BYTES));
        let mut places = room(plan.messages)?;
        places.resize(plan.messages, Place::EMPTY);
        let mut running = Running {
            function,
            tags: numbered(number),
            work: plan.work,
            at_once: plan.at_once,
            segments: LongSegments::new(bytes.unwrap_or(0))?,
            messages: room(plan.messages)?,
            places,
            aside: 0,
            has_begun: false,
        };
        // A process alone goes through all steps at once, without messages; but it can be its own neighbour.
        let messages = match comm.size() > 1 || running.at_once {
            true => plan.messages,
            false => 0,
        };
        for _ in 0..messages {
            if let Err(error) = running.set_aside(comm, KEPT_SLOTS) {
                running.end(comm);
                return Err(error);
            }
        }
        Ok(running)
    }

    fn set_aside<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        keep: u32,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        comm.env().with(&mut |adi, _| result = adi.set_aside(keep));
        result?;
        self.aside += 1;
        Ok(())
    }

    /// Gives back what is set aside for it.
    fn end<E: Matching>(&mut self, comm: Communicator<'_, E>) {
        let aside = core::mem::take(&mut self.aside);
        comm.env()
            .with(&mut |adi, _| (0..aside).for_each(|_| adi.put_back()));
    }

    /// A message of it has been started.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The messages that it waits for are there.
    pub(crate) fn is_ready<E: Matching>(&self, adi: &Adi<Sound, E>) -> bool {
        self.messages.iter().all(|message| adi.is_done(message.id))
    }

    /// Goes on until it has to wait for messages: false; or to its end. Waits for none itself. After an error, which
    /// is also its end, none of its messages is under way.
    pub(crate) fn advance<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
    ) -> Result<bool, Error> {
        let result = self.go_on(comm).map_err(|error| self.work.explained(error));
        if result.is_err() {
            let partners = comm.partners().for_collectives();
            let note = partners.note(self.function, None, None);
            for message in self.messages.drain(..) {
                wait_cancelled(comm.env(), note, message.id);
            }
        }
        if !matches!(result, Ok(false)) {
            self.end(comm);
        }
        result
    }

    fn go_on<E: Matching>(&mut self, comm: Communicator<'_, E>) -> Result<bool, Error> {
        if !self.conclude(comm)? {
            return Ok(false);
        }
        while let Some(step) = self.work.next()? {
            self.perform(comm, step)?;
            if !self.at_once && !self.conclude(comm)? {
                return Ok(false);
            }
        }
        self.conclude(comm)
    }

    /// Ends the messages under way; false, and nothing done, when one has not arrived yet.
    fn conclude<E: Matching>(&mut self, comm: Communicator<'_, E>) -> Result<bool, Error> {
        let mut result = Ok(true);
        if self.messages.is_empty() {
            return result;
        }
        comm.env().with(&mut |adi, _| {
            if !self.is_ready(adi) {
                result = Ok(false);
                return;
            }
            for Message { id, expected } in self.messages.drain(..) {
                if let (Some(outcome), Some(expected)) = (adi.test(id), expected)
                    && let Err(error) = exactly(expected, comm.partners().received(outcome))
                {
                    result = Err(error);
                }
                // As much as has just become free. When others have taken it, this one takes what it can get later.
                self.aside += u32::from(adi.set_aside(0).is_ok());
            }
        });
        result
    }

    /// Starts the messages of a step, or does all of it.
    fn perform<E: Matching>(&mut self, comm: Communicator<'_, E>, step: Step) -> Result<(), Error> {
        match step {
            Step::Send { dest, tag, data } => self.send(comm, dest, tag, data),
            Step::Receive { source, tag, data } => self.receive(comm, source, tag, data),
            Step::Exchange { tag, given, taken } => {
                self.receive(comm, taken.1, tag, taken.0)?;
                self.send(comm, given.1, tag, given.0)
            }
            here => {
                let work = &mut self.work;
                let mut workspace = Workspace {
                    segments: self.segments.both(),
                    combine: &mut |left: &[u8], right: &mut [u8]| work.combine(left, right),
                };
                workspace.perform(comm, comm.partners(), self.function, here)
            }
        }
    }

    fn send<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        dest: CommRank,
        tag: Tag,
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(data));
        let partners = comm.partners().for_collectives();
        let to = partners.send_to(span, dest, tag, Mode::Standard)?;
        let note = partners.note(self.function, Some(dest), Some(tag));
        let is_aside = self.take_aside();
        let id = immediate(
            comm.env(),
            || note,
            |adi, kernel| match is_aside {
                true => adi.send_set_aside(kernel.memory(), to, span),
                false => adi.isend(kernel.memory(), to, span).map(Some),
            },
        )?;
        self.has_begun = true;
        match id {
            Some(id) => self.messages.push(Message { id, expected: None }),
            // It is complete already.
            None => self.set_aside(comm, 0).unwrap_or_default(),
        }
        Ok(())
    }

    fn receive<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        source: CommRank,
        tag: Tag,
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(data));
        let partners = comm.partners().for_collectives();
        let pattern = partners.pattern(Some(source), Some(tag))?;
        let note = partners.note(self.function, Some(source), Some(tag));
        let is_aside = self.take_aside();
        let id = immediate(
            comm.env(),
            || note,
            |adi, kernel| match is_aside {
                true => adi.recv_set_aside(kernel.memory(), pattern, span),
                false => adi.irecv(kernel.memory(), pattern, span),
            },
        )?;
        self.has_begun = true;
        let expected = Some(span.len());
        self.messages.push(Message { id, expected });
        Ok(())
    }

    /// Takes what the device has set aside for a message; false when there is nothing.
    fn take_aside(&mut self) -> bool {
        let is_aside = self.aside > 0;
        self.aside -= u32::from(is_aside);
        is_aside
    }

    /// The buffer's bytes, for the next message.
    fn span(&mut self, buffer: Buffer) -> Span {
        match buffer {
            Buffer::User(area) => {
                let place = &mut self.places[self.messages.len()];
                // SAFETY: the place is on the heap, and is written again only after `conclude` has found all
                // messages to be complete. A collective that is dropped has none under way (`advance`).
                unsafe { area.span(place) }
            }
            // SAFETY: as above, of a segment: it has so many bytes (`Walk`), and the two messages of a step have
            // different ones.
            Buffer::Segment(half, bytes) => unsafe {
                Span::new(self.segments.pointer(half), bytes)
            },
        }
    }
}
