/* Rows of bytes that are copied by all cores: each takes some of them, or a part of each where they are few. */
#ifndef TW_SHARED_ROWS_H
#define TW_SHARED_ROWS_H

#include "bytes4.h"
#include "cluster.h"

typedef struct {
  tw_share rows;
  tw_share bytes; /* of each of these rows */
} tw_shared_rows;

static inline tw_shared_rows tw_share_rows(int32_t rows, int32_t bytes) {
  const int is_few = rows < 2 * TW_CORES && rows % TW_CORES != 0;
  tw_shared_rows mine;
  mine.rows = is_few ? (tw_share){0, rows} : tw_share_of(rows);
  mine.bytes = is_few ? tw_share_in_blocks(bytes, 8) : (tw_share){0, bytes};
  return mine;
}

static inline void tw_copy_part(void *to, const void *from, tw_share bytes) {
  tw_copy_run((uint8_t *)to + bytes.first, (const uint8_t *)from + bytes.first, bytes.end - bytes.first);
}

#endif
