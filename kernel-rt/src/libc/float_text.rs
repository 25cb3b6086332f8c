//! Parser of floating-point numbers: strtod's subject sequences, and scanf's items, which may be their prefixes. A
//! result is rounded once, from the exact value, for any number of digits.
#![cfg_attr(
    target_arch = "arm",
    expect(clippy::useless_conversion, reason = "numbers have no more than 64 bits there")
)]

use super::decimal::{DigitCollector, FloatBits, FloatFormat, PackedFloat, RoundingMode};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParserState {
    Start,
    Signed,
    /// After a leading 0: `x` may follow.
    Zero,
    /// In the integer part.
    Integer,
    /// After the point.
    Fraction,
    /// After the letter of the exponent.
    Mark,
    /// After its sign.
    ExponentSign,
    Exponent,
    /// In a word, after this number of its letters.
    Infinity(u8),
    Nan(u8),
    /// In the parentheses after a NaN.
    Payload,
    End,
}

const INFINITY: &[u8] = b"infinity";
const NAN: &[u8] = b"nan";

/// Parser of a number that is read byte by byte.
#[derive(Debug)]
pub struct FloatReader<'a> {
    format: FloatFormat,
    state: ParserState,
    digits: DigitCollector<'a>,
    negative: bool,
    is_hexadecimal: bool,
    has_digits: bool,
    /// A NaN may include parentheses.
    takes_payload: bool,
    /// Hexadecimal digits as a number, with a 1 for non-zero digits that exceed its size.
    significand: u128,
    /// Positions to move the point to the right, in digits of the base.
    scale: i64,
    /// The exponent in the text, saturated.
    exponent: i64,
    exponent_negative: bool,
    payload: NanPayload,
    length: usize,
    /// Length of the longest prefix that is a number.
    valid: usize,
}

/// A NaN's payload: digits in the format of C's constants.
#[derive(Clone, Copy, Default, Debug)]
struct NanPayload {
    value: u64,
    base: u8,
    is_number: bool,
    length: usize,
}

/// Above any exponent that affects a result, and small enough to add without an overflow.
const MAX_EXPONENT: i64 = 1 << 40;

impl<'a> FloatReader<'a> {
    /// Creates a parser without input. The memory has the format's limbs. `takes_payload`: a NaN may be followed by
    /// parentheses.
    pub fn new(format: FloatFormat, takes_payload: bool, limbs: &'a mut [u32]) -> Self {
        FloatReader {
            takes_payload,
            format,
            state: ParserState::Start,
            digits: DigitCollector::new(format, limbs),
            negative: false,
            is_hexadecimal: false,
            has_digits: false,
            significand: 0,
            scale: 0,
            exponent: 0,
            exponent_negative: false,
            payload: NanPayload::default(),
            length: 0,
            valid: 0,
        }
    }

    /// Returns the length in bytes of the longest prefix that is a number, 0 if there is none.
    pub fn valid(&self) -> usize {
        self.valid
    }

    /// Returns whether the input is a number for scanf. As in glibc it may include an exponent without digits, but is
    /// not the beginning of a word, nor `0x` alone.
    pub fn is_item(&self) -> bool {
        let is_word = matches!(self.state, ParserState::Infinity(_) | ParserState::Nan(_));
        let is_prefix = self.is_hexadecimal && self.state == ParserState::Integer && !self.has_digits;
        self.valid > 0 && !is_prefix && (!is_word || self.valid == self.length)
    }

    /// Accepts a byte, unless the number ends before it. `takes_prefix`: the `x` of `0x` may belong to it.
    pub fn push(&mut self, byte: u8, takes_prefix: bool) -> bool {
        let next = self.next(byte, takes_prefix);
        let Some(next) = next else {
            return false;
        };
        self.state = next;
        self.length += 1;
        let is_number = match next {
            ParserState::Zero | ParserState::Integer | ParserState::Fraction => self.has_digits,
            ParserState::Exponent | ParserState::End => true,
            ParserState::Infinity(letters) => letters == 3 || usize::from(letters) == INFINITY.len(),
            ParserState::Nan(letters) => usize::from(letters) == NAN.len(),
            _ => false,
        };
        if is_number {
            self.valid = self.length;
        }
        true
    }

