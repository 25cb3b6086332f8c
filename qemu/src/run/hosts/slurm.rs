//! Hosts of a Slurm job, from the environment of `salloc` and `sbatch`.

use crate::host::error::CliError;
use std::process::Command;

/// Returns the hosts of the allocation that this command runs in. `None` outside of one, in one of a single host, and in a
/// task of `srun`.
///
/// # Errors
/// Returns an error if Slurm does not list the hosts.
pub fn allocated_hosts() -> Result<Option<Vec<String>>, CliError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(job), Some(list)) = (variable("SLURM_JOB_ID"), variable("SLURM_JOB_NODELIST")) else {
        return Ok(None);
    };
    let number = variable("SLURM_JOB_NUM_NODES").and_then(|number| number.parse::<usize>().ok());
    if number.is_none_or(|number| number < 2) {
        return Ok(None);
    }
    let mut command = Command::new("scontrol");
    command.args(["show", "hostnames", &list]);
    let failed = |why: String| {
        CliError::unusable(format!(
            "Slurm job {job}: cannot list its hosts by `scontrol show hostnames {list}`: {why}; specify them with --hosts"
        ))
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Some(text.split_whitespace().map(String::from).collect()))
}
