/* Sums of products of four filters at once with 4, 2 or 1 pixels. A weight meets all pixels while it is in a register,
 * a pixel all filters; totals never leave their registers. Needs TW_X; TW_FILTER is the type of weights, if not int8_t. */
#ifndef TW_BLOCK_PRODUCTS_H
#define TW_BLOCK_PRODUCTS_H

#include <stdint.h>

#include "always.h"
#include "filter_block.h"
#include "multiply_add.h"

#ifndef TW_FILTER
#define TW_FILTER int8_t
#endif

/* One tap of four filters on pixels that are neighbours; `w` is the filters' first weight of this tap. */
#define TW_TAP_4(w, xa, xb, xc, xd)                                                             \
  do {                                                                                          \
    const int32_t w0_ = (w)[0];                                                                 \
    TW_MAC_4(w0_, s00, s01, s02, s03, xa, xb, xc, xd);                                          \
    const int32_t w1_ = (w)[1];                                                                 \
    TW_MAC_4(w1_, s10, s11, s12, s13, xa, xb, xc, xd);                                          \
    const int32_t w2_ = (w)[2];                                                                 \
    TW_MAC_4(w2_, s20, s21, s22, s23, xa, xb, xc, xd);                                          \
    const int32_t w3_ = (w)[3];                                                                 \
    TW_MAC_4(w3_, s30, s31, s32, s33, xa, xb, xc, xd);                                          \
  } while (0)

#define TW_TAP_2(w, xa, xb)                                                                     \
  do {                                                                                          \
    const int32_t w0_ = (w)[0], w1_ = (w)[1], w2_ = (w)[2], w3_ = (w)[3];                       \
    TW_MAC_2(w0_, s00, s01, xa, xb);                                                            \
    TW_MAC_2(w1_, s10, s11, xa, xb);                                                            \
    TW_MAC_2(w2_, s20, s21, xa, xb);                                                            \
    TW_MAC_2(w3_, s30, s31, xa, xb);                                                            \
  } while (0)

#define TW_TAP_1(w, xa)                                                                         \
  do {                                                                                          \
    const int32_t w0_ = (w)[0], w1_ = (w)[1], w2_ = (w)[2], w3_ = (w)[3];                       \
    s0 += w0_ * (xa), s1 += w1_ * (xa), s2 += w2_ * (xa), s3 += w3_ * (xa);                     \
  } while (0)

/* Three pointers of which a compiler knows nothing more: it would compute them from others, which need registers. */
#define TW_OPAQUE(a, b, c) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c))

/* Totals of a block: four of each filter, of which fewer may be in use. */
typedef int32_t tw_totals[TW_BLOCK][4];

#define TW_OPEN_4                                                                               \
  int32_t s00 = start[0], s01 = s00, s02 = s00, s03 = s00;                                      \
  int32_t s10 = start[1], s11 = s10, s12 = s10, s13 = s10;                                      \
  int32_t s20 = start[2], s21 = s20, s22 = s20, s23 = s20;                                      \
  int32_t s30 = start[3], s31 = s30, s32 = s30, s33 = s30;
#define TW_CLOSE_4                                                                              \
  total[0][0] = s00, total[0][1] = s01, total[0][2] = s02, total[0][3] = s03;                   \
  total[1][0] = s10, total[1][1] = s11, total[1][2] = s12, total[1][3] = s13;                   \
  total[2][0] = s20, total[2][1] = s21, total[2][2] = s22, total[2][3] = s23;                   \
  total[3][0] = s30, total[3][1] = s31, total[3][2] = s32, total[3][3] = s33;

/* TW_NEXT for all taps, four at a time. */
#define TW_ALL_TAPS                            \
  for (; w != whole; w += 4 * TW_BLOCK) {      \
    TW_NEXT(0);                                \
    TW_NEXT(1);                                \
    TW_NEXT(2);                                \
    TW_NEXT(3);                                \
  }                                            \
  for (; w != end; w += TW_BLOCK) TW_NEXT(0);

/* Taps of pixels that lie side by side, those of the next tap `step` elements on. */
TW_ALWAYS void tw_products_4(const TW_X *x, int32_t step, const TW_FILTER *w, int32_t taps, const int32_t *start,
                             tw_totals total) {
  const TW_FILTER *end = w + TW_BLOCK * taps, *whole = w + TW_BLOCK * (taps & ~3);
  TW_OPEN_4
  TW_OPAQUE(x, w, whole);
#define TW_NEXT(at)                                                 \
  do {                                                              \
    const int32_t x0_ = x[0], x1_ = x[1], x2_ = x[2], x3_ = x[3];   \
    TW_TAP_4(w + (at) * TW_BLOCK, x0_, x1_, x2_, x3_);              \
    x += step;                                                      \
  } while (0)
  TW_ALL_TAPS
#undef TW_NEXT
  TW_CLOSE_4
}

TW_ALWAYS void tw_products_2(const TW_X *x, int32_t step, const TW_FILTER *w, int32_t taps, const int32_t *start,
                             tw_totals total) {
  const TW_FILTER *end = w + TW_BLOCK * taps, *whole = w + TW_BLOCK * (taps & ~3);
  TW_OPAQUE(x, w, whole);
  int32_t s00 = start[0], s01 = s00, s10 = start[1], s11 = s10, s20 = start[2], s21 = s20, s30 = start[3], s31 = s30;
#define TW_NEXT(at)                                \
  do {                                             \
    const int32_t x0_ = x[0], x1_ = x[1];          \
    TW_TAP_2(w + (at) * TW_BLOCK, x0_, x1_);       \
    x += step;                                     \
  } while (0)
  TW_ALL_TAPS
#undef TW_NEXT
  total[0][0] = s00, total[0][1] = s01, total[1][0] = s10, total[1][1] = s11;
  total[2][0] = s20, total[2][1] = s21, total[3][0] = s30, total[3][1] = s31;
}

TW_ALWAYS void tw_products_1(const TW_X *x, int32_t step, const TW_FILTER *w, int32_t taps, const int32_t *start,
                             tw_totals total) {
  const TW_FILTER *end = w + TW_BLOCK * taps, *whole = w + TW_BLOCK * (taps & ~3);
  TW_OPAQUE(x, w, whole);
  int32_t s0 = start[0], s1 = start[1], s2 = start[2], s3 = start[3];
#define TW_NEXT(at)                         \
  do {                                      \
    const int32_t x0_ = x[0];               \
    TW_TAP_1(w + (at) * TW_BLOCK, x0_);     \
    x += step;                              \
  } while (0)
  TW_ALL_TAPS
#undef TW_NEXT
  total[0][0] = s0, total[1][0] = s1, total[2][0] = s2, total[3][0] = s3;
}

/* Three neighbouring taps in each of some rows, `pitch` elements apart, of four neighbouring pixels: six elements of a
 * row are enough for twelve. */
TW_ALWAYS void tw_products_rows_of_3(const TW_X *x, int32_t pitch, const TW_FILTER *w, int32_t rows,
                                     const int32_t *start, tw_totals total) {
  const TW_FILTER *const end = w + 3 * TW_BLOCK * rows;
  TW_OPEN_4
  for (; w != end; w += 3 * TW_BLOCK, x += pitch) {
    int32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    TW_TAP_4(w, x0, x1, x2, x3);
    x0 = x[4];
    TW_TAP_4(w + TW_BLOCK, x1, x2, x3, x0);
    x1 = x[5];
    TW_TAP_4(w + 2 * TW_BLOCK, x2, x3, x0, x1);
  }
  TW_CLOSE_4
}

#endif
