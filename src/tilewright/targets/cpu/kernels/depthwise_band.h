/* Depthwise windows of any size on a copy of some rows: a vector of channels, with zeros around the image. Neighbouring
 * pixels are neighbours in memory then, and windows at borders are like all others. */
#ifndef TW_DEPTHWISE_BAND_H
#define TW_DEPTHWISE_BAND_H

#include "depthwise_channels.h"
#include "panels.h"
#include "panels_sizes.h"

enum { TW_BAND_PIXELS = 8 }; /* results at a time: as many sums do not wait for each other */

typedef struct {
  const tw_depthwise_channels_params *params;
  const float *b;
  int32_t lanes; /* channels that are there */
  const tw_bounds *bounds;
  float *taps, *band;
} tw_band_work;

/* Where `scratch` has whole vectors. */
static inline float *tw_whole_vectors(float *scratch) {
  return (float *)(((uintptr_t)scratch + sizeof(tw_vector) - 1) / sizeof(tw_vector) * sizeof(tw_vector));
}

static inline void tw_load_pixels(const float *x, int64_t step, int32_t count, int32_t lanes, float *to) {
  if (lanes == TW_LANES) {
    for (int32_t i = 0; i < count; i++) tw_store(to + i * TW_LANES, tw_load(x + i * step));
  } else {
    for (int32_t i = 0; i < count; i++) tw_store(to + i * TW_LANES, tw_load_first(x + i * step, lanes));
  }
}

/* The taps of these channels, which are `step` apart. */
static inline void tw_load_taps(const tw_band_work *k, const float *w, int64_t step) {
  const int32_t count = k->params->kernel_h * k->params->kernel_w;
  for (int32_t i = 0; i < count; i++) tw_store(k->taps + i * TW_LANES, tw_load(w + i * step));
}

/* Rows of the image from `first` on. */
static inline void tw_load_depthwise_band(const tw_band_work *k, const float *x, int32_t first, int32_t rows) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t width = tw_depthwise_band_w(p), before = tw_min(p->pad_left, width);
  const int32_t seen = tw_max(0, tw_min(p->in_w, width - before));
  float *to = k->band;
  for (int32_t r = first; r < first + rows; r++, to += width * TW_LANES) {
    const int is_inside = r >= 0 && r < p->in_h;
    const int32_t left = is_inside ? before : width, inside = is_inside ? seen : 0;
    memset(to, 0, (size_t)left * sizeof(tw_vector));
    if (inside) tw_load_pixels(x + (int64_t)r * p->in_w * p->channels, p->channels, inside, k->lanes, to + left * TW_LANES);
    memset(to + (left + inside) * TW_LANES, 0, (size_t)(width - left - inside) * sizeof(tw_vector));
  }
}

/* `pixels` neighbouring results, a constant, whose windows begin at `x`; `across` is from one window to the next. */
TW_INLINE void tw_banded(const tw_band_work *k, const int pixels, const int64_t across, const float *x, float *y) {
  const tw_depthwise_channels_params *const p = k->params;
  const int64_t tap = p->dilation_w * TW_LANES;
  const int64_t down = (int64_t)p->dilation_h * tw_depthwise_band_w(p) * TW_LANES;
  const int32_t kernel_h = p->kernel_h, kernel_w = p->kernel_w;
  const float *w = k->taps;
  tw_vector sum[TW_BAND_PIXELS];
  TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] = tw_load(k->b);
  for (int32_t r = 0; r < kernel_h; r++, x += down) {
    const float *from = x;
    for (int32_t s = 0; s < kernel_w; s++, from += tap, w += TW_LANES) {
      const tw_vector factor = tw_load(w);
      TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] += tw_load(from + i * across) * factor;
    }
  }
  TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] = tw_bounded(sum[i], k->bounds);
  if (k->lanes == TW_LANES) {
    TW_UNROLL for (int i = 0; i < pixels; i++) tw_store(y + i * (int64_t)p->channels, sum[i]);
  } else {
    TW_UNROLL for (int i = 0; i < pixels; i++) tw_store_first(y + i * (int64_t)p->channels, sum[i], k->lanes);
  }
}

/* A row of results in parts of about as many. */
TW_INLINE void tw_banded_row(const tw_band_work *k, const int64_t across, const float *x, float *y) {
  const int32_t width = k->params->out_w, parts = (width + TW_BAND_PIXELS - 1) / TW_BAND_PIXELS;
  for (int32_t part = 0; part < parts; part++) {
    const int32_t pixels = width / parts + (part < width % parts);
    switch (pixels) {
      case 1: tw_banded(k, 1, across, x, y); break;
      case 2: tw_banded(k, 2, across, x, y); break;
      case 3: tw_banded(k, 3, across, x, y); break;
      case 4: tw_banded(k, 4, across, x, y); break;
      case 5: tw_banded(k, 5, across, x, y); break;
      case 6: tw_banded(k, 6, across, x, y); break;
      case 7: tw_banded(k, 7, across, x, y); break;
      default: tw_banded(k, TW_BAND_PIXELS, across, x, y); break;
    }
    x += pixels * across;
    y += (int64_t)pixels * k->params->channels;
  }
}

/* Rows of results from `row` on, of one vector of channels. */
static inline void tw_rows_in_bands(const tw_band_work *k, const float *x, int32_t row, int32_t rows, float *y) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t most = tw_depthwise_band_rows(p, TW_LANES), end = row + rows;
  const int64_t band_row = (int64_t)p->stride_h * tw_depthwise_band_w(p) * TW_LANES;
  for (; row < end; row += most) {
    const int32_t count = tw_min(most, end - row);
    tw_load_depthwise_band(k, x, row * p->stride_h - p->pad_top, tw_depthwise_band_h(p, count));
    for (int32_t i = 0; i < count; i++, y += (int64_t)p->out_w * p->channels) {
      const float *const from = k->band + i * band_row;
      if (p->stride_w == 1) tw_banded_row(k, TW_LANES, from, y);
      else tw_banded_row(k, p->stride_w * TW_LANES, from, y);
    }
  }
}

#endif
