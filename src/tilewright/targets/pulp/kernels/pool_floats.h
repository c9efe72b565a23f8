/* The loops of pools of floats with the channels last, all cores together: four channels of a window at a time. A kernel
 * includes this after it has said what it does:
 *   total_of                             what is known of some elements
 *   total_of start(void)                 of no elements
 *   total_of with(total_of total, float x)  with one more element
 *   float result_of(total_of total)
 *   float scale_of(params, top, left)    what the results of a window are multiplied by */
#ifndef TW_POOL_FLOATS_H
#define TW_POOL_FLOATS_H

#include "cluster.h"
#include "pool.h"

/* The elements of a window that are inside x. */
typedef struct {
  const float *x;
  int32_t rows, columns;   /* how many */
  int32_t down, across;    /* elements from one to the next */
} window_of;

static inline window_of inside_of(const tw_pool_params *p, const float *image, int32_t top, int32_t left) {
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range taps = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t first = (top + rows.first * p->dilation_h) * p->in_w + left + taps.first * p->dilation_w;
  return (window_of){image + first * p->channels, rows.end - rows.first, taps.end - taps.first,
                     p->dilation_h * p->in_w * p->channels, p->dilation_w * p->channels};
}

static inline void four_channels(const window_of *w, const float *row, float scale, float *y) {
  total_of t0 = start(), t1 = start(), t2 = start(), t3 = start();
  for (int32_t r = w->rows; r > 0; r--, row += w->down) {
    const float *x = row;
    for (int32_t s = w->columns; s > 0; s--, x += w->across) {
      const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
      t0 = with(t0, x0), t1 = with(t1, x1), t2 = with(t2, x2), t3 = with(t3, x3);
    }
  }
  const float y0 = result_of(t0), y1 = result_of(t1), y2 = result_of(t2), y3 = result_of(t3);
  y[0] = y0 * scale, y[1] = y1 * scale, y[2] = y2 * scale, y[3] = y3 * scale;
}

static TW_COMPACT void one_channel(const window_of *w, const float *row, float scale, float *y) {
  total_of total = start();
  for (int32_t r = w->rows; r > 0; r--, row += w->down) {
    for (int32_t s = 0; s < w->columns; s++) total = with(total, row[s * w->across]);
  }
  *y = result_of(total) * scale;
}

void TW_NAME(const tw_pool_params *params, const float *x, float *y) {
  const tw_pool_params *const p = params;
  const tw_share share = tw_share_of(p->batch * p->out_h * p->out_w);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t row = i / p->out_w, image = row / p->out_h;
    const int32_t top = (row - image * p->out_h) * p->stride_h - p->pad_top;
    const int32_t left = (i - row * p->out_w) * p->stride_w - p->pad_left;
    const window_of window = inside_of(p, x + image * p->in_h * p->in_w * p->channels, top, left);
    const float scale = scale_of(p, top, left);
    int32_t c = 0;
    for (; c + 4 <= p->channels; c += 4) four_channels(&window, window.x + c, scale, y + i * p->channels + c);
    for (; c < p->channels; c++) one_channel(&window, window.x + c, scale, y + i * p->channels + c);
  }
}

#endif
