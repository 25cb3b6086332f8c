//! Addresses of the image's parts: the linker script's symbols.

use midplane_abi::address::AddressRange;

unsafe extern "C" {
    static __ram_start: u8;
    static __ram_end: u8;
    static __trap_stack: u8;
    static __trap_stack_top: u8;
    static __trap_guard: u8;
    static __stack_bottom: u8;
    static __stack_top: u8;
    static __text_start: u8;
    static __rodata_end: u8;
    static MIDPLANE_IMAGE_END: u8;
}

macro_rules! address_of {
    ($symbol:ident) => {
        (&raw const $symbol).addr()
    };
}

/// Returns the first byte of RAM that the image does not use.
pub fn image_end() -> usize {
    address_of!(MIDPLANE_IMAGE_END)
}

/// Defines a function for each part, from one symbol up to another.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident: $start:ident..$end:ident;)*) => {
        $(
            $(#[$doc])*
            pub fn $name() -> AddressRange {
                AddressRange {
                    start: address_of!($start) as u64,
                    end: address_of!($end) as u64,
                }
            }
        )*
    };
}

parts! {
    /// All memory.
    ram: __ram_start..__ram_end;
    /// The stack of interrupts and faults.
    trap_stack: __trap_stack..__trap_stack_top;
    /// The guard of the trap stack.
    trap_guard: __trap_guard..__trap_stack;
    /// The program's stack, at the start of RAM.
    stack: __stack_bottom..__stack_top;
    /// Code and constants.
    constants: __text_start..__rodata_end;
}
