//! C's functions by their names, and not by those of the profiling interface: a profiling library for C, and the recorder of
//! the command, thus record the calls of Fortran, too.
// The standard documents the functions.
#![allow(dead_code)] // Some are called by no entry point.

use midplane_c::kinds;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
