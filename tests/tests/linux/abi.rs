//! The standard ABI of C programs (MPI-5.0 chapter 20).

use midplane_harness::midplane;
use std::fmt::Write;
use std::process::Command;

/// Names and values of the standard's constants: error classes, predefined handles as integers, special addresses.
const VALUES: &str = include_str!("standard_abi.txt");

/// Sizes and offsets in bytes, as expressions of C.
const SIZES: [(&str, i64); 8] = [
    ("sizeof(MPI_Status)", 32),
    ("offsetof(MPI_Status, MPI_SOURCE)", 0),
    ("offsetof(MPI_Status, MPI_TAG)", 4),
    ("offsetof(MPI_Status, MPI_ERROR)", 8),
    ("offsetof(MPI_Status, MPI_internal)", 12),
    ("sizeof(MPI_Aint)", 8),
    ("sizeof(MPI_Count)", 8),
    ("sizeof(MPI_Offset)", 8),
];

/// Types of handles, with one constant of each if it has one. A handle of the type `MPI_X` is a pointer to the incomplete
/// type `struct MPI_ABI_X`.
const HANDLES: [(&str, Option<&str>); 17] = [
    ("Comm", Some("MPI_COMM_WORLD")),
    ("Datatype", Some("MPI_INT")),
    ("Errhandler", Some("MPI_ERRORS_RETURN")),
    ("File", Some("MPI_FILE_NULL")),
    ("Group", Some("MPI_GROUP_EMPTY")),
    ("Info", Some("MPI_INFO_ENV")),
    ("Message", Some("MPI_MESSAGE_NO_PROC")),
    ("Op", Some("MPI_SUM")),
    ("Request", Some("MPI_REQUEST_NULL")),
    ("Session", Some("MPI_SESSION_NULL")),
    ("Win", Some("MPI_WIN_NULL")),
    ("T_cvar_handle", Some("MPI_T_CVAR_HANDLE_NULL")),
    ("T_enum", Some("MPI_T_ENUM_NULL")),
    ("T_event_instance", None),
    ("T_event_registration", None),
    ("T_pvar_handle", Some("MPI_T_PVAR_ALL_HANDLES")),
    ("T_pvar_session", Some("MPI_T_PVAR_SESSION_NULL")),
];

/// Types that are the same as the standard's, and not only as large.
const TYPES: [(&str, &str); 6] = [
    ("MPI_Aint", "intptr_t"),
    ("MPI_Count", "int64_t"),
    ("MPI_Offset", "int64_t"),
    ("__typeof__(MPI_BOTTOM)", "void *"),
    ("__typeof__(MPI_STATUS_IGNORE)", "MPI_Status *"),
    ("__typeof__(MPI_UNWEIGHTED)", "int *"),
];

/// Returns declarations that a compiler accepts if types are those of the standard.
fn type_checks() -> String {
    let handles = HANDLES.iter().flat_map(|(name, constant)| {
        let pointer = format!("struct MPI_ABI_{name} *");
        let constant = constant.map(|constant| (format!("__typeof__({constant})"), pointer.clone()));
        [(format!("MPI_{name}"), pointer)].into_iter().chain(constant)
    });
    let others = TYPES.map(|(one, other)| (one.to_owned(), other.to_owned()));
    let check = |(one, other): (String, String)| {
        format!("_Static_assert(__builtin_types_compatible_p({one}, {other}), \"{one}\");\n")
    };
    handles.chain(others).map(check).collect()
}

#[test]
fn constants_and_sizes_are_those_of_the_standard() {
    let values = VALUES.lines().filter_map(|line| line.split_once(' '));
    let values = values.map(|(name, value)| (name, value.parse().expect("an integer")));
    let expected: Vec<(&str, i64)> = values.chain(SIZES).collect();
    let mut source = String::from("#include <mpi.h>\n#include <stdint.h>\n#include <stdio.h>\n");
    source += &type_checks();
    source.push_str("int main(void)\n{\n");
    for (expression, _) in &expected {
        writeln!(source, "printf(\"%lld\\n\", (long long)(intptr_t)({expression}));").expect("a string");
    }
    source.push_str("return 0;\n}\n");
    let headers = midplane(&["cc", "--on", "linux", "-showme:incdirs"]).expect(0);
    let dir = std::env::temp_dir().join(format!("midplane-abi-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let (program, executable) = (dir.join("values.c"), dir.join("values"));
    std::fs::write(&program, source).expect("a file");
    let mut command = Command::new("cc");
    command.arg("-I").arg(headers.stdout.trim()).arg(&program);
    let compiled = command.arg("-o").arg(&executable).output().expect("a compiler");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&executable).output().expect("the program");
    std::fs::remove_dir_all(&dir).expect("the directory");
    let output = String::from_utf8_lossy(&output.stdout);
    let seen: Vec<i64> = output.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(seen.len(), expected.len());
    let differs = |((name, value), seen): (&(&str, i64), &i64)| {
        (value != seen).then(|| format!("{name} is {seen} and not {value}"))
    };
    let different: Vec<String> = expected.iter().zip(&seen).filter_map(differs).collect();
    assert!(different.is_empty(), "{different:#?}");
}
