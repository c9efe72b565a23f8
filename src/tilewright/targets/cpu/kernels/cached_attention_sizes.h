/* Working memory of attention over a cache. */
#ifndef TW_CACHED_ATTENTION_SIZES_H
#define TW_CACHED_ATTENTION_SIZES_H

#include "cached_attention.h"
#include "tw.h"

enum {
  TW_MOST_QUERIES = 32, /* that meet a block of keys one after another */
  TW_NEXT_QUERIES = 8,  /* that meet it at once, at most */
  TW_MOST_LANES = 16
};

/* Queries that have a place: whole tiles. */
static inline int32_t tw_places_of_queries(const tw_attention_rows *rows) {
  const int64_t all = (int64_t)rows->queries * rows->repeat;
  const int32_t some = all < TW_MOST_QUERIES ? (int32_t)all : TW_MOST_QUERIES;
  return (some + TW_NEXT_QUERIES - 1) / TW_NEXT_QUERIES * TW_NEXT_QUERIES;
}

/* Elements of a row of sums: whole vectors. */
static inline int32_t tw_sums_pitch(int32_t width) { return (width + TW_MOST_LANES - 1) / TW_MOST_LANES * TW_MOST_LANES; }

/* Of a query its elements, sums of values and of powers, the largest score and what sums shrink by; some scores. */
static inline int64_t tw_cached_attention_scratch(const tw_cached_attention_params *p) {
  const int64_t each = p->rows.length + tw_sums_pitch(p->rows.width) + TW_MOST_LANES + 2;
  return 4 * (tw_places_of_queries(&p->rows) * each + TW_NEXT_QUERIES * TW_KEY_BLOCK);
}

#endif
