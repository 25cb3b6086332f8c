//! Generator of `mpif.h`.

use core::fmt::{Display, Formatter, Result};

use super::{PREDEFINED_CALLBACKS, SPECIAL, constants, procedures};
use crate::Kind;

/// Text of `mpif.h`, valid in fixed and in free form: statements begin in column 7 and end before column 73, and none is
/// continued.
#[derive(Clone, Copy, Debug)]
pub struct Include;

impl Include {
    /// File name.
    pub const NAME: &str = "mpif.h";
}

/// Writes the declaration of the constants, which the module `mpi` contains as well.
pub(super) fn declare_constants(f: &mut Formatter<'_>) -> Result {
    for constant in constants() {
        let kind = match constant.name {
            "MPI_DISPLACEMENT_CURRENT" => "integer*8",
            _ => "integer",
        };
        writeln!(f, "      {kind} {}", constant.name)?;
        writeln!(f, "      parameter ({}={})", constant.name, constant.value)?;
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        writeln!(f, "      logical {name}")?;
        writeln!(f, "      parameter ({name}=.false.)")?;
    }
    for special in &SPECIAL {
        let fortran_type = match special.fortran_type {
            "character(1)" => "character*1",
            other => other,
        };
        writeln!(f, "      {fortran_type} {}{}", special.name, special.shape)?;
        writeln!(f, "      common /mpifcm{}/ {}", special.block, special.name)?;
        writeln!(f, "      save /mpifcm{}/", special.block)?;
    }
    Ok(())
}

impl Display for Include {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(
            "! MPI for Fortran programs with the statement: include 'mpif.h'\n\
             ! For fixed and free form. The modules mpi and mpi_f08 check the arguments.\n",
        )?;
        declare_constants(f)?;
        for procedure in procedures() {
            let fortran_type = match procedure.function.result {
                Kind::Double => "double precision",
                Kind::Aint => "integer*8",
                _ => continue,
            };
            for prefix in ["", "P"] {
                let name = procedure.function.name;
                writeln!(f, "      {fortran_type} {prefix}{name}")?;
                writeln!(f, "      external {prefix}{name}")?;
            }
        }
        for callback in &PREDEFINED_CALLBACKS {
            writeln!(f, "      external {}", callback.name)?;
        }
        writeln!(f, "      external MPI_CONVERSION_FN_NULL")
    }
}
