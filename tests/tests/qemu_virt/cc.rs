//! `cargo midplane cc`: projects with their own build systems, as with any mpicc.

use crate::harness::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Returns the path of mpicc for build systems.
fn mpicc() -> String {
    let ended = midplane(&["cc", "--path"]).expect(0);
    ended.stdout.trim_end().to_string()
}

/// Runs a command in a directory; `on` selects the target of programs.
fn run_in(dir: &Path, on: &str, words: &[&str]) -> Output {
    let _turn = JobLock::acquire();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir);
    command.env("MIDPLANE_ON", on).output().expect("it starts")
}

/// Runs a command with this PATH.
fn run_with(dir: &Path, on: &str, path: &str, words: &[&str]) -> Output {
    let _turn = JobLock::acquire();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir);
    { command.env("MIDPLANE_ON", on).env("PATH", path).output() }.expect("it starts")
}

#[track_caller]
fn text(output: &Output, status: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks whether a program is installed, and otherwise prints that its test is skipped.
fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    if !has {
        eprintln!("skipped: {program} is not installed");
    }
    has
}

/// Creates a small project: two sources, a header, and build files for a library and a program.
fn project(name: &str) -> TempDirectory {
    let dir = TempDirectory::new(name);
    for file in ["main.c", "area.c", "include/area.h"] {
        let to = dir.0.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(program(&format!("parts/{file}")), to).unwrap();
    }
    let makefile = "CC = cc\nCPPFLAGS = -Iinclude -DTIMES=3\nCFLAGS = -O2 -Wall\n\
                    parts: main.o libarea.a\n\t$(CC) $(CFLAGS) -o $@ main.o -L. -larea -lm -lpthread\n\
                    libarea.a: area.o\n\t$(AR) rc $@ area.o\n";
    fs::write(dir.0.join("Makefile"), makefile).unwrap();
    let cmake = "cmake_minimum_required(VERSION 3.13)\nproject(parts C)\nfind_package(MPI REQUIRED COMPONENTS C)\n\
                 add_library(area STATIC area.c)\ntarget_include_directories(area PUBLIC include)\n\
                 add_executable(parts main.c)\ntarget_compile_definitions(parts PRIVATE TIMES=3)\n\
                 target_link_libraries(parts area MPI::MPI_C m)\n";
    fs::write(dir.0.join("CMakeLists.txt"), cmake).unwrap();
    dir
}

#[test]
fn make_builds_a_project_for_nodes_and_for_linux() {
    if !has("make") {
        return;
    }
    let compiler = format!("CC={}", mpicc());
    for on in ["qemu", "linux", "cluster"] {
        let dir = project("make");
        text(&run_in(&dir.0, on, &["make", &compiler]), 0);
        let built = dir.path("parts");
        let ended = midplane(&["run", "--on", on, "-np", "3", "--timeout", LIMIT, &built]);
        assert_eq!(ended.expect(0).stdout, "[0] parts: 131.946891\n");
        let mpiexec = mpicc().replace("mpicc", "mpiexec");
        for name in ["./parts", "parts"] {
            let said = run_in(&dir.0, on, &[&mpiexec, "-n", "2", name]);
            assert!(text(&said, 0).starts_with("parts: "));
        }
    }
}

#[test]
fn make_links_the_recorder() {
    if !has("make") {
        return;
    }
    let compiler = format!("CC={} --record", mpicc());
    for on in ["qemu", "linux"] {
        let dir = project("make-record");
        text(&run_in(&dir.0, on, &["make", &compiler]), 0);
        let (built, trace) = (dir.path("parts"), dir.path("trace.json"));
        midplane(&[
            "run",
            "--on",
            on,
            "-n",
            "2",
            "--timeout",
            LIMIT,
            "--trace",
            &trace,
            &built,
        ])
        .expect(0);
        assert!(
            fs::read_to_string(&trace).unwrap().contains("\"name\":\"MPI_Reduce\""),
            "{on}"
        );
    }
}

