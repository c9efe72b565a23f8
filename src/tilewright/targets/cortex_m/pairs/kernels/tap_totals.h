/* Totals of windows of any size over rows of 16-bit elements, for four columns of results at a time.
 *
 * A word has the weights of two columns of a window. For windows one element apart, the first and third of four results
 * meet words of elements as they lie; the second and fourth meet the same words with weights that lie one element later,
 * which are made of two words of weights. Rows of windows have one weight more than columns, or two: zeros. */
#ifndef TW_TAP_TOTALS_H
#define TW_TAP_TOTALS_H

#include "always.h"
#include "depthwise_taps_sizes.h"
#include "widen.h"

/* A row of results: where its windows begin in the band, and the rows of the filter that lie within the image. */
typedef struct {
  const int16_t *x;
  int32_t skipped; /* words of weights before them */
  int32_t rows;
} tw_tap_row;

/* All totals of a filter. */
typedef struct {
  const tw_tap_row *row;
  const int32_t *filter;
  int32_t rows, columns; /* of results */
  int32_t down, apart;   /* elements from a row of a window to the next, and from a column of results to the next */
  int32_t words;         /* of a row of a window */
  int32_t start;
  int32_t *total;
} tw_tap_filter;

typedef void (*tw_taps_function)(const tw_tap_filter *all);

#ifdef __ARM_FEATURE_DSP

/* Elements `now` and, right behind them, `next`; weights `w`, and `before` those of the two columns before, in whose place
 * the next ones are loaded. */
#define TW_TAPS_PRODUCTS(now, next, w)                                                                      \
  "smlad %[t0], " now ", " w ", %[t0]\n\tsmladx %[t1], " now ", %[c], %[t1]\n\tsmlad %[t2], " next ", " w ", %[t2]\n\t" \
  "smladx %[t3], " next ", %[c], %[t3]\n\t"
#define TW_TAPS_STEP(now, next, w, before, at)                                                              \
  "pkhbt %[c], " w ", " before "\n\tldr.w " next ", [%[x], #" at "]\n\tldr.w " before ", [%[f]], #4\n\t"     \
  TW_TAPS_PRODUCTS(now, next, w)
#define TW_TAPS_FIRST                                                                                       \
  "ldr.w %[p], [%[x]]\n\tldr.w %[q], [%[x], #4]\n\tldr.w %[b], [%[f]], #4\n\tuxth.w %[c], %[a]\n\t"          \
  TW_TAPS_PRODUCTS("%[p]", "%[q]", "%[a]")
#define TW_EVEN_STEP(at) TW_TAPS_STEP("%[p]", "%[q]", "%[a]", "%[b]", at)
#define TW_ODD_STEP(at) TW_TAPS_STEP("%[q]", "%[p]", "%[b]", "%[a]", at)
#define TW_NEXT_ROW "add.w %[x], %[x], %[row]\n\tsubs %[n], %[n], #1\n\tbne.w 1b"
#define TW_NEXT_IN_A "mov %[a], %[b]\n\t" /* after an odd number of steps */

#define TW_TAPS_1 TW_TAPS_FIRST TW_NEXT_IN_A
#define TW_TAPS_2 TW_TAPS_FIRST TW_ODD_STEP("8")
#define TW_TAPS_3 TW_TAPS_FIRST TW_ODD_STEP("8") TW_EVEN_STEP("12") TW_NEXT_IN_A
#define TW_TAPS_4 TW_TAPS_FIRST TW_ODD_STEP("8") TW_EVEN_STEP("12") TW_ODD_STEP("16")

/* All rows of four windows one element apart. What is loaded last is the next row's, or lies behind the weights. */
#define TW_BY_1(TAPS)                                                                                       \
  do {                                                                                                      \
    uint32_t a, b, c, p, q;                                                                                 \
    __asm__ volatile("ldr.w %[a], [%[f]], #4\n\t.balign 4\n\t1:\n\t" TAPS TW_NEXT_ROW                       \
                     : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [a] "=&r"(a),        \
                       [b] "=&r"(b), [c] "=&r"(c), [p] "=&r"(p), [q] "=&r"(q), [x] "+&r"(x), [f] "+&r"(f),  \
                       [n] "+&r"(n)                                                                         \
                     : [row] "r"(row)                                                                       \
                     : "memory", "cc");                                                                     \
  } while (0)

/* Windows two elements apart: words of elements a to d meet one word of weights. */
#define TW_FOUR_PRODUCTS(a, b, c, d)                                                                        \
  "smlad %[t0], " a ", %[w], %[t0]\n\tsmlad %[t1], " b ", %[w], %[t1]\n\tsmlad %[t2], " c ", %[w], %[t2]\n\t" \
  "smlad %[t3], " d ", %[w], %[t3]\n\t"
#define TW_2_STEP(a, b, c, d, at) \
  "ldr.w %[w], [%[f]], #4\n\tldr.w " d ", [%[x], #" at "]\n\t" TW_FOUR_PRODUCTS(a, b, c, d)
#define TW_2_FIRST                                                                                          \
  "ldr.w %[w], [%[f]], #4\n\tldr.w %[a], [%[x]]\n\tldr.w %[b], [%[x], #4]\n\tldr.w %[c], [%[x], #8]\n\t"     \
  "ldr.w %[d], [%[x], #12]\n\t" TW_FOUR_PRODUCTS("%[a]", "%[b]", "%[c]", "%[d]")
#define TW_2_TAPS_2 TW_2_FIRST TW_2_STEP("%[b]", "%[c]", "%[d]", "%[a]", "16")
#define TW_2_TAPS_3 TW_2_TAPS_2 TW_2_STEP("%[c]", "%[d]", "%[a]", "%[b]", "20")
#define TW_2_TAPS_4 TW_2_TAPS_3 TW_2_STEP("%[d]", "%[a]", "%[b]", "%[c]", "24")

