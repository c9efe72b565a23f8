@ Boot of a kernel measurement: a stack below the bench's few variables, the floating-point unit, and tw_bench(0).
#include "kernels/platform.h"
    .syntax unified
    .thumb
    .section .vectors,"a",%progbits
    .globl tw_vectors
tw_vectors:
    .word tw_variables
    .word tw_reset

    .section .text.start,"ax",%progbits
    .globl tw_reset
    .type tw_reset, %function
    .thumb_func
tw_reset:
#ifdef __ARM_FP
    ldr  r0, =TW_CPACR
    ldr  r1, [r0]
    orr  r1, r1, #0xf00000
    str  r1, [r0]
    dsb
    isb
#endif
    movs r0, #0
    bl   tw_bench
1:  b    1b
