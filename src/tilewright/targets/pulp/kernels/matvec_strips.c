/* One row times a matrix of bytes that is stored column by column, in whole words; all columns are requantised alike. */
#ifndef TW_NAME
#define TW_NAME tw_matvec_strips
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "dot.h"
#include "small_matmul.h"

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

/* Columns are often a multiple of all banks apart, so that cores in step would all want the same bank: each begins at
 * another word, and comes to the words before it last. */
typedef struct {
  int32_t inner, back; /* bytes of a column; from the last of four columns to the first one's next word */
  int32_t first;       /* the word to begin with */
  int32_t rest;        /* words from there on */
} ring;

static inline ring ring_of(int32_t inner) {
  const int32_t words = inner >> 2, first = 2 * tw_core() < words ? 2 * tw_core() : 0;
  const ring r = {inner, 4 - 3 * inner, first, words - first};
  return r;
}

#if TW_XPULP
#define TW_A_RING_PART(DOT, count)                                                                      \
  TW_A_LOOP(count, 9) TW_A_LW("%[x]", "%[a]", "4") TW_A_LW_STEP("%[b0]", "%[b]", "%[inner]")            \
  TW_A_LW_STEP("%[b1]", "%[b]", "%[inner]") TW_A_LW_STEP("%[b2]", "%[b]", "%[inner]")                   \
  TW_A_LW_STEP("%[b3]", "%[b]", "%[back]") DOT("%[t0]", "%[x]", "%[b0]") DOT("%[t1]", "%[x]", "%[b1]")  \
  DOT("%[t2]", "%[x]", "%[b2]") DOT("%[t3]", "%[x]", "%[b3]")

#define TW_DEFINE_ROUND(NAME, DOT)                                                                               \
  static inline void NAME(const ring *r, const uint8_t *a, const uint8_t *b, int32_t t[4]) {                     \
    int32_t x, b0, b1, b2, b3;                                                                                   \
    __asm__ volatile(                                                                                            \
        TW_A_BEGIN TW_A_RING_PART(DOT, "%[rest]")                                                                \
        "beqz %[first], 1f\nsub %[a], %[a], %[inner]\nsub %[b], %[b], %[inner]\n" TW_A_RING_PART(DOT, "%[first]") \
        "1:\n" TW_A_END                                                                                          \
        : [t0] "+r"(t[0]), [t1] "+r"(t[1]), [t2] "+r"(t[2]), [t3] "+r"(t[3]), [a] "+r"(a), [b] "+r"(b),          \
          [x] "=&r"(x), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)                           \
        : [inner] "r"(r->inner), [back] "r"(r->back), [first] "r"(r->first), [rest] "r"(r->rest),                \
          [dot] "i"(TW_I_DOT(TW_A_SIGNED, TW_B_SIGNED))                                                          \
        : "memory");                                                                                             \
  }
TW_DEFINE_ROUND(round_in_order, TW_A_DOT)
TW_DEFINE_ROUND(round_swapped, TW_A_DOT_SWAPPED)
#endif

/* total[f] += the row times column f, for four columns. */
static inline void round_once(const ring *r, const TW_A *row, const TW_B *columns, int32_t total[4]) {
  const uint8_t *const a = (const uint8_t *)row + 4 * r->first, *const b = (const uint8_t *)columns + 4 * r->first;
#if TW_XPULP
  if (TW_A_SIGNED && !TW_B_SIGNED) {
    round_swapped(r, a, b, total);
  } else {
    round_in_order(r, a, b, total);
  }
#else
  for (int32_t word = -r->first; word < r->rest; word++) {
    for (int f = 0; f < 4; f++) {
      const uint32_t column = tw_x_load(b + f * r->inner + 4 * word);
      total[f] = tw_dot(total[f], tw_x_load(a + 4 * word), column, TW_A_SIGNED, TW_B_SIGNED);
    }
  }
#endif
}

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  /* Strips of four columns; the last one of a matrix may overlap the one before. */
  const int32_t inner = p->inner, last = p->columns - 4, strips = (p->columns + 3) >> 2;
  const ring r = ring_of(inner);
  const tw_share share = tw_share_of(p->batches * strips);
  int32_t next = share.first;
  for (; next >= strips; next -= strips) a += p->stride_a, b += p->stride_b, c += p->stride_c, y += p->stride_y;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const int32_t column = tw_x_min(4 * next, last);
    int32_t total[4] = {0, 0, 0, 0};
    if (p->c_column) {
      for (int f = 0; f < 4; f++) total[f] = c[column + f];
    }
    round_once(&r, a, b + column * inner, total);
    for (int f = 0; f < 4; f++) total[f] = tw_small_finish_clipped(&s, total[f], TW_Y_SIGNED);
    tw_x_store(y + column, tw_x_pack4(total[0], total[1], total[2], total[3]));
    if (++next < strips) continue;
    next = 0;
    a += p->stride_a, b += p->stride_b, c += p->stride_c, y += p->stride_y;
  }
}
