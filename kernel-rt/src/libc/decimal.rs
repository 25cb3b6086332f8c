//! Binary floating-point numbers and their exact decimal expansions.
//!
//! A [`Decimal`] is a fixed-point number in base 10^9. In it, multiplication and division by powers of two are exact,
//! and conversion requires nothing else in either direction: `printf` expands a significand, `strtod` reduces digits to
//! one. Nothing is estimated, so every result is rounded once, from the exact value. The caller provides the memory
//! ([`FloatFormat::limbs`]); the largest finite and the smallest number of a `long double` of 128 bits fit.

use core::ops::Range;

/// Rounding mode (C17 section 7.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RoundingMode {
    /// To the nearest value; a tie to even.
    #[default]
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward infinity.
    Up,
}

impl RoundingMode {
    /// Returns whether rounding increases the magnitude. `odd`: the last kept digit is odd; `half`: the rest is at
    /// least half a unit of that digit; `more`: the rest is neither zero nor exactly half.
    pub fn is_away(self, negative: bool, odd: bool, half: bool, more: bool) -> bool {
        match self {
            RoundingMode::Nearest => half && (more || odd),
            RoundingMode::Zero => false,
            RoundingMode::Down => negative && (half || more),
            RoundingMode::Up => !negative && (half || more),
        }
    }
}

/// The bits of a number of any format that this machine supports.
#[cfg(not(target_arch = "arm"))]
pub type FloatBits = u128;
/// The bits of a number of any format that this machine supports. Wider integers would use much of a microcontroller's
/// flash.
#[cfg(target_arch = "arm")]
pub type FloatBits = u64;

/// A binary interchange format of IEEE 754.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatFormat {
    /// Bits of a significand, including the leading one, which is not stored.
    pub precision: u32,
    /// Exponent of the largest finite number's leading bit.
    pub max_exponent: i32,
    /// Significant decimal digits that can affect the rounding of a number. Further ones only matter by being non-zero.
    digits: u32,
    /// A decimal number whose first digit is at this position after the point, or later, is below half of the smallest
    /// number.
    least_place: i32,
}

/// `float`.
pub const SINGLE: FloatFormat = FloatFormat {
    precision: 24,
    max_exponent: 127,
    digits: 126,
    least_place: 48,
};
/// `double`.
pub const DOUBLE: FloatFormat = FloatFormat {
    precision: 53,
    max_exponent: 1023,
    digits: 774,
    least_place: 326,
};
/// `long double` of riscv64.
pub const QUAD: FloatFormat = FloatFormat {
    precision: 113,
    max_exponent: 16383,
    digits: 11574,
    least_place: 4968,
};

/// Class of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatClass {
    /// Zero, subnormal or normal.
    Finite,
    /// Infinity.
    Infinite,
    /// Not a number.
    Nan,
}

/// An unpacked number: `significand * 2^exponent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnpackedFloat {
    /// The sign bit.
    pub negative: bool,
    /// Its class; the other fields are valid only for a finite number.
    pub class: FloatClass,
    /// An integer.
    pub significand: FloatBits,
    /// Exponent of the significand's last bit.
    pub exponent: i32,
}

/// A number in its format, and whether it is out of range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackedFloat {
    /// The bits.
    pub bits: FloatBits,
    /// C's ERANGE: the magnitude is too large, or tiny (after rounding) and not exact.
    pub range_error: bool,
}

impl FloatFormat {
    /// Returns the limbs that a [`Decimal`] requires for any number of the format, or for any text read as one.
    pub const fn limbs(self) -> usize {
        let whole = (self.least_place as usize).div_ceil(DIGITS);
        whole + (self.digits as usize).div_ceil(DIGITS) + INTEGER_LIMBS + 2
    }

    /// Returns the bytes of a number in memory.
    pub const fn bytes(self) -> usize {
        (self.sign_bit() as usize + 1) / 8
    }

    /// Returns the exponent of the last bit of the smallest number.
    pub const fn least_exponent(self) -> i32 {
        2 - self.max_exponent - self.precision as i32
    }

    const fn exponent_mask(self) -> FloatBits {
        2 * self.max_exponent as FloatBits + 1
    }

    const fn sign_bit(self) -> u32 {
        self.precision - 1 + self.exponent_mask().count_ones()
    }

    /// Returns infinity.
    pub fn infinity(self, negative: bool) -> FloatBits {
        FloatBits::from(negative) << self.sign_bit() | self.exponent_mask() << (self.precision - 1)
    }

    /// Returns a quiet NaN with this payload.
    pub fn nan(self, negative: bool, payload: FloatBits) -> FloatBits {
        let quiet = 1 << (self.precision - 2);
        self.infinity(negative) | quiet | payload & (quiet - 1)
    }

