//! The table against what has to agree with it: the header, the profiling interface's header, and the sources.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::standard::{CHAPTERS, LIMITS, MISSING};
use super::*;

const HEADER: &str = include_str!("../../../include/mpi.h");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file that is made from the table is as it would be made now.
#[track_caller]
fn check_generated(path: &Path, wanted: &str) {
    if std::env::var_os("MIDPLANE_WRITE").is_some() {
        fs::write(path, wanted).expect("a file that can be written");
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(
        there == wanted,
        "{} is not what the signatures make of it; MIDPLANE_WRITE=1 cargo test -p mpi-adi signatures writes it anew",
        path.display()
    );
}

/// The header without comments and preprocessor lines, each run of white space a blank.
fn declarations() -> String {
    let mut text = String::new();
    let mut rest = HEADER;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").expect("an end of the comment").1;
    }
    text.push_str(rest);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

#[test]
fn the_header_declares_every_function_as_it_is() {
    let declarations = declarations();
    for signature in all() {
        let declared = signature.to_string();
        assert!(declarations.contains(&declared), "{declared}");
    }
    // Nothing else: every other "MPI_X(" is a type's, or says that a function was removed.
    let removed = declarations.matches("MIDPLANE_REMOVED(").count();
    let calls = declarations.matches("(").count() - removed;
    let is_function_type =
        |text: &&str| text.trim_start().starts_with("typedef") && text.contains('(');
    let types = declarations.split(';').filter(is_function_type).count();
    assert_eq!(calls, all().count() + types);
}

/// A declaration in lines of at most 110 characters.
fn wrapped(declaration: &str) -> String {
    let indent = declaration.find('(').map_or(0, |at| at + 1);
    let (mut text, mut column) = (String::new(), 0);
    for word in declaration.split_inclusive(", ") {
        if column > 0 && column + word.trim_end().len() > 110 {
            text.truncate(text.trim_end().len());
            write!(text, "\n{:indent$}", "").expect("a string");
            column = indent;
        }
        text.push_str(word);
        column += word.len();
    }
    text
}

#[test]
fn the_profiling_header_declares_every_function_by_its_other_name() {
    let mut text = String::from(
        "/* The profiling interface (MPI-3.1 section 14.2): every function of mpi.h by its other name. A program that\n \
         * defines an MPI function itself calls by it what Midplane has under that name. Made from the table of\n \
         * signatures by its test. */\n",
    );
    for signature in all() {
        let declared = signature.to_string().replacen("MPI_", "PMPI_", 2);
        // The result's type may begin with the same letters.
        let declared = match signature.result.before.starts_with("MPI_") {
            true => declared.replacen("PMPI_", "MPI_", 1),
            false => signature.to_string().replacen("MPI_", "PMPI_", 1),
        };
        writeln!(text, "{}", wrapped(&declared)).expect("a string");
    }
    check_generated(&root().join("include/pmpi.h"), &text);
}

/// The sources of the binding.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn every_function_is_found_by_its_name_and_has_the_one_that_profilers_call() {
    let mut paths = Vec::new();
    sources(&root().join("src/c"), &mut paths);
    let mut found = 0;
    for path in paths {
        let source = fs::read_to_string(&path).expect("a source");
        let mut rest = source.as_str();
        while let Some((before, after)) = rest.split_once("extern \"C\" fn MPI_") {
            rest = after;
            let (name, _) = after.split_once('(').expect("parameters");
            let export = format!("#[unsafe(export_name = \"PMPI_{name}\")]");
            let line = before.trim_end_matches("unsafe ").trim_end_matches("pub ");
            assert!(
                line.trim_end().ends_with(&export),
                "{}: MPI_{name} needs {export}",
                path.display()
            );
            let is_it = |signature: &&Signature| signature.name[4..] == *name;
            assert!(all().any(|signature| is_it(&signature)), "MPI_{name}");
            found += 1;
        }
    }
    assert!(found > 150, "{found}");
}

