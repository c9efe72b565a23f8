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

/* Whether the mean, in ft4, is so large beside the spread, whose inverse is in f12, that its rounding shows. */
static inline int32_t is_narrow_row(void) {
  int32_t is_narrow;
  __asm__ volatile("fcvt.s.w f9, %1\n fmul.s f8, ft4, f12\n fabs.s f8, f8\n flt.s %0, f9, f8" : "=r"(is_narrow) : "r"(256)
                   : TW_ROW_REGISTERS);
  return is_narrow;
}

/* Returns 0 where the row is too narrow, and nothing has been written. */
static int norm_row(const float *x, const float *scale, const float *bias, float *y, int32_t length) {
  const int32_t pairs = length >> 1, fours = pairs >> 2, done = 8 * fours, rest = pairs & 3;
  tw_row_sum(x, pairs);
  __asm__ volatile("fdiv.s ft4, f12, ft6" : : : "ft4");
  tw_row_squares_around(x, pairs);
  tw_norm_factor();
  if (is_narrow_row()) return 0;
  if (fours) scale_fours(x, scale, bias, y, fours);
  if (rest) scale_ones(x + done, scale + done, bias ? bias + done : 0, y + done, rest);
  return 1;
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
  float variance = tw_sum_of_squares(x, p->length, centre) / (float)p->length, rest = 0.0f;
  const int is_narrow = tw_is_narrow(centre, variance);
  if (is_narrow) {
    rest = tw_centre_row(x, p->length, centre, y);
    variance -= rest * rest;
  }
  const float factor = 1.0f / sqrtf(variance + p->epsilon);
  tw_scale_row(is_narrow ? y : x, p->length, is_narrow ? rest : centre, factor, scale, b, y);
  if (s.mean) *s.mean = centre + rest;
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
    if (streams && norm_row(x + at, scale, b, y + at, p->length)) {
      keep_statistics(s);
      continue;
    }
    one_by_one(p, x + at, scale, b, y + at, s);
    if (streams) tw_norm_constants(p); /* compiled code has used their registers */
  }
  tw_fpu_wait();
}
