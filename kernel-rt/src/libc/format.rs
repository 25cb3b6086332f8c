//! The conversions of the printf family (C17 sections 7.21.6.1 and 7.29.2.1, POSIX's numbered arguments, and GNU
//! extensions): the text of a format with its arguments, unit by unit. Every function of the family, for narrow and for
//! wide characters, is a [`Sink`] for this one formatter.
//!
//! If the standards permit several results, it follows glibc in the locale "C". Nothing is allocated.
#![cfg_attr(
    target_arch = "arm",
    expect(
        clippy::unnecessary_cast,
        reason = "numbers have no more than 64 bits there"
    )
)]

use core::ptr;

use super::decimal::{Bits, Class, DOUBLE, Decimal, FloatFormat, QUAD, Rounding, Unpacked};

/// Reason of a failed call; it determines `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The text, a width or a precision exceeds an `int`: EOVERFLOW.
    TooLong,
    /// A character is invalid in the locale: EILSEQ.
    NotACharacter,
    /// The format ends inside of a conversion: EINVAL.
    Format,
    /// The stream has failed, and has set `errno`.
    Stream,
}

/// Destination of the text.
pub trait Sink {
    /// Returns whether its units are wide characters.
    fn is_wide(&self) -> bool {
        false
    }
    /// Appends one unit.
    ///
    /// # Errors
    /// [`Error::Stream`], and [`Error::NotACharacter`] for wide characters that become bytes.
    fn put(&mut self, unit: u32) -> Result<(), Error>;
    /// Appends the same unit `times` times.
    ///
    /// # Errors
    /// Those of [`Sink::put`].
    fn fill(&mut self, unit: u32, times: u32) -> Result<(), Error> {
        (0..times).try_for_each(|_| self.put(unit))
    }
}

/// A format: its units by index. Nothing after the terminating 0 is read.
pub trait Units {
    /// Returns the unit at an index.
    fn at(&self, place: usize) -> u32;
}

impl Units for &[u8] {
    fn at(&self, place: usize) -> u32 {
        self.get(place).copied().map_or(0, u32::from)
    }
}

/// Layout of an argument in the argument list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `int`, and types promoted to it.
    Int,
    /// `long`, a pointer and others of their size.
    Word,
    /// `long long`, `double` and others of 64 bits.
    Long,
    /// `long double`.
    LongDouble,
}

/// An argument list.
pub trait Values {
    /// Returns the next argument, without sign extension.
    ///
    /// # Safety
    /// There is one more argument, of this kind.
    unsafe fn next(&mut self, kind: Kind) -> Bits;
    /// Returns to the first argument.
    fn rewind(&mut self);
}

/// Format of this machine's `long double`.
pub const LONG_DOUBLE: FloatFormat = if cfg!(target_arch = "arm") {
    DOUBLE
} else {
    QUAD
};

/// A microcontroller's flash has no space for the features defined only by POSIX and GNU: numbered arguments are errors
/// there, and an unknown conversion prints its letter.
const IS_SMALL: bool = cfg!(target_arch = "arm");

/// A width or precision, or the index of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// There is none.
    Absent,
    /// A number in the format.
    Given(u32),
    /// The next argument.
    Next,
    /// The argument with this index, from 1.
    Numbered(u32),
}

/// Length modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// None.
    Plain,
    /// `hh`
    Char,
    /// `h`
    Short,
    /// `l`, `z`, `t`
    Long,
    /// `ll`, `j`, `q`, `L`
    LongLong,
}

impl Length {
    /// Returns the bits of an integer of this length.
    pub fn bits(self) -> u32 {
        match self {
            Length::Plain => 32,
            Length::Char => 8,
            Length::Short => 16,
            Length::Long => usize::BITS,
            Length::LongLong => 64,
        }
    }

