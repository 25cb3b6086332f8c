//! The conversions of the scanf family (C17 sections 7.21.6.2 and 7.29.2.2, and POSIX's numbered arguments and `m`).
//! Every function of the family is a [`TextSource`] for this one reader.
//!
//! If the standards permit several results, it follows glibc in the locale "C": at most one unit is put back.
#![cfg_attr(
    target_arch = "arm",
    expect(clippy::unnecessary_cast, reason = "numbers have no more than 64 bits there")
)]

use core::ffi::c_void;
use core::ptr;

use super::decimal::{DOUBLE, FloatBits, FloatFormat, QUAD, RoundingMode, SINGLE};
use super::float_text::FloatReader;
use super::format::{
    ArgumentKind, ArgumentValues, FormatUnits, LONG_DOUBLE, LengthModifier, PERCENT, ascii, number, write_at,
};

/// Source of the text.
pub trait TextSource {
    /// Returns whether its units are wide characters.
    fn is_wide(&self) -> bool {
        false
    }
    /// Returns the next unit; `None` at the end, and if the stream fails.
    fn get(&mut self) -> Option<u32>;
    /// Puts back the last unit.
    fn unget(&mut self, unit: u32);
}

/// C's `realloc` and `free`, for the modifier `m`.
#[derive(Clone, Copy, Debug)]
pub struct HeapFunctions {
    /// Resizes a block, or allocates one if it is null.
    pub realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    /// Frees a block.
    pub free: unsafe extern "C" fn(*mut c_void),
}

/// New value of `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanError {
    /// A number is out of its type's range: ERANGE.
    Range,
    /// A character is invalid in the locale: EILSEQ.
    NotACharacter,
    /// There is no memory for a string: ENOMEM.
    NoMemory,
    /// The format is invalid: EINVAL.
    Format,
}

/// Result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanResult {
    /// Return value: the number of assigned arguments, or -1 (EOF).
    pub assigned: i32,
    /// `errno`, if it is set.
    pub trouble: Option<ScanError>,
}

/// Reason to stop before the format ends.
enum ScanStop {
    /// There is no more input.
    Input,
    /// The input does not match.
    Mismatch,
    Error(ScanError),
}

impl From<super::format::FormatError> for ScanStop {
    fn from(_: super::format::FormatError) -> Self {
        ScanStop::Error(ScanError::Format)
    }
}

/// Reads by a format.
///
/// # Safety
/// The arguments are the pointers that the format requires, as for C's `scanf`.
pub unsafe fn scan(
    source: &mut dyn TextSource,
    units: &dyn FormatUnits,
    values: &mut dyn ArgumentValues,
    heap: HeapFunctions,
    rounding: RoundingMode,
) -> ScanResult {
    let mut input = ScanInput {
        source,
        length: 0,
        assigned: 0,
        trouble: None,
        heap,
        rounding,
    };
    let mut place = 0;
    let end = loop {
        match units.at(place) {
            0 => break Ok(()),
            // SAFETY: the caller's promise.
            _ => match unsafe { directive(&mut input, units, &mut place, values) } {
                Ok(()) => {}
                Err(stop) => break Err(stop),
            },
        }
    };
    let mut assigned = input.assigned;
    let mut trouble = input.trouble;
    match end {
        Ok(()) | Err(ScanStop::Mismatch) => {}
        Err(ScanStop::Input) if assigned == 0 => assigned = -1,
        Err(ScanStop::Input) => {}
        Err(ScanStop::Error(new)) => {
            trouble = Some(new);
            if new == ScanError::NoMemory {
                assigned = -1;
            }
        }
    }
    ScanResult { assigned, trouble }
}

struct ScanInput<'a> {
    source: &'a mut dyn TextSource,
    length: usize,
    assigned: i32,
    trouble: Option<ScanError>,
    heap: HeapFunctions,
    rounding: RoundingMode,
}

fn is_space(unit: u32) -> bool {
    matches!(ascii(unit), b' ' | b'\t'..=b'\r')
}

