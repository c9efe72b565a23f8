/* The function of a kernel that gathers windows and hands them to N-EUREKA. */
#ifndef TW_NEUREKA_GATHERED_CALL_H
#define TW_NEUREKA_GATHERED_CALL_H

#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y, void *scratch) {
  tw_gather(&params->gather, x, scratch);
  tw_neureka_start(&params->start, scratch, w, scale, bias, y);
}

#endif
