//! Budgets for names and prose (CONTRIBUTING.md): Markdown, doc comments, line comments, and the names of types and
//! functions.
//!
//! The budgets are those of well-kept code bases in this field. They detect a return to private words. They do not
//! replace a reader.

mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use midplane_harness::root;
use text::{Kind, Sentences, count_words, is_word, paragraphs};

/// Verbs of the field. Prose that avoids them uses vague verbs instead.
const FIELD_VERBS: [&str; 24] = [
    "use",
    "enable",
    "disable",
    "create",
    "provide",
    "require",
    "support",
    "configure",
    "initialize",
    "implement",
    "allocate",
    "transmit",
    "receive",
    "enqueue",
    "dequeue",
    "complete",
    "return",
    "contain",
    "specify",
    "check",
    "update",
    "handle",
    "initialise",
    "poll",
];

/// Words that an engineer does not search for.
const PRIVATE_WORDS: [&str; 30] = [
    "lest",
    "anew",
    "besides",
    "whatever",
    "whomever",
    "oneself",
    "beside",
    "folder",
    "folders",
    "greatest",
    "least",
    "mended",
    "spoil",
    "spoils",
    "spoiled",
    "lend",
    "lends",
    "lent",
    "figures",
    "leave",
    "leaves",
    "calm",
    "hearken",
    "heeded",
    "somebody",
    "nobody",
    "whoever",
    "wherein",
    "whereby",
    "whosoever",
];

/// Returns the files of the repository with this suffix, without tests and fuzz targets.
fn files(suffix: &str) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let listed = match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8(output.stdout).expect("paths");
            text.lines().map(PathBuf::from).collect()
        }
        // An archive of the sources has no history.
        _ => walk(root()),
    };
    let is_product = |path: &PathBuf| {
        let mut parts = path.components().map(|part| part.as_os_str());
        path.extension().is_some_and(|end| end == suffix)
            && parts.all(|part| !["tests", "target", "fuzz"].iter().any(|skipped| part == *skipped))
            && root().join(path).is_file()
    };
    let files: Vec<PathBuf> = listed.into_iter().filter(is_product).collect();
    assert!(files.len() > 10, "{} files with the suffix {suffix}", files.len());
    files
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    let found = entries.flat_map(|path| {
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden || path.ends_with("target") {
            Vec::new()
        } else if path.is_dir() {
            walk(&path)
        } else {
            vec![path.strip_prefix(root()).expect("below the root").to_path_buf()]
        }
    });
    found.collect()
}

/// Counts of a body of prose.
#[derive(Default, Debug)]
struct Counts {
    sentences: usize,
    words: usize,
    starts_with_what: usize,
    what: usize,
    relatives: usize,
    over_thirty: usize,
    field_verbs: usize,
    private: usize,
}

impl Counts {
    fn add(&mut self, sentence: &str) {
        let words: Vec<String> = { sentence.split(|c: char| !is_word(c)) }
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let count = |set: &[&str]| { words.iter() }.filter(|word| set.contains(&word.as_str())).count();
        self.sentences += 1;
        self.words += words.len();
        self.over_thirty += usize::from(words.len() > 30);
        self.relatives += count(&[
            "which", "who", "whom", "whose", "what", "whatever", "wherein", "whereby",
        ]);
        if !sentence.ends_with('?') {
            let first = words.first().map_or("", String::as_str);
            let is_what = ["what", "who", "whose", "whatever", "whoever"].contains(&first);
            self.starts_with_what += usize::from(is_what);
            self.what += count(&["what", "whatever"]);
        }
        self.field_verbs += words.iter().filter(|word| is_field_verb(word)).count();
        self.private += count(&PRIVATE_WORDS);
    }

    /// Returns every exceeded budget.
    fn faults(&self, kind: &str) -> Vec<String> {
        let of_words = |count: usize| 1000.0 * count as f64 / self.words.max(1) as f64;
        let of_sentences = |count: usize| 100.0 * count as f64 / self.sentences.max(1) as f64;
        let mut faults = Vec::new();
        let mut limit = |name: &str, value: f64, most: f64| {
            if value > most {
                faults.push(format!("{kind}: {name}: {value:.2}, at most {most}"));
            }
        };
        limit(
            "sentences that start with What, Who or Whose, %",
            of_sentences(self.starts_with_what),
            0.3,
        );
        limit("\"what\" per 1,000 words", of_words(self.what), 2.0);
        limit("which, who, whose, what per 1,000 words", of_words(self.relatives), 7.0);
        limit(
            "words per sentence",
            self.words as f64 / self.sentences.max(1) as f64,
            16.0,
        );
        limit("sentences over 30 words, %", of_sentences(self.over_thirty), 6.0);
        limit("private words per 1,000 words", of_words(self.private), 2.0);
        let verbs = of_words(self.field_verbs);
        if verbs < 18.0 {
            faults.push(format!(
                "{kind}: verbs of the field per 1,000 words: {verbs:.2}, at least 18"
            ));
        }
        faults
    }
}

/// Checks for a verb of the field in any of its forms.
fn is_field_verb(word: &str) -> bool {
    let stems = [
        word,
        word.strip_suffix('s').unwrap_or(word),
        word.strip_suffix("es").unwrap_or(word),
    ];
    let past = word.strip_suffix("ed");
    let is_stem = |stem: &str| FIELD_VERBS.contains(&stem);
    stems.into_iter().any(is_stem)
        || word.strip_suffix('d').is_some_and(is_stem)
        || past.is_some_and(is_stem)
        || word == "using"
        || word == "specified"
        || word == "specifies"
}

