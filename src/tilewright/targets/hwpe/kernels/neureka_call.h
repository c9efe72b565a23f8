/* The function of a kernel that hands a tile to N-EUREKA, wherever its weights lie. */
#ifndef TW_NEUREKA_CALL_H
#define TW_NEUREKA_CALL_H

#include "neureka.h"

void TW_NAME(const tw_neureka_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y) {
  tw_neureka_start(params, x, w, scale, bias, y);
}

#endif
