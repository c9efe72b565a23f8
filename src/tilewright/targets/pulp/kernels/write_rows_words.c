/* y = x with rows written from a position on, all cores together and a word at a time; where y is x, nothing else is
 * touched */
#include "write_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_write_rows_words_i8
#define TW_X int8_t
#define TW_ROWS int8_t
#define TW_Y int8_t
#endif

#include "bytes4.h"
#include "cluster.h"

/* Shares begin where words do. */
enum { BLOCK = 16 };

static inline void copy(TW_Y *y, const TW_X *x, int32_t elements) {
  const tw_share share = tw_share_in_blocks(elements * (int32_t)sizeof *x, BLOCK);
  tw_copy_run((uint8_t *)y + share.first, (const uint8_t *)x + share.first, share.end - share.first);
}

void TW_NAME(const tw_write_rows_params *params, const TW_X *x, const TW_ROWS *rows, const int32_t *position, TW_Y *y) {
  const int32_t length = params->length, first = tw_clamp(position[0], 0, params->held);
  const int32_t count = tw_min(params->rows, params->held - first);
  if ((const void *)x != (const void *)y) {
    /* Shares of both copies differ: only what no core writes a second time is taken over. */
    copy(y, x, first * length);
    copy(y + (first + count) * length, x + (first + count) * length, (params->held - first - count) * length);
  }
  copy(y + first * length, rows, count * length);
}
