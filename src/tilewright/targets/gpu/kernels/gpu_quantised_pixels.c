/* An image, quantised with one scale, its channels moved last, and more of them behind: an item for each pixel. */
#include "gpu.h"
#include "gpu_async.h"
#include "gpu_quantise.h"
#include "gpu_quantised_pixels.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_quantised_pixels
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

typedef tw_gpu_quantised_pixels_params tw_params;

enum { TW_WORD_CHANNELS = 4 };

static inline tw_grid grid(const tw_params *p) { return tw_items((int64_t)p->images * p->pixels); }

TW_GPU int32_t level_of(const tw_params *p, const float *x, float scale, int32_t offset, int32_t channel) {
  if (channel >= p->channels) return p->level;
  return tw_quantised(x[(int64_t)channel * p->pixels], scale, offset, p->low, p->high);
}

TW_GPU void group(const tw_params *p, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < p->images * p->pixels) {
      const int32_t image = i / p->pixels, pixel = i % p->pixels, offset = *zero;
      const float *const from = x + (int64_t)image * p->channels * p->pixels + pixel;
      TW_Y *const to = y + (int64_t)i * p->made;
      if (p->made == TW_WORD_CHANNELS) {
        uint32_t word = 0;
        TW_UNROLL for (int32_t channel = 0; channel < TW_WORD_CHANNELS; channel++) {
          word |= (uint32_t)(uint8_t)level_of(p, from, *scale, offset, channel) << 8 * channel;
        }
        *(tw_word *)to = word;
      } else {
        for (int32_t channel = 0; channel < p->made; channel++) {
          to[channel] = (TW_Y)level_of(p, from, *scale, offset, channel);
        }
      }
    }
  }
}

TW_GPU_KERNEL(tw_params, (const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y), (x, scale, zero, y))
