//! The boards that nodes can be: what a program is built with for each.

use clap::ValueEnum;
use midplane_abi::callers::{SAVED, SAVED_ARM};
use midplane_abi::stm32f405;
use midplane_device::matching::Choice;
use midplane_setup::kit::{self, Kit};
use object::elf::{EM_AARCH64, EM_ARM, EM_RISCV, EM_X86_64, Machine};
use std::path::PathBuf;

/// The machine that this command runs on, where programs can be processes.
pub fn machine_here() -> Option<Machine> {
    match std::env::consts::ARCH {
        "x86_64" => Some(EM_X86_64),
        "aarch64" => Some(EM_AARCH64),
        "riscv64" => Some(EM_RISCV),
        _ => None,
    }
}

/// What a node is, where it is emulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Board {
    /// QEMU's riscv64 machine, with as much memory as is wanted
    #[default]
    Virt,
    /// A microcontroller: 128 KiB of RAM, six serial links
    Stm32f405,
}

impl Board {
    /// The tools that it is built and run with.
    pub fn kit(self) -> &'static Kit {
        match self {
            Self::Virt => &kit::VIRT,
            Self::Stm32f405 => &kit::STM32F405,
        }
    }

    /// The board that this command is for.
    pub fn chosen() -> Self {
        match kit::kit() == &kit::STM32F405 {
            true => Self::Stm32f405,
            false => Self::Virt,
        }
    }

    /// Where RAM starts.
    pub fn ram(self) -> u64 {
        match self {
            Self::Virt => 0x8000_0000,
            Self::Stm32f405 => stm32f405::RAM.start,
        }
    }

    /// Where code starts: in RAM, or in flash.
    pub fn code(self) -> u64 {
        match self {
            Self::Virt => self.ram(),
            Self::Stm32f405 => stm32f405::FLASH.start,
        }
    }

    /// The machine that its images are for.
    pub fn machine(self) -> Machine {
        match self {
            Self::Virt => EM_RISCV,
            Self::Stm32f405 => EM_ARM,
        }
    }

    /// What an image for `machine` that was given instead is, and what to do with it.
    pub fn other(self, machine: Machine) -> String {
        let own = machine_here();
        let boards = [Self::Virt, Self::Stm32f405];
        if Some(machine) == own {
            return "a program for processes of this machine: run it with --on linux (mpiexec heeds MIDPLANE_ON=linux), or \
                    compile it for nodes, with MIDPLANE_ON unset"
                .into();
        }
        match boards.into_iter().find(|board| board.machine() == machine) {
            Some(Self::Virt) => "an image for nodes in QEMU: run it without --on and --board, with MIDPLANE_ON unset, or \
                                 compile it for what was asked for"
                .into(),
            Some(Self::Stm32f405) => "an image for the board STM32F405: run it with --board stm32f405".into(),
            None => format!("built for another machine (ELF machine {})", machine.0),
        }
    }

    /// What people call that.
    pub fn machine_name(self) -> &'static str {
        match self {
            Self::Virt => "riscv64",
            Self::Stm32f405 => "Arm, with --board stm32f405",
        }
    }

    /// Bytes of an address in memory.
    pub fn word(self) -> usize {
        match self {
            Self::Virt => 8,
            Self::Stm32f405 => 4,
        }
    }

    /// The registers that a node notes when it ends its job by a call, by DWARF's numbers: the return address and the
    /// stack pointer first.
    pub fn saved(self) -> &'static [u8] {
        match self {
            Self::Virt => &SAVED,
            Self::Stm32f405 => &SAVED_ARM,
        }
    }

    /// Where a call returns to; Arm has in the lowest bit what kind of code is there.
    pub fn return_address(self, address: u64) -> u64 {
        match self {
            Self::Virt => address,
            Self::Stm32f405 => address & !1,
        }
    }

    /// What both compiling and linking need to know; the same as the linker script says.
    pub fn machine_flags(self) -> &'static [&'static str] {
        match self {
            Self::Virt => &["-march=rv64imafdc", "-mabi=lp64d", "-mcmodel=medany"],
            Self::Stm32f405 => &[
                "-mcpu=cortex-m4",
                "-mthumb",
                "-mfloat-abi=hard",
                "-mfpu=fpv4-sp-d16",
            ],
        }
    }

    /// The profile of cargo for its images, and the name of its folder.
    pub fn profile(self) -> &'static str {
        match self {
            Self::Virt => "node",
            Self::Stm32f405 => "node-small",
        }
    }

    /// The matching engine of its images where none is asked for. The microcontroller's MPI memory holds some dozen
    /// messages, among which a list is searched soon; its code is the smallest.
    pub fn matching(self) -> Choice {
        match self {
            Self::Virt => Choice::Default,
            Self::Stm32f405 => Choice::List,
        }
    }

    /// The linker script, from the workspace on.
    pub fn script(self) -> &'static str {
        match self {
            Self::Virt => "kernel-rt/ld/virt.ld",
            Self::Stm32f405 => "kernel-rt/ld/stm32f405.ld",
        }
    }

    /// What is behind the script for GNU's linker and for LLVM's, where they need other words. LLVM's is the faster one by far
    /// for `virt`: for each call that it shortens GNU's, in binutils 2.40, goes through all symbols of the runtime.
    pub fn scripts_behind(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Virt => Some([
                "kernel-rt/ld/virt-unwind.ld",
                "kernel-rt/ld/virt-unwind-lld.ld",
            ]),
            Self::Stm32f405 => None,
        }
    }

    /// All of its scripts, of which an image may be made.
    pub fn scripts(self) -> Vec<PathBuf> {
        let behind = self.scripts_behind().into_iter().flatten();
        let root = crate::host::folders::root();
        { [self.script()].into_iter().chain(behind) }
            .map(|script| root.join(script))
            .collect()
    }

    /// What the linker is told besides.
    pub fn link_flags(self) -> &'static [&'static str] {
        match self {
            Self::Virt => &["-Wl,--gc-sections", "-Wl,--wrap=fdopen,--wrap=fclose"],
            // Some of picolibc's own assembler does not say that its stack need not be executed.
            Self::Stm32f405 => &[
                "-Wl,--gc-sections,-z,noexecstack",
                "-Wl,--wrap=main,--wrap=fdopen,--wrap=fclose",
            ],
        }
    }

    /// RAM of a node in bytes, where the board has no other.
    pub fn fixed_memory(self) -> Option<u64> {
        match self {
            Self::Virt => None,
            Self::Stm32f405 => Some(stm32f405::RAM.len()),
        }
    }

    /// The least stack of a program in bytes, and what it must be a multiple of.
    pub fn least_stack(self) -> (u64, u64) {
        match self {
            Self::Virt => (16 << 10, 4096),
            // The kernel boots on it and on that of interrupts.
            Self::Stm32f405 => (6144, 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_rt::board::stm32f405::memory;
    use midplane_device::matching::EngineKind;

    /// The words of the linker script are those of the kernel's sums.
    #[test]
    fn the_linker_script_says_what_the_kernel_says() {
        let script = crate::host::folders::root().join(Board::Stm32f405.script());
        let script = std::fs::read_to_string(script).unwrap();
        for (name, value) in [
            ("MIDPLANE_TRAP_STACK_BYTES", memory::TRAP_STACK_BYTES),
            ("PROVIDE(MIDPLANE_STACK_BYTES", memory::STACK_BYTES),
            ("MIDPLANE_INBOX", stm32f405::INBOX),
            ("MIDPLANE_FILES", stm32f405::FILES),
        ] {
            let close = if name.starts_with('P') { ")" } else { "" };
            let line = format!("{name} = {value:#x}{close};");
            assert!(script.lines().any(|l| l == line), "{line}");
        }
        assert_eq!(stm32f405::OUTBOX, stm32f405::RAM.end);
        assert_eq!(
            stm32f405::PERSONALITY.start - stm32f405::FLASH.start,
            896 << 10
        );
        let least = memory::heap(
            stm32f405::RAM.end - 0x5c00,
            memory::Needs::of(&EngineKind::STANDARD, 6, 32, 8),
        );
        assert!(least.is_ok(), "MIDPLANE_LEAST_HEAP");
    }
}
