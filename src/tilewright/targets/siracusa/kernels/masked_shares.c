/* Shares of masked scores of an attention. Each core has some rows of all heads, and takes them from products to shares
 * one by one, so that nothing but shares is ever stored in L2.
 *
 * What a mask makes unimportant is not computed: a row's last columns, if they are all masked alike, are quiet. Where their
 * exponentials are 0 whatever their scores are, there are no products; where no share of them can be more than 0, they
 * are only part of the total. */
#include "masked_shares.h"

#ifndef TW_NAME
#define TW_NAME tw_masked_shares_i8
#define TW_M int8_t
#define TW_Y int8_t
#endif
#define TW_X uint8_t /* masked scores */
#define TW_X_UNSIGNED

#include "scores.h"
#include "shares.h"
#include "mask_row.h"

/* ---- heads: each step is done for all of them before the next one, so that its code stays in the caches ---- */

/* One row of some heads: where it begins in the first of them, and how far it is to the next. */
typedef struct {
  const int8_t *a, *b;
  uint8_t *y;
  int32_t a_step, b_step, y_step, count;
  uint8_t *loud, *quiet; /* the largest scores of each head; of quiet columns only where they count */
} head_rows;

/* Whether quiet columns count: whether their exponentials may be more than 0, now that the largest other one is known. */
static inline int quiet_counts(const tw_masked_shares_params *p, const mask_row *mask, int32_t loud) {
  return mask->loud < p->columns && loud - mask->quiet.highest < p->gone;
}

/* Scores of the loud columns, not yet masked; returns the least of the heads' largest ones. */
static inline __attribute__((always_inline)) int32_t score_loud(const tw_masked_shares_params *p, int way,
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
static inline __attribute__((always_inline)) int32_t score_triangle(const tw_masked_shares_params *p, int way,
                                                                    const mask_row *mask, const head_rows *h) {
  const tw_scale scale = tw_scale_of(&p->scores, way);
  const uint8_t *const table = tw_table_of(&p->scores, way, p->scores.table);
  const int32_t words = mask->plain >> 2;
  const mask_word word = mask->words[words];
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
static __attribute__((noinline)) int32_t mask_heads(const tw_masked_shares_params *p, const mask_row *mask,
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
static inline __attribute__((always_inline)) void score_quiet(const tw_masked_shares_params *p, int way, const mask_row *mask,
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

/* Of small exponentials that are as far away as this one, or farther. */
static inline uint32_t bound_of(const tw_masked_shares_params *p, uint32_t exponential) {
  return exponential + (exponential * (uint32_t)p->rise >> 8) + 1;
}

/* Where quiet columns count for no head. */
static __attribute__((noinline)) void share_loud(const tw_masked_shares_params *p, const mask_row *mask, const head_rows *h) {
  const int32_t loud = mask->loud, rest = p->columns - loud;
  const uint32_t largest = p->tables.exponentials[255], nothing = p->tables.results[0] * 0x01010101u;
  uint8_t *x = h->y;
  for (int32_t i = 0; i < h->count; i++, x += h->y_step) {
    row_values row = tw_row_of(&p->tables, h->loud[i]);
    row.total = total_of(row.table, x, loud);
    share_out(&row, x, (TW_Y *)x, loud, largest);
    if (rest > 0) fill((TW_Y *)x + loud, nothing, rest);
  }
}

static __attribute__((noinline)) void share_all(const tw_masked_shares_params *p, const mask_row *mask, const head_rows *h) {
  const int32_t loud = mask->loud, columns = p->columns;
  const uint32_t nothing = p->tables.results[0] * 0x01010101u;
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
    if (end < columns) fill((TW_Y *)x + end, nothing, columns - end);
  }
}

/* Returns whether quiet columns count for any head. */
#define TW_DEFINE_SCORES(NAME, WAY)                                                                                 \
  static __attribute__((noinline)) int NAME(const tw_masked_shares_params *p, const mask_row *mask,                  \
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
static inline int score(int way, const tw_masked_shares_params *p, const mask_row *mask, const head_rows *h) {
  if (way == TW_BY_CLIPPING) return score_by_clipping(p, mask, h);
  if (way == TW_BY_NARROWING) return score_by_narrowing(p, mask, h);
  return way == TW_LONG_BY_CLIPPING ? score_long_by_clipping(p, mask, h) : score_long_by_narrowing(p, mask, h);
}

/* ---- the call ---- */

/* Heads that are taken together. */
#define TW_HEADS 16

/* Of each core. */
typedef struct {
  uint8_t loud[TW_HEADS], quiet[TW_HEADS];
  uint32_t skew; /* nothing; but so cores begin in different banks */
  mask_word words[];
} own_memory;

void TW_NAME(const tw_masked_shares_params *params, const int8_t *a, const int8_t *b, const TW_M *m, TW_Y *y,
             void *scratch) {
  const tw_masked_shares_params *const p = params;
  const int32_t length = 4 * p->scores.words, way = tw_scoring_way(&p->scores);
  const int32_t bytes = (int32_t)sizeof(own_memory) + (p->columns >> 2) * (int32_t)sizeof(mask_word);
  uint8_t *const table = scratch;
  own_memory *const own = (own_memory *)(table + TW_SCORES + bytes * tw_core());
  mask_row mask;
  mask.words = own->words;
  mask.quiet = set_alike(p->masks, m, p->columns, p->scores.table, TW_SCORES / 4, table);
  const tw_share share = tw_share_of(p->rows * p->heads);
  int32_t turn = (int32_t)((uint32_t)share.first / (uint32_t)p->heads), head = share.first - turn * p->heads;
  for (int32_t left = share.end - share.first, fresh = 1; left > 0;) {
    /* From both ends in turn: where later rows see more than earlier ones, each core has some of both. */
    const int32_t row = turn & 1 ? p->rows - 1 - (turn >> 1) : turn >> 1, at = head * p->rows + row;
    if (fresh) set_mask(p->masks, m + row * p->mask_row, p->columns, &mask);
    const int32_t count = tw_x_min(tw_x_min(TW_HEADS, left), p->heads - head);
    const head_rows heads = {
        a + length * at, b + length * head * p->columns, (uint8_t *)y + at * p->columns, length * p->rows,
        length * p->columns, p->rows * p->columns, count, own->loud, own->quiet,
    };
    if (score(way, p, &mask, &heads)) {
      share_all(p, &mask, &heads);
    } else {
      share_loud(p, &mask, &heads);
    }
    left -= count;
    head += count;
    fresh = 0;
    if (head == p->heads) head = 0, turn++, fresh = p->mask_row > 0;
  }
}
