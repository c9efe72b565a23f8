/* The functions of the cores that gather windows, and of a kernel that hands them to N-EUREKA. */
#ifndef TW_NEUREKA_GATHERED_CALL_H
#define TW_NEUREKA_GATHERED_CALL_H

#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y, void *scratch) {
  (void)x;
  tw_neureka_start(&params->start, scratch, w, scale, bias, y);
}

void TW_GATHER(const tw_neureka_gathered_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, TW_Y *y, void *scratch) {
  (void)w, (void)scale, (void)bias, (void)y;
  tw_gather(&params->gather, x, scratch);
}

#endif
