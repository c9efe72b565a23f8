/* Working memory of attention of floats. */
#ifndef TW_FUSEDATTENTION_SIZES_H
#define TW_FUSEDATTENTION_SIZES_H

#include "attention_sizes.h"
#include "fusedattention.h"

/* Scores of some rows, and keys column by column. */
static inline int64_t tw_fusedattention_scratch(const tw_fusedattention_params *p) {
  return 4 * (TW_ROWS * (int64_t)tw_panel_keys(p->rows.keys) + tw_panel_elements(&p->rows));
}

#endif
