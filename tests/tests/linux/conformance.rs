//! Self-checking programs as Linux processes.

use crate::run;
use midplane_harness::midplane;

/// Runs a self-checking program with little MPI memory, and with one record.
fn conforms(name: &str) {
    for (torus, processes, memory) in [("2x2x2", 8, "4K"), ("3x2x1", 6, "32")] {
        let mut options = vec!["--torus", torus, "--mpi-memory", memory];
        if name == "conf_exhaust" {
            // Without a limit a process can use all memory of the machine.
            options.extend(["--node-memory", "16M"]);
        }
        let ended = run(&options, &format!("{name}.c"), &[]).expect(0);
        let last = ended.stdout.lines().last().unwrap_or_default();
        let begin = format!("[0] {name}: {processes} processes, ");
        assert!(
            last.starts_with(&begin) && last.ends_with(" checks, 0 failed"),
            "{torus}, {memory}: {ended}"
        );
    }
}

macro_rules! conformance {
    ($($test:ident: $program:literal $(, $needs:ident)?;)*) => {
        $(
            #[test]
            fn $test() {
                conforms($program);
            }
        )*
    };
}

midplane_harness::self_checking_programs!(conformance);

/// Uses every macro of mpi.h that is a value, with all compiler warnings enabled.
#[test]
fn the_header_and_its_macros_give_no_warning() {
    let ended = midplane(&["cc", "--on", "linux", "-showme:incdirs"]).expect(0);
    let headers = ended.stdout.trim();
    let header = std::fs::read_to_string(format!("{headers}/mpi.h")).expect("the header");
    let words = header.lines().map(|line| line.split_whitespace());
    let names = words.filter_map(|mut words| {
        let name = words.next().filter(|word| *word == "#define").and(words.next())?;
        // Removed functions are deprecated, and MPIX_ names are aliases of functions.
        (name.starts_with("MPI_") && words.next().is_some()).then_some(name)
    });
    let uses: String = names.map(|name| format!("    use({name});\n")).collect();
    assert!(uses.lines().count() > 300, "{uses}");
    let dir = std::env::temp_dir().join(format!("midplane-header-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let common = "-Wall -Wextra -Wpedantic -Wcast-qual -Wundef -Werror -fsyntax-only";
    let compile = |compiler: &str, standards: &[&str], more: &str, name: &str, text: String| {
        let source = dir.join(name);
        std::fs::write(&source, text).expect("a file");
        for standard in standards {
            let mut command = std::process::Command::new(compiler);
            command.args(common.split(' ')).args(more.split(' '));
            command.arg(format!("-std={standard}")).arg(&source);
            command.arg("-I").arg(headers);
            let output = command.output().expect("a compiler");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{compiler} {standard}: {said}");
        }
    };
    let program = |before: &str| format!("#include <mpi.h>\n{before}\nint main(void)\n{{\n{uses}    return 0;\n}}\n");
    let c = program("#define use(value) (void)(value)");
    compile("cc", &["c90", "c99", "c11", "c17", "c2x"], "-Wconversion", "all.c", c);
    let cpp = program("template <class T> static void use(T) {}");
    let more = "-Wold-style-cast -Wuseless-cast -Wzero-as-null-pointer-constant -Wconversion";
    let standards = ["c++98", "c++11", "c++17", "c++20"];
    compile("c++", &standards, more, "all.cpp", cpp);
    // Constants, in places that require constant expressions.
    let constants = std::fs::read_to_string(midplane_harness::program("cases/t01_header.c"));
    let constants = constants.expect("the program");
    let standards = ["c90", "c17"];
    compile("cc", &standards, "-Wconversion", "constants.c", constants.clone());
    let more = "-Wzero-as-null-pointer-constant -Wconversion";
    compile("c++", &["c++11", "c++20"], more, "constants.cpp", constants);
    std::fs::remove_dir_all(&dir).expect("the directory");
}

#[test]
fn the_least_memory_gives_the_same_output_as_plenty() {
    for (name, arguments) in [
        ("pi.c", &["100000"][..]),
        ("jacobi.c", &["-n", "64", "-i", "40"]),
        ("farm.c", &["60"]),
        ("leftover.c", &[]),
        ("crossing.c", &["500"]),
    ] {
        let with = |memory| {
            let options = ["-n", "4", "--mpi-memory", memory];
            run(&options, name, arguments).expect(0).stdout
        };
        let plenty = with("1M");
        assert!(plenty.starts_with("[0] "), "{plenty}");
        assert_eq!(plenty, with("32"), "{name}");
    }
}
