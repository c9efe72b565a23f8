@ memcpy, memmove and memset, also by the names of Arm's run-time ABI: what compilers call for copies.
    .syntax unified
    .thumb

    .section .text.memcpy,"ax",%progbits
    .globl memmove
    .type memmove, %function
    .thumb_func
memmove:
    adds r3, r1, r2
    cmp  r0, r1
    bls  forwards                       @ forwards is right unless the result begins inside what is copied
    cmp  r0, r3
    bhs  forwards
1:  subs r2, r2, #1
    blo  2f
    ldrb r3, [r1, r2]
    strb r3, [r0, r2]
    b    1b
2:  bx   lr

    .globl memcpy
    .type memcpy, %function
    .globl __aeabi_memcpy
    .globl __aeabi_memcpy4
    .globl __aeabi_memcpy8
    .type __aeabi_memcpy, %function
    .type __aeabi_memcpy4, %function
    .type __aeabi_memcpy8, %function
    .thumb_func
memcpy:
__aeabi_memcpy:
__aeabi_memcpy4:
__aeabi_memcpy8:
forwards:
    mov  ip, r0
    cmp  r2, #16
    blo  6f
1:  lsls r3, r0, #30                    @ bytes until the result is aligned
    beq  2f
    ldrb r3, [r1]
    strb r3, [r0]
    adds r1, r1, #1
    adds r0, r0, #1
    subs r2, r2, #1
    b    1b
2:  lsls r3, r1, #30
    bne  5f
    push {r4, r5, r6}
    subs r2, r2, #16
    blo  4f
3:  ldmia r1!, {r3, r4, r5, r6}
    stmia r0!, {r3, r4, r5, r6}
    subs r2, r2, #16
    bhs  3b
4:  adds r2, r2, #16
    pop  {r4, r5, r6}
    b    6f
5:
#if __ARM_ARCH >= 7                     /* words that are not aligned may be loaded */
    subs r2, r2, #4
    blo  8f
7:  ldr  r3, [r1], #4
    str  r3, [r0], #4
    subs r2, r2, #4
    bhs  7b
8:  adds r2, r2, #4
#endif
6:  subs r2, r2, #1
    blo  9f
    ldrb r3, [r1]
    strb r3, [r0]
    adds r1, r1, #1
    adds r0, r0, #1
    b    6b
9:  mov  r0, ip
    bx   lr

    .section .text.memset,"ax",%progbits
    .globl __aeabi_memclr
    .globl __aeabi_memclr4
    .globl __aeabi_memclr8
    .type __aeabi_memclr, %function
    .type __aeabi_memclr4, %function
    .type __aeabi_memclr8, %function
    .thumb_func
__aeabi_memclr:
__aeabi_memclr4:
__aeabi_memclr8:
    movs r2, r1
    movs r1, #0
    .globl memset
    .type memset, %function
    .thumb_func
memset:
    mov  ip, r0
    cmp  r2, #16
    blo  4f
1:  lsls r3, r0, #30
    beq  2f
    strb r1, [r0]
    adds r0, r0, #1
    subs r2, r2, #1
    b    1b
2:  uxtb r1, r1
    lsls r3, r1, #8
    orrs r1, r1, r3
    lsls r3, r1, #16
    orrs r1, r1, r3
    subs r2, r2, #4
3:  stmia r0!, {r1}
    subs r2, r2, #4
    bhs  3b
    adds r2, r2, #4
4:  subs r2, r2, #1
    blo  5f
    strb r1, [r0]
    adds r0, r0, #1
    b    4b
5:  mov  r0, ip
    bx   lr
