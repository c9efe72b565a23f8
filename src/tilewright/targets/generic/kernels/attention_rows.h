/* Attention with tokens first: q is [batch][query][head][length], k and v are [batch][key][group][length and width]. */
#ifndef TW_ATTENTION_ROWS_H
#define TW_ATTENTION_ROWS_H

#include <stdint.h>

/* `repeat` heads share the keys and values of a group. Causal: a query sees keys up to its own, which is `first` behind
 * the first query's, and behind a position that is known at run time. */
typedef struct {
  int32_t batch;
  int32_t queries;
  int32_t keys;
  int32_t groups;
  int32_t repeat;
  int32_t length;
  int32_t width;
  int32_t causal;
  int32_t first;
} tw_attention_rows;

/* How many keys a query sees: one at least, and never one that is not there. */
static inline int32_t tw_keys_seen(const tw_attention_rows *rows, int32_t query, const int32_t *position) {
  if (!rows->causal) return rows->keys;
  const int32_t seen = rows->first + query + 1 + (position ? position[0] : 0);
  return seen < 1 ? 1 : seen < rows->keys ? seen : rows->keys;
}

#endif
