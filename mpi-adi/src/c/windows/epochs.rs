//! Section 11.5: what opens, closes and flushes epochs.

use alloc::vec::Vec;
use core::ffi::c_int;

use super::objects::{Access, Window, on_win, out_of_order, wrong};
use crate::c::args::{self, Peer, destination};
use crate::c::groups::members_within;
use crate::c::types::constants::*;
use crate::device::envelope::Rank;
use crate::device::memory::Span;
use crate::device::rma::wire::Kind;
use crate::device::rma::{Awaited, Flags};
use crate::mpi::call;
use crate::mpi::coll;
use crate::mpi::comm::{Communicator, Partners, RankMap};
use crate::mpi::error::{Class, Error};

/// Fails unless `assert` says nothing but what a call `allows`.
fn check_assert(assert: c_int, allows: c_int) -> Result<(), Error> {
    match assert & !allows {
        0 => Ok(()),
        _ => Err(wrong(
            Class::Assert,
            "assert has a bit that means nothing to this call",
        )),
    }
}

impl Window {
    /// The process with the rank that the program gives.
    pub fn target(&self, rank: c_int) -> Result<Peer<Rank>, Error> {
        let group = self.membership.group();
        let partners = Partners::at(self.env, group);
        Ok(match destination(&partners, rank)? {
            Peer::ProcNull => Peer::ProcNull,
            Peer::Rank(rank) => Peer::Rank(group.to_world(rank)),
        })
    }

    /// No process leaves before all have come.
    pub fn barrier(&self) -> Result<(), Error> {
        let world = Communicator::world(self.env);
        let is_of_all = self.membership.map == RankMap::All && self.membership.size == world.size();
        let comm = if is_of_all { world } else { self.comm() };
        coll::barrier(comm, self.function)
    }

    /// An epoch of access can begin, if none is open.
    fn check_idle(access: &Access) -> Result<(), Error> {
        match access {
            Access::None | Access::Fence { is_used: false } => Ok(()),
            Access::Fence { is_used: true } => {
                Err(out_of_order("operations since the last MPI_Win_fence"))
            }
            Access::Start { .. } => Err(out_of_order("MPI_Win_start has not been completed")),
            Access::Locks(_) | Access::All { .. } => Err(out_of_order("a lock is held")),
        }
    }

    /// Asks for a lock, and waits until it is granted.
    fn lock(&self, target: Rank, exclusive: bool) {
        let packet = self.head(Kind::Lock, exclusive.into());
        self.ask(target, Awaited::Lock, (Span::EMPTY, 0), &packet);
        self.wait_until(Some(target), |window| window.has(target, Flags::HELD));
    }

    /// Gives locks back that have been asked for; their answers are still to come.
    fn give_back(&self, target: Rank) {
        self.change(|window| {
            window.clear(target, Flags::HELD);
            window.clear(target, Flags::TOUCHED);
        });
        let packet = self.head(Kind::Unlock, 0);
        self.ask(target, Awaited::Done, (Span::EMPTY, 0), &packet);
    }

    /// Before an operation on `target`: there is an epoch, and it is open there as well.
    pub fn enter(&self, target: Rank, is_request: bool) -> Result<(), Error> {
        enum Needs {
            Nothing,
            Post,
            Lock,
        }
        let needs = self.with(|object| match &mut object.access {
            Access::Fence { is_used } if !is_request => {
                *is_used = true;
                Ok(Needs::Nothing)
            }
            Access::Start { group, waits } if !is_request && group.contains(&target) => {
                Ok(if *waits { Needs::Post } else { Needs::Nothing })
            }
            Access::Locks(locks) if locks.iter().any(|(held, _)| *held == target) => {
                Ok(Needs::Nothing)
            }
            Access::All { asks } => Ok(if *asks { Needs::Lock } else { Needs::Nothing }),
            _ if is_request => Err(out_of_order(
                "a request is for an epoch of MPI_Win_lock or MPI_Win_lock_all that includes the target",
            )),
            _ => Err(out_of_order("no epoch is open that includes the target")),
        })?;
        match needs {
            Needs::Nothing => {}
            Needs::Post => {
                self.wait_until(Some(target), |window| window.has(target, Flags::POSTED))
            }
            Needs::Lock => {
                let holds = self.change(|window| window.has(target, Flags::HELD));
                if holds != Some(true) {
                    self.lock(target, false);
                }
            }
        }
        Ok(())
    }

    /// Fails unless a passive epoch includes the process, or any.
    fn check_passive(&self, target: Option<Rank>) -> Result<(), Error> {
        self.with(|object| match &object.access {
            Access::All { .. } => Ok(()),
            Access::Locks(locks)
                if target.is_none_or(|target| locks.iter().any(|(held, _)| *held == target)) =>
            {
                Ok(())
            }
            _ => Err(out_of_order("no lock is held there")),
        })
    }
}

