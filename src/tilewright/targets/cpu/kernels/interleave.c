/* Planes of bytes become one in which the bytes of a pixel lie side by side: y[batch][pixel][plane] */
#include "interleave.h"

#ifndef TW_NAME
#define TW_NAME tw_interleave
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* For a few planes whose number compilers know, they find the instruction. */
static inline void few_planes(const TW_X *x, TW_Y *restrict y, int32_t pixels, int32_t planes) {
  for (int32_t i = 0; i < pixels; i++) {
    for (int32_t c = 0; c < planes; c++) y[i * planes + c] = (TW_Y)x[c * pixels + i];
  }
}

void TW_NAME(const tw_interleave_params *params, const TW_X *x, TW_Y *y) {
  const int32_t pixels = params->pixels, planes = params->planes;
  for (int32_t b = 0; b < params->batch; b++, x += (int64_t)pixels * planes, y += (int64_t)pixels * planes) {
    if (planes == 2) {
      few_planes(x, y, pixels, 2);
    } else if (planes == 3) {
      few_planes(x, y, pixels, 3);
    } else {
      few_planes(x, y, pixels, 4);
    }
  }
}
