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

#if TW_FORM == 1

TW_TRANSFORM tw_factors_of_pixels(const float x[6], float m[6]) {
  const float a = x[4] - 4.0f * x[2], b = x[3] - 4.0f * x[1], c = x[4] - x[2], d = x[3] - x[1];
  m[0] = 4.0f * x[0] + (x[4] - 5.0f * x[2]);
  m[1] = a + b, m[2] = a - b, m[3] = c + 2.0f * d, m[4] = c - 2.0f * d;
  m[5] = 4.0f * x[1] + (x[5] - 5.0f * x[3]);
}

TW_TRANSFORM tw_factors_of_taps(const float w[3], float m[6]) {
  const float a = w[0] + w[2], b = w[0] + 4.0f * w[2];
  m[0] = w[0], m[1] = a + w[1], m[2] = a - w[1], m[3] = b + 2.0f * w[1], m[4] = b - 2.0f * w[1], m[5] = w[2];
}

/* `start` is in all results. */
TW_TRANSFORM tw_results_of(const float m[6], float start, float y[4]) {
  const float a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  const float even = start - a * (1.0f / 6), odd = start - b * (1.0f / 6);
  y[0] = even + c * (1.0f / 24) + m[0] * 0.25f, y[1] = odd + d * (1.0f / 12);
  y[2] = even + c * (1.0f / 6), y[3] = odd + d * (1.0f / 3) + m[5];
}

TW_TRANSFORM tw_factors_of_results(const float y[4], float m[6]) {
  const float even = (y[0] + y[2]) * (-1.0f / 6), odd = (y[1] + y[3]) * (-1.0f / 6);
  const float outer = y[0] * (1.0f / 24) + y[2] * (1.0f / 6), inner = y[1] * (1.0f / 12) + y[3] * (1.0f / 3);
  m[0] = y[0] * 0.25f, m[1] = even + odd, m[2] = even - odd, m[3] = outer + inner, m[4] = outer - inner, m[5] = y[3];
}

TW_TRANSFORM tw_taps_of(const float m[6], float w[3]) {
  const float a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  w[0] = m[0] + a + c, w[1] = b + 2.0f * d, w[2] = a + 4.0f * c + m[5];
}

#elif TW_FORM == 2

TW_TRANSFORM tw_factors_of_pixels(const float x[5], float m[5]) {
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
TW_TRANSFORM tw_factors_of_pixels(const float x[5], float m[5]) {
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
