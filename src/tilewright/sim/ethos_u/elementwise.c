/* Operations on one or two elements. */
#include "ethos_u/ethos_u.h"

enum { MUL, ADD, SUB, MIN, MAX, LRELU, ABS, CLZ, SHR, SHL };
enum { BOTH_SCALED, FIRST_SCALED, SECOND_SCALED };
enum { REVERSED = 1 << 6, SCALAR = 1 << 7 };
#define HIGHEST_SHIFT 31

/* Sums of operands with scales of their own: the one with the smaller scale is brought to the other's, by a product
 * of 32 bits after a shift to the left, both halved. */
static int64_t brought(const npu_op *op, int64_t value) {
    uint32_t left = op->x.bytes == 1 ? 20 : 15;
    int64_t high = npu_scaled(value << left, op->a_scale, HIGHEST_SHIFT, NPU_TFL);
    int64_t right = (int64_t)op->a_shift + left - HIGHEST_SHIFT;
    return right >= 0 ? npu_shifted(high, (uint32_t)right, NPU_TFL) : high << -right;
}

static int64_t halved(const npu_op *op, int64_t value) { return value << (op->x.bytes == 1 ? 19 : 14); }

static int64_t total(const npu_op *op, int64_t a, int64_t b) {
    const npu_finish *f = &op->finish;
    if (op->scale_mode == BOTH_SCALED) a *= op->a_scale, b *= op->b_scale;
    else if (op->scale_mode == FIRST_SCALED) a = brought(op, a), b = halved(op, b);
    else a = halved(op, a), b = brought(op, b);
    int64_t sum = op->mode == ADD ? a + b : a - b;
    if (!f->is_global) return sum;
    int is_once = op->scale_mode == BOTH_SCALED && op->x.bytes == 1;
    return is_once ? npu_scaled_once(sum, f->scale, f->shift, f->rounding)
                   : npu_scaled(sum, f->scale, f->shift, f->rounding);
}

static int64_t scaled(const npu_op *op, int64_t value) {
    const npu_finish *f = &op->finish;
    return f->is_global ? npu_scaled(value, f->scale, f->shift, f->rounding) : value;
}

/* Products of 32-bit elements have no room for a scale: they are shifted alone. */
static int64_t product(const npu_op *op, int64_t a, int64_t b) {
    const npu_finish *f = &op->finish;
    if (op->x.bytes < 4) return scaled(op, a * b);
    return f->is_global ? npu_scaled(a * b, 1, f->shift, f->rounding) : a * b;
}

static int64_t leading_zeros(int64_t value) {
    int64_t count = 0;
    for (uint32_t word = (uint32_t)value; count < 32 && !(word >> 31); word <<= 1) count++;
    return count;
}

static int64_t shifted_left(int64_t a, int64_t by) { return by < 0 || by > 31 ? 0 : (int64_t)((uint64_t)a << by); }

static int64_t shifted_right(const npu_op *op, int64_t a, int64_t by) {
    return by < 0 || by > 31 ? 0 : npu_shifted(a, (uint32_t)by, op->finish.rounding);
}

static int64_t result(const npu_op *op, int64_t a, int64_t b) {
    switch (op->mode) {
    case MUL: return product(op, a, b);
    case ADD:
    case SUB: return total(op, a, b);
    case MIN: return a < b ? a : b;
    case MAX: return a > b ? a : b;
    case LRELU: return a < 0 ? scaled(op, a) : a;
    case ABS: return scaled(op, a < 0 ? -a : a);
    case CLZ: return leading_zeros(a);
    case SHR: return shifted_right(op, a, b);
    default: return shifted_left(a, b);
    }
}

/* Where an element of the second operand lies that is the same along some axes. */
static uint64_t second_at(const npu_op *op, uint32_t y, uint32_t x, uint32_t c) {
    const npu_map *m = &op->x2;
    y = m->height == 1 ? 0 : y, x = m->width == 1 ? 0 : x, c = m->depth == 1 ? 0 : c;
    return ((uint64_t)y * m->width + x) * m->depth + c;
}

void npu_combine(npu *n, npu_op *op) {
    const npu_map *m = &op->y;
    npu_function function = npu_open_function(n, op);
    npu_note_kernel(n, op);
    int32_t *first = npu_gather(n, &op->x, NULL, NULL);
    int32_t *second = op->x2.depth ? npu_gather(n, &op->x2, NULL, NULL) : NULL;
    int32_t *next = first;
    for (uint32_t y = 0; y < m->height; y++)
        for (uint32_t x = 0; x < m->width; x++)
            for (uint32_t c = 0; c < m->depth; c++, next++) {
                int64_t a = *next, b = second ? second[second_at(op, y, x, c)] : op->scalar;
                int64_t value = op->broadcast & REVERSED ? result(op, b, a) : result(op, a, b);
                *next = npu_finished(op, &function, value);
            }
    npu_scatter(n, op, first);
}