/// Returns a PATH in which another MPI's `mpiexec` is first.
fn with_another_mpi(dir: &TempDirectory) -> String {
    let bin = dir.0.join("another");
    fs::create_dir_all(&bin).unwrap();
    for name in ["mpiexec", "mpirun", "mpicc"] {
        let file = bin.join(name);
        fs::write(&file, "#!/bin/sh\necho another MPI\nexit 9\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn cmake_builds_a_project() {
    if !has("cmake") {
        return;
    }
    let mpicc = mpicc();
    let compiler = format!("-DCMAKE_C_COMPILER={mpicc}");
    let home = Path::new(&mpicc).ancestors().nth(2).unwrap();
    let home = format!("-DMPI_HOME={}", home.display());
    let dir = project("cmake");
    let path = with_another_mpi(&dir);
    for (on, name, words) in [
        ("qemu", "qemu", &[&*compiler, &home][..]),
        ("linux", "linux", &[&*compiler, &home]),
        ("cluster", "cluster", &[&*compiler, &home]),
        // With the host's compiler, and FindMPI's queries to mpicc.
        ("linux", "plain", &[&home]),
    ] {
        let words = [&["cmake", "-S", ".", "-B", name], words].concat();
        text(&run_with(&dir.0, on, &path, &words), 0);
        let cache = fs::read_to_string(dir.0.join(name).join("CMakeCache.txt")).unwrap();
        let line = cache.lines().find(|line| line.starts_with("MPIEXEC_EXECUTABLE:"));
        let ours = mpicc.replace("/mpicc", "/mpiexec");
        assert!(line.is_some_and(|line| line.ends_with(&ours)), "{line:?}");
        text(&run_with(&dir.0, on, &path, &["cmake", "--build", name]), 0);
        let built = dir.path(&format!("{name}/parts"));
        let said = run_with(&dir.0, on, &path, &[&ours, "-n", "3", &built]);
        assert_eq!(text(&said, 0), "parts: 131.946891\n");
    }
}

#[test]
fn meson_builds_a_project() {
    if !has("meson") || !has("ninja") {
        return;
    }
    let mpicc = mpicc();
    let dir = project("meson");
    let path = with_another_mpi(&dir);
    let meson = "project('parts', 'c')\nmpi = dependency('mpi', language: 'c')\n\
                 libm = meson.get_compiler('c').find_library('m')\n\
                 executable('parts', 'main.c', 'area.c', include_directories: 'include', c_args: '-DTIMES=3',\n\
                 \x20 dependencies: [mpi, libm])\n";
    fs::write(dir.0.join("meson.build"), meson).unwrap();
    let pkg_config = midplane(&["cc", "--on", "linux", "--pkg-config"]).expect(0);
    let pkg_config = pkg_config.stdout.trim_end().to_string();
    for (name, variable, value) in [
        ("by-pkg-config", "PKG_CONFIG_PATH", &pkg_config),
        ("by-mpicc", "MPICC", &mpicc),
        ("by-compiler", "CC", &mpicc),
    ] {
        if name == "by-pkg-config" && !has("pkg-config") {
            continue;
        }
        let assignment = format!("{variable}={value}");
        let also = format!("MPICC={mpicc}");
        let words = ["env", &assignment, &also, "meson", "setup", name];
        text(&run_with(&dir.0, "linux", &path, &words), 0);
        text(&run_with(&dir.0, "linux", &path, &["ninja", "-C", name]), 0);
        let built = dir.path(&format!("{name}/parts"));
        let mpiexec = mpicc.replace("/mpicc", "/mpiexec");
        let said = run_with(&dir.0, "linux", &path, &[&mpiexec, "-n", "3", &built]);
        assert_eq!(text(&said, 0), "parts: 131.946891\n", "{name}");
    }
}

#[test]
fn autotools_build_a_project() {
    if !has("autoconf") || !has("automake") || !has("make") {
        return;
    }
    let mpicc = mpicc();
    let dir = project("autotools");
    let path = with_another_mpi(&dir);
    let configure = "AC_INIT([parts], [1])\nAM_INIT_AUTOMAKE([foreign -Wno-portability])\nAC_PROG_CC\n\
                     AC_CHECK_HEADERS([mpi.h], [], [AC_MSG_ERROR([no mpi.h])])\n\
                     AC_CHECK_FUNC([MPI_Init], [], [AC_CHECK_LIB([mpi], [MPI_Init], [], [AC_MSG_ERROR([no MPI])])])\n\
                     AC_CHECK_FUNC([MPI_No_such], [AC_MSG_ERROR([too much])])\nAC_SEARCH_LIBS([sqrt], [m])\n\
                     AC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    fs::write(dir.0.join("configure.ac"), configure).unwrap();
    let makefile = "bin_PROGRAMS = parts\nparts_SOURCES = main.c area.c\nAM_CPPFLAGS = -I$(srcdir)/include -DTIMES=3\n";
    fs::write(dir.0.join("Makefile.am"), makefile).unwrap();
    text(
        &run_in(
            &dir.0,
            "linux",
            &[
                "sh",
                "-c",
                "rm Makefile && aclocal && autoconf && automake --add-missing",
            ],
        ),
        0,
    );
    for (on, host) in [("linux", &[][..]), ("qemu", &["--host=riscv64-unknown-elf"])] {
        let build = dir.0.join(on);
        fs::create_dir_all(&build).unwrap();
        let compiler = format!("CC={mpicc}");
        let words = [&["../configure", &compiler], host].concat();
        text(&run_with(&build, on, &path, &words), 0);
        text(&run_with(&build, on, &path, &["make"]), 0);
        let mpiexec = mpicc.replace("/mpicc", "/mpiexec");
        let said = run_with(&build, on, &path, &[&mpiexec, "-n", "3", "./parts"]);
        assert_eq!(text(&said, 0), "parts: 131.946891\n", "{on}");
    }
}

/// Build systems parse all output, on either stream.
#[test]
fn answers_stand_alone() {
    let dir = TempDirectory::new("answers");
    for on in ["qemu", "linux"] {
        for question in [
            "-show",
            "-showme:compile",
            "-showme:link",
            "-showme:incdirs",
            "-showme:libdirs",
            "-showme:libs",
            "--showme:version",
            "-compile-info",
            "-link-info",
        ] {
            let output = run_in(&dir.0, on, &[&mpicc(), question]);
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said.lines().count(), 1, "{question}: {said}");
        }
    }
    let version = run_in(&dir.0, "linux", &[&mpicc(), "--showme:version"]);
    assert_eq!(
        text(&version, 0),
        concat!("mpicc: Midplane ", env!("CARGO_PKG_VERSION"), "\n")
    );
    midplane(&["cc", "a.c", "--pkg-config"])
        .expect(2)
        .says(&["--pkg-config"]);
}

/// CMake's FindMPI and meson query `mpicc` for its options, and pass the known ones to the project's compiler.
#[test]
fn a_compiler_links_with_what_cmake_takes_of_the_words() {
    let dir = project("find_mpi");
    let shown = |question| text(&run_in(&dir.0, "linux", &[&mpicc(), question]), 0);
    let is_known = |word: &&str| {
        let begins = ["-I", "-f", "-Wl,", "-l", "-L"];
        begins.iter().any(|begin| word.starts_with(begin))
    };
    let compile = shown("-showme:compile").replace("-I ", "-I");
    let link = shown("-showme:link");
    let known = compile.split_whitespace().chain(link.split_whitespace());
    let files = ["cc", "-DTIMES=3", "-Iinclude", "-o", "parts", "main.c", "area.c"];
    let words: Vec<&str> = files.into_iter().chain(known.filter(is_known)).collect();
    text(&run_in(&dir.0, "linux", &words), 0);
    let built = dir.path("parts");
    let ended = midplane(&["run", "--on", "linux", "-n", "3", "--timeout", LIMIT, &built]);
    assert_eq!(ended.expect(0).stdout, "[0] parts: 131.946891\n");
}

/// `configure` compiles and links small programs to detect features.
#[test]
fn conftests_succeed_and_fail_as_they_must() {
    let dir = TempDirectory::new("conftest");
    let mpicc = mpicc();
    let tries = |on: &str, source: &str, words: &[&str]| {
        fs::write(dir.0.join("conftest.c"), source).unwrap();
        let all = [&[mpicc.as_str()], words, &["conftest.c"]].concat();
        run_in(&dir.0, on, &all)
    };
    for on in ["qemu", "linux"] {
        let links = |source: &str, status| {
            text(&tries(on, source, &["-o", "conftest", "-g", "-O2"]), status);
        };
        links("int main(void) { return 0; }", 0);
        links("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }", 0);
        links("char MPI_Init(); int main(void) { return MPI_Init(); }", 0);
        links("char sqrt(); int main(void) { return sqrt(); }", 0);
        links(
            "char no_such_function(); int main(void) { return no_such_function(); }",
            1,
        );
        links("#include <no_such_header.h>\nint main(void) { return 0; }", 1);
        links("int main(void) { return 0 }", 1);
        let size = |bytes| format!("int a[sizeof(long) == {bytes} ? 1 : -1];");
        text(&tries(on, &size(8), &["-c"]), 0);
        text(&tries(on, &size(4), &["-c"]), 1);
        let expanded = tries(on, "#include <mpi.h>\nMPI_VERSION", &["-E"]);
        assert_eq!(text(&expanded, 0).lines().last(), Some("5"));
    }
}

#[test]
fn questions_are_the_compilers_and_commands_are_shown() {
    let ask = |words: &[&str]| midplane(&[&["cc"], words].concat()).expect(0).stdout;
    assert!(ask(&["--version"]).starts_with("riscv64-unknown-elf-gcc"));
    assert!(ask(&["-dumpmachine"]).starts_with("riscv64"));
    assert!(!ask(&["--on", "linux", "-dumpmachine"]).starts_with("riscv64-unknown"));
    let shown = ask(&["-show", "-O3", "a.c", "-o", "a"]);
    for word in ["-O3 a.c -o a", "midplane/include", "libprogram_runtime", "virt.ld"] {
        assert!(shown.contains(word), "{shown}");
    }
    assert!(!ask(&["-show", "-c", "a.c"]).contains("libprogram_runtime"));
    assert!(ask(&["-compile-info"]).contains("midplane/include"));
    assert!(ask(&["-link-info"]).contains("libprogram_runtime"));
    assert!(ask(&["-showme:compile"]).starts_with('-'));
    let ended = midplane(&["cc"]);
    ended.expect(1).says(&["no input files"]);
    midplane(&["cc", "--on", "moon", "a.c"])
        .expect(2)
        .says(&["qemu, linux or cluster, not `moon`"]);
    midplane(&["cc", "--on"])
        .expect(2)
        .says(&["--on: specify qemu, linux or cluster"]);
    midplane(&["cc", "--path", "--on", "linux"])
        .expect(2)
        .says(&["--path must be the only argument"]);
    midplane(&["cc", "-shared", "a.o"])
        .expect(2)
        .says(&["do not support shared libraries"]);
    midplane(&["cc", "a.cpp"]).expect(2).says(&["C++", "--on linux"]);
}

#[test]
fn functions_of_mpi_that_are_missing_are_named_again_at_the_end() {
    let dir = TempDirectory::new("missing");
    let source = dir.path("a.c");
    let text = "int MPI_No_such_function(void);\nint main(void) { return MPI_No_such_function(); }\n";
    fs::write(&source, text).unwrap();
    let ended = midplane(&["cc", &source, "-o", &dir.path("a")]).expect(1);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("calls MPI_No_such_function, which"), "{ended}");
}