    /// Reads modifiers from a position, and advances it behind them.
    pub fn read(units: &(impl Units + ?Sized), place: &mut usize) -> Length {
        let mut length = Length::Plain;
        loop {
            length = match (ascii(units.at(*place)), length) {
                (b'h', Length::Short) => Length::Char,
                (b'h', _) => Length::Short,
                (b'l', Length::Long) => Length::LongLong,
                (b'l' | b'z' | b'Z' | b't', _) => Length::Long,
                (b'j' | b'q' | b'L', _) => Length::LongLong,
                _ => return length,
            };
            *place += 1;
        }
    }
}

/// Converts a unit to a byte, if it is ASCII; otherwise returns 255, which has no meaning in a format.
pub fn ascii(unit: u32) -> u8 {
    match unit {
        0..128 => unit as u8,
        _ => u8::MAX,
    }
}

/// Reads a decimal number; returns `None` if there is no digit.
///
/// # Errors
/// [`Error::TooLong`] for a number above an `int`.
pub fn number(units: &(impl Units + ?Sized), place: &mut usize) -> Result<Option<u32>, Error> {
    let mut number = None;
    while let digit @ b'0'..=b'9' = ascii(units.at(*place)) {
        let next = u64::from(number.unwrap_or(0)) * 10 + u64::from(digit - b'0');
        number = Some(
            u32::try_from(next)
                .ok()
                .filter(|next| *next < 1 << 31)
                .ok_or(Error::TooLong)?,
        );
        *place += 1;
    }
    Ok(number)
}

/// Flags of a conversion, a bit each: a byte requires less code to copy than a field for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Flags(u8);

impl Flags {
    const LEFT: Flags = Flags(1 << 0);
    const PLUS: Flags = Flags(1 << 1);
    const SPACE: Flags = Flags(1 << 2);
    const OTHER_FORM: Flags = Flags(1 << 3);
    const ZERO: Flags = Flags(1 << 4);
    const GROUP: Flags = Flags(1 << 5);
    /// Flags in the order in which glibc prints them.
    const LETTERS: [(Flags, u8); 6] = [
        (Flags::OTHER_FORM, b'#'),
        (Flags::GROUP, b'\''),
        (Flags::PLUS, b'+'),
        (Flags::SPACE, b' '),
        (Flags::LEFT, b'-'),
        (Flags::ZERO, b'0'),
    ];

    /// Returns the flag of this character, or `None`.
    fn of(character: u8) -> Option<Flags> {
        // Digits of the locale: those of ASCII.
        if character == b'I' {
            return Some(Flags(0));
        }
        let mut letters = Flags::LETTERS.iter();
        letters.find_map(|&(flag, letter)| (letter == character).then_some(flag))
    }

    fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: Flags) {
        self.0 |= flag.0;
    }

    fn clear(&mut self, flag: Flags) {
        self.0 &= !flag.0;
    }
}

#[derive(Clone, Copy, Debug)]
struct Spec {
    flags: Flags,
    width: Count,
    precision: Count,
    length: Length,
    letter: u32,
    /// [`Count::Next`] or a numbered argument.
    argument: Count,
}

impl Spec {
    /// Reads the specification after the percent sign before `place`, and advances `place` behind it.
    fn read(units: &dyn Units, place: &mut usize) -> Result<Spec, Error> {
        let mut spec = Spec {
            flags: Flags::default(),
            width: Count::Absent,
            precision: Count::Absent,
            length: Length::Plain,
            letter: 0,
            argument: Count::Next,
        };
        let start = *place;
        match number(units, place)? {
            Some(_) if IS_SMALL && units.at(*place) == u32::from(b'$') => {
                return Err(Error::Format);
            }
            Some(argument) if argument > 0 && units.at(*place) == u32::from(b'$') => {
                spec.argument = Count::Numbered(argument);
                *place += 1;
            }
            _ => *place = start,
        }
        while let Some(flag) = Flags::of(ascii(units.at(*place))) {
            spec.flags.set(flag);
            *place += 1;
        }
        spec.width = count(units, place)?;
        if units.at(*place) == u32::from(b'.') {
            *place += 1;
            spec.precision = match count(units, place)? {
                Count::Absent => Count::Given(0),
                count => count,
            };
        }
        spec.length = Length::read(units, place);
        spec.letter = units.at(*place);
        *place += 1;
        Ok(spec)
    }

