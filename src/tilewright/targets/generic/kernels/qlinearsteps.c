/* y = table[(x - lowest) >> bits] */
#include "qlinearsteps.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearsteps_i8
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

void TW_NAME(const tw_qlinearsteps_params *params, const int16_t *x, const TW_TABLE *table, TW_Y *y) {
  const tw_qlinearsteps_params p = *params;
  TW_INDEPENDENT
  for (int32_t i = 0; i < p.count; i++) y[i] = (TW_Y)table[((int32_t)x[i] - INT16_MIN) >> p.bits];
}