#[unsafe(export_name = "PMPI_Win_fence")]
pub unsafe extern "C" fn MPI_Win_fence(assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_fence", win, |window| {
        check_assert(
            assert,
            MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
        )?;
        window.with(|object| {
            if object.is_exposed {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            match object.access {
                Access::None | Access::Fence { .. } => Ok(()),
                _ => Window::check_idle(&object.access),
            }
        })?;
        let flushed = window.flush(None);
        window.barrier()?;
        window.with(|object| {
            object.access = match assert & MPI_MODE_NOSUCCEED {
                0 => Access::Fence { is_used: false },
                _ => Access::None,
            };
            flushed
        })
    })
}

#[unsafe(export_name = "PMPI_Win_start")]
pub unsafe extern "C" fn MPI_Win_start(group: c_int, assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_start", win, |window| {
        check_assert(assert, MPI_MODE_NOCHECK)?;
        let group = members_within(window.membership, group)?;
        window.with(|object| {
            Window::check_idle(&object.access)?;
            let waits = assert & MPI_MODE_NOCHECK == 0;
            object.access = Access::Start { group, waits };
            Ok(())
        })
    })
}

#[unsafe(export_name = "PMPI_Win_complete")]
pub unsafe extern "C" fn MPI_Win_complete(win: c_int) -> c_int {
    on_win("MPI_Win_complete", win, |window| {
        let (group, waits) =
            window.with(
                |object| match core::mem::replace(&mut object.access, Access::None) {
                    Access::Start { group, waits } => Ok((group, waits)),
                    other => {
                        object.access = other;
                        Err(out_of_order("MPI_Win_start has not been called"))
                    }
                },
            )?;
        window.drain(None);
        // Operations keep their order with what ends the epoch; only errors have to be asked for.
        let done = match window.is_dynamic {
            true => window.flush(None),
            false => Ok(()),
        };
        let packet = window.head(Kind::Complete, 0);
        for target in group {
            if waits {
                window.wait_until(Some(target), |window| window.has(target, Flags::POSTED));
            }
            window.change(|window| {
                window.clear(target, Flags::POSTED);
                window.clear(target, Flags::TOUCHED);
            });
            window.tell(target, &packet);
        }
        window.set_off();
        done.and_then(|()| window.faults())
    })
}

#[unsafe(export_name = "PMPI_Win_post")]
pub unsafe extern "C" fn MPI_Win_post(group: c_int, assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_post", win, |window| {
        check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
        let group = members_within(window.membership, group)?;
        window.with(|object| {
            if object.is_exposed {
                return Err(out_of_order("MPI_Win_post has not been waited for"));
            }
            if let Access::Fence { is_used: true } = object.access {
                return Err(out_of_order("operations since the last MPI_Win_fence"));
            }
            object.is_exposed = true;
            Ok(())
        })?;
        window.change(|window| window.expose(group.len() as u32));
        if assert & MPI_MODE_NOCHECK == 0 {
            let packet = window.head(Kind::Post, 0);
            for origin in group {
                window.tell(origin, &packet);
            }
        }
        window.set_off();
        Ok(())
    })
}

fn end_exposure(window: &Window) -> Result<(), Error> {
    window.with(|object| {
        object.is_exposed = false;
        Ok(())
    })
}

fn check_exposed(window: &Window) -> Result<(), Error> {
    window.with(|object| match object.is_exposed {
        true => Ok(()),
        false => Err(out_of_order("MPI_Win_post has not been called")),
    })
}

#[unsafe(export_name = "PMPI_Win_wait")]
pub unsafe extern "C" fn MPI_Win_wait(win: c_int) -> c_int {
    on_win("MPI_Win_wait", win, |window| {
        check_exposed(&window)?;
        window.wait_until(None, |window| window.exposed_to() == 0);
        end_exposure(&window)
    })
}

#[unsafe(export_name = "PMPI_Win_test")]
pub unsafe extern "C" fn MPI_Win_test(win: c_int, flag: *mut c_int) -> c_int {
    on_win("MPI_Win_test", win, |window| {
        // SAFETY: the standard's promise about `flag`.
        let flag = unsafe { args::out(flag, "flag") }?;
        check_exposed(&window)?;
        call::look(window.env, window.note(None), |_, _| ());
        let is_over = window.change(|window| window.exposed_to() == 0) == Some(true);
        *flag = is_over.into();
        match is_over {
            true => end_exposure(&window),
            false => Ok(()),
        }
    })
}

