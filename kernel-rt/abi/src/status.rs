//! A program's status as a process's.

/// The exit status of a process for a program's status: the low eight bits, as POSIX has it, except that a
/// status that is not 0 does not become 0 (256, 512 ..) but 1: a failure stays one.
pub fn exit_byte(status: i32) -> u8 {
    match status as u8 {
        0 if status != 0 => 1,
        byte => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_becomes_a_success() {
        for (status, expected) in [(0, 0), (3, 3), (255, 255), (256, 1), (512, 1), (259, 3)] {
            assert_eq!(exit_byte(status), expected);
        }
        assert_eq!((exit_byte(-1), exit_byte(i32::MIN)), (255, 1));
    }
}
