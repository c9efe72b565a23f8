# Boot: the fabric controller clears .bss, puts code into L1 if some is to lie there, starts the cluster's cores and sleeps.
# Every core of the cluster enters here too, takes its stack and goes to its work: core 0 to main, the others to tw_serve.
# The last core moves data; its stack has a size of its own. TW_CORES is the largest of all networks of the program.
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
    li   t0, 0x3e0
    beq  a0, t0, controller
    andi a0, a0, 31
    la   sp, tw_stacks + TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES
    li   t1, TW_DMA_CORE
    beq  a0, t1, events
    li   t1, TW_STACK_BYTES
    addi t2, a0, 1
    mul  t1, t1, t2
    la   sp, tw_stacks
    add  sp, sp, t1
events:
    li   t0, TW_EVENT_UNIT
    li   t1, 0x00050000             # events: barrier, dispatch
    sw   t1, 0(t0)
    beqz a0, first
    tail tw_serve
first:
    call tw_marked_main
    li   t0, 0x80000000
    or   a0, a0, t0
    li   t0, TW_EXIT
    sw   a0, 0(t0)                  # the end of the program
1:  j    1b
controller:
    la   t0, tw_bss_start
    la   t1, tw_bss_end
1:  bgeu t0, t1, 2f
    sw   zero, 0(t0)
    addi t0, t0, 4
    j    1b
2:
#ifdef TW_CODE_IN_L1
    la   t0, tw_l1_code
    la   t1, tw_l1_code_end
    la   t2, tw_l1_code_image
1:  bgeu t0, t1, 2f
    lw   t3, 0(t2)
    sw   t3, 0(t0)
    addi t0, t0, 4
    addi t2, t2, 4
    j    1b
2:
#endif
    li   t0, TW_CLUSTER_CONTROL + 0x40  # boot addresses
    la   t1, _start
    li   t2, TW_DMA_CORE + 1
3:  sw   t1, 0(t0)
    addi t0, t0, 4
    addi t2, t2, -1
    bnez t2, 3b
    li   t0, TW_INSTRUCTION_CACHE
    li   t1, -1
    sw   t1, 0(t0)
    li   t0, TW_CLUSTER_CONTROL
    li   t1, EVERYONE
    sw   t1, 8(t0)
4:  wfi
    j    4b

#ifdef TW_STACKS_IN_L1
    .section .l1.stacks,"aw",@nobits
#else
    .section .stacks,"aw",@nobits
#endif
    .balign 16
    .globl tw_stacks
tw_stacks:
    .space TW_STACK_BYTES * TW_CORES + TW_DMA_CORE_STACK_BYTES

#include "marked_main.h"
#include "boots.h"
