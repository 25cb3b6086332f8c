//! `libmpi.so.12`: programs with the ABI of MPICH. They are compiled with a header that has this project's declarations, and
//! the types and values of MPICH's ABI; with MPICH's compiler, if it is installed.

use midplane_harness::{LIMIT, TempDirectory, midplane, program};
use std::collections::HashMap;
use std::process::Command;

/// Names and values of MPICH's constants, as in the header of its version 5.0: handles as integers, special addresses.
const VALUES: &str = include_str!("mpich_abi.txt");

/// Definitions of MPICH that are not the value of a constant, by the name of the standard's macro.
const DEFINITIONS: [(&str, &str); 12] = [
    ("MPI_UNWEIGHTED", "extern int *const MPI_UNWEIGHTED;"),
    ("MPI_WEIGHTS_EMPTY", "extern int *const MPI_WEIGHTS_EMPTY;"),
    (
        "MPI_T_PVAR_ALL_HANDLES",
        "extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;",
    ),
    ("MPI_F_STATUS_IGNORE", "extern MPI_Fint *MPI_F_STATUS_IGNORE;"),
    ("MPI_F_STATUSES_IGNORE", "extern MPI_Fint *MPI_F_STATUSES_IGNORE;"),
    ("MPI_F08_STATUS_IGNORE", "extern MPI_F08_status *MPI_F08_STATUS_IGNORE;"),
    (
        "MPI_F08_STATUSES_IGNORE",
        "extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;",
    ),
    (
        "MPI_COMM_DUP_FN",
        "extern int MPIR_Dup_fn(int, int, void *, void *, void *, int *);\n\
         #define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)MPIR_Dup_fn)",
    ),
    (
        "MPI_TYPE_DUP_FN",
        "#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function *)MPIR_Dup_fn)",
    ),
    (
        "MPI_WIN_DUP_FN",
        "#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)MPIR_Dup_fn)",
    ),
    ("MPI_ABI_VERSION", "#define MPI_ABI_VERSION (-1)"),
    ("MPI_ABI_SUBVERSION", "#define MPI_ABI_SUBVERSION (-1)"),
];

/// Members of a status.
const STATUS: &str = "    int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;";

/// Converts the header of the standard ABI.
fn mpich_header(header: &str) -> String {
    let values: HashMap<&str, &str> = VALUES.lines().filter_map(|line| line.split_once(' ')).collect();
    let definitions = HashMap::from(DEFINITIONS);
    let mut text = String::new();
    let mut is_in_status = false;
    for line in header.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let converted = match words[..] {
            _ if is_in_status && !line.starts_with('}') => continue,
            ["typedef", "struct", status @ ("MPI_Status" | "MPI_F08_status"), "{"] => {
                is_in_status = true;
                format!("typedef struct {status} {{\n{STATUS}")
            }
            ["typedef", "struct", tag, name]
                if tag.starts_with("MPI_ABI_") && !tag.contains("_T_") && tag != "MPI_ABI_File" =>
            {
                line.replace("struct ", "int ")
                    .replace(tag, "")
                    .replace(name, &name[1..])
            }
            ["#define", name, ..] if definitions.contains_key(name) => definitions[name].into(),
            ["#define", name, value, ..] if values.contains_key(name) => constant(name, value, values[name]),
            [name, "=", _] if values.contains_key(name) => format!("    {name} = {},", values[name]),
            _ => line.into(),
        };
        is_in_status &= !line.starts_with('}');
        text.push_str(&converted);
        text.push('\n');
    }
    text
}

/// Returns the definition of a constant, with the type that it has in the standard's header: `standard` is the first word of
/// the definition there.
fn constant(name: &str, standard: &str, value: &str) -> String {
    let arguments = standard.split_once('(').filter(|_| standard.starts_with("MIDPLANE_"));
    let pointer_type = arguments.map(|(_, arguments)| arguments.trim_end_matches([',', ')']));
    match pointer_type {
        Some(_) if standard.starts_with("MIDPLANE_OFFSET") => format!("#define {name} MIDPLANE_OFFSET({value})"),
        Some("void" | "int" | "char" | "MPI_Status" | "MPI_Fint") => format!("#define {name} ((void *)({value}))"),
        Some(handle) if handle.starts_with("MPI_") && !handle.contains("function") => {
            format!("#define {name} MIDPLANE_HANDLE({handle}, {value})")
        }
        Some(_) => format!("#define {name} 0"),
        None => format!("#define {name} ({value})"),
    }
}

/// Writes the library and MPICH's header into this directory.
fn write_library(scratch: &TempDirectory) {
    midplane(&["lib", "--out", &scratch.path("")]).expect(0);
    let headers = midplane(&["cc", "--on", "linux", "-showme:incdirs"]).expect(0);
    for file in ["mpi.h", "pmpi.h"] {
        let header = std::fs::read_to_string(format!("{}/{file}", headers.stdout.trim())).expect("a header");
        std::fs::write(scratch.path(file), mpich_header(&header)).expect("a file");
    }
}

