/* Convolution of bytes, channels second, where each group has one input channel, with any window whose columns lie side
 * by side. The rows of a channel that some rows of results read become 16-bit elements without their zero point, between
 * columns of zeros; rows of a window that lie above or below the image are left out.
 *
 * A filter has the weights of each row of the window, two in a word, then what totals begin with, factor, shift and
 * addend. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_taps
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "always.h"
#include "requant_row.h"
#include "rolled.h"
#include "tap_totals.h"
#include "ways.h"

enum { TW_TAPS_TOTALS, TW_TAPS_HIGH, TW_TAPS_TWICE };
enum { TW_TAPS_SCALES = 4 }; /* words behind the weights */

#define TW_BITS (TW_BYTES_OF(TW_Y) == 1 ? 8 : 16) /* of results that are scaled here */
#ifdef __ARM_FEATURE_DSP
#define TW_LIMITED(value) ((TW_Y)-1 < 0 ? __ssat(value, TW_BITS) : (int32_t)__usat(value, TW_BITS))
#else
#define TW_LIMITED(value) \
  tw_within(value, (TW_Y)-1 < 0 ? -(1 << (TW_BITS - 1)) : 0, (1 << (TW_BITS - ((TW_Y)-1 < 0))) - 1)
#endif

/* ---- totals become results ---- */

TW_ALWAYS TW_Y result_of(int is_twice, int32_t total, int32_t factor, int32_t shift, int32_t addend) {
  int32_t value = tw_upper(total, factor) + addend;
  if (is_twice) value = (int32_t)(((int64_t)total * factor + 0x80000000LL) >> 32) + addend + (total >> 31);
  return (TW_Y)TW_LIMITED(value >> shift);
}

TW_ALWAYS void results_by(int is_twice, const int32_t *scales, const int32_t *total, TW_Y *y, int32_t count) {
  const int32_t factor = scales[1], shift = scales[2], addend = scales[3];
  TW_ROLLED for (; count >= 4; count -= 4, total += 4, y += 4) {
    const TW_Y a = result_of(is_twice, total[0], factor, shift, addend);
    const TW_Y b = result_of(is_twice, total[1], factor, shift, addend);
    const TW_Y c = result_of(is_twice, total[2], factor, shift, addend);
    const TW_Y d = result_of(is_twice, total[3], factor, shift, addend);
    y[0] = a, y[1] = b, y[2] = c, y[3] = d;
  }
  TW_ROLLED for (; count > 0; count--) *y++ = result_of(is_twice, *total++, factor, shift, addend);
}

static __attribute__((noinline)) void results_of(const tw_conv_pairs_params *params, const int32_t *scales,
                                                 const int32_t *total, TW_Y *y, int32_t count) {
  const tw_requant *const r = &params->conv.requant;
  if (sizeof(TW_Y) < 4 && params->way == TW_TAPS_HIGH) {
    results_by(0, scales, total, y, count);
  } else if (sizeof(TW_Y) < 4 && params->way == TW_TAPS_TWICE) {
    results_by(1, scales, total, y, count);
  } else {
    const int32_t add = scales[3];
    const tw_way way = tw_way_of(params->conv.requantised, r, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 0);
    const tw_factor factor = tw_factor_of(way, r, scales[1], add);
    TW_ROLLED for (; count > 0; count--) tw_requantise_row(way, r, &factor, total++, y++, 1);
  }
}

/* ---- rows of the image ---- */

/* Bytes without their zero point, which is in both halves of `zeros`. */
static __attribute__((noinline)) void widen_row(const TW_X *x, int32_t count, uint32_t zeros, int16_t *to) {
  int32_t i = 0;
#ifdef __ARM_FEATURE_DSP
  const int16x2_t zero = (int16x2_t)zeros;
  if (count >= 4) {
    for (;; i = tw_min(i + 4, count - 4)) {
      const uint32_t even = (uint32_t)__ssub16((int16x2_t)tw_even(tw_word_at(x + i)), zero);
      const uint32_t odd = (uint32_t)__ssub16((int16x2_t)tw_odd(tw_word_at(x + i)), zero);
      const uint32_t low = tw_lower_halves(even, odd), high = tw_upper_halves(even, odd);
      __builtin_memcpy(to + i, &low, 4), __builtin_memcpy(to + i + 2, &high, 4);
      if (i == count - 4) return;
    }
  }
#endif
  TW_ROLLED for (; i < count; i++) to[i] = (int16_t)(x[i] - (int16_t)zeros);
}

