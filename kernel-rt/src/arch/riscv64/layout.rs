//! Where the image's parts stand: the linker script's symbols.

use crate::mem::Bytes;

unsafe extern "C" {
    static __stack_bottom: u8;
    static __stack_top: u8;
    static __text_start: u8;
    static __rodata_end: u8;
    static __device_tree: u8;
    static __device_tree_end: u8;
    static __trap_guard: u8;
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

/// The guard of the trap stack.
pub fn trap_guard() -> Bytes {
    let start = address_of!(__trap_guard) as u64;
    Bytes {
        start,
        end: start + crate::mem::PAGE,
    }
}

/// Room for the device tree in bytes.
pub fn device_tree_room() -> usize {
    address_of!(__device_tree_end) - address_of!(__device_tree)
}

/// The copy of the device tree, `bytes` long; cut to the room there is.
///
/// # Safety
/// May be called once: no other reference to the copy may exist.
pub unsafe fn device_tree(bytes: usize) -> &'static mut [u8] {
    let start = (&raw const __device_tree).cast_mut();
    // SAFETY: the linker script keeps this room for the copy, `_start` has initialised it, and the caller
    // promises to be the only one.
    unsafe { core::slice::from_raw_parts_mut(start, bytes.min(device_tree_room())) }
}
