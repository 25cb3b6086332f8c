//! Reads the modules of a crate from its files: imports, re-exports and definitions of each.
//!
//! The parser is no compiler. It tokenizes words and brackets of all configurations, skips test code, and expands no
//! macros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Path from a crate's root, without `crate`.
pub type Names = Vec<String>;

/// Module: a file, or a block in one.
#[derive(Default, Debug)]
pub struct Module {
    /// File that contains it.
    pub file: PathBuf,
    /// Imports, as paths from the crate's root.
    pub imports: BTreeSet<Names>,
    /// Re-exports by name; a name may have one target per board.
    reexports: BTreeMap<String, BTreeSet<Names>>,
    /// Modules whose names are all re-exported.
    globs: Vec<Names>,
    /// Names defined here, including child modules.
    defined: BTreeSet<String>,
}

/// Modules of a crate, by path.
pub type Modules = BTreeMap<Names, Module>;

/// Reads the crate with this root file.
pub fn read_crate(root: &Path) -> Modules {
    let mut modules = Modules::new();
    let dir = root.parent().expect("a file").to_path_buf();
    read_file(root, &dir, Names::new(), &mut modules);
    modules
}

/// Reads the module `path` from `file`; its children's files are in `dir`.
fn read_file(file: &Path, dir: &Path, path: Names, modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    for child in read_text(&text, file, path.clone(), modules) {
        let name = child.last().expect("a name");
        let mut below = dir.to_path_buf();
        below.extend(&child[path.len()..child.len() - 1]);
        let flat = below.join(format!("{name}.rs"));
        let file = if flat.is_file() {
            flat
        } else {
            below.join(name).join("mod.rs")
        };
        read_file(&file, &below.join(name), child, modules);
    }
}

/// Reads the module `path` and its inline modules from the text of `file`. Returns the children with separate files.
pub fn read_text(text: &str, file: &Path, path: Names, modules: &mut Modules) -> Vec<Names> {
    let words = words(text);
    let mut reader = Reader {
        words: &words,
        at: 0,
        file,
        modules,
        children: Vec::new(),
    };
    reader.block(path);
    reader.children
}

