/* Products with fixed-point factors and their roundings. */
#include "ethos_u/ethos_u.h"

typedef __int128 wide;

static wide at(int64_t value, uint32_t scale) { return (wide)value * scale; }

/* Halves go up. */
static wide natural(wide value, uint32_t shift) { return shift ? (value + ((wide)1 << (shift - 1))) >> shift : value; }

/* Halves go away from zero. */
static wide away(wide value, uint32_t shift) { return value < 0 ? -natural(-value, shift) : natural(value, shift); }

static wide truncated(wide value, uint32_t shift) { return value < 0 ? -(-value >> shift) : value >> shift; }

/* As TensorFlow Lite: the upper half of twice the product, halves up, then the rest of the shift, halves away from 0. */
static wide twice(wide value, uint32_t shift) {
    return shift <= 31 ? natural(value, shift) : away(natural(value, 31), shift - 31);
}

int64_t npu_scaled(int64_t value, uint32_t scale, uint32_t shift, uint32_t rounding) {
    wide product = at(value, scale);
    if (rounding == NPU_TFL) return (int64_t)twice(product, shift);
    return (int64_t)(rounding == NPU_NATURAL ? natural(product, shift) : truncated(product, shift));
}

/* In one step: what TFL rounds after the last bit alone. */
int64_t npu_scaled_once(int64_t value, uint32_t scale, uint32_t shift, uint32_t rounding) {
    wide product = at(value, scale);
    if (rounding == NPU_TFL) return (int64_t)away(product, shift);
    return (int64_t)(rounding == NPU_NATURAL ? natural(product, shift) : truncated(product, shift));
}

int64_t npu_shifted(int64_t value, uint32_t shift, uint32_t rounding) {
    if (rounding == NPU_TFL) return (int64_t)away(value, shift);
    return (int64_t)(rounding == NPU_NATURAL ? natural(value, shift) : truncated(value, shift));
}

int64_t npu_divided(int64_t value, int64_t by, uint32_t rounding) {
    if (rounding == NPU_TRUNCATE) return value / by;
    if (rounding == NPU_TFL) return value < 0 ? (value - by / 2) / by : (value + by / 2) / by;
    int64_t twofold = 2 * value + by, quotient = twofold / (2 * by);
    return quotient - (twofold < quotient * 2 * by);
}

int64_t npu_within(int64_t value, int64_t low, int64_t high) { return value < low ? low : value > high ? high : value; }
