@ Division of 64 bits as compilers call it: the quotient in r0 and r1, the rest in r2 and r3.
    .syntax unified
    .thumb

    .macro divide name, function
    .section .text.\name,"ax",%progbits
    .globl \name
    .type \name, %function
    .thumb_func
\name:
    push {r4, lr}
    sub  sp, sp, #16
    add  r4, sp, #8
    str  r4, [sp]                       @ where the rest goes
    bl   \function
    ldr  r2, [sp, #8]
    ldr  r3, [sp, #12]
    add  sp, sp, #16
    pop  {r4, pc}
    .endm

    divide __aeabi_uldivmod, tw_divide
    divide __aeabi_ldivmod, tw_divide_signed
