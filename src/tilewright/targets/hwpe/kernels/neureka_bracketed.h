/* Parameters of kernels that have N-EUREKA requantise twice, from below and from above, into their scratch memory. The
 * cores take what both give; where they differ, they sum up the products and requantise themselves. */
#ifndef TW_NEUREKA_BRACKETED_H
#define TW_NEUREKA_BRACKETED_H

#include "neureka.h"

typedef struct {
  tw_neureka_params start;
  int32_t images, rows, columns, filters;         /* of the result; rows of one image */
  int32_t source_image, source_row, source_pixel; /* bytes from one to the next in what N-EUREKA makes */
  int32_t made;                                   /* bytes of the lower results; the upper ones follow */
  int32_t x_first, x_image, x_row, x_column;      /* bytes to the first window, and from one to the next */
  int32_t height, width, pixel;                   /* of the image; bytes of a pixel */
  int32_t channels;                               /* that a filter sees: all, or its own one */
  int32_t taps_h, taps_w, step_h, step_w, top, left;
  int32_t fill; /* what lies outside the image */
  /* With s = -exponent and four times a total, a result is (the high word of its product with the factor, less `less` if
   * it is negative, + summand + halves * 2^s) >> (s + 1), clipped to 0 and `top_result`, plus `low`. */
  int32_t less, summand, halves, top_result, low;
} tw_neureka_bracketed_params;

/* Both lines have rows of scales and biases, and one shift for each filter. */
static inline void tw_neureka_start_bracketed(const tw_neureka_bracketed_params *p, const void *x, const void *w,
                                              const uint16_t *scale, const int32_t *bias, const uint8_t *shifts,
                                              uint8_t *made) {
  for (int32_t line = 0; line < 2; line++) {
    tw_neureka_start_shifted(&p->start, x, w, scale + line * p->filters, bias + line * p->filters, shifts,
                             made + line * p->made);
  }
}

#endif
