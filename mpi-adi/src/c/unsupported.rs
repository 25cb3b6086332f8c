//! Functions of MPI-3.1 that are declared and link, and do nothing: dynamic processes (chapter 10) and files (chapter
//! 13), with what belongs to them in other chapters.
//!
//! Each returns an error of class MPI_ERR_UNSUPPORTED_OPERATION by way of an error handler, with a message that names
//! it: the handler of the communicator among its arguments, of MPI_COMM_WORLD when there is none (MPI-3.1 section
//! 8.3), and for files the default one of section 13.7.
//!
//! A program learns of them before it runs: beside each is a section `.gnu.warning.NAME`, whose text GNU's linker shows
//! with the line of the first call in the program. The section is for the linker alone and no part of an image; a
//! function that is not called is none either. The host tool turns the warnings into notes ([`WARNING`]).
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    unused_variables,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::c_int;

use super::comm_objects::Blame;
use super::file_handler;
use super::report::{blame, raise};
use super::signatures::{Signature, profiled, rust, spelling};
use super::types::constants::MPI_COMM_WORLD;
use crate::mpi::error::Error;

/// What the linker says of such a function, behind its name.
pub const WARNING: &str = " is not supported yet: it returns MPI_ERR_UNSUPPORTED_OPERATION";

/// Ends a call of a function that is not there, of which `what` says so and begins with its name.
#[cold]
fn refuse(what: &'static str, blame: Blame) -> c_int {
    let name = what.split(' ').next().unwrap_or(what);
    raise(name, blame, Error::Unsupported { what })
}

/// Makes the section whose text the linker shows where a program calls the function.
macro_rules! warned {
    ($prefix:literal, $function:ident) => {
        core::arch::global_asm!(
            concat!(".section .gnu.warning.", $prefix, stringify!($function)),
            concat!(
                ".ascii \"",
                $prefix,
                stringify!($function),
                " is not supported yet: it returns MPI_ERR_UNSUPPORTED_OPERATION\""
            ),
            ".text",
        );
    };
}

/// Makes the functions, each with where it is described and whose error handler its error goes to.
macro_rules! unsupported {
    ($($section:literal $blame:expr, $function:ident($($parameter:ident: $type:ident),*);)*) => {
        /// All of them, in the order of `mpi.h`.
        pub const UNSUPPORTED: &[Signature] = &[$(Signature {
            name: stringify!($function),
            section: $section,
            result: spelling::Int,
            parameters: &[$((stringify!($parameter), spelling::$type)),*],
        }),*];
        $(
            #[unsafe(export_name = concat!("P", stringify!($function)))]
            pub unsafe extern "C" fn $function($($parameter: rust::$type),*) -> c_int {
                refuse(concat!(stringify!($function), " is not supported yet"), $blame)
            }
            profiled!($function);
            warned!("", $function);
            warned!("P", $function);
        )*
    };
}

