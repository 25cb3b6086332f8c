//! The conversions of the printf family (C17 sections 7.21.6.1 and 7.29.2.1, POSIX's numbered arguments, and GNU
//! extensions): the text of a format with its arguments, unit by unit. Every function of the family, for narrow and for
//! wide characters, is a [`TextSink`] for this one formatter.
//!
//! If the standards permit several results, it follows glibc in the locale "C". Nothing is allocated.
#![cfg_attr(
    target_arch = "arm",
    expect(clippy::unnecessary_cast, reason = "numbers have no more than 64 bits there")
)]

use core::ptr;

use super::decimal::{DOUBLE, Decimal, FloatBits, FloatClass, FloatFormat, QUAD, RoundingMode, UnpackedFloat};

/// Reason of a failed call; it determines `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatError {
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
pub trait TextSink {
    /// Returns whether its units are wide characters.
    fn is_wide(&self) -> bool {
        false
    }
    /// Appends one unit.
    ///
    /// # Errors
    /// [`FormatError::Stream`], and [`FormatError::NotACharacter`] for wide characters that become bytes.
    fn put(&mut self, unit: u32) -> Result<(), FormatError>;
    /// Appends the same unit `times` times.
    ///
    /// # Errors
    /// Those of [`TextSink::put`].
    fn fill(&mut self, unit: u32, times: u32) -> Result<(), FormatError> {
        (0..times).try_for_each(|_| self.put(unit))
    }
}

/// A format: its units by index. Nothing after the terminating 0 is read.
pub trait FormatUnits {
    /// Returns the unit at an index.
    fn at(&self, place: usize) -> u32;
}

impl FormatUnits for &[u8] {
    fn at(&self, place: usize) -> u32 {
        self.get(place).copied().map_or(0, u32::from)
    }
}

/// Layout of an argument in the argument list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentKind {
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
pub trait ArgumentValues {
    /// Returns the next argument, without sign extension.
    ///
    /// # Safety
    /// There is one more argument, of this kind.
    unsafe fn next(&mut self, kind: ArgumentKind) -> FloatBits;
    /// Returns to the first argument.
    fn rewind(&mut self);
}

/// Format of this machine's `long double`.
pub const LONG_DOUBLE: FloatFormat = if cfg!(target_arch = "arm") { DOUBLE } else { QUAD };

/// A microcontroller's flash has no space for the features defined only by POSIX and GNU: numbered arguments are errors
/// there, and an unknown conversion prints its letter.
const IS_SMALL: bool = cfg!(target_arch = "arm");

/// A width or precision, or the index of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountSource {
    /// There is none.
    Absent,
    /// A number in the format.
    Literal(u32),
    /// The next argument.
    NextArgument,
    /// The argument with this index, from 1.
    NumberedArgument(u32),
}

/// Length modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthModifier {
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

impl LengthModifier {
    /// Returns the bits of an integer of this length.
    pub fn bits(self) -> u32 {
        match self {
            LengthModifier::Plain => 32,
            LengthModifier::Char => 8,
            LengthModifier::Short => 16,
            LengthModifier::Long => usize::BITS,
            LengthModifier::LongLong => 64,
        }
    }

