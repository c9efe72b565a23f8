/* y = x / sqrt(mean of x * x + epsilon) * scale; all cores together, a row for each */
#include "row_norm.h"

#ifndef TW_NAME
#define TW_NAME tw_rms_norm_streams
#endif

#include <math.h>

#include "cluster.h"
#include "norm_streams.h"
#include "sums.h"

static void norm_row(const float *x, const float *scale, float *y, int32_t length) {
  const int32_t pairs = length >> 1, fours = pairs >> 2, done = 8 * fours, rest = pairs & 3;
  tw_row_squares(x, pairs);
  tw_norm_factor();
  if (fours) {
    tw_scale_streams(x, scale, 0, y, 4, fours);
    tw_streams_on();
    TW_REPEATED(fours, 8, TW_EACH_FOUR(TW_READ_TIMES_FACTOR) TW_EACH_FOUR(TW_WRITE_TIMES_SCALE));
    tw_streams_off_written();
  }
  if (rest) {
    tw_scale_streams(x + done, scale + done, 0, y + done, 1, rest);
    tw_streams_on();
    TW_REPEATED(rest, 2, TW_READ_TIMES_FACTOR("f8") TW_WRITE_TIMES_SCALE("f8"));
    tw_streams_off_written();
  }
}

static TW_COMPACT void one_by_one(const tw_row_norm_params *p, const float *x, const float *scale, float *y) {
  const float mean_square = tw_sum_of_squares(x, p->length, 0.0f) / (float)p->length;
  tw_scale_row(x, p->length, 0.0f, 1.0f / sqrtf(mean_square + p->epsilon), scale, 0, y);
}

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, float *y) {
  const tw_row_norm_params *const p = params;
  const tw_share rows = tw_share_of(p->rows);
  const int streams = tw_can_stream(x, y, scale);
  if (rows.first >= rows.end) return;
  if (streams) tw_norm_constants(p);
  for (int32_t at = rows.first * p->length; at < rows.end * p->length; at += p->length) {
    if (streams) {
      norm_row(x + at, scale, y + at, p->length);
    } else {
      one_by_one(p, x + at, scale, y + at);
    }
  }
}
