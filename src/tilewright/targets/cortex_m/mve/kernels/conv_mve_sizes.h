/* Working memory of convolutions on vectors of 16 bytes. */
#ifndef TW_CONV_MVE_SIZES_H
#define TW_CONV_MVE_SIZES_H

#include "conv_mve.h"

#define TW_VECTOR_BYTES 16

/* Bytes of some elements in whole vectors. */
static inline int64_t tw_in_vectors(int64_t elements, int32_t bytes) {
  const int64_t vector = TW_VECTOR_BYTES / bytes;
  return (elements + vector - 1) / vector * TW_VECTOR_BYTES;
}

/* The window of one pixel. */
static inline int64_t tw_window_bytes(const tw_conv_mve_params *p, int32_t x_bytes) {
  return tw_in_vectors((int64_t)p->conv.kernel_h * p->conv.kernel_w * p->conv.in_channels, x_bytes);
}

/* The windows of a strip, and what is written behind the last one. */
static inline int64_t tw_conv_mve_scratch(const tw_conv_mve_params *p, int32_t x_bytes) {
  return p->strip ? p->strip * tw_window_bytes(p, x_bytes) + TW_VECTOR_BYTES : 0;
}

/* Offsets of the taps of a window, in pairs. */
static inline int32_t tw_tap_pairs(const tw_conv_params *p) { return (p->kernel_h * p->kernel_w + 1) / 2; }

/* Where the taps are, inside and at a border, and a row of zeros. */
static inline int64_t tw_depthwise_mve_scratch(const tw_conv_mve_params *p, int32_t x_bytes) {
  return 4 * 2 * 2 * (int64_t)tw_tap_pairs(&p->conv) + tw_in_vectors(p->conv.groups, x_bytes);
}

#endif
