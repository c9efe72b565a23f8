/* y = requant(((x - x_zero) * cosine + (other - x_zero) * sine) * mul), where each pair of elements is turned */
#include "qlinearrotate.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrotate_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

static inline TW_Y turned(const tw_qlinearrotate_params *p, TW_X x, TW_X other, int16_t cosine, int16_t sine) {
  const int32_t straight = ((int32_t)x - p->x_zero) * cosine, across = ((int32_t)other - p->x_zero) * sine;
  /* Two products of bytes fit 32 bits. */
  const int64_t sum = sizeof(TW_X) == 1 ? straight + across : (int64_t)straight + across;
  return (TW_Y)tw_narrow(&p->requant, sum * p->mul);
}

static void turn_halves(const tw_qlinearrotate_params *p, const TW_X *x, const int16_t *cosine, const int16_t *sine,
                        TW_Y *y) {
  const int32_t half = p->length / 2;
  for (int32_t i = 0; i < half; i++) {
    const TW_X first = x[i], second = x[i + half];
    y[i] = turned(p, first, second, cosine[i], sine[i]);
    y[i + half] = turned(p, second, first, cosine[i + half], sine[i + half]);
  }
}

static void turn_neighbours(const tw_qlinearrotate_params *p, const TW_X *x, const int16_t *cosine,
                            const int16_t *sine, TW_Y *y) {
  for (int32_t i = 0; i < p->length; i += 2) {
    const TW_X first = x[i], second = x[i + 1];
    y[i] = turned(p, first, second, cosine[i], sine[i]);
    y[i + 1] = turned(p, second, first, cosine[i + 1], sine[i + 1]);
  }
}

void TW_NAME(const tw_qlinearrotate_params *params, const TW_X *x, const int16_t *cosine, const int16_t *sine,
             TW_Y *y) {
  const tw_qlinearrotate_params p = *params;
  int32_t at[TW_MAX_RANK] = {0}, row = 0, angles = 0;
  if (p.length == 0 || p.rows.size[0] == 0) return;
  do {
    if (p.interleaved) {
      turn_neighbours(&p, x + row, cosine + angles, sine + angles, y);
    } else {
      turn_halves(&p, x + row, cosine + angles, sine + angles, y);
    }
    y += p.length;
  } while (tw_next_rows(&p.rows, at, &row, &angles));
}
