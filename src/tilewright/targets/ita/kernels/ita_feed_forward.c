/* Two matrix products by ITA with an activation between them. */
#include "ita_feed_forward.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_feed_forward
#endif

#include "ita_jobs.h"

void TW_NAME(const tw_ita_feed_forward_params *params, const int8_t *x, const int8_t *v, const uint8_t *b, const int8_t *w,
             const uint8_t *c, int8_t *y, void *scratch) {
  const uint32_t rows = (uint32_t)params->rows, inner = (uint32_t)params->inner, hidden = (uint32_t)params->hidden;
  tw_ita ita = tw_ita_idle();
  for (int32_t i = 0; i < params->batch; i++) {
    const tw_ita_matrices first = {rows, hidden, inner, x, v, b, scratch, 0, 0}, second = {rows, inner, hidden, scratch, w, c, y, 0, 0};
    tw_accelerator_begin();
    tw_ita_begin(&ita, (const tw_ita_layer *)params->layer);
    tw_ita_product(&ita, &first);
    tw_ita_product(&ita, &second);
    tw_ita_end(&ita);
    x += rows * inner * TW_ITA_TILE;
    y += rows * inner * TW_ITA_TILE;
  }
}
