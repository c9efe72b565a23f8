/* Four rows of masked scores of one head of an attention: from products to shares. Keys are loaded once for all of them,
 * and each step is one loop over all rows, which stays in a core's instruction cache. Whoever includes this says what masks
 * are: TW_M. */
#ifndef TW_MASKED_QUAD_H
#define TW_MASKED_QUAD_H

#define TW_Y uint8_t /* shares: those of signed bytes are not negative either */

#include "masked_rows.h"

/* What the shares of a row are made of; offsets are known to the assembly below. */
typedef struct {
  const uint32_t *table; /* as in row_values */
  uint32_t total, reciprocal, shift;
  int32_t words; /* whole ones before `end` */
  int32_t end;   /* of the columns that count for the total, then of those that have shares */
  int32_t loud;  /* the largest scores */
  int32_t quiet; /* only where they count for any row */
} quad_row;

/* What a core has of them. It lies in L1, where the stack may not. */
typedef struct {
  const int8_t *a, *b;
  uint8_t *x;   /* scores, then shares */
  int32_t step; /* from row to row of x */
  uint32_t lanes[4]; /* the largest scores of each row in each lane: of plain columns, or of quiet ones */
  uint32_t unmasked[4]; /* of others before they are masked */
  quad_row rows[4];
  mask_row mask;
  mask_word words[];
} quad_memory;

/* ---- scores ---- */

/* Masks those that are neither plain nor quiet, and finds the largest. */
static TW_COMPACT void mask_any(const tw_masked_shares_params *p, quad_memory *q) {
  const mask_row *const all = &q->mask;
  const int32_t words = words_of(all), most = 4 * words > all->most ? 0 : words;
  for (int32_t i = 0; i < 4; i++) {
    const mask_row row = {all->bytes + i * p->mask_row, all->words + i * words, most, all->plain, all->loud, all->quiet};
    uint8_t *const x = q->x + i * q->step;
    mask_loud(p->masks, &row, x);
    q->rows[i].loud = tw_largest_of(x, row.loud);
  }
}

/* The same where that is one word of each row, as a triangle has it. */
static inline void mask_word_each(quad_memory *q) {
  uint8_t *x = q->x + q->mask.plain;
  for (int32_t i = 0; i < 4; i++, x += q->step) {
    const uint32_t four = masked(tw_x_load(x), &q->words[i]);
    tw_x_store(x, four);
    q->rows[i].loud = tw_largest_lane((uint32_t)tw_x_maxu4((int32_t)q->lanes[i], (int32_t)four));
  }
}

static inline void mask_quad(const tw_masked_shares_params *p, quad_memory *q) {
  const mask_row *const mask = &q->mask;
  if (mask->plain + 4 == mask->loud && mask->most >= 4) {
    mask_word_each(q);
  } else if (mask->plain < mask->loud) {
    mask_any(p, q);
  } else {
    for (int32_t i = 0; i < 4; i++) q->rows[i].loud = tw_largest_lane(q->lanes[i]);
  }
}

/* Whether quiet columns count for any row, now that the others are known. */
static inline int quiet_counts_for_any(const tw_masked_shares_params *p, const quad_memory *q) {
  const quad_row *const rows = q->rows;
  const int32_t least = tw_x_min(tw_x_min(rows[0].loud, rows[1].loud), tw_x_min(rows[2].loud, rows[3].loud));
  return quiet_counts(p, &q->mask, least);
}

/* Plain columns and then those that are masked, or else the quiet ones. */
static inline __attribute__((always_inline)) void score_some(const tw_masked_shares_params *p, int way, quad_memory *q,
                                                             int quiet) {
  const uint8_t *const table = quiet ? q->mask.quiet.table : p->scores.table;
  const int32_t end = quiet ? p->columns : q->mask.loud, length = 4 * p->scores.words;
  int32_t from = quiet ? q->mask.loud : 0, to = quiet ? end : q->mask.plain;
  uint32_t *lanes = q->lanes;
  lanes[0] = lanes[1] = lanes[2] = lanes[3] = 0;
  for (;;) {
    if (from < to) tw_quad_scores(&p->scores, way, table, q->a, q->b + length * from, q->x + from, q->step, to - from, lanes);
    if (to == end) return;
    from = to, to = end, lanes = q->unmasked;
  }
}

#define TW_DEFINE_QUAD_SCORES(NAME, WAY)                                                                     \
  static __attribute__((noinline)) void NAME(const tw_masked_shares_params *p, quad_memory *q, int quiet) { \
    score_some(p, WAY, q, quiet);                                                                            \
  }
