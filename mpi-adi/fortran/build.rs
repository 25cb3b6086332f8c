//! Writes the entry points and the declarations of C's functions, which the function table defines (`midplane_api::fortran`).

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use midplane_api::fortran::{Declarations, Entries};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::var_os("OUT_DIR").ok_or("no directory")?;
    let directory = Path::new(&directory);
    fs::write(directory.join("functions.rs"), Declarations.to_string())?;
    fs::write(directory.join("entries.rs"), Entries.to_string())?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