/* Rows of the image from `first` on, into a band that has zeros already. */
static void load_rows(const tw_conv_params *p, const TW_X *x, int32_t first, int32_t rows, int32_t pitch, int16_t *band) {
  const uint32_t zeros = (uint32_t)p->x_zero & 0xffff;
  const int32_t columns = tw_min(p->in_w, pitch - p->pad_left);
  if (columns <= 0) return;
  x += first * p->in_w, band += p->pad_left;
  TW_ROLLED for (; rows > 0; rows--, x += p->in_w, band += pitch) widen_row(x, columns, zeros | zeros << 16, band);
}

/* The rows of windows that lie within the image, for rows of results from `out_y` on; `first` is the band's first row. */
static void place_rows(const tw_conv_params *p, int32_t out_y, int32_t rows, int32_t first, const int16_t *band,
                       int32_t pitch, tw_tap_row *row) {
  const int32_t down = p->dilation_h, words = tw_taps_words(p);
  for (int32_t in_y = out_y * p->stride_h - p->pad_top; rows > 0; rows--, row++, in_y += p->stride_h) {
    int32_t begin = 0, end = p->kernel_h;
    while (begin < end && in_y + begin * down < 0) begin++;
    while (begin < end && in_y + (end - 1) * down >= p->in_h) end--;
    row->x = begin < end ? band + (in_y + begin * down - first) * pitch : band;
    row->skipped = begin * words;
    row->rows = end - begin;
  }
}

/* ---- the layer ---- */

/* All filters of a channel on some rows of results. */
static void filters_on(const tw_conv_pairs_params *params, tw_tap_filter *all, tw_taps_function totals_of, const int32_t *filter,
                       TW_Y *y) {
  const tw_conv_params *const p = &params->conv;
  const int32_t weights = p->kernel_h * all->words, plane = p->out_h * p->out_w;
  TW_ROLLED for (int32_t f = 0; f < p->out_channels; f++, filter += weights + TW_TAPS_SCALES, y += plane) {
    all->filter = filter, all->start = filter[weights];
    totals_of(all);
    results_of(params, filter + weights, all->total, y, all->rows * all->columns);
  }
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t words = tw_taps_words(p), own = p->out_channels * (p->kernel_h * words + TW_TAPS_SCALES);
  const int32_t pitch = tw_taps_pitch(p), step = p->stride_h, reach = (p->kernel_h - 1) * p->dilation_h + 1;
  int32_t *const totals = scratch;
  tw_tap_row *const row = (tw_tap_row *)(void *)(totals + tw_taps_totals(p));
  int16_t *const band = (int16_t *)(void *)((char *)row + p->chunk * TW_TAP_ROW_BYTES);
  const tw_taps_function totals_of = tw_taps_by(words, p->stride_w);
  tw_tap_filter all = {row, 0, 0, p->out_w, p->dilation_h * pitch, p->stride_w, words, 0, totals};
  uint32_t *const band_words = (uint32_t *)(void *)band;
  TW_ROLLED for (int32_t i = 0; i <= tw_taps_rows(p) * pitch / 2; i++) band_words[i] = 0;
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w, y += p->out_channels * p->out_h * p->out_w) {
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      const int32_t first = tw_max(out_y * step - p->pad_top, 0);
      all.rows = tw_min(p->chunk, p->out_h - out_y);
      const int32_t end = tw_min((out_y + all.rows - 1) * step - p->pad_top + reach, p->in_h);
      /* Rows of whole images lie at the same place for all channels. */
      if (n == 0 || p->chunk < p->out_h) place_rows(p, out_y, all.rows, first, band, pitch, row);
      load_rows(p, x, first, end - first, pitch, band);
      filters_on(params, &all, totals_of, (const int32_t *)(const void *)w + n % p->groups * own, y + out_y * p->out_w);
    }
  }
}
