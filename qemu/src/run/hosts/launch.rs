//! Start of the agents: by ssh or another command for each host, or by Slurm's srun for all.
//!
//! The secret is sent over standard input only. Arguments, environment, files and logs do not contain it.

use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use crate::run::hosts::handshake::{SECRET_BYTES, Secret};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};

/// The hidden command.
pub const AGENT: &str = "agent";
/// Command for a host, if the user specifies none.
pub const DEFAULT_COMMAND: &str = "ssh";
/// Maximum size of the text on the agent's standard input.
const MAX_PREAMBLE: u64 = 64 << 10;
/// First word of that text, with the version of its format.
const PREAMBLE: &str = "midplane-agent-1";

/// Method to start the agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaunchMethod {
    /// A command for each host, to which the name of the host and a command line for a shell are appended, as for ssh.
    Command(Vec<String>),
    /// `srun` in the allocation of a Slurm job, once for all hosts.
    Slurm,
}

/// Options of the hidden command of an agent.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// Number of the host; by default that of the node in the Slurm step
    #[arg(long)]
    pub host: Option<u32>,
}

/// A command line that starts agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchCommand {
    /// Host that it starts; `None`: all.
    pub host: Option<usize>,
    /// Words of the command.
    pub words: Vec<String>,
}

impl LaunchMethod {
    /// Returns the commands that start the agents of all hosts with this executable.
    pub fn commands(&self, hosts: &[String], executable: &str) -> Vec<LaunchCommand> {
        match self {
            Self::Command(words) => { hosts.iter().enumerate() }
                .map(|(host, name)| {
                    let number = host.to_string();
                    let line = shell_words::join([executable, AGENT, "--host", &number]);
                    let words = [&words[..], &[name.clone(), line]].concat();
                    let host = Some(host);
                    LaunchCommand { host, words }
                })
                .collect(),
            Self::Slurm => {
                let nodes = format!("--nodes={}", hosts.len());
                let list = format!("--nodelist={}", hosts.join(","));
                let options = [
                    "srun",
                    &nodes,
                    &list,
                    "--ntasks-per-node=1",
                    "--overlap",
                    "--cpu-bind=none",
                    "--kill-on-bad-exit=0",
                    "--mpi=none",
                    "--quiet",
                    executable,
                    AGENT,
                ];
                let words = options.map(String::from).to_vec();
                vec![LaunchCommand { host: None, words }]
            }
        }
    }
}

/// Text for the agents: the secret, and the address of the head for each host.
pub struct Preamble {
    /// The secret of the job.
    pub secret: Secret,
    /// The address of the head, as each host reaches it.
    pub heads: Vec<SocketAddr>,
}

impl Preamble {
    /// Returns the text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{PREAMBLE}\nsecret ");
        for byte in self.secret.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        for head in &self.heads {
            let _ = write!(text, "\nhead {head}");
        }
        text + "\nend\n"
    }

    /// Reads the text up to its end. Blocks.
    ///
    /// # Errors
    /// If it has another form.
    pub fn read(from: &mut impl BufRead) -> Result<Self, String> {
        let wrong = "the standard input of an agent is not from `midplane run`";
        let mut lines = Vec::new();
        let mut from = from.take(MAX_PREAMBLE);
        while lines.last().is_none_or(|line| line != "end") {
            let mut line = String::new();
            let bytes = from.read_line(&mut line).map_err(|_| wrong)?;
            if bytes == 0 {
                return Err(wrong.into());
            }
            lines.push(line.trim_end().to_string());
            // The caller compares versions after the handshake; here only the format counts.
            if lines[0] != PREAMBLE {
                return Err(format!("{wrong} of the same version"));
            }
        }
        let words = lines.iter().filter_map(|line| line.split_once(' '));
        let (mut secret, mut heads) = (None, Vec::new());
        for (word, value) in words {
            match word {
                "secret" => secret = parse_secret(value),
                "head" => heads.push(value.parse().map_err(|_| wrong)?),
                _ => return Err(wrong.into()),
            }
        }
        let secret = secret.ok_or(wrong)?;
        Ok(Self { secret, heads })
    }
}

