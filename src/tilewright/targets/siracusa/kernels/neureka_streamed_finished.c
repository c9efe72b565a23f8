/* Sums of products by N-EUREKA, with weights in L1; the cores finish the results. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_streamed_finished
#define TW_FINISH tw_neureka_streamed_finished_finish
#define TW_X int8_t
#define TW_SCALE int32_t
#define TW_Y int8_t
#endif

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
