//! Tests of README and book: links, the table of contents, the commands on the pages, and their code.
//!
//! The commands of a page run in one shell, in a directory that contains the checkout's files, and the file that the
//! page tells the reader to create. The lines below a command are its expected output; `...` stands for any text.
//!
//! | block | test |
//! |---|---|
//! | `console`, `sh`, `yaml` | the commands run here, or have an entry in `NOT_RUN` with the test that covers them |
//! | `rust` | the package `tests/book` compiles each, and runs those with a `main` |
//! | `rust,ignore` | an excerpt that a source file contains, or the crate of the board's page, which has its own test |
//! | `c` | compiled against `mpi.h`; the commands of its page run it |
//! | `toml` | cargo reads it |
//! | `json` | parsed |
//! | `text` | figures and output: contains no command |

use midplane_harness::{JobLock, TempDirectory, command, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// Returns all pages: README and its neighbours, and the book.
fn pages() -> Vec<PathBuf> {
    fn add(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                add(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    let mut found: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root().join(name))
        .into();
    add(&root().join("docs"), &mut found);
    found.sort();
    assert!(found.len() > 30, "{} pages", found.len());
    found
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Returns the lines of a page outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

/// Returns the anchor of a heading: lower case, without punctuation, with a hyphen for each space.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the targets of a page's links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

#[test]
fn links_resolve() {
    let (mut broken, mut count) = (Vec::new(), 0);
    for page in pages() {
        let text = read(&page);
        for link in links(&text).filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.with_file_name("").join(file)
            };
            let is_found = target.exists()
                && (heading.is_empty()
                    || prose(&read(&target)).any(|line| line.starts_with('#') && anchor(line) == heading));
            count += 1;
            if !is_found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 100, "{count} links");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let book = root().join("docs");
    let text = read(&book.join("SUMMARY.md"));
    let listed: Vec<PathBuf> = links(&text).map(|link| book.join(link)).collect();
    let once: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "a page is listed twice");
    let is_page = |page: &PathBuf| page.starts_with(&book) && !page.ends_with("SUMMARY.md");
    let there: BTreeSet<PathBuf> = pages().into_iter().filter(is_page).collect();
    assert_eq!(once, there);
}

/// A fenced block of a page.
#[derive(Debug)]
struct Block {
    /// Line of the fence.
    line: usize,
    language: String,
    /// Contents without the indentation of the fence.
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut indentation) = (Vec::<Block>::new(), None);
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        match (start.strip_prefix("```"), indentation) {
            (Some(language), None) => {
                indentation = Some(line.len() - start.len());
                found.push(Block {
                    line: index + 1,
                    language: language.to_string(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => indentation = None,
            (None, Some(width)) => {
                if let Some(block) = found.last_mut() {
                    block.text += line.get(width..).unwrap_or_default();
                    block.text.push('\n');
                }
            }
            (None, None) => {}
        }
    }
    found
}

/// A command on a page, and its expected lines.
#[derive(Debug)]
struct Example {
    words: String,
    expected: Vec<String>,
}

/// Proof that a command works, if the command itself does not run here.
enum Coverage {
    /// File and name of a test that runs such a command.
    Test(&'static str, &'static str),
    /// Reason why no test runs it.
    None(&'static str),
}

use Coverage::{None as NotRun, Test};

const BOARD_CRATE: Coverage = Test("stm32f405.rs", "a_crate_of_ones_own_is_flashed_by_cargo_run");
const FLASH: Coverage = Test("stm32f405.rs", "flashing_says_what_is_missing");
const PACKAGE: Coverage = Test("linux/packages.rs", "cargo_runs_and_tests_a_package");
const MPIEXEC: Coverage = Test("linux/launch.rs", "mpiexec_takes_what_people_type");
const LAUNCHERS: Coverage = Test("linux/launchers.rs", "processes_of_a_launcher_are_the_ranks_of_one_job");
const HOSTS: Coverage = Test("linux/hosts.rs", "messages_arrive_over_the_connection_in_any_memory");

/// Commands that do not run here. Those of the tool are parsed nevertheless.
const NOT_RUN: [(&str, Coverage); 38] = [
    ("cargo midplane run --on linux --hosts a,b", HOSTS),
    ("salloc ", NotRun("requires a Slurm cluster")),
    ("srun ", LAUNCHERS),
    ("mpirun ", LAUNCHERS),
    ("MIDPLANE_MPI_MEMORY=4K srun ", LAUNCHERS),
    ("cargo midplane test", NotRun("this command runs the tests")),
    ("cargo midplane bench ", NotRun("takes minutes to hours")),
    ("cargo midplane soak --minutes", NotRun("takes an hour")),
    ("cargo midplane soak --seed 1 --jobs 100000", NotRun("takes hours")),
    (
        "cargo midplane cluster killer -n 64,1024,4096",
        NotRun("takes minutes and 5 GB"),
    ),
    ("cargo midplane flash", FLASH),
    (
        "cargo midplane attach",
        Test("attach.rs", "four_boards_are_shown_as_run_shows_them"),
    ),
    ("for node in", FLASH),
    (
        "cargo midplane top",
        Test("linux/top.rs", "the_state_of_running_jobs_is_shown"),
    ),
    (
        "cargo midplane run --on linux -n 4 --debug",
        Test(
            "linux/debug.rs",
            "one_rank_is_started_by_its_debugger_and_the_job_ends_with_both",
        ),
    ),
    (
        "cargo midplane run --torus 2x2x1 --debug",
        Test(
            "qemu_virt/debug.rs",
            "one_node_waits_for_its_debugger_and_the_job_ends_with_both",
        ),
    ),
    (
        "cargo midplane run --on linux -n 4 --under",
        Test("linux/jobs.rs", "ranks_are_started_under_a_command"),
    ),
    ("cargo run --release", BOARD_CRATE),
    (
        "RUSTC_BOOTSTRAP=1 cargo --config ../midplane/.cargo/along.toml run",
        BOARD_CRATE,
    ),
    ("probe-rs attach", NotRun("requires a board")),
    ("cargo new ring", PACKAGE),
    ("cargo run", PACKAGE),
    ("midplane=", PACKAGE),
    (
        "$midplane run --on linux",
        Test("linux/packages.rs", "a_package_runs_as_processes"),
    ),
    (
        "$midplane run ",
        Test(
            "qemu_virt/packages.rs",
            "a_package_runs_on_nodes_and_its_errors_name_their_lines",
        ),
    ),
    ("mpiexec ", MPIEXEC),
    (
        "cargo install --locked --path qemu",
        NotRun("compiles the command again"),
    ),
    ("cargo uninstall", NotRun("changes the reader's machine")),
    ("rm -r ~/.cache/midplane", NotRun("changes the reader's machine")),
    ("sha256sum ", NotRun("requires a release archive")),
    ("tar ", NotRun("requires a release archive")),
    ("man ", NotRun("requires a manual browser")),
    ("cargo install cargo-mutants", NotRun("a tool outside of the project")),
    ("cargo mutants", NotRun("a tool outside of the project")),
    (".ci/run", NotRun("runs the tests")),
    ("PKG_CONFIG_PATH=", Test("qemu_virt/cc.rs", "meson_builds_a_project")),
    ("make FC=", Test("linux/fortran.rs", "mpifort_compiles_and_links")),
    (
        "cmake -DCMAKE_Fortran_COMPILER",
        Test("linux/fortran.rs", "cmake_finds_mpifort"),
    ),
];

impl Example {
    fn coverage(&self) -> Option<&'static Coverage> {
        let mut all = NOT_RUN.iter();
        all.find_map(|(start, coverage)| self.words.starts_with(start).then_some(coverage))
    }

    /// Checks whether the job is meant to fail.
    fn fails(&self) -> bool {
        ["/fail_", "/exhaust.c", "/hang.c", "/misuse.c", "/race_"]
            .iter()
            .any(|name| self.words.contains(name))
    }

    /// Returns the program that this machine lacks, if the command requires one.
    fn missing_program(&self) -> Option<&'static str> {
        let programs = ["cmake", "meson", "make", "gfortran"].into_iter();
        // CMake creates the directories `build-*` of the commands that follow it.
        let is_used = |program: &str| {
            let mut words = self.words.split(' ');
            words.any(|word| {
                word == program
                    || program == "cmake" && word.starts_with("build-")
                    || program == "gfortran" && word.to_lowercase().ends_with(".f90")
            })
        };
        let mut used = programs.filter(|program| is_used(program));
        used.find(|program| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            !std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
        })
    }
}

/// Returns the commands of a page: lines with a `$` in `console` blocks, lines of `sh` blocks, steps in `yaml` blocks.
fn examples(text: &str) -> Vec<Example> {
    let mut found = Vec::<Example>::new();
    for block in blocks(text) {
        for line in block.text.lines().map(str::trim) {
            let command = match block.language.as_str() {
                "console" => line.strip_prefix("$ "),
                "sh" => Some(line).filter(|line| !line.is_empty() && !line.starts_with('#')),
                "yaml" => line.strip_prefix("- run: "),
                _ => continue,
            };
            match (command, found.last_mut()) {
                (Some(command), _) => found.push(Example {
                    words: command.split("  #").next().unwrap_or_default().trim().to_string(),
                    expected: Vec::new(),
                }),
                (None, Some(last)) if block.language == "console" => last.expected.push(line.to_string()),
                _ => {}
            }
        }
    }
    found
}

/// Checks for a line in which `...` stands for any text.
fn is_line(pattern: &str, line: &str) -> bool {
    let mut rest = line;
    let mut parts = pattern.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(tail) = rest.strip_prefix(first) else {
        return false;
    };
    rest = tail;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || pattern.ends_with("...")
}

/// Build files of a project with one program, for the page about existing projects.
const PROJECT: [(&str, &str); 4] = [
    ("Makefile", "-include config.mk\nprog: prog.c\n\t$(CC) -o $@ prog.c\n"),
    (
        "configure",
        "#!/bin/sh\nset -e\nfor word; do case $word in CC=*) CC=${word#CC=};; esac; done\n\
         rm -f prog\n$CC -c prog.c -o conftest.o\necho \"CC = $CC\" >config.mk\n",
    ),
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.18)\nproject(prog C)\nfind_package(MPI REQUIRED COMPONENTS C)\n\
         add_executable(prog prog.c)\ntarget_link_libraries(prog MPI::MPI_C)\n",
    ),
    (
        "meson.build",
        "project('prog', 'c')\nexecutable('prog', 'prog.c', dependencies: dependency('mpi', language: 'c'))\n",
    ),
];

