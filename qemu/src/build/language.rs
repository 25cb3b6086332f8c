//! Languages of sources, and the compiler options that only one of them accepts.

use object::{Object, ObjectSymbol};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

/// Language of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SourceLanguage {
    /// C or assembler.
    C,
    Cpp,
    Fortran,
}

/// Largest object in bytes that is searched for references to Fortran's library.
const MAX_OBJECT_BYTES: u64 = 64 << 20;

impl SourceLanguage {
    /// Determines the language by the extension. `None` for other files.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Some(match extension {
            "c" | "s" | "S" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "cp" => Self::Cpp,
            "f" | "for" | "ftn" | "fpp" | "f77" | "f90" | "f95" | "f03" | "f08" | "F" | "FOR" | "FTN" | "FPP"
            | "F77" | "F90" | "F95" | "F03" | "F08" => Self::Fortran,
            _ => return None,
        })
    }

    /// Checks whether a file is a source in this language.
    pub(super) fn is_of(self, path: &Path) -> bool {
        Self::from_path(path) == Some(self)
    }
}

/// Checks whether a file is an object that calls Fortran's library or MPI's functions for Fortran. The reason for a
/// failed read is reported by the linker.
pub(super) fn is_fortran_object(path: &Path) -> bool {
    let is_object = path.extension().is_some_and(|extension| extension == "o");
    if !is_object || fs::metadata(path).map_or(0, |data| data.len()) > MAX_OBJECT_BYTES {
        return false;
    }
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return false;
    };
    file.symbols()
        .filter(|symbol| symbol.is_undefined())
        .any(|symbol| symbol.name().is_ok_and(is_fortran_name))
}

/// Checks whether a symbol belongs to the library of gfortran or flang, or is the Fortran name of an MPI function.
fn is_fortran_name(name: &str) -> bool {
    let is_mpi = |name: &str| name.starts_with("mpi_") || name.starts_with("pmpi_");
    name.starts_with("_gfortran_") || name.starts_with("_Fortran") || is_mpi(name) && name.ends_with('_')
}

/// Checks whether a symbol is an MPI function for C or Fortran.
pub(super) fn is_mpi_function(symbol: &str) -> bool {
    ["MPI_", "PMPI_"].iter().any(|prefix| symbol.starts_with(prefix))
        || symbol.ends_with('_') && ["mpi_", "pmpi_"].iter().any(|prefix| symbol.starts_with(prefix))
}

/// Prefixes of options for C that a Fortran compiler reports as unknown.
const ONLY_C: [&str; 10] = [
    "-std=c",
    "-std=gnu1",
    "-std=gnu8",
    "-std=gnu9",
    "-std=iso",
    "-ansi",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wold-style-definition",
    "-Wimplicit-function-declaration",
];

/// Prefixes of options for Fortran that a C compiler reports as unknown.
const ONLY_FORTRAN: [&str; 38] = [
    "-std=f",
    "-std=legacy",
    "-ffree-form",
    "-ffree-line-length-",
    "-ffixed-form",
    "-ffixed-line-length-",
    "-fimplicit-none",
    "-fcheck=",
    "-fbounds-check",
    "-fdefault-",
    "-freal-",
    "-fbackslash",
    "-fdec-",
    "-fd-lines-",
    "-frange-check",
    "-fno-range-check",
    "-fallow-argument-mismatch",
    "-fallow-invalid-boz",
    "-fallow-leading-underscore",
    "-fbacktrace",
    "-fno-backtrace",
    "-fconvert=",
    "-frecord-marker=",
    "-finit-",
    "-ffpe-",
    "-fmax-stack-var-size=",
    "-fcoarray=",
    "-fcray-",
    "-fexternal-blas",
    "-ffrontend-",
    "-fintrinsic-modules-path",
    "-fmodule-private",
    "-fpack-derived",
    "-frecursive",
    "-fsecond-underscore",
    "-fstack-arrays",
    "-fno-underscoring",
    "-funderscoring",
];

/// Options for Fortran with the directory of module files as their argument, in the same word or the next one.
pub(super) const MODULE_DIRECTORY: [&str; 2] = ["-module-dir", "-J"];

/// Returns the options in `words` that the compiler of a language accepts, for a program in several languages.
pub(super) fn options_for(language: SourceLanguage, words: &[OsString]) -> Vec<&OsStr> {
    let starts = |word: &OsStr, list: &[&str]| {
        let word = word.to_string_lossy();
        list.iter().any(|prefix| word.starts_with(prefix))
    };
    let mut kept = Vec::new();
    let mut words = words.iter().map(OsString::as_os_str);
    while let Some(word) = words.next() {
        if language == SourceLanguage::Fortran {
            if !starts(word, &ONLY_C) {
                kept.push(word);
            }
        } else if MODULE_DIRECTORY.iter().any(|option| word == *option) {
            words.next();
        } else if !starts(word, &ONLY_FORTRAN) && !starts(word, &MODULE_DIRECTORY) {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_determines_the_language() {
        for (name, language) in [
            ("a.c", Some(SourceLanguage::C)),
            ("a.S", Some(SourceLanguage::C)),
            ("a.C", Some(SourceLanguage::Cpp)),
            ("a.f", Some(SourceLanguage::Fortran)),
            ("a.F90", Some(SourceLanguage::Fortran)),
            ("a.f08", Some(SourceLanguage::Fortran)),
            ("a.fx", None),
            ("a.o", None),
            ("f90", None),
        ] {
            assert_eq!(SourceLanguage::from_path(Path::new(name)), language, "{name}");
        }
    }

    #[test]
    fn each_compiler_has_the_options_of_its_language() {
        let words: Vec<OsString> = "-O3 -std=c99 -J mods -Jmods -ffree-form -std=f2008 -g -fcheck=all -std=gnu"
            .split(' ')
            .map(OsString::from)
            .collect();
        let fortran = "-O3 -J mods -Jmods -ffree-form -std=f2008 -g -fcheck=all -std=gnu";
        assert_eq!(
            options_for(SourceLanguage::Fortran, &words).join(OsStr::new(" ")),
            fortran
        );
        for language in [SourceLanguage::C, SourceLanguage::Cpp] {
            let c = options_for(language, &words).join(OsStr::new(" "));
            assert_eq!(c, "-O3 -std=c99 -g -std=gnu");
        }
    }

    #[test]
    fn names_of_fortran_are_recognized() {
        for name in [
            "_gfortran_st_write",
            "_FortranAioOutputAscii",
            "mpi_send_",
            "pmpi_send_",
            "mpi_send__",
        ] {
            assert!(is_fortran_name(name), "{name}");
        }
        for name in ["MPI_Send", "mpi_send", "gfortran_", "main", "my_mpi_send_"] {
            assert!(!is_fortran_name(name), "{name}");
        }
        assert!(is_mpi_function("MPI_Send") && is_mpi_function("pmpi_send_") && !is_mpi_function("mpi_helper"));
    }
}
