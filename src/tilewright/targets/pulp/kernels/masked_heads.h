/* Rows of masked scores of an attention, for some heads at a time: from products to shares. Whoever includes this says
 * what masks and shares are: TW_M and TW_Y; with TW_KEEPS_ENDS, shares behind a row's last one above 0 are not stored
 * but where a word is not whole. */
#ifndef TW_MASKED_HEADS_H
#define TW_MASKED_HEADS_H

#include "masked_rows.h"

/* Each step is done for all heads before the next one, so that its code stays in the caches. */

/* One row of some heads: where it begins in the first of them, and how far it is to the next. */
typedef struct {
  const int8_t *a, *b;
  uint8_t *y;
  int32_t a_step, b_step, y_step, count;
  uint8_t *loud, *quiet; /* the largest scores of each head; of quiet columns only where they count */
  int16_t *ends;         /* how many shares each head has, if TW_KEEPS_ENDS */
} head_rows;

/* Scores of the loud columns, not yet masked; returns the least of the heads' largest ones. */
static inline __attribute__((always_inline)) int32_t score_loud(const tw_masked_softmax_params *p, int way,
                                                                const mask_row *mask, const head_rows *h) {
  const tw_scale scale = tw_scale_of(&p->scores, way);
  const int8_t *a = h->a, *b = h->b;
  uint8_t *x = h->y;
  int32_t least = 255;
  for (int32_t i = 0; i < h->count; i++, a += h->a_step, b += h->b_step, x += h->y_step) {
    const int32_t largest = tw_largest_lane(tw_scores(&p->scores, scale, way, p->scores.table, a, b, x, mask->loud));
    h->loud[i] = (uint8_t)largest;
    least = tw_x_min(least, largest);
  }
  return least;
}

#if TW_XPULP
/* The same, and masked, where only the last of several words is to be: what a triangle makes of most rows. */
static inline __attribute__((always_inline)) int32_t score_triangle(const tw_masked_softmax_params *p, int way,
                                                                    const mask_row *mask, const head_rows *h) {
  const tw_scale scale = tw_scale_of(&p->scores, way);
  const uint8_t *const table = tw_table_of(&p->scores, way, p->scores.table);
  const int32_t words = mask->plain >> 2;
  const mask_word word = mask->words[0];
  const int8_t *a = h->a, *b = h->b;
  uint8_t *x = h->y;
  int32_t least = 255;
  for (int32_t i = 0; i < h->count; i++, a += h->a_step, b += h->b_step, x += h->y_step) {
    uint32_t last;
    const uint32_t four = tw_score_words_and_one(scale, way, table, tw_x_load(a), b, x, words, &last);
    last = masked(last, &word);
    tw_x_store(x + 4 * words, last);
    const int32_t largest = tw_largest_lane((uint32_t)tw_x_maxu4((int32_t)four, (int32_t)last));
    h->loud[i] = (uint8_t)largest;
    least = tw_x_min(least, largest);
  }
  return least;
}
#else
#define score_triangle(p, way, mask, h) (score_loud(p, way, mask, h), mask_heads(p, mask, h))
#endif

static inline int is_triangle(int way, const mask_row *mask) {
  return !tw_is_long(way) && mask->plain > 0 && mask->plain + 4 == mask->loud;
}

/* Masks them. */
static __attribute__((noinline)) int32_t mask_heads(const tw_masked_softmax_params *p, const mask_row *mask,
                                                    const head_rows *h) {
  uint8_t *x = h->y;
  int32_t least = 255;
  for (int32_t i = 0; i < h->count; i++, x += h->y_step) {
    mask_loud(p->masks, mask, x);
    const int32_t largest = tw_largest_of(x, mask->loud);
    h->loud[i] = (uint8_t)largest;
    least = tw_x_min(least, largest);
  }
  return least;
}

/* Scores of the quiet columns, for heads that they count for. */
static inline __attribute__((always_inline)) void score_quiet(const tw_masked_softmax_params *p, int way, const mask_row *mask,
                                                              const head_rows *h) {
  const tw_scale scale = tw_scale_of(&p->scores, way);
  const int32_t begin = mask->loud;
  const int8_t *a = h->a, *b = h->b + 4 * p->scores.words * begin;
  uint8_t *x = h->y + begin;
  for (int32_t i = 0; i < h->count; i++, a += h->a_step, b += h->b_step, x += h->y_step) {
    if (!quiet_counts(p, mask, h->loud[i])) continue;
    h->quiet[i] = (uint8_t)tw_largest_lane(tw_scores(&p->scores, scale, way, mask->quiet.table, a, b, x, p->columns - begin));
  }
}

#ifdef TW_KEEPS_ENDS
/* Shares end here; the rest of the last word is 0. */
static inline void end_shares(const tw_masked_softmax_params *p, const head_rows *h, int32_t head, uint8_t *x, int32_t end) {
  (void)p;
  h->ends[head] = (int16_t)end;
  for (; end & 3; end++) x[end] = 0;
}
#else
/* `four` are four times the same result. */
static inline void fill(TW_Y *y, uint32_t four, int32_t count) {
#if TW_XPULP
  if (count >= 8) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 2) TW_A_SW("%[four]", "%[y]", "4") TW_A_SW("%[four]", "%[y]", "4")
                     TW_A_END : [y] "+r"(y) : [pairs] "r"(count >> 3), [four] "r"(four) : "memory");
  }
  count &= 7;
