/* Working memory of quantised recurrent cells. */
#ifndef TW_QLSTM_SIZES_H
#define TW_QLSTM_SIZES_H

#include "qlstm.h"

/* Sums of one sequence, the memory of all in whole words, and their outputs twice. */
static inline int64_t tw_qlstm_scratch(const tw_qlstm_params *p) {
  const int64_t units = (int64_t)p->batch * p->hidden;
  return 4 * 4 * (int64_t)p->hidden + 4 * ((units + 1) / 2) + 8 * ((units + 3) / 4);
}

#endif
