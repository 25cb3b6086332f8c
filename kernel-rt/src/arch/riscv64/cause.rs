//! Decoder of trap causes in `scause`. Pure; tested on the host.
#![forbid(unsafe_code)]

use midplane_abi::fault::Cause;

/// Decodes `scause` of an exception (The RISC-V Instruction Set Manual, volume II, table
/// "Supervisor cause register values after trap").
pub fn decode(code: u64) -> Cause {
    match code {
        0 => Cause::InstructionMisaligned,
        1 | 12 => Cause::InstructionAccess,
        2 => Cause::IllegalInstruction,
        3 => Cause::Breakpoint,
        4 => Cause::LoadMisaligned,
        5 | 13 => Cause::LoadAccess,
        6 => Cause::StoreMisaligned,
        7 | 15 => Cause::StoreAccess,
        8..=11 => Cause::EnvironmentCall,
        other => Cause::Other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_faults_count_as_access_faults_and_unknown_codes_keep_their_number() {
        for (code, page_fault) in [(1, 12), (5, 13), (7, 15)] {
            assert_eq!(decode(code), decode(page_fault));
        }
        assert_eq!(decode(5), Cause::LoadAccess);
        assert_eq!(decode(7), Cause::StoreAccess);
        for code in [14, 16, u64::MAX] {
            assert_eq!(decode(code), Cause::Other(code));
        }
    }
}
