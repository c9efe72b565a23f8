/* y = (x * w / sigma) >> shift of bytes, clamped to 8 bits; sigma = root(mean of squares + 1); all cores together. Quotients are
 * products with the reciprocal of a row's sigma. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_irmsnorm_lanes_i8
#define TW_X int8_t
#endif

#include "int32.h"
#include "row_sums.h"

static inline int32_t one(tw_divisor sigma, int32_t shift, int32_t x, int32_t w) {
  return tw_x_clip(tw_signed_quotient(tw_mul32(x, w), sigma) >> shift, 127);
}

static __attribute__((noinline)) void part_of_row(tw_divisor sigma, int32_t shift, const TW_X *x, const int32_t *w, int8_t *y,
                                                  int32_t count) {
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, w += 4, y += 4) {
      const uint32_t word = *(const uint32_t *)(const void *)x;
      const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
      *(uint32_t *)(void *)y =
          tw_four_bytes(one(sigma, shift, TW_LANE(TW_X, word, 0), w0), one(sigma, shift, TW_LANE(TW_X, word, 1), w1),
                        one(sigma, shift, TW_LANE(TW_X, word, 2), w2), one(sigma, shift, TW_LANE(TW_X, word, 3), w3));
    }
  }
  for (; count > 0; count--) *y++ = (int8_t)one(sigma, shift, *x++, *w++);
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, int8_t *y) {
  const int32_t length = params->length;
  const tw_rows mine = tw_rows_of(params->rows, length);
  if (mine.first >= mine.end) return;
  for (int32_t row = mine.first_row; row < mine.end_row; row++) {
    const uint32_t squares = (uint32_t)tw_sums_of_row(x + row * length, length).squares;
    const tw_divisor sigma = tw_divisor_of(tw_root_of_mean(squares / (uint32_t)length + 1));
    const int32_t at = row * length + mine.first;
    part_of_row(sigma, params->shift, x + at, w + mine.first, y + at, mine.end - mine.first);
  }
}
