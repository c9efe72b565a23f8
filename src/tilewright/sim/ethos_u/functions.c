/* From a scaled sum to an element: zero point, clamp, a function by table or of 16 bits. */
#include "ethos_u/ethos_u.h"

enum { NONE = 0, TANH = 3, SIGMOID = 4, TABLES = 16 };
enum { AS_RESULT = 0, UNSIGNED_BYTES = 2, BYTES = 3, WORDS = 5 };
#define TABLE_SLOT 256u

static int64_t low_of(const npu_map *m) { return m->is_signed ? -((int64_t)1 << (8 * m->bytes - 1)) : 0; }

static int64_t high_of(const npu_map *m) {
    return ((int64_t)1 << (8 * m->bytes - (m->is_signed ? 1 : 0))) - 1;
}

static void clip(const npu_op *op, npu_function *f) {
    const npu_finish *finish = &op->finish;
    static const int64_t LOW[] = {0, 0, 0, -128, 0, -32768}, HIGH[] = {0, 0, 255, 127, 0, 32767};
    int is_wide = finish->clip == AS_RESULT && op->y.bytes == 4;
    f->low = finish->clip == AS_RESULT ? low_of(&op->y) : LOW[finish->clip];
    f->high = finish->clip == AS_RESULT ? high_of(&op->y) : HIGH[finish->clip];
    if (is_wide) return;
    if (finish->least > f->low) f->low = finish->least;
    if (finish->most < f->high) f->high = finish->most;
}

/* An index of 8 bits, or one of 9 with the 7 bits between two entries. */
static int has_bytes(const npu_op *op) {
    uint32_t how = op->finish.clip;
    return how == UNSIGNED_BYTES || how == BYTES || (how == AS_RESULT && op->y.bytes == 1);
}

static uint32_t table_bytes(const npu_op *op) { return has_bytes(op) ? 256 * op->y.bytes : 512 * 4; }

npu_function npu_open_function(npu *n, const npu_op *op) {
    npu_function made = {0};
    clip(op, &made);
    if (op->finish.function < TABLES) return made;
    uint64_t address = n->chip->table_address + TABLE_SLOT * (op->finish.function - TABLES);
    made.table = npu_bytes_to_read(n, NPU_BUFFER_REGION, address, table_bytes(op));
    return made;
}

static uint32_t word_at(const uint8_t *table, uint32_t index) {
    const uint8_t *b = table + 4 * index;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* An entry has a base in its lower half; what is above it is its slope. */
static int32_t between(const uint8_t *table, int32_t value) {
    uint32_t entry = word_at(table, (uint32_t)(256 + (value >> 7)));
    int32_t base = (int16_t)entry, slope = (int16_t)((entry - (uint32_t)base) >> 16);
    return base + ((slope * (value & 127) + 64) >> 7);
}

static int32_t looked_up(const npu_op *op, const npu_function *f, int32_t value) {
    if (!has_bytes(op)) return between(f->table, value);
    int is_signed = op->finish.clip == BYTES || (op->finish.clip == AS_RESULT && op->y.is_signed);
    uint32_t index = (uint32_t)(value + (is_signed ? 128 : 0)) & 255;
    if (op->y.bytes == 4) return (int32_t)word_at(f->table, index);
    if (op->y.bytes == 2) return (int16_t)(f->table[2 * index] | f->table[2 * index + 1] << 8);
    return op->y.is_signed ? (int8_t)f->table[index] : f->table[index];
}

/* 65536 / (1 + exp(-v / 12288)) in steps of `bits`, between entries a straight line; `bits` fraction bits more. */
static int64_t interpolated(uint64_t v, uint32_t bits, int64_t beyond) {
    uint64_t index = v >> bits;
    if (index >= 255) return beyond << bits;
    int64_t a = npu_sigmoid_table[index], b = npu_sigmoid_table[index + 1];
    return (a << bits) + (int64_t)(v & ((1u << bits) - 1)) * (b - a);
}

static int64_t sigmoid(int64_t value) {
    int64_t half = interpolated((uint64_t)(value < 0 ? -value : value), 9, 0x7fff * 2);
    return (value >= 0 ? half + (1 << 9) : (1 << 25) - half + (1 << 9) - 1) >> 10;
}

static int64_t hyperbolic_tangent(int64_t value) {
    int64_t half = interpolated((uint64_t)(value < 0 ? -value : value), 8, 0xffff);
    return (value >= 0 ? half - (1 << 23) + (1 << 7) : (1 << 23) - half + (1 << 7) - 1) >> 8;
}

int32_t npu_finished(const npu_op *op, const npu_function *f, int64_t value) {
    uint32_t function = op->finish.function;
    if (function == TANH) return (int32_t)npu_within(hyperbolic_tangent(value), f->low, f->high);
    if (function == SIGMOID) return (int32_t)npu_within(sigmoid(value), f->low, f->high);
    int32_t clamped = (int32_t)npu_within(value + op->y.zero, f->low, f->high);
    return function >= TABLES ? looked_up(op, f, clamped) : clamped;
}
