//! How numbers, places and directions are written in boot arguments.

use net_torus::coord::{Coord, Direction};

/// The direction with this name: x+, x- and so on.
pub fn direction(name: &str) -> Option<Direction> {
    let named = |d: &Direction| d.name().eq_ignore_ascii_case(name);
    Direction::ALL.into_iter().find(named)
}

/// A place, written as x,y,z; `None` for anything else.
pub fn parse_coord(text: &[u8]) -> Option<Coord> {
    let [x, y, z] = three(text, b',')?;
    Some(Coord { x, y, z })
}

/// A decimal number without sign.
pub(super) fn number<N: TryFrom<u64>>(text: &[u8]) -> Option<N> {
    whole(text)?.try_into().ok()
}

// Once in the image, for all kinds of numbers.
#[inline(never)]
fn whole(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let digits = |number: u64, byte| number.checked_mul(10)?.checked_add(digit(byte)?);
    (!text.is_empty()).then_some(())?;
    text.iter().try_fold(0, digits)
}

/// Three of them with this between them.
pub(super) fn three<N: TryFrom<u64>>(text: &[u8], separator: u8) -> Option<[N; 3]> {
    let [x, y, z] = three_whole(text, separator)?.map(|number| number.try_into().ok());
    Some([x?, y?, z?])
}

#[inline(never)]
fn three_whole(text: &[u8], separator: u8) -> Option<[u64; 3]> {
    let (x, rest) = split_at_byte(text, separator)?;
    let (y, z) = split_at_byte(rest, separator)?;
    Some([whole(x)?, whole(y)?, whole(z)?])
}

/// What is before the first such byte, and what behind; `None`: there is none.
#[inline(never)]
pub fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|other| *other == byte)?;
    let (before, from) = text.split_at_checked(at)?;
    Some((before, from.get(1..)?))
}

/// The same; without such a byte the whole text, and nothing.
pub(super) fn until(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    split_at_byte(text, byte).unwrap_or((text, b""))
}
