//! An installed command: outside cargo's target directory, without the checkout, with a home directory of its own.

use crate::harness::{CompletedRun, JobLock, LIMIT, TempDirectory, command, program};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Environment variables that an installed command inherits, in addition to `PATH`.
const INHERITED: [&str; 3] = ["RUSTUP_TOOLCHAIN", "CARGO_NET_OFFLINE", "LANG"];

/// Home directory with an installed command and an empty directory to work in.
struct InstalledCommand {
    directory: TempDirectory,
}

impl InstalledCommand {
    fn new(name: &str) -> Self {
        let directory = TempDirectory::new(name);
        for part in ["bin", "home", "work"] {
            fs::create_dir_all(directory.path(part)).unwrap();
        }
        fs::hard_link(command(), directory.path("bin/midplane")).unwrap();
        Self { directory }
    }

    /// Creates a command that runs in the empty directory. Cargo keeps its own home directory.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let directory_of = |name: &str, below: &str| std::env::var_os(name).unwrap_or_else(|| home.join(below).into());
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("CARGO_HOME", directory_of("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", directory_of("RUSTUP_HOME", ".rustup"))
            .env("HOME", self.directory.path("home"))
            .env("PATH", format!("{}:{path}", self.directory.path("bin")))
            .current_dir(self.directory.path("work"))
            .stdin(Stdio::null());
        command
    }

    fn midplane(&self, arguments: &[&str]) -> CompletedRun {
        end(&mut self.command("midplane", arguments))
    }

    /// Returns the names in the command's directory below the home directory.
    fn cache(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path("home/.cache/midplane"));
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().display().to_string()).collect();
        names.sort();
        names
    }
}