/// Directory of a reader: the files of the checkout, and the files that a page tells the reader to create.
struct Desk(TempDirectory);

impl Desk {
    fn new(page: &str) -> Desk {
        let desk = Desk(TempDirectory::new(&format!("book-{}", page.replace('/', "-"))));
        let path = &desk.0.0;
        for entry in fs::read_dir(root()).expect("the checkout") {
            let entry = entry.expect("an entry");
            symlink(entry.path(), path.join(entry.file_name())).expect("a link");
        }
        for (name, program) in [("prog.c", "pi.c"), ("prog.rs", "ring.rs"), ("killer.c", "killer.c")] {
            let program = root().join("tests/programs").join(program);
            symlink(program, path.join(name)).expect("a link");
        }
        for (name, text) in PROJECT {
            fs::write(path.join(name), text).expect("a file");
        }
        // `cargo midplane` is the command of this build, and so is `midplane`.
        let commands = path.join("commands");
        fs::create_dir_all(path.join("home/.local/share/man/man1")).expect("a directory");
        fs::create_dir(&commands).expect("a directory");
        symlink(command(), commands.join("midplane")).expect("a link");
        let cargo = format!(
            "#!/bin/sh\nif [ \"$1\" = midplane ]; then shift; exec {} \"$@\"; fi\nexec {} \"$@\"\n",
            command().display(),
            env!("CARGO")
        );
        fs::write(commands.join("cargo"), cargo).expect("a file");
        for name in ["commands/cargo", "configure"] {
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        let text = read(&root().join(page));
        // "Create `hello.c` .." precedes the block of its text.
        for part in text.split("Create `").skip(1) {
            let file = part.split('`').next().unwrap_or_default();
            let block = part.split("```").nth(1).and_then(|block| block.split_once('\n'));
            if let Some((_, content)) = block.filter(|_| file.ends_with(".c")) {
                fs::write(path.join(file), content).expect("a file");
            }
        }
        desk
    }

    /// Runs the commands in one shell, as a reader does, so that variables and the current directory remain.
    fn run(&self, examples: &[Example]) -> Vec<Output> {
        let path = &self.0.0;
        let mut script = String::new();
        for (index, example) in examples.iter().enumerate() {
            let words = [("PROGRAM", "prog.c"), ("ARGUMENTS", "1000"), ("SEED", "1")]
                .into_iter()
                .fold(example.words.clone(), |words, (name, value)| words.replace(name, value));
            let file = path.join(index.to_string()).display().to_string();
            script += &format!("{{ {words}\n}} </dev/null >{file}.out 2>{file}.err\necho $? >{file}.status\n");
        }
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let inherited = |name: &str, below: &str| std::env::var_os(name).unwrap_or_else(|| home.join(below).into());
        let commands = format!(
            "{}:{}",
            path.join("commands").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let _lock = JobLock::acquire();
        let ended = Command::new("timeout")
            .args(["1800", "sh", "-c", &script])
            .current_dir(path)
            .env("CARGO_HOME", inherited("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", inherited("RUSTUP_HOME", ".rustup"))
            .env("XDG_CACHE_HOME", inherited("XDG_CACHE_HOME", ".cache"))
            .env("HOME", path.join("home"))
            .env("PATH", commands)
            .status()
            .expect("a shell");
        assert!(ended.success(), "{ended}");
        let read = |index: usize, end: &str| fs::read(path.join(format!("{index}.{end}"))).expect("an output");
        let output = |index| {
            let status = String::from_utf8_lossy(&read(index, "status")).trim().parse();
            Output {
                status: ExitStatus::from_raw(status.unwrap_or(-1) << 8),
                stdout: read(index, "out"),
                stderr: read(index, "err"),
            }
        };
        (0..examples.len()).map(output).collect()
    }
}

/// Runs the commands of a page that can run here. Returns their number, and appends the failures.
fn run_page(page: &str, faults: &mut Vec<String>) -> usize {
    let all = examples(&read(&root().join(page)));
    let can_run = |example: &Example| match example.missing_program() {
        _ if example.coverage().is_some() => false,
        Some(program) => {
            println!("skipped, no {program}: {}", example.words);
            false
        }
        None => true,
    };
    let examples: Vec<Example> = all.into_iter().filter(can_run).collect();
    if examples.is_empty() {
        return 0;
    }
    let desk = Desk::new(page);
    for (example, output) in examples.iter().zip(desk.run(&examples)) {
        let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let code = output.status.code();
        // `doctor` returns 1 where a tool is missing, of which the tests need only some.
        let is_right = match code {
            Some(0) => !example.fails(),
            Some(1) => example.fails() || example.words.contains("doctor"),
            _ => false,
        };
        if !is_right {
            faults.push(format!("{page}: `{}` ended with {code:?}\n{out}\n{err}", example.words));
        }
        for expected in &example.expected {
            if !out.lines().any(|line| is_line(expected, line)) {
                faults.push(format!(
                    "{page}: `{}` did not print `{expected}`:\n{out}\n{err}",
                    example.words
                ));
            }
        }
    }
    examples.len()
}

/// Runs the commands of a page. Returns their number.
fn check_page(page: &str) -> usize {
    let mut faults = Vec::new();
    let count = run_page(page, &mut faults);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    count
}

/// Returns the path of a page from the root.
fn name(page: &Path) -> String {
    page.strip_prefix(root())
        .expect("a page of the checkout")
        .display()
        .to_string()
}

/// Checks that each command runs here, or has an entry in [`NOT_RUN`]. The tool parses those that do not run.
#[test]
fn every_command_is_covered() {
    let (mut faults, mut used, mut count) = (Vec::new(), BTreeSet::new(), 0);
    for page in pages() {
        for example in examples(&read(&page)) {
            let words = &example.words;
            count += 1;
            let entry = NOT_RUN.iter().find(|(start, _)| words.starts_with(start));
            used.extend(entry.map(|(start, _)| *start));
            let Some(arguments) = words.strip_prefix("cargo midplane ").filter(|_| entry.is_some()) else {
                continue;
            };
            // `--help` behind the options: the command rejects wrong ones, and does nothing else.
            let is_option = |word: &&str| *word != "--" && ![".c", ".rs", ".elf"].iter().any(|end| word.ends_with(end));
            let options: Vec<&str> = arguments.split(' ').take_while(is_option).collect();
            let shell = format!("{} {} --help", command().display(), options.join(" "));
            let output = Command::new("sh").args(["-c", &shell]).output().expect("a shell");
            if !output.status.success() {
                faults.push(format!(
                    "{}: `{words}`: {}",
                    name(&page),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    for (start, coverage) in &NOT_RUN {
        if !used.contains(start) {
            faults.push(format!("no page contains `{start}`"));
        }
        match coverage {
            Test(file, function) => {
                let text = read(&root().join("tests/tests").join(file));
                if !text.contains(&format!("#[test]\nfn {function}()")) {
                    faults.push(format!("`{start}`: no test {function} in {file}"));
                }
            }
            NotRun(reason) => assert!(!reason.is_empty()),
        }
    }
    assert!(count > 100, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs a program. Returns the fault if it fails.
fn check(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| text.into_owned())
}

/// Compiles a C block against `mpi.h`, as a program for Linux.
fn check_c(block: &Block, directory: &TempDirectory) -> Result<(), String> {
    let (source, object) = (directory.path("block.c"), directory.path("block.o"));
    fs::write(&source, &block.text).map_err(|error| error.to_string())?;
    check(Command::new(command()).args(["cc", "--on", "linux", "-Wall", "-Werror", "-c", &source, "-o", &object]))
}

/// Passes a block of TOML to cargo: a manifest or a part of one, or a configuration. Its paths must exist.
fn check_toml(block: &Block, directory: &TempDirectory) -> Result<(), String> {
    let text = block.text.replace("../midplane", &root().display().to_string());
    let is_manifest = text.contains("[dependencies]");
    let write = |name: &str, text: String| fs::write(directory.path(name), text).map_err(|error| error.to_string());
    let package = "[package]\nname = \"block\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let head = if text.contains("[package]") { "" } else { package };
    let dependencies = if is_manifest { &text } else { "" };
    write("Cargo.toml", format!("{head}{dependencies}\n[workspace]\n"))?;
    write("config.toml", if is_manifest { String::new() } else { text.clone() })?;
    write("main.rs", "fn main() {}\n".to_string())?;
    fs::create_dir_all(directory.path("src")).map_err(|error| error.to_string())?;
    write("src/main.rs", "fn main() {}\n".to_string())?;
    for path in text
        .split("path = \"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        if !Path::new(path).join("Cargo.toml").exists() {
            return Err(format!("no package {path}"));
        }
    }
    let config = directory.path("config.toml");
    let arguments = ["--config", &config, "metadata", "--no-deps", "--format-version", "1"];
    check(Command::new(env!("CARGO")).args(arguments).current_dir(&directory.0))
}

/// Checks an excerpt of a source file. The crate on the page of the board is built by a test of its own.
fn check_excerpt(block: &Block, page: &str) -> Result<(), String> {
    if page == "docs/stm32f405.md" {
        return Ok(());
    }
    fn contains(directory: &Path, text: &str) -> bool {
        let entries = fs::read_dir(directory).expect("a directory");
        entries.map(|entry| entry.expect("an entry").path()).any(|path| {
            if path.is_dir() {
                contains(&path, text)
            } else {
                path.extension().is_some_and(|end| end == "rs") && read(&path).contains(text)
            }
        })
    }
    let is_found = contains(&root().join("mpi-adi"), block.text.trim());
    is_found
        .then_some(())
        .ok_or_else(|| "no source contains this excerpt".to_string())
}

/// Checks a block by its language. The package `tests/book` compiles and runs those of Rust.
fn check_block(block: &Block, page: &str, directory: &TempDirectory) -> Result<(), String> {
    match block.language.as_str() {
        // The tests below run the commands.
        "console" | "sh" | "yaml" => {
            let has_commands = !examples(&format!("```{}\n{}```\n", block.language, block.text)).is_empty();
            has_commands.then_some(()).ok_or_else(|| "no command".to_string())
        }
        "c" => check_c(block, directory),
        "json" => {
            let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
            parsed.map(drop).map_err(|error| error.to_string())
        }
        "rust" => Ok(()),
        "rust,ignore" => check_excerpt(block, page),
        // Figures and output.
        "text" => {
            let has_command = block
                .text
                .lines()
                .any(|line| line.starts_with("$ ") || line.starts_with("cargo "));
            (!has_command)
                .then_some(())
                .ok_or_else(|| "a command in a figure".to_string())
        }
        "toml" => check_toml(block, directory),
        other => Err(format!("no test handles the language \"{other}\"")),
    }
}

#[test]
fn every_block_is_covered() {
    let directory = TempDirectory::new("book-blocks");
    let (mut faults, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
    for path in pages() {
        let (page, text) = (name(&path), read(&path));
        for line in prose(&text).filter(|line| line.starts_with("    ")) {
            faults.push(format!("{page}: a block without fences: {line}"));
        }
        for block in blocks(&text) {
            let result = check_block(&block, &page, &directory);
            *counts.entry(block.language.clone()).or_default() += 1;
            if let Err(fault) = result {
                faults.push(format!("{page}:{}: {fault}", block.line));
            }
        }
    }
    println!("{counts:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (language, text) in [
        ("perl", "1;"),
        ("c", "int f(;"),
        ("json", "{"),
        ("toml", "a ="),
        ("sh", ""),
    ] {
        let block = Block {
            line: 1,
            language: language.to_string(),
            text: text.to_string(),
        };
        assert!(check_block(&block, "README.md", &directory).is_err(), "{block:?}");
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    assert!(check_page("README.md") >= 5);
}

#[test]
fn the_commands_of_the_first_tutorial_run() {
    assert!(check_page("docs/tutorials/first-program.md") >= 2);
}

/// The variable MIDPLANE_PAGE restricts it to pages whose path contains its value.
#[test]
#[ignore = "takes minutes: every command of the book"]
fn the_commands_of_the_book_run() {
    let book = root().join("docs");
    let part = std::env::var("MIDPLANE_PAGE").unwrap_or_default();
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages()
        .iter()
        .filter(|page| page.starts_with(&book))
        .map(|page| name(page))
    {
        if page.contains(&part) {
            count += run_page(&page, &mut faults);
        }
    }
    assert!(count > 20 || !part.is_empty(), "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Checks for a date of this project.
fn has_date(line: &str) -> bool {
    let is_date = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(is_number) && word.starts_with("20")
    };
    line.split([' ', ',', ';', '.']).any(is_date)
}

/// Returns the faults of a text about measurements.
fn faults_of_results(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for field in ["Question", "Command", "Machine", "Date"] {
        let start = format!("* {field}: ");
        let Some(line) = text.lines().find(|line| line.starts_with(&start)) else {
            faults.push(format!("no line \"{start}\""));
            continue;
        };
        if field == "Date" && !has_date(line) {
            faults.push(format!("no date in \"{line}\""));
        }
    }
    if !text.lines().any(|line| line.starts_with("|---")) {
        faults.push("no table".to_string());
    }
    faults
}

/// Each page about measurements, and each section of another page with the heading *Results*, names question, command,
/// machine and date, and contains a table.
#[test]
fn results_name_question_command_machine_and_date() {
    let book = root().join("docs");
    let summary = read(&book.join("SUMMARY.md"));
    let listed = summary
        .split("# Results\n")
        .nth(1)
        .and_then(|rest| rest.split("\n---").next());
    let listed: Vec<PathBuf> = links(listed.expect("a part of results"))
        .map(|link| book.join(link))
        .collect();
    let (mut faults, mut count) = (Vec::new(), 0);
    for page in pages()
        .iter()
        .filter(|page| page.starts_with(&book) && !page.ends_with("SUMMARY.md"))
    {
        let text = read(page);
        let is_results = page.starts_with(book.join("results"));
        assert!(!is_results || listed.contains(page), "{} is not listed", name(page));
        let section = text
            .split("\n## Results")
            .nth(1)
            .and_then(|rest| rest.split("\n## ").next());
        let Some(part) = listed.contains(page).then_some(text.as_str()).or(section) else {
            continue;
        };
        count += 1;
        faults.extend(
            faults_of_results(part)
                .iter()
                .map(|fault| format!("{}: {fault}", name(page))),
        );
    }
    assert!(count >= 10, "{count} pages");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        faults_of_results("* Question: a\n* Command: b\n* Machine: c\n* Date: recorded on 1.2.\n").len(),
        2
    );
}

#[test]
fn examples_are_read_as_a_reader_does() {
    let text = "```console\n$ cargo midplane run a.c  # here\n[0] ... seconds, 0 errors\n```\n\n```sh\n# Size\ncargo midplane size b.c\n```\n";
    let found = examples(text);
    let words: Vec<&str> = found.iter().map(|example| example.words.as_str()).collect();
    assert_eq!(words, ["cargo midplane run a.c", "cargo midplane size b.c"]);
    assert_eq!(found[0].expected, ["[0] ... seconds, 0 errors"]);
    assert!(is_line(&found[0].expected[0], "[0] killer: 0.1 seconds, 0 errors"));
    assert!(!is_line(&found[0].expected[0], "[0] killer: 0.1 seconds, 1 errors"));
    assert!(!is_line("sum 6", "sum 66") && is_line("sum ...", "sum 66"));
    assert_eq!(anchor("## `A b`, and (c)"), "a-b-and-c");
    let [block] = &blocks("1. A list\n\n   ```c\n   int a;\n     int b;\n   ```\n")[..] else {
        panic!("one block");
    };
    assert_eq!((block.line, block.text.as_str()), (3, "int a;\n  int b;\n"));
}
