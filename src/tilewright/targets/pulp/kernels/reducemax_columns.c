/* The largest byte of each column; all cores together. */
#include "reduce.h"

#ifndef TW_NAME
#define TW_NAME tw_reducemax_columns_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "xpulp.h"

#define TW_PARAMS tw_reduce_params
#define TW_LOOPS(params) (params)

typedef uint32_t state;

/* The lowest byte four times. */
static inline state start(void) { return (TW_X)-1 < 0 ? 0x80808080u : 0; }

static inline state with(state largest, uint32_t word) {
  const int is_signed = (TW_X)-1 < 0;
  const int32_t a = (int32_t)largest, b = (int32_t)word;
  return (state)(is_signed ? tw_x_max4(a, b) : tw_x_maxu4(a, b));
}

static inline uint32_t four_results(state largest, const tw_reduce_params *params) {
  (void)params;
  return largest;
}

#include "reduce_columns.h"
