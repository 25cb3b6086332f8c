//! Client of PMI-1: lines of `name=value` words, each request with one response.
//!
//! MPICH's Hydra and Slurm's plugin `pmi2` serve it over the descriptor PMI_FD. Of a session this client uses the name
//! of the key-value space, which is unique to the job, and the mapping of processes to hosts. The session stays open
//! until the end of the program: a process that ends before `finalize` is one that has failed, and Hydra ends the job.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{Read, Write};

/// Maximum length of a response in bytes: values have at most 1,024.
const MAX_LINE: usize = 2048;

/// A session with the process manager.
#[derive(Debug)]
pub struct PmiSession<S = File> {
    stream: S,
    kvs: String,
}

impl<S: Read + Write> PmiSession<S> {
    /// Begins the session; also returns the job's name. Blocks until the process manager has responded.
    ///
    /// # Errors
    /// If the process manager closes the connection or responds otherwise.
    pub fn begin(stream: S) -> Result<(Self, String), String> {
        let mut session = Self {
            stream,
            kvs: String::new(),
        };
        let begun = session.request("cmd=init pmi_version=1 pmi_subversion=1")?;
        expect(&begun, "rc", "0")?;
        let named = session.request("cmd=get_my_kvsname")?;
        let name = value(&named, "kvsname").ok_or_else(|| unexpected(&named))?;
        session.kvs = name.to_owned();
        let job = session.kvs.clone();
        Ok((session, job))
    }

    /// Returns the number of the job's hosts; 0 if the process manager does not tell. Blocks until it has responded.
    ///
    /// # Errors
    /// If the process manager closes the connection, or its mapping is not valid.
    pub fn hosts(&mut self) -> Result<u32, String> {
        let request = format!("cmd=get kvsname={} key=PMI_process_mapping", self.kvs);
        let response = self.request(&request)?;
        match value(&response, "value") {
            Some(mapping) => hosts_of(mapping).ok_or_else(|| unexpected(&response)),
            None => Ok(0),
        }
    }

    /// Returns the number of this process's program among those of the job; 0 if the process manager does not tell. Blocks
    /// until it has responded.
    ///
    /// # Errors
    /// If the process manager closes the connection.
    pub fn program(&mut self) -> Result<u32, String> {
        let response = self.request("cmd=get_appnum")?;
        let number = value(&response, "appnum").and_then(|number| number.parse().ok());
        // Slurm's is -1.
        Ok(number.unwrap_or(0))
    }

    /// Ends the session. Blocks until the process manager has responded.
    pub fn finalize(mut self) {
        // The program has ended: a process manager that is gone changes nothing.
        let _ = self.request("cmd=finalize");
    }

    /// Reports that this process ends the job with `status`. Does not wait for a response, which never comes.
    pub fn abort(&mut self, status: u8) {
        // Without a process manager, the keeper ends the job.
        let _ = self
            .stream
            .write_all(format!("cmd=abort exitcode={status}\n").as_bytes());
    }

    fn request(&mut self, line: &str) -> Result<String, String> {
        let failed = |why| format!("the launcher's process manager (PMI) does not respond to {line:?}: {why}");
        { self.stream.write_all(format!("{line}\n").as_bytes()) }.map_err(|why| failed(why.to_string()))?;
        let mut response = Vec::new();
        let mut byte = [0];
        while response.last() != Some(&b'\n') {
            match self.stream.read(&mut byte) {
                Ok(0) => return Err(failed("it has closed the connection".to_owned())),
                Ok(_) if response.len() < MAX_LINE => response.push(byte[0]),
                Ok(_) => return Err(failed(format!("a response of more than {MAX_LINE} bytes"))),
                Err(why) => return Err(failed(why.to_string())),
            }
        }
        Ok(String::from_utf8_lossy(&response).trim_end().to_owned())
    }
}

