//! Constants of `mpi.h`, with their values in Fortran.

use alloc::vec::Vec;

use crate::header::HAND_WRITTEN;

/// A constant of the Fortran interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// Name.
    pub name: &'static str,
    /// Value, of a handle its integer.
    pub value: i64,
    /// Type of the handle, if it is one.
    pub handle: Option<&'static str>,
}

/// Prefixes of names that C has only.
const C_ONLY: [&str; 4] = ["MPI_T_", "MPI_F_", "MPI_F08_", "MPI_CONVERSION_FN_NULL"];

/// Constants that Fortran has only. `MPI_SOURCE` and the others are indexes of a status.
const FORTRAN_ONLY: [(&str, i64); 8] = [
    ("MPI_STATUS_SIZE", super::STATUS_SIZE as i64),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
    ("MPI_INTEGER_KIND", 4),
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_OFFSET_KIND", 8),
];

/// Returns the constants in the order of `mpi.h`, then those that Fortran has only. Lengths of strings do not include
/// C's terminating zero.
#[must_use]
pub fn constants() -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    for line in HAND_WRITTEN.lines() {
        let mut words = line.split_whitespace();
        let (Some("#define"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if !name.starts_with("MPI_") || C_ONLY.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        // A handle is `MIDPLANE_HANDLE(type, value)`.
        let handle = value
            .strip_prefix("MIDPLANE_HANDLE(")
            .map(|handle| handle.trim_end_matches(','));
        let value = if handle.is_some() {
            words.next().unwrap_or_default()
        } else {
            value
        };
        let known = found.iter().find(|constant| constant.name == value);
        let handle = handle.or(known.and_then(|constant| constant.handle));
        let Some(value) = known.map(|constant| constant.value).or_else(|| parse(value)) else {
            continue;
        };
        let value = if name.starts_with("MPI_MAX_") { value - 1 } else { value };
        found.push(Constant { name, value, handle });
    }
    let own = FORTRAN_ONLY.map(|(name, value)| Constant {
        name,
        value,
        handle: None,
    });
    found.extend(own);
    found
}

/// Parses a number of C, in parentheses or not, or as an MPI_Offset.
fn parse(text: &str) -> Option<i64> {
    let text = text.strip_prefix("MIDPLANE_OFFSET").unwrap_or(text);
    let text = text.trim_matches(['(', ')']);
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
