/* Reductions, four neighbouring results at a time, as is fast over axes before the last one; all cores together. A kernel
 * includes this after it has said what it does:
 *   four_t                                     of four results
 *   four_t start(void)                         of no elements
 *   void step(four_t *, word)                  with one more element of each
 *   void finish(const four_t *, params, y)     four results */
#ifndef TW_FOUR_COLUMNS_H
#define TW_FOUR_COLUMNS_H

#include "byte_words.h"
#include "walk_from.h"

/* Neighbouring results, and what their elements are apart. */
typedef struct {
  int32_t count, step;
  int is_word;
} tw_columns;

static four_t tw_reduced(const tw_reduce_params *loops, const uint8_t *x, tw_columns columns) {
  const int32_t last = loops->rank - 1, length = loops->size[last], stride = loops->stride[last];
  const int32_t runs = tw_walk_length(last, loops->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  four_t found = start();
  for (int32_t run = 0; run < runs; run++) {
    const uint8_t *from = x + offset;
    int32_t rest = length;
    for (; columns.is_word && rest >= 2; rest -= 2, from += 2 * stride) {
      const uint32_t first = tw_bytes_at(from, 1, 4, 1), second = tw_bytes_at(from + stride, 1, 4, 1);
      step(&found, first);
      step(&found, second);
    }
    for (; rest > 0; rest--, from += stride) step(&found, tw_bytes_at(from, columns.step, columns.count, columns.is_word));
    tw_walk(last, loops->size, loops->stride, at, &offset);
  }
  return found;
}

/* Whether four neighbours are a word, wherever they are. */
static int tw_columns_are_words(const tw_reduce_params *loops, const void *x) {
  const int32_t last = loops->kept_rank - 1;
  int32_t strides = 0;
  for (int32_t axis = 0; axis < last; axis++) strides |= loops->kept_stride[axis];
  for (int32_t axis = 0; axis < loops->rank; axis++) strides |= loops->stride[axis];
  return tw_begins_word(x) && (strides & 3) == 0 && loops->kept_stride[last] == 1;
}

/* All results, in fours along the last kept loop. */
#define TW_FOUR_COLUMNS(params, loops, x, y)                                                                        \
  do {                                                                                                              \
    const int32_t last = (loops)->kept_rank - 1, length = (loops)->kept_size[last], fours = (length + 3) / 4;       \
    const int32_t step = (loops)->kept_stride[last];                                                                \
    const tw_share mine = tw_share_of(tw_walk_length(last, (loops)->kept_size) * fours);                            \
    const int are_words = tw_columns_are_words(loops, x);                                                           \
    if (mine.first >= mine.end) break;                                                                              \
    const int32_t number = mine.first / fours;                                                                      \
    int32_t at[TW_MAX_RANK], column = 4 * (mine.first - number * fours);                                            \
    int32_t offset = tw_walk_from(last, (loops)->kept_size, (loops)->kept_stride, number, at);                      \
    TW_Y *to = (y) + number * length;                                                                               \
    for (int32_t i = mine.first; i < mine.end; i++) {                                                               \
      const int32_t count = tw_min(length - column, 4);                                                             \
      const tw_columns columns = {count, step, are_words && count == 4};                                            \
      const four_t found = tw_reduced(loops, (const uint8_t *)(x) + offset + column * step, columns);               \
      TW_Y results[4];                                                                                              \
      finish(&found, params, results);                                                                              \
      for (int32_t lane = 0; lane < count; lane++) to[column + lane] = results[lane];                               \
      column += 4;                                                                                                  \
      if (column < length) continue;                                                                                \
      column = 0, to += length;                                                                                     \
      tw_walk(last, (loops)->kept_size, (loops)->kept_stride, at, &offset);                                         \
    }                                                                                                               \
  } while (0)

#endif
