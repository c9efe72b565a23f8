/* Units of work of attention in one: rows, their scores, and the products of both matrices. */
#ifndef TW_ATTENTION_WORK_H
#define TW_ATTENTION_WORK_H

#include "fusedattention.h"
#include "limitedattention.h"
#include "qlinearattention.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* How many keys a query of a layer sees on average, and at most with a position. */
static inline double tw_usual_keys(const tw_attention_rows *rows, int32_t position_bytes) {
  const double middle = rows->first + (rows->queries + 1) / 2.0;
  return rows->causal && !position_bytes && middle < rows->keys ? middle : rows->keys;
}

static inline int64_t tw_attention_units(double keys, const tw_attention_loops *tile, double *units) {
  const double rows = (double)(tile->b * tile->t * tile->g * tile->r), scores = rows * keys;
  TW_UNITS(rows, scores, scores * (double)(tile->d + tile->e));
}

static inline int64_t tw_fusedattention_work(const tw_fusedattention_params *p, const tw_attention_loops *tile,
                                             int32_t position_bytes, double *units) {
  return tw_attention_units(tw_usual_keys(&p->rows, position_bytes), tile, units);
}

static inline int64_t tw_limitedattention_work(const tw_limitedattention_params *p, const tw_attention_loops *tile,
                                               int32_t position_bytes, double *units) {
  const double keys = tw_usual_keys(&p->rows, position_bytes);
  return tw_attention_units(p->window && p->window < keys ? p->window : keys, tile, units);
}

static inline int64_t tw_qlinearattention_work(const tw_qlinearattention_params *p, const tw_attention_loops *tile,
                                               int32_t position_bytes, double *units) {
  return tw_attention_units(tw_usual_keys(&p->rows, position_bytes), tile, units);
}

#endif
