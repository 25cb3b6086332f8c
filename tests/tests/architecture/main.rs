//! Checks the statements of ARCHITECTURE.md. For a message's path: each file exists, is listed once, and contains the
//! listed functions. For the layers: crates and modules use only lower ones, and no import cycle contains a file.

mod graph;
mod layout;
mod modules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use graph::{Graph, circles};
use layout::{Package, faults, quoted, rows, table};
use modules::{Modules, defining, read_crate};
use serde_json::Value;

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("a directory of the workspace")
}

fn architecture() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// Returns the text of a file, or of all files in a directory.
fn text(path: &Path) -> String {
    if path.is_file() {
        return fs::read_to_string(path).unwrap();
    }
    let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    entries.map(|entry| text(&entry.unwrap().path())).collect()
}

/// Checks whether the text defines the function or implements the trait.
fn defines(text: &str, name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap();
    let starts = [format!("fn {name}("), format!("fn {name}<"), format!(" {name} for ")];
    starts.iter().any(|start| text.contains(start))
}

#[test]
fn a_messages_way_is_as_it_is_told() {
    let (root, told) = (root(), architecture());
    let (mut files, mut names) = (BTreeSet::new(), 0);
    for cells in table(&told, "## Reading a message's way") {
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
            let is_there = if name.ends_with(".rs") {
                beside(name).is_file() || root.join(name).is_file()
            } else {
                defines(&text, name)
            };
            assert!(is_there, "`{name}` is not where this row has it: {cells:?}");
        }
    }
    assert!(files.len() > 20 && names > 30, "{} files, {names} names", files.len());
}

/// Returns cargo's metadata of the workspace's crates.
fn metadata() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo");
    let value: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    value["packages"].as_array().expect("packages").clone()
}

fn package_dir(package: &Value) -> PathBuf {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a directory").to_path_buf()
}

fn from_root(path: &Path) -> String {
    let root = root().canonicalize().expect("the workspace");
    let path = path.canonicalize().expect("a path");
    let path = path.strip_prefix(root).expect("in the workspace");
    path.display().to_string()
}

#[test]
fn crates_use_what_is_below_them() {
    let packages = metadata();
    let name = |value: &Value| value["name"].as_str().expect("a name").to_string();
    let read = |package: &Value| {
        let depends = package["dependencies"].as_array().expect("dependencies");
        let own = depends.iter().filter(|dependency| dependency["path"].is_string());
        let depends: BTreeSet<String> = own.map(name).collect();
        Package {
            name: name(package),
            dir: from_root(&package_dir(package)),
            depends: depends.into_iter().collect(),
        }
    };
    let packages: Vec<Package> = packages.iter().map(read).collect();
    assert!(packages.iter().any(|package| !package.depends.is_empty()));
    let faults = faults(&rows(&architecture()), &packages);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Maximum number of features, which must not exclude each other. Other choices are types, values or run options.
const MOST_FEATURES: usize = 6;

#[test]
fn the_workspace_has_few_features() {
    let mut names = BTreeSet::new();
    for package in metadata() {
        let features = package["features"].as_object().expect("features");
        names.extend(features.keys().filter(|name| *name != "default").cloned());
    }
    assert!(names.contains("micro"), "{names:?}");
    assert!(names.len() <= MOST_FEATURES, "{names:?}");
}

/// Maximum number of device operations for the layers above.
const MOST_OPERATIONS: usize = 25;

#[test]
fn the_device_has_few_operations() {
    let file = root().join("mpi-adi/device/src/interface/mod.rs");
    let text = fs::read_to_string(file).expect("the interface");
    let (_, rest) = text
        .split_once("\npub trait Device: EnterDevice {\n")
        .expect("the trait");
    let (operations, _) = rest.split_once("\n}\n").expect("its end");
    let count = { operations.lines() }
        .filter(|line| line.starts_with("    fn "))
        .count();
    assert!((20..=MOST_OPERATIONS).contains(&count), "{count} operations");
}

/// Maximum number of fields in a part of the device.
const MOST_FIELDS: usize = 12;

/// A struct with many fields must be split. The two exceptions are no parts: counters, and a sender's state for a
/// destination.
#[test]
fn the_devices_parts_are_small() {
    let mut great = BTreeSet::new();
    for file in rust_files(&root().join("mpi-adi/device/src")) {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some((_, rest)) = line.split_once("struct ").filter(|_| line.ends_with('{')) else {
                continue;
            };
            let body = lines.by_ref().take_while(|line| *line != "}");
            let is_field =
                |line: &&str| line.starts_with("    ") && line.contains(": ") && !line.trim().starts_with("//");
            if !line.starts_with(' ') && body.filter(is_field).count() > MOST_FIELDS {
                let end = rest.find(|c: char| !c.is_alphanumeric()).expect("its brace");
                great.insert(rest[..end].to_string());
            }
        }
    }
    let known = ["Destination", "DeviceStats"].map(String::from);
    assert_eq!(great, BTreeSet::from(known));
}

