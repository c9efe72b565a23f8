/* y = ((x - mean) * w / sigma + b) >> shift of bytes, wrapped to 8 bits; sigma = root(mean of squares + 1); all cores together.
 * Quotients are products with the reciprocal of a row's sigma. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_ilayernorm_lanes_i8
#define TW_X int8_t
#endif

#include "int32.h"
#include "row_sums.h"

typedef struct {
  int32_t mean, shift;
  tw_divisor sigma;
} rule;

/* The sum of (x - mean)^2 is that of x^2, less 2 * mean * sum, and mean^2 for each element. */
static rule rule_of(const TW_X *x, int32_t length, int32_t shift) {
  const tw_row_sums sums = tw_sums_of_row(x, length);
  const int32_t mean = sums.sum / length;
  const uint32_t squares = (uint32_t)sums.squares - (uint32_t)mean * (uint32_t)(2 * sums.sum - length * mean);
  const rule found = {mean, shift, tw_divisor_of(tw_root_of_mean(squares / (uint32_t)length + 1))};
  return found;
}

static inline int32_t one(const rule *r, int32_t x, int32_t w, int32_t b) {
  return tw_add32(tw_signed_quotient(tw_mul32(x - r->mean, w), r->sigma), b) >> r->shift;
}

static __attribute__((noinline)) void part_of_row(const rule *given, const TW_X *x, const int32_t *w, const int32_t *b,
                                                  int8_t *y, int32_t count) {
  const rule own = *given, *const r = &own;
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, w += 4, b += 4, y += 4) {
      const uint32_t word = *(const uint32_t *)(const void *)x;
      const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
      *(uint32_t *)(void *)y = tw_four_bytes(one(r, TW_LANE(TW_X, word, 0), w0, b0), one(r, TW_LANE(TW_X, word, 1), w1, b1),
                                             one(r, TW_LANE(TW_X, word, 2), w2, b2), one(r, TW_LANE(TW_X, word, 3), w3, b3));
    }
  }
  for (; count > 0; count--) *y++ = (int8_t)one(r, *x++, *w++, *b++);
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, const int32_t *b, int8_t *y) {
  const int32_t length = params->length;
  const tw_rows mine = tw_rows_of(params->rows, length);
  if (mine.first >= mine.end) return;
  for (int32_t row = mine.first_row; row < mine.end_row; row++) {
    const rule found = rule_of(x + row * length, length, params->shift);
    const int32_t at = row * length + mine.first;
    part_of_row(&found, x + at, w + mine.first, b + mine.first, y + at, mine.end - mine.first);
  }
}
