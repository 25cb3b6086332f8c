//! Jobs over several hosts. The "hosts" are two loopback addresses, and a shell starts the agents instead of ssh.

use midplane_harness::{CommandRun, CompletedRun, TempDirectory, check_killer, marked, program};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs the command line that would be executed on the host.
const SHELL: &str = "--host-command=sh -c 'eval \"exec $1\"'";
const HOSTS: [&str; 4] = ["--on", "linux", "--hosts=127.0.0.1,127.0.0.2", SHELL];

fn start(options: &[&str], name: &str, arguments: &[&str], stdin: Stdio) -> CommandRun {
    let path = program(name);
    let options = [
        &["run", "--prefix", "--timeout", "120", "-q"],
        &HOSTS[..],
        options,
        &[&path, "--"],
        arguments,
    ];
    CommandRun::start_with(&options.concat(), stdin)
}

fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    start(options, name, arguments, Stdio::null()).end()
}

/// Returns the processes of a job whose command line contains this word.
fn processes(job: &CommandRun, word: &str) -> Vec<i32> {
    let has_word = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|one| one == word.as_bytes())
    };
    marked(&job.mark).into_iter().filter(has_word).collect()
}

/// Returns the processes of a job's agents.
fn agents(job: &CommandRun) -> Vec<i32> {
    processes(job, "agent")
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it runs");
}

#[test]
fn messages_arrive_over_the_connection_in_any_memory() {
    for memory in ["32", "4K"] {
        let ended = run(&["-n", "4", "--mpi-memory", memory], "killer.c", &["500", "100"]).expect(0);
        check_killer(&ended, 4, "500", "100");
        for name in ["conf_p2p.c", "conf_coll.c", "conf_rma_fence.c", "conf_rma_shared.c"] {
            run(&["--torus", "2x2x1", "--mpi-memory", memory], name, &[]).expect(0);
        }
    }
}

/// A rank forwards packets of others although it computes: between rings on one host, between connections on three.
#[test]
fn a_computing_rank_forwards_packets() {
    for hosts in [
        &["--on", "linux"][..],
        &["--on", "linux", "--hosts=127.0.0.1,127.0.0.2,127.0.0.3", SHELL],
    ] {
        let directory = TempDirectory::new("routed");
        let path = program("routed_beside.c");
        let options = ["run", "--timeout", "100", "-q", "--torus", "3x1x1", "--mesh", "x"];
        let file = directory.path("done");
        let words = [&options[..], hosts, &[&path, "--", &file]].concat();
        CommandRun::start(&words).end().expect(0).prints("200 exchanges");
    }
}

#[test]
fn streams_and_status_are_as_on_one_host() {
    let mut job = start(&["-n", "2"], "input.c", &[], Stdio::piped());
    let mut stdin = job.child.stdin.take().expect("a pipe");
    let numbers: String = (0..20_000).map(|number| format!("{number} ")).collect();
    stdin.write_all(numbers.as_bytes()).expect("the job reads");
    drop(stdin);
    job.end()
        .expect(0)
        .prints("[0] input: 20000 numbers, 199990000 in all\n");
    // The second host's rank fails; its host is named.
    let ended = run(&["-n", "2"], "fail_mpi_abort.c", &[]);
    assert!(ended.status.is_some_and(|status| status != 0), "{ended}");
    ended.says(&["host 127.0.0."]);
}

#[test]
fn a_hang_is_found_over_several_hosts() {
    run(&["-n", "2"], "hang.c", &[]).expect(1).says(&["the job hangs"]);
}

/// Waits until a job runs, kills one of its processes, and checks that it ends with status 1 and these words.
fn check_end(find: impl Fn(&CommandRun) -> Vec<i32>, words: &[&str]) {
    let mut job = start(&["--torus", "2x1x1"], "fail_hang.c", &["poll"], Stdio::null());
    job.wait_for("waiting for a message");
    let victims = find(&job);
    kill(*victims.last().expect("a process to kill"));
    job.end().expect(1).says(words);
}

#[test]
fn the_loss_of_any_part_ends_the_job() {
    check_end(agents, &["host 127.0.0.", "the job cannot continue without it"]);
    let ranks = |job: &CommandRun| {
        processes(job, "poll")
            .into_iter()
            .filter(|pid| !is_tool(*pid))
            .collect()
    };
    check_end(
        ranks,
        &["host 127.0.0.", ": rank ", "its process was killed by signal 9"],
    );
}

