//! `memcpy`, `memmove` and `memset`, called by compilers to move and to zero data, and by programs to copy and to fill
//! it.
//!
//! The compiler's own versions use ten times as much space in an image. These use words, which the processor reads and
//! writes at any address. The other names are those of the processor's ABI ("Run-time ABI for the Arm Architecture",
//! 4.3.4), whose `memset` swaps its last two arguments.

use core::arch::global_asm;

global_asm!(
    r#"
    .macro start name
    .globl \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    // A fault here is told with the program's call.
    .cfi_sections .debug_frame

    .section .text.memmove, "ax", %progbits
    .cfi_startproc
    // It may do what `memmove` does.
    start memcpy
    start __aeabi_memcpy
    start __aeabi_memcpy4
    start __aeabi_memcpy8
    start memmove
    start __aeabi_memmove
    start __aeabi_memmove4
    start __aeabi_memmove8
    mov     r12, r0
    subs    r3, r0, r1
    cmp     r3, r2
    blo     4f                      // the destination begins within the source
1:  subs    r2, #4
    ittt    hs
    ldrhs   r3, [r1], #4
    strhs   r3, [r12], #4
    bhs     1b
    adds    r2, #4
2:  subs    r2, #1
    ittt    hs
    ldrbhs  r3, [r1], #1
    strbhs  r3, [r12], #1
    bhs     2b
    bx      lr
3:  ldrb    r3, [r1, r2]            // from the end on
    strb    r3, [r0, r2]
4:  subs    r2, #1
    bhs     3b
    bx      lr
    .cfi_endproc

    .section .text.memset, "ax", %progbits
    .cfi_startproc
    start __aeabi_memclr
    start __aeabi_memclr4
    start __aeabi_memclr8
    movs    r2, #0
    start __aeabi_memset
    start __aeabi_memset4
    start __aeabi_memset8
    mov     r3, r1
    mov     r1, r2
    mov     r2, r3
    start memset
    mov     r12, r0
    uxtb    r1, r1
    orr     r1, r1, r1, lsl #8
    orr     r1, r1, r1, lsl #16
1:  subs    r2, #4
    itt     hs
    strhs   r1, [r12], #4
    bhs     1b
    adds    r2, #4
2:  subs    r2, #1
    itt     hs
    strbhs  r1, [r12], #1
    bhs     2b
    bx      lr
    .cfi_endproc

    .purgem start
"#
);
