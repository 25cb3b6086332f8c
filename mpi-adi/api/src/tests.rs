use std::string::{String, ToString};
use std::vec::Vec;
use std::{env, format, fs};

use super::*;

#[test]
fn the_documentation_is_what_the_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mpi.md");
    let wanted = Page.to_string();
    if env::var_os("MIDPLANE_WRITE").is_some() {
        fs::write(path, &wanted).expect("a file that can be written");
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(
        there == wanted,
        "docs/mpi.md is not what the table says; MIDPLANE_WRITE=1 cargo test -p midplane-api writes it anew"
    );
}

/// So each function occurs once, and the headers and the page contain all.
#[test]
fn functions_are_in_the_order_of_sections_and_names() {
    let key = |function: &Function| {
        let numbers: Vec<u32> = function.numbers().collect();
        // Chapter 9 has no sections.
        let is_section = (2..=3).contains(&numbers.len()) || function.section == "9";
        assert!(is_section, "{}: {}", function.name, function.section);
        (numbers, function.name)
    };
    assert!(
        FUNCTIONS.is_sorted_by(|one, next| key(one) < key(next)),
        "a row is not where it belongs"
    );
    let of_chapters = |(number, _): &(u32, _)| of_chapter(*number).count();
    let count: usize = CHAPTERS.iter().map(of_chapters).sum();
    assert_eq!(count, FUNCTIONS.len());
    let mut names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, next| one < next), "a name twice");
}

#[test]
fn functions_that_others_name_are_there() {
    for function in FUNCTIONS {
        if let State::Extension(other) | State::Removed(other) = function.state {
            let is_there = FUNCTIONS.iter().any(|there| there.name == other);
            assert!(is_there, "{}: {other}", function.name);
        }
    }
}

#[test]
fn functions_with_counts_have_a_large_form() {
    for function in FUNCTIONS {
        let has_count = { function.parameters.iter() }.any(|parameter| parameter.kind.large() != parameter.kind);
        let is_later = matches!(function.state, State::Removed(_));
        match function.large {
            Some(large) => {
                assert_eq!(large, format!("{}_c", function.name));
                assert!(has_count && !is_later, "{large}");
            }
            None => assert!(!has_count || is_later, "{}", function.name),
        }
    }
}

/// Returns the prototypes of a header, one per line.
fn prototypes(header: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        text += before;
        rest = comment.split_once("*/").expect("an end of the comment").1;
    }
    text += rest;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let joined = words.join(" ");
    let all = joined.split_inclusive(';').map(str::trim);
    all.filter(|line| line.ends_with(");") && !line.starts_with("typedef"))
        .map(String::from)
        .collect()
}

#[test]
fn headers_declare_every_function_under_both_names() {
    let (header, profiling) = (Header.to_string(), ProfilingHeader.to_string());
    let (plain, profiled) = (prototypes(&header), prototypes(&profiling));
    let names: Vec<&str> = FUNCTIONS
        .iter()
        .flat_map(Function::forms)
        .map(|(_, name)| name)
        .collect();
    assert_eq!(plain.len(), names.len());
    assert_eq!(profiled.len(), names.len());
    for ((plain, profiled), name) in plain.iter().zip(&profiled).zip(names) {
        let as_profiled = plain.replacen(&format!("{name}("), &format!("P{name}("), 1);
        assert!(as_profiled.ends_with(profiled), "{plain} {profiled}");
    }
    for wanted in [
        "int MPI_Finalize(void);",
        "double MPI_Wtime(void);",
        "int MPI_Pcontrol(const int level, ...);",
        "MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint disp);",
        "int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);",
        "int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);",
        "int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);",
        "int MPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent);",
        "MIDPLANE_REMOVED(\"MPI_Get_address\") int MPI_Address(void *location, MPI_Aint *address);",
    ] {
        assert!(plain.iter().any(|line| line == wanted), "{wanted}");
    }
    assert!(header.contains("#define MPIX_Win_ifence MPI_Win_ifence\n"));
    let is_long = |line: &&str| line.len() > 120;
    assert_eq!(header.lines().find(is_long), None);
}
