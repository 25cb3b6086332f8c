//! What ARCHITECTURE.md says of a message's way is so: each file is there, comes once, and has the functions that are
//! named beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The text of a file, or of all files of a folder.
fn text(path: &Path) -> String {
    if path.is_file() {
        return fs::read_to_string(path).unwrap();
    }
    let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    entries.map(|entry| text(&entry.unwrap().path())).collect()
}

/// Whether the text defines the function, or implements the trait.
fn defines(text: &str, name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap();
    let starts = [
        format!("fn {name}("),
        format!("fn {name}<"),
        format!(" {name} for "),
    ];
    starts.iter().any(|start| text.contains(start))
}

#[test]
fn a_messages_way_is_as_it_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let told = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, told) = told.split_once("## Reading a message's way").unwrap();
    let rows = told.lines().skip_while(|line| !line.starts_with("| file"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let (mut files, mut names) = (BTreeSet::new(), 0);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let first = root.join(quoted(cells[0]).next().expect("a file"));
        let beside = |name: &str| first.with_file_name(name);
        let others = quoted(cells[0]).skip(1).map(beside);
        let here: Vec<PathBuf> = [first.clone()].into_iter().chain(others).collect();
        let text: String = here.iter().map(|path| text(path)).collect();
        for path in here {
            assert!(files.insert(path.clone()), "{} comes twice", path.display());
        }
        for name in cells[1..].iter().flat_map(|cell| quoted(cell)) {
            names += 1;
            let is_there = match name.ends_with(".rs") {
                true => beside(name).is_file() || root.join(name).is_file(),
                false => defines(&text, name),
            };
            assert!(is_there, "`{name}` is not where this row has it: {row}");
        }
    }
    assert!(
        files.len() > 20 && names > 30,
        "{} files, {names} names",
        files.len()
    );
}
