/* Instructions that a user has declared: words in a custom opcode space, with functions of their operands. */
#ifndef TW_DECLARED_H
#define TW_DECLARED_H
#include "engine/base.h"

enum { MOST_DECLARED = 32 };
/* Which registers are read: rs1, rs1 and rs2; the same and rd. */
enum { DECLARED_1, DECLARED_2, DECLARED_1_D, DECLARED_2_D };
typedef u32 (*declared_function)(u32 rd, u32 rs1, u32 rs2, u32 imm);

typedef struct {
    u32 mask, match, reads, latency;
    u32 immediate_bits; /* 0; 5, unsigned, in the place of rs2; 12, signed, in that of funct7 too */
    declared_function compute;
} declared;

typedef struct { u32 count, pad; declared table[MOST_DECLARED]; } declared_table;

static inline const declared *declared_of(const declared_table *all, u32 word) {
    for (u32 i = 0; i < all->count; i++)
        if ((word & all->table[i].mask) == all->table[i].match) return &all->table[i];
    return NULL;
}

static inline i32 declared_immediate(const declared *d, u32 word) {
    return d->immediate_bits == 12 ? (i32)word >> 20 : d->immediate_bits == 5 ? (i32)(word >> 20 & 31) : 0;
}
#endif