#[test]
fn every_function_is_there_once_and_says_where_it_is_described() {
    let mut names: Vec<&str> = all().map(|signature| signature.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for Signature { name, section, .. } in all() {
        let parts: Vec<u32> = section.split('.').flat_map(str::parse).collect();
        // Chapter 9 has no sections.
        assert!(
            (2..=3).contains(&parts.len()) || *section == "9",
            "{name}: {section}"
        );
        assert!((3..=17).contains(&parts[0]), "{name}: {section}");
    }
}

/// A function of the standard, for the table in the documentation.
struct Row {
    name: &'static str,
    section: &'static str,
    state: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Works,
    Limited,
    Refused,
    Missing,
}

fn rows() -> Vec<Row> {
    let there = SIGNATURES.iter().map(|signature| {
        let limit = LIMITS.iter().find(|(name, _)| *name == signature.name);
        let (state, kind) = match limit {
            Some((_, limit)) => (format!("works; {limit}"), Kind::Limited),
            None => ("works".to_string(), Kind::Works),
        };
        Row {
            name: signature.name,
            section: signature.section,
            state,
            kind,
        }
    });
    let refused = crate::c::UNSUPPORTED.iter().map(|signature| Row {
        name: signature.name,
        section: signature.section,
        state: "links; MPI_ERR_UNSUPPORTED_OPERATION".to_string(),
        kind: Kind::Refused,
    });
    let missing = MISSING.iter().flat_map(|(why, names)| {
        let names = names
            .iter()
            .map(move |(section, name)| (why, section, name));
        names.map(|(why, section, name)| Row {
            name,
            section,
            state: format!("missing: {why}"),
            kind: Kind::Missing,
        })
    });
    let is_there = |name: &str| all().any(|signature| signature.name == name);
    let missing = missing.filter(|row| !is_there(row.name));
    there.chain(refused).chain(missing).collect()
}

#[test]
fn the_documentation_has_every_function_as_it_is() {
    let rows = rows();
    let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
    let mut text = format!(
        "# MPI-3.1, function by function\n\n\
         Made from the table of signatures (`mpi-adi/src/c/signatures.rs`) by its test, which fails when this page does\n\
         not say what is there. Constants and types are all declared in `mpi-adi/include/mpi.h`, with the limits of what\n\
         they belong to. Every function has its name of the profiling interface, too (`PMPI_`, section 14.2).\n\n\
         Of {} functions {} work, {} work with limits, {} link and return an error, and {} are missing. A program that\n\
         calls one that returns an error is told so, with the line, when it is linked; one that is missing does not link.\n",
        rows.len(),
        count(Kind::Works),
        count(Kind::Limited),
        count(Kind::Refused),
        count(Kind::Missing),
    );
    let chapter_of = |row: &Row| row.section.split('.').next().map(str::to_string);
    let mut told = 0;
    for (chapter, title) in CHAPTERS {
        let mut members: Vec<&Row> = rows
            .iter()
            .filter(|row| chapter_of(row) == Some(chapter.to_string()))
            .collect();
        if members.is_empty() {
            continue;
        }
        let key = |row: &&Row| {
            let numbers: Vec<u32> = row.section.split('.').flat_map(str::parse).collect();
            (numbers, row.name)
        };
        members.sort_by_key(key);
        writeln!(
            text,
            "\n## {chapter}. {title}\n\n| function | section | |\n|---|---|---|"
        )
        .expect("a string");
        for Row {
            name,
            section,
            state,
            ..
        } in members
        {
            writeln!(text, "| `{name}` | {section} | {state} |").expect("a string");
            told += 1;
        }
    }
    assert_eq!(told, rows.len(), "each function is in a chapter");
    for (name, _) in LIMITS {
        assert!(SIGNATURES.iter().any(|s| s.name == *name), "{name}");
    }
    check_generated(&root().join("../docs/mpi.md"), &text);
}
