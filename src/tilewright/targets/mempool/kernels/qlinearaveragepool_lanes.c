/* y = requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside x, channels last and four at a time;
 * all cores together */
#include "qlinearaveragepool.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearaveragepool_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "lane_sums.h"
#include "qlinear_mean.h"
#include "windows.h"

static void some_lanes(const tw_qlinearaveragepool_params *p, const uint8_t *image, int32_t top, int32_t left, int32_t channels,
                       int32_t lanes, TW_Y *y) {
  int32_t total[4] = {0, 0, 0, 0}, found = 0;
  for (int32_t r = 0, in_y = top; r < p->kernel_h; r++, in_y += p->dilation_h) {
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0, in_x = left; s < p->kernel_w; s++, in_x += p->dilation_w) {
      if (in_x < 0 || in_x >= p->in_w) continue;
      const uint8_t *const at = image + (in_y * p->in_w + in_x) * channels;
      tw_add_lanes(total, tw_bytes_at(at, 1, lanes, lanes == 4 && tw_begins_word(at)));
      found++;
    }
  }
  for (int i = 0; i < lanes; i++) y[i] = (TW_Y)tw_mean(&p->requant, total[i] - found * p->x_zero, found, p->mul);
}

static void some_channels(const tw_qlinearaveragepool_params *p, const TW_X *image, int32_t top, int32_t left, int32_t channels,
                          int32_t first, int32_t count, TW_Y *y) {
  const uint8_t *const from = (const uint8_t *)image + first;
  for (int32_t i = 0; i < count; i += 4) some_lanes(p, from + i, top, left, channels, tw_min(count - i, 4), y + i);
}

void TW_NAME(const tw_qlinearaveragepool_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearaveragepool_params own = *params, *const p = &own;
  const int32_t channels = p->channels;
  TW_OWN_WINDOWS(some_channels, p, channels, 4, x, y);
}
