//! Packs the sources that the command compiles for programs into an archive, which the command contains
//! (`src/build/carried.rs`).

use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// Directories of the crates that images, processes and simulations are built from.
const CRATES: [&str; 4] = ["kernel-rt", "mpi-adi", "msg-layer", "net-torus"];
/// Other files: versions, compiler options, licences.
const FILES: [&str; 5] = [
    "Cargo.lock",
    ".cargo/config.toml",
    ".cargo/along.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];
/// Manifest of the workspace. The copy lists only the crates of the archive.
const WORKSPACE: &str = "Cargo.toml";
/// Extensions of sources, headers, linker scripts and manifests.
const EXTENSIONS: [&str; 5] = ["rs", "c", "h", "ld", "toml"];
/// Directories and files that no build of a program reads.
const OMITTED: [&str; 3] = ["tests", "tests.rs", "fuzz"];

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
    let root = package.parent().ok_or("no workspace")?;
    let mut files = BTreeMap::new();
    for directory in CRATES {
        collect(root, Path::new(directory), &mut files)?;
    }
    for file in FILES {
        add(root, Path::new(file), &mut files)?;
    }
    let members: Vec<String> = { files.keys() }
        .filter(|file| file.ends_with(WORKSPACE))
        .filter_map(|file| file.parent())
        .map(|directory| format!("{directory:?}"))
        .collect();
    add(root, Path::new(WORKSPACE), &mut files)?;
    let manifest = files.get_mut(Path::new(WORKSPACE)).ok_or("no workspace")?;
    *manifest = with_members(&String::from_utf8(manifest.clone())?, &members.join(", "))?.into_bytes();

    let archive = pack(&files)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&archive);
    println!("cargo::rustc-env=MIDPLANE_SOURCES={:016x}", hasher.finish());
    let file = PathBuf::from(env::var_os("OUT_DIR").ok_or("no directory")?).join("sources.tar.gz");
    let mut compressed = GzBuilder::new().write(File::create(file)?, Compression::best());
    std::io::Write::write_all(&mut compressed, &archive)?;
    compressed.finish()?;
    Ok(())
}

/// Adds the sources below a directory. Cargo runs this script again after a change of them.
fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.join(directory).display());
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if OMITTED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            add(root, &path, files)?;
        }
    }
    Ok(())
}

fn add(root: &Path, path: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    let file = root.join(path);
    println!("cargo::rerun-if-changed={}", file.display());
    let content = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    files.insert(path.into(), content);
    Ok(())
}

/// Replaces the members of the workspace.
fn with_members(manifest: &str, members: &str) -> Result<String, Box<dyn Error>> {
    let (before, rest) = manifest.split_once("\nmembers = [").ok_or("no members")?;
    let (_, after) = rest.split_once(']').ok_or("no end of the members")?;
    Ok(format!("{before}\nmembers = [{members}]{after}"))
}

/// Returns an archive that depends on names and contents only.
fn pack(files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len().try_into()?);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, path, &content[..])?;
    }
    Ok(archive.into_inner()?)
}
