/* Results as wide as their operands: sums, products, quotients, shifts, and what is rounded or saturated. */
#include "vectors/elements.h"

/* v / 2^shift: to the nearest, ties up or to even; down; or with its last bit set where something was lost. */
i64 vector_rounded(const vector_unit *u, i64 value, u32 shift) {
    if (!shift) return value;
    const u64 lost = (u64)value & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    const i64 down = value >> shift;
    switch (u->vxrm) {
    case 0: return down + (lost >= half);
    case 1: return down + (lost > half || (lost == half && (down & 1)));
    case 2: return down;
    default: return down | (lost != 0);
    }
}

u32 vector_saturated(vector_unit *u, i64 value, i64 low, i64 high) {
    if (value >= low && value <= high) return (u32)value;
    u->vxsat = 1;
    return (u32)(value < low ? low : high);
}

/* Of an element: its bits, its operands with and without signs. */
typedef struct { i64 a, b, d; u64 ua, ub; i64 low, high, most; u32 bits; } operands;

static u32 divided(const operands *e, int wants_rest) {
    if (e->b == 0) return wants_rest ? (u32)e->a : ~0u;
    if (e->a == e->low && e->b == -1) return wants_rest ? 0 : (u32)e->a;
    return (u32)(wants_rest ? e->a % e->b : e->a / e->b);
}

/* Of vectors, scalars and immediates: funct6 as in the table of the specification. */
static int plain(vector_unit *u, u32 function, const operands *e, u32 *r) {
    const u32 shift = (u32)e->ub & (e->bits - 1);
    switch (function) {
    case 0x00: *r = (u32)(e->a + e->b); return 1;
    case 0x02: *r = (u32)(e->a - e->b); return 1;
    case 0x03: *r = (u32)(e->b - e->a); return 1;
    case 0x04: *r = (u32)(e->ua < e->ub ? e->ua : e->ub); return 1;
    case 0x05: *r = (u32)(e->a < e->b ? e->a : e->b); return 1;
    case 0x06: *r = (u32)(e->ua > e->ub ? e->ua : e->ub); return 1;
    case 0x07: *r = (u32)(e->a > e->b ? e->a : e->b); return 1;
    case 0x09: *r = (u32)(e->a & e->b); return 1;
    case 0x0a: *r = (u32)(e->a | e->b); return 1;
    case 0x0b: *r = (u32)(e->a ^ e->b); return 1;
    case 0x20: *r = vector_saturated(u, (i64)(e->ua + e->ub), 0, e->most); return 1;
    case 0x21: *r = vector_saturated(u, e->a + e->b, e->low, e->high); return 1;
    case 0x22: *r = vector_saturated(u, (i64)(e->ua - e->ub), 0, e->most); return 1;
    case 0x23: *r = vector_saturated(u, e->a - e->b, e->low, e->high); return 1;
    case 0x25: *r = (u32)(e->ua << shift); return 1;
    case 0x27: *r = vector_saturated(u, vector_rounded(u, e->a * e->b, e->bits - 1), e->low, e->high); return 1;
    case 0x28: *r = (u32)(e->ua >> shift); return 1;
    case 0x29: *r = (u32)(e->a >> shift); return 1;
    case 0x2a: *r = (u32)vector_rounded(u, (i64)e->ua, shift); return 1;
    case 0x2b: *r = (u32)vector_rounded(u, e->a, shift); return 1;
    default: return 0;
    }
}

/* Of vectors and scalars: averages, products, quotients; d is the result's old value. */
static int multiplying(vector_unit *u, u32 function, const operands *e, u32 *r) {
    switch (function) {
    case 0x08: *r = (u32)vector_rounded(u, (i64)(e->ua + e->ub), 1); return 1;
    case 0x09: *r = (u32)vector_rounded(u, e->a + e->b, 1); return 1;
    case 0x0a: *r = (u32)vector_rounded(u, (i64)(e->ua - e->ub), 1); return 1;
    case 0x0b: *r = (u32)vector_rounded(u, e->a - e->b, 1); return 1;
    case 0x20: *r = e->ub ? (u32)(e->ua / e->ub) : ~0u; return 1;
    case 0x21: *r = divided(e, 0); return 1;
    case 0x22: *r = e->ub ? (u32)(e->ua % e->ub) : (u32)e->ua; return 1;
    case 0x23: *r = divided(e, 1); return 1;
    case 0x24: *r = (u32)(e->ua * e->ub >> e->bits); return 1;
    case 0x25: *r = (u32)(e->a * e->b); return 1;
    case 0x26: *r = (u32)(e->a * (i64)e->ub >> e->bits); return 1;
    case 0x27: *r = (u32)(e->a * e->b >> e->bits); return 1;
    case 0x29: *r = (u32)(e->d * e->b + e->a); return 1;
    case 0x2b: *r = (u32)(e->a - e->d * e->b); return 1;
    case 0x2d: *r = (u32)(e->d + e->a * e->b); return 1;
    case 0x2f: *r = (u32)(e->d - e->a * e->b); return 1;
    default: return 0;
    }
}

/* Instructions that there are for each form; bits by funct6. */
static int is_known(const vector_op *o) {
    const u64 BY_VECTORS = 0x00000faf00000ef5;
    const u64 bit = 1ull << op_function(o);
    switch (op_form(o)) {
    case BY_VECTOR: return (bit & BY_VECTORS & ~(1ull << 3)) != 0;
    case BY_SCALAR: return (bit & (BY_VECTORS | 1ull << 3)) != 0;
    case BY_IMMEDIATE: return (bit & (1ull << 0x00 | 1ull << 0x03 | 7ull << 0x09 | 3ull << 0x20 | 1ull << 0x25 | 15ull << 0x28)) != 0;
    default: return (bit & (15ull << 0x08 | 255ull << 0x20 | 1ull << 0x29 | 1ull << 0x2b | 1ull << 0x2d | 1ull << 0x2f)) != 0;
    }
}

static operands operands_of(const vector_op *o, u32 i) {
    const u32 a = element(o, op_vs2(o), i, o->bytes), b = second(o, i, o->bytes), bits = 8 * o->bytes;
    return (operands){
        .a = sign_extended(a, o->bytes), .b = sign_extended(b, o->bytes), .ua = a, .ub = b, .bits = bits,
        .d = sign_extended(element(o, op_vd(o), i, o->bytes), o->bytes),
        .low = -(1ll << (bits - 1)), .high = (1ll << (bits - 1)) - 1, .most = (1ll << bits) - 1,
    };
}

vector_result vector_integers(const vector_op *o) {
    const int is_plain = op_form(o) == BY_VECTOR || op_form(o) == BY_SCALAR || op_form(o) == BY_IMMEDIATE;
    const u32 function = op_function(o);
    if (!is_known(o) || !keeps_mask(o) || !is_group(op_vd(o), o->group) || !is_group(op_vs2(o), o->group)) return ILLEGAL;
    if (op_has_vector(o) && !is_group(op_vs1(o), o->group)) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        const operands e = operands_of(o, i);
        u32 r = 0;
        if (!(is_plain ? plain(o->u, function, &e, &r) : multiplying(o->u, function, &e, &r))) return ILLEGAL;
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, r);
    }
    const int divides = !is_plain && function >= 0x20 && function <= 0x23;
    return done_in(divides ? o->u->vl * VECTOR_DIVISION : cycles_of(o->u->vl, o->bytes));
}
