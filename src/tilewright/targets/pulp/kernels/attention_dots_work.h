/* Units of work of attention by all cores: of the core that has most. */
#ifndef TW_ATTENTION_DOTS_WORK_H
#define TW_ATTENTION_DOTS_WORK_H

#include "attention_dots.h"
#include "attention_work.h"

/* The call, rows, scores, those of 16 bits, words of keys, rows of four values, their words, scores of long keys (more than a
 * word). */
static inline int64_t tw_attention_dots_work(const tw_attention_dots_params *p, const tw_attention_loops *tile, int32_t cores,
                                             int32_t k_bytes, int32_t position_bytes, double *units) {
  const double rows = (double)tw_up(tile->b * tile->t * tile->g * tile->r, cores);
  const double scores = rows * tw_usual_keys(&p->exact.rows, position_bytes), e = (double)tile->e;
  const double words = scores * (double)tile->d / (k_bytes == 2 ? 2 : 4);
  TW_UNITS(1, rows, scores, p->exact.bits ? scores : 0, words, rows * e / 4, scores * e / 4, words > scores ? scores : 0);
}

#endif