/// The nodes' headers compile in old and new C and in C++; a K&R program may define its own `getline`.
#[test]
fn headers_compile_in_every_language_that_has_them() {
    let dir = TempDirectory::new("headers");
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernel-rt/include")).unwrap();
    let mut lines = Vec::new();
    for below in ["", "arpa", "linux", "netinet", "sys"] {
        for entry in fs::read_dir(root.join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&root).unwrap().display();
                lines.push(format!("#include <{name}>\n"));
            }
        }
    }
    lines.sort();
    assert!(lines.len() > 40, "{lines:?}");
    fs::write(dir.0.join("all.c"), lines.concat()).unwrap();
    let mpicc = mpicc();
    let mut languages = vec![
        &["-std=c11"][..],
        &["-std=gnu89"],
        &["-ansi", "-D_POSIX_C_SOURCE=200112L"],
        &["-std=gnu17", "-D_GNU_SOURCE"],
        &["-x", "c++", "-std=c++17"],
    ];
    fs::write(dir.0.join("stdio.c"), "#include <stdio.h>\n").unwrap();
    let words = [mpicc.as_str(), "-E", "stdio.c"];
    let stdio = text(&run_in(&dir.0, "qemu", &words), 0);
    // Macros as in later versions of picolibc, which declare the functions as well.
    if stdio.matches("feof_unlocked").count() == 1 {
        languages.push(&[
            "-Dputchar_unlocked(c, f)=putc(c, stdout)",
            "-Dfeof_unlocked(s)=((s)->flags & __SEOF)",
        ]);
    }
    for options in languages {
        let mut words = vec![mpicc.as_str(), "-Wall", "-Werror", "-fsyntax-only"];
        words.extend(options);
        words.push("all.c");
        assert_eq!(text(&run_in(&dir.0, "qemu", &words), 0), "");
    }
    let own = "#include <stdio.h>\nint getline(char *line, int room) { return line[room]; }\n";
    fs::write(dir.0.join("own.c"), own).unwrap();
    let words = [mpicc.as_str(), "-ansi", "-fsyntax-only", "own.c"];
    text(&run_in(&dir.0, "qemu", &words), 0);
}