impl ScanInput<'_> {
    fn next_unit(&mut self) -> Option<u32> {
        let unit = self.source.get()?;
        self.length += 1;
        Some(unit)
    }

    fn put_back(&mut self, unit: u32) {
        self.length -= 1;
        self.source.unget(unit);
    }

    fn skip_spaces(&mut self) {
        self.take_while(u64::MAX, |unit, _| is_space(unit));
    }

    /// Reads at most `width` units while `accepts` returns true; it receives the unit and the number of units still
    /// possible, this one included.
    fn take_while(&mut self, width: u64, mut accepts: impl FnMut(u32, u64) -> bool) -> u64 {
        let mut left = width;
        while left > 0 {
            let Some(unit) = self.next_unit() else {
                break;
            };
            if !accepts(unit, left) {
                self.put_back(unit);
                break;
            }
            left -= 1;
        }
        width - left
    }

    /// Returns an input failure at the end of the input.
    fn expect_more(&mut self) -> Result<(), ScanStop> {
        let unit = self.next_unit().ok_or(ScanStop::Input)?;
        self.put_back(unit);
        Ok(())
    }

    fn expect(&mut self, wanted: u32) -> Result<(), ScanStop> {
        match self.next_unit().ok_or(ScanStop::Input)? {
            unit if unit == wanted => Ok(()),
            unit => {
                self.put_back(unit);
                Err(ScanStop::Mismatch)
            }
        }
    }
}

#[derive(Clone, Copy)]
struct ScanSpec {
    /// Index of the argument; 0 for the next one.
    argument: u32,
    is_suppressed: bool,
    width: u64,
    allocates: bool,
    length: LengthModifier,
    letter: u8,
}

impl ScanSpec {
    fn read(units: &dyn FormatUnits, place: &mut usize) -> Result<ScanSpec, ScanStop> {
        let start = *place;
        let argument = match number(units, place)? {
            Some(argument) if argument > 0 && units.at(*place) == u32::from(b'$') => {
                *place += 1;
                argument
            }
            _ => {
                *place = start;
                0
            }
        };
        let mut is_suppressed = false;
        while let flag @ (b'*' | b'\'' | b'I') = ascii(units.at(*place)) {
            is_suppressed |= flag == b'*';
            *place += 1;
        }
        let width = number(units, place)?
            .filter(|width| *width > 0)
            .map_or(u64::MAX, u64::from);
        let allocates = units.at(*place) == u32::from(b'm');
        *place += usize::from(allocates);
        let length = LengthModifier::read(units, place);
        let letter = ascii(units.at(*place));
        *place += usize::from(letter != 0);
        Ok(ScanSpec {
            argument,
            is_suppressed,
            width,
            allocates,
            length,
            letter,
        })
    }
}

