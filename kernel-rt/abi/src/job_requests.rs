//! Requests of a Linux process to the tool that manages its job: start of processes, ports and names (MPI-3.1 chapter 10).
//!
//! A request and its answer are lists of fields, each of them a length in four bytes, little-endian, and as many bytes.
//! Numbers are decimal.
//!
//! | request | fields | answer |
//! |---|---|---|
//! | start | `start`, number of commands; for each: command, number of processes, the values of the info keys soft, wdir and path, number of arguments, arguments | `ok`, rank of the first process on the torus, number of processes of each command; or `spawn` |
//! | open, close, find a port | `open`, `close` or `find`, its name | `ok`; or `port`, `full` |
//! | publish, unpublish a name | `publish` or `unpublish`, the service, the port | `ok`; or `service`, `full` |
//! | look a name up | `lookup`, the service | `ok`, the port; or `name` |
//!
//! An empty value of an info key means that the key is not set. Another first field of an answer is an error.

/// Appends a field to a list, whose bytes so far are the first `used` of `list`. Returns the new length in bytes; `None` if
/// there is no space.
pub fn write_field(list: &mut [u8], used: usize, field: &[u8]) -> Option<usize> {
    let length = u32::try_from(field.len()).ok()?.to_le_bytes();
    let start = used.checked_add(length.len())?;
    let end = start.checked_add(field.len())?;
    list.get_mut(used..start)?.copy_from_slice(&length);
    list.get_mut(start..end)?.copy_from_slice(field);
    Some(end)
}

/// Returns the fields of a list. Ends early if the list is invalid.
pub fn fields(mut list: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (length, rest) = list.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (field, rest) = rest.split_at_checked(length)?;
        list = rest;
        Some(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_return_as_written() {
        let mut list = [0; 16];
        let used = write_field(&mut list, 0, b"open").expect("space");
        let used = write_field(&mut list, used, b"").expect("space");
        assert_eq!(used, 12);
        assert!(write_field(&mut list, used, b"x").is_none());
        assert_eq!(write_field(&mut list, used, b""), Some(16));
        assert!(fields(&list).eq([&b"open"[..], b"", b""]));
    }

    #[test]
    fn an_invalid_list_ends() {
        assert_eq!(fields(&[5, 0, 0, 0, 1]).count(), 0);
        assert_eq!(fields(&[1, 0, 0]).count(), 0);
        assert_eq!(fields(&[1, 0, 0, 0, 7, 255, 255, 255, 255]).count(), 1);
    }
}
