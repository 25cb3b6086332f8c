//! `long double` in printf's family.
//!
//! Debian's picolibc is built without it: `%Lf` takes the wrong argument and prints a wrong number. So the
//! image is linked with `--wrap=vfprintf`, which all of the family ends in, and a format with such a
//! conversion is printed here piece by piece, the value rounded to a double (which gives 15 right digits). On
//! processors whose `long double` is a double nothing of this is needed.

/// A conversion specification (C17 section 7.21.6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// Its bytes, from the percent sign on.
    pub len: usize,
    /// Asterisks, each of which takes an int.
    pub stars: usize,
    /// The letter that ends it; 0 when the format ends before.
    pub letter: u8,
    /// It has the modifier `L`.
    pub long: bool,
}

impl Spec {
    /// The specification at the beginning of `format`, which is a percent sign.
    pub fn at(format: &[u8]) -> Spec {
        let mut spec = Spec {
            len: 1,
            stars: 0,
            letter: 0,
            long: false,
        };
        for &byte in format.iter().skip(1) {
            spec.len += 1;
            match byte {
                b'*' => spec.stars += 1,
                b'L' => spec.long = true,
                b'-' | b'+' | b' ' | b'#' | b'0'..=b'9' | b'.' | b'\'' => {}
                b'h' | b'l' | b'j' | b'z' | b't' | b'q' => {}
                letter => {
                    spec.letter = letter;
                    break;
                }
            }
        }
        spec
    }

    /// It takes a `long double`.
    pub fn is_long_double(&self) -> bool {
        self.long && matches!(self.letter.to_ascii_lowercase(), b'f' | b'e' | b'g' | b'a')
    }

    /// Arguments that it takes besides its asterisks'.
    pub fn takes(&self) -> usize {
        usize::from(!matches!(self.letter, b'%' | b'm' | 0))
    }
}

/// Whether a format has a conversion of a `long double`.
pub fn has_long_double(format: &[u8]) -> bool {
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let spec = Spec::at(&rest[at..]);
        if spec.is_long_double() {
            return true;
        }
        rest = &rest[at + spec.len..];
    }
    false
}

