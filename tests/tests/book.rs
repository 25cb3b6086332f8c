//! Tests of README and book: links, the table of contents, and the commands on the pages.
//!
//! A command runs in a directory that contains the checkout's files, and the file that the page tells the reader to
//! create. The lines below a command are its expected output; `...` stands for any text.

use midplane_harness::{JobLock, TempDirectory, command, root};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// A command on a page, and its expected lines.
#[derive(Debug)]
struct Example {
    words: String,
    expected: Vec<String>,
}

impl Example {
    /// Checks whether the command runs here: it is one of the tool, and requires neither hardware nor hours.
    fn runs_here(&self) -> bool {
        let skipped = [
            "midplane test",
            "midplane flash",
            "midplane attach",
            "midplane bench",
            "midplane soak",
            "--debug",
            "--under",
            "-np ",
            "/dev/",
            "-o any",
            "65536",
            "65,",
        ];
        self.words.starts_with("cargo midplane ") && !skipped.iter().any(|word| self.words.contains(word))
    }

    /// Checks whether its job is meant to fail.
    fn fails(&self) -> bool {
        self.words.contains("/fail_") || self.words.contains("exhaust.c")
    }
}

/// Returns the commands of a page: lines with a `$` in fenced blocks, and lines of indented and of `sh` blocks.
fn examples(text: &str) -> Vec<Example> {
    let (mut found, mut fence) = (Vec::<Example>::new(), None);
    for line in text.lines() {
        let start = line.trim_start();
        if let Some(language) = start.strip_prefix("```") {
            fence = fence.is_none().then_some(language);
            continue;
        }
        let is_indented = fence.is_none() && line.starts_with("    ");
        let command = match fence {
            Some("console") => start.strip_prefix("$ "),
            Some("sh") => Some(start),
            None if is_indented => Some(start),
            _ => None,
        };
        if let Some(command) = command.filter(|command| command.starts_with("cargo midplane ")) {
            let words = command.split("  #").next().unwrap_or_default().trim().to_string();
            found.push(Example {
                words,
                expected: Vec::new(),
            });
        } else if fence == Some("console")
            && command.is_none()
            && !start.starts_with('$')
            && let Some(last) = found.last_mut()
        {
            last.expected.push(start.to_string());
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

    fn run(&self, example: &Example) -> Output {
        let words = example
            .words
            .replace("cargo midplane", &command().display().to_string());
        let words = words.replace("PROGRAM", "prog.c");
        let _lock = JobLock::acquire();
        Command::new("timeout")
            .args(["600", "sh", "-c", &words])
            .current_dir(&self.0.0)
            .stdin(Stdio::null())
            .output()
            .expect("a shell")
    }
}

/// Runs the commands of a page that can run here. Returns their number, and appends the failures.
fn run_page(page: &str, faults: &mut Vec<String>) -> usize {
    let desk = Desk::new(page);
    let examples = examples(&read(&root().join(page)));
    let examples: Vec<Example> = examples.into_iter().filter(Example::runs_here).collect();
    for example in &examples {
        let output = desk.run(example);
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

#[test]
fn the_commands_of_the_readme_run() {
    assert!(check_page("README.md") >= 5);
}

#[test]
fn the_commands_of_the_first_tutorial_run() {
    assert!(check_page("docs/tutorials/first-program.md") >= 2);
}

#[test]
#[ignore = "takes minutes: every command of the book"]
fn the_commands_of_the_book_run() {
    let book = root().join("docs");
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages().iter().filter(|page| page.starts_with(&book)) {
        let page = page.strip_prefix(root()).expect("a page of the checkout");
        count += run_page(&page.display().to_string(), &mut faults);
    }
    assert!(count > 20, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn examples_are_read_as_a_reader_does() {
    let text = "```console\n$ cargo midplane run a.c  # here\n[0] ... seconds, 0 errors\n```\n\n    cargo midplane size b.c\n    other\n";
    let found = examples(text);
    let words: Vec<&str> = found.iter().map(|example| example.words.as_str()).collect();
    assert_eq!(words, ["cargo midplane run a.c", "cargo midplane size b.c"]);
    assert_eq!(found[0].expected, ["[0] ... seconds, 0 errors"]);
    assert!(is_line(&found[0].expected[0], "[0] killer: 0.1 seconds, 0 errors"));
    assert!(!is_line(&found[0].expected[0], "[0] killer: 0.1 seconds, 1 errors"));
    assert!(!is_line("sum 6", "sum 66") && is_line("sum ...", "sum 66"));
    assert_eq!(anchor("## `A b`, and (c)"), "a-b-and-c");
}
