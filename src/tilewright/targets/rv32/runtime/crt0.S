# Start-up: the stack, variables with a first value from their image in flash, those without are cleared; main; its
# result ends the program.
#include "../kernels/platform.h"
    .section .text.start,"ax"
    .globl _start
    .balign 256
_start:
    la   sp, tw_stack_end
#ifdef __riscv_flen
    li   t0, 0x2000
    csrs mstatus, t0                # floating-point registers may be used
#endif
#ifdef __riscv_vector
    li   t0, 0x200
    csrs mstatus, t0                # the same of vectors
#endif
    la   t0, tw_data_start
    la   t1, tw_data_end
    la   t2, tw_data_image
1:  bgeu t0, t1, 2f
    lw   t3, 0(t2)
    sw   t3, 0(t0)
    addi t0, t0, 4
    addi t2, t2, 4
    j    1b
2:  la   t0, tw_bss_start
    la   t1, tw_bss_end
3:  bgeu t0, t1, 4f
    sw   zero, 0(t0)
    addi t0, t0, 4
    j    3b
4:  call main
    li   t0, 0x80000000
    or   a0, a0, t0
    li   t0, TW_EXIT
    sw   a0, 0(t0)                  # the end of the program
5:  wfi
    j    5b

    .section .stack,"aw",@nobits
    .balign 16
tw_stack_start:
    .space TW_STACK_BYTES
tw_stack_end:
