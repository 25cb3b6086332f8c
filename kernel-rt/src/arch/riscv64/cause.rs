//! Decoder of trap causes in `scause`. Pure; tested on the host.
#![forbid(unsafe_code)]

use midplane_abi::fault::TrapCause;

/// Decodes `scause` of an exception (The RISC-V Instruction Set Manual, volume II, table
/// "Supervisor cause register values after trap").
pub fn decode(code: u64) -> TrapCause {
    match code {
        0 => TrapCause::InstructionMisaligned,
        1 | 12 => TrapCause::InstructionAccess,
        2 => TrapCause::IllegalInstruction,
        3 => TrapCause::Breakpoint,
        4 => TrapCause::LoadMisaligned,
        5 | 13 => TrapCause::LoadAccess,
        6 => TrapCause::StoreMisaligned,
        7 | 15 => TrapCause::StoreAccess,
        8..=11 => TrapCause::EnvironmentCall,
        other => TrapCause::Other(other),
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
        assert_eq!(decode(5), TrapCause::LoadAccess);
        assert_eq!(decode(7), TrapCause::StoreAccess);
        for code in [14, 16, u64::MAX] {
            assert_eq!(decode(code), TrapCause::Other(code));
        }
    }
}
