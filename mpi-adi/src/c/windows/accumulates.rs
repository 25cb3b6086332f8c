//! Sections 11.3.4 and, for them, 11.3.5: what combines elements.
//!
//! Elements travel as they are in memory, each whole in one packet; pairs of a value and its index without the hole
//! behind them, so that those of derived datatypes are the same. The hole of MPI_SHORT_INT is between its parts: it
//! travels, too, and derived datatypes of it are not for accumulates.

use core::ffi::{c_int, c_void};

use msg_layer::header::SHORT_BYTES;

use super::deferred::Origin;
use super::objects::{Window, on_win, wrong};
use super::operations::{Place, Target, fetch_bytes, fits};
use super::transport::Pieces;
use crate::c::args::{self, operation};
use crate::c::datatypes::{Elements, Known, Lent, known};
use crate::c::requests::{RECEIVED_FROM_PROC_NULL, SEND_COMPLETE};
use crate::device::memory::Span;
use crate::device::rma::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece};
use crate::device::rma::{Awaited, OneSided};
use crate::mpi::datatype::Basic;
use crate::mpi::error::{Class, Error};
use crate::mpi::one_sided::{Operation, element_bytes, is_comparable, number_of, only_basic};

const MPI_REPLACE: c_int = 0x5800_000d;
const MPI_NO_OP: c_int = 0x5800_000e;
/// Bytes of a result that fits an answer.
const RESULT_BYTES: usize = 16;
/// Up to so many bytes come in several answers that are all under way at once. What is longer comes in packets of its
/// own, one after the other; or as a get's data, if it is only read.
const FETCH_BYTES: usize = 4 * RESULT_BYTES;

/// The operation that `op` names; MPI_NO_OP only where the call `fetches`.
fn operation_of(op: c_int, fetches: bool) -> Result<Operation, Error> {
    match op {
        MPI_REPLACE => Ok(Operation::Replace),
        MPI_NO_OP if fetches => Ok(Operation::Nothing),
        _ => match operation(op)? {
            args::Operation::Predefined(op) => Ok(Operation::Combine(op)),
            args::Operation::User(_) => Err(wrong(
                Class::Op,
                "an operation of the program's own; those of windows are predefined",
            )),
        },
    }
}

const NOT_ONE: Error = wrong(
    Class::Type,
    "a derived datatype that is not made of whole elements of one predefined one, or of MPI_SHORT_INT",
);

/// What elements of this datatype are to the operation, and the predefined one that they are made of; `None`: they have
/// no bytes.
fn elements_of(operation: Operation, datatype: c_int) -> Result<(Elements, Option<Basic>), Error> {
    let (elements, basic) = match known(datatype)? {
        Known::Basic(basic, _) if element_bytes(basic) == basic.extent() => {
            (Elements::of_basic(basic), basic)
        }
        Known::Basic(basic, _) => (Elements::of(datatype)?, basic),
        Known::Marker { .. } => return Err(Error::Datatype { handle: datatype }),
        Known::Made(object) if object.datatype.size() == 0 => {
            return Ok((Elements::of(datatype)?, None));
        }
        Known::Made(object) => {
            let tags = object.datatype.layout().tags();
            let basic = only_basic(operation, tags).ok_or(NOT_ONE)?;
            let elements = Elements::of(datatype)?;
            let (mut is_whole, each) = (true, element_bytes(basic));
            elements.runs(elements.size(), |_, _, len| is_whole &= len % each == 0);
            if !is_whole {
                return Err(NOT_ONE);
            }
            (elements, basic)
        }
    };
    operation.check(basic)?;
    Ok((elements, Some(basic)))
}

/// A buffer of the origin's, as its elements travel.
///
/// # Safety
/// As for [`Elements::at`].
unsafe fn buffer(
    operation: Operation,
    (address, count, datatype): (*const c_void, c_int, c_int),
) -> Result<(Lent, Option<Basic>), Error> {
    let (elements, basic) = elements_of(operation, datatype)?;
    // SAFETY: the caller's promise.
    let lent = unsafe { elements.at(address, args::count(count)?) }?;
    Ok((lent, basic))
}

/// The head of packets that combine elements.
fn head(window: &Window, kind: Kind, operation: Operation, basic: Basic) -> Head {
    Head {
        operation: operation.number(),
        datatype: number_of(basic),
        ..Head::new(kind, window.context())
    }
}

/// The predefined datatype that both are made of. Without bytes there is nothing that could differ.
fn same(origin: Option<Basic>, target: Option<Basic>, bytes: usize) -> Result<Basic, Error> {
    match (origin, target) {
        (Some(origin), Some(target)) if bytes > 0 && origin != target => Err(wrong(
            Class::Type,
            "the datatypes of origin, result and target are not made of the same predefined one",
        )),
        _ => Ok(target.or(origin).unwrap_or(Basic::Byte)),
    }
}

