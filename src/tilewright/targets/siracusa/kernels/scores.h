/* Scores of an attention as bytes: products of a row of a with rows of b, requantised and looked up. There are three ways,
 * chosen once for many rows; which is known when a loop is compiled. */
#ifndef TW_SCORES_H
#define TW_SCORES_H

#include "lanes.h"
#include "scoring.h"

enum { TW_BY_CLIPPING, TW_BY_NARROWING, TW_OF_LONG_ROWS };

static inline int tw_scoring_way(const tw_scoring *s) {
  return s->words > 1 ? TW_OF_LONG_ROWS : s->bound ? TW_BY_CLIPPING : TW_BY_NARROWING;
}

/* What a way needs of it, in registers; indices into the table begin with 0 there. */
typedef struct {
  int32_t factor, bound, add, shift;
} tw_scale;

static inline tw_scale tw_scale_of(const tw_scoring *s, int way) {
  const tw_scale clipped = {s->factor, s->bound, 0, 0};
  const tw_scale narrowed = {s->narrowing.mul, s->narrowing.top, s->narrowing.add, s->narrowing.shift};
  return way == TW_BY_CLIPPING ? clipped : narrowed;
}

static inline int32_t tw_score_index(const tw_scoring *s, int32_t product) {
  return s->bound ? tw_x_mulsr16(tw_x_clip(product, s->bound), s->factor) + s->base : tw_narrowed(&s->narrowing, product, 0);
}

static inline int32_t tw_row_product(const int8_t *a, const int8_t *b, int32_t words) {
  int32_t total = 0;
  for (; words > 0; words--, a += 4, b += 4) total = tw_x_sdotsp4(total, tw_x_load(a), tw_x_load(b));
  return total;
}

/* ---- rows of one word ---- */

