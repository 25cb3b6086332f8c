//! Sizes in bytes with a unit: `4096`, `4K`, `64K`, `16M`, `1G` (powers of 1024).

const UNITS: [(char, u64); 3] = [('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

/// Parses a [size](midplane_abi::size).
pub fn parse(text: &str) -> Result<u64, String> {
    midplane_abi::size::parse(text)
        .ok_or_else(|| format!("`{text}` is not a size; specify bytes or K, M, G, for example 64K"))
}

/// Formats a size exactly; [`parse`] returns the same number of bytes.
pub fn exact(bytes: u64) -> String {
    UNITS
        .iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(
            || bytes.to_string(),
            |(letter, unit)| format!("{}{letter}", bytes / unit),
        )
}

/// Formats a size for display: one decimal and a unit.
pub fn approximate(bytes: u64) -> String {
    UNITS.iter().find(|(_, unit)| bytes >= *unit).map_or_else(
        || format!("{bytes} bytes"),
        |(letter, unit)| format!("{:.1} {letter}iB", bytes as f64 / *unit as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4K", 4096),
            ("64k", 65536),
            ("16M", 16 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
            assert_eq!(parse(&exact(bytes)), Ok(bytes), "{text}");
        }
        assert_eq!(exact(65536), "64K");
        assert_eq!(exact(4097), "4097");
        assert_eq!(approximate(9 << 19), "4.5 MiB");
        assert_eq!(approximate(100), "100 bytes");
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "4X", "-1", "4 K", "1.5M", "iB", "4iB", "99999999999G"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
