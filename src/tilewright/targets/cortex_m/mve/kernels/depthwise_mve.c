/* Convolution in which each filter sees one channel, channels last: a vector of channels of a pixel at a time, with
 * weights as [channels of a vector][tap][channel]. Taps outside the image find a row of what stands for zero. Bias,
 * factors and exponents are in the order in which the instructions leave totals. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include <string.h>

#include "conv_mve_sizes.h"
#include "depthwise_layer_mve.h"
#include "vectors_mve.h"

#if TW_ELEMENT_BYTES == 1
#include "depthwise_bytes_mve.h"
#else
#include "depthwise_halves_mve.h"
#endif

/* Of a window at the border: as seen from its first tap, some of it in the row that stands for what is outside. */
TW_APART void border_offsets(const tw_conv_params *p, int32_t top, int32_t left, int32_t outside, const int32_t *inside,
                           int32_t *offset) {
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  int32_t *to = offset;
  for (int32_t i = (p->kernel_h * p->kernel_w + 1) / 2; i > 0; i--) *to++ = outside, *to++ = outside;
  for (int32_t r = rows.first; r < rows.end; r++) {
    const int32_t first = r * p->kernel_w;
    for (int32_t s = first + columns.first; s < first + columns.end; s++) offset[s] = inside[s];
  }
}

/* A row of results. `x` is where the first window begins, if only it were in the image. */
TW_ALWAYS void one_row(const layer *k, tw_vector_way way, const TW_X *x, int32_t top, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t step = p->stride_w * k->channels;
  const int rows_inside = top >= 0 && top <= k->last_top;
  int32_t left = -p->pad_left;
  for (int32_t i = p->out_w; i > 0; i--, x += step, y += k->channels, left += p->stride_w) {
    window at = {x, k->inside};
    if (!rows_inside || left < 0 || left > k->last_left) {
      border_offsets(p, top, left, (int32_t)((intptr_t)k->zeros - (intptr_t)x) / TW_ELEMENT_BYTES, k->inside, k->border);
      at.offset = k->border;
    }
    one_pixel(k, way, at, y);
  }
}

/* Functions of their own: each has all registers. */
TW_APART void row_short(const layer *k, const TW_X *x, int32_t top, TW_Y *y) { one_row(k, TW_SHORT_WAY, x, top, y); }

#if TW_HAS_UP_WAY
TW_APART void row_up(const layer *k, const TW_X *x, int32_t top, TW_Y *y) { one_row(k, TW_UP_WAY, x, top, y); }
#else
#define row_up row_short
#endif

#if TW_HAS_ONCE_WAY
TW_APART void row_once(const layer *k, const TW_X *x, int32_t top, TW_Y *y) { one_row(k, TW_ONCE_WAY, x, top, y); }
#else
#define row_once row_short
#endif

TW_APART void row_any(const layer *k, const TW_X *x, int32_t top, TW_Y *y) { one_row(k, TW_ANY_WAY, x, top, y); }

void TW_NAME(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->groups, pairs = tw_tap_pairs(p);
  int32_t *const inside = scratch, *const border = inside + 2 * pairs;
  TW_X *const zeros = (TW_X *)(border + 2 * pairs);
  const layer k = {p, w, b, mul, add, taps, pairs, channels, inside, border, zeros,
                   p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h, p->in_w - 1 - (p->kernel_w - 1) * p->dilation_w};
  const int32_t next_h = p->dilation_h * p->in_w * channels, next_w = p->dilation_w * channels;
  for (int32_t i = 0; i < channels; i += TW_VECTOR) tw_write(zeros + i, tw_all_of(p->x_zero));
  inside[2 * pairs - 1] = 0;
  for (int32_t i = 0; i < taps; i++) inside[i] = i / p->kernel_w * next_h + i % p->kernel_w * next_w;
  void (*const row)(const layer *, const TW_X *, int32_t, TW_Y *) = params->way == TW_ANY_WAY    ? row_any
                                                                    : params->way == TW_UP_WAY   ? row_up
                                                                    : params->way == TW_ONCE_WAY ? row_once
                                                                                                 : row_short;
  for (int32_t image = 0; image < p->batch; image++, x += p->in_h * p->in_w * channels) {
    int32_t top = -p->pad_top;
    for (int32_t i = p->out_h; i > 0; i--, top += p->stride_h, y += p->out_w * channels) {
      const TW_X *const from = x + (top * p->in_w - p->pad_left) * channels;
      row(&k, from, top, y);
    }
  }
}
