#ifndef TW_GPU_QUANTISED_PIXELS_H
#define TW_GPU_QUANTISED_PIXELS_H

#include <stdint.h>

/* x[images][channels][pixels], y[images][pixels][made]; low and high are the limits of y's type. */
typedef struct {
  int32_t images, channels, pixels;
  int32_t made;  /* channels of y: those of x, and more that have one level */
  int32_t level;
  int32_t low, high;
} tw_gpu_quantised_pixels_params;

#endif
