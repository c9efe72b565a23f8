/* Working memory of attention of bytes. */
#ifndef TW_ATTENTION_BYTES_SIZES_H
#define TW_ATTENTION_BYTES_SIZES_H

#include "qlinearattention.h"

enum { TW_QUERIES = 2 }; /* that are computed together */

/* Keys in a row of scores and shares, and elements of a query: whole words of both. */
static inline int32_t tw_attention_keys(const tw_attention_rows *rows) { return (rows->keys + 1) & ~1; }
static inline int32_t tw_attention_length(const tw_attention_rows *rows) { return (rows->length + 3) & ~3; }

/* Scores, shares and queries. */
static inline int64_t tw_qlinearattention_bytes_scratch(const tw_qlinearattention_params *p) {
  return TW_QUERIES * (6 * (int64_t)tw_attention_keys(&p->rows) + 2 * (int64_t)tw_attention_length(&p->rows));
}

#endif
