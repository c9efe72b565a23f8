/* Working memory of attention of integers. */
#ifndef TW_QLINEARATTENTION_SIZES_H
#define TW_QLINEARATTENTION_SIZES_H

#include "attention_sizes.h"
#include "qlinearattention.h"

/* Scores, shares and queries of some rows, and keys column by column. */
static inline int64_t tw_qlinearattention_scratch(const tw_qlinearattention_params *p, int32_t k_bytes) {
  const int64_t rows = TW_ROWS * (6 * (int64_t)tw_panel_keys(p->rows.keys) + 2 * (int64_t)p->rows.length);
  return rows + k_bytes * tw_panel_elements(&p->rows);
}

#endif
