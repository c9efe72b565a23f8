/* y = requant(a function of x by a table, linear between its values) */
#include "qlinearfunction.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearfunction_i8
#define TW_Y int8_t
#endif

void TW_NAME(const tw_qlinearfunction_params *params, const int16_t *x, const int32_t *table, TW_Y *y) {
  const tw_qlinearfunction_params p = *params;
  const int32_t mask = ((int32_t)1 << p.bits) - 1;
  TW_INDEPENDENT
  for (int32_t i = 0; i < p.count; i++) {
    const int32_t above = (int32_t)x[i] - INT16_MIN;
    const int32_t *values = table + (above >> p.bits);
    /* Whoever made the table saw to it that this fits 32 bits. */
    const int32_t total = values[0] * (mask + 1) + (values[1] - values[0]) * (above & mask);
    y[i] = (TW_Y)tw_narrow(&p.requant, total);
  }
}
