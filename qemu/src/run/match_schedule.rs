//! Files with schedules.

use crate::host::error::CliError;
use midplane_lab::match_orders::{MatchDecision, parse_schedule};
use std::path::Path;

/// Reads a schedule.
///
/// # Errors
/// Returns a usage error if the file cannot be read, or contains no schedule.
pub fn read_schedule(file: &Path) -> Result<Vec<MatchDecision>, CliError> {
    let wrong = |why: String| CliError::usage(format!("--schedule {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    parse_schedule(&text).map_err(wrong)
}
