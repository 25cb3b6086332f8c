//! Supported boards of a node, and the build settings of each.

use clap::ValueEnum;
use midplane_abi::backtrace::{SAVED, SAVED_ARM};
use midplane_abi::stm32f405;
use midplane_engines::EngineChoice;
use midplane_setup::toolchain::{self, BoardToolchain};
use object::elf::{EM_AARCH64, EM_ARM, EM_RISCV, EM_X86_64, Machine};
use std::path::PathBuf;

/// Returns the ELF machine of this host if programs can run as native processes on it.
pub fn host_machine() -> Option<Machine> {
    match std::env::consts::ARCH {
        "x86_64" => Some(EM_X86_64),
        "aarch64" => Some(EM_AARCH64),
        "riscv64" => Some(EM_RISCV),
        _ => None,
    }
}

/// Board of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Board {
    /// QEMU's riscv64 machine with a configurable amount of memory
    #[default]
    Virt,
    /// Microcontroller with 128 KiB of RAM and six serial links
    Stm32f405,
}

impl Board {
    /// Returns the board's toolchain.
    pub fn toolchain(self) -> &'static BoardToolchain {
        match self {
            Self::Virt => &toolchain::VIRT,
            Self::Stm32f405 => &toolchain::STM32F405,
        }
    }

    /// Returns the board of this command.
    pub fn chosen() -> Self {
        if toolchain::board_toolchain() == &toolchain::STM32F405 {
            Self::Stm32f405
        } else {
            Self::Virt
        }
    }

    /// Returns the start address of RAM.
    pub fn ram(self) -> u64 {
        match self {
            Self::Virt => 0x8000_0000,
            Self::Stm32f405 => stm32f405::RAM.start,
        }
    }

    /// Returns the start address of code: in RAM, or in flash.
    pub fn code(self) -> u64 {
        match self {
            Self::Virt => self.ram(),
            Self::Stm32f405 => stm32f405::FLASH.start,
        }
    }

    /// Returns the ELF machine of the board's images.
    pub fn machine(self) -> Machine {
        match self {
            Self::Virt => EM_RISCV,
            Self::Stm32f405 => EM_ARM,
        }
    }

    /// Describes an image that was built for another `machine`, and the remedy.
    pub fn other(self, machine: Machine) -> String {
        let own = host_machine();
        let boards = [Self::Virt, Self::Stm32f405];
        if Some(machine) == own {
            return "a program for Linux processes: run it with --on linux (for mpiexec: MIDPLANE_ON=linux), or \
                    compile it for nodes with MIDPLANE_ON unset"
                .into();
        }
        match boards.into_iter().find(|board| board.machine() == machine) {
            Some(Self::Virt) => "an image for nodes in QEMU: run it without --on and --board and with MIDPLANE_ON \
                                 unset, or compile it for the requested platform"
                .into(),
            Some(Self::Stm32f405) => "an image for the board STM32F405: run it with --board stm32f405".into(),
            None => format!("built for another machine (ELF machine {})", machine.0),
        }
    }

    /// Returns the common name of the board's machine.
    pub fn machine_name(self) -> &'static str {
        match self {
            Self::Virt => "riscv64",
            Self::Stm32f405 => "Arm, with --board stm32f405",
        }
    }

    /// Returns the size of an address in bytes.
    pub fn word(self) -> usize {
        match self {
            Self::Virt => 8,
            Self::Stm32f405 => 4,
        }
    }

    /// Returns the registers that a node records when a call ends its job, as DWARF numbers: return address and stack
    /// pointer first.
    pub fn saved(self) -> &'static [u8] {
        match self {
            Self::Virt => &SAVED,
            Self::Stm32f405 => &SAVED_ARM,
        }
    }

    /// Returns the target of a return address. On Arm the lowest bit encodes the instruction set and is cleared.
    pub fn return_address(self, address: u64) -> u64 {
        match self {
            Self::Virt => address,
            Self::Stm32f405 => address & !1,
        }
    }

    /// Returns the machine options of compiler and linker; they match the linker script.
    pub fn machine_flags(self) -> &'static [&'static str] {
        match self {
            Self::Virt => &["-march=rv64imafdc", "-mabi=lp64d", "-mcmodel=medany"],
            Self::Stm32f405 => &["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        }
    }

    /// Returns the cargo profile of the board's images; its directory uses the same name.
    pub fn profile(self) -> &'static str {
        match self {
            Self::Virt => "node",
            Self::Stm32f405 => "node-small",
        }
    }

    /// Returns the default matching engine. The microcontroller's MPI memory contains a few dozen messages, and a list
    /// searches them quickly with the smallest code.
    pub fn matching(self) -> EngineChoice {
        match self {
            Self::Virt => EngineChoice::Default,
            Self::Stm32f405 => EngineChoice::List,
        }
    }

    /// Returns the path of the linker script, relative to the workspace.
    pub fn script(self) -> &'static str {
        match self {
            Self::Virt => "kernel-rt/ld/virt.ld",
            Self::Stm32f405 => "kernel-rt/ld/stm32f405.ld",
        }
    }

    /// Returns the second linker script for GNU's linker and for LLVM's, which require different syntax. LLVM's linker
    /// is much faster for `virt`: GNU's, in binutils 2.40, scans all symbols of the runtime for each call that it
    /// shortens.
    pub fn scripts_behind(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Virt => Some(["kernel-rt/ld/virt-unwind.ld", "kernel-rt/ld/virt-unwind-lld.ld"]),
            Self::Stm32f405 => None,
        }
    }

    /// Returns all linker scripts that an image may depend on.
    pub fn scripts(self) -> Vec<PathBuf> {
        let behind = self.scripts_behind().into_iter().flatten();
        let root = crate::host::directories::root();
        { [self.script()].into_iter().chain(behind) }
            .map(|script| root.join(script))
            .collect()
    }

    /// Returns additional linker options.
    pub fn link_flags(self) -> &'static [&'static str] {
        match self {
            Self::Virt => &["-Wl,--gc-sections", "-Wl,--wrap=fdopen,--wrap=fclose"],
            // Some of picolibc's assembler files do not specify a non-executable stack.
            Self::Stm32f405 => &[
                "-Wl,--gc-sections,-z,noexecstack",
                "-Wl,--wrap=main,--wrap=fdopen,--wrap=fclose",
            ],
        }
    }

    /// Returns the RAM of a node in bytes if the board has a fixed size.
    pub fn fixed_memory(self) -> Option<u64> {
        match self {
            Self::Virt => None,
            Self::Stm32f405 => Some(stm32f405::RAM.len()),
        }
    }

    /// Returns the minimum stack size of a program in bytes, and the unit that the size must be a multiple of.
    pub fn min_stack(self) -> (u64, u64) {
        match self {
            Self::Virt => (16 << 10, 4096),
            // The kernel boots on this stack and on the interrupt stack.
            Self::Stm32f405 => (6144, 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_rt::board::stm32f405::memory;
    use midplane_device::matching::EngineKind;

    /// The constants of the linker script equal those of the kernel.
    #[test]
    fn the_linker_script_says_what_the_kernel_says() {
        let script = crate::host::directories::root().join(Board::Stm32f405.script());
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
        assert_eq!(stm32f405::PERSONALITY.start - stm32f405::FLASH.start, 896 << 10);
        let least = memory::heap(
            stm32f405::RAM.end - 0x5c00,
            memory::HeapNeeds::for_node(&EngineKind::STANDARD, 6, 32, 8),
        );
        assert!(least.is_ok(), "MIDPLANE_LEAST_HEAP");
    }
}