#if TW_XPULP
#define TW_A_SCORE(d) TW_A_R(TW_E_DOTSP4, d, d, "%[query]")
#define TW_A_SCALE(d) "mul " d ", " d ", %[factor]\n"
#define TW_A_SHIFT(d) TW_A_R(TW_E_ADDN, d, "%[add]", "%[shift]")
#define TW_A_NARROW(d) TW_A_R(TW_E_CLIPU, d, d, "%[bound]")
#define TW_A_BOUND(d) TW_A_R(TW_E_CLIP, d, d, "%[bound]")
#define TW_A_SCALE_HIGH(d) TW_A_R(TW_E_MULSR16, d, d, "%[factor]")
#define TW_A_ENTRY(d) TW_A_BYTE_AT(d, "%[table]", d)
#define TW_A_CLIPPED                                                                                                  \
  TW_A_FOUR(TW_A_BOUND, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_FOUR(TW_A_SCALE_HIGH, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
#define TW_A_NARROWED                                                                                                 \
  TW_A_FOUR(TW_A_SCALE, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_FOUR(TW_A_SHIFT, "%[d0]", "%[d1]", "%[d2]", "%[d3]") \
  TW_A_FOUR(TW_A_NARROW, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
#define TW_A_FOUR_PRODUCTS                                                                                            \
  TW_A_LW("%[d0]", "%[b]", "4") TW_A_LW("%[d1]", "%[b]", "4") TW_A_LW("%[d2]", "%[b]", "4")                           \
  TW_A_LW("%[d3]", "%[b]", "4") TW_A_FOUR(TW_A_SCORE, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
#define TW_A_FOUR_ENTRIES                                                                                             \
  TW_A_FOUR(TW_A_ENTRY, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_PACK4("%[d0]", "%[d1]", "%[d2]", "%[d3]")
/* Four rows at a time; INDEX makes an index of each product, LINES are all instructions. THEN comes after the last. */
#define TW_SCORE_LOOP(LINES, INDEX, THEN)                                                                             \
  __asm__ volatile(                                                                                                   \
      TW_A_BEGIN TW_A_LOOP("%[words]", LINES) TW_A_FOUR_PRODUCTS INDEX TW_A_FOUR_ENTRIES                              \
      TW_A_R(TW_E_MAXU4, "%[four]", "%[four]", "%[d0]") TW_A_SW("%[d0]", "%[x]", "4") THEN TW_A_END                   \
      : [b] "+r"(b), [x] "+r"(x), [four] "+r"(four), [d0] "=&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3)   \
      : [words] "r"(words), [query] "r"(query), [factor] "r"(scale.factor), [bound] "r"(scale.bound),                 \
        [add] "r"(scale.add), [shift] "r"(scale.shift), [table] "r"(table)                                            \
      : "memory")

/* Returns the largest scores in each lane. */
static inline __attribute__((always_inline)) uint32_t tw_score_words(tw_scale scale, int way, const uint8_t *table,
                                                                     uint32_t query, const int8_t *b, uint8_t *x,
                                                                     int32_t words) {
  uint32_t four = 0, d0, d1, d2, d3;
  if (words > 0 && way == TW_BY_CLIPPING) {
    TW_SCORE_LOOP(24, TW_A_CLIPPED, );
  } else if (words > 0) {
    TW_SCORE_LOOP(28, TW_A_NARROWED, );
  }
  return four;
}

/* At least one word, and one more that is not stored but `last`. */
static inline __attribute__((always_inline)) uint32_t tw_score_words_and_one(tw_scale scale, int way, const uint8_t *table,
                                                                             uint32_t query, const int8_t *b, uint8_t *x,
                                                                             int32_t words, uint32_t *last) {
  uint32_t four = 0, d0, d1, d2, d3;
  if (way == TW_BY_CLIPPING) {
    TW_SCORE_LOOP(24, TW_A_CLIPPED, TW_A_FOUR_PRODUCTS TW_A_CLIPPED TW_A_FOUR_ENTRIES);
  } else {
    TW_SCORE_LOOP(28, TW_A_NARROWED, TW_A_FOUR_PRODUCTS TW_A_NARROWED TW_A_FOUR_ENTRIES);
  }
  *last = d0;
  return four;
}

/* ---- longer rows ---- */

/* Four products of a row of a with rows of b, `step` bytes from one to the next. */
static inline void tw_four_products(const int8_t *a, const int8_t *b, int32_t step, int32_t words, int32_t *t0, int32_t *t1,
                                    int32_t *t2, int32_t *t3) {
  const int8_t *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
  int32_t own, d0, d1, d2, d3;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[words]", 9) TW_A_LW("%[own]", "%[a]", "4") TW_A_LW("%[d0]", "%[b0]", "4")
                   TW_A_LW("%[d1]", "%[b1]", "4") TW_A_LW("%[d2]", "%[b2]", "4") TW_A_LW("%[d3]", "%[b3]", "4")
                   TW_A_R(TW_E_SDOTSP4, "%[t0]", "%[d0]", "%[own]") TW_A_R(TW_E_SDOTSP4, "%[t1]", "%[d1]", "%[own]")
                   TW_A_R(TW_E_SDOTSP4, "%[t2]", "%[d2]", "%[own]") TW_A_R(TW_E_SDOTSP4, "%[t3]", "%[d3]", "%[own]") TW_A_END
                   : [a] "+r"(a), [b0] "+r"(b), [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [own] "=&r"(own),
                     [d0] "=&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3), [t0] "+r"(*t0), [t1] "+r"(*t1),
                     [t2] "+r"(*t2), [t3] "+r"(*t3)
                   : [words] "r"(words)
                   : "memory");
}

static inline int32_t tw_score_entry(const tw_scoring *s, const uint8_t *table, int32_t product) {
  return tw_x_byte_at(table, tw_score_index(s, product));
}

static inline uint32_t tw_score_long_rows(const tw_scoring *s, const uint8_t *table, const int8_t *a, const int8_t *b,
                                          uint8_t *x, int32_t words) {
  uint32_t four = 0;
  for (; words > 0; words--, b += 16 * s->words, x += 4) {
    int32_t t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    tw_four_products(a, b, 4 * s->words, s->words, &t0, &t1, &t2, &t3);
    const int32_t d0 = tw_score_entry(s, table, t0), d1 = tw_score_entry(s, table, t1);
    const int32_t d2 = tw_score_entry(s, table, t2), d3 = tw_score_entry(s, table, t3);
    const uint32_t scores = tw_x_pack4(d0, d1, d2, d3);
    four = (uint32_t)tw_x_maxu4((int32_t)four, (int32_t)scores);
    tw_x_store(x, scores);
  }
  return four;
}
#endif

/* ---- any rows ---- */

static __attribute__((noinline)) uint32_t tw_score_rest(const tw_scoring *s, const uint8_t *table, const int8_t *a,
                                                        const int8_t *b, uint8_t *x, int32_t count) {
  uint32_t four = 0;
  for (; count > 0; count--, b += 4 * s->words) {
    *x = table[tw_score_index(s, tw_row_product(a, b, s->words))];
    four = (uint32_t)tw_x_maxu4((int32_t)four, *x++);
  }
  return four;
}

/* Where the table begins for indices as a way makes them. */
static inline const uint8_t *tw_table_of(const tw_scoring *s, int way, const uint8_t *table) {
  return way == TW_BY_CLIPPING ? table + s->base : table;
}

/* Scores of a row of a with `count` rows of b; returns the largest ones in each lane. */
static inline __attribute__((always_inline)) uint32_t tw_scores(const tw_scoring *s, tw_scale scale, int way,
                                                                const uint8_t *table, const int8_t *a, const int8_t *b,
                                                                uint8_t *x, int32_t count) {
  uint32_t four = 0;
  int32_t done = 0;
#if TW_XPULP
  four = way == TW_OF_LONG_ROWS ? tw_score_long_rows(s, table, a, b, x, count >> 2)
                                : tw_score_words(scale, way, tw_table_of(s, way, table), tw_x_load(a), b, x, count >> 2);
  done = count & ~3;
#endif
  (void)way, (void)scale;
  if (done == count) return four;
  const uint32_t rest = tw_score_rest(s, table, a, b + 4 * s->words * done, x + done, count - done);
  return (uint32_t)tw_x_maxu4((int32_t)four, (int32_t)rest);
}

#endif
