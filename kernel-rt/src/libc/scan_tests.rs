//! The reader, compared with this machine's `sscanf` and `strtod`.

use core::ffi::{c_char, c_int};
use std::ffi::CString;
use std::prelude::v1::*;

use oorandom::Rand64;

use super::super::decimal::{DOUBLE, SINGLE};
use super::super::float_text::FloatReader;
use super::*;

unsafe extern "C" {
    // C17's version: it does not interpret the `a` of `%as` as a modifier.
    fn __isoc99_sscanf(text: *const c_char, format: *const c_char, ...) -> c_int;
    fn strtod(text: *const c_char, end: *mut *mut c_char) -> f64;
    fn strtof(text: *const c_char, end: *mut *mut c_char) -> f32;
    fn __errno_location() -> *mut c_int;
    fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn free(block: *mut c_void);
}

struct TestSource<'a> {
    text: &'a [u8],
    at: usize,
}

impl TextSource for TestSource<'_> {
    fn get(&mut self) -> Option<u32> {
        let byte = self.text.get(self.at)?;
        self.at += 1;
        Some(u32::from(*byte))
    }
    fn unget(&mut self, _: u32) {
        self.at -= 1;
    }
}

struct TestArguments<'a> {
    values: &'a [usize],
    next: usize,
}

impl ArgumentValues for TestArguments<'_> {
    unsafe fn next(&mut self, _: ArgumentKind) -> u128 {
        self.next += 1;
        self.values[self.next - 1] as u128
    }
    fn rewind(&mut self) {
        self.next = 0;
    }
}

fn errno(set: c_int) -> c_int {
    // SAFETY: a word of this thread.
    unsafe { __errno_location().replace(set) }
}

fn below(random: &mut Rand64, limit: u64) -> u64 {
    random.rand_range(0..limit)
}

/// Returns digits, short and long, some of them of a number half way between two doubles.
fn digits(random: &mut Rand64, most: u64) -> String {
    let length = match below(random, 40) {
        0 => below(random, 900),
        _ => below(random, most),
    };
    (0..length).map(|_| (b'0' + below(random, 10) as u8) as char).collect()
}

/// Returns the text of a number, often with an error in it.
fn text(random: &mut Rand64) -> String {
    let mut text = String::from(["", "-", "+", " ", "\t\n "][below(random, 5) as usize]);
    let exponent = [18, 60, 400][below(random, 3) as usize];
    let exponent = below(random, 2 * exponent + 1) as i64 - exponent as i64;
    match below(random, 12) {
        0..4 => text += &format!("{}.{}e{exponent}", digits(random, 22), digits(random, 22)),
        4 => text += &format!("{}.{}", digits(random, 12), digits(random, 12)),
        5 => text += &digits(random, 20),
        6 | 7 => {
            // A double, and half way to the next, optionally followed by another digit.
            let value = f64::from_bits(random.rand_u64() & (u64::MAX >> 1));
            let value = if below(random, 3) == 0 {
                f64::from_bits(random.rand_u64() >> (12 + below(random, 40)))
            } else {
                value
            };
            if value.is_finite() {
                text += &half_way(value);
                text += ["", "0", "1", "00000000001"][below(random, 4) as usize];
            }
        }
        8 | 9 => {
            let (a, b) = (
                random.rand_u64() >> below(random, 64),
                random.rand_u64() >> below(random, 64),
            );
            text += &format!("0x{a:x}.{b:X}p{exponent}");
        }
        10 => {
            text += [
                "inf",
                "INFINITY",
                "nan",
                "nan(",
                "nan(123)",
                "NaN(0x1f)",
                "nan(abc_1)",
                "infinit",
                "nan()",
                "nan(-)",
            ][below(random, 10) as usize]
        }
        _ => text += &format!("{}e{}", digits(random, 5), digits(random, 3)),
    }
    if below(random, 6) == 0 && !text.is_empty() {
        let at = below(random, text.len() as u64) as usize;
        text.replace_range(
            at..=at,
            ["x", ".", "e", "+", " ", "0x", "p", "", "z"][below(random, 9) as usize],
        );
    }
    text
}

