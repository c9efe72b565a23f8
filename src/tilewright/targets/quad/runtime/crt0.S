# Boot: all cores enter here at once and take their stacks. The first one clears .bss, puts code into TCDM and prepares
# the event unit, then all meet, and it goes to main, the others to tw_serve. Cores that no network uses sleep.
# TW_CORES is the largest of all networks of the program.
#include "../kernels/platform.h"
#include "limits.h"
#include "stack_marks.h"
#if TW_CORES < 1 || TW_CORES > TW_MOST_CORES
#error "TW_CORES: the cluster has 1 to TW_MOST_CORES cores that compute"
#endif
#define EVERYONE (((1 << TW_CORES) - 1) | (1 << TW_DMA_CORE))
    .section .text.start,"ax"
    .globl _start
    .balign 256
_start:
    csrr a0, mhartid
    la   sp, tw_stacks + TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES
    li   t1, TW_DMA_CORE
    beq  a0, t1, events
    li   t1, TW_CORES
    bgeu a0, t1, unused
    li   t1, TW_STACK_BYTES
    addi t2, a0, 1
    mul  t1, t1, t2
    la   sp, tw_stacks
    add  sp, sp, t1
events:
    li   t0, TW_EVENT_UNIT
    li   t1, 0x00050000             # events: barrier, dispatch
    sw   t1, 0(t0)
    bnez a0, meet
    la   t1, tw_bss_start
    la   t2, tw_bss_end
1:  bgeu t1, t2, 2f
    sw   zero, 0(t1)
    addi t1, t1, 4
    j    1b
2:  li   t1, EVERYONE
    sw   t1, 0x22c(t0)
    sw   t1, 0x220(t0)              # the barrier between layers: others may be there already
meet:
    .insn i 0x03, 6, t1, t0, 0x23c
    beqz a0, first
    tail tw_serve
first:
    call tw_marked_main
    li   t0, 0x80000000
    or   a0, a0, t0
    li   t0, TW_EXIT
    sw   a0, 0(t0)                  # the end of the program
unused:
    wfi
    j    unused

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
