//! Where the image's parts stand: the linker script's symbols.

use crate::mem::Bytes;

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

/// Address of a linker symbol.
macro_rules! address_of {
    ($symbol:ident) => {
        (&raw const $symbol).addr()
    };
}

/// First byte of RAM that the image does not use.
pub fn image_end() -> usize {
    address_of!(MIDPLANE_IMAGE_END)
}

/// The program's stack.
pub fn stack() -> Bytes {
    Bytes {
        start: address_of!(__stack_bottom) as u64,
        end: address_of!(__stack_top) as u64,
    }
}

/// Code and constants.
pub fn constants() -> Bytes {
    Bytes {
        start: address_of!(__text_start) as u64,
        end: address_of!(__rodata_end) as u64,
    }
}

/// What of the data is loaded.
pub fn loaded_data() -> Bytes {
    Bytes {
        start: address_of!(__data_start) as u64,
        end: address_of!(__data_end) as u64,
    }
}

/// Data and thread-local data, up to the handover.
pub fn data() -> Bytes {
    Bytes {
        start: address_of!(__data_start) as u64,
        end: address_of!(__private_end) as u64,
    }
}

/// What machine mode leaves for the nodes.
pub fn handover() -> Bytes {
    Bytes {
        start: address_of!(__handover) as u64,
        end: address_of!(__handover_end) as u64,
    }
}

/// Room for the page tables.
pub fn tables() -> Bytes {
    Bytes {
        start: address_of!(__tables) as u64,
        end: address_of!(__trap_guard) as u64,
    }
}

/// The guard of the trap stack.
pub fn trap_guard() -> Bytes {
    Bytes {
        start: address_of!(__trap_guard) as u64,
        end: address_of!(__trap_stack) as u64,
    }
}
