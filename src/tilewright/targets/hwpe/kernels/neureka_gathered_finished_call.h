/* The functions of the cores that gather windows, of a kernel that hands them to N-EUREKA, and of the cores that finish. */
#ifndef TW_NEUREKA_GATHERED_FINISHED_CALL_H
#define TW_NEUREKA_GATHERED_FINISHED_CALL_H

#include "neureka_finish.h"
#include "neureka_gathered_finished.h"
#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)x, (void)add, (void)y;
  tw_neureka_start_finished(&params->finished, scratch, w, scale, bias,
                            (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}

void TW_GATHER(const tw_neureka_gathered_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)w, (void)scale, (void)bias, (void)add, (void)y;
  tw_gather(&params->gather, x, scratch);
}

void TW_FINISH(const tw_neureka_gathered_finished_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)x, (void)w;
  tw_finish_all(&params->finished, (const int32_t *)(const void *)scale, bias, add, y,
                (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}

#endif
