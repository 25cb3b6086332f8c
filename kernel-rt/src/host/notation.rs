//! How numbers, places and directions are written in boot arguments.
#![forbid(unsafe_code)]

use core::str::FromStr;

use net_torus::coord::{Coord, Direction};

/// The direction with this name: x+, x- and so on.
pub fn direction(name: &str) -> Option<Direction> {
    let named = |d: &Direction| d.name().eq_ignore_ascii_case(name);
    Direction::ALL.into_iter().find(named)
}

/// A place, written as x,y,z; `None` for anything else.
pub fn parse_coord(text: &str) -> Option<Coord> {
    let [x, y, z] = three(text, ',')?;
    Some(Coord { x, y, z })
}

/// A decimal number without sign, which the library's parsers would let pass.
pub(super) fn number<N: FromStr>(text: &str) -> Option<N> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Three of them with this between them.
pub(super) fn three<N: FromStr>(text: &str, separator: char) -> Option<[N; 3]> {
    let mut parts = text.split(separator).map(number);
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}