#[test]
fn prose_keeps_its_budgets() {
    let mut counts: [Counts; 3] = Default::default();
    for (suffix, files) in [("md", files("md")), ("rs", files("rs"))] {
        for file in files {
            let text = fs::read_to_string(root().join(&file)).expect("a text");
            for (kind, paragraph) in paragraphs(suffix, &text) {
                let of_kind = &mut counts[kind as usize];
                Sentences::new(&paragraph).for_each(|sentence| of_kind.add(&sentence));
            }
        }
    }
    let [markdown, docs, lines] = &counts;
    assert!(
        markdown.words > 10_000 && docs.words > 50_000 && lines.words > 5_000,
        "{counts:?}"
    );
    let mut faults = markdown.faults("Markdown");
    faults.extend(docs.faults("doc comments"));
    faults.extend(lines.faults("line comments"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Prints nothing if the count itself is right.
#[test]
fn sentences_are_counted() {
    let mut counts = Counts::default();
    let text = "What leaves is sent. It uses `code`, e.g. a queue; the queue contains 3 entries. Which one is it?";
    Sentences::new(text).for_each(|sentence| counts.add(&sentence));
    assert_eq!((counts.sentences, counts.starts_with_what), (3, 1), "{counts:?}");
    assert_eq!(
        (counts.field_verbs, counts.private, counts.relatives),
        (2, 1, 2),
        "{counts:?}"
    );
    assert!(!counts.faults("text").is_empty());
    let blocks: Vec<_> = paragraphs("rs", "/// One.\n/// Two.\nfn f() {}\n// Three.\n//! Four.\n").collect();
    let kinds: Vec<Kind> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [Kind::Doc, Kind::Line, Kind::Doc]);
    assert_eq!(count_words(&blocks[0].1), 2);
}

/// Names that describe nothing. A function is a verb with its object.
const VAGUE: [&str; 17] = [
    "of", "leave", "leaves", "go_on", "goes_on", "look", "looks", "take", "told", "some", "many", "whole", "settle",
    "let", "give", "given", "said",
];

/// Returns the names after each occurrence of a keyword.
fn names_after<'t>(code: &'t str, keyword: &'t str) -> impl Iterator<Item = &'t str> {
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let is_start = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name = &code[at + keyword.len()..];
        let end = name
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
        (is_start && end > 0).then(|| &name[..end])
    })
}

#[test]
fn names_keep_their_budgets() {
    let (mut types, mut of_one_word, mut functions, mut vague, mut booleans, mut tuples) = (0, 0, 0, Vec::new(), 0, 0);
    for file in files("rs") {
        let text = fs::read_to_string(root().join(&file)).expect("a text");
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let code = lines.clone().collect::<Vec<_>>().join("\n");
        for keyword in ["struct ", "enum ", "trait ", "type "] {
            for name in names_after(&code, keyword).filter(|name| name.starts_with(char::is_uppercase)) {
                let humps = name.chars().skip(1).zip(name.chars());
                types += 1;
                of_one_word += usize::from(
                    !humps
                        .into_iter()
                        .any(|(c, before)| c.is_uppercase() && !before.is_uppercase()),
                );
            }
        }
        for name in names_after(&code, "fn ") {
            functions += 1;
            if VAGUE.contains(&name) {
                vague.push(format!("{}: {name}", file.display()));
            }
        }
        let flat = code.split_whitespace().collect::<Vec<_>>().join(" ");
        for (at, _) in flat.match_indices("match ") {
            let arms = flat[at..].split_once('{').map_or("", |(_, arms)| arms.trim_start());
            booleans += usize::from(arms.starts_with("true =>") || arms.starts_with("false =>"));
        }
        let is_tuple = |line: &str| {
            let line = line.trim_start();
            line.starts_with('(')
                && line
                    .split_once("): (")
                    .is_some_and(|(names, _)| names[1..].contains(", "))
        };
        tuples += lines.filter(|line| is_tuple(line)).count();
    }
    assert!(types > 1500 && functions > 8000, "{types} types, {functions} functions");
    assert!(of_one_word * 2 <= types, "{of_one_word} of {types} types are one word");
    assert!(
        vague.len() * 1000 <= functions,
        "{} of {functions}:\n{}",
        vague.len(),
        vague.join("\n")
    );
    assert!(booleans <= 10, "{booleans} matches on booleans");
    assert!(tuples <= 10, "{tuples} tuple parameters");
}

/// Terms of the field, for which a reader searches. Each has its page and its code.
const SEARCHES: [&str; 13] = [
    "fast path",
    "loopback",
    "self-send",
    "handshake",
    "piggyback",
    "ring buffer",
    "round robin",
    "flow control",
    "state machine",
    "interrupt handler",
    "tutorial",
    "glossary",
    "limitation",
];

#[test]
fn terms_of_the_field_are_found() {
    let contents = |suffix| {
        let texts = files(suffix)
            .into_iter()
            .map(|file| fs::read_to_string(root().join(file)).expect("a text"));
        texts
            .map(|text| text.to_lowercase().replace(['\n', '-'], " "))
            .collect::<Vec<_>>()
    };
    let (pages, code) = (contents("md"), contents("rs"));
    let mut missing = Vec::new();
    for term in SEARCHES {
        let term = term.replace('-', " ");
        if !pages.iter().any(|page| page.contains(&term)) {
            missing.push(format!("no page contains \"{term}\""));
        }
        let is_about_docs = ["tutorial", "glossary"].contains(&term.as_str());
        if !is_about_docs && !code.iter().any(|text| text.contains(&term)) {
            missing.push(format!("no source contains \"{term}\""));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
