/* Depthwise convolution of images with channels last, weights tap by tap: an item makes four neighbouring channels of a
 * pixel. Taps outside of the image are read inside, and count as zero: so that all are on their way at once. */
#define TW_GROUP_SIZE 128

#ifndef TW_NAME
#define TW_NAME tw_gpu_depthwise
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "conv.h"
#include "gpu.h"
#include "gpu_conv_finish.h"
#include "gpu_stored.h"
#include "gpu_totals.h"
#include "gpu_unroll.h"

enum { TW_CHANNELS = 4 };

typedef struct {
  TW_X at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_X) * TW_CHANNELS), may_alias)) tw_four_x;

typedef struct {
  TW_W at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_W) * TW_CHANNELS), may_alias)) tw_four_w;

typedef struct {
  TW_Y at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_Y) * TW_CHANNELS), may_alias)) tw_four_y;

static inline int32_t fours(const tw_conv_params *p) {
  return p->batch * p->out_h * p->out_w * (p->groups / TW_CHANNELS);
}

static inline tw_grid grid(const tw_conv_params *params) { return tw_items(fours(params)); }

TW_GPU int32_t within(int32_t at, int32_t size) { return at < 0 ? 0 : at < size ? at : size - 1; }

/* A row of the window, of `taps` columns; x and w begin with the item's channels. */
TW_GPU void add_row(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t in_y, int32_t left, int32_t taps,
                    total_t *total) {
  const TW_X *const row = x + (int64_t)within(in_y, p->in_h) * p->in_w * p->groups;
  const int32_t is_inside = in_y >= 0 && in_y < p->in_h;
  TW_UNROLL for (int32_t s = 0; s < taps; s++) {
    const int32_t in_x = left + s * p->dilation_w, counts = is_inside && in_x >= 0 && in_x < p->in_w;
    const tw_four_x pixel = *(const tw_four_x *)(row + (int64_t)within(in_x, p->in_w) * p->groups);
    const tw_four_w tap = *(const tw_four_w *)(w + s * p->groups);
    TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) {
      const total_t value = TW_CENTRED(TW_X_LOAD(pixel.at[c]), p->x_zero);
      total[c] += (counts ? value : 0) * (total_t)TW_W_LOAD(tap.at[c]);
    }
  }
}

/* The usual sizes are known when this is compiled. */
TW_GPU void add_window(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t top, int32_t left,
                       total_t *total) {
  const int32_t step = p->kernel_w * p->groups;
  if (p->kernel_h == 3 && p->kernel_w == 3) {
    TW_UNROLL for (int32_t r = 0; r < 3; r++) add_row(p, x, w + r * step, top + r * p->dilation_h, left, 3, total);
  } else if (p->kernel_h == 5 && p->kernel_w == 5) {
    TW_UNROLL for (int32_t r = 0; r < 5; r++) add_row(p, x, w + r * step, top + r * p->dilation_h, left, 5, total);
  } else {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        add_row(p, x, w + r * step + s * p->groups, top + r * p->dilation_h, left + s * p->dilation_w, 1, total);
      }
    }
  }
}

TW_GPU void group(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = params;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t, pixels = p->out_h * p->out_w;
    if (i < fours(p)) {
      const int32_t channel = i % (p->groups / TW_CHANNELS) * TW_CHANNELS, place = i / (p->groups / TW_CHANNELS);
      const int32_t at = place % pixels, image = place / pixels;
      total_t total[TW_CHANNELS] = {0};
      tw_four_y results;
      add_window(p, x + (int64_t)image * p->in_h * p->in_w * p->groups + channel, w + channel,
                 at / p->out_w * p->stride_h - p->pad_top, at % p->out_w * p->stride_w - p->pad_left, total);
      TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) {
        results.at[c] = finished(p, b, mul, add, channel + c, total[c]);
      }
      *(tw_four_y *)(y + (int64_t)place * p->groups + channel) = results;
    }
  }
}

TW_GPU_KERNEL(tw_conv_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, w, b, mul, add, y))
