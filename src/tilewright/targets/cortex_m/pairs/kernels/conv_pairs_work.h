/* Units of work of convolutions and products in pairs. */
#ifndef TW_CONV_PAIRS_WORK_H
#define TW_CONV_PAIRS_WORK_H

#include "conv_pairs_sizes.h"
#include "matmul_pairs_sizes.h"
#include "result_ways.h"
#include "units_of_work.h"

/* Results by their way, of those that are requantised, and those that are totals. */
#define TW_BY(taken, count) (way == (taken) ? (count) : 0)
#define TW_BY_ALL_WAYS(count)                                                                                 \
  TW_BY(TW_BY_TOTALS, count), TW_BY(TW_BY_UP, count), TW_BY(TW_BY_TWICE, count), TW_BY(TW_BY_HIGH, count),    \
      TW_BY(TW_BY_LOW, count), TW_BY(TW_BY_ONE, count), TW_BY(TW_BY_POSITIVE, count),   \
      TW_BY(TW_BY_LEFT, count), TW_BY(-1, count)

/* Where panels come from: the image, three taps of a row, words of a row, tap by tap. */
static inline int tw_panel_source(const tw_conv_pairs_params *p, int64_t chunk) {
  const tw_conv_params *const conv = &p->conv;
  const int dense = conv->dilation_w == 1;
  if (tw_has_no_band(p)) return 0;
  if (dense && chunk == 1 && !p->image_last && conv->kernel_w == 3 && conv->stride_w == 1) {
    return conv->in_channels % 2 == 0 ? 1 : 3;
  }
  return dense && (p->image_last || conv->in_channels == 1) && conv->kernel_w * conv->in_channels >= 4 ? 2 : 3;
}

/* The call; words of taps for panels of several pixels and of one; panels; what they are made of, by its source; the
 * band; the taps of a call; results. */
static inline int64_t tw_conv_pairs_work(const tw_conv_pairs_params *p, int32_t x_bytes, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int flat = tw_has_no_band(p), way = conv->requantised ? p->way : -1;
  const int64_t chunk = flat ? conv->out_h : conv->chunk, images = (int64_t)conv->batch * conv->groups;
  const int64_t bands = images * tw_up(conv->out_h, chunk), row = chunk * conv->out_w, left = row % TW_PANEL_PIXELS;
  const int64_t several = row / TW_PANEL_PIXELS + (left == TW_PANEL_PIXELS - 1), ones = left % (TW_PANEL_PIXELS - 1);
  const int64_t words = bands * tw_up(conv->out_channels, 2) * tw_panel_steps(tw_taps(conv));
  const int64_t gathered = bands * row * tw_taps(conv), source = tw_panel_source(p, chunk);
  const int64_t results = images * conv->out_channels * conv->out_h * conv->out_w;
  TW_UNITS(1, words * several, words * ones, bands * (several + ones), gathered * (source == 0),
           gathered * (source == 1), gathered * (source == 2), gathered * (source == 3),
           flat ? 0 : bands * tw_pairs_band(p, x_bytes), flat ? 0 : images * tw_taps(conv), TW_BY_ALL_WAYS(results));
}

/* The call; planes; rows that are copied, and their bytes; two rows of results; results two pixels apart, and by their
 * way. */
static inline int64_t tw_depthwise_windows_work(const tw_conv_pairs_params *p, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t planes = (int64_t)conv->batch * conv->groups * conv->out_channels, way = p->way;
  const int64_t bands = planes * tw_up(conv->out_h, conv->chunk), twos = planes * tw_up(conv->out_h, 2);
  const int64_t results = twos * 2 * conv->out_w;
  TW_UNITS(1, planes, bands * tw_band_rows(conv, conv->chunk), bands * tw_depthwise_windows_scratch(p), twos,
           results * (conv->stride_h == 2), TW_BY(TW_WINDOWS_OWN, results), TW_BY(TW_WINDOWS_SAME, results),
           TW_BY(TW_WINDOWS_TWICE, results));
}

/* The call; filters of bands; rows of results; windows of 3 x 3 and words of all others, four at a time; words of
 * single windows; what is copied; results. */
static inline int64_t tw_depthwise_halves_work(const tw_conv_pairs_params *p, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t filters = (int64_t)conv->groups * conv->out_channels, rows = conv->batch * filters * conv->out_h;
  const int64_t passes = conv->batch * tw_up(conv->out_h, conv->chunk), words = conv->kernel_h * tw_up(conv->kernel_w, 2);
  const int is_3x3 = conv->kernel_h == 3 && conv->kernel_w == 3 && p->way != TW_BY_TOTALS;
  const int64_t fours = conv->out_w >= 4 ? tw_up(conv->out_w, 4) : 0, ones = conv->out_w >= 4 ? 0 : conv->out_w;
  const int64_t band = (int64_t)tw_band_rows(conv, conv->chunk) * tw_band_pitch(conv), results = rows * (fours * 4 + ones);
  const int way = conv->requantised ? p->way : -1;
  TW_UNITS(1, passes * filters, rows, rows * fours * is_3x3, rows * fours * words * !is_3x3, rows * ones * words,
           passes * conv->groups * band, TW_BY(TW_BY_TOTALS, results), TW_BY(TW_BY_HIGH, results),
           TW_BY(TW_BY_POSITIVE, results), TW_BY(-1, results));
}

/* The call; words of taps for four rows and for one; these; what panels are made of; results. */
static inline int64_t tw_matmul_pairs_work(const tw_matmul_pairs_params *p, double *units) {
  const int64_t rows = p->rows, fours = rows / TW_PANEL_ROWS, ones = rows % TW_PANEL_ROWS;
  const int64_t words = tw_up(p->columns, 2) * tw_up(p->inner, 2);
  const int way = p->requantised ? p->way : -1;
  TW_UNITS(1, fours * words, ones * words, fours + ones, rows * p->inner, TW_BY_ALL_WAYS(rows * p->columns));
}

#endif
