/* y = requant(sum(x - x_zero) * mul / count) over axes before the last: four neighbouring results at a time */
#include "qlinearreducemean.h"

#include "qlinear_mean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "elements_mve.h"

/* The last of the reduced loops is walked here, all others by the odometer. */
static int32x4_t sums(const tw_reduce_params *loops, const TW_X *x, mve_pred16_t some) {
  const int32_t last = loops->rank - 1, n = loops->size[last], step = loops->stride[last];
  const int32_t rows = tw_walk_length(last, loops->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  int32x4_t total = vdupq_n_s32(0);
  for (int32_t row = 0; row < rows; row++) {
    const TW_X *from = x + offset;
    for (int32_t i = n; i > 0; i--, from += step) total = vaddq_s32(total, TW_FOUR(TW_X, from, some));
    tw_walk(last, loops->size, loops->stride, at, &offset);
  }
  return total;
}

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_reduce_params *const loops = &params->loops;
  const int32_t last = loops->kept_rank - 1, n = loops->kept_size[last];
  const int32_t rows = tw_walk_length(last, loops->kept_size), zeros = loops->count * params->x_zero;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0, total[TW_LANES];
  for (int32_t row = 0; row < rows; row++, y += n) {
    for (int32_t i = 0; i < n; i += TW_LANES) {
      vstrwq_s32(total, sums(loops, x + offset + i, vctp32q((uint32_t)(n - i))));
      for (int32_t lane = 0; lane < tw_min(TW_LANES, n - i); lane++) {
        y[i + lane] = (TW_Y)tw_mean(&params->requant, total[lane] - zeros, loops->count, params->mul);
      }
    }
    tw_walk(last, loops->kept_size, loops->kept_stride, at, &offset);
  }
}
