//! MPI as a shared library (`midplane lib`): a program in C that is linked with it, a tool in front of it, and Python.

use midplane_harness::{CompletedRun, LIMIT, TempDirectory, midplane, program};
use std::process::Command;

/// Loads the library and sends a number around the ring, through the functions of the standard ABI.
const SCRIPT: &str = r#"
import ctypes, sys
from ctypes import byref, c_int, c_void_p
mpi = ctypes.CDLL("libmpi_abi.so.1")
WORLD, INT, SUM = 0x101, 0x209, 0x021
handle = c_void_p
mpi.MPI_Comm_rank.argtypes = mpi.MPI_Comm_size.argtypes = [handle, c_void_p]
mpi.MPI_Allreduce.argtypes = [c_void_p, c_void_p, c_int, handle, handle, handle]
mpi.MPI_Comm_toint.argtypes = [handle]
mpi.MPI_Init(None, None)
rank, size, sum, own = c_int(), c_int(), c_int(), c_int()
mpi.MPI_Comm_rank(WORLD, byref(rank))
mpi.MPI_Comm_size(WORLD, byref(size))
own.value = rank.value + 1
mpi.MPI_Allreduce(byref(own), byref(sum), 1, INT, SUM, WORLD)
print(f"python: {rank.value} of {size.value}: {sum.value} {mpi.MPI_Comm_toint(WORLD)}", *sys.argv[1:], flush=True)
mpi.MPI_Finalize()
"#;

/// Counts the calls of MPI_Send, and calls the function by its profiling name.
const TOOL: &str = r#"
#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    calls++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}
int MPI_Finalize(void)
{
    fprintf(stderr, "tool: some calls: %d\n", calls > 0);
    return PMPI_Finalize();
}
"#;

/// Runs a program, or a command behind `--`, as processes of a job with the least MPI memory.
fn run(ranks: &str, words: &[&str]) -> CompletedRun {
    let options = [
        "run",
        "--on",
        "linux",
        "-n",
        ranks,
        "--mpi-memory",
        "32",
        "--timeout",
        LIMIT,
        "-q",
    ];
    midplane(&[&options[..], words].concat())
}

/// Compiles a source with the header of the standard ABI, and links it with the library in this directory.
fn compile(directory: &str, source: &str, more: &[&str], result: &str) {
    let headers = midplane(&["cc", "--on", "linux", "-showme:incdirs"]).expect(0);
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Werror", "-I", headers.stdout.trim(), source]);
    command
        .args(["-o", result, "-L", directory])
        .args(more)
        .arg("-lmpi_abi");
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn programs_that_others_link_run_with_the_library() {
    let scratch = TempDirectory::new("shared-library");
    let directory = scratch.path("lib");
    let libraries = format!("{directory}/libmpi_abi.so.1\n{directory}/libmpi.so.12");
    let built = midplane(&["lib", "--out", &directory]).expect(0);
    assert_eq!(built.stdout.trim(), libraries);

    // The whole of point-to-point communication, with a header and a linker that know nothing of this project.
    let executable = scratch.path("p2p");
    compile(&directory, &program("conf_p2p.c"), &[], &executable);
    run("3", &[&executable]).expect(0);
    // One process, without the tool.
    let mut alone = Command::new(&executable);
    let output = alone.env("LD_LIBRARY_PATH", &directory).output().expect("the program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    // The exit status, which the library gets at the end of the process only.
    let (source, failing) = (scratch.path("status.c"), scratch.path("status"));
    let text = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Finalize(); return 3; }\n";
    std::fs::write(&source, text).expect("a file");
    compile(&directory, &source, &[], &failing);
    let ended = run("2", &[&failing]).expect(3);
    assert!(!ended.stderr.contains("ended with status 0"), "{ended}");

    let (source, tool) = (scratch.path("tool.c"), scratch.path("libtool.so"));
    std::fs::write(&source, TOOL).expect("a file");
    compile(&directory, &source, &["-shared", "-fPIC"], &tool);
    run("2", &["--env", &format!("LD_PRELOAD={tool}"), &executable])
        .expect(0)
        .says(&["tool: some calls: 1"]);
}

#[test]
fn an_interpreter_loads_the_library() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3 is not installed");
        return;
    }
    let scratch = TempDirectory::new("interpreter");
    let script = scratch.path("ring.py");
    std::fs::write(&script, SCRIPT).expect("a file");
    let ended = run("3", &["--", "python3", &script, "an argument"]).expect(0);
    for rank in 0..3 {
        ended.prints(&format!("[{rank}] python: {rank} of 3: 6 257 an argument"));
    }
}

/// Only if mpi4py is installed, compiled for the standard ABI.
#[test]
fn mpi4py_uses_the_library() {
    let library = "from mpi4py import MPI; assert MPI.Get_library_version().startswith('Midplane')";
    let ended = run("1", &["--", "python3", "-c", library]);
    if ended.status != Some(0) {
        eprintln!("skipped: python3 has no mpi4py that is compiled for the standard ABI");
        return;
    }
    let script = "from mpi4py import MPI\n\
                  world = MPI.COMM_WORLD\n\
                  all = world.allgather({'rank': world.rank, 'text': 'x' * 1000})\n\
                  assert [one['rank'] for one in all] == list(range(world.size))\n\
                  print(f'{world.rank} of {world.size}', flush=True)";
    let ended = run("3", &["--", "python3", "-c", script]).expect(0);
    for rank in 0..3 {
        ended.prints(&format!("[{rank}] {rank} of 3"));
    }
}

#[test]
fn a_command_needs_processes_of_this_host() {
    midplane(&["run", "-n", "2", "--", "python3"])
        .expect(2)
        .says(&["python3", "runs with --on linux only"]);
    midplane(&["run", "--on", "linux", "-n", "2", "--", "no-such-command"])
        .expect(2)
        .says(&["no-such-command: there is no such command"]);
}
