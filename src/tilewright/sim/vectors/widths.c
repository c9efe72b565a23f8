/* Results twice as wide as operands, or half as wide; and elements made wider. */
#include "vectors/elements.h"

/* funct6 of OPMVV and OPMVX: vw... */
enum { WADD_U = 0x30, WADD, WSUB_U, WSUB, WADD_U_W, WADD_W, WSUB_U_W, WSUB_W, WMUL_U = 0x38, WMUL_SU = 0x3a, WMUL, WMACC_U, WMACC, WMACC_US, WMACC_SU };
/* Of OPIVV, OPIVX and OPIVI. */
enum { NARROW_L = 0x2c, NARROW_A, CLIP_U, CLIP };
enum { EXTEND = 0x12 };

/* Which operands have a sign. */
static int first_is_signed(u32 function) {
    return function == WADD || function == WSUB || function == WADD_W || function == WSUB_W || function == WMUL || function == WMUL_SU ||
           function == WMACC || function == WMACC_US;
}
static int second_is_signed(u32 function) {
    return function == WADD || function == WSUB || function == WADD_W || function == WSUB_W || function == WMUL || function == WMACC ||
           function == WMACC_SU;
}

static i64 read_as(u32 value, u32 bytes, int is_signed) { return is_signed ? (i64)sign_extended(value, bytes) : (i64)value; }

static vector_result widen(const vector_op *o) {
    const u32 function = op_function(o), wide = 2 * o->bytes, d = op_vd(o), a = op_vs2(o);
    const int is_wide_first = function >= WADD_U_W && function <= WSUB_W;
    const i32 group = o->group + 1, of_first = is_wide_first ? group : o->group;
    if (function == 0x39 || (function == WMACC_US && op_has_vector(o))) return ILLEGAL;
    if (wide > VECTOR_ELEMENT || !keeps_mask(o) || !is_group(d, group) || !is_group(a, of_first) || !may_overlap(d, group, a, of_first)) return ILLEGAL;
    if (op_has_vector(o) && (!is_group(op_vs1(o), o->group) || !may_overlap(d, group, op_vs1(o), o->group))) return ILLEGAL;
    u8 kept[8 * VECTOR_REGISTER];  /* an operand may be the end of the result */
    memcpy(kept, element_at(o, d, 0, wide), registers_of(group) * VECTOR_REGISTER);
    EACH_ELEMENT(o, i) {
        const i64 x = read_as(element(o, a, i, is_wide_first ? wide : o->bytes), is_wide_first ? wide : o->bytes, first_is_signed(function));
        const i64 y = read_as(second(o, i, o->bytes), o->bytes, second_is_signed(function));
        const i64 old = function >= WMACC_U ? (i64)get_unsigned(kept + i * wide, wide) : 0;
        const i64 r = function >= WMUL_U ? old + x * y : (function & 2) ? x - y : x + y;
        put(kept + i * wide, wide, (u32)r);
    }
    memcpy(element_at(o, d, 0, wide), kept, registers_of(group) * VECTOR_REGISTER);
    return done_in(cycles_of(o->u->vl, wide));
}

static u32 narrowed(const vector_op *o, u32 function, u32 value, u32 shift) {
    const u32 wide = 2 * o->bytes, bits = 8 * o->bytes;
    const i64 x = read_as(value, wide, function == NARROW_A || function == CLIP);
    if (function == NARROW_L || function == NARROW_A) return (u32)(x >> shift);
    const i64 rounded = vector_rounded(o->u, x, shift);
    const i64 half = 1ll << (bits - 1);
    return function == CLIP ? vector_saturated(o->u, rounded, -half, half - 1) : vector_saturated(o->u, rounded, 0, 2 * half - 1);
}

static vector_result narrow(const vector_op *o) {
    const u32 wide = 2 * o->bytes, d = op_vd(o), a = op_vs2(o);
    const i32 group = o->group + 1;
    if (wide > VECTOR_ELEMENT || !keeps_mask(o) || !is_group(d, o->group) || !is_group(a, group) || !may_overlap(d, o->group, a, group)) return ILLEGAL;
    if (op_has_vector(o) && !is_group(op_vs1(o), o->group)) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        const u32 shift = second(o, i, o->bytes) & (8 * wide - 1);
        put(element_at(o, d, i, o->bytes), o->bytes, narrowed(o, op_function(o), element(o, a, i, wide), shift));
    }
    return done_in(cycles_of(o->u->vl, wide));
}

/* vzext and vsext from a half or a quarter: the function stands where others have vs1. */
static vector_result extend(const vector_op *o) {
    const u32 kind = op_vs1(o), d = op_vd(o), a = op_vs2(o), shorter = kind >= 6 ? 1 : 2, bytes = o->bytes >> shorter;
    const i32 group = o->group - (i32)shorter;
    if (kind < 4 || kind > 7 || !bytes || !keeps_mask(o) || !is_group(d, o->group) || !is_group(a, group) || !may_overlap(d, o->group, a, group)) return ILLEGAL;
    u8 from[8 * VECTOR_REGISTER];
    memcpy(from, element_at(o, a, 0, bytes), o->u->vl * bytes);
    EACH_ELEMENT(o, i) {
        const u32 value = get_unsigned(from + i * bytes, bytes);
        put(element_at(o, d, i, o->bytes), o->bytes, kind & 1 ? (u32)sign_extended(value, bytes) : value);
    }
    return done_in(cycles_of(o->u->vl, o->bytes));
}

vector_result vector_widths(const vector_op *o) {
    const u32 form = op_form(o), function = op_function(o);
    const int multiplies = form == BY_VECTOR_M || form == BY_SCALAR_M;
    if (multiplies && function >= WADD_U) return widen(o);
    if (form == BY_VECTOR_M && function == EXTEND) return extend(o);
    return !multiplies && function >= NARROW_L && function <= CLIP ? narrow(o) : ILLEGAL;
}
