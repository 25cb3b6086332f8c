//! Toolchain of each board. A command supports one board and selects it with [`choose`] before any detection; the
//! default is [`VIRT`]. The other boards' tools are neither detected nor fetched.

use std::sync::OnceLock;

/// Names of a board's tools and packages.
#[derive(PartialEq, Eq, Debug)]
pub struct BoardToolchain {
    /// Rust target.
    pub target: &'static str,
    /// Emulator.
    pub qemu: &'static str,
    /// Debian packages of the emulator, in order of preference. Since Debian 13, QEMU has a package of its own per
    /// target.
    pub qemu_packages: &'static [&'static str],
    /// Name of the directory for the unpacked emulator.
    pub qemu_dir: &'static str,
    /// C compiler.
    pub gcc: &'static str,
    /// Debian package of the C compiler.
    pub gcc_package: &'static str,
    /// Name of the directory for the unpacked C compiler.
    pub gcc_dir: &'static str,
    /// Path of Debian's picolibc specs file, below `usr`.
    pub picolibc_specs: &'static str,
    /// Debian package of picolibc.
    pub picolibc_package: &'static str,
    /// Name of the directory for the unpacked picolibc.
    pub picolibc_dir: &'static str,
    /// Common name of the processor.
    pub processor: &'static str,
    /// Common name of the C compiler on other distributions.
    pub gcc_elsewhere: &'static str,
    /// Package of the emulator on other distributions.
    pub qemu_elsewhere: &'static str,
    /// Triple in the package names of the C compiler and its library.
    pub triple: &'static str,
}

/// QEMU's riscv64 `virt` machine.
pub static VIRT: BoardToolchain = BoardToolchain {
    target: "riscv64gc-unknown-none-elf",
    qemu: "qemu-system-riscv64",
    qemu_packages: &["qemu-system-riscv", "qemu-system-misc"],
    qemu_dir: "qemu",
    gcc: "riscv64-unknown-elf-gcc",
    gcc_package: "gcc-riscv64-unknown-elf",
    gcc_dir: "gcc",
    picolibc_specs: "lib/picolibc/riscv64-unknown-elf/picolibc.specs",
    picolibc_package: "picolibc-riscv64-unknown-elf",
    picolibc_dir: "picolibc",
    processor: "riscv64",
    gcc_elsewhere: "riscv64-elf-gcc",
    qemu_elsewhere: "qemu-system-riscv",
    triple: "riscv64-unknown-elf",
};

/// STM32F405.
pub static STM32F405: BoardToolchain = BoardToolchain {
    target: "thumbv7em-none-eabihf",
    qemu: "qemu-system-arm",
    qemu_packages: &["qemu-system-arm"],
    qemu_dir: "qemu-arm",
    gcc: "arm-none-eabi-gcc",
    gcc_package: "gcc-arm-none-eabi",
    gcc_dir: "gcc-arm",
    picolibc_specs: "lib/picolibc/arm-none-eabi/picolibc.specs",
    picolibc_package: "picolibc-arm-none-eabi",
    picolibc_dir: "picolibc-arm",
    processor: "arm",
    gcc_elsewhere: "arm-none-eabi-gcc",
    qemu_elsewhere: "qemu-system-arm",
    triple: "arm-none-eabi",
};

static CHOSEN: OnceLock<&'static BoardToolchain> = OnceLock::new();

/// Selects the board of this command. Must be called before any detection; a second call has no effect.
pub fn choose(toolchain: &'static BoardToolchain) {
    let _ = CHOSEN.set(toolchain);
}

/// Returns the toolchain of the selected board.
pub fn board_toolchain() -> &'static BoardToolchain {
    CHOSEN.get().copied().unwrap_or(&VIRT)
}
