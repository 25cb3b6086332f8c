//! Parser of floating-point numbers: strtod's subject sequences, and scanf's items, which may be their prefixes. A
//! result is rounded once, from the exact value, for any number of digits.
#![cfg_attr(
    target_arch = "arm",
    expect(
        clippy::useless_conversion,
        reason = "numbers have no more than 64 bits there"
    )
)]

use super::decimal::{Bits, Digits, FloatFormat, Packed, Rounding};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Start,
    Signed,
    /// After a leading 0: `x` may follow.
    Zero,
    /// In the integer part.
    Whole,
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
pub struct Reader<'a> {
    format: FloatFormat,
    state: State,
    digits: Digits<'a>,
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
    payload: Payload,
    length: usize,
    /// Length of the longest prefix that is a number.
    valid: usize,
}

/// A NaN's payload: digits in the format of C's constants.
#[derive(Clone, Copy, Default, Debug)]
struct Payload {
    value: u64,
    base: u8,
    is_number: bool,
    length: usize,
}

/// Above any exponent that affects a result, and small enough to add without an overflow.
const MOST_EXPONENT: i64 = 1 << 40;

impl<'a> Reader<'a> {
    /// Creates a parser without input. The memory has the format's limbs. `takes_payload`: a NaN may be followed by
    /// parentheses.
    pub fn new(format: FloatFormat, takes_payload: bool, limbs: &'a mut [u32]) -> Self {
        Reader {
            takes_payload,
            format,
            state: State::Start,
            digits: Digits::new(format, limbs),
            negative: false,
            is_hexadecimal: false,
            has_digits: false,
            significand: 0,
            scale: 0,
            exponent: 0,
            exponent_negative: false,
            payload: Payload::default(),
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
        let is_word = matches!(self.state, State::Infinity(_) | State::Nan(_));
        let is_prefix = self.is_hexadecimal && self.state == State::Whole && !self.has_digits;
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
            State::Zero | State::Whole | State::Fraction => self.has_digits,
            State::Exponent | State::End => true,
            State::Infinity(letters) => letters == 3 || usize::from(letters) == INFINITY.len(),
            State::Nan(letters) => usize::from(letters) == NAN.len(),
            _ => false,
        };
        if is_number {
            self.valid = self.length;
        }
        true
    }

    fn next(&mut self, byte: u8, takes_prefix: bool) -> Option<State> {
        let lower = byte.to_ascii_lowercase();
        let word = |word: &[u8], letters: u8| word.get(usize::from(letters)) == Some(&lower);
        Some(match self.state {
            State::Start if byte == b'+' || byte == b'-' => {
                self.negative = byte == b'-';
                State::Signed
            }
            State::Start | State::Signed => match lower {
                b'i' => State::Infinity(1),
                b'n' => State::Nan(1),
                b'0' if takes_prefix => {
                    self.has_digits = true;
                    State::Zero
                }
                _ => return self.digit_or_point(byte),
            },
            State::Zero if lower == b'x' && takes_prefix => {
                self.is_hexadecimal = true;
                self.has_digits = false;
                State::Whole
            }
            State::Zero | State::Whole | State::Fraction => return self.digit_or_point(byte),
            State::Mark if byte == b'+' || byte == b'-' => {
                self.exponent_negative = byte == b'-';
                State::ExponentSign
            }
            State::Mark | State::ExponentSign | State::Exponent => {
                let digit = (byte as char).to_digit(10)?;
                self.exponent = (self.exponent * 10 + i64::from(digit)).min(MOST_EXPONENT);
                State::Exponent
            }
            State::Infinity(letters) if word(INFINITY, letters) => State::Infinity(letters + 1),
            State::Nan(letters) if word(NAN, letters) => State::Nan(letters + 1),
            State::Nan(letters)
                if usize::from(letters) == NAN.len() && byte == b'(' && self.takes_payload =>
            {
                State::Payload
            }
            State::Payload if byte == b')' => State::End,
            State::Payload if byte == b'_' || byte.is_ascii_alphanumeric() => {
                self.payload.push(lower);
                State::Payload
            }
            State::Infinity(_) | State::Nan(_) | State::Payload | State::End => return None,
        })
    }

    fn digit_or_point(&mut self, byte: u8) -> Option<State> {
        let is_fraction = self.state == State::Fraction;
        match byte {
            b'.' if !is_fraction => return Some(State::Fraction),
            b'e' | b'E' if !self.is_hexadecimal && self.has_digits => return Some(State::Mark),
            b'p' | b'P' if self.is_hexadecimal && self.has_digits => return Some(State::Mark),
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
            State::Fraction
        } else {
            State::Whole
        })
    }

    /// Returns the number, for input with at least one valid byte.
    pub fn finish(self, rounding: Rounding) -> Packed {
        let exact = |bits| Packed {
            bits,
            range_error: false,
        };
        let exponent = if self.exponent_negative {
            -self.exponent
        } else {
            self.exponent
        };
        match self.state {
            State::Infinity(_) => exact(self.format.infinity(self.negative)),
            State::Nan(_) | State::Payload => exact(self.format.nan(self.negative, 0)),
            State::End => exact(self.format.nan(self.negative, self.payload.value())),
            _ if self.is_hexadecimal => self.format.pack_binary(
                self.negative,
                self.significand,
                self.scale * 4 + exponent,
                rounding,
            ),
            _ => self
                .digits
                .finish(self.negative, self.scale + exponent, rounding),
        }
    }
}

impl Payload {
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

    fn value(&self) -> Bits {
        if self.is_number { self.value.into() } else { 0 }
    }
}
