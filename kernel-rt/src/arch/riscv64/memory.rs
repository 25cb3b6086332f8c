//! `memcpy` and `memset`, called by compilers to move and to zero data, and by programs to copy and to fill it.
//!
//! The compiler's own versions use 62 instructions to copy 8 bytes, the most frequent size in a short message, and 108
//! to fill 232 bytes. These use 12 and 57: words at any alignment, as the processor supports (docs/emulation.md), with
//! overlapping last words if the size is no multiple of them. They access nothing else, and `memcpy` reads all words at
//! an end before it writes them.

use core::arch::global_asm;

global_asm!(
    r#"
    .section .text.memcpy, "ax", @progbits
    .globl memcpy
    .type memcpy, @function
memcpy:
    .cfi_startproc
    add     a6, a1, a2              // the ends
    add     a7, a0, a2
    li      a5, 16
    bltu    a5, a2, 3f
    li      a5, 8
    bltu    a2, a5, 1f
    ld      a3, 0(a1)               // 8 to 16 bytes
    ld      a4, -8(a6)
    sd      a3, 0(a0)
    sd      a4, -8(a7)
    ret

1:  li      a5, 4
    bltu    a2, a5, 2f
    lw      a3, 0(a1)               // 4 to 7
    lw      a4, -4(a6)
    sw      a3, 0(a0)
    sw      a4, -4(a7)
    ret

2:  beqz    a2, 8f
    srli    a5, a2, 1               // 1 to 3: the first, the middle and the last
    add     a2, a1, a5
    lbu     a3, 0(a1)
    lbu     a2, 0(a2)
    lbu     a4, -1(a6)
    add     a5, a0, a5
    sb      a3, 0(a0)
    sb      a2, 0(a5)
    sb      a4, -1(a7)
    ret

3:  mv      a4, a0                  // where the next word goes
    addi    a5, a7, -64
    bltu    a5, a4, 5f
4:  ld      a2, 0(a1)
    ld      a3, 8(a1)
    ld      t0, 16(a1)
    ld      t1, 24(a1)
    ld      t2, 32(a1)
    ld      t3, 40(a1)
    ld      t4, 48(a1)
    ld      t5, 56(a1)
    addi    a1, a1, 64
    sd      a2, 0(a4)
    sd      a3, 8(a4)
    sd      t0, 16(a4)
    sd      t1, 24(a4)
    sd      t2, 32(a4)
    sd      t3, 40(a4)
    sd      t4, 48(a4)
    sd      t5, 56(a4)
    addi    a4, a4, 64
    bgeu    a5, a4, 4b
5:  addi    a5, a7, -16
    bltu    a5, a4, 7f
6:  ld      a2, 0(a1)
    ld      a3, 8(a1)
    addi    a1, a1, 16
    sd      a2, 0(a4)
    sd      a3, 8(a4)
    addi    a4, a4, 16
    bgeu    a5, a4, 6b
7:  beq     a4, a7, 8f
    ld      a2, -16(a6)             // up to 15 are left, and more than 16 there were
    ld      a3, -8(a6)
    sd      a2, -16(a7)
    sd      a3, -8(a7)
8:  ret
    .cfi_endproc
    .size memcpy, . - memcpy

    .section .text.memset, "ax", @progbits
    .globl memset
    .type memset, @function
memset:
    .cfi_startproc
    add     a7, a0, a2              // the end
    andi    a1, a1, 255
    beqz    a1, 1f
    slli    a3, a1, 8               // the byte eight times
    or      a1, a1, a3
    slli    a3, a1, 16
    or      a1, a1, a3
    slli    a3, a1, 32
    or      a1, a1, a3
1:  li      a5, 8
    bltu    a2, a5, 6f
    mv      a4, a0                  // where the next word goes
    addi    a5, a7, -64
    bltu    a5, a4, 3f
2:  sd      a1, 0(a4)
    sd      a1, 8(a4)
    sd      a1, 16(a4)
    sd      a1, 24(a4)
    sd      a1, 32(a4)
    sd      a1, 40(a4)
    sd      a1, 48(a4)
    sd      a1, 56(a4)
    addi    a4, a4, 64
    bgeu    a5, a4, 2b
3:  addi    a5, a7, -8
    bltu    a5, a4, 5f
4:  sd      a1, 0(a4)
    addi    a4, a4, 8
    bgeu    a5, a4, 4b
5:  sd      a1, -8(a7)              // up to 7 are left, and 8 or more there were
    ret

6:  li      a5, 4
    bltu    a2, a5, 7f
    sw      a1, 0(a0)               // 4 to 7
    sw      a1, -4(a7)
    ret

7:  beqz    a2, 8f
    srli    a5, a2, 1               // 1 to 3: the first, the middle and the last
    add     a5, a0, a5
    sb      a1, 0(a0)
    sb      a1, 0(a5)
    sb      a1, -1(a7)
8:  ret
    .cfi_endproc
    .size memset, . - memset
"#
);
