/* Scores of an attention as bytes: products of a row of a with rows of b, requantised and looked up. There are four ways,
 * chosen once for many rows; which is known when a loop is compiled. */
#ifndef TW_SCORES_H
#define TW_SCORES_H

#include "lanes.h"
#include "scoring.h"

/* By how products become indices; long rows are several words. */
enum { TW_BY_CLIPPING, TW_BY_NARROWING, TW_LONG_BY_CLIPPING, TW_LONG_BY_NARROWING };

static inline int tw_scoring_way(const tw_scoring *s) {
  return (s->words > 1 ? TW_LONG_BY_CLIPPING : TW_BY_CLIPPING) + (s->bound ? 0 : TW_BY_NARROWING);
}

static inline int tw_is_long(int way) { return way >= TW_LONG_BY_CLIPPING; }

static inline int tw_clips(int way) { return way == TW_BY_CLIPPING || way == TW_LONG_BY_CLIPPING; }

/* What a way needs of it, in registers; indices into the table begin with 0 there. */
typedef struct {
  int32_t factor, bound, add, shift;
} tw_scale;

static inline tw_scale tw_scale_of(const tw_scoring *s, int way) {
  const tw_scale clipped = {s->factor, s->bound, 0, 0};
  const tw_scale narrowed = {s->narrowing.mul, s->narrowing.top, s->narrowing.add, s->narrowing.shift};
  return tw_clips(way) ? clipped : narrowed;
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
  if (words > 0 && tw_clips(way)) {
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
  if (tw_clips(way)) {
    TW_SCORE_LOOP(24, TW_A_CLIPPED, TW_A_FOUR_PRODUCTS TW_A_CLIPPED TW_A_FOUR_ENTRIES);
  } else {
    TW_SCORE_LOOP(28, TW_A_NARROWED, TW_A_FOUR_PRODUCTS TW_A_NARROWED TW_A_FOUR_ENTRIES);
  }
  *last = d0;
  return four;
}

/* ---- longer rows ---- */

#define TW_A_ROW_TURN(DOT)                                                                                            \
  TW_A_LW("%[own]", "%[a]", "4") TW_A_LW("%[e0]", "%[b0]", "4") TW_A_LW("%[e1]", "%[b1]", "4")                        \
  TW_A_R(DOT, "%[d0]", "%[e0]", "%[own]") TW_A_LW("%[e0]", "%[b2]", "4") TW_A_R(DOT, "%[d1]", "%[e1]", "%[own]")      \
  TW_A_LW("%[e1]", "%[b3]", "4") TW_A_R(DOT, "%[d2]", "%[e0]", "%[own]") TW_A_R(DOT, "%[d3]", "%[e1]", "%[own]")
/* Four rows at a time, as above; the row behind the fourth is the next first one. */
#define TW_LONG_LOOP(LINES, INDEX)                                                                                    \
  __asm__ volatile(                                                                                                   \
      TW_A_BEGIN TW_A_OUTER_LOOP("%[words]", LINES) TW_A_ROW_TURN(TW_E_DOTSP4)                                        \
      TW_A_LOOP("%[more]", 9) TW_A_ROW_TURN(TW_E_SDOTSP4) INDEX TW_A_FOUR_ENTRIES                                     \
      TW_A_R(TW_E_MAXU4, "%[four]", "%[four]", "%[d0]") TW_A_SW("%[d0]", "%[x]", "4") "sub %[a], %[a], %[step]\n"     \
      "mv %[b0], %[b3]\nadd %[b1], %[b0], %[step]\nadd %[b2], %[b1], %[step]\nadd %[b3], %[b2], %[step]\n" TW_A_END \
      : [a] "+r"(a), [b0] "+r"(b), [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [x] "+r"(x), [four] "+r"(four),       \
        [own] "=&r"(own), [e0] "=&r"(e0), [e1] "=&r"(e1), [d0] "=&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2),             \
        [d3] "=&r"(d3)                                                                                                \
      : [words] "r"(words), [more] "r"((step >> 2) - 1), [step] "r"(step), [factor] "r"(scale.factor),                \
        [bound] "r"(scale.bound), [add] "r"(scale.add), [shift] "r"(scale.shift), [table] "r"(table)                  \
      : "memory")

/* Rows of `step` bytes. */
static inline __attribute__((always_inline)) uint32_t tw_score_long_rows(tw_scale scale, int way, const uint8_t *table,
                                                                         const int8_t *a, const int8_t *b, int32_t step,
                                                                         uint8_t *x, int32_t words) {
  const int8_t *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
  uint32_t four = 0, own, e0, e1, d0, d1, d2, d3;
  if (words > 0 && tw_clips(way)) {
    TW_LONG_LOOP(40, TW_A_CLIPPED);
  } else if (words > 0) {
    TW_LONG_LOOP(44, TW_A_NARROWED);
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
  return tw_clips(way) ? table + s->base : table;
}

/* Scores of a row of a with `count` rows of b; returns the largest ones in each lane. */
static inline __attribute__((always_inline)) uint32_t tw_scores(const tw_scoring *s, tw_scale scale, int way,
                                                                const uint8_t *table, const int8_t *a, const int8_t *b,
                                                                uint8_t *x, int32_t count) {
  uint32_t four = 0;
  int32_t done = 0;
#if TW_XPULP
  const uint8_t *const entries = tw_table_of(s, way, table);
  four = tw_is_long(way) ? tw_score_long_rows(scale, way, entries, a, b, 4 * s->words, x, count >> 2)
                         : tw_score_words(scale, way, entries, tw_x_load(a), b, x, count >> 2);
  done = count & ~3;
#endif
  (void)way, (void)scale;
  if (done == count) return four;
  const uint32_t rest = tw_score_rest(s, table, a, b + 4 * s->words * done, x + done, count - done);
  return (uint32_t)tw_x_maxu4((int32_t)four, (int32_t)rest);
}

#endif