TW_DEFINE_QUAD_SCORES(score_by_clipping, TW_BY_CLIPPING)
TW_DEFINE_QUAD_SCORES(score_by_narrowing, TW_BY_NARROWING)
TW_DEFINE_QUAD_SCORES(score_long_by_clipping, TW_LONG_BY_CLIPPING)
TW_DEFINE_QUAD_SCORES(score_long_by_narrowing, TW_LONG_BY_NARROWING)

/* Called by name, so that how much stack that needs can be seen. */
static inline void score(int way, const tw_masked_shares_params *p, quad_memory *q, int quiet) {
  if (way == TW_BY_CLIPPING) {
    score_by_clipping(p, q, quiet);
  } else if (way == TW_BY_NARROWING) {
    score_by_narrowing(p, q, quiet);
  } else if (way == TW_LONG_BY_CLIPPING) {
    score_long_by_clipping(p, q, quiet);
  } else {
    score_long_by_narrowing(p, q, quiet);
  }
}

/* ---- shares ---- */

/* Some shares of a row, one by one. */
static inline void share_some(int way, const quad_row *row, const uint8_t *results, uint8_t *x, int32_t count) {
  const row_values values = {row->table, results, 0, row->total, row->reciprocal, row->shift};
  if (way == TW_SHARES_LOW) {
    share_out_low(&values, x, x, count);
  } else if (way == TW_SHARES_HIGH) {
    share_out_high(&values, x, x, count);
  } else {
    share_out_halves(&values, x, x, count);
  }
}

#if TW_XPULP
/* For each row: as many turns as it has words, from its table on. `d0` begins as the number of rows. */
#define TW_A_EACH_ROW(LINES)                                                                                          \
  TW_A_OUTER_LOOP("%[d0]", LINES) "lw %[d0], 16(%[row])\nlw %[table], 0(%[row])\nmv %[at], %[x]\n"
#define TW_A_NEXT_ROW "add %[x], %[x], %[step]\naddi %[row], %[row], 32\n"

