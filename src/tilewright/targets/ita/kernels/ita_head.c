/* An attention head by ITA, from its inputs to its part of the output. */
#include "ita_sizes.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_head
#endif

#include "ita_jobs.h"

void TW_NAME(const tw_ita_head_params *params, const int8_t *x, const int8_t *y, const int8_t *wq, const int8_t *wk, const int8_t *wv,
             const int8_t *wo, const uint8_t *bq, const uint8_t *bk, const uint8_t *bv, const uint8_t *bo, int8_t *z, void *scratch) {
  const uint32_t s = (uint32_t)params->s, e = (uint32_t)params->e, p = (uint32_t)params->p, rows = (uint32_t)tw_ita_head_rows(params);
  int8_t *const q = scratch, *const k = q + rows, *const v = k + rows, *const o = v + rows, *const scores = o + rows;
  const tw_ita_matrices queries = {s, p, e, x, wq, bq, q, 0, 0}, keys = {s, p, e, y, wk, bk, k, 0, 0}, values = {p, s, e, wv, y, bv, v, 1, 0};
  const tw_ita_matrices out = {s, e, p, o, wo, bo, z, 0, 0};
  tw_ita ita = tw_ita_idle();
  tw_accelerator_begin();
  tw_ita_begin(&ita, (const tw_ita_layer *)params->layer);
  tw_ita_product(&ita, &queries);
  tw_ita_product(&ita, &keys);
  tw_ita_product(&ita, &values);
  for (uint32_t row = 0; row < s; row++) {
    const uint32_t at = row * p * TW_ITA_TILE;
    const tw_ita_matrices score = {1, s, p, q + at, k, 0, scores, 0, 0}, mixed = {1, p, s, scores, v, 0, o + at, 0, 0};
    tw_ita_attention(&ita, &score, &mixed);
  }
  tw_ita_product(&ita, &out);
  tw_ita_end(&ita);
}
