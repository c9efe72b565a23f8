/* Sums of products by N-EUREKA, with weights in the weight memory. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident
#define TW_X int8_t
#define TW_SCALE uint8_t
#define TW_Y int8_t
#endif

#include "neureka.h"

void TW_NAME(const tw_neureka_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y) {
  tw_neureka_start(params, x, w, scale, bias, y);
}
