/* Convolution of bytes by dot products of four bytes: a filter's weights are a row of taps, the windows of four pixels are gathered as
 * such rows, and meet four filters at a time. One group. Needs TW_X, TW_Y, and of whoever includes it `gather`, the window of a result,
 * and `place`, results of a filter on neighbouring pixels. */
#ifndef TW_DOTTED_WINDOWS_H
#define TW_DOTTED_WINDOWS_H

#include "always.h"
#include "cluster.h"
#include "conv.h"
#include "conv_words_sizes.h"
#include "dot_products.h"
#include "requant_row.h"

typedef uint32_t __attribute__((may_alias)) word;
TW_ASSERT_SIZE(tw_factor, TW_FACTOR_BYTES);

static void gather(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t out_x, TW_X *to);
static void place(const tw_conv_params *p, const TW_Y *from, int32_t pixels, int32_t filter, int32_t pixel, TW_Y *y);

/* Four bytes of a row that ends after `left` of them, filled up with zeros. */
TW_ALWAYS uint32_t word_of(const int8_t *row, int32_t left) {
  uint32_t found = 0;
  for (int32_t i = 0; i < tw_min(4, left); i++) found |= (uint32_t)(uint8_t)row[i] << (8 * i);
  return found;
}

/* The words of four filters side by side; filters that fill up the last block are zero. Returns the sums of their weights. */
static void set_filters(const tw_conv_params *p, const int8_t *w, uint32_t *to, uint32_t *sums) {
  const int32_t taps = tw_row_taps(p), is_aligned = (((uintptr_t)w | (uint32_t)taps) & 3) == 0;
  for (int32_t f = 0; f < tw_filters_in_blocks(p); f++, w += taps) {
    uint32_t *at = to + f / TW_BLOCK * tw_row_bytes(p) + f % TW_BLOCK, sum = 0;
    for (int32_t k = 0; k < taps; k += 4, at += TW_BLOCK) {
      *at = f >= p->out_channels ? 0 : is_aligned ? *(const word *)(const void *)(w + k) : word_of(w + k, taps - k);
      sum = TW_DOT4(sum, *at, 0x01010101u);
    }
    sums[f] = sum;
  }
}

/* What is the same for all windows. */
typedef struct {
  const tw_conv_params *p;
  const uint32_t *filters;
  const int32_t *starts;
  const tw_factor *factors;
  tw_way way;
} layer;

/* Results of a filter on neighbouring pixels. */
static __attribute__((noinline)) void finish(const layer *l, int32_t f, const int32_t *total, int32_t pixels, int32_t pixel, TW_Y *y) {
  const tw_conv_params *const p = l->p;
  const tw_factor factor = l->factors[f];
  TW_Y results[TW_PANEL];
  tw_requantise_row(l->way, &p->requant, &factor, total, results, TW_PANEL);
  place(p, results, pixels, f, pixel, y);
}

/* All filters on some windows. */
static void on_windows(const layer *l, const uint32_t *panel, int32_t pixels, int32_t pixel, TW_Y *y) {
  const int32_t bytes = tw_row_bytes(l->p), filters = l->p->out_channels;
  for (int32_t first = 0; first < filters; first += TW_BLOCK) {
    tw_totals total;
    tw_dots_4(panel, l->filters + first / TW_BLOCK * bytes, bytes / 4, l->starts + first, total);
    for (int32_t i = 0; i < tw_min(TW_BLOCK, filters - first); i++) finish(l, first + i, total[i], pixels, pixel, y);
  }
}

/* Sums of weights become what totals begin with; returns whether no total is 2^30 or more. */
static int set_starts(const tw_conv_params *p, const int32_t *b, uint32_t *starts) {
  const int64_t most = (int64_t)tw_row_taps(p) * 255 * 128;
  int are_small = 1;
  for (int32_t f = 0; f < p->out_channels; f++) {
    const uint32_t bias = b ? (uint32_t)b[f * p->bias_step] : 0;
    starts[f] = bias + (uint32_t)(TW_MORE - p->x_zero) * starts[f];
    const int64_t start = (int32_t)starts[f];
    are_small &= (start < 0 ? -start : start) + most < 1 << 30;
  }
  return are_small;
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t bytes = tw_row_bytes(p), all = p->out_h * p->out_w;
  tw_factor *const factors = scratch;
  uint32_t *const starts = (uint32_t *)(factors + tw_filters_in_blocks(p)), *const filters = starts + tw_filters_in_blocks(p);
  uint32_t *const panel = filters + tw_filters_in_blocks(p) * bytes / 4, *const window = panel + bytes;
  set_filters(p, w, filters, starts);
  const int are_small = set_starts(p, b, starts);
  const tw_way way = tw_way_of(p->requantised, &p->requant, add, p->add_step, p->out_channels, are_small);
  const layer l = {p, filters, (const int32_t *)starts, factors, way};
  for (int32_t f = 0; f < p->out_channels; f++) {
    factors[f] = tw_factor_of(way, &p->requant, mul ? mul[f * p->mul_step] : 0, add ? add[f * p->add_step] : 0);
  }
  for (int32_t i = 0; i < bytes; i++) panel[i] = 0;
  window[bytes / 4 - 1] = 0;
  for (int32_t image = 0; image < p->batch; image++, x += p->in_channels * p->in_h * p->in_w, y += all * p->out_channels) {
    int32_t out_y = 0, out_x = 0;
    for (int32_t pixel = 0, pixels; pixel < all; pixel += pixels) {
      pixels = tw_min(TW_PANEL, all - pixel);
      for (int32_t i = 0; i < pixels; i++) {
        gather(p, x, out_y, out_x, (TW_X *)window);
        for (int32_t k = 0; k < bytes / 4; k++) panel[TW_PANEL * k + i] = ((const word *)window)[k];
        if (++out_x == p->out_w) out_x = 0, out_y++;
      }
      on_windows(&l, panel, pixels, pixel, y);
    }
  }
}

#endif
