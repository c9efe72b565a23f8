/* Working memory of ITA's kernels. */
#ifndef TW_ITA_SIZES_H
#define TW_ITA_SIZES_H

#include "ita_attend.h"
#include "ita_feed_forward.h"
#include "ita_head.h"
#include "ita_tile.h"

/* What one layer leaves for the next. */
static inline int64_t tw_ita_feed_forward_scratch(const tw_ita_feed_forward_params *p) {
  return (int64_t)p->rows * p->hidden * TW_ITA_TILE;
}

/* Scores of 64 rows. */
static inline int64_t tw_ita_attend_scratch(const tw_ita_attend_params *p) { return (int64_t)p->keys * TW_ITA_TILE; }

/* Queries, keys, values, or what they mix. */
static inline int32_t tw_ita_head_rows(const tw_ita_head_params *p) { return p->s * p->p * TW_ITA_TILE; }

/* All four of these, and scores of 64 rows. */
static inline int64_t tw_ita_head_scratch(const tw_ita_head_params *p) {
  return 4 * (int64_t)tw_ita_head_rows(p) + (int64_t)p->s * TW_ITA_TILE;
}

#endif
