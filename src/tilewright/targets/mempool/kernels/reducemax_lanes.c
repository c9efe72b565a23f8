/* y = the largest byte over axes before the last one, four columns at a time; all cores together */
#include "reduce.h"

#ifndef TW_NAME
#define TW_NAME tw_reducemax_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "byte_words.h"

typedef uint32_t four_t;

static inline four_t start(void) { return TW_IS_SIGNED(TW_X) ? TW_EVERY_SIGN : 0; }

static inline void step(four_t *largest, uint32_t word) {
  const int32_t a = (int32_t)*largest, b = (int32_t)word;
  *largest = (uint32_t)(TW_IS_SIGNED(TW_X) ? tw_x_max4(a, b) : tw_x_maxu4(a, b));
}

static inline void finish(const four_t *largest, const tw_reduce_params *params, TW_Y *y) {
  (void)params;
  y[0] = (TW_Y)TW_LANE(TW_X, *largest, 0);
  y[1] = (TW_Y)TW_LANE(TW_X, *largest, 1);
  y[2] = (TW_Y)TW_LANE(TW_X, *largest, 2);
  y[3] = (TW_Y)TW_LANE(TW_X, *largest, 3);
}

#include "four_columns.h"

void TW_NAME(const tw_reduce_params *params, const TW_X *x, TW_Y *y) { TW_FOUR_COLUMNS(params, params, x, y); }
