/* Sums of products of bytes by an instruction of the user's, of four filters at once with 4, 2 or 1 pixels. Words have four taps:
 * those of four filters lie side by side, and so do those of four pixels. Needs TW_X. */
#ifndef TW_DOT_PRODUCTS_H
#define TW_DOT_PRODUCTS_H

#include "always.h"
#include "dotted_bytes.h"
#include "filter_block.h"

/* Pixels of a panel, and weights of a word. */
#define TW_PANEL 4
#define TW_WEIGHTS_OF_WORD 4

/* Words of bytes are what is multiplied. */
#define TW_READY(words, taps, step, pixels) (void)0

/* Totals of a block: four of each filter, of which fewer may be in use. */
typedef int32_t tw_totals[TW_BLOCK][TW_PANEL];

#define TW_DOT_ALL(x, a, b, c, d)                       \
  do {                                                  \
    const uint32_t x_ = (x);                            \
    (a) = TW_DOT4(a, w0, x_), (b) = TW_DOT4(b, w1, x_); \
    (c) = TW_DOT4(c, w2, x_), (d) = TW_DOT4(d, w3, x_); \
  } while (0)

#define TW_DOT_WEIGHTS const uint32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3]

TW_ALWAYS void tw_dots_4(const uint32_t *x, const uint32_t *w, int32_t words, const int32_t *start, tw_totals total) {
  const uint32_t *const end = w + TW_BLOCK * words;
  uint32_t a0 = (uint32_t)start[0], a1 = a0, a2 = a0, a3 = a0, b0 = (uint32_t)start[1], b1 = b0, b2 = b0, b3 = b0;
  uint32_t c0 = (uint32_t)start[2], c1 = c0, c2 = c0, c3 = c0, d0 = (uint32_t)start[3], d1 = d0, d2 = d0, d3 = d0;
  for (; w != end; w += TW_BLOCK, x += TW_PANEL) {
    TW_DOT_WEIGHTS;
    TW_DOT_ALL(x[0], a0, b0, c0, d0);
    TW_DOT_ALL(x[1], a1, b1, c1, d1);
    TW_DOT_ALL(x[2], a2, b2, c2, d2);
    TW_DOT_ALL(x[3], a3, b3, c3, d3);
  }
  total[0][0] = (int32_t)a0, total[0][1] = (int32_t)a1, total[0][2] = (int32_t)a2, total[0][3] = (int32_t)a3;
  total[1][0] = (int32_t)b0, total[1][1] = (int32_t)b1, total[1][2] = (int32_t)b2, total[1][3] = (int32_t)b3;
  total[2][0] = (int32_t)c0, total[2][1] = (int32_t)c1, total[2][2] = (int32_t)c2, total[2][3] = (int32_t)c3;
  total[3][0] = (int32_t)d0, total[3][1] = (int32_t)d1, total[3][2] = (int32_t)d2, total[3][3] = (int32_t)d3;
}

TW_ALWAYS void tw_dots_2(const uint32_t *x, const uint32_t *w, int32_t words, const int32_t *start, tw_totals total) {
  const uint32_t *const end = w + TW_BLOCK * words;
  uint32_t a0 = (uint32_t)start[0], a1 = a0, b0 = (uint32_t)start[1], b1 = b0;
  uint32_t c0 = (uint32_t)start[2], c1 = c0, d0 = (uint32_t)start[3], d1 = d0;
  for (; w != end; w += TW_BLOCK, x += TW_PANEL) {
    TW_DOT_WEIGHTS;
    TW_DOT_ALL(x[0], a0, b0, c0, d0);
    TW_DOT_ALL(x[1], a1, b1, c1, d1);
  }
  total[0][0] = (int32_t)a0, total[0][1] = (int32_t)a1, total[1][0] = (int32_t)b0, total[1][1] = (int32_t)b1;
  total[2][0] = (int32_t)c0, total[2][1] = (int32_t)c1, total[3][0] = (int32_t)d0, total[3][1] = (int32_t)d1;
}

/* The pixel's words are `step` apart. */
TW_ALWAYS void tw_dots_1(const uint32_t *x, int32_t step, const uint32_t *w, int32_t words, const int32_t *start,
                         tw_totals total) {
  const uint32_t *const end = w + TW_BLOCK * words;
  uint32_t a = (uint32_t)start[0], b = (uint32_t)start[1], c = (uint32_t)start[2], d = (uint32_t)start[3];
  for (; w != end; w += TW_BLOCK, x += step) {
    TW_DOT_WEIGHTS;
    TW_DOT_ALL(x[0], a, b, c, d);
  }
  total[0][0] = (int32_t)a, total[1][0] = (int32_t)b, total[2][0] = (int32_t)c, total[3][0] = (int32_t)d;
}

#endif
