/* Convolutions by N-EUREKA with windows that a core gathers, and with weights in the weight memory. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_gathered
#define TW_X int8_t
#define TW_SCALE uint8_t
#define TW_Y int8_t
#endif

#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y, void *scratch) {
  tw_gather(&params->gather, x, scratch);
  tw_neureka_start(&params->start, scratch, w, scale, bias, y);
}