/// Executes the directive at `place` of the format, and advances `place` behind it.
unsafe fn directive(
    input: &mut ScanInput<'_>,
    units: &dyn FormatUnits,
    place: &mut usize,
    values: &mut dyn ArgumentValues,
) -> Result<(), ScanStop> {
    let unit = units.at(*place);
    *place += 1;
    if is_space(unit) {
        input.skip_spaces();
        return Ok(());
    }
    if unit != PERCENT {
        return input.expect(unit);
    }
    let spec = ScanSpec::read(units, place)?;
    let letter = spec.letter;
    if !matches!(letter, b'[' | b'c' | b'C' | b'n') {
        input.skip_spaces();
    }
    if letter == b'%' {
        return input.expect(PERCENT);
    }
    // A null pointer is different: the store through it is the program's error, and must fault.
    let mut address = None;
    if !spec.is_suppressed {
        // SAFETY: the caller's promise: every argument is a pointer.
        unsafe {
            if spec.argument > 0 {
                values.rewind();
                for _ in 1..spec.argument {
                    values.next(ArgumentKind::Word);
                }
            }
            address = Some(values.next(ArgumentKind::Word) as usize);
        }
    }
    let is_wide = spec.length == LengthModifier::Long;
    // SAFETY: the caller's promise about the target of the argument, here and below.
    unsafe {
        match letter {
            b'n' => {
                if let Some(address) = address {
                    store(address, spec.length, input.length as u64);
                }
                return Ok(());
            }
            b'd' => integer(input, spec, 10, address)?,
            b'i' => integer(input, spec, 0, address)?,
            b'u' => integer(input, spec, 10, address)?,
            b'o' => integer(input, spec, 8, address)?,
            b'x' | b'X' => integer(input, spec, 16, address)?,
            b'p' => {
                let length = LengthModifier::Long;
                integer(input, ScanSpec { length, ..spec }, 16, address)?
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => float(input, spec, address)?,
            b'c' | b'C' => {
                let width = if spec.width == u64::MAX { 1 } else { spec.width };
                let spec = ScanSpec { width, ..spec };
                string(input, spec, address, is_wide || letter == b'C', false, |_| true)?;
            }
            b's' | b'S' => {
                let accepts = |unit| !is_space(unit);
                string(input, spec, address, is_wide || letter == b'S', true, accepts)?;
            }
            b'[' => {
                let set = ScanSet::read(units, place).ok_or(ScanStop::Mismatch)?;
                string(input, spec, address, is_wide, true, |unit| set.has(unit))?;
            }
            _ => return Err(ScanStop::Mismatch),
        }
    }
    input.assigned += i32::from(!spec.is_suppressed);
    Ok(())
}

/// Stores an integer.
///
/// # Safety
/// At the address is an integer of this length.
unsafe fn store(address: usize, length: LengthModifier, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match length {
            LengthModifier::Plain => write_at(address, value as u32),
            LengthModifier::Char => write_at(address, value as u8),
            LengthModifier::Short => write_at(address, value as u16),
            LengthModifier::Long => write_at(address, value as usize),
            LengthModifier::LongLong => write_at(address, value),
        }
    }
}

/// A set of `%[`.
struct ScanSet<'a> {
    units: &'a dyn FormatUnits,
    first: usize,
    end: usize,
    is_negated: bool,
}

impl<'a> ScanSet<'a> {
    /// Reads the set at `place`, and advances `place` behind it; returns `None` if it has no end.
    fn read(units: &'a dyn FormatUnits, place: &mut usize) -> Option<Self> {
        let is_negated = units.at(*place) == u32::from(b'^');
        let first = *place + usize::from(is_negated);
        let mut end = first;
        loop {
            match ascii(units.at(end)) {
                0 => return None,
                b']' if end > first => break,
                _ => end += 1,
            }
        }
        *place = end + 1;
        Some(ScanSet {
            units,
            first,
            end,
            is_negated,
        })
    }

    fn has(&self, unit: u32) -> bool {
        let at = |place| self.units.at(place);
        let is_in = (self.first..self.end).any(|place| {
            let is_range = at(place) == u32::from(b'-')
                && place > self.first
                && place + 1 < self.end
                && at(place - 1) <= at(place + 1);
            if is_range {
                (at(place - 1)..at(place + 1)).contains(&unit)
            } else {
                at(place) == unit
            }
        });
        is_in != self.is_negated
    }
}

