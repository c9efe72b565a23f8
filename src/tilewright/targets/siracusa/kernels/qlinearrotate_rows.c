/* y = out((x - x_zero) * cosine + (other - x_zero) * sine), where each pair of elements is turned; all cores together */
#include "qlinearrotate_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrotate_rows_i16
#define TW_X int16_t
#define TW_Y int16_t
#endif

#include "cluster.h"

typedef struct {
  const TW_X *x;
  const int16_t *cosine, *sine;
  TW_Y *y;
} place;

/* 2^31, the one sum of products of 16-bit numbers that does not fit: it wraps to -2^31, which no sum is. */
static TW_COMPACT int32_t largest(const tw_high_word *h) {
  const int64_t sum = (int64_t)h->mul * ((int64_t)1 << 31) + h->add * ((int64_t)1 << 32);
  const int32_t bits = h->shift + 32, is_tie = (sum & (((int64_t)1 << bits) - 1)) == 0;
  const int32_t value = (int32_t)(sum >> bits);
  return is_tie ? value - tw_tie_excess(value, h->odd) : value;
}

static inline int32_t turned(const tw_high_word *h, const tw_high_word *stored, int32_t x, int32_t other, int32_t cosine,
                             int32_t sine) {
  const int32_t sum = tw_x_mac(x * cosine, other, sine);
  if (sizeof(TW_X) > 1 && TW_COLD(sum == INT32_MIN)) return TW_CLIP_TO(TW_Y, largest(stored));
  return TW_CLIP_TO(TW_Y, tw_by_high_word(h, sum));
}

static __attribute__((noinline)) void turn(const tw_qlinearrotate_rows_params *p, const place *from, int32_t pair,
                                           int32_t end) {
  tw_high_word out = p->out;
  const int32_t far = p->far, zero = p->x_zero, first = pair * p->step;
  const int32_t x_on = p->step * (int32_t)sizeof(TW_X), y_on = p->step * (int32_t)sizeof(TW_Y);
  const int32_t angle_on = p->step * (int32_t)sizeof(int16_t);
  const TW_X *x = from->x + first, *far_x = x + far;
  const int16_t *cosine = from->cosine + first, *sine = from->sine + first, *far_cosine = cosine + far;
  const int16_t *far_sine = sine + far;
  TW_Y *y = from->y + first, *far_y = y + far;
  if (sizeof(TW_X) > 1) out.up = 0;
  for (; pair < end; pair++) {
    const int32_t one = TW_NEXT(TW_X, x, x_on) - zero, other = TW_NEXT(TW_X, far_x, x_on) - zero;
    const int32_t c = TW_NEXT(int16_t, cosine, angle_on), s = TW_NEXT(int16_t, sine, angle_on);
    TW_STORE_NEXT(TW_Y, y, turned(&out, &p->out, one, other, c, s), y_on);
    const int32_t far_c = TW_NEXT(int16_t, far_cosine, angle_on), far_s = TW_NEXT(int16_t, far_sine, angle_on);
    TW_STORE_NEXT(TW_Y, far_y, turned(&out, &p->out, other, one, far_c, far_s), y_on);
  }
}

/* Brings the walk to a row. */
static void begin_at(const tw_rows_beside *rows, int32_t row, int32_t *at, int32_t *a, int32_t *b) {
  for (int32_t axis = rows->rank - 1; axis >= 0; axis--) {
    const int32_t size = rows->size[axis], above = axis ? (int32_t)((uint32_t)row / (uint32_t)size) : 0;
    at[axis] = row - above * size;
    *a += at[axis] * rows->stride_a[axis];
    *b += at[axis] * rows->stride_b[axis];
    row = above;
  }
}

void TW_NAME(const tw_qlinearrotate_rows_params *params, const TW_X *x, const int16_t *cosine, const int16_t *sine,
             TW_Y *y) {
  const tw_qlinearrotate_rows_params *const p = params;
  const int32_t half = p->length / 2;
  /* Whole rows, or pairs where rows are few. */
  const tw_share all_rows = {0, p->count}, all_pairs = {0, half};
  const tw_share rows = p->count >= TW_CORES ? tw_share_of(p->count) : all_rows;
  const tw_share pairs = p->count >= TW_CORES ? all_pairs : tw_share_of(half);
  int32_t at[TW_MAX_RANK], row = 0, angles = 0;
  if (rows.first >= rows.end || pairs.first >= pairs.end) return;
  begin_at(&p->rows, rows.first, at, &row, &angles);
  for (int32_t i = rows.first; i < rows.end; i++) {
    const place here = {x + row, cosine + angles, sine + angles, y + i * p->length};
    turn(p, &here, pairs.first, pairs.end);
    tw_next_rows(&p->rows, at, &row, &angles);
  }
}