#[unsafe(export_name = "PMPI_Win_lock")]
pub unsafe extern "C" fn MPI_Win_lock(
    lock_type: c_int,
    rank: c_int,
    assert: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Win_lock", win, |window| {
        let exclusive = match lock_type {
            MPI_LOCK_EXCLUSIVE => true,
            MPI_LOCK_SHARED => false,
            _ => {
                return Err(wrong(
                    Class::Locktype,
                    "lock_type is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED",
                ));
            }
        };
        check_assert(assert, MPI_MODE_NOCHECK)?;
        let Peer::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let asks = assert & MPI_MODE_NOCHECK == 0;
        window.with(|object| {
            if let Access::None | Access::Fence { is_used: false } = object.access {
                object.access = Access::Locks(Vec::new());
            }
            let Access::Locks(locks) = &mut object.access else {
                return Window::check_idle(&object.access);
            };
            if locks.iter().any(|(held, _)| *held == target) {
                return Err(out_of_order("the lock is held already"));
            }
            let none = |_| Error::NoRoom {
                bytes: size_of::<(Rank, bool)>(),
            };
            locks.try_reserve(1).map_err(none)?;
            locks.push((target, asks));
            Ok(())
        })?;
        if asks {
            window.lock(target, exclusive);
        }
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_unlock")]
pub unsafe extern "C" fn MPI_Win_unlock(rank: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_unlock", win, |window| {
        let Peer::Rank(target) = window.target(rank)? else {
            return Ok(());
        };
        let asked = window.with(|object| {
            let Access::Locks(locks) = &mut object.access else {
                return Err(out_of_order("no lock is held there"));
            };
            let at = locks.iter().position(|(held, _)| *held == target);
            let (_, asked) = locks.swap_remove(at.ok_or(out_of_order("no lock is held there"))?);
            if locks.is_empty() {
                object.access = Access::None;
            }
            Ok(asked)
        })?;
        if !asked {
            return window.flush(Some(target));
        }
        window.drain(Some(target));
        window.give_back(target);
        window.drain(Some(target));
        window.faults()
    })
}

#[unsafe(export_name = "PMPI_Win_lock_all")]
pub unsafe extern "C" fn MPI_Win_lock_all(assert: c_int, win: c_int) -> c_int {
    on_win("MPI_Win_lock_all", win, |window| {
        check_assert(assert, MPI_MODE_NOCHECK)?;
        window.with(|object| {
            Window::check_idle(&object.access)?;
            let asks = assert & MPI_MODE_NOCHECK == 0;
            object.access = Access::All { asks };
            Ok(())
        })
    })
}

#[unsafe(export_name = "PMPI_Win_unlock_all")]
pub unsafe extern "C" fn MPI_Win_unlock_all(win: c_int) -> c_int {
    on_win("MPI_Win_unlock_all", win, |window| {
        window.with(|object| match object.access {
            Access::All { .. } => {
                object.access = Access::None;
                Ok(())
            }
            _ => Err(out_of_order("MPI_Win_lock_all has not been called")),
        })?;
        window.drain(None);
        let mut from = 0;
        while let Some(target) = window
            .change(|window| window.next_with(Flags::HELD, from))
            .flatten()
        {
            window.give_back(target);
            from = target.index() + 1;
        }
        // Where nothing was locked, since nothing conflicts, there is something to flush all the same.
        window.flush(None)
    })
}

/// What the four kinds of flushes do; those that are local end when the origin's buffers are the program's again.
fn flush(function: &'static str, win: c_int, rank: Option<c_int>, is_local: bool) -> c_int {
    on_win(function, win, |window| {
        let target = match rank {
            None => None,
            Some(rank) => match window.target(rank)? {
                Peer::ProcNull => return Ok(()),
                Peer::Rank(target) => Some(target),
            },
        };
        window.check_passive(target)?;
        match is_local {
            true => {
                window.drain(target);
                Ok(())
            }
            false => window.flush(target),
        }
    })
}

#[unsafe(export_name = "PMPI_Win_flush")]
pub unsafe extern "C" fn MPI_Win_flush(rank: c_int, win: c_int) -> c_int {
    flush("MPI_Win_flush", win, Some(rank), false)
}

#[unsafe(export_name = "PMPI_Win_flush_all")]
pub unsafe extern "C" fn MPI_Win_flush_all(win: c_int) -> c_int {
    flush("MPI_Win_flush_all", win, None, false)
}

#[unsafe(export_name = "PMPI_Win_flush_local")]
pub unsafe extern "C" fn MPI_Win_flush_local(rank: c_int, win: c_int) -> c_int {
    flush("MPI_Win_flush_local", win, Some(rank), true)
}

#[unsafe(export_name = "PMPI_Win_flush_local_all")]
pub unsafe extern "C" fn MPI_Win_flush_local_all(win: c_int) -> c_int {
    flush("MPI_Win_flush_local_all", win, None, true)
}

// There is one copy of a window (the unified model), and a call that makes progress: a program that waits for a value
// in its own window sees it come.
#[unsafe(export_name = "PMPI_Win_sync")]
pub unsafe extern "C" fn MPI_Win_sync(win: c_int) -> c_int {
    on_win("MPI_Win_sync", win, |window| {
        call::look(window.env, window.note(None), |_, _| ());
        Ok(())
    })
}