/// Compiles a program with the library and the header in this directory. Returns the executable.
fn compile(scratch: &TempDirectory, name: &str) -> String {
    let directory = scratch.path("");
    let executable = scratch.path(name);
    let mut command = Command::new("cc");
    command.args([
        "-w",
        "-O1",
        "-fno-builtin",
        "-I",
        &directory,
        "-o",
        &executable,
        &program(&format!("{name}.c")),
    ]);
    command.args(["-L", &directory, "-lmpi", "-lm", "-lpthread"]);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    executable
}

/// Runs an executable as processes with the least MPI memory.
fn check(executable: &str, name: &str) {
    let mut options = vec!["run", "--on", "linux", "-n", "4", "--mpi-memory", "32"];
    options.extend(["--timeout", LIMIT, "-q"]);
    if name == "conf_exhaust" {
        // Without a limit a process can use all memory of the machine.
        options.extend(["--node-memory", "16M"]);
    }
    options.push(executable);
    let ended = midplane(&options).expect(0);
    let last = ended.stdout.lines().last().unwrap_or_default();
    let begin = format!("[0] {name}: 4 processes, ");
    assert!(
        last.starts_with(&begin) && last.ends_with(" checks, 0 failed"),
        "{ended}"
    );
}

macro_rules! names {
    ($($test:ident: $program:literal $(, $needs:ident)?;)*) => {
        /// All self-checking programs.
        const ALL: &[&str] = &[$($program),*];
    };
}
midplane_harness::self_checking_programs!(names);

/// Programs with conversions of each kind: statuses, arrays of handles, callbacks, error codes, attributes, constants.
const FEW: [&str; 13] = [
    "conf_requests",
    "conf_mprobe",
    "conf_tools",
    "conf_errors",
    "conf_attr",
    "conf_inter_nbc",
    "conf_rma_attr",
    "conf_neighbor",
    "conf_grequest",
    "conf_types",
    "conf_mpi4",
    "conf_dynamic",
    "conf_exhaust",
];

fn check_programs(names: &[&str]) {
    let scratch = TempDirectory::new("mpich-abi");
    write_library(&scratch);
    for name in names {
        check(&compile(&scratch, name), name);
    }
}

#[test]
fn programs_with_each_kind_of_conversion_run() {
    check_programs(&FEW);
}

#[test]
#[ignore = "takes minutes: all self-checking programs"]
fn all_programs_run() {
    assert!(FEW.iter().all(|name| ALL.contains(name)));
    check_programs(ALL);
}

/// Only if MPICH is installed: its header, its linker options, and the name of its library.
#[test]
fn a_program_of_mpich_itself_runs() {
    let show = |compiler: &&str| {
        let output = Command::new(compiler).arg("-show").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.contains("mpich").then_some(())
    };
    let Some(compiler) = ["mpicc.mpich", "mpicc"]
        .into_iter()
        .find(|compiler| show(compiler).is_some())
    else {
        eprintln!("skipped: MPICH's compiler is not installed");
        return;
    };
    let scratch = TempDirectory::new("mpicc");
    for name in [
        "conf_p2p",
        "conf_coll",
        "conf_reduce",
        "conf_types",
        "conf_rma_passive",
        "conf_attr",
    ] {
        let executable = scratch.path(name);
        let mut command = Command::new(compiler);
        command.args(["-w", "-o", &executable, &program(&format!("{name}.c"))]);
        let output = command.output().expect("a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        check(&executable, name);
    }
}

/// Only if mpi4py is installed from its binary package, which is compiled for MPICH and others, and chooses at its start.
#[test]
fn mpi4py_uses_the_library() {
    let script = "import mpi4py\n\
                  from mpi4py import MPI\n\
                  assert 'mpich' in MPI.__file__ and MPI.Get_library_version().startswith('Midplane')\n\
                  world = MPI.COMM_WORLD\n\
                  all = world.allgather({'rank': world.rank, 'text': 'x' * 1000})\n\
                  assert [one['rank'] for one in all] == list(range(world.size))\n\
                  print(f'{world.rank} of {world.size}', flush=True)";
    let options = [
        "run",
        "--on",
        "linux",
        "-n",
        "3",
        "--mpi-memory",
        "32",
        "-q",
        "--",
        "python3",
        "-c",
    ];
    let ended = midplane(&[&options[..], &[script]].concat());
    if ended.status != Some(0) {
        eprintln!("skipped: python3 has no binary package of mpi4py");
        return;
    }
    for rank in 0..3 {
        ended.prints(&format!("[{rank}] {rank} of 3"));
    }
}
