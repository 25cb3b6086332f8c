//! Start of processes: conversion of commands and arguments.
//!
//! # Safety
//! The arguments satisfy the standard's requirements. All are references, and lengths of strings follow them.
// The standard documents the functions; the parent module documents their safety.
#![allow(clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{c_char, c_int};
use core::ptr::null_mut;

use midplane_c::Handle;

use crate::addresses::{c_arguments, c_error_codes};
use crate::arguments::{CText, no_memory};
use crate::functions;
use crate::handles::HandleArray;

/// An array of strings as C has it, with a null pointer at its end.
struct CTexts {
    pointers: Vec<*mut c_char>,
    /// Owners of the strings.
    texts: Vec<CText>,
}

impl CTexts {
    fn new() -> Self {
        Self {
            pointers: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Appends a string. `None` if the heap is full.
    fn push(&mut self, text: CText) -> Option<()> {
        self.pointers.try_reserve(1).ok()?;
        self.texts.try_reserve(1).ok()?;
        self.pointers.push(text.as_ptr().cast_mut());
        self.texts.push(text);
        Some(())
    }

    /// Copies the strings of `length` characters that are `stride` strings apart, up to a blank one. `None` if the heap is
    /// full.
    ///
    /// # Safety
    /// `first` refers to such strings.
    unsafe fn arguments(first: *const c_char, length: usize, stride: usize) -> Option<Self> {
        let mut texts = Self::new();
        let mut at = first;
        loop {
            // SAFETY: guaranteed by the caller: no blank string precedes.
            let text = unsafe { CText::new(at, length) }?;
            if text.is_empty() {
                break;
            }
            texts.push(text)?;
            // SAFETY: as above.
            at = unsafe { at.add(stride * length) };
        }
        texts.pointers.try_reserve(1).ok()?;
        texts.pointers.push(null_mut());
        Some(texts)
    }
}

pub(crate) unsafe fn mpi_comm_spawn(
    command: *mut c_char,
    argv: *mut c_char,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    command_length: usize,
    argv_length: usize,
) -> c_int {
    const NAME: &str = "MPI_Comm_spawn";
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(command) = CText::trimmed(command, command_length) else {
            return no_memory(NAME);
        };
        let mut arguments = match c_arguments(argv) {
            None => None,
            // Significant at the root only; elsewhere it may be anything.
            Some(_) if !is_root(*root, *comm) => None,
            Some(argv) => match CTexts::arguments(argv, argv_length, 1) {
                None => return no_memory(NAME),
                texts => texts,
            },
        };
        let argv = arguments
            .as_mut()
            .map_or(null_mut(), |texts| texts.pointers.as_mut_ptr());
        let mut created = Handle::new(*intercomm);
        let code = functions::MPI_Comm_spawn(
            command.as_ptr(),
            argv,
            *maxprocs,
            Handle::new(*info),
            *root,
            Handle::new(*comm),
            &mut created,
            c_error_codes(array_of_errcodes),
        );
        *intercomm = created.value();
        code
    }
}

/// Checks whether this process is the root of a call on a communicator. True for an invalid communicator, which the call
/// reports.
fn is_root(root: c_int, comm: c_int) -> bool {
    let mut rank = root;
    // SAFETY: the variable exists.
    unsafe { functions::MPI_Comm_rank(Handle::new(comm), &mut rank) };
    rank == root
}

/// Commands of a call, and their arguments.
struct CCommands {
    commands: CTexts,
    arguments: Vec<CTexts>,
    /// Addresses of the arguments; empty for MPI_ARGVS_NULL.
    argvs: Vec<*mut *mut c_char>,
}

impl CCommands {
    /// Copies `count` commands and the rows of the matrix of their arguments. `None` if the heap is full.
    ///
    /// # Safety
    /// The arrays have as many strings of these lengths.
    unsafe fn new(
        count: usize,
        commands: *const c_char,
        command_length: usize,
        argvs: *mut c_char,
        argv_length: usize,
    ) -> Option<Self> {
        let mut copy = Self {
            commands: CTexts::new(),
            arguments: Vec::new(),
            argvs: Vec::new(),
        };
        copy.arguments.try_reserve_exact(count).ok()?;
        copy.argvs.try_reserve_exact(count).ok()?;
        for at in 0..count {
            // SAFETY: guaranteed by the caller.
            let command = unsafe { CText::trimmed(commands.add(at * command_length), command_length) }?;
            copy.commands.push(command)?;
            if let Some(argvs) = c_arguments(argvs) {
                // SAFETY: guaranteed by the caller. The arguments of a command are `count` strings apart.
                let texts = unsafe { CTexts::arguments(argvs.add(at * argv_length), argv_length, count) }?;
                copy.arguments.push(texts);
            }
        }
        let pointers = copy.arguments.iter_mut().map(|texts| texts.pointers.as_mut_ptr());
        copy.argvs.extend(pointers);
        Some(copy)
    }
}

/// Like [`mpi_comm_spawn`].
pub(crate) unsafe fn mpi_comm_spawn_multiple(
    count: *const c_int,
    array_of_commands: *mut c_char,
    array_of_argv: *mut c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    commands_length: usize,
    argv_length: usize,
) -> c_int {
    const NAME: &str = "MPI_Comm_spawn_multiple";
    // SAFETY: guaranteed by the caller. The arrays are significant at the root only.
    unsafe {
        let number = if is_root(*root, *comm) { *count } else { 0 };
        let number = usize::try_from(number).unwrap_or(0);
        let commands = CCommands::new(number, array_of_commands, commands_length, array_of_argv, argv_length);
        let Some(mut commands) = commands else {
            return no_memory(NAME);
        };
        let mut infos = match HandleArray::new(NAME, array_of_info, number as c_int) {
            Ok(infos) => infos,
            Err(code) => return code,
        };
        let argvs = if commands.argvs.is_empty() {
            null_mut()
        } else {
            commands.argvs.as_mut_ptr()
        };
        let mut created = Handle::new(*intercomm);
        let code = functions::MPI_Comm_spawn_multiple(
            *count,
            commands.commands.pointers.as_mut_ptr(),
            argvs,
            array_of_maxprocs,
            infos.handles().as_ptr(),
            *root,
            Handle::new(*comm),
            &mut created,
            c_error_codes(array_of_errcodes),
        );
        *intercomm = created.value();
        code
    }
}
