#ifndef TW_TFLITESIGMOID_H
#define TW_TFLITESIGMOID_H

#include <stdint.h>

/* x * mul / 2^shift has `bits` fractional bits of a position in the table. Behind the table a total is `most`; totals less
 * `below`, or what is left of `above`, are divided by 2^narrowing. */
typedef struct {
  int32_t count;
  int32_t mul;
  int32_t shift;
  int32_t bits;
  int32_t most;
  int32_t below, above;
  int32_t narrowing;
} tw_tflitesigmoid_params;

#endif