    /// Returns the layout of its argument, if it has one.
    fn kind(&self) -> Option<Kind> {
        Some(match ascii(self.letter) {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' => match self.length {
                Length::Plain | Length::Char | Length::Short => Kind::Int,
                Length::Long => Kind::Word,
                Length::LongLong => Kind::Long,
            },
            b'c' | b'C' => Kind::Int,
            b's' | b'S' | b'p' | b'n' => Kind::Word,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => match self.length {
                Length::LongLong => Kind::LongDouble,
                _ => Kind::Long,
            },
            _ => return None,
        })
    }
}

fn count(units: &dyn Units, place: &mut usize) -> Result<Count, Error> {
    if units.at(*place) != u32::from(b'*') {
        return Ok(number(units, place)?.map_or(Count::Absent, Count::Given));
    }
    *place += 1;
    if IS_SMALL {
        return Ok(Count::Next);
    }
    let start = *place;
    Ok(match number(units, place)? {
        Some(argument) if argument > 0 && units.at(*place) == u32::from(b'$') => {
            *place += 1;
            Count::Numbered(argument)
        }
        _ => {
            *place = start;
            Count::Next
        }
    })
}

/// Returns the index of the next percent sign, or of the end.
fn percent(units: &dyn Units, mut place: usize) -> usize {
    while !matches!(units.at(place), 0 | PERCENT) {
        place += 1;
    }
    place
}

/// First unit of a conversion.
pub const PERCENT: u32 = b'%' as u32;

/// Returns the layout of the argument with this index, as the format specifies it; `int` if no conversion uses it.
fn kind_of(units: &dyn Units, argument: u32) -> Result<Kind, Error> {
    let mut place = 0;
    loop {
        place = percent(units, place);
        if units.at(place) == 0 {
            return Ok(Kind::Int);
        }
        place += 1;
        let spec = Spec::read(units, &mut place)?;
        if spec.letter == 0 {
            return Err(Error::Format);
        }
        let this = Count::Numbered(argument);
        if spec.width == this || spec.precision == this {
            return Ok(Kind::Int);
        }
        if let Some(kind) = spec.kind().filter(|_| spec.argument == this) {
            return Ok(kind);
        }
    }
}

/// Returns the argument that `count` specifies. It must not be [`Count::Absent`] or a literal number.
unsafe fn value(
    units: &dyn Units,
    values: &mut dyn Values,
    count: Count,
    kind: Kind,
) -> Result<Bits, Error> {
    // SAFETY: the caller's promise about format and arguments: here, and for each argument before a numbered one.
    unsafe {
        if let Count::Numbered(number) = count
            && !IS_SMALL
        {
            values.rewind();
            for argument in 1..number {
                values.next(kind_of(units, argument)?);
            }
        }
        Ok(values.next(kind))
    }
}

struct Output<'a> {
    sink: &'a mut dyn Sink,
    length: u32,
}

impl Output<'_> {
    fn put(&mut self, unit: u32) -> Result<(), Error> {
        if self.length >= i32::MAX as u32 {
            return Err(Error::TooLong);
        }
        self.length += 1;
        self.sink.put(unit)
    }

    /// Checks that a unit can change its width: the characters of the locale "C" are those of ASCII.
    fn check(&self, unit: u32, is_wide: bool) -> Result<(), Error> {
        if is_wide != self.sink.is_wide() && unit > 127 {
            Err(Error::NotACharacter)
        } else {
            Ok(())
        }
    }

    fn put_all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        bytes.iter().try_for_each(|byte| self.put(u32::from(*byte)))
    }

    fn repeat(&mut self, byte: u8, times: u32) -> Result<(), Error> {
        if times > i32::MAX as u32 - self.length {
            return Err(Error::TooLong);
        }
        self.length += times;
        self.sink.fill(u32::from(byte), times)
    }
}