/// The bits of the double that is nearest to a `long double` of 128 bits, whose lower half is `low`; of two as near the even
/// one. libgcc's takes three times as much of an image.
pub fn rounded(low: u64, high: u64) -> u64 {
    const INFINITE: u64 = 0x7ff << 52;
    const QUIET: u64 = 1 << 51;
    /// What is to go of a significand of 64 bits.
    const EXCESS: i64 = 11;
    let sign = high & 1 << 63;
    let exponent = (high >> 48 & 0x7fff) as i64;
    // 64 bits of the significand, of which the last says whether there are more.
    let more = u64::from(low << 15 != 0);
    let fraction = high << 16 >> 1 | low >> 49 | more;
    let place = exponent - 0x3fff + 0x3ff;
    let magnitude = match (exponent, place) {
        (0x7fff, _) if fraction != 0 => INFINITE | QUIET | fraction << 1 >> 12,
        (_, 0x7ff..) => INFINITE,
        // Below half of what is least.
        (_, ..=-53) => 0,
        _ => {
            let shift = EXCESS + (1 - place).max(0);
            let significand = 1 << 63 | fraction;
            let kept = significand.unbounded_shr(shift as u32);
            // What goes, half of the last place being its upper bit.
            let rest = significand << (64 - shift);
            let up = rest > 1 << 63 || rest == 1 << 63 && kept & 1 != 0;
            // The leading bit adds one to the exponent, where it is not too small for it.
            (u64::from(place.max(1) as u16 - 1) << 52) + kept + u64::from(up)
        }
    };
    sign | magnitude
}

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod wrap {
    use core::ffi::{CStr, c_char, c_int, c_void};

    use super::{Spec, has_long_double, rounded};
    use crate::arch::VaList;
    use crate::libc::errno::{EINVAL, fail};

    /// Longest specification that is looked at; longer ones go on as they are.
    const SPEC_BYTES: usize = 48;

    /// A text of a length. It ends with two zeros, since strings that end with one are in one section, which then comes
    /// whole: with all words of the runtime's that are ever formatted.
    static TEXT: [u8; 6] = *b"%.*s\0\0";

    unsafe extern "C" {
        fn __real_vfprintf(file: *mut c_void, format: *const c_char, arguments: VaList) -> c_int;
    }

    /// What calls of `vfprintf` come to.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_vfprintf(
        file: *mut c_void,
        format: *const c_char,
        mut arguments: VaList,
    ) -> c_int {
        if format.is_null() {
            // As other C libraries do; what is behind a null pointer is no format.
            return fail(EINVAL);
        }
        // SAFETY: C's promise about the format and the arguments that it calls for, from here on.
        let mut rest = unsafe { CStr::from_ptr(format) }.to_bytes();
        if !has_long_double(rest) {
            // SAFETY: as above.
            return unsafe { __real_vfprintf(file, format, arguments) };
        }
        let mut written: c_int = 0;
        while !rest.is_empty() {
            let text = rest
                .iter()
                .position(|byte| *byte == b'%')
                .unwrap_or(rest.len());
            let (piece, after) = match text {
                0 => rest.split_at(Spec::at(rest).len),
                _ => rest.split_at(text),
            };
            rest = after;
            // SAFETY: as above.
            let result = unsafe {
                match text {
                    0 => converted(file, piece, &mut arguments, written),
                    _ => {
                        let text = [piece.len() as u64, piece.as_ptr().addr() as u64];
                        __real_vfprintf(file, TEXT.as_ptr().cast(), VaList::of(&text))
                    }
                }
            };
            if result < 0 {
                return result;
            }
            written = written.saturating_add(result);
        }
        written
    }

    /// Prints one specification.
    ///
    /// # Safety
    /// The arguments are those that the specification calls for.
    unsafe fn converted(
        file: *mut c_void,
        piece: &[u8],
        arguments: &mut VaList,
        written: c_int,
    ) -> c_int {
        let spec = Spec::at(piece);
        let mut text = [0; SPEC_BYTES];
        let mut values = [0; 4];
        if piece.len() >= SPEC_BYTES || spec.stars > 2 {
            return -1;
        }
        let (long, mut len) = (spec.is_long_double(), 0);
        for &byte in piece.iter().filter(|byte| !(long && **byte == b'L')) {
            text[len] = byte as c_char;
            len += 1;
        }
        // SAFETY: the caller's promise.
        unsafe {
            for value in values.iter_mut().take(spec.stars) {
                *value = arguments.next();
            }
            if long {
                let [low, high] = arguments.next_long_double();
                values[spec.stars] = rounded(low, high);
            } else if spec.takes() == 1 {
                values[spec.stars] = arguments.next();
            }
            if spec.letter == b'n' {
                // It counts the whole output, of which a piece knows nothing.
                core::ptr::with_exposed_provenance_mut::<c_int>(values[spec.stars] as usize)
                    .write_unaligned(written);
                return 0;
            }
            __real_vfprintf(file, text.as_ptr(), VaList::of(&values))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_read_to_their_letter() {
        for (format, len, stars, letter, long) in [
            ("%d", 2, 0, b'd', false),
            ("%-*.*Lf|", 7, 2, b'f', true),
            ("%08.3Lgx", 7, 0, b'g', true),
            ("%llu", 4, 0, b'u', false),
            ("%%d", 2, 0, b'%', false),
            ("%", 1, 0, 0, false),
            ("%5", 2, 0, 0, false),
        ] {
            let spec = Spec {
                len,
                stars,
                letter,
                long,
            };
            assert_eq!(Spec::at(format.as_bytes()), spec, "{format}");
        }
    }

    #[test]
    fn long_doubles_are_rounded_to_the_nearest_double() {
        /// With a significand of these bits behind the leading one.
        fn long(exponent: i64, high: u64, low: u64) -> [u64; 2] {
            [low, ((exponent + 0x3fff) as u64) << 48 | high]
        }
        // Half of the last place of a double, and the least of a long double.
        const HALF: u64 = 1 << 59;
        for ([low, high], double) in [
            ([0, 0], 0.0),
            (long(0, 0, 0), 1.0),
            (long(1, 1 << 47, 0), 3.0),
            (long(-3, 0x5555_5555_5555, 0x5555_5555_5555_5555), 1.0 / 6.0),
            (long(0, 0, HALF), 1.0),
            (long(0, 0, HALF + 1), 1.0 + f64::EPSILON),
            (long(0, 0, 3 * HALF), 1.0 + 2.0 * f64::EPSILON),
            (long(0, (1 << 48) - 1, u64::MAX), 2.0),
            (long(1023, (1 << 48) - 1, !0 << 60), f64::MAX),
            (long(1023, (1 << 48) - 1, !0 << 59), f64::INFINITY),
            (long(1024, 0, 0), f64::INFINITY),
            (long(-1022, 0, 0), f64::MIN_POSITIVE),
            (long(-1023, (1 << 48) - 1, !0 << 60), f64::MIN_POSITIVE),
            (long(-1023, 1 << 47, 0), f64::from_bits(3 << 50)),
            (long(-1074, 0, 0), f64::from_bits(1)),
            (long(-1075, 0, 0), 0.0),
            (long(-1075, 0, 1), f64::from_bits(1)),
            (long(-1076, 0, 0), 0.0),
            ([1, 0], 0.0),
            ([0, 0x7fff << 48], f64::INFINITY),
        ] {
            assert_eq!(
                rounded(low, high),
                double.to_bits(),
                "{high:016x}{low:016x}"
            );
            let negative = rounded(low, high | 1 << 63);
            assert_eq!(negative, (-double).to_bits(), "-{high:016x}{low:016x}");
        }
        assert!(f64::from_bits(rounded(1, 0x7fff << 48)).is_nan());
    }

    #[test]
    fn formats_with_long_doubles_are_told_from_others() {
        assert!(has_long_double(b"a %d b %Lf"));
        assert!(has_long_double(b"%%%LG"));
        assert!(!has_long_double(b"%%Lf %f %ld %Ld %"));
        assert!(!has_long_double(b""));
    }
}