/// Returns the number in the middle between a double and the next larger one, exactly.
fn half_way(value: f64) -> String {
    let bits = u128::from(value.to_bits());
    let mut number = DOUBLE.unpack(bits);
    number.significand = number.significand * 2 + 1;
    number.exponent -= 1;
    let mut limbs = [0; 400];
    let decimal = super::super::decimal::Decimal::expand(number, 1100, &mut limbs);
    let mut text = String::new();
    for place in (-1080..=decimal.leading_place().max(0)).rev() {
        if place == -1 {
            text.push('.');
        }
        text.push((b'0' + decimal.digit(place)) as char);
    }
    text
}

/// Returns the length of the number in bytes, and the number.
fn ours(text: &str, format: FloatFormat) -> (usize, u128, bool) {
    let text = text.as_bytes();
    let spaces = text.iter().take_while(|byte| is_space(u32::from(**byte))).count();
    let mut limbs = [0; DOUBLE.limbs()];
    let mut reader = FloatReader::new(format, true, &mut limbs);
    for byte in &text[spaces..] {
        if !reader.push(*byte, true) {
            break;
        }
    }
    match reader.valid() {
        0 => (0, 0, false),
        valid => {
            let number = reader.finish(RoundingMode::Nearest);
            (spaces + valid, number.bits, number.range_error)
        }
    }
}

fn compare_strtod(seed: u128, number: u64) {
    const ERANGE: c_int = 34;
    let mut random = Rand64::new(seed);
    // glibc 2.36 loses a bit of hexadecimal numbers that are rounded to subnormal ones.
    let is_left_out = |text: &str, subnormal: bool| subnormal && text.contains(['x', 'X']);
    for _ in 0..number {
        let text = text(&mut random);
        let c = CString::new(text.as_str()).unwrap();
        let mut end = ptr::null_mut();
        errno(0);
        // SAFETY: a string, and a variable for the pointer.
        let value = unsafe { strtod(c.as_ptr(), &raw mut end) };
        let wanted = (
            end.addr() - c.as_ptr().addr(),
            value.to_bits().into(),
            errno(0) == ERANGE,
        );
        if !is_left_out(&text, value.is_subnormal()) {
            assert_eq!(ours(&text, DOUBLE), wanted, "{text}");
        }
        // SAFETY: as above.
        let value = unsafe { strtof(c.as_ptr(), &raw mut end) };
        let wanted = (
            end.addr() - c.as_ptr().addr(),
            value.to_bits().into(),
            errno(0) == ERANGE,
        );
        if !is_left_out(&text, value.is_subnormal()) {
            assert_eq!(ours(&text, SINGLE), wanted, "{text}");
        }
    }
}

fn format_of(random: &mut Rand64) -> String {
    let mut format = String::from("%");
    if below(random, 8) == 0 {
        format += "*";
    }
    if below(random, 3) == 0 {
        format += &below(random, 12).to_string();
    }
    format += [
        "hhd",
        "hd",
        "d",
        "ld",
        "lld",
        "jd",
        "zd",
        "i",
        "li",
        "Li",
        "u",
        "lu",
        "o",
        "x",
        "lX",
        "p",
        "f",
        "lf",
        "le",
        "g",
        "la",
        "s",
        "c",
        "[0-9]",
        "[^.]",
        "[]x-]",
        "[a-f0-3-]",
        "[^]0]",
        "n",
        "%",
        "ls",
        "lc",
        "y",
        "[5",
    ][below(random, 34) as usize];
    format += ["", " ", "x", ".", "%n"][below(random, 5) as usize];
    format
}