static inline void total_words(quad_memory *q) {
  uint32_t word, total, d0 = 4, d1, d2, d3;
  const uint32_t *table;
  const uint8_t *at, *x = q->x;
  quad_row *row = q->rows;
  __asm__ volatile(
      TW_A_BEGIN TW_A_EACH_ROW(23) "li %[total], 0\nli %[d3], 0\n"
      TW_A_LOOP("%[d0]", 13) TW_A_LW("%[word]", "%[at]", "4") "add %[total], %[total], %[d3]\n"
      TW_A_OFFSETS("%[word]", "%[d0]", "%[d1]", "%[d2]", "%[d3]")
      TW_A_FOUR(TW_A_EXPONENTIAL, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
      "add %[total], %[total], %[d0]\nadd %[total], %[total], %[d1]\nadd %[total], %[total], %[d2]\n"
      "add %[total], %[total], %[d3]\nsw %[total], 4(%[row])\n" TW_A_NEXT_ROW TW_A_END
      : [x] "+r"(x), [row] "+r"(row), [at] "=&r"(at), [table] "=&r"(table), [word] "=&r"(word), [total] "=&r"(total),
        [d0] "+&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3)
      : [step] "r"(q->step), [first] "i"(TW_I_FIRST_UU), TW_LANES
      : "memory");
}

/* INNER instructions for each word, and LINES for a row. */
#define TW_QUAD_SHARES(LINES, INNER, BEFORE, PRODUCT)                                                                 \
  __asm__ volatile(                                                                                                   \
      TW_A_BEGIN TW_A_EACH_ROW(LINES) "lw %[reciprocal], 8(%[row])\nlw %[shift], 12(%[row])\n" BEFORE                 \
      TW_A_LOOP("%[d0]", INNER) TW_A_LW("%[word]", "%[at]", "4") TW_A_SHARES(PRODUCT) "sw %[d0], -4(%[at])\n"         \
      TW_A_NEXT_ROW TW_A_END                                                                                          \
      : [x] "+r"(x), [row] "+r"(row), [at] "=&r"(at), [table] "=&r"(table), [word] "=&r"(word), [d0] "+&r"(d0),       \
        [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2),               \
        [e3] "=&r"(e3), [reciprocal] "=&r"(reciprocal), [shift] "=&r"(shift), [upper] "=&r"(upper)                    \
      : [step] "r"(q->step), [results] "r"(results), [first] "i"(TW_I_FIRST_UU), TW_LANES                             \
      : "memory")

static inline void share_words(int way, const uint8_t *results, quad_memory *q) {
  uint32_t word, d0 = 4, d1, d2, d3, e0, e1, e2, e3, reciprocal, shift, upper;
  const uint32_t *table;
  const uint8_t *at, *x = q->x;
  quad_row *row = q->rows;
  if (way == TW_SHARES_LOW) {
    TW_QUAD_SHARES(32, 24, "", TW_A_MAC);
  } else if (way == TW_SHARES_HIGH) {
    TW_QUAD_SHARES(32, 24, "", TW_A_MULHU);
  } else {
    TW_QUAD_SHARES(37, 28, "srli %[upper], %[reciprocal], 16\n", TW_A_HALVES);
  }
}
#else
static inline void total_words(quad_memory *q) {
  for (int i = 0; i < 4; i++) q->rows[i].total = total_of(q->rows[i].table, q->x + i * q->step, 4 * q->rows[i].words);
}

static inline void share_words(int way, const uint8_t *results, quad_memory *q) {
  for (int i = 0; i < 4; i++) share_some(way, &q->rows[i], results, q->x + i * q->step, 4 * q->rows[i].words);
}
#endif

/* How far rows count for their totals: all columns, or the loud ones. */
static inline void begin_rows(const tw_masked_shares_params *p, quad_memory *q) {
  const int32_t loud = q->mask.loud, columns = p->columns;
  for (int i = 0; i < 4; i++) {
    quad_row *const row = &q->rows[i];
    int32_t largest = row->loud, end = loud;
    if (quiet_counts(p, &q->mask, largest)) {
      largest = tw_x_max(largest, row->quiet);
      if (largest - row->quiet < p->gone) end = columns;
    }
    row->table = p->tables.exponentials + 255 - largest;
    row->loud = largest;
    row->end = end;
    row->words = end >> 2;
  }
}

/* Whether a row has shares behind its loud columns, where these count. */
static inline int has_quiet_shares(const tw_masked_shares_params *p, const quad_row *row) {
  if (row->loud - row->quiet < p->quiet) return 1;
  return bound_of(p, row->table[row->quiet]) * (uint32_t)p->tables.top >= row->total;
}

/* Columns behind the last whole word. */
static TW_COMPACT void total_rest(quad_memory *q) {
  for (int32_t i = 0; i < 4; i++) {
    quad_row *const row = &q->rows[i];
    row->total += total_of(row->table, q->x + i * q->step + 4 * row->words, row->end & 3);
  }
}

/* The rest of a word is 0. */
static TW_COMPACT void share_rest(const tw_masked_shares_params *p, int way, quad_memory *q) {
  for (int32_t i = 0; i < 4; i++) {
    const quad_row *const row = &q->rows[i];
    const int32_t rest = row->end & 3;
    uint8_t *const x = q->x + i * q->step + 4 * row->words;
    share_some(way, row, p->tables.results, x, rest);
    for (int32_t at = rest; at & 3; at++) x[at] = 0;
  }
}

/* Words without shares are 0 up to those of the row that has most. */
static TW_COMPACT void clear_words(quad_memory *q, int32_t most) {
  for (int32_t i = 0; i < 4; i++) {
    uint8_t *const x = q->x + i * q->step;
    for (int32_t at = (q->rows[i].end + 3) & ~3; at < most; at += 4) tw_x_store(x + at, 0);
  }
}

/* Scores become shares. Returns how many columns have shares in any row. */
static __attribute__((noinline)) int32_t share_quad(const tw_masked_shares_params *p, quad_memory *q) {
  const uint32_t largest = p->tables.exponentials[255], top = (uint32_t)p->tables.top;
  const int32_t loud = q->mask.loud, rest = p->columns & 3;
  begin_rows(p, q);
  total_words(q);
  if (rest) total_rest(q);
  uint32_t most = 0;
  for (int i = 0; i < 4; i++) most = most < q->rows[i].total ? q->rows[i].total : most;
  const int way = share_way(largest, most);
  int32_t end = loud, least = p->columns;
  for (int i = 0; i < 4; i++) {
    quad_row *const row = &q->rows[i];
    if (row->end > loud && !has_quiet_shares(p, row)) row->end = loud, row->words = loud >> 2;
    end = tw_x_max(end, row->end);
    least = tw_x_min(least, row->end);
    const share_factor factor = factor_of(way, top, largest, row->total);
    row->reciprocal = factor.reciprocal, row->shift = factor.shift;
  }
  share_words(way, p->tables.results, q);
  if (rest) share_rest(p, way, q);
  if (least < end) clear_words(q, end);
  return end;
}

#endif