/// # Safety
/// The standard's promise about the origin's buffer.
unsafe fn accumulate(
    window: &Window,
    origin: (*const c_void, c_int, c_int),
    target: Target,
    op: c_int,
    is_request: bool,
) -> Result<c_int, Error> {
    let operation = operation_of(op, false)?;
    // SAFETY: the caller's promise.
    let (from, basic) = unsafe { buffer(operation, origin) }?;
    let (elements, target_basic) = elements_of(operation, target.datatype)?;
    let count = args::count(target.count)?;
    let bytes = from.span().len();
    let basic = same(basic, target_basic, bytes)?;
    fits(bytes, elements.length(count)?)?;
    let Some(place) = window.find(target, (&elements, count), is_request)? else {
        return Ok(SEND_COMPLETE);
    };
    let head = head(window, Kind::Accumulate, operation, basic);
    let unit = element_bytes(basic);
    if is_request || !place.is_straight {
        let origin = Origin {
            from,
            compare: Lent::EMPTY,
            into: Lent::EMPTY,
        };
        return origin.leave(window, &place, head, (&elements, bytes, unit), is_request);
    }
    let mut pieces = Pieces::new(window, place.rank, head, (from.span(), unit));
    elements.runs(bytes, |at, done, len| pieces.add(place.at(at), done, len));
    pieces.end();
    Ok(SEND_COMPLETE)
}

/// Elements that are combined with those of a target, which come back.
struct Fetch<'a> {
    window: &'a Window,
    place: &'a Place,
    head: Head,
    /// What is combined; with nothing it is not looked at.
    from: Span,
    into: Span,
    has_operand: bool,
}

impl Fetch<'_> {
    /// `len` bytes at `offset` of both buffers, with those at `place`. A result that is longer than an answer is waited
    /// for: the target keeps it until it leaves, if it has room for it.
    fn ask(&self, place: u64, offset: usize, len: usize) {
        let mut packet = [0; SHORT_BYTES];
        self.head.emit(&mut packet);
        let out = emit_piece(&mut packet[HEAD_BYTES..], place, len);
        let mut end = HEAD_BYTES + PIECE_BYTES;
        if self.has_operand {
            let from = self.from;
            self.window
                .env
                .with(&mut |_, kernel| kernel.memory().read(from, offset, out));
            end += len;
        }
        let (target, awaited) = (self.place.rank, Awaited::Result(len as u32));
        loop {
            self.window
                .ask(target, awaited, (self.into, offset), &packet[..end]);
            if len <= RESULT_BYTES {
                break;
            }
            self.window.drain(Some(target));
            let mut is_refused = false;
            self.window.env.with(&mut |adi, _| {
                is_refused = adi.one_sided().is_some_and(OneSided::take_refused);
            });
            if !is_refused {
                break;
            }
        }
    }

    fn run(&self, elements: &Elements, bytes: usize, unit: usize) {
        elements.runs(bytes, |at, done, len| {
            let is_short = len <= FETCH_BYTES && unit <= RESULT_BYTES;
            let room = if is_short { RESULT_BYTES } else { MOST_BYTES };
            let most = room / unit * unit;
            for passed in (0..len).step_by(most) {
                let bytes = (len - passed).min(most);
                self.ask(self.place.at(at) + passed as u64, done + passed, bytes);
            }
        });
        self.window.set_off();
        if self.into.is_typed() {
            self.window.drain(Some(self.place.rank));
        }
    }
}

/// # Safety
/// The standard's promise about the origin's buffers.
unsafe fn get_accumulate(
    window: &Window,
    origin: (*const c_void, c_int, c_int),
    result: (*const c_void, c_int, c_int),
    target: Target,
    op: c_int,
    is_request: bool,
) -> Result<c_int, Error> {
    let operation = operation_of(op, true)?;
    let (elements, basic) = elements_of(operation, target.datatype)?;
    let count = args::count(target.count)?;
    let bytes = elements.length(count)?;
    let has_operand = operation != Operation::Nothing;
    let from = match has_operand {
        true => {
            // SAFETY: the caller's promise.
            let (from, origin_basic) = unsafe { buffer(operation, origin) }?;
            same(origin_basic, basic, bytes)?;
            fits(bytes, from.span().len())?;
            from
        }
        // The arguments of the origin are ignored.
        false => Lent::EMPTY,
    };
    // SAFETY: the caller's promise.
    let (into, result_basic) = unsafe { buffer(operation, result) }?;
    let basic = same(result_basic, basic, bytes)?;
    fits(bytes, into.span().len())?;
    let Some(place) = window.find(target, (&elements, count), is_request)? else {
        return Ok(RECEIVED_FROM_PROC_NULL);
    };
    let unit = element_bytes(basic);
    if is_request || !place.is_straight {
        let head = head(window, Kind::Fetch, operation, basic);
        let origin = Origin {
            from,
            compare: Lent::EMPTY,
            into,
        };
        return origin.leave(window, &place, head, (&elements, bytes, unit), is_request);
    }
    if !has_operand && bytes > FETCH_BYTES {
        fetch_bytes(window, &into, &place, (&elements, bytes));
        // What the program accumulates next comes behind it.
        window.drain(Some(place.rank));
        return Ok(SEND_COMPLETE);
    }
    let fetch = Fetch {
        window,
        place: &place,
        head: head(window, Kind::Fetch, operation, basic),
        from: from.span(),
        into: into.span(),
        has_operand,
    };
    fetch.run(&elements, bytes, unit);
    Ok(SEND_COMPLETE)
}

