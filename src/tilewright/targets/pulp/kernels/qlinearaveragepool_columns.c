/* The mean of the elements of each window that are inside x, requantised, with the channels last; all cores together.
 * Four channels at a time. */
#include "qlinearaveragepool.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearaveragepool_columns_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_sums.h"
#include "four_columns.h"
#include "qlinear_mean32.h"
#include "window.h"

static inline uint32_t four_means(const tw_qlinearaveragepool_params *p, state total, int32_t count, tw_quick quick) {
  int32_t mean[4];
  for (int i = 0; i < 4; i++) {
    mean[i] = tw_quick_mean(&quick, &p->requant, total.sum[i] - count * p->x_zero, count, p->mul);
  }
  return tw_x_pack4(mean[0], mean[1], mean[2], mean[3]);
}

static void one_pixel(const tw_qlinearaveragepool_params *p, const uint8_t *x, int32_t top, int32_t left, int32_t factor,
                      uint8_t *y) {
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range taps = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t across = taps.end - taps.first, channels = p->channels, count = (rows.end - rows.first) * across;
  const tw_quick quick = tw_quick_of(factor, count);
  const uint8_t *const start_of_row = x + (left + taps.first * p->dilation_w) * channels;
  for (int32_t c = 0; c < channels; c += 4) {
    state total = start();
    for (int32_t r = rows.first; r < rows.end; r++) {
      const uint8_t *const from = start_of_row + (top + r * p->dilation_h) * p->in_w * channels + c;
      total = with_run(total, from, across, p->dilation_w * channels, channels - c);
    }
    store_word(y + c, four_means(p, total, count, quick), channels - c);
  }
}

void TW_NAME(const tw_qlinearaveragepool_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearaveragepool_params *const p = params;
  const tw_share share = tw_share_of(p->batch * p->out_h * p->out_w);
  const int32_t factor = tw_quick_factor(&p->requant, p->mul);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t row = i / p->out_w, column = i - row * p->out_w;
    const int32_t image = row / p->out_h, out_y = row - image * p->out_h;
    const TW_X *const from = x + image * p->in_h * p->in_w * p->channels;
    one_pixel(p, (const uint8_t *)from, out_y * p->stride_h - p->pad_top, column * p->stride_w - p->pad_left,
              factor, (uint8_t *)(y + i * p->channels));
  }
}
