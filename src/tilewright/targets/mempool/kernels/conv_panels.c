/* Convolution of bytes with channels last; int32 totals, optionally requantised; all cores together. Windows are gathered into
 * panels, some at a time, filters once; results are the products of both. */
#ifndef TW_NAME
#define TW_NAME tw_conv_panels
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "conv.h"
#include "panel_product.h"

/* ---- windows ---- */

/* Bytes that come in runs of any length become words of a row. */
typedef struct {
  uint32_t *to, word;
  int32_t bits;
} writer;

static inline void put(writer *w, uint32_t byte) {
  w->word |= byte << w->bits;
  w->bits += 8;
  if (w->bits < 32) return;
  *w->to = w->word;
  w->to += TW_PANEL;
  w->word = 0;
  w->bits = 0;
}

static void put_run(writer *w, const uint8_t *from, int32_t count) {
  if (w->bits == 0 && count >= 4) {
    w->to = tw_fill_run(w->to, from, count & ~3, TW_FLIP(TW_X));
    from += count & ~3;
    count &= 3;
  }
  for (; count > 0; count--) put(w, *from++ ^ (TW_FLIP(TW_X) & 0xff));
}

static void put_zeros(writer *w, uint32_t zero, int32_t count) {
  for (; count > 0 && w->bits != 0; count--) put(w, zero);
  for (; count >= 4; count -= 4, w->to += TW_PANEL) *w->to = zero * TW_ONES;
  for (; count > 0; count--) put(w, zero);
}

/* The window of a pixel, line by line; what lies outside the image is its zero. */
static void gather(const tw_conv_params *p, const uint8_t *x, int32_t pixel, uint32_t *to) {
  const int32_t depth = p->groups * p->in_channels, channels = p->in_channels, plane = p->out_h * p->out_w;
  const int32_t image = pixel / plane, in_image = pixel % plane, line = in_image / p->out_w;
  const int32_t top = line * p->stride_h - p->pad_top, left = in_image % p->out_w * p->stride_w - p->pad_left;
  const uint32_t zero = (uint32_t)TW_FLIPPED_ZERO(TW_X, p->x_zero) & 0xff;
  const int is_one_run = p->dilation_w == 1 && p->groups == 1;
  const int32_t first = is_one_run ? tw_min(tw_max(-left, 0), p->kernel_w) : 0;
  const int32_t end = is_one_run ? tw_max(tw_min(p->in_w - left, p->kernel_w), first) : 0;
  writer w = {to, 0, 0};
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t y = top + r * p->dilation_h;
    const uint8_t *const from = x + ((image * p->in_h + y) * p->in_w + left) * depth;
    if (y < 0 || y >= p->in_h) {
      put_zeros(&w, zero, p->kernel_w * channels);
    } else if (is_one_run) {
      put_zeros(&w, zero, first * channels);
      put_run(&w, from + first * channels, (end - first) * channels);
      put_zeros(&w, zero, (p->kernel_w - end) * channels);
    } else {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const int32_t at = left + s * p->dilation_w;
        if (at < 0 || at >= p->in_w) {
          put_zeros(&w, zero, channels);
        } else {
          put_run(&w, from + s * p->dilation_w * depth, channels);
        }
      }
    }
  }
  if (w.bits) *w.to = w.word;
}

/* Windows of some pixels from `first` on, dealt out to all cores. */
static void gather_all(const tw_conv_params *p, const uint8_t *x, int32_t first, int32_t count, int32_t words, int32_t *sums, uint32_t *to) {
  const tw_share mine = tw_share_of(tw_panels_of(count) * TW_PANEL);
  for (int32_t row = mine.first; row < mine.end; row++) {
    uint32_t *const place = tw_panel_row(to, row, words);
    if (row < count) {
      gather(p, x, first + row, place);
    } else {
      tw_fill_zeros(place, words);
    }
    if (sums) sums[row] = tw_row_sum(place, words);
  }
}

/* Filters of a group; and what their sums begin with. */
static void fill_filters(const tw_conv_params *p, const uint8_t *w, const int32_t *bias, int32_t filter, int32_t inner,
                         int32_t *start, uint32_t *to) {
  const int32_t words = tw_panel_words(inner);
  const int32_t x_zero = TW_FLIPPED_ZERO(TW_X, p->x_zero), w_zero = TW_FLIPPED_ZERO(TW_W, p->w_zero);
  const tw_share mine = tw_share_of(tw_panels_of(p->out_channels) * TW_PANEL);
  for (int32_t row = mine.first; row < mine.end; row++) {
    uint32_t *const place = tw_panel_row(to, row, words);
    start[row] = 0;
    if (row >= p->out_channels) {
      tw_fill_zeros(place, words);
      continue;
    }
    tw_fill_row(place, w + (filter + row) * inner, 1, inner, TW_FLIP(TW_W));
    start[row] = tw_conv_bias(p, bias, filter + row);
    if (x_zero) start[row] = (int32_t)((uint32_t)start[row] + (uint32_t)(x_zero * (inner * w_zero - tw_row_sum(place, words))));
  }
}

/* `chunk` is how many panels of windows are gathered at a time. */
void TW_NAME(const tw_conv_params *p, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t inner = p->kernel_h * p->kernel_w * p->in_channels, words = tw_window_words(p);
  const int32_t w_panels = tw_panels_of(p->out_channels), pixels = p->batch * p->out_h * p->out_w;
  const int32_t chunk = p->chunk * TW_PANEL, filters = p->groups * p->out_channels;
  uint32_t *const w_place = scratch, *const x_place = w_place + w_panels * TW_PANEL * words;
  int32_t *const start = (int32_t *)(x_place + chunk * words), *const sums = start + w_panels * TW_PANEL;
  tw_product k = {.a = x_place, .b = w_place, .words = words, .columns = p->out_channels, .start = start,
                  .mul_column = p->mul_step, .add_column = p->add_step, .b_zero = TW_FLIPPED_ZERO(TW_W, p->w_zero),
                  .requantised = p->requantised, .requant = p->requant, .y_row = filters, .y_column = 1};
  k.row_sums = k.b_zero ? sums : 0;
  k.partial = sums + (k.b_zero ? chunk : 0);
  if (words == 0) return;
  for (int32_t group = 0; group < p->groups; group++) {
    const int32_t filter = group * p->out_channels;
    k.mul = mul ? mul + filter * p->mul_step : 0;
    k.add = add ? add + filter * p->add_step : 0;
    fill_filters(p, (const uint8_t *)w, b, filter, inner, start, w_place);
    for (int32_t first = 0; first < pixels; first += chunk) {
      k.rows = tw_min(chunk, pixels - first);
      k.y = y + first * filters + filter;
      gather_all(p, (const uint8_t *)x + group * p->in_channels, first, k.rows, words, k.b_zero ? sums : 0, x_place);
      tw_barrier();
      tw_blocks(&k);
      if (first + chunk < pixels || group + 1 < p->groups) tw_barrier();
    }
  }
}
