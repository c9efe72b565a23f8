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
#define TW_NORM_UNITS(count, length)                                                            \
  const int64_t rows = (count) / (length), own = rows < cores ? rows : tw_up(rows, cores);      \
  TW_UNITS(1, own, own *(length), own *(rows < cores ? 4 * tw_up(length, 4 * cores) : (length)))

static inline int64_t tw_integernorm_work(const tw_integernorm_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  TW_NORM_UNITS(tile->rest, p->length);
}

static inline int64_t tw_qlinearrownorm_work(const tw_qlinearrownorm_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  TW_NORM_UNITS(tile->rest, p->length);
}

#endif
