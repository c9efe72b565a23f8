/* Working memory of attention by all cores. */
#ifndef TW_ATTENTION_DOTS_SIZES_H
#define TW_ATTENTION_DOTS_SIZES_H

#include "attention_dots.h"

/* What each core has, and values that are stored anew for many queries, in whole words. */
static inline int64_t tw_attention_dots_scratch(const tw_attention_dots_params *p, int32_t cores) {
  const tw_attention_rows *const rows = &p->exact.rows;
  const int64_t values = (int64_t)rows->batch * rows->groups * rows->width * ((rows->keys + 3) / 4 * 4);
  return (int64_t)cores * p->own_bytes + (p->turns ? values : 0);
}

#endif
