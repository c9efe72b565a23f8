/* Elements that change places: merges, slides, gathers, compression, single elements; and sums over all of a vector. */
#include "vectors/elements.h"

enum { GATHER = 0x0c, SLIDE_UP = 0x0e, SLIDE_DOWN, COMPRESS = 0x17, MERGE = 0x17, TO_INTEGER = 0x10, SUM_WIDE_U = 0x30, SUM_WIDE };

static u32 most(const vector_op *o) { return most_elements(o->group, o->bytes); }
static int is_apart(const vector_op *o, u32 reg, i32 group) {
    return op_vd(o) + registers_of(o->group) <= reg || reg + registers_of(group) <= op_vd(o);
}
static int has_groups(const vector_op *o) { return keeps_mask(o) && is_group(op_vd(o), o->group) && is_group(op_vs2(o), o->group); }

/* vmerge: the second operand where the mask is set; without a mask, vmv. */
static vector_result merge(const vector_op *o) {
    const int picks = op_is_masked(o);
    if (!is_group(op_vd(o), o->group) || (picks ? !op_vd(o) || !is_group(op_vs2(o), o->group) : op_vs2(o) != 0)) return ILLEGAL;
    if (op_has_vector(o) && !is_group(op_vs1(o), o->group)) return ILLEGAL;
    for (u32 i = o->u->vstart; i < o->u->vl; i++)
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, picks && !mask_bit(o, 0, i) ? element(o, op_vs2(o), i, o->bytes) : second(o, i, o->bytes));
    return done_in(cycles_of(o->u->vl, o->bytes));
}

static vector_result slide_up(const vector_op *o, u32 by) {
    if (!has_groups(o) || !is_apart(o, op_vs2(o), o->group)) return ILLEGAL;
    EACH_ELEMENT(o, i)
        if (i >= by) put(element_at(o, op_vd(o), i, o->bytes), o->bytes, element(o, op_vs2(o), i - by, o->bytes));
    return done_in(cycles_of(o->u->vl, o->bytes));
}

static vector_result slide_down(const vector_op *o, u32 by) {
    if (!has_groups(o)) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        const u64 from = (u64)i + by;
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, from < most(o) ? element(o, op_vs2(o), (u32)from, o->bytes) : 0);
    }
    return done_in(cycles_of(o->u->vl, o->bytes));
}

/* vslide1up, vslide1down: the integer register comes in at the end. */
static vector_result slide_one(const vector_op *o) {
    const int is_up = op_function(o) == SLIDE_UP;
    if (!has_groups(o) || (is_up && !is_apart(o, op_vs2(o), o->group))) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        const int is_new = is_up ? i == 0 : i == o->u->vl - 1;
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, is_new ? o->scalar : element(o, op_vs2(o), is_up ? i - 1 : i + 1, o->bytes));
    }
    return done_in(cycles_of(o->u->vl, o->bytes));
}

/* vrgather: elements by their numbers; those beyond the end are 0. Numbers may be of 16 bits whatever elements are. */
static vector_result gather(const vector_op *o, u32 number_bytes) {
    i32 of_numbers = o->group;
    for (u32 b = o->bytes; b < number_bytes; b *= 2) of_numbers++;
    for (u32 b = o->bytes; b > number_bytes; b /= 2) of_numbers--;
    if (!has_groups(o) || !is_apart(o, op_vs2(o), o->group)) return ILLEGAL;
    if (op_has_vector(o) && (!is_group(op_vs1(o), of_numbers) || !is_apart(o, op_vs1(o), of_numbers))) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        const u32 of_vector = op_has_vector(o) ? element(o, op_vs1(o), i, number_bytes) : o->scalar;
        const u32 at = op_form(o) == BY_IMMEDIATE ? op_vs1(o) : of_vector;
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, at < most(o) ? element(o, op_vs2(o), at, o->bytes) : 0);
    }
    return done_in(o->u->vl);
}

/* vcompress: those that a mask names, side by side. */
static vector_result compress(const vector_op *o) {
    if (op_is_masked(o) || o->u->vstart || !has_groups(o) || !is_apart(o, op_vs2(o), o->group) || !is_apart(o, op_vs1(o), 0)) return ILLEGAL;
    u32 to = 0;
    for (u32 i = 0; i < o->u->vl; i++)
        if (mask_bit(o, op_vs1(o), i)) put(element_at(o, op_vd(o), to++, o->bytes), o->bytes, element(o, op_vs2(o), i, o->bytes));
    return done_in(o->u->vl);
}

/* vmv.x.s, vmv.s.x. */
static vector_result to_integer(const vector_op *o) {
    if (op_is_masked(o)) return ILLEGAL;
    return (vector_result){1, (u32)sign_extended(element(o, op_vs2(o), 0, o->bytes), o->bytes)};
}
static vector_result from_integer(const vector_op *o) {
    if (op_is_masked(o) || op_vs2(o)) return ILLEGAL;
    if (o->u->vstart < o->u->vl) put(element_at(o, op_vd(o), 0, o->bytes), o->bytes, o->scalar);
    return done_in(1);
}

static u32 reduced(u32 function, u32 sum, u32 ua, u32 bytes) {
    const i32 a = sign_extended(ua, bytes), s = sign_extended(sum, bytes);
    switch (function) {
    case 0: return sum + ua;
    case 1: return sum & ua;
    case 2: return sum | ua;
    case 3: return sum ^ ua;
    case 4: return ua < sum ? ua : sum;
    case 5: return (u32)(a < s ? a : s);
    case 6: return ua > sum ? ua : sum;
    default: return (u32)(a > s ? a : s);
    }
}

/* From the first element of vs1, over those of vs2, to the first one of vd. */
static vector_result reduce(const vector_op *o, u32 function, u32 bytes, int is_signed) {
    if (o->u->vstart || bytes > VECTOR_ELEMENT || !is_group(op_vs2(o), o->group)) return ILLEGAL;
    u32 sum = element(o, op_vs1(o), 0, bytes);
    EACH_ELEMENT(o, i) {
        const u32 a = element(o, op_vs2(o), i, o->bytes);
        sum = zero_extended(reduced(function, sum, is_signed ? (u32)sign_extended(a, o->bytes) : a, bytes), bytes);
    }
    if (o->u->vl) put(element_at(o, op_vd(o), 0, bytes), bytes, sum);
    return done_in(cycles_of(o->u->vl, o->bytes) + 1);
}

static vector_result by_operand(const vector_op *o, u32 function) {
    const u32 form = op_form(o), by = form == BY_IMMEDIATE ? op_vs1(o) : o->scalar;
    if (function == MERGE) return merge(o);
    if (function == GATHER) return gather(o, o->bytes);
    if (function == SLIDE_UP) return form == BY_VECTOR ? gather(o, 2) : slide_up(o, by);
    if (function == SLIDE_DOWN) return form == BY_VECTOR ? ILLEGAL : slide_down(o, by);
    const int is_wide_sum = form == BY_VECTOR && (function == SUM_WIDE || function == SUM_WIDE_U);
    return is_wide_sum ? reduce(o, 0, 2 * o->bytes, function == SUM_WIDE) : ILLEGAL;
}

vector_result vector_moves(const vector_op *o) {
    const u32 function = op_function(o), form = op_form(o);
    if (form == BY_SCALAR_M) {
        if (function == SLIDE_UP || function == SLIDE_DOWN) return slide_one(o);
        return function == TO_INTEGER ? from_integer(o) : ILLEGAL;
    }
    if (form != BY_VECTOR_M) return by_operand(o, function);
    if (function < 8) return reduce(o, function, o->bytes, 0);
    if (function == COMPRESS) return compress(o);
    return function == TO_INTEGER && !op_vs1(o) ? to_integer(o) : ILLEGAL;
}
