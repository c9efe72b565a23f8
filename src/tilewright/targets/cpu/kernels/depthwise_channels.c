/* Depthwise convolution of floats, channels last. A vector of channels goes along a row of results with its weights in
 * registers; neighbouring results share what they read. Rows beyond the image are rows of zeros. */
#include "depthwise_channels.h"

#include "panels.h"
#include "vectors.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_channels
#endif

enum { PIXELS = 4 };

/* A row of results, for one vector of channels. */
typedef struct {
  const tw_depthwise_channels_params *params;
  const float *const *rows; /* of the image, for each row of the window */
  const float *w;           /* a vector for each tap, all channels of a tap side by side */
  const float *b;
  float *y;
  int32_t w_step;
  int32_t lanes; /* that are there: less than a vector's at the end */
  tw_bounds bounds;
} work;

/* `pixels` neighbouring results from `column` on, whose windows lie inside the rows; of 3 x 3 neighbouring taps.
 * `pixels` and `stride` are constants. */
TW_INLINE void three_by_three(const work *k, const int pixels, const int stride, int32_t column,
                              const tw_vector w[9], tw_vector bias) {
  const int64_t step = k->params->channels, from = (int64_t)(column * stride - k->params->pad_left) * step;
  tw_vector sum[PIXELS];
  TW_UNROLL for (int i = 0; i < pixels; i++) sum[i] = bias;
  TW_UNROLL for (int r = 0; r < 3; r++) {
    const float *const x = k->rows[r] + from;
    TW_UNROLL for (int c = 0; c < (pixels - 1) * stride + 3; c++) {
      const tw_vector seen = tw_load(x + c * step);
      TW_UNROLL for (int s = 0; s < 3; s++) {
        if (c >= s && (c - s) % stride == 0 && (c - s) / stride < pixels) sum[(c - s) / stride] += seen * w[3 * r + s];
      }
    }
  }
  TW_UNROLL for (int i = 0; i < pixels; i++) tw_store(k->y + (column + i) * step, tw_bounded(sum[i], &k->bounds));
}

TW_INLINE void rows_of_three(const work *k, const int stride, int32_t column, int32_t end) {
  tw_vector w[9];
  TW_UNROLL for (int t = 0; t < 9; t++) w[t] = tw_load(k->w + t * k->w_step);
  const tw_vector bias = tw_load(k->b);
  for (; column + PIXELS <= end; column += PIXELS) three_by_three(k, PIXELS, stride, column, w, bias);
  switch (end - column) {
    case 3: three_by_three(k, 3, stride, column, w, bias); break;
    case 2: three_by_three(k, 2, stride, column, w, bias); break;
    case 1: three_by_three(k, 1, stride, column, w, bias); break;
    default: break;
  }
}

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

static void one_row(const work *k) {
  const tw_depthwise_channels_params *const p = k->params;
  const int32_t whole = k->lanes == TW_LANES, first = whole ? p->first : p->out_w, end = whole ? p->end : p->out_w;
  const int32_t is_three = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_w == 1;
  int32_t column = first;
  for (int32_t i = 0; i < first; i++) at_a_border(k, i);
  if (is_three && p->stride_w == 1) {
    rows_of_three(k, 1, first, end);
  } else if (is_three && p->stride_w == 2) {
    rows_of_three(k, 2, first, end);
  } else {
    for (; column + PIXELS <= end; column += PIXELS) any_window(k, PIXELS, column);
    for (; column < end; column++) any_window(k, 1, column);
  }
  for (int32_t i = end; i < p->out_w; i++) at_a_border(k, i);
}

void TW_NAME(const tw_depthwise_channels_params *params, const float *x, const float *w, const float *b, float *y,
             void *scratch) {
  const tw_depthwise_channels_params *const p = params;
  const int32_t channels = p->channels, row_elements = p->in_w * channels;
  const float **const rows = scratch;
  float *const zeros = (float *)(rows + p->kernel_h);
  memset(zeros, 0, (size_t)row_elements * sizeof *zeros);
  work k = {.params = p, .rows = rows, .bounds = tw_bounds_of(&p->activation)};
  k.w_step = (channels + TW_LANES - 1) / TW_LANES * TW_LANES;
  for (int32_t image = 0; image < p->batch; image++, x += (int64_t)p->in_h * row_elements) {
    for (int32_t row = 0; row < p->out_h; row++, y += (int64_t)p->out_w * channels) {
      for (int32_t c = 0; c < channels; c += TW_LANES) {
        for (int32_t r = 0; r < p->kernel_h; r++) {
          const int32_t at = row * p->stride_h - p->pad_top + r * p->dilation_h;
          rows[r] = (at < 0 || at >= p->in_h ? zeros : x + (int64_t)at * row_elements) + c;
        }
        k.w = w + c;
        k.b = b + c;
        k.y = y + c;
        k.lanes = tw_min(TW_LANES, channels - c);
        one_row(&k);
      }
      if (p->activation.kind > TW_CLAMP) tw_activate(&p->activation, y, p->out_w * channels, 1);
    }
  }
}
