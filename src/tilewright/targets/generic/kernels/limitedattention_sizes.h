/* Working memory of attention with a window or a cap. */
#ifndef TW_LIMITEDATTENTION_SIZES_H
#define TW_LIMITEDATTENTION_SIZES_H

#include "limitedattention.h"

/* The scores of a query. */
static inline int64_t tw_limitedattention_scratch(const tw_limitedattention_params *p) {
  return 4 * (int64_t)p->rows.keys;
}

#endif
