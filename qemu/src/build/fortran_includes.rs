//! Files that a Fortran source includes. The compiler lists them only for sources that it preprocesses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of files that one source includes. The program of a source with more is built each time.
const MAX_FILES: usize = 1000;

/// Returns the files that a source includes, directly and through others: in its directory or in the current one.
/// Returns `None` if one is not found, for example because its name is a macro or its directory is in an option.
/// `provided` files are not searched for.
pub(super) fn included_files(source: &Path, provided: &[&str]) -> Option<BTreeSet<PathBuf>> {
    let directory = source.parent().unwrap_or(Path::new(""));
    let mut found = BTreeSet::new();
    let mut unread = vec![source.to_path_buf()];
    while let Some(file) = unread.pop() {
        let text = String::from_utf8_lossy(&fs::read(&file).ok()?).into_owned();
        for line in text.lines() {
            let Some(name) = included_name(line) else {
                continue;
            };
            let name = name?;
            if provided.contains(&name) {
                continue;
            }
            let beside = file.parent().unwrap_or(Path::new(""));
            let path = [beside, directory, Path::new("")]
                .into_iter()
                .map(|directory| directory.join(name))
                .find(|path| path.is_file())?;
            if found.insert(path.clone()) {
                unread.push(path);
            }
            if found.len() > MAX_FILES {
                return None;
            }
        }
    }
    Some(found)
}

/// Returns the file that a line includes: by Fortran's `include`, or by the preprocessor. The inner `None` is a name
/// that is not written in the line.
fn included_name(line: &str) -> Option<Option<&str>> {
    const INCLUDE: &str = "include";
    let line = line.trim_start();
    let (is_directive, words) = match line.strip_prefix('#') {
        Some(words) => (true, words.trim_start()),
        None => (false, line),
    };
    let word = words.get(..INCLUDE.len())?;
    if !word.eq_ignore_ascii_case(INCLUDE) {
        return None;
    }
    let rest = words[INCLUDE.len()..].trim_start();
    let quote = rest.chars().next()?;
    let end = match quote {
        '\'' | '"' => quote,
        '<' if is_directive => '>',
        _ if is_directive => return Some(None),
        // A variable of this name.
        _ => return None,
    };
    Some(rest[1..].split_once(end).map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;

    #[test]
    fn the_included_name_is_read_from_a_line() {
        for (line, name) in [
            ("      include 'mpif.h'", Some(Some("mpif.h"))),
            ("INCLUDE \"a b.inc\" ! comment", Some(Some("a b.inc"))),
            ("# include <sizes.h>", Some(Some("sizes.h"))),
            ("#include SIZES", Some(None)),
            ("include 'unfinished", Some(None)),
            ("include = 3", None),
            ("includes('x')", None),
            ("! include 'x'", None),
            ("inclu", None),
            ("é include 'x'", None),
        ] {
            assert_eq!(included_name(line), name, "{line}");
        }
    }

    #[test]
    fn included_files_are_followed() {
        let dir = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.0.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let source = file("a.f90", "include 'mpif.h'\ninclude 'one.inc'\n");
        let one = file("one.inc", "include 'two.inc'\ninclude 'one.inc'\n");
        assert_eq!(included_files(&source, &["mpif.h"]), None, "two.inc is not found");
        let two = file("two.inc", "integer :: i\n");
        let both = Some([one, two].into());
        assert_eq!(included_files(&source, &["mpif.h"]), both);
        assert_eq!(included_files(&source, &[]), None);
    }
}