    /// Unpacks a number.
    pub fn unpack(self, bits: FloatBits) -> UnpackedFloat {
        let stored = self.precision - 1;
        let field = (bits >> stored & self.exponent_mask()) as i32;
        let fraction = bits & ((1 << stored) - 1);
        let class = if field == self.exponent_mask() as i32 {
            if fraction == 0 {
                FloatClass::Infinite
            } else {
                FloatClass::Nan
            }
        } else {
            FloatClass::Finite
        };
        UnpackedFloat {
            negative: bits >> self.sign_bit() & 1 != 0,
            class,
            significand: fraction | FloatBits::from(field != 0) << stored,
            exponent: self.least_exponent() + (field - 1).max(0),
        }
    }

    /// Calls [`FloatFormat::pack`] for any exponent. The last bit of a significand of more than 120 bits may include
    /// lower ones.
    pub fn pack_binary(self, negative: bool, significand: u128, exponent: i64, rounding: RoundingMode) -> PackedFloat {
        let most = 4 * i64::from(self.max_exponent);
        let exponent = exponent.clamp(-most, most) as i32;
        self.pack(negative, significand, exponent, false, rounding)
    }

    /// Rounds `significand * 2^exponent`, plus a smaller fraction if `sticky`. In that case the significand must have
    /// more bits than the format.
    pub fn pack(
        self,
        negative: bool,
        significand: u128,
        exponent: i32,
        sticky: bool,
        rounding: RoundingMode,
    ) -> PackedFloat {
        let sign = FloatBits::from(negative) << self.sign_bit();
        if significand == 0 {
            return PackedFloat {
                bits: sign,
                range_error: false,
            };
        }
        let round = |shift: i32| {
            let shift = u32::try_from(shift).unwrap_or(0);
            let kept = significand.checked_shr(shift).unwrap_or(0);
            let rest = significand ^ kept.checked_shl(shift).unwrap_or(0);
            let half = shift > 0 && rest.checked_shr(shift - 1).unwrap_or(0) != 0;
            let more = sticky || shift > 0 && rest.checked_shl(129 - shift.min(129)).unwrap_or(0) != 0;
            let away = rounding.is_away(negative, kept & 1 != 0, half, more);
            (kept + u128::from(away), half || more)
        };
        let length = 128 - significand.leading_zeros() as i32;
        let unbounded = length - self.precision as i32;
        let shift = unbounded.max(self.least_exponent() - exponent);
        let (kept, inexact) = round(shift);
        let kept = kept << (-shift).max(0);
        let tiny = exponent + unbounded < self.least_exponent()
            && !(exponent + unbounded + 1 == self.least_exponent() && round(unbounded).0 >> self.precision != 0);
        // The leading bit, if present, adds one to the exponent.
        let place = i64::from(exponent) + i64::from(shift) - i64::from(self.least_exponent());
        let bits = ((place as FloatBits) << (self.precision - 1)).saturating_add(kept as FloatBits);
        let infinity = self.infinity(false);
        if place >= i64::from(self.exponent_mask() as u32) || bits >= infinity {
            let away = rounding.is_away(negative, true, true, true);
            return PackedFloat {
                bits: sign | (infinity - FloatBits::from(!away)),
                range_error: true,
            };
        }
        PackedFloat {
            bits: sign | bits,
            range_error: tiny && inexact,
        }
    }
}

const BASE: u32 = 1_000_000_000;
const DIGITS: usize = 9;
/// Bits per shift step: fewer than a limb's, so that a carry fits one limb.
const STEP: u32 = 29;
/// Limbs of the largest significand.
const INTEGER_LIMBS: usize = 5;
const POWERS: [u32; DIGITS] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// A non-negative decimal number.
#[derive(Debug)]
pub struct Decimal<'a> {
    /// The most significant first. Those outside of `used` count as zeros, regardless of their contents.
    limbs: &'a mut [u32],
    used: Range<usize>,
    /// Index of the first limb after the point.
    point: usize,
    /// Non-zero digits follow the last limb.
    sticky: bool,
}

impl<'a> Decimal<'a> {
    /// Expands `significand * 2^exponent`. Digits more than `after` positions behind the point may be dropped; `sticky`
    /// then records whether they were non-zero. The memory has the format's limbs.
    pub fn expand(number: UnpackedFloat, after: i32, limbs: &'a mut [u32]) -> Self {
        let grows = number.exponent >= 0;
        let point = if grows { limbs.len() } else { INTEGER_LIMBS };
        let most = limbs.len() as i32;
        let last = point as i32 + after.max(0) / DIGITS as i32 + 2;
        let mut decimal = Decimal {
            used: point..point,
            limbs,
            point,
            sticky: false,
        };
        // In steps, from its first bits: a division of 128 bits uses more space in an image.
        for step in (0..FloatBits::BITS.div_ceil(STEP)).rev() {
            let bits = (number.significand >> (step * STEP)) as u32 & ((1 << STEP) - 1);
            decimal.multiply(STEP, bits);
        }
        let mut left = number.exponent.unsigned_abs();
        while left > 0 {
            let bits = left.min(STEP);
            if grows {
                decimal.multiply(bits, 0)
            } else {
                decimal.divide(bits, last.min(most) as usize)
            }
            left -= bits;
        }
        decimal
    }

