/* Units of work of requantisations by channels and of normalised rows: of the core that has most. */
#ifndef TW_ROWS_WORK_H
#define TW_ROWS_WORK_H

#include "integernorm.h"
#include "qlinearrownorm.h"
#include "requant_work.h"
#include "requantshift.h"
#include "requantshift_few.h"
#include "tile_loops.h"

/* The call, elements with one factor for all; elements with factors of their own, and channels; elements that are requantised in 64
 * bits; elements of channels that have few. */
static inline int64_t tw_requantshift_columns_work(const tw_requantshift_params *p, const tw_all_loops *tile, int32_t cores,
                                                   int32_t add_bytes, double *units) {
  const int64_t channels = p->requant.channels, own = tw_up(channels, cores);
  const double each = (double)tile->rest / (double)channels, elements = channels == 1 ? each / cores : (double)own * each;
  const int exact = tw_is_exact(1, &p->requant, add_bytes), few = channels > 1 && each < TW_FEW, many = channels > 1 && !few;
  TW_UNITS(1, channels == 1 ? elements : 0, many ? elements : 0, many ? own : 0, exact && !few ? elements : 0, few ? elements : 0);
}

/* The call, rows that a core has a part of, their elements, and those that are its own. */
static inline int64_t tw_integernorm_work(const tw_integernorm_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  const int64_t rows = tile->rest / p->length, own = rows < cores ? rows : tw_up(rows, cores);
  TW_UNITS(1, own, own * p->length, own * (rows < cores ? 4 * tw_up(p->length, 4 * cores) : p->length));
}

/* The call; whole rows of a core, their elements, and those of one that has no other beside it; and of rows that all cores share
 * the rows, their elements, and those that are its own. */
static inline int64_t tw_qlinearrownorm_work(const tw_qlinearrownorm_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  const int64_t length = p->length, rows = tile->rest / length;
  if (rows < cores) TW_UNITS(1, 0, 0, 0, rows, rows * length, rows * 4 * tw_up(length, 4 * cores));
  const int64_t own = tw_up(rows, cores);
  TW_UNITS(1, own, own * length, own % 2 * length, 0, 0, 0);
}

#endif
