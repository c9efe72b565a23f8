/* Scores of queries and keys, their softmax and the values that it mixes, by ITA: head by head. Heads lie beside each other
 * in the tiles of a row; values are transposed. */
#include "ita_attend.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_attend
#endif

#include "ita_jobs.h"

/* One head, whose rows lie `step` tiles apart. Scores of 64 rows are read before those of the next are written: all have the
 * same place. */
static void attend(tw_ita *ita, const tw_ita_attend_params *p, const int8_t *q, const int8_t *k, const int8_t *v, int8_t *y, int8_t *scores) {
  const uint32_t keys = (uint32_t)p->keys, width = (uint32_t)p->width, step = (uint32_t)p->heads * width;
  tw_accelerator_begin();
  tw_ita_begin(ita, (const tw_ita_layer *)p->layer);
  for (int32_t row = 0; row < p->queries; row++) {
    const tw_ita_matrices score = {1, keys, width, q, k, 0, scores, 0, step}, mixed = {1, width, keys, scores, v, 0, y, 0, 0};
    tw_ita_attention(ita, &score, &mixed);
    q += step * TW_ITA_TILE;
    y += step * TW_ITA_TILE;
  }
  tw_ita_end(ita);
  /* ITA expects as many rows of queries as of keys. */
  if (p->queries != p->keys) tw_accelerator_leave_open();
}

void TW_NAME(const tw_ita_attend_params *params, const int8_t *q, const int8_t *k, const int8_t *v, int8_t *y, void *scratch) {
  const int32_t width = params->width * TW_ITA_TILE, rows = params->heads * width;
  tw_ita ita = tw_ita_idle();
  for (int32_t i = 0; i < params->batch; i++) {
    for (int32_t head = 0; head < params->heads; head++) {
      const int32_t at = head * width;
      attend(&ita, params, q + at, k + at, v + at * params->keys, y + at, scratch);
    }
    q += params->queries * rows;
    y += params->queries * rows;
    k += params->keys * rows;
    v += params->keys * rows;
  }
}
