//! `midplane explain`: decodes the failure record that a standalone node has printed.

use crate::host::error::CliError;
use crate::show::console::print_line;
use clap::Args;
use kernel_rt::mpi_failure::write_text;
use midplane_abi::failure::{Failure, LOGGED};

/// Options of `midplane explain`.
#[derive(Args, Debug)]
#[command(
    after_help = "A node prints its failure record to a debug probe's terminal (docs/stm32f405.md) or to a \
                        console of QEMU."
)]
pub struct ExplainArgs {
    /// Failure record as printed by the node: hexadecimal digits, with or without `failed:` in front
    #[arg(value_name = "RECORD", required = true)]
    record: Vec<String>,
}

/// Prints the decoded record; returns the exit status.
pub fn run(options: &ExplainArgs) -> Result<u8, CliError> {
    print_line(decode_record(&options.record.concat())?)?;
    Ok(0)
}

fn decode_record(record: &str) -> Result<String, CliError> {
    let digits = record.strip_prefix(LOGGED.trim_end()).unwrap_or(record);
    let digits: Vec<char> = { digits.chars() }.filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => Some((high.to_digit(16)? << 4 | low.to_digit(16)?) as u8),
        _ => None,
    };
    let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    let bytes = bytes.ok_or_else(|| CliError::usage("RECORD must consist of pairs of hexadecimal digits"))?;
    let failure = Failure::read(&bytes)
        .ok_or_else(|| CliError::usage("RECORD is not a failure record of this version; check that it is complete"))?;
    Ok(failure.in_words(write_text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::failure::FailureReason;

    #[test]
    fn what_a_node_has_printed_is_put_in_words() {
        let failure = Failure {
            place: None,
            why: FailureReason::MpiAbort(7),
        };
        let record = failure.write();
        let digits: String = { record.bytes().iter() }.map(|byte| format!("{byte:02x}")).collect();
        for printed in [digits.clone(), digits.to_uppercase(), format!("{LOGGED}{digits}\n")] {
            assert_eq!(
                decode_record(&printed).expect("words"),
                failure.in_words(write_text).to_string()
            );
        }
        for wrong in ["", "failed:", "0", "zz", "010203", &digits[2..], &digits[1..]] {
            assert!(decode_record(wrong).is_err(), "{wrong}");
        }
    }
}
