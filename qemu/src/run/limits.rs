//! Limits of the options of `run` and related commands.

use crate::host::size;
use crate::run::topology;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use midplane_device::{MAX_EAGER_LIMIT, MAX_MPI_MEMORY, MIN_MPI_MEMORY};
use midplane_engines::EngineChoice;

/// Parses an amount of MPI memory within the nodes' limits.
pub fn parse_mpi_memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    let (least, greatest) = (MIN_MPI_MEMORY as u64, MAX_MPI_MEMORY as u64);
    if bytes < least {
        return Err(format!("too small; the minimum is {least} bytes"));
    }
    if bytes > greatest {
        return Err(format!("too large; the maximum is {}", size::exact(greatest)));
    }
    Ok(bytes)
}

/// Parses the maximum size of an eager message in bytes.
pub fn parse_eager(text: &str) -> Result<u64, String> {
    let greatest = MAX_EAGER_LIMIT as u64;
    size::parse(text).and_then(|bytes| {
        if bytes > greatest {
            Err(format!("too large; the maximum is {}", size::exact(greatest)))
        } else {
            Ok(bytes)
        }
    })
}

/// Maximum number of host processors that a cluster uses.
const MAX_PROCESSORS: u64 = 64;

/// Creates a parser for a number of host processors.
pub fn processors() -> impl TypedValueParser<Value = usize> {
    let count = clap::value_parser!(u64).range(1..=MAX_PROCESSORS);
    count.map(|count| count as usize)
}

/// Creates a parser for a matching engine's name.
pub fn matching() -> impl TypedValueParser<Value = EngineChoice> {
    let names = EngineChoice::ALL.iter().map(|choice| choice.name());
    // The parser accepts known names only.
    PossibleValuesParser::new(names).map(|name| EngineChoice::from_name(&name).unwrap_or_default())
}

/// Parses a number of nodes that can form a machine.
pub fn parse_nodes(text: &str) -> Result<u64, String> {
    let extents = topology::parse_nodes(text)?;
    Ok(extents.into_iter().map(u64::from).product())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_least_and_a_greatest_size() {
        for (text, word) in [
            ("0", "the minimum is 32"),
            ("31", "the minimum is 32"),
            ("1G", "the maximum is"),
        ] {
            let error = parse_mpi_memory(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(parse_mpi_memory("32"), Ok(32));
        assert_eq!(parse_mpi_memory("16M"), Ok(16 << 20));
    }

    #[test]
    fn nodes_are_those_of_a_machine() {
        assert_eq!(parse_nodes("65536"), Ok(65536));
        for text in ["0", "257", "x"] {
            assert!(parse_nodes(text).is_err(), "{text}");
        }
    }
}
