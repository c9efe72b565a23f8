/* The loops of reductions of bytes whose results are neighbours in x as well: four of them at a time, all cores
 * together. A kernel includes this after it has said what it does:
 *   state, start, with                     as for four_columns.h
 *   uint32_t four_results(state, params)   as bytes of a word
 *   TW_PARAMS, TW_LOOPS(params)            its parameters, and the loops in them */
#ifndef TW_REDUCE_COLUMNS_H
#define TW_REDUCE_COLUMNS_H

#include "four_columns.h"
#include "reduce.h"
#include "walk_from.h"
#include "xpulp.h"

static uint32_t reduce_word(const TW_PARAMS *params, const uint8_t *x, int32_t columns) {
  const tw_reduce_params *const loops = TW_LOOPS(params);
  const int32_t last = loops->rank - 1, count = loops->size[last], step = loops->stride[last];
  const int32_t runs = tw_walk_length(last, loops->size);
  state total = start();
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t run = 0; run < runs; run++) {
    total = with_run(total, x + offset, count, step, columns);
    tw_walk(last, loops->size, loops->stride, at, &offset);
  }
  return four_results(total, params);
}

void TW_NAME(const TW_PARAMS *params, const TW_X *x, TW_Y *y) {
  const tw_reduce_params *const loops = TW_LOOPS(params);
  /* A tile of one column has no loop along it. */
  const int is_one = loops->kept_stride[loops->kept_rank - 1] != 1;
  const int32_t last = loops->kept_rank - !is_one, columns = is_one ? 1 : loops->kept_size[last];
  const int32_t quads = (columns + 3) / 4;
  const tw_share share = tw_share_of(quads * tw_walk_length(last, loops->kept_size));
  if (share.first >= share.end) return;
  int32_t at[TW_MAX_RANK], row = share.first / quads, column = 4 * (share.first - row * quads);
  int32_t offset = tw_walk_from(last, loops->kept_size, loops->kept_stride, row, at);
  for (int32_t i = share.first; i < share.end; i++) {
    const uint32_t word = reduce_word(params, (const uint8_t *)x + offset + column, columns - column);
    store_word((uint8_t *)y + row * columns + column, word, columns - column);
    column += 4;
    if (column < columns) continue;
    column = 0;
    row++;
    tw_walk(last, loops->kept_size, loops->kept_stride, at, &offset);
  }
}

#endif
