/* Convolutions of bytes, channels second, where each group has one input channel: what is around the windows. Needs TW_X, TW_W and
 * TW_Y. */
#ifndef TW_DEPTHWISE_BANDS_H
#define TW_DEPTHWISE_BANDS_H

#include "always.h"
#include "conv.h"
#include "requant_row.h"
#include "row_copy.h"

/* Where rows of windows are, and how many there are. */
typedef struct {
  const TW_X *from;
  int32_t pitch, step; /* from a row of the band to the next, and to the next row of windows */
  int32_t rows, columns;
} windows;

/* Totals of one filter from the band of its channel. */
typedef void (*tw_on_band)(const tw_conv_params *p, windows all, const int32_t *w, int32_t start, int32_t *total);

/* Weights without their zero point, and the total before the first product: the bias with what the zero point of x
 * adds. */
static int32_t prepare(const tw_conv_params *p, const TW_W *w, int32_t bias, int32_t *weight) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < p->kernel_h * p->kernel_w; i++) {
    weight[i] = w[i] - p->w_zero;
    sum += (uint32_t)weight[i];
  }
  return (int32_t)((uint32_t)bias - sum * (uint32_t)p->x_zero);
}

/* Any number of totals. Apart from the rest, it has registers for all that is the same for them. */
static __attribute__((noinline)) void requantise(tw_way way, const tw_requant *r, const tw_factor *factor,
                                                 const int32_t *total, TW_Y *y, int32_t count) {
  const tw_factor f = *factor;
  tw_requantise_row(way, r, &f, total, y, count);
}

/* The rows of a whole image into a band that has its padding already. */
static void copy_inside(const tw_conv_params *p, const TW_X *x, int32_t in_rows, int32_t pitch, TW_X *band) {
  const int32_t rows = tw_min(p->in_h, in_rows - p->pad_top), columns = tw_min(p->in_w, pitch - p->pad_left);
  TW_X *to = band + p->pad_top * pitch + p->pad_left;
  for (int32_t r = 0; r < rows; r++, x += p->in_w, to += pitch) tw_copy(x, columns, to);
}

/* Whether totals that begin so stay below 2^30: products of bytes are below 2^16. */
static int stays_small(const tw_conv_params *p, int32_t start) {
  return p->kernel_h * p->kernel_w < 1 << 13 && start < 1 << 29 && start > -(1 << 29);
}

/* Every channel: the rows of its image that some rows of results read, as a band that begins `lead` elements behind a word. */
TW_ALWAYS void tw_on_bands(const tw_conv_params *p, int32_t lead, tw_on_band filter_on_band, const TW_X *x, const TW_W *w,
                           const int32_t *b, const int32_t *mul, const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t taps = p->kernel_h * p->kernel_w, filters = p->out_channels, plane = p->out_h * p->out_w;
  const int32_t pitch = tw_band_pitch(p);
  const int is_whole = p->chunk >= p->out_h;
  int32_t *const total = scratch, *const weight = total + p->chunk * p->out_w;
  TW_X *const band = (TW_X *)(weight + taps) + lead;
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w) {
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      const int32_t rows = tw_min(p->chunk, p->out_h - out_y);
      const int32_t in_rows = tw_band_rows(p, rows);
      const int32_t in_y = out_y * p->stride_h - p->pad_top;
      /* Padding of whole images is the same for all channels. */
      if (is_whole && n > 0) {
        copy_inside(p, x, in_rows, pitch, band);
      } else {
        for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
      }
      const windows all = {band, pitch, p->stride_h * pitch, rows, p->out_w};
      for (int32_t f = 0; f < filters; f++) {
        const int32_t filter = n % p->groups * filters + f;
        const int32_t start = prepare(p, w + filter * taps, tw_conv_bias(p, b, filter), weight);
        const int32_t *const adds = add ? add + filter * p->add_step : add;
        const tw_way way = tw_way_of(p->requantised, &p->requant, adds, 0, 1, stays_small(p, start));
        const int32_t factor = mul ? mul[filter * p->mul_step] : 0, summand = adds ? *adds : 0;
        const tw_factor own = tw_factor_of(way, &p->requant, factor, summand);
        TW_Y *const to = y + (n * filters + f) * plane + out_y * p->out_w;
        filter_on_band(p, all, weight, start, total);
        requantise(way, &p->requant, &own, total, to, rows * p->out_w);
      }
    }
  }
}

#endif
