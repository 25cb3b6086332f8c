//! `midplane dissector`: a dissector for Wireshark, generated from the tables of the wire formats.

use crate::host::error::CliError;
use crate::show::console;
use kernel_rt::dev::handshake::LinkHandshake;
use midplane_device::wire_fields::{MESSAGES, MessageFormat};
use msg_layer::fields::{LONG, SHORT};
use msg_layer::header::{LONG_HEADER, SHORT_HEADER};
use msg_layer::port::TrafficClass;
use net_torus::fields::{DETOUR, FRAME, FieldKind, MAGICS, PACKET, RELIABLE, WireField};
use net_torus::wire::{FRAME_HEADER_BYTES, HEADER_BYTES};
use net_torus::{detour, reliable};
use std::fmt::Write;

const SCRIPT: &str = include_str!("dissector.lua");
/// Position of the generated tables in the script.
const MARK: &str = "@TABLES@\n";

/// Prints the dissector.
///
/// # Errors
/// Returns a failure if it cannot be printed.
pub fn print() -> Result<u8, CliError> {
    console::print_bytes(script().as_bytes()).map(|()| 0)
}

/// Returns the dissector: a program in Lua.
fn script() -> String {
    let [frame, reliable, detour] = MAGICS;
    let mut tables = String::new();
    for (name, value) in [
        ("FRAME_MAGIC", usize::from(frame)),
        ("RELIABLE_MAGIC", usize::from(reliable)),
        ("DETOUR_MAGIC", usize::from(detour)),
        ("HANDSHAKE_MAGIC", usize::from(LinkHandshake::FIRST_BYTE)),
        ("FRAME_HEADER_BYTES", FRAME_HEADER_BYTES),
        ("PACKET_HEADER_BYTES", HEADER_BYTES),
        ("RELIABLE_HEADER_BYTES", reliable::OVERHEAD),
        ("DETOUR_HEADER_BYTES", detour::HEADER),
        ("SHORT_HEADER_BYTES", SHORT_HEADER),
        ("LONG_HEADER_BYTES", LONG_HEADER),
    ] {
        tables += &format!("local {name} = {value}\n");
    }
    for (name, prefix, fields) in [
        ("FRAME", "frame.", FRAME),
        ("PACKET", "", PACKET),
        ("RELIABLE", "reliable.", RELIABLE),
        ("DETOUR", "detour.", DETOUR),
        ("SHORT_HEADER", "", SHORT),
        ("LONG_HEADER", "", LONG),
    ] {
        tables += &format!("local {name} = {}\n", field_list(prefix, fields));
    }
    tables += "-- By class (0 normal, 1 priority), then by handler.\nlocal MESSAGES = {\n";
    for class in [TrafficClass::Normal, TrafficClass::Priority] {
        tables += &format!("  [{}] = {{\n", class as u8);
        let formats = MESSAGES.iter().filter(|format| format.class == class);
        tables.extend(formats.map(message));
        tables += "  },\n";
    }
    tables += "}\n";
    SCRIPT.replace(MARK, &tables)
}

/// Returns the Lua table of a message.
fn message(format: &MessageFormat) -> String {
    let (condition, optional) = format
        .optional
        .map_or(("", &[][..]), |optional| (optional.condition, optional.fields));
    let (at, bytes, entries) = format
        .entries
        .map_or((0, 0, &[][..]), |entries| (entries.at, entries.bytes, entries.fields));
    format!(
        "    -- {}\n    [{}] = {{ name = {:?}, fields = {},\n      optional = {{ condition = {condition:?}, fields = {} }},\n      \
         entries = {{ at = {at}, bytes = {bytes}, fields = {} }} }},\n",
        format.meaning,
        format.handler,
        format.name,
        field_list("", format.fields),
        field_list("", optional),
        field_list("", entries),
    )
}

/// Returns the Lua list of fields.
fn field_list(prefix: &str, fields: &[WireField]) -> String {
    let mut list = String::from("{");
    for field in fields {
        let filter = field.name.to_lowercase().replace(' ', "_");
        let _ = write!(
            list,
            " {{ name = {:?}, filter = \"midplane.{prefix}{filter}\", at = {}, bytes = {}, kind = {:?}",
            field.name,
            field.at,
            field.bytes,
            kind(field)
        );
        if field.mask != u64::MAX {
            let bits = field.mask.count_ones();
            let bit = u8::BITS - field.mask.trailing_zeros() - bits;
            let _ = write!(list, ", mask = {:#x}, bit = {bit}, bits = {bits}", field.mask);
        }
        if !field.values.is_empty() {
            let values: Vec<String> = { field.values.iter() }
                .map(|(value, name)| format!("[{value}] = {name:?}"))
                .collect();
            let _ = write!(list, ", values = {{ {} }}", values.join(", "));
        }
        list += " },";
    }
    list += " }";
    list
}

fn kind(field: &WireField) -> &'static str {
    match field.kind {
        FieldKind::Coordinates => "coordinates",
        FieldKind::Signed => "signed",
        FieldKind::Hex => "hex",
        FieldKind::Number if field.mask.count_ones() == 1 && field.values.is_empty() => "flag",
        FieldKind::Number => "number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dissector_contains_all_tables() {
        let script = script();
        assert!(!script.contains(MARK));
        for format in MESSAGES {
            assert!(script.contains(&format!("name = {:?}", format.name)), "{}", format.name);
        }
        assert!(script.contains("filter = \"midplane.destination\", at = 3, bytes = 3, kind = \"coordinates\" }"));
        let class = "at = 2, bytes = 1, kind = \"number\", mask = 0x20, bit = 2, bits = 1, values = { [0] = \"normal\"";
        assert!(script.contains(class));
    }

    /// A filter name with fields of several types is an error of Wireshark.
    #[test]
    fn fields_of_one_name_have_one_type() {
        let of_messages = MESSAGES.iter().flat_map(|format| {
            let optional = format.optional.map_or(&[][..], |optional| optional.fields);
            let entries = format.entries.map_or(&[][..], |entries| entries.fields);
            [format.fields, optional, entries]
        });
        let all: Vec<&WireField> = [PACKET, SHORT, LONG].into_iter().chain(of_messages).flatten().collect();
        for one in &all {
            for other in all.iter().filter(|other| other.name == one.name) {
                assert_eq!((kind(one), one.bytes), (kind(other), other.bytes), "{}", one.name);
            }
        }
    }
}