fn parse_secret(text: &str) -> Option<Secret> {
    let mut secret = [0; SECRET_BYTES];
    let digits = text.as_bytes();
    if digits.len() != 2 * secret.len() {
        return None;
    }
    for (byte, digits) in secret.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(Secret(secret))
}

/// A process that has started agents: ssh or srun. It is ended with this process, and when it is dropped.
pub struct Launcher {
    /// Host of its agent; `None`: it has started all agents.
    pub host: Option<usize>,
    program: String,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Launcher {
    /// Starts the command and passes the text to it. Must be called from the main thread.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn start(launch: &LaunchCommand, preamble: &Preamble) -> Result<Self, CliError> {
        let (program, words) = launch
            .words
            .split_first()
            .ok_or_else(|| CliError::usage("--host-command is empty"))?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null());
        sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
        let child = command
            .spawn()
            .context(format_args!("start {program} for the agents"))?;
        let mut launcher = Self {
            host: launch.host,
            program: program.clone(),
            child,
            ended: None,
        };
        let mut stdin = launcher.child.stdin.take();
        // At most a few KiB, which fit into the pipe. A process that has ended already is noticed by its status.
        let _ = { stdin.as_mut() }.map(|stdin| stdin.write_all(preamble.to_text().as_bytes()));
        Ok(launcher)
    }

    /// Returns the status if the process has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Describes its end.
    pub fn describe(&mut self) -> String {
        match self.ended().map(|status| status.to_string()) {
            Some(status) => format!("{} has ended ({status})", self.program),
            None => format!("{} is running", self.program),
        }
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none()
            && let Some(process) = Pid::from_raw(self.child.id() as i32)
        {
            let _ = kill_process(process, signal);
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Returns the version and the build of this executable: its size and its CRC-32C.
///
/// # Errors
/// If the executable cannot be read.
pub fn build_name() -> Result<String, CliError> {
    let mut file = File::open("/proc/self/exe").context("open this command's executable")?;
    let (mut sum, mut size) = (0, 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let bytes = file.read(&mut buffer).context("read this command's executable")?;
        if bytes == 0 {
            break;
        }
        sum = crc32c::crc32c_append(sum, &buffer[..bytes]);
        size += bytes;
    }
    Ok(format!("{} build {size:x}-{sum:08x}", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn the_preamble_is_read_as_it_was_written() {
        let preamble = Preamble {
            secret: Secret([0xa5; SECRET_BYTES]),
            heads: vec!["10.0.0.1:4000".parse().unwrap(), "[::1]:5".parse().unwrap()],
        };
        let text = preamble.to_text();
        let read = Preamble::read(&mut BufReader::new(text.as_bytes())).unwrap();
        assert_eq!((read.secret, read.heads), (preamble.secret, preamble.heads));
        for wrong in [
            "",
            "x",
            "midplane-agent-1\nsecret 12\nend\n",
            &text[..text.len() - 5],
            "midplane-agent-9\nend\n",
        ] {
            assert!(
                Preamble::read(&mut BufReader::new(wrong.as_bytes())).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn command_lines_of_both_methods() {
        let hosts = ["a", "b"].map(String::from);
        let ssh = LaunchMethod::Command(vec!["ssh".into(), "-q".into()]).commands(&hosts, "/opt/my tools/midplane");
        assert_eq!(
            ssh[1].words,
            ["ssh", "-q", "b", "'/opt/my tools/midplane' agent --host 1"]
        );
        assert_eq!(ssh[1].host, Some(1));
        let srun = LaunchMethod::Slurm.commands(&hosts, "/opt/midplane");
        assert_eq!((srun.len(), srun[0].host), (1, None));
        assert_eq!(srun[0].words[..3], ["srun", "--nodes=2", "--nodelist=a,b"]);
    }
}