/// Returns whether a process is the command itself.
fn is_tool(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.windows(7).any(|word| word == b"--hosts")
}

#[test]
fn agents_end_with_the_command() {
    let mut job = start(&["--torus", "2x1x1"], "fail_hang.c", &["poll"], Stdio::null());
    job.wait_for("waiting for a message");
    job.signal(Signal::KILL);
    // No process remains: checked at the end.
    assert_eq!(job.end().status, None);
}

/// A network namespace with one address, connected to this one by a cable. Dropping it removes both.
struct OtherHost {
    name: String,
    network: String,
}

impl OtherHost {
    /// Creates the namespace; `None` without root or the command `ip`.
    fn new() -> Option<Self> {
        let number = std::process::id();
        let name = format!("mp{number}");
        // Of the addresses for tests of networks (RFC 2544).
        let network = format!("198.18.{}", number % 256);
        let host = Self { name, network };
        let Self { name, network } = &host;
        let is_created = ip(&format!("netns add {name}"))
            && ip(&format!("link add {name} type veth peer name eth0 netns {name}"))
            && ip(&format!("addr add {network}.1/24 dev {name}"))
            && ip(&format!("link set {name} up"))
            && ip(&format!("-n {name} addr add {network}.2/24 dev eth0"))
            && ip(&format!("-n {name} link set eth0 up"));
        is_created.then_some(host)
    }
}

impl Drop for OtherHost {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
    }
}

/// Runs `ip`; returns whether it has succeeded.
fn ip(words: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(words.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_cable_may_be_cut_for_a_second_but_not_for_good() {
    let Some(host) = OtherHost::new() else {
        eprintln!("left out, without root and ip: two network namespaces");
        return;
    };
    let OtherHost { name, network } = &host;
    let hosts = format!("--hosts={network}.1,{network}.2");
    let enter =
        format!("--host-command=sh -c 'case $0 in *.2) set -- \"ip netns exec {name} $1\";; esac; eval \"exec $1\"'");
    let options = [
        "run", "--prefix", "-q", "--on", "linux", &hosts, &enter, "--torus", "2x1x1",
    ];
    let path = program("killer.c");
    let arguments = [path.as_str(), "--", "200", "1000"];
    let ended = CommandRun::start(&[&options[..], &arguments].concat()).end().expect(0);
    check_killer(&ended, 2, "200", "1000");
    let path = program("fail_hang.c");
    let mut job = CommandRun::start(&[&options[..], &[&path, "--", "poll"]].concat());
    job.wait_for("waiting for a message");
    let set = |state| assert!(ip(&format!("-n {name} link set eth0 {state}")), "{state}");
    set("down");
    sleep(Duration::from_secs(1));
    set("up");
    // Longer than a silent host is waited for.
    sleep(Duration::from_secs(4));
    assert_eq!(job.child.try_wait().expect("a child"), None, "the job has ended");
    set("down");
    // The command loses the agent, or the agent has lost the command before and has ended.
    let ended = job.end().expect(1);
    ended.says(&[&format!("midplane: host {network}.2"), " lost: "]);
}

/// Strangers connect to the port of the command, and the agents start late.
#[test]
fn strangers_do_not_disturb_a_job() {
    let late = "--host-command=sh -c 'sleep 1; eval \"exec $1\"'";
    let path = program("killer.c");
    let options = [
        "run",
        "--prefix",
        "-q",
        "--on",
        "linux",
        "--hosts=127.0.0.1,127.0.0.2",
        late,
        "-n",
        "2",
        &path,
    ];
    let job = CommandRun::start(&options);
    let deadline = Instant::now() + Duration::from_secs(60);
    let port = loop {
        let tool = Pid::from_child(&job.child).as_raw_pid();
        if let Some(port) = listening_port(tool) {
            break port;
        }
        assert!(Instant::now() < deadline, "the command does not listen");
        sleep(Duration::from_millis(10));
    };
    let silent: Vec<TcpStream> = (0..50)
        .filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok())
        .collect();
    let mut garbage = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let _ = garbage.write_all(b"GET / HTTP/1.1\r\n\r\n");
    let ended = job.end().expect(0);
    drop(silent);
    assert!(ended.stdout.contains(", 0 errors"), "{ended}");
}

#[test]
fn the_secret_is_visible_nowhere_and_a_wrong_one_is_rejected() {
    let dir = TempDirectory::new("secret");
    let file = dir.path("preamble");
    let tee = format!("--host-command=sh -c 'tee {file} | eval \"$1\"'");
    let path = program("fail_hang.c");
    let start = |command: &str| {
        let hosts = "--hosts=127.0.0.1,127.0.0.2";
        CommandRun::start(&[
            "run", "-q", "--on", "linux", hosts, command, "--torus", "2x1x1", &path, "--", "poll",
        ])
    };
    let mut job = start(&tee);
    job.wait_for("waiting for a message");
    let preamble = fs::read_to_string(&file).expect("the text for an agent");
    let secret = { preamble.lines() }
        .find_map(|line| line.strip_prefix("secret "))
        .expect("a secret");
    assert_eq!(secret.len(), 64);
    for pid in marked(&job.mark) {
        for part in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{part}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{pid}: {part}");
        }
    }
    job.signal(Signal::INT);
    let ended = job.end().expect(130);
    assert!(!ended.stderr.contains(secret) && !ended.stdout.contains(secret));
    let wrong = start("--host-command=sh -c 'sed s/^secret\\ ......../secret\\ 00000000/ | eval \"$1\"'").end();
    wrong
        .expect(1)
        .says(&["it has rejected the secret of the job", "before its agent connected"]);
    // A different build on the hosts.
    let other = dir.path("midplane");
    let copy =
        format!("--host-command=sh -c 'cp ${{1%% *}} {other}.$0; echo >> {other}.$0; exec {other}.$0 ${{1#* }}'");
    start(&copy).end().expect(2).says(&[
        "host 127.0.0.",
        " has midplane ",
        "install the same command on all hosts",
    ]);
}

