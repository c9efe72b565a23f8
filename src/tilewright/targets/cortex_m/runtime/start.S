@ Start-up: the vector table; the floating-point unit; variables with a first value from their image in flash, those
@ without are cleared; main; its result ends the program.
#include "../kernels/platform.h"
    .syntax unified
    .thumb
    .section .vectors,"a",%progbits
    .globl tw_vectors
tw_vectors:
    .word tw_stack_end
    .word tw_reset
    .word tw_fault                      @ NMI
    .word tw_fault                      @ HardFault
    .word tw_fault                      @ MemManage
    .word tw_fault                      @ BusFault
    .word tw_fault                      @ UsageFault

    .section .text.start,"ax",%progbits
    .globl tw_reset
    .type tw_reset, %function
    .thumb_func
tw_reset:
#ifdef __ARM_FP
    ldr  r0, =TW_CPACR
    ldr  r1, [r0]
    orr  r1, r1, #0xf00000              @ for all programs
    str  r1, [r0]
    dsb
    isb
#endif
    ldr  r0, =tw_data_start
    ldr  r1, =tw_data_end
    ldr  r2, =tw_data_image
1:  cmp  r0, r1
    bhs  2f
    ldr  r3, [r2]
    str  r3, [r0]
    adds r0, r0, #4
    adds r2, r2, #4
    b    1b
2:
#ifdef TW_COPIES                        /* constants in another memory than the variables */
    ldr  r0, =tw_copies_start
    ldr  r1, =tw_copies_end
    ldr  r2, =tw_copies_image
5:  cmp  r0, r1
    bhs  6f
    ldr  r3, [r2]
    str  r3, [r0]
    adds r0, r0, #4
    adds r2, r2, #4
    b    5b
6:
#endif
    ldr  r0, =tw_bss_start
    ldr  r1, =tw_bss_end
    movs r3, #0
3:  cmp  r0, r1
    bhs  4f
    str  r3, [r0]
    adds r0, r0, #4
    b    3b
4:  bl   main
    bl   tw_exit

    .globl tw_fault
    .type tw_fault, %function
    .thumb_func
tw_fault:
    b    tw_fault

    .section .stack,"aw",%nobits
    .balign 16
    .globl tw_stack_start
tw_stack_start:
    .space TW_STACK_BYTES
tw_stack_end:
