/* Depthwise convolution of floats, channels last. Some channels at a time go along rows of results; neighbouring
 * results share what they read. Rows beyond the image are rows of zeros. */
#include "depthwise_channels.h"

#include <math.h>

#include "depthwise_band.h"
#include "panels.h"
#include "panels_sizes.h"
#include "vectors.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_channels
#endif

enum { PIXELS = 4, MOST_PIXELS = 6 };

/* A row of results, for some channels. */
typedef struct {
  const tw_depthwise_channels_params *params;
  const float **rows; /* of the image, for each row of the window */
  float *taps;        /* a copy of those of some channels, and then of these channels of some rows, where there is one */
  const float *w;     /* a vector for each tap, all channels of a tap side by side */
  const float *b;
  float *y;
  int32_t w_step;
  int32_t lanes; /* channels at a time: less than a vector's at the end */
  tw_bounds bounds;
} work;

/* What stays the same along rows of results of 3 x 3 taps. */
typedef struct {
  const float *w, *b;
  int64_t w_step, step; /* from tap to tap, from pixel to pixel */
  int32_t channels;     /* that are gone through at a time */
  int32_t parts, pixels, larger; /* of a row: `larger` parts have one more than so many results */
  tw_vector low, high;
} three;

/* `pixels` neighbouring results, of 3 x 3 neighbouring taps, whose windows begin where `row` says. Their first or last
 * column of taps may lie beside the image. All counts but that of the channels are constants. */
TW_INLINE void three_by_three(const three *t, const int pixels, const int stride, const int left, const int right,
                              const float *const row[3], float *y) {
  const int last = (pixels - 1) * stride + 2 - right;
  const int64_t step = t->step, w_step = t->w_step;
  const tw_vector low = t->low, high = t->high;
  const float *const w = t->w, *const b = t->b;
  for (int32_t channel = 0; channel < t->channels; channel += TW_LANES) {
    tw_vector sum[MOST_PIXELS];
    TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] = tw_load(b + channel);
    TW_UNROLL for (int r = 0; r < 3; r++) {
      tw_vector factor[3];
      TW_UNROLL for (int s = 0; s < 3; s++) factor[s] = tw_load(w + (3 * r + s) * w_step + channel);
      TW_UNROLL for (int i = 0; i < pixels; i++) {
        TW_UNROLL for (int c = i * stride; c < i * stride + 3; c++) {
          if (c >= left && c <= last) sum[i] += tw_load(row[r] + c * step + channel) * factor[c - i * stride];
        }
      }
    }
    TW_UNROLL for (int i = 0; i < pixels; i++) {
      tw_store(y + i * step + channel, tw_at_most(tw_at_least(sum[i], low), high));
    }
  }
}

#define PIXELS_CASE(COUNT, LEFT, RIGHT) \
  case 4 * COUNT + 2 * LEFT + RIGHT: three_by_three(t, COUNT, stride, LEFT, RIGHT, row, y); break
#define PIXELS_CASES(COUNT) \
  PIXELS_CASE(COUNT, 0, 0); \
  PIXELS_CASE(COUNT, 0, 1); \
  PIXELS_CASE(COUNT, 1, 0); \
  PIXELS_CASE(COUNT, 1, 1)

/* A row of results. */
TW_INLINE void row_of_three(const three *t, const int stride, int32_t left, int32_t right, const float *const first[3],
                            float *y) {
  const float *row[3] = {first[0], first[1], first[2]};
  for (int32_t part = 0; part < t->parts; part++) {
    const int32_t pixels = t->pixels + (part < t->larger);
    switch (4 * pixels + 2 * (left && part == 0) + (right && part == t->parts - 1)) {
      PIXELS_CASES(1);
      PIXELS_CASES(2);
      PIXELS_CASES(3);
      PIXELS_CASES(4);
      PIXELS_CASES(5);
      PIXELS_CASES(6);
      default: break;
    }
    TW_UNROLL for (int r = 0; r < 3; r++) row[r] += pixels * stride * t->step;
    y += pixels * t->step;
  }
}

/* Rows of results from `row` on. */
TW_INLINE void rows_of_three(const work *k, const int stride, const float *x, const float *zeros, int32_t row,
                             int32_t rows) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t left = p->first, right = (p->out_w - 1) * stride - p->pad_left + 3 > p->in_w;
  const int32_t parts = (p->out_w + MOST_PIXELS - 1) / MOST_PIXELS;
  const int64_t in_row = (int64_t)p->in_w * p->channels, out_row = (int64_t)p->out_w * p->channels;
  three t = {.w = k->w, .b = k->b, .w_step = k->w_step, .step = p->channels, .channels = k->lanes, .parts = parts};
  t.pixels = parts ? p->out_w / parts : 0;
  t.larger = p->out_w - t.pixels * parts;
  t.low = tw_all(k->bounds.raises ? k->bounds.low : -INFINITY);
  t.high = tw_all(k->bounds.lowers ? k->bounds.high : INFINITY);
  float *y = k->y;
  int32_t top = row * p->stride_h - p->pad_top;
  for (int32_t i = 0; i < rows; i++, y += out_row, top += p->stride_h) {
    const float *from[3];
    TW_UNROLL for (int r = 0; r < 3; r++) {
      const int32_t at = top + r * p->dilation_h;
      from[r] = (at < 0 || at >= p->in_h ? zeros : x + at * in_row) - p->pad_left * t.step;
    }
    row_of_three(&t, stride, left, right, from, y);
  }
}

