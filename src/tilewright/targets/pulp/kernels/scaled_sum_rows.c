/* y = x * scale + b, and z or z * z_scale + z_b added to it where z is given; a scale and a summand of each channel,
 * channels last; all cores together, each with rows of its own. Four channels at a time, whose factors stay in registers. */
#include "scaled_sum.h"

#ifndef TW_NAME
#define TW_NAME tw_scaled_sum_rows
#endif

#include "cluster.h"
#include "positive_f32.h"

/* Of some channels: operands, factors, and the sum of both summands. */
typedef struct {
  const float *x, *z;
  float *y;
  int32_t rows, step;
  float scale[4], z_scale[4], b[4];
} run;

#define INLINE static inline __attribute__((always_inline)) void

INLINE four_channels(const run *r, int has_second, int is_positive) {
  const float s0 = r->scale[0], s1 = r->scale[1], s2 = r->scale[2], s3 = r->scale[3];
  const float t0 = r->z_scale[0], t1 = r->z_scale[1], t2 = r->z_scale[2], t3 = r->z_scale[3];
  const float b0 = r->b[0], b1 = r->b[1], b2 = r->b[2], b3 = r->b[3];
  const int32_t step = r->step, low = is_positive ? 0 : INT32_MIN;
  const float *x = r->x, *z = r->z;
  float *y = r->y;
  for (int32_t rows = r->rows; rows > 0; rows--, x += step, z += step, y += step) {
    float y0 = x[0] * s0 + b0, y1 = x[1] * s1 + b1, y2 = x[2] * s2 + b2, y3 = x[3] * s3 + b3;
    if (has_second) y0 += z[0] * t0, y1 += z[1] * t1, y2 += z[2] * t2, y3 += z[3] * t3;
    if (is_positive) {
      tw_store_above(y0, low, y), tw_store_above(y1, low, y + 1), tw_store_above(y2, low, y + 2);
      tw_store_above(y3, low, y + 3);
    } else {
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
    }
  }
}

static __attribute__((noinline)) void four_of_one(const run *r) { four_channels(r, 0, 0); }
static __attribute__((noinline)) void four_of_one_positive(const run *r) { four_channels(r, 0, 1); }
static __attribute__((noinline)) void four_of_two(const run *r) { four_channels(r, 1, 0); }
static __attribute__((noinline)) void four_of_two_positive(const run *r) { four_channels(r, 1, 1); }

static __attribute__((noinline)) void one_channel(const run *r, int has_second, int32_t low) {
  for (int32_t at = 0, rows = r->rows; rows > 0; rows--, at += r->step) {
    float value = r->x[at] * r->scale[0] + r->b[0];
    if (has_second) value += r->z[at] * r->z_scale[0];
    tw_store_above(value, low, r->y + at);
  }
}

void TW_NAME(const tw_scaled_sum_params *params, const float *x, const float *scale, const float *b, const float *z,
             const float *z_scale, const float *z_b, float *y) {
  const int32_t channels = params->channels, is_positive = params->is_positive;
  const tw_share share = tw_share_of(params->rows);
  const int32_t first = share.first * channels;
  for (int32_t c = 0, many; c < channels; c += many) {
    run r = {x + first + c, z ? z + first + c : x, y + first + c, share.end - share.first, channels, {0}, {0}, {0}};
    many = c + 4 <= channels ? 4 : 1;
    for (int32_t i = 0; i < many; i++) {
      r.scale[i] = scale[c + i], r.z_scale[i] = z_scale ? z_scale[c + i] : 1.0f;
      r.b[i] = b[c + i] + (z_b ? z_b[c + i] : 0.0f);
    }
    if (many == 1) {
      one_channel(&r, z != 0, is_positive ? 0 : INT32_MIN);
    } else if (z) {
      if (is_positive) four_of_two_positive(&r);
      else four_of_two(&r);
    } else {
      if (is_positive) four_of_one_positive(&r);
      else four_of_one(&r);
    }
  }
}
