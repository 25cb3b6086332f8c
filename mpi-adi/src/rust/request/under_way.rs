//! Collectives under way, and what lets them go on (MPI-3.1 section 5.12).

use alloc::rc::Rc;
use core::mem::replace;

use crate::Adi;
use crate::device::Beside;
use crate::mpi::call::block_on;
use crate::mpi::coll::{Plan, Running};
use crate::mpi::error::{Class, Error};
use crate::rust::process::{Here, current, note_of};
use crate::rust::topology::Record;

/// A collective that the program has started and not completed.
pub(crate) struct UnderWay {
    record: Rc<Record>,
    state: State,
}

enum State {
    /// It waits for messages.
    Running(Running),
    /// Its steps are being done right now, by a call further down on the stack.
    Stepping,
    Over(Result<(), Error>),
}

/// Starts a collective of the communicator; its place. Fails with [`Error::NoRoom`] or [`Error::NoMemory`] when not
/// one message could be started: then nothing has happened, and it can be tried again.
pub(crate) fn start(
    record: &Rc<Record>,
    function: &'static str,
    plan: Plan,
) -> Result<usize, Error> {
    let here = &record.here;
    let core = record.core()?;
    let beside = || Beside {
        is_ready,
        go_on,
        // What is kept here is this thread's, and no interrupt can look at it.
        meanwhile: None,
    };
    core.env().with(&mut |adi, _| adi.set_beside(beside()));
    let place = reserve(here, record)?;
    let begun = Running::new(core, function, record.started.get(), plan)
        .map(|mut running| (running.advance(core), running));
    let state = match begun {
        Ok((Ok(false), running)) => State::Running(running),
        Ok((Ok(true), _)) => State::Over(Ok(())),
        Ok((Err(error), running)) if running.has_begun() || error.class() != Class::NoMem => {
            State::Over(Err(error))
        }
        Ok((Err(error), _)) | Err(error) => {
            here.under_way.borrow_mut()[place] = None;
            return Err(error);
        }
    };
    record.started.set(record.started.get().wrapping_add(1));
    put_back(here, place, state);
    Ok(place)
}

fn reserve(here: &Here, record: &Rc<Record>) -> Result<usize, Error> {
    let mut list = here.under_way.borrow_mut();
    let entry = UnderWay {
        record: record.clone(),
        state: State::Stepping,
    };
    if let Some(place) = list.iter().position(Option::is_none) {
        list[place] = Some(entry);
        return Ok(place);
    }
    list.try_reserve(1).map_err(|_| Error::NoRoom {
        bytes: size_of::<UnderWay>(),
    })?;
    list.push(Some(entry));
    Ok(list.len() - 1)
}

fn put_back(here: &Here, place: usize, state: State) {
    if let Some(entry) = &mut here.under_way.borrow_mut()[place] {
        entry.state = state;
    }
}

/// The messages of one are there.
fn is_ready(adi: &Adi) -> bool {
    let Some(here) = current() else { return false };
    let list = here.under_way.borrow();
    list.iter().flatten().any(|entry| match &entry.state {
        State::Running(running) => running.is_ready(adi),
        _ => false,
    })
}

/// Takes the collective at this place, if it waits.
fn take(here: &Here, place: usize) -> Option<(Rc<Record>, Running)> {
    let mut list = here.under_way.borrow_mut();
    let entry = list.get_mut(place)?.as_mut()?;
    match replace(&mut entry.state, State::Stepping) {
        State::Running(running) => Some((entry.record.clone(), running)),
        other => {
            entry.state = other;
            None
        }
    }
}

/// Lets all go on for which messages have come.
fn go_on() {
    let Some(here) = current() else { return };
    let places = here.under_way.borrow().len();
    for place in 0..places {
        let Some((record, mut running)) = take(&here, place) else {
            continue;
        };
        let state = match record.core().and_then(|core| running.advance(core)) {
            Ok(false) => State::Running(running),
            Ok(true) => State::Over(Ok(())),
            Err(error) => State::Over(Err(error)),
        };
        put_back(&here, place, state);
    }
}

/// The collective at this place is over.
pub(super) fn is_over(here: &Here, place: usize) -> bool {
    let list = here.under_way.borrow();
    let entry = list.get(place).and_then(Option::as_ref);
    entry.is_none_or(|entry| matches!(entry.state, State::Over(_)))
}

/// Blocks until the collective at this place is over, and forgets it. Fails as it has.
pub(super) fn wait(here: &Here, function: &'static str, place: usize) -> Result<(), Error> {
    let env = here.env()?;
    block_on(env, note_of(function), |_, _| {
        is_over(here, place).then_some(())
    });
    match here.under_way.borrow_mut()[place].take() {
        Some(UnderWay {
            state: State::Over(result),
            ..
        }) => result,
        _ => Ok(()),
    }
}
