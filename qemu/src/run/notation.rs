//! Command-line syntax of coordinates and directions.

use midplane_abi::boot_parameters::SerialConsole;
use net_torus::coord::{Coord, Direction};

/// Returns the direction with this name: x+, x- and so on.
pub fn direction(name: &str) -> Option<Direction> {
    let named = |d: &Direction| d.name().eq_ignore_ascii_case(name);
    Direction::ALL.into_iter().find(named)
}

/// Parses coordinates as x,y,z; `None` for any other text.
pub fn parse_coord(text: &str) -> Option<Coord> {
    let mut numbers = text.split(',').map(|number| {
        // No sign is accepted.
        let is_decimal = number.bytes().all(|byte| byte.is_ascii_digit());
        is_decimal.then(|| number.parse().ok()).flatten()
    });
    let mut next = || numbers.next().flatten();
    let [x, y, z] = [next()?, next()?, next()?];
    numbers.next().is_none().then_some(Coord { x, y, z })
}

/// Parses the link of a node in a direction, as x,y,z:DIRECTION.
pub fn parse_link(text: &str) -> Option<(Coord, Direction)> {
    let (at, name) = text.split_once(':')?;
    Some((parse_coord(at)?, direction(name)?))
}

/// Parses a console as x,y,z:DIRECTION.
pub fn parse_console_at(text: &str) -> Option<SerialConsole> {
    let (at, direction) = parse_link(text)?;
    Some(SerialConsole { at, direction })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_consoles_are_read() {
        let at = Coord { x: 1, y: 0, z: 255 };
        assert_eq!(parse_coord("1,0,255"), Some(at));
        for text in ["", "1,2", "1,2,3,4", "1,2,256", "+1,2,3", "1,,3", "1, 2,3"] {
            assert_eq!(parse_coord(text), None, "{text}");
        }
        let direction = Direction::ZPlus;
        for text in ["1,0,255:z+", "1,0,255:Z+"] {
            assert_eq!(parse_console_at(text), Some(SerialConsole { at, direction }));
        }
        for text in ["z+", "0,0,0:", "0,0,0:up", "0,0:z+"] {
            assert_eq!(parse_console_at(text), None, "{text}");
        }
    }
}
