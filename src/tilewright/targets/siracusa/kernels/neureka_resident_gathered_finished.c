/* Convolutions by N-EUREKA with windows that a core gathers, and with weights in the weight memory; the cores finish the
 * results. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_gathered_finished
#define TW_FINISH tw_neureka_resident_gathered_finished_finish
#define TW_X int8_t
#define TW_SCALE int32_t
#define TW_Y int8_t
#endif

#include "neureka_finish.h"
#include "neureka_gathered_finished.h"
#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)add, (void)y;
  tw_gather(&params->gather, x, scratch);
  tw_neureka_start_finished(&params->finished, scratch, w, scale, bias,
                            (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}

void TW_FINISH(const tw_neureka_gathered_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)x, (void)w;
  tw_finish_all(&params->finished, (const int32_t *)(const void *)scale, bias, add, y,
                (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}
