/* saturate(round(x / scale) + offset), ties to even; what is not a number gives the lowest value. */
#ifndef TW_GPU_QUANTISE_H
#define TW_GPU_QUANTISE_H

#include "gpu.h"

/* Floats from 2^23 on have no fraction. */
TW_GPU int32_t tw_round_half_even(float x) {
  const float no_fraction = 12582912.0f, up = x + no_fraction;
  return (int32_t)(up - no_fraction);
}

TW_GPU int32_t tw_quantised(float x, float scale, int32_t offset, int32_t lowest, int32_t highest) {
  const float low = (float)(lowest - offset), high = (float)(highest - offset);
  const float value = x / scale;
  const float clamped = value >= low ? value <= high ? value : high : low;
  return tw_round_half_even(clamped) + offset;
}

#endif
