/* The functions of a kernel that hands a tile to N-EUREKA, and of the cores that finish it. */
#ifndef TW_NEUREKA_FINISHED_CALL_H
#define TW_NEUREKA_FINISHED_CALL_H

#include "neureka_finish.h"

void TW_NAME(const tw_neureka_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)add, (void)y;
  tw_neureka_start_finished(params, x, w, scale, bias, scratch);
}

void TW_FINISH(const tw_neureka_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)x, (void)w;
  tw_finish_all(params, (const int32_t *)(const void *)scale, bias, add, y, scratch);
}

#endif
