/* y = x * cosine + other * sine: the other of the first of a pair is the second, negated; that of the second the first.
 * An item for each element. */
#include "gpu.h"
#include "gpu_binary.h"
#include "gpu_rotate.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_rotate
#define TW_X float
#define TW_COSINE float
#define TW_SINE float
#define TW_Y float
#endif
#include "gpu_stored.h"
#ifndef TW_COSINE_LOAD
#define TW_COSINE_LOAD(element) (element)
#endif
#ifndef TW_SINE_LOAD
#define TW_SINE_LOAD(element) (element)
#endif

static inline tw_grid grid(const tw_gpu_rotate_params *params) { return tw_items(tw_binary_length(&params->loops)); }

TW_GPU void group(const tw_gpu_rotate_params *params, const TW_X *x, const TW_COSINE *cosine,
                  const TW_SINE *sine, TW_Y *y) {
  const int32_t apart = params->interleaved ? 1 : params->length / 2;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < tw_binary_length(&params->loops)) {
      int32_t at_cosine, at_sine;
      const int32_t is_second = i % params->length / apart % 2;
      tw_binary_place(&params->loops, i, &at_cosine, &at_sine);
      const float other = is_second ? TW_X_LOAD(x[i - apart]) : -TW_X_LOAD(x[i + apart]);
      const float turned =
          TW_X_LOAD(x[i]) * TW_COSINE_LOAD(cosine[at_cosine]) + other * TW_SINE_LOAD(sine[at_sine]);
      y[i] = TW_Y_STORE(turned);
    }
  }
}

TW_GPU_KERNEL(tw_gpu_rotate_params, (const TW_X *x, const TW_COSINE *cosine, const TW_SINE *sine, TW_Y *y),
              (x, cosine, sine, y))