/// The option is used only at link time, and the functions are those of one thread.
#[test]
fn directives_of_openmp_are_comments_on_nodes() {
    let dir = TempDirectory::new("openmp");
    let source = "#include <omp.h>\n#ifdef _OPENMP\n#error \"compiled\"\n#endif\n\
                  int main(void)\n{\n    int i, sum = 0;\n#pragma omp parallel for reduction(+ : sum)\n\
                  \x20   for (i = 0; i < 9; i++)\n        sum += omp_get_num_threads();\n    return sum - 9;\n}\n";
    fs::write(dir.0.join("own.c"), source).unwrap();
    let mpicc = mpicc();
    let compile = [mpicc.as_str(), "-Wall", "-Werror", "-fopenmp", "-c", "own.c"];
    let compiled = run_in(&dir.0, "qemu", &compile);
    text(&compiled, 0);
    assert!(compiled.stderr.is_empty(), "{compiled:?}");
    let link = [mpicc.as_str(), "-fopenmp", "own.o", "-lgomp", "-o", "own"];
    let linked = run_in(&dir.0, "qemu", &link);
    text(&linked, 0);
    let said = String::from_utf8_lossy(&linked.stderr).into_owned();
    assert_eq!(said.matches("-fopenmp").count(), 1, "{said}");
    midplane(&["run", "--timeout", LIMIT, "-n", "2", &dir.path("own")]).expect(0);
}

/// Later versions of picolibc run `atexit` handlers from an entry in a separate section.
#[test]
fn the_end_of_a_program_runs_what_the_c_library_enters_for_it() {
    let dir = TempDirectory::new("onexit");
    let source = "#include <mpi.h>\n\
                  static void last(void) { MPI_Finalize(); }\n\
                  __attribute__((used, section(\".fini_array_onexit\"))) static void (*entry)(void) = last;\n\
                  int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }\n";
    let path = dir.path("a.c");
    fs::write(&path, source).unwrap();
    midplane(&["run", "-q", "--timeout", LIMIT, "-n", "2", &path]).expect(0);
}