/// The predefined datatype that `handle` names, and its one element. Fails with class Type.
fn one(handle: c_int) -> Result<(Basic, Elements), Error> {
    match known(handle)? {
        Known::Basic(basic, _) => Ok((basic, Elements::of_basic(basic))),
        _ => Err(wrong(Class::Type, "not a predefined datatype")),
    }
}

#[unsafe(export_name = "PMPI_Accumulate")]
pub unsafe extern "C" fn MPI_Accumulate(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    op: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Accumulate", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffer.
        unsafe { accumulate(&window, origin, target, op, false) }.map(|_| ())
    })
}

#[unsafe(export_name = "PMPI_Raccumulate")]
pub unsafe extern "C" fn MPI_Raccumulate(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    op: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    on_win("MPI_Raccumulate", win, |window| {
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
        *request = unsafe { accumulate(&window, origin, target, op, true) }?;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Get_accumulate")]
pub unsafe extern "C" fn MPI_Get_accumulate(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    result_addr: *mut c_void,
    result_count: c_int,
    result_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    op: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Get_accumulate", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let result = (result_addr.cast_const(), result_count, result_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffers.
        unsafe { get_accumulate(&window, origin, result, target, op, false) }.map(|_| ())
    })
}

#[unsafe(export_name = "PMPI_Rget_accumulate")]
pub unsafe extern "C" fn MPI_Rget_accumulate(
    origin_addr: *const c_void,
    origin_count: c_int,
    origin_datatype: c_int,
    result_addr: *mut c_void,
    result_count: c_int,
    result_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: c_int,
    target_datatype: c_int,
    op: c_int,
    win: c_int,
    request: *mut c_int,
) -> c_int {
    on_win("MPI_Rget_accumulate", win, |window| {
        // SAFETY: the standard's promise about `request`.
        let request = unsafe { args::out(request, "request") }?;
        let origin = (origin_addr, origin_count, origin_datatype);
        let result = (result_addr.cast_const(), result_count, result_datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's promise about the origin's buffers.
        *request = unsafe { get_accumulate(&window, origin, result, target, op, true) }?;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Fetch_and_op")]
pub unsafe extern "C" fn MPI_Fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    op: c_int,
    win: c_int,
) -> c_int {
    on_win("MPI_Fetch_and_op", win, |window| {
        one(datatype)?;
        let origin = (origin_addr, 1, datatype);
        let result = (result_addr.cast_const(), 1, datatype);
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: 1,
            datatype,
        };
        // SAFETY: the standard's promise about both buffers.
        unsafe { get_accumulate(&window, origin, result, target, op, false) }.map(|_| ())
    })
}

#[unsafe(export_name = "PMPI_Compare_and_swap")]
pub unsafe extern "C" fn MPI_Compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    win: c_int,
) -> c_int {
    on_win("MPI_Compare_and_swap", win, |window| {
        let (basic, elements) = one(datatype)?;
        if !is_comparable(basic) {
            return Err(wrong(
                Class::Type,
                "only integers, truth values and bytes are compared and swapped",
            ));
        }
        // SAFETY: the standard's promise about the buffers.
        let (new, compare, into) = unsafe {
            (
                elements.at(origin_addr, 1)?,
                elements.at(compare_addr, 1)?,
                elements.at(result_addr, 1)?,
            )
        };
        let target = Target {
            rank: target_rank,
            disp: target_disp,
            count: 1,
            datatype,
        };
        let Some(place) = window.find(target, (&elements, 1), false)? else {
            return Ok(());
        };
        let len = basic.extent();
        if !place.is_straight {
            let head = Head::new(Kind::Compare, window.context());
            let origin = Origin {
                from: new,
                compare,
                into,
            };
            let left = origin.leave(&window, &place, head, (&elements, len, len), false);
            return left.map(|_| ());
        }
        let mut packet = [0; HEAD_BYTES + PIECE_BYTES + 2 * RESULT_BYTES];
        Head::new(Kind::Compare, window.context()).emit(&mut packet);
        emit_piece(&mut packet[HEAD_BYTES..], place.at(0), len);
        let begin = HEAD_BYTES + PIECE_BYTES;
        window.env.with(&mut |_, kernel| {
            let (first, second) = packet[begin..].split_at_mut(len);
            kernel.memory().read(compare.span(), 0, first);
            kernel.memory().read(new.span(), 0, &mut second[..len]);
        });
        let awaited = Awaited::Result(len as u32);
        let packet = &packet[..begin + 2 * len];
        window.ask(place.rank, awaited, (into.span(), 0), packet);
        window.set_off();
        Ok(())
    })
}