/// Reads an integer.
///
/// # Safety
/// The address, if there is one, is that of an integer of the specification's length.
unsafe fn integer(
    input: &mut ScanInput<'_>,
    spec: ScanSpec,
    base: u32,
    address: Option<usize>,
) -> Result<(), ScanStop> {
    input.expect_more()?;
    let mut base = base;
    let mut negative = false;
    let mut magnitude = 0u64;
    let mut too_great = false;
    // Units received, digits among them, and whether the last was a 0 that may begin `0x`.
    let (mut length, mut digits, mut is_zero) = (0, 0, false);
    let taken = input.take_while(spec.width, |unit, _| {
        let byte = ascii(unit);
        length += 1;
        if length == 1 && matches!(byte, b'+' | b'-') {
            negative = byte == b'-';
            return true;
        }
        if is_zero && byte.eq_ignore_ascii_case(&b'x') && matches!(base, 0 | 16) {
            is_zero = false;
            base = 16;
            return true;
        }
        if base == 0 {
            base = match (digits, byte) {
                (0, b'0') => 0,
                (0, _) => 10,
                _ => 8,
            };
        }
        let Some(digit) = (byte as char).to_digit(if base == 0 { 8 } else { base }) else {
            return false;
        };
        is_zero = digits == 0 && digit == 0;
        digits += 1;
        let next = magnitude
            .checked_mul(u64::from(base))
            .and_then(|m| m.checked_add(u64::from(digit)));
        too_great |= next.is_none();
        magnitude = next.unwrap_or(u64::MAX);
        true
    });
    if digits == 0 {
        const NIL: &[u8] = b"(nil)";
        if spec.letter != b'p' || taken > 0 || spec.width < NIL.len() as u64 {
            return Err(ScanStop::Mismatch);
        }
        let mut rest = NIL;
        input.take_while(NIL.len() as u64, |unit, _| {
            let is_next = rest.first() == Some(&ascii(unit).to_ascii_lowercase());
            rest = &rest[usize::from(is_next)..];
            is_next
        });
        if !rest.is_empty() {
            return Err(ScanStop::Mismatch);
        }
    }
    // As in strtol and related functions: the range of a long or more.
    let bits = spec.length.bits().max(usize::BITS);
    let is_signed = matches!(spec.letter, b'd' | b'i');
    let most = match (is_signed, negative) {
        (false, _) => u64::MAX >> (64 - bits),
        (true, false) => (1 << (bits - 1)) - 1,
        (true, true) => 1 << (bits - 1),
    };
    let mut value = if negative { magnitude.wrapping_neg() } else { magnitude };
    if too_great || magnitude > most {
        input.trouble = Some(ScanError::Range);
        value = if is_signed && negative {
            most.wrapping_neg()
        } else {
            most
        };
    }
    if let Some(address) = address {
        // SAFETY: the caller's promise.
        unsafe { store(address, spec.length, value) };
    }
    Ok(())
}

/// Reads a floating-point number.
///
/// # Safety
/// The address, if there is one, is that of a number of the specification's length.
unsafe fn float(input: &mut ScanInput<'_>, spec: ScanSpec, address: Option<usize>) -> Result<(), ScanStop> {
    // SAFETY: the caller's promise.
    unsafe {
        match spec.length {
            LengthModifier::Long => write(address, read(input, spec, DOUBLE)? as u64),
            LengthModifier::LongLong if LONG_DOUBLE == QUAD => write(address, read_long(input, spec)?),
            LengthModifier::LongLong => write(address, read(input, spec, DOUBLE)? as u64),
            _ => write(address, read(input, spec, SINGLE)? as u32),
        }
    }
    Ok(())
}

/// Stores a value, if there is an address.
///
/// # Safety
/// As for [`write_at`], if there is an address.
unsafe fn write<T>(address: Option<usize>, value: T) {
    if let Some(address) = address {
        // SAFETY: the caller's promise.
        unsafe { write_at(address, value) };
    }
}

// One function per format, with its limbs on the stack: more than 7 KiB for a `long double`.
#[inline(never)]
fn read(input: &mut ScanInput<'_>, spec: ScanSpec, format: FloatFormat) -> Result<FloatBits, ScanStop> {
    read_float(input, spec, format, &mut [0; DOUBLE.limbs()])
}

#[inline(never)]
fn read_long(input: &mut ScanInput<'_>, spec: ScanSpec) -> Result<FloatBits, ScanStop> {
    read_float(input, spec, QUAD, &mut [0; QUAD.limbs()])
}

fn read_float(
    input: &mut ScanInput<'_>,
    spec: ScanSpec,
    format: FloatFormat,
    limbs: &mut [u32],
) -> Result<FloatBits, ScanStop> {
    input.expect_more()?;
    let mut reader = FloatReader::new(format, false, limbs);
    input.take_while(spec.width, |unit, left| reader.push(ascii(unit), left > 1));
    if !reader.is_item() {
        return Err(ScanStop::Mismatch);
    }
    let number = reader.finish(input.rounding);
    if number.range_error {
        input.trouble = Some(ScanError::Range);
    }
    Ok(number.bits)
}

/// Destination of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextTarget {
    /// None: the assignment is suppressed.
    Discard,
    /// The program's array at this address.
    Array(usize),
    /// A block allocated here, at this address; 0 before there is one.
    Block(usize),
}

