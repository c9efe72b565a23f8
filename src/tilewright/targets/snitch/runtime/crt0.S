# Boot: all cores enter here at once and take their stacks. The first one clears .bss and what cores share, then all meet,
# and it goes to main, the others to tw_serve. Cores that no network uses sleep. TW_CORES is the largest of all networks of the
# program.
#include "../kernels/platform.h"
#include "limits.h"
#include "stack_marks.h"
#if TW_CORES < 1 || TW_CORES > TW_MOST_CORES
#error "TW_CORES: the cluster has 1 to TW_MOST_CORES cores that compute"
#endif
    .section .text.start,"ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    csrw mscratch, a0
    li   t0, 1 << TW_WAKE_LINE      # ends wfi; no interrupt is taken
    csrw mie, t0
    la   sp, tw_stacks + TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES
    li   t1, TW_DMA_CORE
    beq  a0, t1, meet
    li   t1, TW_CORES
    bgeu a0, t1, meet
    li   t1, TW_STACK_BYTES
    addi t2, a0, 1
    mul  t1, t1, t2
    la   sp, tw_stacks
    add  sp, sp, t1
    bnez a0, meet
    la   t1, tw_bss_start
    la   t2, tw_bss_end
1:  bgeu t1, t2, 2f
    sw   zero, 0(t1)
    addi t1, t1, 4
    j    1b
2:  la   t1, tw_state_start
    la   t2, tw_state_end
3:  sw   zero, 0(t1)
    addi t1, t1, 4
    bltu t1, t2, 3b
meet:
    csrr t1, TW_BARRIER
    beqz a0, first
    li   t1, TW_DMA_CORE
    beq  a0, t1, serve
    li   t1, TW_CORES
    bgeu a0, t1, unused
serve:
    tail tw_serve
first:
    call tw_marked_main
    slli a0, a0, 1
    ori  a0, a0, 1
    la   t0, tohost
    sw   a0, 0(t0)                  # the end of the program
unused:
    wfi
    j    unused

    .section .tcdm.state,"aw",@nobits
    .balign 8
    .globl tw_common, tw_kernel_meeting
tw_common:
    .space 20
tw_kernel_meeting:
    .space 8

#ifdef TW_STACKS_IN_L1
    .section .tcdm.stacks,"aw",@nobits
#else
    .section .stacks,"aw",@nobits
#endif
    .balign 16
    .globl tw_stacks
tw_stacks:
    .space TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES

#include "marked_main.h"
#include "boots.h"
