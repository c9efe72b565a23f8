/* y[o, j, i] = requant(sum over t of weight[j, t] * (x[o, taps[j, t], i] - x_zero)) */
#include "qlinearresize.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearresize_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* Whoever chose the weights made sure that the sum fits 32 bits. */
static int32_t weighted_sum(const tw_qlinearresize_params *p, const TW_X *x, const int32_t *taps,
                            const int32_t *weight) {
  int32_t sum = 0;
  for (int32_t t = 0; t < p->taps; t++) sum += weight[t] * ((int32_t)x[taps[t] * p->inner] - p->x_zero);
  return sum;
}

void TW_NAME(const tw_qlinearresize_params *params, const TW_X *x, const int32_t *taps, const int32_t *weight,
             TW_Y *y) {
  const tw_qlinearresize_params p = *params;
  for (int32_t outer = 0; outer < p.outer; outer++, x += p.length * p.inner) {
    for (int32_t j = 0; j < p.count; j++, y += p.inner) {
      const int32_t *tap = taps + j * p.taps, *share = weight + j * p.taps;
      for (int32_t i = 0; i < p.inner; i++) {
        y[i] = (TW_Y)tw_narrow(&p.requant, weighted_sum(&p, x + i, tap, share));
      }
    }
  }
}
