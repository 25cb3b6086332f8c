//! The personality: who this node is and what it may use, as read from the boot arguments.
//!
//! Grammar of the boot arguments, written by the host tool and parsed by the node (both through this
//! module): words separated by one space; `midplane.torus=XxYxZ`, `midplane.wrap=xyz` (letters of the
//! dimensions that wrap, may be empty), `midplane.coord=x,y,z`, `midplane.mpi_memory=BYTES`, then `--` and
//! the program's argv from argv\[0\] on, each word percent-encoded (every byte but `A-Za-z0-9._/+-,:=@`).
