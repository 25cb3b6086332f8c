//! Conversion of a program's status to a process's.

/// Returns the exit status of a process for a program's status: the low eight bits, as POSIX specifies. A non-zero
/// status whose low bits are 0 (256, 512 ..) becomes 1, so that a failure remains a failure.
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
