/* y = x * cosine + other * sine: an item for each element. */
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
#include "gpu_turn.h"

static inline tw_grid grid(const tw_gpu_rotate_params *params) { return tw_items(tw_binary_length(&params->loops)); }

TW_GPU void group(const tw_gpu_rotate_params *params, const TW_X *x, const TW_COSINE *cosine,
                  const TW_SINE *sine, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < tw_binary_length(&params->loops)) {
      int32_t at_cosine, at_sine;
      const int32_t away = tw_other(i % params->length, params->length, params->interleaved);
      tw_binary_place(&params->loops, i, &at_cosine, &at_sine);
      y[i] = TW_Y_STORE(tw_turned(TW_X_LOAD(x[i]), TW_X_LOAD(x[i + away]), away, TW_COSINE_LOAD(cosine[at_cosine]),
                                  TW_SINE_LOAD(sine[at_sine])));
    }
  }
}

TW_GPU_KERNEL(tw_gpu_rotate_params, (const TW_X *x, const TW_COSINE *cosine, const TW_SINE *sine, TW_Y *y),
              (x, cosine, sine, y))
