/* An instruction on registers: what it is about, and who computes it. */
#include "vectors/elements.h"

static int is_move_of_registers(u32 word) { return field(word, 31, 26) == 0x27 && field(word, 14, 12) == BY_IMMEDIATE; }

/* vmv1r, vmv2r, vmv4r, vmv8r: whatever the type of elements is. */
static vector_result move_registers(vector_unit *u, u32 word) {
    const u32 count = field(word, 17, 15) + 1, d = field(word, 11, 7), from = field(word, 24, 20);
    if ((count & (count - 1)) || field(word, 19, 18) || !field(word, 25, 25) || (d | from) & (count - 1)) return ILLEGAL;
    memmove(u->v + d * VECTOR_REGISTER, u->v + from * VECTOR_REGISTER, count * VECTOR_REGISTER);
    u->vstart = 0;
    return done_in(cycles_of(count * VECTOR_REGISTER, 1));
}

vector_result vector_compute(vector_unit *u, u32 word, u32 scalar) {
    if (u->vtype & VECTOR_ILLEGAL_TYPE) return ILLEGAL;
    if (is_move_of_registers(word)) return move_registers(u, word);
    const vector_op o = {u, word, scalar, 1u << (u->vtype >> 3 & 7), (i32)(u->vtype << 29) >> 29};
    vector_result (*const KINDS[])(const vector_op *) = {vector_integers, vector_widths, vector_masks, vector_moves};
    for (u32 kind = 0; kind < sizeof KINDS / sizeof KINDS[0]; kind++) {
        const vector_result found = KINDS[kind](&o);
        if (!found.cycles) continue;
        u->vstart = 0;
        return found;
    }
    return ILLEGAL;
}
