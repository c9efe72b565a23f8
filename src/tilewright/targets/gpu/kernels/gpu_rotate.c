/* y = x * cosine + other * sine: the other of the first of a pair is the second, negated; that of the second the first.
 * An item for each element. */
#include "gpu_each.h"
#include "gpu_rotate.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_rotate
#endif

static inline tw_grid grid(const tw_gpu_rotate_params *params) { return tw_items(tw_binary_length(&params->loops)); }

TW_GPU void group(const tw_gpu_rotate_params *params, const float *x, const float *cosine, const float *sine,
                  float *y) {
  const int32_t apart = params->interleaved ? 1 : params->length / 2;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < tw_binary_length(&params->loops)) {
      int32_t at_cosine, at_sine;
      const int32_t is_second = i % params->length / apart % 2;
      tw_binary_place(&params->loops, i, &at_cosine, &at_sine);
      const float other = is_second ? x[i - apart] : -x[i + apart];
      y[i] = x[i] * cosine[at_cosine] + other * sine[at_sine];
    }
  }
}

TW_GPU_KERNEL(tw_gpu_rotate_params, (const float *x, const float *cosine, const float *sine, float *y),
              (x, cosine, sine, y))