/// Returns the value of a word of a line.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    { line.split(' ') }.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn expect(line: &str, name: &str, expected: &str) -> Result<(), String> {
    match value(line, name) {
        Some(value) if value == expected => Ok(()),
        _ => Err(unexpected(line)),
    }
}

fn unexpected(line: &str) -> String {
    format!("the launcher's process manager (PMI) has responded {line:?}, which is not of PMI-1")
}

/// Returns the number of hosts of a mapping `(vector,(FIRST,HOSTS,RANKS),...)`: blocks of hosts with the same number of
/// ranks each.
fn hosts_of(mapping: &str) -> Option<u32> {
    let blocks = mapping.strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut hosts = 0;
    for block in blocks.split_inclusive(')') {
        let block = block.trim_start_matches(',').strip_prefix('(')?.strip_suffix(')')?;
        let mut numbers = block.split(',').map(|number| number.parse::<u32>().ok());
        let [first, count, _] = [numbers.next()??, numbers.next()??, numbers.next()??];
        hosts = hosts.max(first.checked_add(count)?);
    }
    Some(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A process manager with prepared responses, which records the requests.
    struct Script {
        requests: Vec<u8>,
        responses: VecDeque<u8>,
    }

    impl Read for Script {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let byte = self.responses.pop_front();
            to.iter_mut().zip(byte).for_each(|(to, byte)| *to = byte);
            Ok(byte.iter().count())
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.requests.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn begin(responses: &str) -> Result<(PmiSession<Script>, String), String> {
        PmiSession::begin(Script {
            requests: Vec::new(),
            responses: responses.bytes().collect(),
        })
    }

    #[test]
    fn a_session_asks_for_the_name_of_the_job_and_its_hosts() {
        let (mut session, job) = begin(
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n\
             cmd=my_kvsname rc=0 kvsname=kvs_13876_0_vm\n\
             cmd=get_result rc=0 value=(vector,(0,2,2))\n\
             cmd=appnum rc=0 appnum=3\n\
             cmd=appnum rc=0 appnum=-1\n",
        )
        .unwrap();
        assert_eq!((job.as_str(), session.hosts()), ("kvs_13876_0_vm", Ok(2)));
        assert_eq!([session.program(), session.program()], [Ok(3), Ok(0)]);
        let requests = String::from_utf8_lossy(&session.stream.requests);
        assert_eq!(
            requests,
            "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n\
             cmd=get kvsname=kvs_13876_0_vm key=PMI_process_mapping\n\
             cmd=get_appnum\ncmd=get_appnum\n"
        );
    }

    #[test]
    fn a_process_manager_without_the_mapping_tells_no_hosts() {
        let begun = "cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=a\ncmd=get_result rc=1\n";
        let (mut session, _) = begin(begun).unwrap();
        assert_eq!(session.hosts(), Ok(0));
        assert!(session.hosts().is_err(), "it has closed the connection");
    }

    #[test]
    fn what_is_not_of_the_protocol_is_rejected() {
        for responses in [
            "",
            "cmd=response_to_init rc=1\n",
            "HTTP/1.1 400 Bad Request\n",
            "cmd=response_to_init rc=0\ncmd=my_kvsname rc=0\n",
            &format!("cmd=response_to_init rc=0{}", " ".repeat(2 * MAX_LINE)),
        ] {
            assert!(begin(responses).is_err(), "{responses:.40}");
        }
    }

    #[test]
    fn hosts_are_counted_over_all_blocks() {
        for (mapping, hosts) in [
            ("(vector,(0,1,4))", Some(1)),
            ("(vector,(0,2,2))", Some(2)),
            ("(vector,(0,1,3),(1,1,1))", Some(2)),
            ("(vector,(0,1,2),(0,1,2))", Some(1)),
            ("(vector,(4294967295,1,1))", None),
            ("(vector,(0,1))", None),
            ("(vector,0,1,1)", None),
            ("(matrix,(0,1,1))", None),
            ("", None),
        ] {
            assert_eq!(hosts_of(mapping), hosts, "{mapping}");
        }
    }
}
