/* y = ((x * w + b) * mul) >> shift, clamped to 8 bits; broadcast; all cores together */
#include "inonorm.h"

#ifndef TW_NAME
#define TW_NAME tw_inonorm_shared_i8_i8_i16
#define TW_X int8_t
#define TW_W int8_t
#define TW_B int16_t
#endif

#include "byte_words.h"
#include "walk_from.h"

/* How far apart elements of a row are: 1, or 0 where one stands for all. */
typedef struct {
  int32_t x, w, b;
} steps;

static __attribute__((noinline)) void part_of_row(const tw_inonorm_params *p, steps step, const TW_X *x, const TW_W *w,
                                                  const TW_B *b, int8_t *y, int32_t count) {
  const int32_t mul = p->mul, shift = p->shift;
  for (; count >= 4; count -= 4, x += 4 * step.x, w += 4 * step.w, b += 4 * step.b, y += 4) {
    int32_t total[4], left[4], right[4];
    TW_EACH_LANE(i) left[i] = x[i * step.x], right[i] = w[i * step.w], total[i] = b[i * step.b];
    TW_EACH_LANE(i) total[i] = tw_x_mac(total[i], left[i], right[i]);
    TW_EACH_LANE(i) total[i] = tw_x_mac(0, total[i], mul);
    TW_EACH_LANE(i) y[i] = (int8_t)tw_x_clip(total[i] >> shift, 127);
  }
  for (; count > 0; count--, x += step.x, w += step.w, b += step.b) {
    *y++ = (int8_t)tw_x_clip(tw_x_mac(0, tw_x_mac(*b, *x, *w), mul) >> shift, 127);
  }
}

void TW_NAME(const tw_inonorm_params *params, const TW_X *x, const TW_W *w, const TW_B *b, int8_t *y) {
  const tw_inonorm_params *const p = params;
  const int32_t last = p->rank - 1, length = p->size[last];
  const steps step = {p->stride_x[last], p->stride_w[last], p->stride_b[last]};
  const tw_share mine = tw_share_in_blocks(tw_walk_length(last + 1, p->size), 4);
  if (mine.first >= mine.end) return;
  int32_t row = mine.first / length, column = mine.first - row * length, at[TW_MAX_RANK];
  for (int32_t i = mine.first; i < mine.end; row++, column = 0) {
    const int32_t count = tw_min(length - column, mine.end - i);
    const TW_X *const own_x = x + tw_walk_from(last, p->size, p->stride_x, row, at) + column * step.x;
    const TW_W *const own_w = w + tw_walk_from(last, p->size, p->stride_w, row, at) + column * step.w;
    const TW_B *const own_b = b + tw_walk_from(last, p->size, p->stride_b, row, at) + column * step.b;
    part_of_row(p, step, own_x, own_w, own_b, y + i, count);
    i += count;
  }
}
