# Boot: all cores enter here at once and take their stacks: in banks of their tile where these are large enough, else where the
# linker puts them. The first one clears what cores share and goes to main, the others wait for work. Cores that no network uses sleep.
# TW_CORES is the largest of all networks of the program.
#include "stack_marks.h"
#include "../kernels/tile_local.h"
#include "limits.h"
#if TW_CORES < 1 || TW_CORES > TW_MOST_CORES
#error "TW_CORES: there are 1 to TW_MOST_CORES cores"
#endif
    .section .text.start,"ax"
    .globl _start
    .balign 64
_start:
    csrr a0, mhartid
    li   t0, TW_CORES
    bgeu a0, t0, unused
#if TW_STACK_BYTES <= TW_LOCAL_STACK
    take_local_stack
#else
    li   t0, TW_STACK_BYTES
    addi t1, a0, 1
    mul  t0, t0, t1
    la   sp, tw_stacks
    add  sp, sp, t0
#endif
    beqz a0, first
    tail tw_serve
first:
    declare_code
    clear_notes
    la   t0, tw_bss_start
    la   t1, tw_bss_end
3:  bgeu t0, t1, 4f
    sw   zero, 0(t0)
    addi t0, t0, 4
    j    3b
4:  la   t0, tw_state_start
    la   t1, tw_state_end
5:  sw   zero, 0(t0)
    addi t0, t0, 4
    bltu t0, t1, 5b
    call tw_marked_main
    slli a0, a0, 1
    ori  a0, a0, 1
    li   t0, TW_EXIT
    sw   a0, 0(t0)                  # the end of the program
unused:
    wfi
    j    unused

    .globl tw_booted
    .set tw_booted, TW_CORES

#if TW_STACK_BYTES > TW_LOCAL_STACK
#ifdef TW_STACKS_IN_L1
    .section .l1.stacks,"aw",@nobits
#else
    .section .stacks,"aw",@nobits
#endif
    .balign 16
    .globl tw_stacks
tw_stacks:
    .space TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES
#endif

#if TW_STACK_BYTES > TW_LOCAL_STACK
#include "marked_main.h"
#elif !defined TW_NO_STACK_MARKS
    .section .marks,"ax"
tw_marked_main:
    mv   s2, ra
    mv   s3, sp
    each_local_stack mark_local_stack
    mv   sp, s3
    call main
    mv   s4, a0
    each_local_stack check_local_stack
    mv   a0, s4
    jr   s2
stack_overrun:
    li   a0, TW_STACK_OVERRUN
    jr   s2
#endif
#include "boots.h"
