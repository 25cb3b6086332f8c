//! The target that nodes' images are compiled for: the compiler's own, but without frame pointers where that has them.
//!
//! Rust's targets for Thumb keep a frame pointer in every function, so that a debugger finds the callers of one that does
//! not return. It takes bytes and a low register in each. The tool finds callers by the images' call frame information
//! (`unwind.rs`), which has its own word for that (`.cargo/along.toml`).

use crate::host::setup::Tools;
use crate::host::stop::{Doing, Stop};
use midplane_setup::kit::kit;
use midplane_setup::rust::Rust;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// How the compiler's description says that functions keep a frame pointer, and that they need not.
const KEPT: &str = "\"frame-pointer\": \"always\"";
const LEFT_OUT: &str = "\"frame-pointer\": \"may-omit\"";

/// What cargo is told to compile for: the target's name, or a file in `folder` that describes it and has its name. A library
/// that is installed, and not built along, fits the compiler's own target only.
pub(super) fn to_compile_for(tools: &Tools, folder: &Path) -> Result<OsString, Stop> {
    let name = kit().target;
    let described = match tools.rust {
        Rust::Installed => None,
        Rust::Sources | Rust::Debian(_) => tools.rust.description(crate::host::folders::root()),
    };
    let Some(changed) = described.as_deref().and_then(without_frame_pointers) else {
        return Ok(name.into());
    };
    let file = folder.join(name).with_extension("json");
    fs::create_dir_all(folder).doing(format_args!("create {}", folder.display()))?;
    super::program::write_if_changed(&file, &changed)?;
    Ok(file.into())
}

/// A target's description, changed. `None`: it has no frame pointers, or says so in other words than those known here.
fn without_frame_pointers(description: &str) -> Option<String> {
    let is_known = description.matches(KEPT).count() == 1;
    is_known.then(|| description.replace(KEPT, LEFT_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frame_pointers_are_changed() {
        let with =
            "{\n  \"arch\": \"arm\",\n  \"frame-pointer\": \"always\",\n  \"linker\": \"a\"\n}";
        let without =
            "{\n  \"arch\": \"arm\",\n  \"frame-pointer\": \"may-omit\",\n  \"linker\": \"a\"\n}";
        assert_eq!(without_frame_pointers(with).as_deref(), Some(without));
        for other in ["{\"arch\": \"riscv64\"}", without, ""] {
            assert_eq!(without_frame_pointers(other), None, "{other}");
        }
    }
}