#define TW_BY_2(TAPS)                                                                                       \
  do {                                                                                                      \
    uint32_t a, b, c, d, w;                                                                                 \
    __asm__ volatile(".balign 4\n\t1:\n\t" TAPS TW_NEXT_ROW                                                 \
                     : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [a] "=&r"(a),        \
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [w] "=&r"(w), [x] "+&r"(x), [f] "+&r"(f),  \
                       [n] "+&r"(n)                                                                         \
                     : [row] "r"(row)                                                                       \
                     : "memory", "cc");                                                                     \
  } while (0)

/* One row of four windows one element apart, two words at a time. */
#define TW_BY_1_LONG                                                                                        \
  for (; n > 0; n--, x += row) {                                                                            \
    const char *from = x;                                                                                   \
    int32_t m = all->words - 2;                                                                             \
    uint32_t a, b, c, p, q;                                                                                 \
    __asm__ volatile("ldr.w %[a], [%[f]], #4\n\t" TW_TAPS_FIRST TW_ODD_STEP("8") ".balign 4\n\t1:\n\t"       \
                     "add.w %[x], %[x], #8\n\t" TW_EVEN_STEP("4") TW_ODD_STEP("8") "subs %[n], %[n], #2\n\tbne.w 1b" \
                     : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [a] "=&r"(a),        \
                       [b] "=&r"(b), [c] "=&r"(c), [p] "=&r"(p), [q] "=&r"(q), [x] "+&r"(from),             \
                       [f] "+&r"(f), [n] "+&r"(m)                                                           \
                     :                                                                                      \
                     : "memory", "cc");                                                                     \
    f--;                                                                                                    \
  }

/* Every row of results. Of those columns that are left at the end of a row, some are computed again; rows of fewer than
 * four are written over by the next one. */
#define TW_DEFINE_TAPS(name, elements, TOTALS)                                                              \
  static __attribute__((noinline)) void name(const tw_tap_filter *all) {                                          \
    const int32_t row = 2 * all->down, last = tw_max(all->columns - TW_TAPS_COLUMNS, 0);                    \
    int32_t *total = all->total;                                                                            \
    for (int32_t r = 0; r < all->rows; r++, total += all->columns) {                                        \
      for (int32_t column = 0;; column = tw_min(column + TW_TAPS_COLUMNS, last)) {                          \
        const char *x = (const char *)(all->row[r].x + column * (elements));                                \
        const int32_t *f = all->filter + all->row[r].skipped;                                               \
        int32_t n = all->row[r].rows, t0 = all->start, t1 = t0, t2 = t0, t3 = t0;                           \
        if (n > 0) TOTALS;                                                                                  \
        int32_t *const to = total + column;                                                                 \
        to[0] = t0, to[1] = t1, to[2] = t2, to[3] = t3;                                                     \
        if (column == last) break;                                                                          \
      }                                                                                                     \
    }                                                                                                       \
  }

TW_DEFINE_TAPS(tw_taps_1, 1, TW_BY_1(TW_TAPS_1))
TW_DEFINE_TAPS(tw_taps_2, 1, TW_BY_1(TW_TAPS_2))
TW_DEFINE_TAPS(tw_taps_3, 1, TW_BY_1(TW_TAPS_3))
TW_DEFINE_TAPS(tw_taps_4, 1, TW_BY_1(TW_TAPS_4))
TW_DEFINE_TAPS(tw_taps_long, 1, TW_BY_1_LONG)
TW_DEFINE_TAPS(tw_taps_2_by_2, 2, TW_BY_2(TW_2_TAPS_2))
TW_DEFINE_TAPS(tw_taps_3_by_2, 2, TW_BY_2(TW_2_TAPS_3))
TW_DEFINE_TAPS(tw_taps_4_by_2, 2, TW_BY_2(TW_2_TAPS_4))

#endif

/* Two elements with two weights. */
TW_ALWAYS int32_t tw_two_taps(const int16_t *x, uint32_t weights, int32_t total) {
#ifdef __ARM_FEATURE_DSP
  return __smlad((int16x2_t)tw_word_at(x), (int16x2_t)weights, total);
#else
  return (int32_t)((uint32_t)total + (uint32_t)(x[0] * (int16_t)weights + x[1] * (int16_t)(weights >> 16)));
#endif
}

/* Windows any number of elements apart. */
static __attribute__((noinline)) void tw_taps_any(const tw_tap_filter *all) {
  int32_t *total = all->total;
  for (int32_t r = 0; r < all->rows; r++) {
    for (int32_t column = 0; column < all->columns; column++) {
      const int16_t *x = all->row[r].x + column * all->apart;
      const int32_t *f = all->filter + all->row[r].skipped;
      int32_t sum = all->start;
      for (int32_t n = all->row[r].rows; n > 0; n--, x += all->down) {
        for (int32_t i = 0; i < all->words; i++) sum = tw_two_taps(x + 2 * i, (uint32_t)*f++, sum);
      }
      *total++ = sum;
    }
  }
}

static inline tw_taps_function tw_taps_by(int32_t words, int32_t apart) {
#ifdef __ARM_FEATURE_DSP
  static const tw_taps_function by_1[] = {tw_taps_1, tw_taps_2, tw_taps_3, tw_taps_4};
  static const tw_taps_function by_2[] = {tw_taps_2_by_2, tw_taps_3_by_2, tw_taps_4_by_2};
  if (apart == 1) return words < TW_LONG_ROW ? by_1[words - 1] : tw_taps_long;
  if (apart == 2 && words > 1 && words < TW_LONG_ROW) return by_2[words - 2];
#endif
  (void)words, (void)apart;
  return tw_taps_any;
}

#endif
