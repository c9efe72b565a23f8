/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias; all cores together, a row for each. The statistics are
 * optional results. */
#include "row_norm.h"

#ifndef TW_NAME
#define TW_NAME tw_layer_norm_streams
#endif

#include <math.h>

#include "cluster.h"
#include "norm_streams.h"
#include "sums.h"

/* Four pairs at a time, and those that are left one by one. */
static inline void scale_fours(const float *x, const float *scale, const float *bias, float *y, int32_t fours) {
  tw_scale_streams(x, scale, bias, y, 4, fours);
  tw_streams_on();
  if (bias) {
    TW_REPEATED(fours, 16, TW_EACH_FOUR(TW_LESS_MEAN) TW_EACH_FOUR(TW_TIMES_FACTOR) TW_EACH_FOUR(TW_TIMES_SCALE)
                               TW_EACH_FOUR(TW_WRITE_PLUS_BIAS));
  } else {
    TW_REPEATED(fours, 12, TW_EACH_FOUR(TW_LESS_MEAN) TW_EACH_FOUR(TW_TIMES_FACTOR) TW_EACH_FOUR(TW_WRITE_TIMES_SCALE));
  }
  tw_streams_off_written();
}

static TW_COMPACT void scale_ones(const float *x, const float *scale, const float *bias, float *y, int32_t pairs) {
  tw_scale_streams(x, scale, bias, y, 1, pairs);
  tw_streams_on();
  if (bias) {
    TW_REPEATED(pairs, 4, TW_LESS_MEAN("f8") TW_TIMES_FACTOR("f8") TW_TIMES_SCALE("f8") TW_WRITE_PLUS_BIAS("f8"));
  } else {
    TW_REPEATED(pairs, 3, TW_LESS_MEAN("f8") TW_TIMES_FACTOR("f8") TW_WRITE_TIMES_SCALE("f8"));
  }
  tw_streams_off_written();
}

static void norm_row(const float *x, const float *scale, const float *bias, float *y, int32_t length) {
  const int32_t pairs = length >> 1, fours = pairs >> 2, done = 8 * fours, rest = pairs & 3;
  tw_row_sum(x, pairs);
  __asm__ volatile("fdiv.s ft4, f12, ft6" : : : "ft4");
  tw_row_squares_around(x, pairs);
  tw_norm_factor();
  if (fours) scale_fours(x, scale, bias, y, fours);
  if (rest) scale_ones(x + done, scale + done, bias ? bias + done : 0, y + done, rest);
}

typedef struct {
  float *mean, *factor; /* of a row, or NULL */
} statistics;

static inline void keep_statistics(statistics s) {
  if (s.mean) __asm__ volatile("fsw ft4, 0(%0)" : : "r"(s.mean) : "memory");
  if (s.factor) __asm__ volatile("fsw f12, 0(%0)" : : "r"(s.factor) : "memory");
}

static TW_COMPACT void one_by_one(const tw_row_norm_params *p, const float *x, const float *scale, const float *b, float *y,
                                  statistics s) {
  const float centre = tw_sum(x, p->length) / (float)p->length;
  const float variance = tw_sum_of_squares(x, p->length, centre) / (float)p->length;
  const float factor = 1.0f / sqrtf(variance + p->epsilon);
  tw_scale_row(x, p->length, centre, factor, scale, b, y);
  if (s.mean) *s.mean = centre;
  if (s.factor) *s.factor = factor;
}

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, const float *b, float *y, float *mean,
             float *invstddev) {
  const tw_row_norm_params *const p = params;
  const tw_share rows = tw_share_of(p->rows);
  const int streams = tw_can_stream(x, y, scale) && tw_can_stream(b, b, b);
  if (rows.first >= rows.end) return;
  if (streams) tw_norm_constants(p);
  for (int32_t row = rows.first, at = row * p->length; row < rows.end; row++, at += p->length) {
    const statistics s = {mean ? mean + row : 0, invstddev ? invstddev + row : 0};
    if (streams) {
      norm_row(x + at, scale, b, y + at, p->length);
      keep_statistics(s);
    } else {
      one_by_one(p, x + at, scale, b, y + at, s);
    }
  }
  tw_fpu_wait();
}
