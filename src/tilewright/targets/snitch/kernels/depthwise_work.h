/* Units of work of depthwise convolutions: those of one core. */
#ifndef TW_DEPTHWISE_WORK_H
#define TW_DEPTHWISE_WORK_H

#include "conv_tile.h"
#include "depthwise_sizes.h"
#include "stream_sums_work.h"

/* The call; pairs of filters with some rows, their groups of columns with a row, the taps on these; elements of the image that are
 * copied, and results, by the way to them. */
static inline int64_t tw_depthwise_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, int32_t most_cores,
                                        double *units) {
  const tw_conv_params t = tw_conv_tile(p, tile);
  const int64_t rows = tw_depthwise_chunk(&t, most_cores), bands = tw_up(t.out_h, rows);
  const int64_t own = tw_up((int64_t)t.batch * tw_filter_pairs(&t) * bands, cores);
  const int64_t groups = own * rows * tw_up(t.out_w, 8), copied = 2 * own * tw_image_words(&t, (int32_t)rows);
  const int way = tw_result_way(p->requantised, &p->requant);
  TW_UNITS(1, own, groups, groups * t.kernel_h * t.kernel_w, copied, TW_RESULTS(way, 2 * own * rows * t.out_w));
}

#endif
