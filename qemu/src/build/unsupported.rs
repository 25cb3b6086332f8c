//! Link-time report of MPI functions that a program calls and that only return an error.

use crate::build::diagnostics::CompilerOutput;
use crate::show::console::print_error_line;
use midplane_api::refused;
use midplane_c::WARNING;
use object::{Object, ObjectSymbol};
use std::collections::HashSet;
use std::path::Path;

/// Prints the unsupported functions in the image, each with its first call if the linker reported it. Returns whether
/// there are any.
pub fn print_notes(said: &CompilerOutput, linked: &Path) -> bool {
    let (places, there) = (said.unsupported(), in_image(linked));
    let names = named(&places, there.as_ref());
    for &name in &names {
        let place = places.iter().find(|(warned, _)| *warned == name);
        match place.map_or("", |(_, place)| place) {
            "" => print_error_line(format_args!("note: {name}{WARNING}")),
            place => print_error_line(format_args!("note: {place}: {name}{WARNING}")),
        }
    }
    !names.is_empty()
}

/// Checks whether the image contains an unsupported function; true if it cannot be read.
pub fn is_any_in(linked: &Path) -> bool {
    in_image(linked).is_none_or(|there| !there.is_empty())
}

/// Returns the functions to report. The linker warns about calls in code that it then discards, too, and other linkers
/// do not warn. So `there`, the content of the image, decides; the warnings are used only if it is unknown.
fn named<'a>(places: &[(&'a str, &str)], there: Option<&HashSet<String>>) -> Vec<&'a str> {
    let warned = places.iter().map(|(name, _)| *name);
    let Some(there) = there else {
        return warned.collect();
    };
    let mut names: Vec<&str> = warned
        .filter(|name| there.contains(name.trim_start_matches('P')))
        .collect();
    for function in refused() {
        let is_told = names.iter().any(|name| name.trim_start_matches('P') == function.name);
        if !is_told && there.contains(function.name) {
            names.push(function.name);
        }
    }
    names
}

/// Returns the unsupported functions in the image. `None` if the image cannot be read, contains no symbols, or was
/// linked (as native programs are) without discarding unused functions.
fn in_image(linked: &Path) -> Option<HashSet<String>> {
    let bytes = std::fs::read(linked).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let names = file.symbols().filter(|symbol| symbol.is_definition());
    let mut names = names.filter_map(|symbol| symbol.name().ok()).peekable();
    names.peek()?;
    let known: HashSet<&str> = refused().map(|function| function.name).collect();
    let plain = names.map(|name| name.strip_prefix('P').unwrap_or(name));
    let there: HashSet<String> = plain.filter(|name| known.contains(name)).map(str::to_string).collect();
    (there.len() < known.len()).then_some(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_image_is_told_and_nothing_else() {
        let places = [("MPI_Open_port", "a.c:3"), ("PMPI_Comm_join", "a.c:4")];
        let there = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        let told = |there: Option<HashSet<String>>| named(&places, there.as_ref());
        assert_eq!(told(None), ["MPI_Open_port", "PMPI_Comm_join"]);
        assert_eq!(told(there(&["MPI_Comm_join"])), ["PMPI_Comm_join"]);
        assert_eq!(
            told(there(&["MPI_Open_port", "MPI_Comm_spawn"])),
            ["MPI_Open_port", "MPI_Comm_spawn"]
        );
        assert_eq!(told(there(&[])), [""; 0]);
    }
}