fn end(command: &mut Command) -> CompletedRun {
    let _turn = JobLock::acquire();
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    CompletedRun {
        status: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// The program is linked in the checkout, since the runtime takes long to compile; the job is the installed command's.
#[test]
fn an_installed_command_runs_a_job() {
    let installed = InstalledCommand::new("installed-job");
    let pi = installed.directory.path("work/pi");
    crate::harness::midplane(&["cc", "--on", "linux", "-o", &pi, &program("pi.c")]).expect(0);
    let words = ["run", "--on", "linux", "-n", "2", "--timeout", LIMIT, "--quiet", "./pi"];
    let ended = installed.midplane(&words).expect(0);
    assert!(ended.stdout.starts_with("[0] "), "{ended}");
    assert_eq!(installed.cache().last().map(String::as_str), Some("sources"));
    let sources = installed.directory.0.join("home/.cache/midplane/sources");
    assert!(sources.join("kernel-rt/Cargo.toml").exists());
    assert!(
        fs::canonicalize(&sources)
            .unwrap()
            .starts_with(installed.directory.path("home"))
    );
}

/// A release archive contains compiled runtimes. Here it is the checkout's.
#[test]
fn a_compiled_runtime_next_to_the_command_is_used() {
    let installed = InstalledCommand::new("installed-compiled");
    let job = ["run", "--on", "linux", "-n", "2", "--timeout", LIMIT, "--quiet"];
    crate::harness::midplane(&[&job[..], &[&program("pi.c")]].concat()).expect(0);
    installed.midplane(&["new", "first"]).expect(0);
    let version = installed.cache().remove(0);
    let file = format!(
        "{}-unknown-linux-gnu/process/libprogram_runtime_borrow.a",
        std::env::consts::ARCH
    );
    let target = command().ancestors().nth(2).expect("a target directory").to_path_buf();
    let copy = installed.directory.0.join("lib/midplane").join(version).join(&file);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(target.join("midplane/linux").join(&file), copy).unwrap();
    let ended = installed.midplane(&[&job[..], &["first/main.c"]].concat()).expect(0);
    assert!(!ended.stderr.contains("Compiling"), "{ended}");
    ended.prints("[0] 2 processes, sum 1");
}

#[test]
fn processes_that_start_at_once_unpack_the_sources_together() {
    let installed = InstalledCommand::new("installed-together");
    let start = |name: &str| {
        let mut command = installed.command("midplane", &["new", name]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started = ["a", "b", "c", "d"].map(start);
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("make test"),
            "{output:?}"
        );
    }
    let cache = installed.cache();
    assert!(cache.len() == 2 && cache[1] == "sources", "{cache:?}");
    assert!(
        !installed
            .directory
            .0
            .join("home/.cache/midplane/sources/incomplete")
            .exists()
    );
}

#[test]
fn the_name_in_messages_is_that_of_the_call() {
    let installed = InstalledCommand::new("installed-name");
    for name in ["midplane", "cargo midplane"] {
        let call = |arguments: &[&str]| {
            let file = installed.directory.path("bin/midplane");
            end(installed.command(&file, arguments).arg0(name))
        };
        let ended = call(&["run", "--nonsense", "a.c"]).expect(2);
        ended.says(&[&format!("(see '{name} help run')")]);
        call(&["run", "--help"])
            .expect(0)
            .prints(&format!("Usage: {name} run "));
        call(&["help", "run"])
            .expect(0)
            .prints(&format!("Example: {name} run "));
        let help = call(&["help", "cc"]).expect(0);
        assert!(help.stdout.contains(name), "{help}");
    }
}

#[test]
fn without_a_directory_of_the_user_the_variable_is_named() {
    let installed = InstalledCommand::new("installed-read-only");
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = installed.command("midplane", arguments);
        command.env_remove("HOME");
        end(match variable {
            Some(value) => command.env("XDG_CACHE_HOME", value),
            None => &mut command,
        })
    };
    for variable in [None, Some("/dev/null/cache")] {
        let refused = run(&["new", "hello"], variable).expect(2);
        refused.says(&["XDG_CACHE_HOME"]);
        assert!(!installed.directory.0.join("work/hello").exists());
        // Commands that compile nothing require no directory.
        run(&["memory"], variable).expect(0);
        run(&["completions", "bash"], variable).expect(0);
        run(&["man"], variable).expect(0);
        run(&["doctor"], variable).prints("host C compiler");
    }
    let cache = installed.directory.path("cache");
    run(&["new", "hello"], Some(&cache)).expect(0);
    assert!(fs::exists(format!("{cache}/midplane/sources/Cargo.lock")).unwrap());
    assert_eq!(installed.cache(), [""; 0], "XDG_CACHE_HOME replaces the home directory");
}

#[test]
fn commands_that_require_a_checkout_name_it() {
    let installed = InstalledCommand::new("installed-checkout");
    for words in [&["test"][..], &["bench", "linux"]] {
        installed.midplane(words).expect(2).says(&["a checkout of Midplane"]);
    }
}

/// All that the printed commands of a new project do, from an empty cache.
#[test]
#[ignore = "takes minutes: compiles the runtime for Linux, for the simulator and for nodes"]
fn new_projects_build_and_test_on_every_platform() {
    let installed = InstalledCommand::new("installed-projects");
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let user = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let user = user.expect("a home directory").join("midplane");
    let cache = installed.directory.0.join("home/.cache/midplane");
    fs::create_dir_all(&cache).unwrap();
    for tool in ["qemu", "gcc", "picolibc", "rust"] {
        // Packages that were fetched before.
        if user.join(tool).exists() {
            symlink(user.join(tool), cache.join(tool)).unwrap();
        }
    }
    installed.midplane(&["new", "first"]).expect(0).prints("make test");
    installed
        .midplane(&["new", "--lang", "rust", "second"])
        .expect(0)
        .prints("cargo test");
    let in_project = |project: &str, program: &str, arguments: &[&str]| {
        let mut command = installed.command(program, arguments);
        end(command.current_dir(installed.directory.0.join("work").join(project)))
    };
    let tested = in_project("first", "make", &["test"]).expect(0);
    for processes in [4, 64] {
        tested.prints(&format!("[0] {processes} processes, sum "));
    }
    let nodes = ["run", "--torus", "2x2x1", "--timeout", LIMIT, "--quiet"];
    let run = |project, program| in_project(project, "midplane", &[&nodes[..], &[program]].concat()).expect(0);
    run("first", "main.c").prints("[0] 4 processes, sum 6");
    in_project("second", "cargo", &["test"]).expect(0).prints("1 passed");
    in_project("second", "cargo", &["run"])
        .expect(0)
        .prints("4 processes, sum 6");
    run("second", ".").prints("[0] 4 processes, sum 6");
}