unsupported! {
    "10.3.2" blame(comm), MPI_Comm_spawn(command: ConstText, argv: Texts, maxprocs: Int, info: Info, root: Int,
        comm: Comm, intercomm: CommOut, array_of_errcodes: Ints);
    "10.3.3" blame(comm), MPI_Comm_spawn_multiple(count: Int, array_of_commands: Texts, array_of_argv: TextLists,
        array_of_maxprocs: ConstInts, array_of_info: ConstInfos, root: Int, comm: Comm, intercomm: CommOut,
        array_of_errcodes: Ints);
    "10.4.2" blame(MPI_COMM_WORLD), MPI_Open_port(info: Info, port_name: Text);
    "10.4.2" blame(MPI_COMM_WORLD), MPI_Close_port(port_name: ConstText);
    "10.4.2" blame(comm), MPI_Comm_accept(port_name: ConstText, info: Info, root: Int, comm: Comm, newcomm: CommOut);
    "10.4.3" blame(comm), MPI_Comm_connect(port_name: ConstText, info: Info, root: Int, comm: Comm, newcomm: CommOut);
    "10.4.4" blame(MPI_COMM_WORLD), MPI_Publish_name(service_name: ConstText, info: Info, port_name: ConstText);
    "10.4.4" blame(MPI_COMM_WORLD), MPI_Unpublish_name(service_name: ConstText, info: Info, port_name: ConstText);
    "10.4.4" blame(MPI_COMM_WORLD), MPI_Lookup_name(service_name: ConstText, info: Info, port_name: Text);
    "10.5.5" blame(MPI_COMM_WORLD), MPI_Comm_join(fd: Int, intercomm: CommOut);

    "13.2.1" file_handler::blame(), MPI_File_open(comm: Comm, filename: ConstText, amode: Int, info: Info, fh: FileOut);
    "13.2.2" file_handler::blame(), MPI_File_close(fh: FileOut);
    "13.2.3" file_handler::blame(), MPI_File_delete(filename: ConstText, info: Info);
    "13.2.4" file_handler::blame(), MPI_File_set_size(fh: File, size: Offset);
    "13.2.5" file_handler::blame(), MPI_File_preallocate(fh: File, size: Offset);
    "13.2.6" file_handler::blame(), MPI_File_get_size(fh: File, size: OffsetOut);
    "13.2.7" file_handler::blame(), MPI_File_get_group(fh: File, group: GroupOut);
    "13.2.7" file_handler::blame(), MPI_File_get_amode(fh: File, amode: IntOut);
    "13.2.8" file_handler::blame(), MPI_File_set_info(fh: File, info: Info);
    "13.2.8" file_handler::blame(), MPI_File_get_info(fh: File, info_used: InfoOut);
    "13.3" file_handler::blame(), MPI_File_set_view(fh: File, disp: Offset, etype: Datatype, filetype: Datatype,
        datarep: ConstText, info: Info);
    "13.3" file_handler::blame(), MPI_File_get_view(fh: File, disp: OffsetOut, etype: DatatypeOut, filetype: DatatypeOut,
        datarep: Text);
    "13.4.2" file_handler::blame(), MPI_File_read_at(fh: File, offset: Offset, buf: Buffer, count: Int,
        datatype: Datatype, status: StatusOut);
    "13.4.2" file_handler::blame(), MPI_File_read_at_all(fh: File, offset: Offset, buf: Buffer, count: Int,
        datatype: Datatype, status: StatusOut);
    "13.4.2" file_handler::blame(), MPI_File_write_at(fh: File, offset: Offset, buf: ConstBuffer, count: Int,
        datatype: Datatype, status: StatusOut);
    "13.4.2" file_handler::blame(), MPI_File_write_at_all(fh: File, offset: Offset, buf: ConstBuffer, count: Int,
        datatype: Datatype, status: StatusOut);
    "13.4.2" file_handler::blame(), MPI_File_iread_at(fh: File, offset: Offset, buf: Buffer, count: Int,
        datatype: Datatype, request: RequestOut);
    "13.4.2" file_handler::blame(), MPI_File_iread_at_all(fh: File, offset: Offset, buf: Buffer, count: Int,
        datatype: Datatype, request: RequestOut);
    "13.4.2" file_handler::blame(), MPI_File_iwrite_at(fh: File, offset: Offset, buf: ConstBuffer, count: Int,
        datatype: Datatype, request: RequestOut);
    "13.4.2" file_handler::blame(), MPI_File_iwrite_at_all(fh: File, offset: Offset, buf: ConstBuffer, count: Int,
        datatype: Datatype, request: RequestOut);
    "13.4.3" file_handler::blame(), MPI_File_read(fh: File, buf: Buffer, count: Int, datatype: Datatype, status: StatusOut);
    "13.4.3" file_handler::blame(), MPI_File_read_all(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.3" file_handler::blame(), MPI_File_write(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.3" file_handler::blame(), MPI_File_write_all(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.3" file_handler::blame(), MPI_File_iread(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.3" file_handler::blame(), MPI_File_iread_all(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.3" file_handler::blame(), MPI_File_iwrite(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.3" file_handler::blame(), MPI_File_iwrite_all(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.3" file_handler::blame(), MPI_File_seek(fh: File, offset: Offset, whence: Int);
    "13.4.3" file_handler::blame(), MPI_File_get_position(fh: File, offset: OffsetOut);
    "13.4.3" file_handler::blame(), MPI_File_get_byte_offset(fh: File, offset: Offset, disp: OffsetOut);
    "13.4.4" file_handler::blame(), MPI_File_read_shared(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.4" file_handler::blame(), MPI_File_write_shared(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.4" file_handler::blame(), MPI_File_iread_shared(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.4" file_handler::blame(), MPI_File_iwrite_shared(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        request: RequestOut);
    "13.4.4" file_handler::blame(), MPI_File_read_ordered(fh: File, buf: Buffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.4" file_handler::blame(), MPI_File_write_ordered(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype,
        status: StatusOut);
    "13.4.4" file_handler::blame(), MPI_File_seek_shared(fh: File, offset: Offset, whence: Int);
    "13.4.4" file_handler::blame(), MPI_File_get_position_shared(fh: File, offset: OffsetOut);
    "13.4.5" file_handler::blame(), MPI_File_read_at_all_begin(fh: File, offset: Offset, buf: Buffer, count: Int,
        datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_read_at_all_end(fh: File, buf: Buffer, status: StatusOut);
    "13.4.5" file_handler::blame(), MPI_File_write_at_all_begin(fh: File, offset: Offset, buf: ConstBuffer, count: Int,
        datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_write_at_all_end(fh: File, buf: ConstBuffer, status: StatusOut);
    "13.4.5" file_handler::blame(), MPI_File_read_all_begin(fh: File, buf: Buffer, count: Int, datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_read_all_end(fh: File, buf: Buffer, status: StatusOut);
    "13.4.5" file_handler::blame(), MPI_File_write_all_begin(fh: File, buf: ConstBuffer, count: Int, datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_write_all_end(fh: File, buf: ConstBuffer, status: StatusOut);
    "13.4.5" file_handler::blame(), MPI_File_read_ordered_begin(fh: File, buf: Buffer, count: Int, datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_read_ordered_end(fh: File, buf: Buffer, status: StatusOut);
    "13.4.5" file_handler::blame(), MPI_File_write_ordered_begin(fh: File, buf: ConstBuffer, count: Int,
        datatype: Datatype);
    "13.4.5" file_handler::blame(), MPI_File_write_ordered_end(fh: File, buf: ConstBuffer, status: StatusOut);
    "13.5.1" file_handler::blame(), MPI_File_get_type_extent(fh: File, datatype: Datatype, extent: AintOut);
    "13.5.3" file_handler::blame(), MPI_Register_datarep(datarep: ConstText, read_conversion_fn: ConversionFn,
        write_conversion_fn: ConversionFn, dtype_file_extent_fn: ExtentFn, extra_state: Buffer);
    "13.6.1" file_handler::blame(), MPI_File_set_atomicity(fh: File, flag: Int);
    "13.6.1" file_handler::blame(), MPI_File_get_atomicity(fh: File, flag: IntOut);
    "13.6.1" file_handler::blame(), MPI_File_sync(fh: File);
}