    fn next(&mut self, byte: u8, takes_prefix: bool) -> Option<ParserState> {
        let lower = byte.to_ascii_lowercase();
        let word = |word: &[u8], letters: u8| word.get(usize::from(letters)) == Some(&lower);
        Some(match self.state {
            ParserState::Start if byte == b'+' || byte == b'-' => {
                self.negative = byte == b'-';
                ParserState::Signed
            }
            ParserState::Start | ParserState::Signed => match lower {
                b'i' => ParserState::Infinity(1),
                b'n' => ParserState::Nan(1),
                b'0' if takes_prefix => {
                    self.has_digits = true;
                    ParserState::Zero
                }
                _ => return self.digit_or_point(byte),
            },
            ParserState::Zero if lower == b'x' && takes_prefix => {
                self.is_hexadecimal = true;
                self.has_digits = false;
                ParserState::Integer
            }
            ParserState::Zero | ParserState::Integer | ParserState::Fraction => {
                return self.digit_or_point(byte);
            }
            ParserState::Mark if byte == b'+' || byte == b'-' => {
                self.exponent_negative = byte == b'-';
                ParserState::ExponentSign
            }
            ParserState::Mark | ParserState::ExponentSign | ParserState::Exponent => {
                let digit = (byte as char).to_digit(10)?;
                self.exponent = (self.exponent * 10 + i64::from(digit)).min(MAX_EXPONENT);
                ParserState::Exponent
            }
            ParserState::Infinity(letters) if word(INFINITY, letters) => ParserState::Infinity(letters + 1),
            ParserState::Nan(letters) if word(NAN, letters) => ParserState::Nan(letters + 1),
            ParserState::Nan(letters) if usize::from(letters) == NAN.len() && byte == b'(' && self.takes_payload => {
                ParserState::Payload
            }
            ParserState::Payload if byte == b')' => ParserState::End,
            ParserState::Payload if byte == b'_' || byte.is_ascii_alphanumeric() => {
                self.payload.push(lower);
                ParserState::Payload
            }
            ParserState::Infinity(_) | ParserState::Nan(_) | ParserState::Payload | ParserState::End => return None,
        })
    }

    fn digit_or_point(&mut self, byte: u8) -> Option<ParserState> {
        let is_fraction = self.state == ParserState::Fraction;
        match byte {
            b'.' if !is_fraction => return Some(ParserState::Fraction),
            b'e' | b'E' if !self.is_hexadecimal && self.has_digits => {
                return Some(ParserState::Mark);
            }
            b'p' | b'P' if self.is_hexadecimal && self.has_digits => {
                return Some(ParserState::Mark);
            }
            _ => {}
        }
        let base = if self.is_hexadecimal { 16 } else { 10 };
        let digit = (byte as char).to_digit(base)? as u8;
        self.has_digits = true;
        let counts = match self.is_hexadecimal {
            true if self.significand >> 120 == 0 => {
                self.significand = self.significand << 4 | u128::from(digit);
                false
            }
            true => {
                self.significand |= u128::from(digit != 0);
                true
            }
            false => {
                self.digits.push(digit);
                !self.digits.is_zero()
            }
        };
        // For decimal digits the point is before the first non-zero one, for others after the last one stored.
        if !is_fraction {
            self.scale += i64::from(counts)
        } else {
            self.scale -= i64::from(!counts)
        }
        Some(if is_fraction {
            ParserState::Fraction
        } else {
            ParserState::Integer
        })
    }

    /// Returns the number, for input with at least one valid byte.
    pub fn finish(self, rounding: RoundingMode) -> PackedFloat {
        let exact = |bits| PackedFloat {
            bits,
            range_error: false,
        };
        let exponent = if self.exponent_negative {
            -self.exponent
        } else {
            self.exponent
        };
        match self.state {
            ParserState::Infinity(_) => exact(self.format.infinity(self.negative)),
            ParserState::Nan(_) | ParserState::Payload => exact(self.format.nan(self.negative, 0)),
            ParserState::End => exact(self.format.nan(self.negative, self.payload.value())),
            _ if self.is_hexadecimal => {
                self.format
                    .pack_binary(self.negative, self.significand, self.scale * 4 + exponent, rounding)
            }
            _ => self.digits.finish(self.negative, self.scale + exponent, rounding),
        }
    }
}

impl NanPayload {
    fn push(&mut self, lower: u8) {
        match (self.length, lower) {
            (0, _) => {
                self.base = if lower == b'0' { 8 } else { 10 };
                self.is_number = true;
            }
            (1, b'x') if self.base == 8 => {
                self.base = 16;
                self.length += 1;
                return;
            }
            _ => {}
        }
        self.length += 1;
        match (lower as char).to_digit(u32::from(self.base)) {
            // As in strtoull: an excessive value becomes all ones.
            Some(digit) => {
                let next = self.value.saturating_mul(u64::from(self.base));
                self.value = next.saturating_add(u64::from(digit));
            }
            None => self.is_number = false,
        }
    }

    fn value(&self) -> FloatBits {
        if self.is_number { self.value.into() } else { 0 }
    }
}