struct TextStore {
    target: TextTarget,
    is_wide: bool,
    length: usize,
    /// Capacity of a block in characters.
    room: usize,
    heap: HeapFunctions,
}

impl TextStore {
    fn size(&self) -> usize {
        if self.is_wide { size_of::<u32>() } else { 1 }
    }

    /// Resizes the block at `start`, or allocates it; returns its new address.
    fn resize(&mut self, start: usize, room: usize) -> Result<usize, ScanStop> {
        let block = ptr::with_exposed_provenance_mut(start);
        let bytes = room.saturating_mul(self.size());
        // SAFETY: a block that was allocated here, or none.
        let block = unsafe { (self.heap.realloc)(block, bytes) };
        if block.is_null() {
            return Err(ScanStop::Error(ScanError::NoMemory));
        }
        let start = block.expose_provenance();
        self.target = TextTarget::Block(start);
        self.room = room;
        Ok(start)
    }

    /// Appends a character.
    ///
    /// # Safety
    /// The program's array has space.
    unsafe fn push(&mut self, unit: u32) -> Result<(), ScanStop> {
        const FIRST: usize = 32;
        let start = match self.target {
            TextTarget::Discard => None,
            TextTarget::Array(start) => Some(start),
            TextTarget::Block(start) if self.length < self.room => Some(start),
            TextTarget::Block(start) => Some(self.resize(start, self.room.saturating_mul(2).max(FIRST))?),
        };
        if let Some(start) = start {
            let address = start.wrapping_add(self.length * self.size());
            // SAFETY: there is space.
            unsafe {
                if self.is_wide {
                    write_at(address, unit)
                } else {
                    write_at(address, unit as u8)
                }
            }
        }
        self.length += 1;
        Ok(())
    }
}

/// Reads a string.
///
/// # Safety
/// The address, if there is one, is that of an array with space for the characters, or of a pointer if a block is
/// allocated.
unsafe fn string(
    input: &mut ScanInput<'_>,
    spec: ScanSpec,
    address: Option<usize>,
    is_wide: bool,
    has_end: bool,
    accepts: impl Fn(u32) -> bool,
) -> Result<(), ScanStop> {
    let target = match address {
        None => TextTarget::Discard,
        Some(_) if spec.allocates => TextTarget::Block(0),
        Some(start) => TextTarget::Array(start),
    };
    let mut store = TextStore {
        target,
        is_wide,
        length: 0,
        room: 0,
        heap: input.heap,
    };
    // SAFETY: the caller's promise.
    let result = unsafe { fill(input, spec.width, &mut store, has_end, accepts) };
    if let (TextTarget::Block(block), Some(variable)) = (store.target, address) {
        let block = match result {
            Ok(()) => block,
            Err(_) => {
                // SAFETY: a block that was allocated here, or none.
                unsafe { (input.heap.free)(ptr::with_exposed_provenance_mut(block)) };
                0
            }
        };
        // SAFETY: the caller's promise.
        unsafe { write_at(variable, block) };
    }
    result
}

/// Stores the accepted characters.
///
/// # Safety
/// As for [`TextStore::push`].
unsafe fn fill(
    input: &mut ScanInput<'_>,
    width: u64,
    store: &mut TextStore,
    has_end: bool,
    accepts: impl Fn(u32) -> bool,
) -> Result<(), ScanStop> {
    input.expect_more()?;
    let is_other = store.is_wide != input.source.is_wide();
    let mut result = Ok(());
    let taken = input.take_while(width, |unit, _| {
        if !accepts(unit) {
            return false;
        }
        result = if is_other && unit > 127 {
            Err(ScanStop::Error(ScanError::NotACharacter))
        } else {
            // SAFETY: guaranteed by the caller.
            unsafe { store.push(unit) }
        };
        result.is_ok()
    });
    result?;
    if taken == 0 {
        return Err(ScanStop::Mismatch);
    }
    if has_end {
        // SAFETY: the caller's promise.
        unsafe { store.push(0)? };
    }
    if let TextTarget::Block(start) = store.target {
        store.resize(start, store.length)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