/// Writes the text of a format, and returns its length.
///
/// # Safety
/// The arguments match the format, as for C's `printf`.
///
/// # Errors
/// Those of [`Error`]; the text before the failure is written.
pub unsafe fn format(
    sink: &mut dyn Sink,
    units: &dyn Units,
    values: &mut dyn Values,
    rounding: Rounding,
) -> Result<u32, Error> {
    let mut output = Output { sink, length: 0 };
    let mut place = 0;
    loop {
        let end = percent(units, place);
        for place in place..end {
            output.put(units.at(place))?;
        }
        if units.at(end) == 0 {
            return Ok(output.length);
        }
        place = end + 1;
        let spec = Spec::read(units, &mut place)?;
        // SAFETY: the caller's promise.
        unsafe { convert(&mut output, units, values, spec, rounding)? };
    }
}

/// Evaluated flags, width and precision of a conversion.
#[derive(Clone, Copy)]
struct Field {
    flags: Flags,
    width: u32,
    precision: Option<u32>,
}

unsafe fn convert(
    output: &mut Output<'_>,
    units: &dyn Units,
    values: &mut dyn Values,
    spec: Spec,
    rounding: Rounding,
) -> Result<(), Error> {
    let mut number = |count| -> Result<Option<i32>, Error> {
        Ok(match count {
            Count::Absent => None,
            Count::Given(number) => Some(number as i32),
            // SAFETY: the caller's promise.
            argument => Some(unsafe { value(units, values, argument, Kind::Int)? } as i32),
        })
    };
    let width = number(spec.width)?.unwrap_or(0);
    let precision = number(spec.precision)?;
    let mut field = Field {
        flags: spec.flags,
        width: width.unsigned_abs(),
        precision: precision.and_then(|precision| u32::try_from(precision).ok()),
    };
    if width < 0 {
        field.flags.set(Flags::LEFT);
    }
    if field.width > i32::MAX as u32 {
        return Err(Error::TooLong);
    }
    let argument = match spec.kind() {
        // SAFETY: the caller's promise.
        Some(kind) => unsafe { value(units, values, spec.argument, kind)? },
        None => 0,
    };
    let letter = ascii(spec.letter);
    match letter {
        0 => Err(Error::Format),
        b'%' => output.put(PERCENT),
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' => {
            let unused = u64::BITS - spec.length.bits();
            let value = (argument as u64) << unused;
            if matches!(letter, b'd' | b'i') {
                let value = value as i64 >> unused;
                let sign = sign(value < 0, field.flags);
                return integer(output, field, sign, false, value.unsigned_abs(), letter);
            }
            integer(output, field, None, false, value >> unused, letter)
        }
        b'p' if argument as usize == 0 => output.padded_text(field, b"(nil)"),
        b'p' => {
            let sign = sign(false, field.flags);
            integer(output, field, sign, true, argument as u64, b'x')
        }
        b'c' | b'C' => {
            let is_wide = spec.length == Length::Long || letter == b'C';
            let unit = if is_wide {
                argument as u32
            } else {
                u32::from(argument as u8)
            };
            output.check(unit, is_wide)?;
            output.padded(field, 1, &mut |output| output.put(unit))
        }
        b's' | b'S' => {
            let is_wide = spec.length == Length::Long || letter == b'S';
            // SAFETY: the caller's promise.
            unsafe { string(output, field, argument as usize, is_wide) }
        }
        b'n' => {
            let length = output.length;
            let address = argument as usize;
            // SAFETY: the caller's promise: a variable of this length.
            unsafe {
                match spec.length {
                    Length::Plain => write_at(address, length),
                    Length::Char => write_at(address, length as u8),
                    Length::Short => write_at(address, length as u16),
                    Length::Long => write_at(address, length as usize),
                    Length::LongLong => write_at(address, u64::from(length)),
                }
            };
            Ok(())
        }
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
            let format = match spec.length {
                Length::LongLong => LONG_DOUBLE,
                _ => DOUBLE,
            };
            let number = Number {
                bits: argument,
                format,
                letter,
                rounding,
            };
            float(output, field, number)
        }
        _ => unknown(output, field, spec.letter),
    }
}

