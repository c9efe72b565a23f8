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

static inline void four(const rule *r, uint32_t word, const int32_t *w, const int32_t *b, int32_t *x) {
  TW_TAKE_LANES(TW_X, word, x);
  TW_EACH_LANE(i) x[i] = tw_mul32(x[i] - r->mean, w[i]);
  tw_divide_signed_lanes(x, r->sigma);
  TW_EACH_LANE(i) x[i] = tw_add32(x[i], b[i]) >> r->shift;
}

static __attribute__((noinline)) void part_of_row(const rule *given, const TW_X *x, const int32_t *w, const int32_t *b,
                                                  int8_t *y, int32_t count) {
  const rule own = *given, *const r = &own;
  int32_t results[4];
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, w += 4, b += 4, y += 4) {
      four(r, *(const uint32_t *)(const void *)x, w, b, results);
      *(uint32_t *)(void *)y = tw_four_bytes(results[0], results[1], results[2], results[3]);
    }
  }
  for (; count > 0; count -= 4, x += 4, w += 4, b += 4, y += 4) {
    int32_t factor[4] = {0, 0, 0, 0}, summand[4] = {0, 0, 0, 0};
    const int32_t lanes = tw_min(count, 4);
    for (int32_t i = 0; i < lanes; i++) factor[i] = w[i], summand[i] = b[i];
    four(r, tw_bytes_at((const uint8_t *)x, 1, lanes, 0), factor, summand, results);
    for (int32_t i = 0; i < lanes; i++) y[i] = (int8_t)results[i];
  }
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
