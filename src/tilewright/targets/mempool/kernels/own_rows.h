/* Rows that are independent of each other, dealt out to all cores. Where rows are fewer than cores, several cores have one: each
 * looks at all of it, as that takes less than to wait for the others, and writes a part. */
#ifndef TW_OWN_ROWS_H
#define TW_OWN_ROWS_H

#include "cluster.h"
#include "tw.h"

/* This core's rows, and its part of each. */
typedef struct {
  int32_t first_row, end_row;
  int32_t first, end; /* begins with a word, if the row does */
} tw_rows;

static inline tw_rows tw_rows_of(int32_t rows, int32_t length) {
  const int32_t each = rows > 0 && rows < TW_CORES ? TW_CORES / rows : 1;
  tw_rows mine;
  if (each == 1) {
    const tw_share share = tw_share_of(rows);
    mine.first_row = share.first, mine.end_row = share.end, mine.first = 0, mine.end = length;
    return mine;
  }
  const int32_t row = tw_core() / each, part = tw_core() - row * each;
  const int32_t size = ((length + each - 1) / each + 3) & ~3;
  mine.first_row = row, mine.end_row = tw_min(row + 1, rows);
  mine.first = tw_min(part * size, length), mine.end = tw_min((part + 1) * size, length);
  return mine;
}

#endif
