/* y = requant(sum(x - x_zero) * mul / count) over some axes, of bytes that lie side by side. */
#include "qlinearreducemean.h"

#include "qlinear_mean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_rows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "widen.h"

static int32_t sum(const TW_X *x, int32_t count) {
  int32_t total = 0;
#ifdef __ARM_FEATURE_DSP
  for (; count >= 4; count -= 4, x += 4) {
    const uint32_t word = tw_word_at(x);
    total = __smlad((int16x2_t)tw_even(word), 0x10001, total);
    total = __smlad((int16x2_t)tw_odd(word), 0x10001, total);
  }
#endif
  for (; count > 0; count--) total += *x++;
  return total;
}

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearreducemean_params p = *params;
  const int32_t results = tw_walk_length(p.loops.kept_rank, p.loops.kept_size), count = p.loops.count;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t i = 0; i < results; i++) {
    const int32_t total = sum(x + offset, count) - count * p.x_zero;
    y[i] = (TW_Y)tw_mean(&p.requant, total, count, p.mul);
    tw_walk(p.loops.kept_rank, p.loops.kept_size, p.loops.kept_stride, at, &offset);
  }
}
