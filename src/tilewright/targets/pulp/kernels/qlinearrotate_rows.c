/* y = out((x - x_zero) * cosine + (other - x_zero) * sine), where each pair of elements is turned; all cores together */
#include "qlinearrotate_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrotate_rows_i16
#define TW_X int16_t
#define TW_Y int16_t
#endif

#include "cluster.h"

/* 2^31, the one sum of products of 16-bit numbers that does not fit, wraps to -2^31, which no sum is. */
static inline int32_t turned(const tw_high_word *h, int32_t wrapped, int32_t x, int32_t other, int32_t cosine, int32_t sine) {
  const int32_t sum = tw_x_mac(x * cosine, other, sine);
  if (sizeof(TW_X) > 1 && TW_COLD(sum == INT32_MIN)) return wrapped;
  return TW_CLIP_TO(TW_Y, tw_by_high_word(h, sum));
}

/* Brings the walk to a row. */
static void begin_at(const tw_rows_beside *rows, int32_t row, int32_t *at, int32_t *a, int32_t *b) {
  for (int32_t axis = rows->rank - 1; axis >= 0; axis--) {
    /* To divide by small numbers takes longest. */
    const int32_t size = rows->size[axis], above = row < size ? 0 : axis ? (int32_t)((uint32_t)row / (uint32_t)size) : 0;
    at[axis] = row - above * size;
    *a += at[axis] * rows->stride_a[axis];
    *b += at[axis] * rows->stride_b[axis];
    row = above;
  }
}

void TW_NAME(const tw_qlinearrotate_rows_params *params, const TW_X *x, const int16_t *cosine, const int16_t *sine,
             TW_Y *y) {
  const tw_qlinearrotate_rows_params *const p = params;
  tw_high_word out = p->out;
  const int32_t between = p->between, zero = p->x_zero, length = p->length, half = length >> 1;
  const int32_t x_on = p->step * (int32_t)sizeof(TW_X), y_on = p->step * (int32_t)sizeof(TW_Y);
  const int32_t angle_on = p->step * (int32_t)sizeof(int16_t);
  /* Whole rows, or pairs where rows are few. */
  const tw_share all_rows = {0, p->count}, all_pairs = {0, half};
  const tw_share rows = p->count >= TW_CORES ? tw_share_of(p->count) : all_rows;
  const tw_share pairs = p->count >= TW_CORES ? all_pairs : tw_share_of(half);
  const int32_t first = pairs.first * p->step;
  int32_t at[TW_MAX_RANK], row = first, angles = first;
  if (rows.first >= rows.end || pairs.first >= pairs.end) return;
  if (sizeof(TW_X) > 1) out.up = 0;
  begin_at(&p->rows, rows.first, at, &row, &angles);
  y += rows.first * length + first;
  for (int32_t left = rows.end - rows.first; left > 0; left--, y += length) {
    const TW_X *one_x = x + row, *second_x = one_x + between;
    const int16_t *one_cosine = cosine + angles, *second_cosine = one_cosine + between;
    const int16_t *one_sine = sine + angles, *second_sine = one_sine + between;
    TW_Y *one_y = y, *second_y = y + between;
    for (int32_t pair = pairs.end - pairs.first; pair > 0; pair--) {
      const int32_t one = TW_NEXT(TW_X, one_x, x_on) - zero, other = TW_NEXT(TW_X, second_x, x_on) - zero;
      const int32_t c = TW_NEXT(int16_t, one_cosine, angle_on), s = TW_NEXT(int16_t, one_sine, angle_on);
      TW_STORE_NEXT(TW_Y, one_y, turned(&out, p->wrapped, one, other, c, s), y_on);
      const int32_t c2 = TW_NEXT(int16_t, second_cosine, angle_on), s2 = TW_NEXT(int16_t, second_sine, angle_on);
      TW_STORE_NEXT(TW_Y, second_y, turned(&out, p->wrapped, other, one, c2, s2), y_on);
    }
    tw_next_rows(&p->rows, at, &row, &angles);
  }
}
