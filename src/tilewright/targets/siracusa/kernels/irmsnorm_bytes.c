/* y = (x * w / sigma) >> shift of bytes, clamped to 8 bits; sigma = root(mean of squares + 1); all cores together.
 * Division by sigma and shift become one division by sigma << shift, which is fast because the divisor is large. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_irmsnorm_bytes_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "dot.h"
#include "norm_rows.h"

static uint32_t sigma_of(const TW_X *x, int32_t length) {
  int32_t squares = 0;
  const TW_X *at = x;
  for (int32_t left = length; left > 0; left -= 4, at += 4) {
    if (left < 4) {
      for (; left > 0; left--, at++) squares += *at * *at;
      break;
    }
    const uint32_t word = tw_x_load(at);
    squares = tw_dot(squares, word, word, (TW_X)-1 < 0, (TW_X)-1 < 0);
  }
  return tw_root32((uint32_t)squares / (uint32_t)length + 1);
}

static void some_of_row(int32_t shift, const TW_X *x, const int32_t *w, int32_t first, int32_t end, uint32_t sigma,
                        int8_t *y) {
  for (int32_t i = first; i < end; i++) y[i] = tw_divide_and_shift(tw_mul32(x[i], w[i]), sigma, shift);
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, int8_t *y) {
  const int32_t length = params->length, shift = params->shift, by_rows = params->rows >= TW_CORES;
  const tw_share all_rows = {0, params->rows}, all = {0, length};
  const tw_share rows = by_rows ? tw_share_of(params->rows) : all_rows;
  const tw_share part = by_rows ? all : tw_share_of(length);
  for (int32_t row = rows.first; row < rows.end; row++) {
    const TW_X *const from = x + row * length;
    some_of_row(shift, from, w, part.first, part.end, sigma_of(from, length), y + row * length);
  }
}
