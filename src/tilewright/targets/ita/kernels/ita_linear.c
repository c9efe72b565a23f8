/* A matrix product by ITA, or its transpose. */
#include "ita_linear.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_linear
#endif

#include "ita_jobs.h"

void TW_NAME(const tw_ita_linear_params *params, const int8_t *x, const int8_t *w, const uint8_t *bias, int8_t *y) {
  const uint32_t rows = (uint32_t)params->rows, columns = (uint32_t)params->columns, inner = (uint32_t)params->inner;
  const uint32_t turned = (uint32_t)params->turned;
  tw_ita_matrices m = {rows, columns, inner, x, w, bias, y, 0, 0};
  if (turned) {
    m.rows = columns;
    m.columns = rows;
    m.input = w;
    m.bias_per_row = 1;
  }
  tw_ita ita = tw_ita_idle();
  for (int32_t i = 0; i < params->batch; i++) {
    if (turned) m.weights = x;
    else m.input = x;
    m.output = y;
    tw_accelerator_begin();
    tw_ita_begin(&ita, (const tw_ita_layer *)params->layer);
    tw_ita_product(&ita, &m);
    tw_ita_end(&ita);
    x += rows * inner * TW_ITA_TILE;
    y += rows * columns * TW_ITA_TILE;
  }
}
