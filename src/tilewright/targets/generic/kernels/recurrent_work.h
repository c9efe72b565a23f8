/* Units of work of recurrent cells. */
#ifndef TW_RECURRENT_WORK_H
#define TW_RECURRENT_WORK_H

#include "qlstm.h"
#include "recurrent.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* The call, steps of sequences, their gates, and their products. */
#define TW_CELLS(p)                                                                                        \
  const int64_t rows = tile->t * tile->b, width = (int64_t)gates * (p)->hidden;                             \
  TW_UNITS(1, rows, rows *width, r_bytes ? rows * width * (p)->hidden : 0)

static inline int64_t tw_cells_work(const tw_recurrent_params *p, const tw_cell_loops *tile, int32_t gates, int32_t r_bytes,
                                    double *units) {
  TW_CELLS(p);
}

static inline int64_t tw_qcells_work(const tw_qlstm_params *p, const tw_cell_loops *tile, int32_t gates, int32_t r_bytes,
                                     double *units) {
  TW_CELLS(p);
}

#endif