/// Stores a value for the program.
///
/// # Safety
/// As for a pointer's `write_unaligned`.
pub unsafe fn write_at<T>(address: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { ptr::with_exposed_provenance_mut::<T>(address).write_unaligned(value) };
}

/// Prints an unknown conversion as glibc does.
#[inline(never)]
fn unknown(output: &mut Output<'_>, field: Field, letter: u32) -> Result<(), Error> {
    if IS_SMALL {
        output.put(PERCENT)?;
        return output.put(letter);
    }
    let mut flags = field.flags;
    if flags.has(Flags::PLUS) {
        flags.clear(Flags::SPACE);
    }
    if flags.has(Flags::LEFT) {
        flags.clear(Flags::ZERO);
    }
    output.put(PERCENT)?;
    for (flag, letter) in Flags::LETTERS {
        if flags.has(flag) {
            output.put(u32::from(letter))?;
        }
    }
    let plain = Field {
        flags: Flags::default(),
        width: 0,
        precision: None,
    };
    if field.width != 0 {
        integer(output, plain, None, false, u64::from(field.width), b'u')?;
    }
    if let Some(precision) = field.precision {
        output.put(u32::from(b'.'))?;
        integer(output, plain, None, false, u64::from(precision), b'u')?;
    }
    output.put(letter)
}

fn sign(negative: bool, flags: Flags) -> Option<u8> {
    let signs = [
        (negative, b'-'),
        (flags.has(Flags::PLUS), b'+'),
        (flags.has(Flags::SPACE), b' '),
    ];
    signs.into_iter().find_map(|(is, sign)| is.then_some(sign))
}

impl Output<'_> {
    /// Writes the output of `body`, of this length, with spaces before or after it.
    fn padded(
        &mut self,
        field: Field,
        length: u32,
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let spaces = field.width.saturating_sub(length);
        if !field.flags.has(Flags::LEFT) {
            self.repeat(b' ', spaces)?;
        }
        body(self)?;
        if field.flags.has(Flags::LEFT) {
            self.repeat(b' ', spaces)?;
        }
        Ok(())
    }

    fn padded_text(&mut self, field: Field, text: &[u8]) -> Result<(), Error> {
        self.padded(field, text.len() as u32, &mut |output| output.put_all(text))
    }

    /// Writes a number, whose digits `body` writes. Zeros used instead of spaces follow its sign and its prefix.
    fn padded_number(
        &mut self,
        mut field: Field,
        sign: Option<u8>,
        prefix: &[u8],
        length: u32,
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = length.saturating_add(prefix.len() as u32 + u32::from(sign.is_some()));
        let mut zeros = 0;
        if field.flags.has(Flags::ZERO) && !field.flags.has(Flags::LEFT) {
            zeros = field.width.saturating_sub(all);
            field.width = 0;
        }
        self.padded(field, all, &mut |output| {
            output.put_all(sign.as_slice())?;
            output.put_all(prefix)?;
            output.repeat(b'0', zeros)?;
            body(output)
        })
    }
}