    /// Reads modifiers from a position, and advances it behind them.
    pub fn read(units: &(impl FormatUnits + ?Sized), place: &mut usize) -> LengthModifier {
        let mut length = LengthModifier::Plain;
        loop {
            length = match (ascii(units.at(*place)), length) {
                (b'h', LengthModifier::Short) => LengthModifier::Char,
                (b'h', _) => LengthModifier::Short,
                (b'l', LengthModifier::Long) => LengthModifier::LongLong,
                (b'l' | b'z' | b'Z' | b't', _) => LengthModifier::Long,
                (b'j' | b'q' | b'L', _) => LengthModifier::LongLong,
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
/// [`FormatError::TooLong`] for a number above an `int`.
pub fn number(units: &(impl FormatUnits + ?Sized), place: &mut usize) -> Result<Option<u32>, FormatError> {
    let mut number = None;
    while let digit @ b'0'..=b'9' = ascii(units.at(*place)) {
        let next = u64::from(number.unwrap_or(0)) * 10 + u64::from(digit - b'0');
        number = Some(
            u32::try_from(next)
                .ok()
                .filter(|next| *next < 1 << 31)
                .ok_or(FormatError::TooLong)?,
        );
        *place += 1;
    }
    Ok(number)
}

/// Flags of a conversion, a bit each: a byte requires less code to copy than a field for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct ConversionFlags(u8);

impl ConversionFlags {
    const LEFT: ConversionFlags = ConversionFlags(1 << 0);
    const PLUS: ConversionFlags = ConversionFlags(1 << 1);
    const SPACE: ConversionFlags = ConversionFlags(1 << 2);
    const OTHER_FORM: ConversionFlags = ConversionFlags(1 << 3);
    const ZERO: ConversionFlags = ConversionFlags(1 << 4);
    const GROUP: ConversionFlags = ConversionFlags(1 << 5);
    /// Flags in the order in which glibc prints them.
    const LETTERS: [(ConversionFlags, u8); 6] = [
        (ConversionFlags::OTHER_FORM, b'#'),
        (ConversionFlags::GROUP, b'\''),
        (ConversionFlags::PLUS, b'+'),
        (ConversionFlags::SPACE, b' '),
        (ConversionFlags::LEFT, b'-'),
        (ConversionFlags::ZERO, b'0'),
    ];

    /// Returns the flag of this character, or `None`.
    fn from_char(character: u8) -> Option<ConversionFlags> {
        // Digits of the locale: those of ASCII.
        if character == b'I' {
            return Some(ConversionFlags(0));
        }
        let mut letters = ConversionFlags::LETTERS.iter();
        letters.find_map(|&(flag, letter)| (letter == character).then_some(flag))
    }

    fn has(self, flag: ConversionFlags) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: ConversionFlags) {
        self.0 |= flag.0;
    }

    fn clear(&mut self, flag: ConversionFlags) {
        self.0 &= !flag.0;
    }
}

#[derive(Clone, Copy, Debug)]
struct ConversionSpec {
    flags: ConversionFlags,
    width: CountSource,
    precision: CountSource,
    length: LengthModifier,
    letter: u32,
    /// [`CountSource::NextArgument`] or a numbered argument.
    argument: CountSource,
}

impl ConversionSpec {
    /// Reads the specification after the percent sign before `place`, and advances `place` behind it.
    fn read(units: &dyn FormatUnits, place: &mut usize) -> Result<ConversionSpec, FormatError> {
        let mut spec = ConversionSpec {
            flags: ConversionFlags::default(),
            width: CountSource::Absent,
            precision: CountSource::Absent,
            length: LengthModifier::Plain,
            letter: 0,
            argument: CountSource::NextArgument,
        };
        let start = *place;
        match number(units, place)? {
            Some(_) if IS_SMALL && units.at(*place) == u32::from(b'$') => {
                return Err(FormatError::Format);
            }
            Some(argument) if argument > 0 && units.at(*place) == u32::from(b'$') => {
                spec.argument = CountSource::NumberedArgument(argument);
                *place += 1;
            }
            _ => *place = start,
        }
        while let Some(flag) = ConversionFlags::from_char(ascii(units.at(*place))) {
            spec.flags.set(flag);
            *place += 1;
        }
        spec.width = count(units, place)?;
        if units.at(*place) == u32::from(b'.') {
            *place += 1;
            spec.precision = match count(units, place)? {
                CountSource::Absent => CountSource::Literal(0),
                count => count,
            };
        }
        spec.length = LengthModifier::read(units, place);
        spec.letter = units.at(*place);
        *place += 1;
        Ok(spec)
    }

    /// Returns the layout of its argument, if it has one.
    fn kind(&self) -> Option<ArgumentKind> {
        Some(match ascii(self.letter) {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' => match self.length {
                LengthModifier::Plain | LengthModifier::Char | LengthModifier::Short => ArgumentKind::Int,
                LengthModifier::Long => ArgumentKind::Word,
                LengthModifier::LongLong => ArgumentKind::Long,
            },
            b'c' | b'C' => ArgumentKind::Int,
            b's' | b'S' | b'p' | b'n' => ArgumentKind::Word,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => match self.length {
                LengthModifier::LongLong => ArgumentKind::LongDouble,
                _ => ArgumentKind::Long,
            },
            _ => return None,
        })
    }
}

fn count(units: &dyn FormatUnits, place: &mut usize) -> Result<CountSource, FormatError> {
    if units.at(*place) != u32::from(b'*') {
        return Ok(number(units, place)?.map_or(CountSource::Absent, CountSource::Literal));
    }
    *place += 1;
    if IS_SMALL {
        return Ok(CountSource::NextArgument);
    }
    let start = *place;
    Ok(match number(units, place)? {
        Some(argument) if argument > 0 && units.at(*place) == u32::from(b'$') => {
            *place += 1;
            CountSource::NumberedArgument(argument)
        }
        _ => {
            *place = start;
            CountSource::NextArgument
        }
    })
}

/// Returns the index of the next percent sign, or of the end.
fn percent(units: &dyn FormatUnits, mut place: usize) -> usize {
    while !matches!(units.at(place), 0 | PERCENT) {
        place += 1;
    }
    place
}

/// First unit of a conversion.
pub const PERCENT: u32 = b'%' as u32;

/// Returns the layout of the argument with this index, as the format specifies it; `int` if no conversion uses it.
fn kind_of(units: &dyn FormatUnits, argument: u32) -> Result<ArgumentKind, FormatError> {
    let mut place = 0;
    loop {
        place = percent(units, place);
        if units.at(place) == 0 {
            return Ok(ArgumentKind::Int);
        }
        place += 1;
        let spec = ConversionSpec::read(units, &mut place)?;
        if spec.letter == 0 {
            return Err(FormatError::Format);
        }
        let this = CountSource::NumberedArgument(argument);
        if spec.width == this || spec.precision == this {
            return Ok(ArgumentKind::Int);
        }
        if let Some(kind) = spec.kind().filter(|_| spec.argument == this) {
            return Ok(kind);
        }
    }
}

/// Returns the argument that `count` specifies. It must not be [`CountSource::Absent`] or a literal number.
unsafe fn value(
    units: &dyn FormatUnits,
    values: &mut dyn ArgumentValues,
    count: CountSource,
    kind: ArgumentKind,
) -> Result<FloatBits, FormatError> {
    // SAFETY: the caller's promise about format and arguments: here, and for each argument before a numbered one.
    unsafe {
        if let CountSource::NumberedArgument(number) = count
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

struct FormatOutput<'a> {
    sink: &'a mut dyn TextSink,
    length: u32,
}

impl FormatOutput<'_> {
    fn put(&mut self, unit: u32) -> Result<(), FormatError> {
        if self.length >= i32::MAX as u32 {
            return Err(FormatError::TooLong);
        }
        self.length += 1;
        self.sink.put(unit)
    }

    /// Checks that a unit can change its width: the characters of the locale "C" are those of ASCII.
    fn check(&self, unit: u32, is_wide: bool) -> Result<(), FormatError> {
        if is_wide != self.sink.is_wide() && unit > 127 {
            Err(FormatError::NotACharacter)
        } else {
            Ok(())
        }
    }

    fn put_all(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        bytes.iter().try_for_each(|byte| self.put(u32::from(*byte)))
    }

    fn repeat(&mut self, byte: u8, times: u32) -> Result<(), FormatError> {
        if times > i32::MAX as u32 - self.length {
            return Err(FormatError::TooLong);
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
/// Those of [`FormatError`]; the text before the failure is written.
pub unsafe fn format(
    sink: &mut dyn TextSink,
    units: &dyn FormatUnits,
    values: &mut dyn ArgumentValues,
    rounding: RoundingMode,
) -> Result<u32, FormatError> {
    let mut output = FormatOutput { sink, length: 0 };
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
        let spec = ConversionSpec::read(units, &mut place)?;
        // SAFETY: the caller's promise.
        unsafe { convert(&mut output, units, values, spec, rounding)? };
    }
}

/// Evaluated flags, width and precision of a conversion.
#[derive(Clone, Copy)]
struct OutputField {
    flags: ConversionFlags,
    width: u32,
    precision: Option<u32>,
}

unsafe fn convert(
    output: &mut FormatOutput<'_>,
    units: &dyn FormatUnits,
    values: &mut dyn ArgumentValues,
    spec: ConversionSpec,
    rounding: RoundingMode,
) -> Result<(), FormatError> {
    let mut number = |count| -> Result<Option<i32>, FormatError> {
        Ok(match count {
            CountSource::Absent => None,
            CountSource::Literal(number) => Some(number as i32),
            // SAFETY: the caller's promise.
            argument => Some(unsafe { value(units, values, argument, ArgumentKind::Int)? } as i32),
        })
    };
    let width = number(spec.width)?.unwrap_or(0);
    let precision = number(spec.precision)?;
    let mut field = OutputField {
        flags: spec.flags,
        width: width.unsigned_abs(),
        precision: precision.and_then(|precision| u32::try_from(precision).ok()),
    };
    if width < 0 {
        field.flags.set(ConversionFlags::LEFT);
    }
    if field.width > i32::MAX as u32 {
        return Err(FormatError::TooLong);
    }
    let argument = match spec.kind() {
        // SAFETY: the caller's promise.
        Some(kind) => unsafe { value(units, values, spec.argument, kind)? },
        None => 0,
    };
    let letter = ascii(spec.letter);
    match letter {
        0 => Err(FormatError::Format),
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
            let is_wide = spec.length == LengthModifier::Long || letter == b'C';
            let unit = if is_wide {
                argument as u32
            } else {
                u32::from(argument as u8)
            };
            output.check(unit, is_wide)?;
            output.padded(field, 1, &mut |output| output.put(unit))
        }
        b's' | b'S' => {
            let is_wide = spec.length == LengthModifier::Long || letter == b'S';
            // SAFETY: the caller's promise.
            unsafe { string(output, field, argument as usize, is_wide) }
        }
        b'n' => {
            let length = output.length;
            let address = argument as usize;
            // SAFETY: the caller's promise: a variable of this length.
            unsafe {
                match spec.length {
                    LengthModifier::Plain => write_at(address, length),
                    LengthModifier::Char => write_at(address, length as u8),
                    LengthModifier::Short => write_at(address, length as u16),
                    LengthModifier::Long => write_at(address, length as usize),
                    LengthModifier::LongLong => write_at(address, u64::from(length)),
                }
            };
            Ok(())
        }
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
            let format = match spec.length {
                LengthModifier::LongLong => LONG_DOUBLE,
                _ => DOUBLE,
            };
            let number = FloatArgument {
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
fn unknown(output: &mut FormatOutput<'_>, field: OutputField, letter: u32) -> Result<(), FormatError> {
    if IS_SMALL {
        output.put(PERCENT)?;
        return output.put(letter);
    }
    let mut flags = field.flags;
    if flags.has(ConversionFlags::PLUS) {
        flags.clear(ConversionFlags::SPACE);
    }
    if flags.has(ConversionFlags::LEFT) {
        flags.clear(ConversionFlags::ZERO);
    }
    output.put(PERCENT)?;
    for (flag, letter) in ConversionFlags::LETTERS {
        if flags.has(flag) {
            output.put(u32::from(letter))?;
        }
    }
    let plain = OutputField {
        flags: ConversionFlags::default(),
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

fn sign(negative: bool, flags: ConversionFlags) -> Option<u8> {
    let signs = [
        (negative, b'-'),
        (flags.has(ConversionFlags::PLUS), b'+'),
        (flags.has(ConversionFlags::SPACE), b' '),
    ];
    signs.into_iter().find_map(|(is, sign)| is.then_some(sign))
}

impl FormatOutput<'_> {
    /// Writes the output of `body`, of this length, with spaces before or after it.
    fn padded(
        &mut self,
        field: OutputField,
        length: u32,
        body: &mut dyn FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let spaces = field.width.saturating_sub(length);
        if !field.flags.has(ConversionFlags::LEFT) {
            self.repeat(b' ', spaces)?;
        }
        body(self)?;
        if field.flags.has(ConversionFlags::LEFT) {
            self.repeat(b' ', spaces)?;
        }
        Ok(())
    }

    fn padded_text(&mut self, field: OutputField, text: &[u8]) -> Result<(), FormatError> {
        self.padded(field, text.len() as u32, &mut |output| output.put_all(text))
    }

    /// Writes a number, whose digits `body` writes. Zeros used instead of spaces follow its sign and its prefix.
    fn padded_number(
        &mut self,
        mut field: OutputField,
        sign: Option<u8>,
        prefix: &[u8],
        length: u32,
        body: &mut dyn FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let all = length.saturating_add(prefix.len() as u32 + u32::from(sign.is_some()));
        let mut zeros = 0;
        if field.flags.has(ConversionFlags::ZERO) && !field.flags.has(ConversionFlags::LEFT) {
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
    output: &mut FormatOutput<'_>,
    mut field: OutputField,
    sign: Option<u8>,
    has_prefix: bool,
    value: u64,
    letter: u8,
) -> Result<(), FormatError> {
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
    let is_other_form = field.flags.has(ConversionFlags::OTHER_FORM) && value != 0;
    if letter == b'o' && field.flags.has(ConversionFlags::OTHER_FORM) {
        least = least.max(digits.len() as u32 + 1);
    }
    let prefix: &[u8] = match base {
        2 | 16 if has_prefix || is_other_form => &[b'0', letter],
        _ => b"",
    };
    // A precision disables the flag.
    if field.precision.is_some() {
        field.flags.clear(ConversionFlags::ZERO);
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
    output: &mut FormatOutput<'_>,
    field: OutputField,
    address: usize,
    is_wide: bool,
) -> Result<(), FormatError> {
    const NULL: &[u8] = b"(null)";
    let most = field.precision.map_or(usize::MAX, |precision| precision as usize);
    if address == 0 {
        let text = if most < NULL.len() { b"" } else { NULL };
        return output.padded_text(field, text);
    }
    // SAFETY: the caller's promise; only units up to the 0 are read.
    let unit = |place: usize| unsafe {
        if is_wide {
            ptr::with_exposed_provenance::<u32>(address).add(place).read()
        } else {
            u32::from(ptr::with_exposed_provenance::<u8>(address).add(place).read())
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
    output.padded(field, u32::try_from(length).unwrap_or(u32::MAX), &mut |output| {
        (0..length).try_for_each(|place| output.put(unit(place)))
    })
}

#[derive(Clone, Copy)]
struct FloatArgument {
    bits: FloatBits,
    format: FloatFormat,
    letter: u8,
    rounding: RoundingMode,
}

#[inline(never)]
fn float(output: &mut FormatOutput<'_>, mut field: OutputField, number: FloatArgument) -> Result<(), FormatError> {
    let unpacked = number.format.unpack(number.bits);
    let sign = sign(unpacked.negative, field.flags);
    let is_upper = number.letter.is_ascii_uppercase();
    let words: [&[u8]; 2] = match unpacked.class {
        FloatClass::Finite => {
            return match number.letter {
                b'a' | b'A' => hexadecimal_float(output, field, number, unpacked),
                _ if number.format == DOUBLE => double(output, field, number, unpacked),
                _ => long_double(output, field, number, unpacked),
            };
        }
        FloatClass::Infinite => [b"inf", b"INF"],
        FloatClass::Nan => [b"nan", b"NAN"],
    };
    let word = words[usize::from(is_upper)];
    field.flags.clear(ConversionFlags::ZERO);
    output.padded_number(field, sign, b"", word.len() as u32, &mut |output| output.put_all(word))
}

// One function per format, with its limbs on the stack: more than 7 KiB for a `long double`.
#[inline(never)]
fn double(
    output: &mut FormatOutput<'_>,
    field: OutputField,
    number: FloatArgument,
    unpacked: UnpackedFloat,
) -> Result<(), FormatError> {
    decimal_float(output, field, number, unpacked, &mut [0; DOUBLE.limbs()])
}

#[inline(never)]
fn long_double(
    output: &mut FormatOutput<'_>,
    field: OutputField,
    number: FloatArgument,
    unpacked: UnpackedFloat,
) -> Result<(), FormatError> {
    decimal_float(output, field, number, unpacked, &mut [0; QUAD.limbs()])
}

/// Returns a lower bound of the position of the leading digit, at most two below it.
fn least_leading_place(number: UnpackedFloat) -> i32 {
    let length = (FloatBits::BITS - number.significand.leading_zeros()) as i32;
    let binary = number.exponent + length - 1;
    // log10(2) is 0.30102999..
    (binary * 30103).div_euclid(100_000) - 1
}

/// Exceeds the number of digits after, or before, the point of a number in any format.
const MAX_DIGITS: u32 = 20_000;

enum DigitSource<'a> {
    Decimal(Decimal<'a>),
    /// In base 16: the digit before the point, above `behind` bits after it.
    Hexadecimal {
        significand: FloatBits,
        behind: u32,
        is_upper: bool,
    },
}

impl DigitSource<'_> {
    /// Returns the character of the digit at position `place`.
    fn at(&self, place: i32) -> u8 {
        match self {
            DigitSource::Decimal(decimal) => b'0' + decimal.digit(place),
            DigitSource::Hexadecimal {
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
            DigitSource::Decimal(decimal) => decimal.least_place(),
            DigitSource::Hexadecimal { behind, .. } => -(*behind as i32) / 4,
        }
    }
}

/// A number prepared for output.
struct PreparedNumber<'a> {
    figures: DigitSource<'a>,
    first: i32,
    /// Number of digits after the point.
    behind: i32,
    /// Number of zeros after those.
    zeros: u32,
    exponent: Option<i32>,
}

/// Selects style and digits by the letter, as C17 specifies. Independent of the sink's type, so that there is one copy.
#[inline(never)]
fn show<'a>(
    field: OutputField,
    number: FloatArgument,
    unpacked: UnpackedFloat,
    limbs: &'a mut [u32],
) -> PreparedNumber<'a> {
    let precision = field.precision.unwrap_or(6);
    // No number has non-zero digits after those.
    let zeros = precision.saturating_sub(MAX_DIGITS);
    let precision = (precision - zeros) as i32;
    let negative = unpacked.negative;
    let letter = number.letter.to_ascii_lowercase();
    if letter == b'f' {
        let mut decimal = Decimal::expand(unpacked, precision, limbs);
        decimal.round(-precision, negative, number.rounding);
        let first = decimal.leading_place().max(0);
        return PreparedNumber {
            figures: DigitSource::Decimal(decimal),
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
    if letter == b'g' && !field.flags.has(ConversionFlags::OTHER_FORM) {
        last = decimal.last_place(last);
        zeros = 0;
    } else if letter == b'g' && before == digits && leading > before {
        // The standard requires these zeros; glibc omits them (`%#.2g` of 99.8 is `1.e+02`).
        last = leading;
    }
    if letter == b'g' && (-4..=digits).contains(&leading) {
        let behind = (-last).max(0);
        return PreparedNumber {
            figures: DigitSource::Decimal(decimal),
            first: leading.max(0),
            behind,
            zeros,
            exponent: None,
        };
    }
    PreparedNumber {
        figures: DigitSource::Decimal(decimal),
        first: leading,
        behind: leading - last,
        zeros,
        exponent: Some(leading),
    }
}

fn decimal_float(
    output: &mut FormatOutput<'_>,
    field: OutputField,
    number: FloatArgument,
    unpacked: UnpackedFloat,
    limbs: &mut [u32],
) -> Result<(), FormatError> {
    let shown = show(field, number, unpacked, limbs);
    let sign = sign(unpacked.negative, field.flags);
    write_shown(output, field, sign, number.letter, &shown)
}

#[inline(never)]
fn write_shown(
    output: &mut FormatOutput<'_>,
    field: OutputField,
    sign: Option<u8>,
    letter: u8,
    shown: &PreparedNumber<'_>,
) -> Result<(), FormatError> {
    let has_point = shown.behind > 0 || field.flags.has(ConversionFlags::OTHER_FORM);
    let point = match shown.figures {
        DigitSource::Decimal(_) => shown.exponent.unwrap_or_default(),
        DigitSource::Hexadecimal { .. } => 0,
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
    output: &mut FormatOutput<'_>,
    field: OutputField,
    number: FloatArgument,
    unpacked: UnpackedFloat,
) -> Result<(), FormatError> {
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
            significand = (kept + FloatBits::from(away)) << dropped;
            precision
        }
    };
    let exponent = match unpacked.significand {
        0 => 0,
        _ => unpacked.exponent + behind as i32,
    };
    let shown = PreparedNumber {
        figures: DigitSource::Hexadecimal {
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
