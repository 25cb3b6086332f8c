//! What the nodes of a board are built and run with. One command is for one board, which it says once, before anything
//! is looked for; without that it is [`VIRT`]. So the other boards' tools are neither looked for nor fetched.

use std::sync::OnceLock;

/// The names of a board's tools.
#[derive(PartialEq, Eq, Debug)]
pub struct Kit {
    /// The Rust target.
    pub target: &'static str,
    /// The emulator.
    pub qemu: &'static str,
    /// Debian's packages of it, in the order in which they are tried: QEMU's own for the target since Debian 13.
    pub qemu_packages: &'static [&'static str],
    /// The name of the folder that these are unpacked to.
    pub qemu_folder: &'static str,
    /// The C compiler.
    pub gcc: &'static str,
    /// Debian's package of it.
    pub gcc_package: &'static str,
    /// The name of the folder that it is unpacked to.
    pub gcc_folder: &'static str,
    /// Where Debian's picolibc is, below `usr`.
    pub picolibc_specs: &'static str,
    /// Debian's package of it.
    pub picolibc_package: &'static str,
    /// The name of the folder that it is unpacked to.
    pub picolibc_folder: &'static str,
    /// The processor, as packages and people call it.
    pub processor: &'static str,
    /// How the C compiler is often called elsewhere.
    pub gcc_elsewhere: &'static str,
    /// The package of the emulator elsewhere.
    pub qemu_elsewhere: &'static str,
    /// The triple in the names of packages of the C compiler and its library.
    pub triple: &'static str,
}

/// QEMU's riscv64 `virt` machine.
pub static VIRT: Kit = Kit {
    target: "riscv64gc-unknown-none-elf",
    qemu: "qemu-system-riscv64",
    qemu_packages: &["qemu-system-riscv", "qemu-system-misc"],
    qemu_folder: "qemu",
    gcc: "riscv64-unknown-elf-gcc",
    gcc_package: "gcc-riscv64-unknown-elf",
    gcc_folder: "gcc",
    picolibc_specs: "lib/picolibc/riscv64-unknown-elf/picolibc.specs",
    picolibc_package: "picolibc-riscv64-unknown-elf",
    picolibc_folder: "picolibc",
    processor: "riscv64",
    gcc_elsewhere: "riscv64-elf-gcc",
    qemu_elsewhere: "qemu-system-riscv",
    triple: "riscv64-unknown-elf",
};

/// STM32F405.
pub static STM32F405: Kit = Kit {
    target: "thumbv7em-none-eabihf",
    qemu: "qemu-system-arm",
    qemu_packages: &["qemu-system-arm"],
    qemu_folder: "qemu-arm",
    gcc: "arm-none-eabi-gcc",
    gcc_package: "gcc-arm-none-eabi",
    gcc_folder: "gcc-arm",
    picolibc_specs: "lib/picolibc/arm-none-eabi/picolibc.specs",
    picolibc_package: "picolibc-arm-none-eabi",
    picolibc_folder: "picolibc-arm",
    processor: "arm",
    gcc_elsewhere: "arm-none-eabi-gcc",
    qemu_elsewhere: "qemu-system-arm",
    triple: "arm-none-eabi",
};

static CHOSEN: OnceLock<&'static Kit> = OnceLock::new();

/// This command is for the board of `kit`. Has to be called before anything is looked for; a second call changes
/// nothing.
pub fn choose(kit: &'static Kit) {
    let _ = CHOSEN.set(kit);
}

/// The tools of the board that this command is for.
pub fn kit() -> &'static Kit {
    CHOSEN.get().copied().unwrap_or(&VIRT)
}
