/* For boot code. */
#include "platform.h"

/* sp = the stack, in banks of its tile, of the core whose number is in a0; t0 to t2 change. */
    .macro take_local_stack
    srli t0, a0, 2                  # the tile; each has four cores
#if TW_TILES_WITH_CORES != TW_GROUP_TILES
    li   t1, TW_TILES_WITH_CORES
    divu t1, t0, t1
    li   t2, TW_GROUP_TILES - TW_TILES_WITH_CORES
    mul  t1, t1, t2
    add  t0, t0, t1
#endif
    slli sp, t0, 12                 # TW_LOCAL_BYTES for each
    andi t0, a0, TW_TILE_CORES - 1
    addi t0, t0, 1
    li   t1, TW_LOCAL_STACK
    mul  t0, t0, t1
    add  sp, sp, t0
    addi sp, sp, TW_LOCAL_NOTES
    .endm

/* Does something with the stack of each core, sp being where it begins: marks as stack_marks.h has them. a0, s1, sp and t0
 * to t2 change. */
    .macro each_local_stack does
    li   s1, TW_CORES
1:  addi s1, s1, -1
    mv   a0, s1
    take_local_stack
    li   t0, TW_LOCAL_STACK
    sub  t0, sp, t0
    li   t1, TW_STACK_MARK
    \does
    bnez s1, 1b
    .endm
    .macro mark_local_stack
    sw   t1, 0(t0)
    .endm
    .macro check_local_stack
    lw   t2, 0(t0)
    bne  t1, t2, stack_overrun
    .endm

/* Clears what is noted in all tiles, those without cores too; t0 to t4 change. */
    .macro clear_notes
    li   t0, 0
    li   t1, TW_LOCAL_END
    li   t2, TW_LOCAL_BYTES
1:  addi t3, t0, TW_LOCAL_NOTES
    mv   t4, t0
2:  sw   zero, 0(t4)
    addi t4, t4, 4
    bltu t4, t3, 2b
    add  t0, t0, t2
    bltu t0, t1, 1b
    .endm

/* Groups keep code at hand, where they have a cache for it; t0 to t2 change. */
    .macro declare_code
#ifndef TW_NO_GROUP_CACHE
    la   t1, tw_code_start
    la   t2, tw_code_end
    li   t0, TW_CACHE_BEGIN
    sw   t1, 0(t0)
    sw   t2, TW_CACHE_END - TW_CACHE_BEGIN(t0)
    li   t1, 1
    sw   t1, TW_CACHE_ON - TW_CACHE_BEGIN(t0)
#endif
    .endm
