//! Compilation target of nodes' images: the compiler's own target, but without frame pointers.
//!
//! Rust's targets for Thumb keep a frame pointer in every function, so that a debugger finds the callers of a function
//! that does not return. It requires additional code and a low register in each function. The tool uses the images'
//! call frame information instead (`unwind.rs`), enabled by a separate option (`.cargo/along.toml`).

use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::ToolSet;
use midplane_setup::rust::RustSource;
use midplane_setup::toolchain::board_toolchain;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Entry of a target description that enables frame pointers, and the one that disables them.
const KEPT: &str = "\"frame-pointer\": \"always\"";
const LEFT_OUT: &str = "\"frame-pointer\": \"may-omit\"";

/// Returns cargo's target argument: the target's name, or a description file in `dir` with that name. An installed
/// library, in contrast to one built from source, matches only the compiler's own target.
pub(super) fn to_compile_for(tools: &ToolSet, dir: &Path) -> Result<OsString, CliError> {
    let name = board_toolchain().target;
    let described = match tools.rust {
        RustSource::Installed => None,
        RustSource::Sources | RustSource::Debian(_) => tools.rust.description(crate::host::directories::root()),
    };
    let Some(changed) = described.as_deref().and_then(without_frame_pointers) else {
        return Ok(name.into());
    };
    let file = dir.join(name).with_extension("json");
    fs::create_dir_all(dir).context(format_args!("create {}", dir.display()))?;
    super::compiler::write_if_changed(&file, &changed)?;
    Ok(file.into())
}

/// Returns a target description without frame pointers; `None` if it contains none or in an unknown format.
fn without_frame_pointers(description: &str) -> Option<String> {
    let is_known = description.matches(KEPT).count() == 1;
    is_known.then(|| description.replace(KEPT, LEFT_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frame_pointers_are_changed() {
        let with = "{\n  \"arch\": \"arm\",\n  \"frame-pointer\": \"always\",\n  \"linker\": \"a\"\n}";
        let without = "{\n  \"arch\": \"arm\",\n  \"frame-pointer\": \"may-omit\",\n  \"linker\": \"a\"\n}";
        assert_eq!(without_frame_pointers(with).as_deref(), Some(without));
        for other in ["{\"arch\": \"riscv64\"}", without, ""] {
            assert_eq!(without_frame_pointers(other), None, "{other}");
        }
    }
}