    /// Multiplies by `2^bits`, at most [`STEP`], and adds a smaller value to the last limb, the one of the units.
    fn multiply(&mut self, bits: u32, add: u32) {
        let mut carry = u64::from(add);
        for limb in self.limbs[self.used.clone()].iter_mut().rev() {
            let value = (u64::from(*limb) << bits) + carry;
            *limb = (value % u64::from(BASE)) as u32;
            carry = value / u64::from(BASE);
        }
        if carry != 0 {
            self.used.start -= 1;
            self.limbs[self.used.start] = carry as u32;
        }
        // Zeros after the point are frequent; those before it may still receive an addition.
        while self.used.end > self.used.start.max(self.point) && self.limbs[self.used.end - 1] == 0 {
            self.used.end -= 1;
        }
    }

    /// Divides by `2^bits`, at most [`STEP`]. Drops limbs from `last` on.
    fn divide(&mut self, bits: u32, last: usize) {
        let mask = (1u64 << bits) - 1;
        let mut rest = 0;
        for limb in &mut self.limbs[self.used.clone()] {
            let value = rest * u64::from(BASE) + u64::from(*limb);
            *limb = (value >> bits) as u32;
            rest = value & mask;
        }
        while rest != 0 {
            if self.used.end >= last {
                self.sticky = true;
                break;
            }
            let value = rest * u64::from(BASE);
            self.limbs[self.used.end] = (value >> bits) as u32;
            rest = value & mask;
            self.used.end += 1;
        }
        while !self.used.is_empty() && self.limbs[self.used.start] == 0 {
            self.used.start += 1;
        }
    }

    fn limb(&self, index: i32) -> u32 {
        match usize::try_from(index) {
            Ok(index) if self.used.contains(&index) => self.limbs[index],
            _ => 0,
        }
    }

    /// Returns the limb of a decimal position, and the power of ten of the position in it.
    fn locate(&self, place: i32) -> (i32, u32) {
        let limb = self.point as i32 - 1 - place.div_euclid(DIGITS as i32);
        (limb, POWERS[place.rem_euclid(DIGITS as i32) as usize])
    }

    /// Returns the digit of weight `10^place`.
    pub fn digit(&self, place: i32) -> u8 {
        let (limb, power) = self.locate(place);
        (self.limb(limb) / power % 10) as u8
    }

    /// Returns the position of the leading digit; 0 for zero.
    pub fn leading_place(&self) -> i32 {
        if self.used.is_empty() {
            return 0;
        }
        let digits = self.limbs[self.used.start].checked_ilog10().unwrap_or(0);
        (self.point as i32 - 1 - self.used.start as i32) * DIGITS as i32 + digits as i32
    }

    /// Returns a position below which all digits are 0.
    pub fn least_place(&self) -> i32 {
        (self.point as i32 - self.used.end as i32) * DIGITS as i32
    }

    /// Returns the position of the last non-zero digit, but at least `least`.
    pub fn last_place(&self, least: i32) -> i32 {
        let mut place = least.max(self.least_place());
        let leading = self.leading_place();
        while place < leading && self.digit(place) == 0 {
            place += 1;
        }
        place
    }

    /// Rounds to a multiple of `10^place`.
    pub fn round(&mut self, place: i32, negative: bool, rounding: RoundingMode) {
        let (index, power) = self.locate(place);
        let next = self.digit(place - 1);
        let mut lower = self.least_place()..place - 1;
        let more = self.sticky || lower.any(|place| self.digit(place) != 0);
        let odd = self.digit(place) & 1 != 0;
        let away = rounding.is_away(negative, odd, next >= 5, more || !next.is_multiple_of(5));
        // Without the digits below.
        let Ok(index) = usize::try_from(index) else {
            // Left of all memory: only with precisions that exceed every number.
            self.used.end = self.used.start;
            return;
        };
        self.sticky = false;
        if index < self.used.start {
            self.used = index..index;
        }
        if index < self.used.end {
            self.limbs[index] -= self.limbs[index] % power;
            self.used.end = index + 1;
        } else if away {
            self.limbs[self.used.end..=index].fill(0);
            self.used.end = index + 1;
        }
        if away {
            let mut index = index;
            self.limbs[index] += power;
            while self.limbs[index] == BASE {
                self.limbs[index] = 0;
                index -= 1;
                if index < self.used.start {
                    self.used.start = index;
                    self.limbs[index] = 0;
                }
                self.limbs[index] += 1;
            }
        }
        while !self.used.is_empty() && self.limbs[self.used.start] == 0 {
            self.used.start += 1;
        }
    }

