/* Sums over three taps in fewer products, in one dimension. TW_FORM says of what:
 *
 *   1  windows one pixel apart: four results from six pixels, in six products (of twelve);
 *   2  windows two pixels apart: two results from five pixels, in five products (of six), two of them for the middle tap;
 *   3  the gradient of 2 by its pixels: four pixels from three gradients, in five products (of six).
 *
 * Pixels and taps become one factor for each product, and products become results. The gradient of 1 by its taps takes the
 * same way backwards: results become factors, and products become taps. Form 1 evaluates polynomials at 0, 1, -1, 2, -2 and
 * infinity; its divisions are on the side of the results, of which there are fewest. */
#ifndef TW_WINOGRAD_FORMS_F32_H
#define TW_WINOGRAD_FORMS_F32_H

#include "in_order_f32.h"
#include "winograd_f32_sizes.h"

#define TW_POINTS TW_POINTS_OF(TW_FORM)
#define TW_PIXELS TW_PIXELS_OF(TW_FORM)
#define TW_STEP TW_STEP_OF(TW_FORM)
#define TW_RESULTS TW_RESULTS_OF(TW_FORM)
#define TW_MATRICES (TW_POINTS * TW_POINTS)
#define TW_CELL TW_CELL_OF(TW_FORM)

/* Arrays of an unrolled loop are registers. */
#define TW_AS_PRAGMA(x) _Pragma(#x)
#define TW_UNROLLED(turns) TW_AS_PRAGMA(GCC unroll turns)
/* Loops whose code would not stay in a core's cache. */
#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TW_ROLLED
#endif
#define TW_TRANSFORM static inline __attribute__((always_inline)) void

/* What is loaded and stored between the operations of a transform: elements of the next one, from where they are, and
 * results of the one before, `apart` floats from one to the next. */
typedef struct {
  int loads, stores; /* whether there are any */
  const float *const *from;
  float *next;
  const float *before;
  float *to;
  int32_t apart;
} tw_moves;

#define TW_MOVE static inline __attribute__((always_inline)) void

TW_MOVE tw_move_in(tw_moves moves, int i) {
  if (moves.loads) moves.next[i] = tw_take(moves.from[i]);
}

TW_MOVE tw_move_out(tw_moves moves, int i) {
  if (moves.stores) tw_put(moves.to + i * moves.apart, moves.before[i]);
}

#if TW_FORM == 1

TW_TRANSFORM tw_factors_of_pixels(const float x[6], float m[6], tw_moves moves) {
  const float a = tw_minus_product(x[4], x[2], 4.0f);
  tw_move_out(moves, 0);
  const float b = tw_minus_product(x[3], x[1], 4.0f);
  tw_move_in(moves, 0);
  m[1] = tw_plus(a, b);
  tw_move_out(moves, 1);
  m[2] = tw_minus(a, b);
  tw_move_in(moves, 1);
  const float c = tw_minus(x[4], x[2]);
  tw_move_out(moves, 2);
  const float d = tw_minus(x[3], x[1]);
  tw_move_in(moves, 2);
  m[3] = tw_plus_product(c, d, 2.0f);
  tw_move_out(moves, 3);
  m[4] = tw_minus_product(c, d, 2.0f);
  tw_move_in(moves, 3);
  const float e = tw_minus(x[0], x[2]);
  tw_move_out(moves, 4);
  m[0] = tw_plus_product(c, e, 4.0f);
  tw_move_in(moves, 4);
  const float f = tw_minus(x[5], x[3]);
  tw_move_out(moves, 5);
  m[5] = tw_minus_product(f, d, 4.0f);
  tw_move_in(moves, 5);
}

/* `start` is in all results. */
TW_TRANSFORM tw_results_of(const float m[6], float start, float y[4]) {
  const float a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  const float even = start - a * (1.0f / 6), odd = start - b * (1.0f / 6);
  y[0] = even + c * (1.0f / 24) + m[0] * 0.25f, y[1] = odd + d * (1.0f / 12);
  y[2] = even + c * (1.0f / 6), y[3] = odd + d * (1.0f / 3) + m[5];
}

TW_TRANSFORM tw_factors_of_results(const float y[4], float m[6]) {
  const float even = y[0] + y[2], odd = y[1] + y[3], outer = y[0] + 4.0f * y[2], inner = y[1] + 4.0f * y[3];
  m[0] = y[0], m[1] = even + odd, m[2] = even - odd, m[3] = outer + 2.0f * inner, m[4] = outer - 2.0f * inner, m[5] = y[3];
}

#elif TW_FORM == 2

TW_TRANSFORM tw_factors_of_pixels(const float x[5], float m[5], tw_moves moves) {
  TW_UNROLLED(5) for (int i = 0; i < 5; i++) tw_move_out(moves, i), tw_move_in(moves, i);
  m[0] = x[0] - x[2], m[1] = x[2], m[2] = x[2] - x[4], m[3] = x[1], m[4] = x[3];
}

TW_TRANSFORM tw_factors_of_taps(const float w[3], float m[5]) {
  m[0] = w[0], m[1] = w[0] + w[2], m[2] = w[2], m[3] = m[4] = w[1];
}

TW_TRANSFORM tw_results_of(const float m[5], float start, float y[2]) {
  const float middle = start + m[1];
  y[0] = middle + m[0] + m[3], y[1] = middle - m[2] + m[4];
}

#else

/* Three gradients, and the two of them that the middle tap meets. */
TW_TRANSFORM tw_factors_of_pixels(const float x[5], float m[5], tw_moves moves) {
  TW_UNROLLED(5) for (int i = 0; i < 5; i++) tw_move_out(moves, i), tw_move_in(moves, i);
  m[0] = x[0] - x[1], m[1] = x[1], m[2] = x[1] - x[2], m[3] = x[3], m[4] = x[4];
}

TW_TRANSFORM tw_factors_of_taps(const float w[3], float m[5]) {
  m[0] = w[2], m[1] = w[0] + w[2], m[2] = w[0], m[3] = m[4] = w[1];
}

/* The two pixels that two taps reach, then the others. */
TW_TRANSFORM tw_results_of(const float m[5], float start, float y[4]) {
  const float middle = start + m[1];
  y[0] = middle + m[0], y[1] = middle - m[2], y[2] = start + m[3], y[3] = start + m[4];
}

#endif

#endif