#if TW_LANES < TW_BAND_LANES

/* The same for any window. */
TW_INLINE void any_window(const work *k, const int pixels, int32_t column) {
  const tw_depthwise_channels_params *const p = k->params;
  const int64_t step = p->channels, stride = step * p->stride_w;
  const int64_t from = (int64_t)(column * p->stride_w - p->pad_left) * step;
  const float *w = k->w;
  tw_vector sum[PIXELS];
  TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] = tw_load(k->b);
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const float *x = k->rows[r] + from;
    for (int32_t s = 0; s < p->kernel_w; s++, x += p->dilation_w * step, w += k->w_step) {
      const tw_vector factor = tw_load(w);
      TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] += tw_load(x + i * stride) * factor;
    }
  }
  TW_UNROLL for (int i = 0; i < pixels; i++) tw_store(k->y + (column + i) * step, tw_bounded(sum[i], &k->bounds));
}

/* One result, with those taps that find something, and those channels that are there. */
static void at_a_border(const work *k, int32_t column) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t first = column * p->stride_w - p->pad_left;
  tw_vector sum = tw_load(k->b);
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t at = first + s * p->dilation_w;
    if (at < 0 || at >= p->in_w) continue;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const float *const x = k->rows[r] + (int64_t)at * p->channels;
      const tw_vector seen = k->lanes < TW_LANES ? tw_load_first(x, k->lanes) : tw_load(x);
      sum += seen * tw_load(k->w + (r * p->kernel_w + s) * k->w_step);
    }
  }
  sum = tw_bounded(sum, &k->bounds);
  float *const to = k->y + (int64_t)column * p->channels;
  if (k->lanes < TW_LANES) tw_store_first(to, sum, k->lanes);
  else tw_store(to, sum);
}

static void any_rows(work *k, const float *x, const float *zeros, int32_t row, int32_t rows) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t whole = k->lanes == TW_LANES, first = whole ? p->first : p->out_w, last = whole ? p->end : p->out_w;
  float *const y = k->y;
  for (int32_t end = row + rows; row < end; row++, k->y += (int64_t)p->out_w * p->channels) {
    int32_t column = first;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const int32_t at = row * p->stride_h - p->pad_top + r * p->dilation_h;
      k->rows[r] = at < 0 || at >= p->in_h ? zeros : x + (int64_t)at * p->in_w * p->channels;
    }
    for (int32_t i = 0; i < first; i++) at_a_border(k, i);
    for (; column + PIXELS <= last; column += PIXELS) any_window(k, PIXELS, column);
    for (; column < last; column++) any_window(k, 1, column);
    for (int32_t i = last; i < p->out_w; i++) at_a_border(k, i);
  }
  k->y = y;
}

#endif

/* All channels of some rows of results. */
static void one_block(work *k, const float *x, const float *w, const float *b, const float *zeros, float *y,
                      int32_t row, int32_t rows) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t whole = p->channels / TW_LANES * TW_LANES;
  for (int32_t c = 0; c < p->channels; c += k->lanes) {
    k->w = w + c;
    k->b = b + c;
    k->y = y + c;
    if (p->three && c < whole) {
      k->lanes = tw_min(p->line, whole - c);
      if (p->three == 1) rows_of_three(k, 1, x + c, zeros, row, rows);
      else rows_of_three(k, 2, x + c, zeros, row, rows);
    } else {
      k->lanes = tw_min(TW_LANES, p->channels - c);
#if TW_LANES >= TW_BAND_LANES
      const tw_band_work banded = {p, k->b, k->lanes, &k->bounds, k->taps, k->taps + p->kernel_h * p->kernel_w * TW_LANES};
      tw_load_taps(&banded, k->w, k->w_step);
      tw_rows_in_bands(&banded, x + c, row, rows, k->y);
#else
      any_rows(k, x + c, zeros, row, rows);
#endif
    }
  }
}

void TW_NAME(const tw_depthwise_channels_params *params, const float *x, const float *w, const float *b, float *y,
             void *scratch) {
  const tw_depthwise_channels_params *const p = params;
  const int32_t channels = p->channels, row_elements = p->in_w * channels, most = tw_depthwise_rows(p, TW_LANES);
  const float **const rows = scratch;
  float *const zeros = (float *)(rows + p->kernel_h);
  memset(zeros, 0, (size_t)row_elements * sizeof *zeros);
  work k = {.params = p, .rows = rows, .taps = tw_whole_vectors(zeros + row_elements), .bounds = tw_bounds_of(&p->activation)};
  k.w_step = (channels + TW_LANES - 1) / TW_LANES * TW_LANES;
  for (int32_t image = 0; image < p->batch; image++, x += (int64_t)p->in_h * row_elements) {
    for (int32_t row = 0; row < p->out_h; row += most) {
      const int32_t count = tw_min(most, p->out_h - row), elements = count * p->out_w * channels;
      one_block(&k, x, w, b, zeros, y, row, count);
      if (p->activation.kind > TW_CLAMP) tw_activate(&p->activation, y, elements, 1);
      y += elements;
    }
  }
}
