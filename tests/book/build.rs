//! Writes each `rust` block of the pages as a module. A separate package compiles them, because a change of a page then
//! compiles no other test.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn add_pages(directory: &Path, pages: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            add_pages(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Returns the `rust` blocks of a page, each with the line of its fence, and without the indentation of that line.
fn rust_blocks(text: &str) -> Vec<(usize, String)> {
    let (mut blocks, mut indentation) = (Vec::<(usize, String)>::new(), None);
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        match indentation {
            None if start == "```rust" => {
                indentation = Some(line.len() - start.len());
                blocks.push((index + 1, String::new()));
            }
            Some(_) if start == "```" => indentation = None,
            Some(width) => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.push_str(line.get(width..).unwrap_or_default());
                    block.push('\n');
                }
            }
            None => {}
        }
    }
    blocks
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("a workspace");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed={}", root.join("docs").display());
    let mut pages = Vec::new();
    add_pages(&root.join("docs"), &mut pages)?;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
        pages.push(root.join(name));
    }
    pages.sort();
    let (mut modules, mut programs) = (String::new(), String::new());
    for page in pages {
        let name = page.strip_prefix(root).expect("below the root").with_extension("");
        let name = name
            .to_string_lossy()
            .replace(|c: char| !c.is_alphanumeric(), "_")
            .to_lowercase();
        for (line, mut block) in rust_blocks(&fs::read_to_string(&page)?) {
            let module = format!("{name}_line_{line}");
            if block.contains("\nfn main() {") {
                block.push_str("\npub fn run_main() {\n    main();\n}\n");
                programs.push_str(&format!("    (\"{module}\", {module}::run_main),\n"));
            }
            let file = output.join(format!("{module}.rs"));
            fs::write(&file, block)?;
            modules.push_str(&format!("#[path = {file:?}]\nmod {module};\n"));
        }
    }
    let all = format!("{modules}\nconst PROGRAMS: &[(&str, fn())] = &[\n{programs}];\n");
    fs::write(output.join("blocks.rs"), all)
}
