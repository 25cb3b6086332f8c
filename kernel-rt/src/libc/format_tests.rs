//! The formatter, compared with this machine's `snprintf`.

use core::ffi::{c_char, c_int};
use std::ffi::CString;
use std::prelude::v1::*;

use oorandom::Rand64;

use super::*;

unsafe extern "C" {
    fn snprintf(text: *mut c_char, room: usize, format: *const c_char, ...) -> c_int;
}

struct TestArguments<'a> {
    values: &'a [u128],
    next: usize,
}

impl ArgumentValues for TestArguments<'_> {
    unsafe fn next(&mut self, _: ArgumentKind) -> u128 {
        self.next += 1;
        self.values[self.next - 1]
    }
    fn rewind(&mut self) {
        self.next = 0;
    }
}

#[derive(Default)]
struct TestText(Vec<u8>);

impl TextSink for TestText {
    fn put(&mut self, unit: u32) -> Result<(), FormatError> {
        self.0.push(unit as u8);
        Ok(())
    }
}

fn ours(units: &str, values: &[u128]) -> Result<String, FormatError> {
    let mut text = TestText::default();
    let mut list = TestArguments { values, next: 0 };
    // SAFETY: the tests' arguments are those of their formats.
    let length = unsafe { format(&mut text, &units.as_bytes(), &mut list, RoundingMode::Nearest)? };
    assert_eq!(length as usize, text.0.len());
    Ok(String::from_utf8_lossy(&text.0).into_owned())
}

enum TestArgument {
    Integer(u64),
    Double(f64),
}

/// Returns the host's text, with up to two counts before the argument.
fn theirs(format: &str, counts: &[i32], argument: &TestArgument) -> String {
    let mut text = vec![0u8; 4000];
    let format = CString::new(format).unwrap();
    let (to, room, format) = (text.as_mut_ptr().cast(), text.len(), format.as_ptr());
    // SAFETY: the buffer has this capacity, and the arguments are the format's.
    let length = unsafe {
        match (counts, argument) {
            ([], TestArgument::Integer(v)) => snprintf(to, room, format, *v),
            ([a], TestArgument::Integer(v)) => snprintf(to, room, format, *a, *v),
            ([a, b], TestArgument::Integer(v)) => snprintf(to, room, format, *a, *b, *v),
            ([], TestArgument::Double(v)) => snprintf(to, room, format, *v),
            ([a], TestArgument::Double(v)) => snprintf(to, room, format, *a, *v),
            ([a, b, ..], TestArgument::Double(v)) => snprintf(to, room, format, *a, *b, *v),
            _ => unreachable!(),
        }
    };
    text.truncate(usize::try_from(length).expect("a text"));
    String::from_utf8(text).unwrap()
}

fn below(random: &mut Rand64, limit: u64) -> u64 {
    random.rand_range(0..limit)
}

/// Returns a double of any kind: random bits, short decimals, ties of decimal positions, powers, special values.
fn double(random: &mut Rand64) -> f64 {
    let bits = random.rand_u64();
    let sign = if bits & 1 != 0 { -1.0 } else { 1.0 };
    sign * match below(random, 8) {
        0 | 1 => f64::from_bits(bits),
        2 => below(random, 100_000) as f64 / 1000.0,
        3 => below(random, 1 << 24) as f64 / f64::from(1 << below(random, 20)),
        4 => below(random, 1 << 40) as f64 * 0.5,
        5 => f64::from_bits(bits >> below(random, 64)),
        6 => 10f64.powi(below(random, 640) as i32 - 325),
        _ => [0.0, 1.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 9.5, 0.5][below(random, 8) as usize],
    }
}

/// Compares this many random conversions.
fn compare(seed: u128, number: u64) {
    let mut random = Rand64::new(seed);
    for _ in 0..number {
        let mut text = String::from("<%");
        let mut counts = Vec::new();
        for flag in ["-", "+", " ", "#", "0", "'"] {
            if below(&mut random, 5) == 0 {
                text += flag;
            }
        }
        let letters = b"diouxXbBcpaAeEfFgGfeg%";
        let letter = letters[below(&mut random, letters.len() as u64) as usize];
        for (begin, most) in [("", 40), (".", 30)] {
            let most = if below(&mut random, 50) == 0 { 1200 } else { most };
            let value = below(&mut random, most) as i32;
            match below(&mut random, 5) {
                0 | 1 => text += &format!("{begin}{value}"),
                2 if letter != b'%' => {
                    text += begin;
                    text += "*";
                    counts.push(if value % 5 == 0 { -value } else { value });
                }
                3 => text += begin,
                _ => {}
            }
        }
        let is_float = b"aAeEfFgG".contains(&letter);
        if b"diouxXbB".contains(&letter) {
            text += ["", "hh", "h", "l", "ll", "j", "z", "t", "q", "L"][below(&mut random, 10) as usize];
        }
        text.push(letter as char);
        text += "|%%";
        let bits = random.rand_u64();
        let bits = bits >> below(&mut random, 64);
        let argument = if is_float {
            TestArgument::Double(double(&mut random))
        } else if letter == b'c' {
            TestArgument::Integer(bits % 128)
        } else {
            TestArgument::Integer(bits)
        };
        let mut values: Vec<u128> = counts.iter().map(|count| *count as u32 as u128).collect();
        values.push(match argument {
            TestArgument::Double(value) => value.to_bits().into(),
            TestArgument::Integer(value) => value.into(),
        });
        let wanted = theirs(&text, &counts, &argument);
        assert_eq!(ours(&text, &values), Ok(wanted), "{text} {values:x?}");
    }
}

#[test]
fn conversions_are_those_of_the_hosts_library() {
    compare(1, 40_000);
}

#[test]
#[ignore = "takes minutes: ten million conversions"]
fn ten_million_conversions_are_those_of_the_hosts_library() {
    for seed in 0..10 {
        compare(1000 + seed, 1_000_000);
    }
}