/// Returns the words and brackets of a file, without comments, strings, characters and lifetimes.
fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    let get = |at: usize| chars.get(at).copied().unwrap_or('\0');
    while at < chars.len() {
        let c = chars[at];
        match c {
            '/' if get(at + 1) == '/' => {
                while at < chars.len() && chars[at] != '\n' {
                    at += 1;
                }
            }
            '/' if get(at + 1) == '*' => {
                let mut depth = 0;
                while at < chars.len() {
                    match (get(at), get(at + 1)) {
                        ('/', '*') => (depth, at) = (depth + 1, at + 2),
                        ('*', '/') => (depth, at) = (depth - 1, at + 2),
                        _ => at += 1,
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            '"' => at = behind_text(&chars, at),
            'r' | 'b' | 'c' if raw_text(&chars, at).is_some() => {
                at = raw_text(&chars, at).expect("just seen");
            }
            '\'' => {
                // A character literal ends with the next quotation mark or is escaped; anything else is a lifetime.
                if get(at + 1) == '\\' {
                    at += 3;
                    while at < chars.len() && chars[at] != '\'' {
                        at += 1;
                    }
                    at += 1;
                } else if get(at + 2) == '\'' {
                    at += 3;
                } else {
                    at += 2;
                }
            }
            c if c.is_alphabetic() || c == '_' => {
                let start = at;
                while get(at).is_alphanumeric() || get(at) == '_' {
                    at += 1;
                }
                words.push(chars[start..at].iter().collect());
            }
            ':' if get(at + 1) == ':' => {
                words.push("::".into());
                at += 2;
            }
            c => {
                if !c.is_whitespace() {
                    words.push(c.to_string());
                }
                at += 1;
            }
        }
    }
    words
}

/// Returns the index after the string whose quotation mark is at `at`.
fn behind_text(chars: &[char], mut at: usize) -> usize {
    at += 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the index after the raw or byte string that starts at `at`, or `None` if there is none.
fn raw_text(chars: &[char], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|at| chars.get(at));
    if before.is_some_and(|c| c.is_alphanumeric() || *c == '_') {
        return None;
    }
    let letters = chars[at..].iter().take_while(|c| "rbc".contains(**c)).count();
    let hashes = chars[at + letters..].iter().take_while(|c| **c == '#').count();
    let start = at + letters + hashes;
    (chars.get(start) == Some(&'"')).then_some(())?;
    if !chars[at..at + letters].contains(&'r') {
        return (hashes == 0).then(|| behind_text(chars, start));
    }
    let mut end = start + 1;
    while end < chars.len() {
        let is_end = chars[end] == '"' && chars[end + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
        end += 1;
        if is_end {
            break;
        }
    }
    Some(end + hashes)
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    file: &'a Path,
    modules: &'a mut Modules,
    children: Vec<Names>,
}

/// Keywords that precede a defined name.
const DEFINES: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "const",
    "static",
    "type",
    "macro_rules",
];

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// Reads a module up to the end of its block.
    fn block(&mut self, path: Names) {
        let module = Module {
            file: self.file.to_path_buf(),
            ..Module::default()
        };
        self.modules.insert(path.clone(), module);
        let mut uses = Vec::new();
        let (mut depth, mut is_test, mut is_public) = (0, false, false);
        while self.at < self.words.len() {
            let word = self.word(self.at).to_string();
            match word.as_str() {
                "#" => {
                    is_test |= self.attribute();
                    continue;
                }
                "mod" if depth == 0 => {
                    let name = self.word(self.at + 1).to_string();
                    let has_block = self.word(self.at + 2) == "{";
                    self.at += 3;
                    let child = [&path[..], std::slice::from_ref(&name)].concat();
                    if is_test {
                        if has_block {
                            self.skip();
                        }
                    } else {
                        self.defined(&path, name);
                        if has_block {
                            self.block(child)
                        } else {
                            self.children.push(child)
                        }
                    }
                    (is_test, is_public) = (false, false);
                    continue;
                }
                // Otherwise `use<..>` specifies captured lifetimes.
                "use" if self.word(self.at + 1) != "<" => {
                    self.at += 1;
                    let mut leaves = Vec::new();
                    self.tree(Names::new(), &mut leaves);
                    if !is_test {
                        let is_public = is_public && depth == 0;
                        uses.extend(leaves.into_iter().map(|leaf| (leaf, is_public)));
                    }
                    (is_test, is_public) = (false, false);
                    continue;
                }
                // A path of this crate, or of a child module; `add` drops those of other crates.
                word if self.word(self.at + 1) == "::"
                    && word.starts_with(char::is_alphabetic)
                    && !["$", "::"].contains(&self.word(self.at.wrapping_sub(1))) =>
                {
                    let mut names = vec![word.to_string()];
                    while self.word(self.at + 1) == "::"
                        && self
                            .word(self.at + 2)
                            .starts_with(|c: char| c.is_alphabetic() || c == '_')
                    {
                        names.push(self.word(self.at + 2).to_string());
                        self.at += 2;
                    }
                    if !is_test {
                        let name = names.last().expect("a name").clone();
                        uses.push(((names, name), false));
                    }
                }
                "pub" => is_public = true,
                "{" if is_test && depth == 0 => {
                    // Skips the body of a test-only function or similar item.
                    self.at += 1;
                    self.skip();
                    (is_test, is_public) = (false, false);
                    continue;
                }
                "{" => depth += 1,
                "}" if depth == 0 => {
                    self.at += 1;
                    break;
                }
                "}" => {
                    depth -= 1;
                    (is_test, is_public) = (false, false);
                }
                ";" => (is_test, is_public) = (false, false),
                word if depth == 0 && DEFINES.contains(&word) => {
                    let skipped = usize::from(self.word(self.at + 1) == "!" || self.word(self.at + 1) == "mut");
                    let name = self.word(self.at + 1 + skipped).to_string();
                    if !DEFINES.contains(&name.as_str()) {
                        self.defined(&path, name);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.add(&path, uses);
    }

    fn defined(&mut self, path: &Names, name: String) {
        let module = self.modules.get_mut(path).expect("it is being read");
        module.defined.insert(name);
    }

    /// Skips an attribute. Returns whether it restricts an item to tests.
    fn attribute(&mut self) -> bool {
        self.at += 1;
        self.at += usize::from(self.word(self.at) == "!");
        if self.word(self.at) != "[" {
            return false;
        }
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.word(self.at) {
                "[" => depth += 1,
                "]" => depth -= 1,
                "" => break,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let words: Vec<&str> = self.words[start..self.at].iter().map(String::as_str).collect();
        matches!(
            words[..],
            ["[", "cfg", "(", "test", ..] | ["[", "cfg", "(", "all", "(", "test", ..]
        )
    }

    /// Skips the rest of a block.
    fn skip(&mut self) {
        let mut depth = 1;
        while depth > 0 && self.at < self.words.len() {
            match self.word(self.at) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a tree of imports after `prefix`. Appends the imported paths with their local names.
    fn tree(&mut self, prefix: Names, leaves: &mut Vec<(Names, String)>) {
        let mut names = prefix;
        loop {
            match self.word(self.at) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.word(self.at), "}" | ";" | "") {
                        self.tree(names.clone(), leaves);
                        self.at += usize::from(self.word(self.at) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "::" => self.at += 1,
                "as" => {
                    let name = self.word(self.at + 1).to_string();
                    self.at += 2;
                    leaves.push((names, name));
                    return;
                }
                "," | "}" | ";" | "" => {
                    let own = names.last().is_some_and(|last| last == "self") && names.len() > 1;
                    if own {
                        names.pop();
                    }
                    let name = names.last().cloned().unwrap_or_default();
                    leaves.push((names, name));
                    return;
                }
                word => {
                    names.push(word.to_string());
                    self.at += 1;
                }
            }
        }
    }

    /// Adds a module's imports, after its children are known.
    fn add(&mut self, path: &Names, uses: Vec<((Names, String), bool)>) {
        for ((names, name), is_public) in uses {
            let module = self.modules.get_mut(path).expect("it has been read");
            let Some(names) = from_root(path, names, &module.defined) else {
                continue;
            };
            match (is_public, names.last().map(String::as_str)) {
                (true, Some("*")) => module.globs.push(names[..names.len() - 1].to_vec()),
                (true, _) => drop(module.reexports.entry(name).or_default().insert(names)),
                (false, _) => drop(module.imports.insert(names)),
            }
        }
    }
}

/// Returns a path of the module `of` relative to the root, or `None` for other crates.
fn from_root(of: &Names, names: Names, own: &BTreeSet<String>) -> Option<Names> {
    let mut names = names.into_iter().peekable();
    let mut path = match names.peek()?.as_str() {
        "crate" => Names::new(),
        "self" | "super" => of.clone(),
        first if own.contains(first) => return Some(of.iter().cloned().chain(names).collect()),
        _ => return None,
    };
    while let Some(word) = names.next_if(|word| ["crate", "self", "super"].contains(&word.as_str())) {
        if word == "super" {
            path.pop();
        }
    }
    path.extend(names);
    Some(path)
}

/// Returns the modules that define `names`; follows re-exports.
pub fn defining<'m>(modules: &'m Modules, names: &[String]) -> Vec<&'m Module> {
    let mut found = Vec::new();
    find(modules, names, 8, &mut found);
    found
}

fn find<'m>(modules: &'m Modules, names: &[String], deep: usize, found: &mut Vec<&'m Module>) {
    let (Some(deep), Some(mut module)) = (deep.checked_sub(1), modules.get(&[][..])) else {
        return;
    };
    for (at, name) in names.iter().enumerate() {
        if let Some(child) = modules.get(&names[..=at]) {
            module = child;
            continue;
        }
        if module.defined.contains(name) {
            break;
        }
        let has = |there: &Module| there.defined.contains(name) || there.reexports.contains_key(name);
        let globs = module.globs.iter();
        let globs = globs.filter(|glob| modules.get(*glob).is_some_and(has));
        let globs = globs.map(|glob| [&glob[..], &names[at..]].concat());
        let named = module.reexports.get(name).into_iter().flatten();
        let named = named.map(|target| [&target[..], &names[at + 1..]].concat());
        let targets: Vec<Names> = named.chain(globs).collect();
        if targets.is_empty() {
            break;
        }
        for target in targets {
            find(modules, &target, deep, found);
        }
        return;
    }
    found.push(module);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Names {
        path.split("::").map(String::from).collect()
    }

    /// Reads a crate with these modules, one file per path.
    fn read(files: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::new();
        for (path, text) in files {
            let file = PathBuf::from(if path.is_empty() { "lib" } else { path });
            let path = match *path {
                "" => Names::new(),
                path => names(path),
            };
            read_text(text, &file, path, &mut modules);
        }
        modules
    }

    fn imports(text: &str) -> Vec<String> {
        let modules = read(&[("a", text)]);
        let imports = { modules[&names("a")].imports.iter() }.map(|path| path.join("::"));
        imports.collect()
    }

    #[test]
    fn imports_of_every_form_are_read() {
        let text = "use crate::b::{C, d::{self, E as F}, *}; use super::g; use self::h::I; use core::fmt;
            pub(crate) mod own; use own::J; fn f() { use crate::k; crate::l::m(super::n); }
            fn g<'a>(x: &'a u8) -> impl Sized + use<'a> { let c = '\"'; let d = '\\''; x }
            struct S(own::o::P<u8>); impl S { fn h() { own::q(); core::own::r(); Self::own::s() } }";
        let expected = [
            "a::h::I",
            "a::own::J",
            "a::own::o::P",
            "a::own::q",
            "b::*",
            "b::C",
            "b::d",
            "b::d::E",
            "g",
            "k",
            "l::m",
            "n",
        ];
        assert_eq!(imports(text), expected);
    }

    #[test]
    fn what_is_no_code_and_what_only_tests_have_is_left_out() {
        let text = "// use crate::a;\n/* use /* crate::b; */ use crate::c; */
            const T: &str = \"use crate::d;\"; const R: &str = r#\"\" use crate::e;\"#;
            #[cfg(test)] use crate::f; #[cfg(test)] mod tests { use super::*; use crate::g; }
            #[cfg(test)] fn h() { crate::h::i(); } #[cfg(all(test, unix))] mod more;
            macro_rules! m { () => { $crate::j::k() }; }
            use crate::last;";
        assert_eq!(imports(text), ["last"]);
        let modules = read(&[("a", text)]);
        assert_eq!(modules.len(), 1);
    }

    #[test]
    fn blocks_are_modules_of_their_own() {
        let modules = read(&[("a", "mod b { use super::c; pub mod d { use super::super::e; } }")]);
        let imports = |path: &str| &modules[&names(path)].imports;
        assert_eq!(*imports("a::b"), BTreeSet::from([names("a::c")]));
        assert_eq!(*imports("a::b::d"), BTreeSet::from([names("a::e")]));
    }

    #[test]
    fn a_name_is_found_where_it_is_defined() {
        let modules = read(&[
            (
                "",
                "mod a; mod b; mod c; pub use a::A; pub use b::*; pub use c as d;
                #[cfg(unix)] pub use b::f as here; #[cfg(not(unix))] pub use c::C as here;",
            ),
            ("a", "pub struct A; pub use super::c::C as Renamed;"),
            ("b", "pub fn f() {}"),
            ("c", "pub enum C {}"),
        ]);
        let file = |path: &str| {
            let found = defining(&modules, &names(path));
            let files = found.iter().map(|module| module.file.display().to_string());
            files.collect::<Vec<_>>().join(" ")
        };
        for (path, expected) in [
            ("A", "a"),
            ("f", "b"),
            ("d::C", "c"),
            ("a::Renamed", "c"),
            ("a::A::new", "a"),
            ("a::*", "a"),
            ("here", "b c"),
            ("unknown", "lib"),
        ] {
            assert_eq!(file(path), expected, "{path}");
        }
    }
}