/// Returns the Rust files in a directory tree.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// The layers above the device only call its operations. Two files own a device: the host of their tests, and the
/// collectives that a host drives.
#[test]
fn the_layers_above_hold_no_device() {
    let mut holders = BTreeSet::new();
    for file in ["objects", "c", "rust"]
        .map(|name| rust_files(&root().join("mpi-adi").join(name)))
        .concat()
    {
        let text = fs::read_to_string(&file).unwrap();
        let code = { text.lines() }.filter(|line| !line.trim_start().starts_with("//"));
        if { code }.any(|line| line.contains("adi.")) {
            holders.insert(file.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    let expected = ["coll/sim_driver.rs", "fake.rs"].map(|file| format!("mpi-adi/objects/src/{file}"));
    assert_eq!(holders, BTreeSet::from(expected));
}

/// Returns the modules of each crate, for libraries and programs.
fn crates() -> Vec<Modules> {
    let mut crates = Vec::new();
    for package in metadata() {
        let dir = package_dir(&package).join("src");
        let roots = ["lib.rs", "main.rs"].map(|name| dir.join(name));
        let roots = roots.iter().filter(|root| root.is_file());
        crates.extend(roots.map(|root| read_crate(root)));
    }
    assert!(crates.len() > 10, "{} crates", crates.len());
    crates
}

/// Returns a graph of files and their imports within the crate.
fn files(modules: &Modules) -> Graph {
    let mut files = Graph::new();
    for module in modules.values() {
        let from = from_root(&module.file);
        let to = { module.imports.iter() }
            .flat_map(|names| defining(modules, names))
            .map(|defined| from_root(&defined.file));
        let to: Vec<String> = to.filter(|to| *to != from).collect();
        files.entry(from).or_default().extend(to);
    }
    files
}

/// What `midplane-abi` may know of the torus: data.
const DATA: [&str; 7] = [
    "Coord",
    "Direction",
    "Rank",
    "Shape",
    "Vc",
    "ConfigError",
    "ReliableError",
];

#[test]
fn what_node_and_tool_share_is_data() {
    let mut names = BTreeSet::new();
    for file in fs::read_dir(root().join("kernel-rt/abi/src")).unwrap() {
        let text = text(&file.unwrap().path());
        for import in text.split("use net_torus::").skip(1) {
            let import = import.split(';').next().expect("a text");
            let words = import.split(|c: char| !c.is_alphanumeric());
            names.extend(
                words
                    .filter(|word| word.starts_with(char::is_uppercase))
                    .map(String::from),
            );
        }
    }
    assert_eq!(names, DATA.map(String::from).into());
}

#[test]
fn files_import_each_other_in_no_circles() {
    for modules in crates() {
        let found = circles(&files(&modules));
        assert!(found.is_empty(), "these files import each other: {found:#?}");
    }
}
