/* Units of work of convolutions of bytes, channels second. */
#ifndef TW_CONV_BLOCKED_WORK_H
#define TW_CONV_BLOCKED_WORK_H

#include "conv_blocked_sizes.h"
#include "filter_block.h"
#include "requant_work.h"

/* The call; taps of blocks with 4, 2 and 1 pixels, and those that come as rows of three; blocks; what is gathered and
 * copied; results. */
static inline int64_t tw_conv_blocked_work(const tw_conv_params *p, double *units) {
  const int64_t images = (int64_t)p->batch * p->groups, blocks = images * tw_up(p->out_channels, TW_BLOCK);
  const int flat = tw_is_flat(p), direct = !flat && p->kernel_w == 3 && p->stride_w == 1 && p->dilation_w == 1;
  const int64_t plane = (int64_t)p->out_h * p->out_w, rows = flat ? 1 : p->out_h, row = flat ? plane : p->out_w;
  const int64_t fours = row / 4, twos = row % 4 / 2, ones = row % 2, taps = tw_taps(p);
  const int64_t gathered = flat ? 0 : rows * taps * (fours * !direct + twos + ones);
  const int64_t banded = flat ? 0 : rows * (taps / p->kernel_w) * tw_band_pitch(p);
  const int kind = tw_result_kind(p->requantised, &p->requant);
  TW_UNITS(1, blocks * rows * fours * taps * !direct, blocks * rows * twos * taps, blocks * rows * ones * taps,
           blocks * rows * fours * taps * direct, blocks * rows * (fours + twos + ones), images * gathered,
           images * banded, blocks, TW_BY_KIND(kind, images * p->out_channels * plane));
}

/* The call; filters and rows of windows; windows of 3 x 3 one and two elements apart, taps of all others; what is
 * copied; results. */
static inline int64_t tw_depthwise_rows_work(const tw_conv_params *p, double *units) {
  const int64_t images = (int64_t)p->batch * p->groups, filters = images * p->out_channels;
  const int64_t results = filters * p->out_h * p->out_w, passes = tw_up(p->out_h, p->chunk);
  const int is_3x3 = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1;
  const int one = is_3x3 && p->stride_w == 1, two = is_3x3 && p->stride_w == 2, others = !one && !two;
  const int64_t band = (int64_t)tw_band_rows(p, p->chunk) * tw_band_pitch(p);
  TW_UNITS(1, filters * passes, filters * p->out_h, results * one, results * two,
           results * p->kernel_h * p->kernel_w * others, p->batch * p->groups * passes * band,
           TW_BY_KIND(tw_result_kind(p->requantised, &p->requant), results));
}

#endif
