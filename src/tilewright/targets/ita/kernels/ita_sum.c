/* Tiles of two tensors, each times a tile of weights, summed by ITA. */
#include "ita_sum.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_sum
#endif

#include "ita_jobs.h"

void TW_NAME(const tw_ita_sum_params *params, const int8_t *a, const int8_t *b, const int8_t *w, const uint8_t *bias, int8_t *y) {
  tw_ita ita = tw_ita_idle();
  tw_ita_job first = {tw_ita_offset(a), tw_ita_offset(w), 0, tw_ita_offset(y), TW_ITA_NO_OUTPUT | TW_ITA_NO_BIAS};
  tw_ita_job second = {tw_ita_offset(b), tw_ita_offset(w) + TW_ITA_TILE, tw_ita_offset(bias), tw_ita_offset(y), 0};
  for (int32_t i = 0; i < params->batch; i++) {
    tw_accelerator_begin();
    tw_ita_begin(&ita, (const tw_ita_layer *)params->layer);
    for (int32_t tile = 0; tile < params->tiles; tile++) {
      tw_ita_put(&ita, &first);
      tw_ita_put(&ita, &second);
      first.input += TW_ITA_TILE;
      second.input += TW_ITA_TILE;
      first.output += TW_ITA_TILE;
      second.output += TW_ITA_TILE;
    }
    tw_ita_end(&ita);
  }
}