fn compare_scanf(seed: u128, number: u64) {
    const ROOM: usize = 8192;
    let mut random = Rand64::new(seed);
    for _ in 0..number {
        let mut input = text(&mut random);
        if below(&mut random, 4) == 0 {
            input += &text(&mut random);
        }
        if below(&mut random, 20) == 0 {
            input = ["(nil)", "(nix", "", " ", "0x", "%", "x5", "09", "-"][below(&mut random, 9) as usize].into();
        }
        let format = format_of(&mut random) + &format_of(&mut random);
        let c = CString::new(input.as_str()).unwrap();
        let c_format = CString::new(format.as_str()).unwrap();
        let mut wanted = vec![0x55u8; 4 * ROOM];
        let mut got = wanted.clone();
        let at = |block: &mut [u8], place: usize| block[place * ROOM..].as_mut_ptr();
        let w: Vec<*mut u8> = (0..4).map(|place| at(&mut wanted, place)).collect();
        // SAFETY: strings, and buffers for the longest of them as wide characters.
        let result = unsafe { __isoc99_sscanf(c.as_ptr(), c_format.as_ptr(), w[0], w[1], w[2], w[3]) };
        let values: Vec<usize> = (0..4).map(|place| at(&mut got, place).expose_provenance()).collect();
        let mut source = TestSource {
            text: input.as_bytes(),
            at: 0,
        };
        let mut list = TestArguments {
            values: &values,
            next: 0,
        };
        let heap = HeapFunctions { realloc, free };
        // SAFETY: as above.
        let outcome = unsafe { scan(&mut source, &format.as_bytes(), &mut list, heap, RoundingMode::Nearest) };
        assert_eq!(outcome.assigned, result, "{format:?} of {input:?}");
        // glibc 2.36 loses a bit of hexadecimal numbers that are rounded to subnormal ones.
        if !input.contains("p-") && !input.contains("P-") {
            let differs = wanted.iter().zip(&got).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{format:?} of {input:?}");
        }
    }
}

/// Numbers of 128 bits, for which Rust has no type: a C program calls this machine's library.
#[cfg(target_os = "linux")]
mod quad {
    use std::fs;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::super::super::decimal::QUAD;
    use super::super::super::format::{FormatError, TextSink, format};
    use super::*;

    /// Replies to each line: with the text of a number in a format, or the number of a text.
    const PROGRAM: &str = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static char line[16000], text[16000], format[64];
        int main(void) {
            union { _Float128 value; unsigned long half[2]; } u;
            while (fgets(line, sizeof line, stdin)) {
                if (sscanf(line, "f %63s %lx %lx", format, &u.half[1], &u.half[0]) == 3) {
                    strfromf128(text, sizeof text, format, u.value);
                    puts(text);
                } else {
                    errno = 0;
                    u.value = strtof128(line + 2, NULL);
                    printf("%lx %lx %d\n", u.half[1], u.half[0], errno == ERANGE);
                }
            }
            return 0;
        }
    "#;

    struct SingleArgument(u128);

    impl ArgumentValues for SingleArgument {
        unsafe fn next(&mut self, kind: ArgumentKind) -> u128 {
            assert_eq!(kind, ArgumentKind::LongDouble);
            self.0
        }
        fn rewind(&mut self) {}
    }

    struct TestText(Vec<u8>);

    impl TextSink for TestText {
        fn put(&mut self, unit: u32) -> Result<(), FormatError> {
            self.0.push(unit as u8);
            Ok(())
        }
    }

    fn printed(precision: u64, letter: char, bits: u128) -> String {
        let units = format!("%.{precision}L{letter}");
        let mut text = TestText(Vec::new());
        let mut one = SingleArgument(bits);
        // SAFETY: one argument, as the format requires.
        unsafe { format(&mut text, &units.as_bytes(), &mut one, RoundingMode::Nearest) }.unwrap();
        String::from_utf8(text.0).unwrap()
    }

    fn read(text: &str) -> Option<String> {
        let mut limbs = vec![0; QUAD.limbs()];
        let mut reader = FloatReader::new(QUAD, true, &mut limbs);
        let _ = text.bytes().take_while(|byte| reader.push(*byte, true)).count();
        let number = (reader.valid() > 0).then(|| reader.finish(RoundingMode::Nearest))?;
        // The library loses a bit of hexadecimal numbers that are rounded to subnormal ones.
        if text.contains(['x', 'X']) && number.bits >> 112 & 0x7fff == 0 {
            return None;
        }
        let (high, low) = ((number.bits >> 64) as u64, number.bits as u64);
        Some(format!("{high:x} {low:x} {}", u8::from(number.range_error)))
    }

