//! Sections 11.3.1, 11.3.2 and, for them, 11.3.5: put and get.

use core::ffi::{c_int, c_void};

use super::deferred::Origin;
use super::objects::{Window, on_win, wrong};
use super::transport::Pieces;
use crate::c::args::{self, Peer};
use crate::c::datatypes::{Elements, Lent};
use crate::c::requests::{RECEIVED_FROM_PROC_NULL, SEND_COMPLETE};
use crate::device::envelope::Rank;
use crate::device::rma::Awaited;
use crate::device::rma::epochs::Serial;
use crate::device::rma::wire::{Head, Kind};
use crate::device::rma::{MOST_GET, get_request};
use crate::mpi::error::{Class, Error};

/// Where the elements of a target are: its number, and displacement 0 of the first in bytes.
pub(super) struct Place {
    pub rank: Rank,
    pub base: i128,
    /// The epoch that it belongs to.
    pub epoch: Serial,
    /// Operations go straight there; else they are recorded.
    pub is_straight: bool,
}

/// The target's side of an operation, as the program gives it.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub rank: c_int,
    pub disp: isize,
    pub count: c_int,
    pub datatype: c_int,
}

impl Window {
    /// Finds the elements of a target, and that an epoch is open there. `None`: the target is MPI_PROC_NULL. Fails with
    /// classes RmaRange, RmaSync, Rank, Disp.
    pub(super) fn find(
        &self,
        target: Target,
        (elements, count): (&Elements, usize),
        is_request: bool,
    ) -> Result<Option<Place>, Error> {
        let Peer::Rank(rank) = self.target(target.rank)? else {
            return Ok(None);
        };
        let (epoch, is_straight) = self.enter(rank, is_request)?;
        let place = |base| {
            Some(Place {
                rank,
                base,
                epoch,
                is_straight,
            })
        };
        if target.disp < 0 && !self.is_dynamic {
            return Err(wrong(Class::Disp, "target_disp is negative"));
        }
        if self.is_dynamic {
            // The addresses are the target's own business.
            let base = i128::from(target.disp as usize as u64);
            return Ok(place(base));
        }
        let extent = self.extent(rank)?;
        let base = target.disp as i128 * i128::from(extent.disp_unit);
        let (low, high) = elements.range(count);
        if low < high && (base + low < 0 || base + high > i128::from(extent.size)) {
            return Err(wrong(
                Class::RmaRange,
                "target_disp, target_count and target_datatype reach beyond the target's window",
            ));
        }
        Ok(place(base))
    }
}

impl Place {
    /// Where a byte at this displacement is, as it travels.
    pub fn at(&self, displacement: isize) -> u64 {
        (self.base + displacement as i128) as u64
    }
}

/// Fails unless what is `sent` fits into the `room` that is given for it.
pub(super) fn fits(sent: usize, room: usize) -> Result<(), Error> {
    match sent <= room {
        true => Ok(()),
        false => Err(Error::Lengths {
            expected: room,
            given: sent,
        }),
    }
}

/// # Safety
/// The standard's promise about the origin's buffer.
unsafe fn put(
    window: &Window,
    (origin, origin_count, origin_datatype): (*const c_void, c_int, c_int),
    target: Target,
    is_request: bool,
) -> Result<c_int, Error> {
    // SAFETY: the caller's promise.
    let from = unsafe { args::buffer(origin, origin_count, origin_datatype) }?;
    let (elements, count) = (Elements::of(target.datatype)?, args::count(target.count)?);
    let bytes = from.span().len();
    fits(bytes, elements.length(count)?)?;
    let Some(place) = window.find(target, (&elements, count), is_request)? else {
        return Ok(SEND_COMPLETE);
    };
    let head = Head::new(Kind::Put, window.context());
    if is_request || !place.is_straight {
        let origin = Origin {
            from,
            compare: Lent::EMPTY,
            into: Lent::EMPTY,
        };
        return origin.leave(window, &place, head, (&elements, bytes, 1), is_request);
    }
    let mut pieces = Pieces::new(window, place.rank, head, (from.span(), 1));
    elements.runs(bytes, |at, done, len| pieces.add(place.at(at), done, len));
    pieces.end();
    Ok(SEND_COMPLETE)
}

/// Asks for elements of a target, which go to the origin's buffer as they are packed. When the buffer has holes, waits
/// until they are there: what tells where they go is held by this call.
pub(super) fn fetch_bytes(
    window: &Window,
    into: &Lent,
    place: &Place,
    (elements, bytes): (&Elements, usize),
) {
    let span = into.span();
    elements.runs(bytes, |at, done, len| {
        let mut passed = 0;
        while passed < len {
            let bytes = (len - passed).min(MOST_GET as usize);
            let from = place.at(at) + passed as u64;
            let mut packet = [0; 32];
            let awaited = Awaited::Data {
                place: from,
                len: bytes as u32,
            };
            let length = get_request(&mut packet, window.context(), from, bytes as u32);
            let to = (span, done + passed);
            window.ask(place.rank, awaited, to, &packet[..length]);
            passed += bytes;
        }
    });
    window.set_off();
    if span.is_typed() {
        window.drain(Some(place.rank));
    }
}

/// # Safety
/// The standard's promise about the origin's buffer.
unsafe fn get(
    window: &Window,
    (origin, origin_count, origin_datatype): (*mut c_void, c_int, c_int),
    target: Target,
    is_request: bool,
) -> Result<c_int, Error> {
    // SAFETY: the caller's promise.
    let into = unsafe { args::buffer(origin, origin_count, origin_datatype) }?;
    let (elements, count) = (Elements::of(target.datatype)?, args::count(target.count)?);
    let bytes = elements.length(count)?;
    fits(bytes, into.span().len())?;
    let Some(place) = window.find(target, (&elements, count), is_request)? else {
        return Ok(RECEIVED_FROM_PROC_NULL);
    };
    if is_request || !place.is_straight {
        let head = Head::new(Kind::Get, window.context());
        let origin = Origin {
            from: Lent::EMPTY,
            compare: Lent::EMPTY,
            into,
        };
        return origin.leave(window, &place, head, (&elements, bytes, 1), is_request);
    }
    fetch_bytes(window, &into, &place, (&elements, bytes));
    Ok(SEND_COMPLETE)
}

#[unsafe(export_name = "PMPI_Put")]
pub unsafe extern "C" fn MPI_Put(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Put", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffer.
        unsafe { put(&window, origin, target, false) }.map(|_| ())
    })
}

#[unsafe(export_name = "PMPI_Get")]
pub unsafe extern "C" fn MPI_Get(
    origin_addr: *mut c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Get", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffer.
        unsafe { get(&window, origin, target, false) }.map(|_| ())
    })
}

#[unsafe(export_name = "PMPI_Rput")]
pub unsafe extern "C" fn MPI_Rput(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    on_win("MPI_Rput", win, |window| {
        // SAFETY: the standard's promise about `request`.
        let request = unsafe { args::out(request, "request") }?;
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffer.
        *request = unsafe { put(&window, origin, target, true) }?;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Rget")]
pub unsafe extern "C" fn MPI_Rget(
    origin_addr: *mut c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    on_win("MPI_Rget", win, |window| {
        // SAFETY: the standard's promise about `request`.
        let request = unsafe { args::out(request, "request") }?;
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffer.
        *request = unsafe { get(&window, origin, target, true) }?;
        Ok(())
    })
}
