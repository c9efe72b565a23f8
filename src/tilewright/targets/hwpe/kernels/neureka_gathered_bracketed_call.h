/* The functions of the cores that gather windows, of a kernel that hands them to N-EUREKA twice, and of the cores that
 * finish. */
#ifndef TW_NEUREKA_GATHERED_BRACKETED_CALL_H
#define TW_NEUREKA_GATHERED_BRACKETED_CALL_H

#include "neureka_bracket.h"
#include "neureka_gathered_bracketed.h"
#include "neureka_gathering.h"

void TW_NAME(const tw_neureka_gathered_bracketed_params *params, const TW_X *x, const uint8_t *w, const uint16_t *scale,
             const int32_t *bias, const int32_t *add, const uint8_t *shifts, const int8_t *plain, TW_Y *y, void *scratch) {
  (void)x, (void)add, (void)plain, (void)y;
  tw_neureka_start_bracketed(&params->bracketed, scratch, w, scale, bias, shifts,
                             (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}

void TW_GATHER(const tw_neureka_gathered_bracketed_params *params, const TW_X *x, const uint8_t *w, const uint16_t *scale,
               const int32_t *bias, const int32_t *add, const uint8_t *shifts, const int8_t *plain, TW_Y *y, void *scratch) {
  (void)w, (void)scale, (void)bias, (void)add, (void)shifts, (void)plain, (void)y;
  tw_gather(&params->gather, x, scratch);
}

void TW_FINISH(const tw_neureka_gathered_bracketed_params *params, const TW_X *x, const uint8_t *w, const uint16_t *scale,
               const int32_t *bias, const int32_t *add, const uint8_t *shifts, const int8_t *plain, TW_Y *y, void *scratch) {
  (void)x, (void)w, (void)scale, (void)shifts;
  tw_bracket_finish(&params->bracketed, scratch, bias, add, plain, y, (uint8_t *)scratch + tw_gather_bytes(&params->gather));
}

#endif
