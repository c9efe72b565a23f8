/* An instruction on vectors, its fields, and elements of registers. */
#ifndef TW_VECTORS_ELEMENTS_H
#define TW_VECTORS_ELEMENTS_H
#include "vectors/unit.h"

enum { BY_VECTOR = 0, BY_VECTOR_M = 2, BY_IMMEDIATE = 3, BY_SCALAR = 4, BY_SCALAR_M = 6 }; /* funct3 */

typedef struct {
    vector_unit *u;
    u32 word, scalar;
    u32 bytes;  /* of an element: SEW */
    i32 group;  /* logarithm of the registers of an operand: LMUL */
} vector_op;

static inline u32 field(u32 word, u32 high, u32 low) { return word >> low & (~0u >> (31 - (high - low))); }
static inline u32 op_function(const vector_op *o) { return field(o->word, 31, 26); }
static inline u32 op_form(const vector_op *o) { return field(o->word, 14, 12); }
static inline u32 op_vd(const vector_op *o) { return field(o->word, 11, 7); }
static inline u32 op_vs1(const vector_op *o) { return field(o->word, 19, 15); }
static inline u32 op_vs2(const vector_op *o) { return field(o->word, 24, 20); }
static inline int op_is_masked(const vector_op *o) { return !field(o->word, 25, 25); }
static inline u32 op_immediate(const vector_op *o) { return (u32)((i32)(op_vs1(o) << 27) >> 27); }
static inline int op_has_vector(const vector_op *o) { return op_form(o) == BY_VECTOR || op_form(o) == BY_VECTOR_M; }

static inline u32 most_elements(i32 group, u32 bytes) {
    return group >= 0 ? (u32)VECTOR_REGISTER / bytes << group : VECTOR_REGISTER / bytes >> -group;
}
static inline u8 *element_at(const vector_op *o, u32 reg, u32 i, u32 bytes) { return o->u->v + reg * VECTOR_REGISTER + i * bytes; }

static inline u32 get_unsigned(const u8 *at, u32 bytes) {
    u16 half;
    u32 word;
    if (bytes == 1) return *at;
    if (bytes == 2) { memcpy(&half, at, 2); return half; }
    memcpy(&word, at, 4);
    return word;
}
static inline i32 sign_extended(u32 value, u32 bytes) { return (i32)(value << (32 - 8 * bytes)) >> (32 - 8 * bytes); }
static inline u32 zero_extended(u32 value, u32 bytes) { return value << (32 - 8 * bytes) >> (32 - 8 * bytes); }
static inline void put(u8 *at, u32 bytes, u32 value) { memcpy(at, &value, bytes); }

static inline u32 element(const vector_op *o, u32 reg, u32 i, u32 bytes) { return get_unsigned(element_at(o, reg, i, bytes), bytes); }
static inline u32 mask_bit(const vector_op *o, u32 reg, u32 i) { return o->u->v[reg * VECTOR_REGISTER + i / 8] >> (i % 8) & 1; }
static inline void put_bit(const vector_op *o, u32 reg, u32 i, u32 bit) {
    u8 *at = o->u->v + reg * VECTOR_REGISTER + i / 8;
    *at = (u8)((*at & ~(1u << i % 8)) | bit << i % 8);
}
static inline int is_active(const vector_op *o, u32 i) { return !op_is_masked(o) || mask_bit(o, 0, i); }
/* The second operand: of a vector, a register, or the instruction. */
static inline u32 second(const vector_op *o, u32 i, u32 bytes) {
    if (op_has_vector(o)) return element(o, op_vs1(o), i, bytes);
    return zero_extended(op_form(o) == BY_IMMEDIATE ? op_immediate(o) : o->scalar, bytes);
}

/* What an instruction may name: whole groups of registers. */
static inline int is_group(u32 reg, i32 group) { return group >= -3 && group <= 3 && (group <= 0 || !(reg & ((1u << group) - 1))); }
static inline u32 registers_of(i32 group) { return group > 0 ? 1u << group : 1; }
/* Results over operands whose elements have another size: the end of a longer group, or the beginning of it. */
static inline int may_overlap(u32 d, i32 of_d, u32 from, i32 of_from) {
    const u32 long_d = registers_of(of_d), long_from = registers_of(of_from);
    if (d + long_d <= from || from + long_from <= d || of_d == of_from) return 1;
    return of_d > of_from ? of_from >= 0 && from == d + long_d - long_from : d == from;
}
static inline int keeps_mask(const vector_op *o) { return !op_is_masked(o) || op_vd(o) != 0; }

static inline u32 cycles_of(u32 elements, u32 bytes) {
    const u32 cycles = (elements * bytes + VECTOR_RESULT_BYTES - 1) / VECTOR_RESULT_BYTES;
    return cycles ? cycles : 1;
}
static inline vector_result done_in(u32 cycles) { return (vector_result){cycles ? cycles : 1, 0}; }
static const vector_result ILLEGAL = {0, 0};

/* For every element that is asked for. */
#define EACH_ELEMENT(o, i) \
    for (u32 i = (o)->u->vstart; i < (o)->u->vl; i++) \
        if (is_active(o, i))

/* Of one kind each; ILLEGAL where there is no such instruction. */
vector_result vector_integers(const vector_op *o);
vector_result vector_widths(const vector_op *o);
vector_result vector_masks(const vector_op *o);
vector_result vector_moves(const vector_op *o);
/* integers.c: v / 2^bits, by the rounding mode; and whether it left the range. */
i64 vector_rounded(const vector_unit *u, i64 value, u32 shift);
u32 vector_saturated(vector_unit *u, i64 value, i64 low, i64 high);
#endif
