/* Units of work of recurrent cells by all cores, each with some of the hidden units: of the core that has most. */
#ifndef TW_CELLS_SHARED_WORK_H
#define TW_CELLS_SHARED_WORK_H

#include "qlstm.h"
#include "recurrent.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* The call, steps, sequences, units; four rows of products or one, and their elements. */
static inline int64_t tw_cells_shared_work(const tw_recurrent_params *p, const tw_cell_loops *tile, int32_t cores, int32_t gates,
                                           int32_t r_bytes, double *units) {
  const int64_t rows = tile->t * tile->b, own = tw_up(p->hidden, cores), gated = r_bytes ? gates * rows : 0;
  const int64_t fours = gated * (own / 4), ones = gated * (own % 4);
  TW_UNITS(1, tile->t, rows, own * rows, fours, ones, fours * p->hidden, ones * p->hidden);
}

/* The same, with words of four products; those that are not aligned, and single products. */
static inline int64_t tw_qcells_shared_work(const tw_qlstm_params *p, const tw_cell_loops *tile, int32_t cores, int32_t gates,
                                            double *units) {
  const int64_t rows = tile->t * tile->b, own = tw_up(p->hidden, cores), words = p->hidden / 4, rest = p->hidden % 4;
  const int64_t fours = gates * rows * (own / 4), ones = gates * rows * (own % 4), all = 4 * fours + ones;
  TW_UNITS(1, tile->t, rows, own * rows, fours * words, ones * words, rest ? all * words : 0, all * rest);
}

#endif
