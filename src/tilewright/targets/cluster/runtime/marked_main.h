/* For crt0.S: see stack_marks.h. Stacks are those at tw_stacks. */
#ifndef TW_NO_STACK_MARKS
    .section .marks,"ax"
    .globl tw_marked_main
tw_marked_main:
    mv   s0, ra
    mark_stacks
    call main
    check_stacks stack_overrun
    jr   s0
stack_overrun:
    li   a0, TW_STACK_OVERRUN
    jr   s0
#endif
