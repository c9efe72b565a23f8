/* Comparisons, carries, and what is done with masks. */
#include "vectors/elements.h"

enum { ADC = 0x10, MADC, SBC, MSBC, COMPARE = 0x18, TO_INTEGER = 0x10, OF_MASK = 0x14, LOGIC = 0x18 };
enum { COUNT_POPULATION = 16, FIND_FIRST = 17, BEFORE_FIRST = 1, ONLY_FIRST = 2, INCLUDING_FIRST = 3, IOTA = 16, IDENTITY = 17 };

/* A mask may lie over an operand only where this one begins. */
static int may_hold_mask(u32 d, u32 from, i32 group) { return d <= from || from + registers_of(group) <= d; }

static u32 compared(u32 function, u32 ua, u32 ub, u32 bytes) {
    const i32 a = sign_extended(ua, bytes), b = sign_extended(ub, bytes);
    switch (function) {
    case 0x18: return ua == ub;
    case 0x19: return ua != ub;
    case 0x1a: return ua < ub;
    case 0x1b: return a < b;
    case 0x1c: return ua <= ub;
    case 0x1d: return a <= b;
    case 0x1e: return ua > ub;
    default: return a > b;
    }
}

static int has_comparison(u32 function, u32 form) {
    if (form == BY_VECTOR) return function < 0x1e;
    return form == BY_SCALAR || (function != 0x1a && function != 0x1b);
}

/* Of operands, a bit for each element. */
static vector_result compare(const vector_op *o) {
    const u32 function = op_function(o), d = op_vd(o);
    if (!has_comparison(function, op_form(o)) || !is_group(op_vs2(o), o->group) || !may_hold_mask(d, op_vs2(o), o->group)) return ILLEGAL;
    if (op_has_vector(o) && (!is_group(op_vs1(o), o->group) || !may_hold_mask(d, op_vs1(o), o->group))) return ILLEGAL;
    u8 found[8 * VECTOR_REGISTER];
    EACH_ELEMENT(o, i) found[i] = (u8)compared(function, element(o, op_vs2(o), i, o->bytes), second(o, i, o->bytes), o->bytes);
    EACH_ELEMENT(o, i) put_bit(o, d, i, found[i]);
    return done_in(cycles_of(o->u->vl, o->bytes));
}

/* Sums with the mask as carries; or the carries of such sums, as a mask. */
static vector_result carry(const vector_op *o) {
    const u32 function = op_function(o), d = op_vd(o);
    const int makes_mask = function == MADC || function == MSBC, is_difference = function >= SBC, has_carry = op_is_masked(o);
    if ((is_difference && op_form(o) == BY_IMMEDIATE) || !is_group(op_vs2(o), o->group)) return ILLEGAL;
    if (op_has_vector(o) && !is_group(op_vs1(o), o->group)) return ILLEGAL;
    if (makes_mask ? !may_hold_mask(d, op_vs2(o), o->group) || (op_has_vector(o) && !may_hold_mask(d, op_vs1(o), o->group))
                   : !has_carry || d == 0 || !is_group(d, o->group)) return ILLEGAL;
    u8 carries[8 * VECTOR_REGISTER];
    for (u32 i = o->u->vstart; i < o->u->vl; i++) {
        const i64 a = element(o, op_vs2(o), i, o->bytes), b = second(o, i, o->bytes), bit = has_carry && mask_bit(o, 0, i);
        const i64 r = is_difference ? a - b - bit : a + b + bit;
        carries[i] = r >> (8 * o->bytes) & 1;
        if (!makes_mask) put(element_at(o, d, i, o->bytes), o->bytes, (u32)r);
    }
    for (u32 i = o->u->vstart; makes_mask && i < o->u->vl; i++) put_bit(o, d, i, carries[i]);
    return done_in(cycles_of(o->u->vl, o->bytes));
}

static u32 combined(u32 function, u32 a, u32 b) {
    switch (function) {
    case 0x18: return a & ~b & 1;
    case 0x19: return a & b;
    case 0x1a: return a | b;
    case 0x1b: return a ^ b;
    case 0x1c: return (a | ~b) & 1;
    case 0x1d: return ~(a & b) & 1;
    case 0x1e: return ~(a | b) & 1;
    default: return ~(a ^ b) & 1;
    }
}

static vector_result combine(const vector_op *o) {
    if (op_is_masked(o)) return ILLEGAL;
    for (u32 i = o->u->vstart; i < o->u->vl; i++)
        put_bit(o, op_vd(o), i, combined(op_function(o), mask_bit(o, op_vs2(o), i), mask_bit(o, op_vs1(o), i)));
    return done_in(1);
}

/* vcpop, vfirst: to an integer register. */
static vector_result count(const vector_op *o) {
    vector_result found = {1, op_vs1(o) == FIND_FIRST ? ~0u : 0};
    if (o->u->vstart) return ILLEGAL;
    EACH_ELEMENT(o, i) {
        if (!mask_bit(o, op_vs2(o), i)) continue;
        if (op_vs1(o) == COUNT_POPULATION) found.value++;
        else if (found.value == ~0u) found.value = i;
    }
    return found;
}

/* vmsbf, vmsof, vmsif: what is set before the first element, at it, or up to it. */
static vector_result first(const vector_op *o) {
    const u32 d = op_vd(o), kind = op_vs1(o);
    if (!keeps_mask(o) || o->u->vstart || d == op_vs2(o)) return ILLEGAL;
    int is_over = 0;
    EACH_ELEMENT(o, i) {
        const u32 is_first = !is_over && mask_bit(o, op_vs2(o), i);
        put_bit(o, d, i, kind == ONLY_FIRST ? is_first : !is_over && (kind == INCLUDING_FIRST || !is_first));
        is_over |= (int)is_first;
    }
    return done_in(1);
}

/* viota: how many bits are set before each element; vid: its number. */
static vector_result number(const vector_op *o) {
    const int is_iota = op_vs1(o) == IOTA;
    if (!keeps_mask(o) || !is_group(op_vd(o), o->group)) return ILLEGAL;
    if (is_iota ? o->u->vstart || !may_overlap(op_vd(o), o->group, op_vs2(o), -4) : op_vs2(o) != 0) return ILLEGAL;
    u32 before = 0;
    EACH_ELEMENT(o, i) {
        const u32 bit = is_iota && mask_bit(o, op_vs2(o), i);
        put(element_at(o, op_vd(o), i, o->bytes), o->bytes, is_iota ? before : i);
        before += bit;
    }
    return done_in(cycles_of(o->u->vl, o->bytes));
}

vector_result vector_masks(const vector_op *o) {
    const u32 form = op_form(o), function = op_function(o), kind = op_vs1(o);
    if (form == BY_VECTOR || form == BY_SCALAR || form == BY_IMMEDIATE)
        return function >= COMPARE && function < COMPARE + 8 ? compare(o) : function >= ADC && function <= MSBC ? carry(o) : ILLEGAL;
    if (form != BY_VECTOR_M) return ILLEGAL;
    if (function >= LOGIC && function < LOGIC + 8) return combine(o);
    if (function == TO_INTEGER && (kind == COUNT_POPULATION || kind == FIND_FIRST)) return count(o);
    if (function != OF_MASK) return ILLEGAL;
    return kind >= BEFORE_FIRST && kind <= INCLUDING_FIRST ? first(o) : kind == IOTA || kind == IDENTITY ? number(o) : ILLEGAL;
}