#endif
  for (; count >= 4; count -= 4, y += 4) tw_x_store(y, four);
  for (; count > 0; count--) *y++ = (TW_Y)four;
}

/* Shares end here; those behind are none. */
static inline void end_shares(const tw_masked_softmax_params *p, const head_rows *h, int32_t head, uint8_t *x, int32_t end) {
  (void)h, (void)head;
  if (end < p->columns) fill((TW_Y *)x + end, p->tables.results[0] * 0x01010101u, p->columns - end);
}
#endif

/* Where quiet columns count for no head. */
static __attribute__((noinline)) void share_loud(const tw_masked_softmax_params *p, const mask_row *mask, const head_rows *h) {
  const int32_t loud = mask->loud;
  const uint32_t largest = p->tables.exponentials[255];
  uint8_t *x = h->y;
  for (int32_t i = 0; i < h->count; i++, x += h->y_step) {
    row_values row = tw_row_of(&p->tables, h->loud[i]);
    row.total = total_of(row.table, x, loud);
    share_out(&row, x, (TW_Y *)x, loud, largest);
    end_shares(p, h, i, x, loud);
  }
}

static __attribute__((noinline)) void share_all(const tw_masked_softmax_params *p, const mask_row *mask, const head_rows *h) {
  const int32_t loud = mask->loud, columns = p->columns;
  uint8_t *x = h->y;
  for (int32_t i = 0; i < h->count; i++, x += h->y_step) {
    int32_t end = loud, largest = h->loud[i], quiet = 0;
    if (quiet_counts(p, mask, largest)) {
      quiet = h->quiet[i];
      largest = tw_x_max(largest, quiet);
      if (largest - quiet < p->gone) end = columns;
    }
    row_values row = tw_row_of(&p->tables, largest);
    row.total = total_of(row.table, x, end);
    if (end > loud && largest - quiet >= p->quiet && bound_of(p, row.table[quiet]) * row.top < row.total) end = loud;
    share_out(&row, x, (TW_Y *)x, end, p->tables.exponentials[255]);
    end_shares(p, h, i, x, end);
  }
}

/* Returns whether quiet columns count for any head. */
#define TW_DEFINE_SCORES(NAME, WAY)                                                                                 \
  static __attribute__((noinline)) int NAME(const tw_masked_softmax_params *p, const mask_row *mask,                  \
                                            const head_rows *h) {                                                   \
    int32_t least;                                                                                                  \
    if (is_triangle(WAY, mask)) {                                                                                   \
      least = score_triangle(p, WAY, mask, h);                                                                      \
    } else {                                                                                                        \
      least = score_loud(p, WAY, mask, h);                                                                          \
      if (mask->plain < mask->loud) least = mask_heads(p, mask, h);                                                 \
    }                                                                                                               \
    if (!quiet_counts(p, mask, least)) return 0;                                                                    \
    score_quiet(p, WAY, mask, h);                                                                                   \
    return 1;                                                                                                       \
  }
TW_DEFINE_SCORES(score_by_clipping, TW_BY_CLIPPING)
TW_DEFINE_SCORES(score_by_narrowing, TW_BY_NARROWING)
TW_DEFINE_SCORES(score_long_by_clipping, TW_LONG_BY_CLIPPING)
TW_DEFINE_SCORES(score_long_by_narrowing, TW_LONG_BY_NARROWING)

/* Called by name, so that how much stack that needs can be seen. */
static inline int score(int way, const tw_masked_softmax_params *p, const mask_row *mask, const head_rows *h) {
  if (way == TW_BY_CLIPPING) return score_by_clipping(p, mask, h);
  if (way == TW_BY_NARROWING) return score_by_narrowing(p, mask, h);
  return way == TW_LONG_BY_CLIPPING ? score_long_by_clipping(p, mask, h) : score_long_by_narrowing(p, mask, h);
}

/* The last columns are quiet if they are alike and worth their own loop: several words, or behind a triangle. */
static TW_COMPACT void set_mask(const uint32_t *masks, const TW_M *bytes, int32_t columns, mask_row *row) {
  row->bytes = bytes;
  row->loud = columns;
  row->plain = plain_columns(bytes, columns);
  if (row->plain == columns) return;
  if (row->quiet.byte) {
    const int32_t begin = alike_from(bytes, row->quiet.byte, row->plain, columns);
    if (begin > 0 && (begin <= row->plain + 4 || begin + 8 <= columns)) row->loud = begin;
  }
  set_words(masks_of(masks), row);
}

/* The next of `rows` to take: from both ends in turn. Where later rows see more than earlier ones, each core then has
 * some of both. */
static inline int32_t tw_row_in_turn(int32_t rows, int32_t turn) { return turn & 1 ? rows - 1 - (turn >> 1) : turn >> 1; }

/* Heads that are taken together. */
#define TW_HEADS 16

#endif