/// Returns a port of the loopback interface at which a process listens.
fn listening_port(pid: i32) -> Option<u16> {
    let sockets: Vec<String> = { fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() }
        .filter_map(|fd| fs::read_link(fd.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let lines = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut listening = lines.filter(|words| words.get(3) == Some(&"0A"));
    let own = listening.find(|words| words.get(9).is_some_and(|inode| sockets.iter().any(|one| one == inode)))?;
    let (address, port) = own.get(1)?.split_once(':')?;
    assert_ne!(address, "00000000", "a wildcard");
    u16::from_str_radix(port, 16).ok()
}

#[test]
fn usage_errors_name_what_is_possible() {
    let path = program("killer.c");
    for (options, word) in [
        (
            &["--on", "linux", "--hosts=a,b,c", "-n", "4"][..],
            "use one of 1, 2, 4 hosts",
        ),
        (&["--on", "linux", "--hosts=a,a"], "a occurs twice"),
        (&["--on", "linux", "--hosts=-oProxyCommand=x,b"], "no name of a host"),
        (&["--on", "qemu", "--hosts=a,b"], "use --on linux"),
        (
            &["--on", "linux", "--hosts=127.0.0.1,127.0.0.2", "--under", "env"],
            "--under requires all ranks on one host",
        ),
    ] {
        let options = [&["run"], options, &[path.as_str()]].concat();
        CommandRun::start(&options).end().expect(2).says(&[word]);
    }
    let options = [&["run", "--dry-run"], &HOSTS[..], &["--torus", "4x2x1", &path]].concat();
    let ended = CommandRun::start(&options).end().expect(0);
    ended.prints("127.0.0.1: 2x2x1 nodes, ranks 0, 1, 4, 5; links: 4 to 127.0.0.2\n");
    ended.prints("agent --host 1");
    // The agent of a host that does not answer, and a command that fails.
    let command = "--host-command=false";
    let options = [
        "run",
        "--on",
        "linux",
        "--hosts=127.0.0.1,127.0.0.2",
        command,
        "-n",
        "2",
        &path,
    ];
    let ended = CommandRun::start(&options).end().expect(1);
    // It fails for both hosts; either may be first.
    ended.says(&["host 127.0.0.", ": false has ended", "before its agent connected"]);
}
