/* y = (x * w / sigma) >> shift of bytes, clamped to 8 bits; sigma = root(mean of squares + 1); all cores together. Quotients are
 * products with the reciprocal of a row's sigma. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_irmsnorm_lanes_i8
#define TW_X int8_t
#endif

#include "int32.h"
#include "row_sums.h"

static inline void four(tw_divisor sigma, int32_t shift, uint32_t word, const int32_t *w, int32_t *x) {
  TW_TAKE_LANES(TW_X, word, x);
  TW_EACH_LANE(i) x[i] = tw_mul32(x[i], w[i]);
  tw_divide_signed_lanes(x, sigma);
  TW_EACH_LANE(i) x[i] = tw_x_clip(x[i] >> shift, 127);
}

static __attribute__((noinline)) void part_of_row(tw_divisor sigma, int32_t shift, const TW_X *x, const int32_t *w, int8_t *y,
                                                  int32_t count) {
  int32_t results[4];
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, w += 4, y += 4) {
      four(sigma, shift, *(const uint32_t *)(const void *)x, w, results);
      *(uint32_t *)(void *)y = tw_four_bytes(results[0], results[1], results[2], results[3]);
    }
  }
  for (; count > 0; count -= 4, x += 4, w += 4, y += 4) {
    int32_t factor[4] = {0, 0, 0, 0};
    const int32_t lanes = tw_min(count, 4);
    for (int32_t i = 0; i < lanes; i++) factor[i] = w[i];
    four(sigma, shift, tw_bytes_at((const uint8_t *)x, 1, lanes, 0), factor, results);
    for (int32_t i = 0; i < lanes; i++) y[i] = (int8_t)results[i];
  }
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
