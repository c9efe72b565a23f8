/* The functions of a kernel that hands a tile to N-EUREKA twice, and of the cores that finish it. */
#ifndef TW_NEUREKA_BRACKETED_CALL_H
#define TW_NEUREKA_BRACKETED_CALL_H

#include "neureka_bracket.h"

void TW_NAME(const tw_neureka_bracketed_params *params, const TW_X *x, const uint8_t *w, const uint16_t *scale,
             const int32_t *bias, const int32_t *add, const uint8_t *shifts, const int8_t *plain, TW_Y *y, void *scratch) {
  (void)add, (void)plain, (void)y;
  tw_neureka_start_bracketed(params, x, w, scale, bias, shifts, scratch);
}

void TW_FINISH(const tw_neureka_bracketed_params *params, const TW_X *x, const uint8_t *w, const uint16_t *scale,
               const int32_t *bias, const int32_t *add, const uint8_t *shifts, const int8_t *plain, TW_Y *y, void *scratch) {
  (void)w, (void)scale, (void)shifts;
  tw_bracket_finish(params, x, bias, add, plain, y, scratch);
}

#endif
