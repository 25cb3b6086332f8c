//! Tables and conversion functions in C.

use core::fmt::{Display, Formatter, Result};

use super::constants::{BASIC_DATATYPES, CONSTANTS, ConstantGroup, HANDLES, HandleGroup, MASKS};

/// Bits of the values of predefined datatypes, besides their size and index.
const BASIC: u32 = 0x4c00_0000;
/// Bit in which handles of the program's objects differ in some types.
const FLIPPED_BIT: &str = "INT32_MIN";
/// A bit that is no flag in both ABIs, in place of one that is unknown in one of them.
const UNKNOWN_FLAG: &str = "1 << 30";

/// Text of the tables and functions.
pub(super) struct Tables;

impl Display for Tables {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(
            "\n/* Handles of MPICH by those of the standard: the values of predefined ones are below 1,024. */\n",
        )?;
        f.write_str("static const int predefined[1024] = {\n")?;
        for (name, value) in HANDLES.iter().flat_map(|group| group.values) {
            writeln!(f, "    [(intptr_t){name}] = (int)0x{value:08x},")?;
        }
        for (name, value) in BASIC_DATATYPES {
            writeln!(f, "    [(intptr_t){name}] = 0x{:08x},", BASIC | u32::from(value))?;
        }
        f.write_str("};\nstatic const short basic_datatypes[256] = {\n")?;
        for (name, value) in BASIC_DATATYPES {
            writeln!(f, "    [0x{:02x}] = (short)(intptr_t){name},", value & 0xff)?;
        }
        f.write_str("};\n")?;
        for group in &CONSTANTS {
            constants(f, group)?;
        }
        for group in &MASKS {
            mask(f, group, "to", |f, (name, value)| flag(f, &value, &name))?;
            mask(f, group, "from", |f, (name, value)| flag(f, &name, &value))?;
        }
        f.write_str("static inline int mpich_handle(const void *handle, int flip);\n")?;
        f.write_str("static inline void *standard_handle(int handle, int flip);\n")?;
        HANDLES.iter().try_for_each(|group| handles(f, group))
    }
}

/// Writes the functions that convert constants. Other values remain as they are.
fn constants(f: &mut Formatter<'_>, group: &ConstantGroup) -> Result {
    let name = group.name;
    write!(f, "static int to_{name}(int value) {{\n    switch (value) {{\n")?;
    for (constant, value) in group.values {
        writeln!(f, "    case {value}: return {constant};")?;
    }
    write!(
        f,
        "    }}\n    return value;\n}}\nstatic int from_{name}(int value) {{\n    switch (value) {{\n"
    )?;
    for (constant, value) in group.values {
        writeln!(f, "    case {constant}: return {value};")?;
    }
    f.write_str("    }\n    return value;\n}\n")
}

/// Writes the function that converts a bit mask in one direction.
fn mask(
    f: &mut Formatter<'_>,
    group: &ConstantGroup,
    direction: &str,
    flag: impl Fn(&mut Formatter<'_>, (&'static str, i64)) -> Result,
) -> Result {
    write!(
        f,
        "static int {direction}_{}(int value) {{\n    int result = 0;\n",
        group.name
    )?;
    group.values.iter().try_for_each(|constant| flag(f, *constant))?;
    write!(f, "    return value == 0 ? result : result | {UNKNOWN_FLAG};\n}}\n")
}

/// Writes the conversion of a flag.
fn flag(f: &mut Formatter<'_>, from: &dyn Display, to: &dyn Display) -> Result {
    writeln!(f, "    if (value & {from})\n        result |= {to}, value &= ~{from};")
}

/// Writes the functions that convert handles of a type. Datatypes have a table for most values.
fn handles(f: &mut Formatter<'_>, group: &HandleGroup) -> Result {
    let name = group.name;
    let flip = if group.is_flipped { FLIPPED_BIT } else { "0" };
    let (lower, other) = (
        name.to_ascii_lowercase(),
        if name == "Datatype" { "other_" } else { "" },
    );
    write!(
        f,
        "static inline int from_{lower}(const void *handle) {{ return mpich_handle(handle, {flip}); }}\n\
         static MPI_{name} to_{other}{lower}(int handle) {{\n    switch (handle) {{\n"
    )?;
    for (constant, value) in group.values {
        writeln!(f, "    case (int)0x{value:08x}: return {constant};")?;
    }
    write!(f, "    }}\n    return standard_handle(handle, {flip});\n}}\n")
}