    fn compare(seed: u128, number: u64) {
        let dir = std::env::temp_dir().join(format!("midplane-quad-{}-{seed}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (source, program) = (dir.join("quad.c"), dir.join("quad"));
        fs::write(&source, PROGRAM).unwrap();
        let compiled = Command::new("cc").arg("-o").args([&program, &source]).status();
        assert!(compiled.unwrap().success());
        let mut random = Rand64::new(seed);
        let (mut questions, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..number {
            let bits = u128::from(random.rand_u64()) << 64 | u128::from(random.rand_u64());
            let mask = (1 << 112) - 1;
            let exponent = (16383 - 60 + u128::from(below(&mut random, 120))) << 112;
            let bits = match below(&mut random, 4) {
                0 => bits,
                1 => bits >> below(&mut random, 128),
                2 => mask & bits << (11 + below(&mut random, 100)) | exponent,
                _ => bits & mask | exponent,
            };
            let precision = match below(&mut random, 30) {
                0 => below(&mut random, 5000),
                _ => below(&mut random, 45),
            };
            let letter = b"aAeEfFgG"[below(&mut random, 8) as usize] as char;
            let (high, low) = ((bits >> 64) as u64, bits as u64);
            let text = printed(precision, letter, bits);
            questions.push(format!("f %.{precision}{letter} {high:x} {low:x}"));
            answers.push(text.clone());
            let exponent = below(&mut random, 10_400) as i64 - 5200;
            for text in [text, format!("{}e{exponent}", digits(&mut random, 60))] {
                if let Some(answer) = read(&text) {
                    questions.push(format!("r {text}"));
                    answers.push(answer);
                }
            }
        }
        let mut child = Command::new(&program);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let text = questions.join("\n") + "\n";
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.lines().count(), answers.len());
        for ((question, theirs), ours) in questions.iter().zip(output.lines()).zip(&answers) {
            assert_eq!(ours, theirs, "{question}");
        }
    }

    #[test]
    fn numbers_of_128_bits_are_those_of_the_hosts_library() {
        compare(1, 700);
    }

    #[test]
    #[ignore = "takes minutes: a million numbers of up to 5000 digits"]
    fn a_million_numbers_of_128_bits_are_those_of_the_hosts_library() {
        for seed in 0..100 {
            compare(1000 + seed, 10_000);
        }
    }
}

#[test]
fn numbers_are_read_as_by_the_hosts_library() {
    compare_strtod(1, 20_000);
}

#[test]
fn formats_are_followed_as_by_the_hosts_library() {
    compare_scanf(1, 5_000);
}

#[test]
#[ignore = "takes minutes: ten million numbers and formats"]
fn ten_million_numbers_are_read_as_by_the_hosts_library() {
    for seed in 0..10 {
        compare_strtod(1000 + seed, 500_000);
        compare_scanf(2000 + seed, 500_000);
    }
}

#[test]
fn strings_are_made_in_blocks_of_their_size() {
    let mut block: *mut c_void = ptr::null_mut();
    let heap = HeapFunctions { realloc, free };
    let read = |input: &str, format: &str, block: &mut *mut c_void| {
        let values = [ptr::from_mut(block).expose_provenance()];
        let mut source = TestSource {
            text: input.as_bytes(),
            at: 0,
        };
        let mut list = TestArguments {
            values: &values,
            next: 0,
        };
        // SAFETY: a pointer, as the format requires.
        unsafe { scan(&mut source, &format.as_bytes(), &mut list, heap, RoundingMode::Nearest) }.assigned
    };
    let long = "x".repeat(1000);
    assert_eq!(read(&long, "%ms", &mut block), 1);
    // SAFETY: the allocated string, which is freed.
    unsafe {
        assert_eq!(std::ffi::CStr::from_ptr(block.cast()).to_bytes(), long.as_bytes());
        free(block);
    }
    assert_eq!(read("", "%ms", &mut block), -1);
    assert!(block.is_null());
    assert_eq!(read("x", "%m[0-9]", &mut block), 0);
    assert!(block.is_null());
}
