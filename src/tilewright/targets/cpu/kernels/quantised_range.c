/* Floats as bytes from 0 to 255 by their own range, which has 0 in it: a 255th of it is the scale, and a byte stands for 0. */
#include "quantised_range.h"

#include "vectors.h"

#ifndef TW_NAME
#define TW_NAME tw_quantised_range
#endif

#define TW_Y uint8_t
#include "quantise_row.h"

enum { AT_ONCE = 4 };

typedef struct {
  float low, high;
} range;

static inline float smaller(float a, float b) { return a < b || a != a ? a : b; }
static inline float larger(float a, float b) { return a > b || a != a ? a : b; }

/* The least and the greatest, and 0; NaN if there is one. Vectors do not wait for each other. */
static range range_of(const float *x, int32_t count) {
  tw_vector low[AT_ONCE], high[AT_ONCE];
  range found = {0.0f, 0.0f};
  int32_t i = 0;
  for (int v = 0; v < AT_ONCE; v++) low[v] = high[v] = tw_all(0.0f);
  for (; i + AT_ONCE * TW_LANES <= count; i += AT_ONCE * TW_LANES) {
    TW_UNROLL for (int v = 0; v < AT_ONCE; v++) {
      const tw_vector some = tw_load(x + i + v * TW_LANES);
      low[v] = tw_smaller(some, low[v]);
      high[v] = tw_larger(some, high[v]);
    }
  }
  for (int v = 1; v < AT_ONCE; v++) low[0] = tw_smaller(low[v], low[0]), high[0] = tw_larger(high[v], high[0]);
  for (int lane = 0; lane < TW_LANES; lane++) {
    found.low = smaller(low[0][lane], found.low);
    found.high = larger(high[0][lane], found.high);
  }
  for (; i < count; i++) found.low = smaller(x[i], found.low), found.high = larger(x[i], found.high);
  return found;
}

void TW_NAME(const tw_quantised_range_params *params, const float *x, uint8_t *y, float *scale, uint8_t *zero) {
  const range found = range_of(x, params->count);
  const float step = (found.high - found.low) / 255.0f;
  const int32_t offset = round_half_even(limited(0.0f - found.low / step, 0.0f, 255.0f));
  tw_quantise_row(x, y, params->count, step, offset, (float)-offset, (float)(255 - offset));
  *scale = step;
  *zero = (uint8_t)offset;
}
