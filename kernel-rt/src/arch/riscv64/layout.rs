//! Addresses of the image's parts: the linker script's symbols.

use midplane_abi::address::AddressRange;

unsafe extern "C" {
    static __stack_bottom: u8;
    static __stack_top: u8;
    static __text_start: u8;
    static __rodata_end: u8;
    static __data_start: u8;
    static __data_end: u8;
    static __private_end: u8;
    static __handover: u8;
    static __handover_end: u8;
    static __tables: u8;
    static __trap_guard: u8;
    static __trap_stack: u8;
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
    /// The program's stack.
    stack: __stack_bottom..__stack_top;
    /// Code and constants.
    constants: __text_start..__rodata_end;
    /// The loaded part of the data.
    loaded_data: __data_start..__data_end;
    /// Data and thread-local data, up to the boot information.
    data: __data_start..__private_end;
    /// Boot information from machine mode for the nodes.
    boot_info: __handover..__handover_end;
    /// Memory for the page tables.
    tables: __tables..__trap_guard;
    /// The guard of the trap stack.
    trap_guard: __trap_guard..__trap_stack;
}
