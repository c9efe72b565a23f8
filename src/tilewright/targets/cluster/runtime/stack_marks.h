/* For crt0.S, which calls tw_marked_main instead of main. It writes a mark at the end of each core's stack before main. If a
 * mark is gone afterwards, a stack was too small: the result is TW_STACK_OVERRUN, and the outputs must not be used. With
 * TW_NO_STACK_MARKS it is main itself, because the simulator checks stacks. */
#ifdef TW_NO_STACK_MARKS
#define tw_marked_main main
#endif
#define TW_STACK_MARK 0x57ac4e4d
#define TW_STACK_OVERRUN 83

/* t0 = the end of the first stack, t1 = the mark, t2 = bytes of a stack, t3 = stacks. */
    .macro first_stack
    la   t0, tw_stacks
    li   t1, TW_STACK_MARK
    li   t2, TW_STACK_BYTES
    li   t3, TW_CORES
    .endm

    .macro mark_stacks
    first_stack
1:  sw   t1, 0(t0)
    add  t0, t0, t2
    addi t3, t3, -1
    bnez t3, 1b
#if TW_DMA_CORE_STACK_BYTES > 0
    sw   t1, 0(t0)
#endif
    .endm

/* Jumps to `overrun` if a mark is gone. */
    .macro check_stacks overrun
    first_stack
1:  lw   t4, 0(t0)
    bne  t4, t1, \overrun
    add  t0, t0, t2
    addi t3, t3, -1
    bnez t3, 1b
#if TW_DMA_CORE_STACK_BYTES > 0
    lw   t4, 0(t0)
    bne  t4, t1, \overrun
#endif
    .endm