/// Writes an integer. `has_prefix`: the base's prefix is written regardless of the flags.
fn integer(
    output: &mut Output<'_>,
    mut field: Field,
    sign: Option<u8>,
    has_prefix: bool,
    value: u64,
    letter: u8,
) -> Result<(), Error> {
    let base = match letter {
        b'o' => 8,
        b'x' | b'X' => 16,
        b'b' | b'B' => 2,
        _ => 10,
    };
    let mut text = [0; 64];
    let mut start = text.len();
    let mut rest = value;
    while rest != 0 {
        start -= 1;
        text[start] = hexadecimal((rest % base) as u8, letter == b'X');
        rest /= base;
    }
    let digits = &text[start..];
    let mut least = field.precision.unwrap_or(1);
    let is_other_form = field.flags.has(Flags::OTHER_FORM) && value != 0;
    if letter == b'o' && field.flags.has(Flags::OTHER_FORM) {
        least = least.max(digits.len() as u32 + 1);
    }
    let prefix: &[u8] = match base {
        2 | 16 if has_prefix || is_other_form => &[b'0', letter],
        _ => b"",
    };
    // A precision disables the flag.
    if field.precision.is_some() {
        field.flags.clear(Flags::ZERO);
    }
    let zeros = least.saturating_sub(digits.len() as u32);
    let length = zeros.saturating_add(digits.len() as u32);
    output.padded_number(field, sign, prefix, length, &mut |output| {
        output.repeat(b'0', zeros)?;
        output.put_all(digits)
    })
}

fn hexadecimal(digit: u8, upper: bool) -> u8 {
    match (digit, upper) {
        (0..10, _) => b'0' + digit,
        (_, true) => b'A' - 10 + digit,
        (_, false) => b'a' - 10 + digit,
    }
}

/// Writes a string.
///
/// # Safety
/// The address is 0 or that of a string, of which at most `precision` units are read.
#[inline(never)]
unsafe fn string(
    output: &mut Output<'_>,
    field: Field,
    address: usize,
    is_wide: bool,
) -> Result<(), Error> {
    const NULL: &[u8] = b"(null)";
    let most = field
        .precision
        .map_or(usize::MAX, |precision| precision as usize);
    if address == 0 {
        let text = if most < NULL.len() { b"" } else { NULL };
        return output.padded_text(field, text);
    }
    // SAFETY: the caller's promise; only units up to the 0 are read.
    let unit = |place: usize| unsafe {
        if is_wide {
            ptr::with_exposed_provenance::<u32>(address)
                .add(place)
                .read()
        } else {
            u32::from(
                ptr::with_exposed_provenance::<u8>(address)
                    .add(place)
                    .read(),
            )
        }
    };
    let mut length = 0;
    while length < most {
        match unit(length) {
            0 => break,
            unit => output.check(unit, is_wide)?,
        }
        length += 1;
    }
    output.padded(
        field,
        u32::try_from(length).unwrap_or(u32::MAX),
        &mut |output| (0..length).try_for_each(|place| output.put(unit(place))),
    )
}

#[derive(Clone, Copy)]
struct Number {
    bits: Bits,
    format: FloatFormat,
    letter: u8,
    rounding: Rounding,
}

#[inline(never)]
fn float(output: &mut Output<'_>, mut field: Field, number: Number) -> Result<(), Error> {
    let unpacked = number.format.unpack(number.bits);
    let sign = sign(unpacked.negative, field.flags);
    let is_upper = number.letter.is_ascii_uppercase();
    let words: [&[u8]; 2] = match unpacked.class {
        Class::Finite => {
            return match number.letter {
                b'a' | b'A' => hexadecimal_float(output, field, number, unpacked),
                _ if number.format == DOUBLE => double(output, field, number, unpacked),
                _ => long_double(output, field, number, unpacked),
            };
        }
        Class::Infinite => [b"inf", b"INF"],
        Class::Nan => [b"nan", b"NAN"],
    };
    let word = words[usize::from(is_upper)];
    field.flags.clear(Flags::ZERO);
    output.padded_number(field, sign, b"", word.len() as u32, &mut |output| {
        output.put_all(word)
    })
}

// One function per format, with its limbs on the stack: more than 7 KiB for a `long double`.
#[inline(never)]
fn double(
    output: &mut Output<'_>,
    field: Field,
    number: Number,
    unpacked: Unpacked,
) -> Result<(), Error> {
    decimal_float(output, field, number, unpacked, &mut [0; DOUBLE.limbs()])
}

#[inline(never)]
fn long_double(
    output: &mut Output<'_>,
    field: Field,
    number: Number,
    unpacked: Unpacked,
) -> Result<(), Error> {
    decimal_float(output, field, number, unpacked, &mut [0; QUAD.limbs()])
}

/// Returns a lower bound of the position of the leading digit, at most two below it.
fn least_leading_place(number: Unpacked) -> i32 {
    let length = (Bits::BITS - number.significand.leading_zeros()) as i32;
    let binary = number.exponent + length - 1;
    // log10(2) is 0.30102999..
    (binary * 30103).div_euclid(100_000) - 1
}

/// Exceeds the number of digits after, or before, the point of a number in any format.
const MOST_DIGITS: u32 = 20_000;

enum Figures<'a> {
    Decimal(Decimal<'a>),
    /// In base 16: the digit before the point, above `behind` bits after it.
    Hexadecimal {
        significand: Bits,
        behind: u32,
        is_upper: bool,
    },
}

impl Figures<'_> {
    /// Returns the character of the digit at position `place`.
    fn at(&self, place: i32) -> u8 {
        match self {
            Figures::Decimal(decimal) => b'0' + decimal.digit(place),
            Figures::Hexadecimal {
                significand,
                behind,
                is_upper,
            } => {
                let digit = significand >> (*behind as i32 + 4 * place) & 15;
                hexadecimal(digit as u8, *is_upper)
            }
        }
    }

    /// Returns a position below which all digits are 0.
    fn least_place(&self) -> i32 {
        match self {
            Figures::Decimal(decimal) => decimal.least_place(),
            Figures::Hexadecimal { behind, .. } => -(*behind as i32) / 4,
        }
    }
}

/// A number prepared for output.
struct Shown<'a> {
    figures: Figures<'a>,
    first: i32,
    /// Number of digits after the point.
    behind: i32,
    /// Number of zeros after those.
    zeros: u32,
    exponent: Option<i32>,
}

/// Selects style and digits by the letter, as C17 specifies. Independent of the sink's type, so that there is one copy.
#[inline(never)]
fn show<'a>(field: Field, number: Number, unpacked: Unpacked, limbs: &'a mut [u32]) -> Shown<'a> {
    let precision = field.precision.unwrap_or(6);
    // No number has non-zero digits after those.
    let zeros = precision.saturating_sub(MOST_DIGITS);
    let precision = (precision - zeros) as i32;
    let negative = unpacked.negative;
    let letter = number.letter.to_ascii_lowercase();
    if letter == b'f' {
        let mut decimal = Decimal::expand(unpacked, precision, limbs);
        decimal.round(-precision, negative, number.rounding);
        let first = decimal.leading_place().max(0);
        return Shown {
            figures: Figures::Decimal(decimal),
            first,
            behind: precision,
            zeros,
            exponent: None,
        };
    }
    // Digits after the first.
    let digits = match letter {
        b'g' => (precision - 1).max(0),
        _ => precision,
    };
    let after = match unpacked.significand {
        0 => 0,
        _ => digits - least_leading_place(unpacked),
    };
    let mut decimal = Decimal::expand(unpacked, after, limbs);
    let before = decimal.leading_place();
    decimal.round(before - digits, negative, number.rounding);
    let leading = decimal.leading_place();
    let mut last = leading - digits;
    let mut zeros = zeros;
    if letter == b'g' && !field.flags.has(Flags::OTHER_FORM) {
        last = decimal.last_place(last);
        zeros = 0;
    } else if letter == b'g' && before == digits && leading > before {
        // The standard requires these zeros; glibc omits them (`%#.2g` of 99.8 is `1.e+02`).
        last = leading;
    }
    if letter == b'g' && (-4..=digits).contains(&leading) {
        let behind = (-last).max(0);
        return Shown {
            figures: Figures::Decimal(decimal),
            first: leading.max(0),
            behind,
            zeros,
            exponent: None,
        };
    }
    Shown {
        figures: Figures::Decimal(decimal),
        first: leading,
        behind: leading - last,
        zeros,
        exponent: Some(leading),
    }
}

fn decimal_float(
    output: &mut Output<'_>,
    field: Field,
    number: Number,
    unpacked: Unpacked,
    limbs: &mut [u32],
) -> Result<(), Error> {
    let shown = show(field, number, unpacked, limbs);
    let sign = sign(unpacked.negative, field.flags);
    write_shown(output, field, sign, number.letter, &shown)
}

#[inline(never)]
fn write_shown(
    output: &mut Output<'_>,
    field: Field,
    sign: Option<u8>,
    letter: u8,
    shown: &Shown<'_>,
) -> Result<(), Error> {
    let has_point = shown.behind > 0 || field.flags.has(Flags::OTHER_FORM);
    let point = match shown.figures {
        Figures::Decimal(_) => shown.exponent.unwrap_or_default(),
        Figures::Hexadecimal { .. } => 0,
    };
    let upper = letter & 0x20;
    let (prefix, mark, least): (&[u8], _, _) = match letter | 0x20 {
        b'a' => (&[b'0', b'X' | upper], b'P', 1),
        _ => (&[], b'E', 2),
    };
    let mut text = [0; 8];
    let exponent = shown.exponent.map_or(&[][..], |exponent| {
        exponent_text(&mut text, mark | upper, exponent, least)
    });
    let whole = shown.first - point + 1;
    let length = (whole + i32::from(has_point) + shown.behind) as u32 + exponent.len() as u32;
    let length = length.saturating_add(shown.zeros);
    output.padded_number(field, sign, prefix, length, &mut |output| {
        let last = point - shown.behind;
        let zeros = shown.figures.least_place().clamp(last, point);
        let mut place = shown.first;
        while place >= zeros {
            if place == point - 1 {
                output.put(u32::from(b'.'))?;
            }
            output.put(u32::from(shown.figures.at(place)))?;
            place -= 1;
        }
        if has_point && zeros == point {
            output.put(u32::from(b'.'))?;
        }
        output.repeat(b'0', (zeros - last) as u32)?;
        output.repeat(b'0', shown.zeros)?;
        output.put_all(exponent)
    })
}

/// Returns the text of an exponent with its letter and its sign.
fn exponent_text(text: &mut [u8; 8], mark: u8, exponent: i32, least: usize) -> &[u8] {
    let mut start = text.len();
    let mut rest = exponent.unsigned_abs();
    while rest != 0 || text.len() - start < least {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text[start - 1] = if exponent < 0 { b'-' } else { b'+' };
    text[start - 2] = mark;
    &text[start - 2..]
}

#[inline(never)]
fn hexadecimal_float(
    output: &mut Output<'_>,
    field: Field,
    number: Number,
    unpacked: Unpacked,
) -> Result<(), Error> {
    let behind = number.format.precision - 1;
    let all = behind / 4;
    let mut significand = unpacked.significand;
    let digits = match field.precision {
        None => all - ((significand | 1 << behind).trailing_zeros() / 4).min(all),
        Some(precision) => {
            let dropped = 4 * all.saturating_sub(precision);
            let kept = significand >> dropped;
            let rest = significand ^ kept << dropped;
            let half = (1 << dropped) >> 1;
            let away = number.rounding.is_away(
                unpacked.negative,
                kept & 1 != 0,
                dropped != 0 && rest >= half,
                rest != 0 && rest != half,
            );
            significand = (kept + Bits::from(away)) << dropped;
            precision
        }
    };
    let exponent = match unpacked.significand {
        0 => 0,
        _ => unpacked.exponent + behind as i32,
    };
    let shown = Shown {
        figures: Figures::Hexadecimal {
            significand,
            behind,
            is_upper: number.letter == b'A',
        },
        first: 0,
        behind: digits.min(all) as i32,
        zeros: digits.saturating_sub(all),
        exponent: Some(exponent),
    };
    let sign = sign(unpacked.negative, field.flags);
    write_shown(output, field, sign, number.letter, &shown)
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
