/* Units of work of depthwise convolutions of bytes with any window. */
#ifndef TW_DEPTHWISE_TAPS_WORK_H
#define TW_DEPTHWISE_TAPS_WORK_H

#include "depthwise_taps_sizes.h"
#include "units_of_work.h"

/* Rows of windows within the image, of one column of results. */
static inline int64_t tw_taps_rows_inside(const tw_conv_params *p) {
  int64_t inside = 0;
  for (int32_t y = 0; y < p->out_h; y++) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const int32_t in_y = y * p->stride_h - p->pad_top + r * p->dilation_h;
      inside += in_y >= 0 && in_y < p->in_h;
    }
  }
  return inside;
}

/* The call; planes; filters of them; rows that are widened, and their elements; rows of results; fours of results, and
 * rows of their windows; words of these, one and two elements apart; words of any other window; results by their way. */
static inline int64_t tw_depthwise_taps_work(const tw_conv_pairs_params *p, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t planes = (int64_t)conv->batch * conv->groups, filters = planes * conv->out_channels;
  const int64_t bands = planes * tw_up(conv->out_h, conv->chunk), widened = bands * tw_taps_rows(conv);
  const int64_t words = tw_taps_words(conv), inside = tw_taps_rows_inside(conv), step = conv->stride_w;
  const int is_any = step > 2 || (step == 2 && (words == 1 || words >= TW_LONG_ROW));
  const int64_t fours = is_any ? 0 : filters * tw_up(conv->out_w, TW_TAPS_COLUMNS), rows = fours * inside;
  const int64_t any = is_any ? filters * conv->out_w * inside : 0, results = filters * conv->out_h * conv->out_w;
  TW_UNITS(1, bands, bands * conv->out_channels, widened, widened * conv->in_w, filters * conv->out_h,
           fours * conv->out_h, rows, rows * words * (step == 1), rows * words * (step == 2), any * words, results,
           results * (p->way == 0), results * (p->way == 2));
}

#endif