    /// Returns the integer part, if it has at most 127 bits.
    fn integer_part(&self) -> Option<u128> {
        let mut whole = 0u128;
        for index in self.used.start..self.point {
            let limb = self.limb(index as i32);
            whole = whole.checked_mul(u128::from(BASE))?.checked_add(u128::from(limb))?;
        }
        (whole >> 127 == 0).then_some(whole)
    }
}

/// Digits received one by one, and their number.
#[derive(Debug)]
pub struct DigitCollector<'a> {
    format: FloatFormat,
    limbs: &'a mut [u32],
    /// Digits so far, from the first non-zero one; those that fit are in the limbs, from [`DigitCollector::first`] on.
    count: u32,
    sticky: bool,
}

impl<'a> DigitCollector<'a> {
    /// Creates an empty sequence. The memory has the format's limbs.
    pub fn new(format: FloatFormat, limbs: &'a mut [u32]) -> Self {
        DigitCollector {
            format,
            limbs,
            count: 0,
            sticky: false,
        }
    }

    /// Returns whether only zeros were received.
    pub fn is_zero(&self) -> bool {
        self.count == 0
    }

    /// Appends the next digit.
    pub fn push(&mut self, digit: u8) {
        if self.count == 0 && digit == 0 {
            return;
        }
        if self.count >= self.format.digits {
            self.sticky |= digit != 0;
            return;
        }
        let (limb, inside) = (self.count as usize / DIGITS, self.count as usize % DIGITS);
        if inside == 0 {
            self.limbs[limb] = 0;
        }
        self.limbs[limb] += u32::from(digit) * POWERS[DIGITS - 1 - inside];
        self.count += 1;
    }

    /// Returns the number `0.DIGITS * 10^exponent`.
    pub fn finish(self, negative: bool, exponent: i64, rounding: RoundingMode) -> PackedFloat {
        let format = self.format;
        let pack = |significand, exponent, sticky| format.pack(negative, significand, exponent, sticky, rounding);
        if self.count == 0 {
            return pack(0, 0, false);
        }
        // The largest finite number has fewer digits than the smallest one has positions after the point.
        if exponent > i64::from(format.least_place) {
            return pack(1, format.max_exponent + 1, false);
        }
        if exponent < -i64::from(format.least_place) {
            // Less than half of the smallest, with a bit more than the format's.
            return pack(1 << 127, 2 * format.least_exponent() - 256, true);
        }
        let exponent = exponent as i32;
        // The digits begin inside a limb.
        let into = exponent.rem_euclid(DIGITS as i32) as usize;
        let count = (self.count as usize).div_ceil(DIGITS);
        let whole = exponent.div_euclid(DIGITS as i32) + i32::from(into != 0);
        let start = INTEGER_LIMBS + whole.min(0).unsigned_abs() as usize;
        self.limbs.copy_within(0..count, start);
        let mut used = start..start + count;
        if into != 0 {
            // Shifted right by the digits that the first limb lacks.
            let (down, up) = (POWERS[DIGITS - into], POWERS[into]);
            let mut rest = 0;
            for limb in &mut self.limbs[used.clone()] {
                let value = *limb;
                *limb = rest * up + value / down;
                rest = value % down;
            }
            self.limbs[used.end] = rest * up;
            used.end += 1;
        }
        let point = (start as i32 + whole) as usize;
        let mut decimal = Decimal {
            limbs: self.limbs,
            used,
            point,
            sticky: self.sticky,
        };
        let mut binary = 0;
        let whole = loop {
            match decimal.integer_part() {
                None => {
                    // In a number of this size the fraction only matters by being non-zero.
                    let behind = decimal.point.min(decimal.used.end)..decimal.used.end;
                    decimal.sticky |= decimal.limbs[behind.clone()].iter().any(|limb| *limb != 0);
                    decimal.used.end = behind.start;
                    let end = decimal.used.end.max(decimal.point);
                    decimal.limbs[decimal.used.end..end].fill(0);
                    decimal.used.end = end;
                    decimal.divide(9, end);
                    binary += 9;
                }
                Some(whole) if whole >> (format.precision + 1) != 0 => break whole,
                Some(whole) => {
                    let bits = if whole >> 64 == 0 { STEP } else { 9 };
                    decimal.multiply(bits, 0);
                    binary -= bits as i32;
                }
            }
        };
        let behind = decimal.point.max(decimal.used.start).min(decimal.used.end)..decimal.used.end;
        let sticky = decimal.sticky || decimal.limbs[behind].iter().any(|limb| *limb != 0);
        pack(whole, binary, sticky)
    }
}
