/* The largest element of each window, with the channels last, a word of them at a time; all cores together. */
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "larger.h"
#include "windows.h"

#define TW_AT_ONCE 4 /* words whose largest elements stay in registers */

static inline uint32_t larger(uint32_t a, uint32_t b) {
  if (sizeof(TW_X) == 4) return (uint32_t)tw_x_max((int32_t)a, (int32_t)b);
  return (uint32_t)(TW_IS_SIGNED(TW_X) ? tw_x_max4((int32_t)a, (int32_t)b) : tw_x_maxu4((int32_t)a, (int32_t)b));
}

static inline __attribute__((always_inline)) void window(const tw_pool_params *p, const uint32_t *image, int32_t top,
                                                         int32_t left, int32_t words, int at_once, uint32_t *y) {
  const uint32_t lowest = sizeof(TW_X) == 4 ? 0x80000000u : TW_IS_SIGNED(TW_X) ? TW_EVERY_SIGN : 0;
  uint32_t largest[TW_AT_ONCE];
  for (int i = 0; i < at_once; i++) largest[i] = lowest;
  for (int32_t r = 0, in_y = top; r < p->kernel_h; r++, in_y += p->dilation_h) {
    if (in_y < 0 || in_y >= p->in_h) continue;
    const uint32_t *at = image + (in_y * p->in_w + left) * words;
    for (int32_t s = 0, in_x = left; s < p->kernel_w; s++, in_x += p->dilation_w, at += p->dilation_w * words) {
      if (in_x < 0 || in_x >= p->in_w) continue;
      for (int i = 0; i < at_once; i++) largest[i] = larger(largest[i], at[i]);
    }
  }
  for (int i = 0; i < at_once; i++) y[i] = largest[i];
}

static void some_words(const tw_pool_params *p, const uint32_t *image, int32_t top, int32_t left, int32_t words, int32_t first,
                       int32_t count, uint32_t *y) {
  for (image += first; count >= TW_AT_ONCE; count -= TW_AT_ONCE, image += TW_AT_ONCE, y += TW_AT_ONCE) {
    window(p, image, top, left, words, TW_AT_ONCE, y);
  }
  for (; count > 0; count--) window(p, image++, top, left, words, 1, y++);
}

/* The same where words do not begin with pixels. */
static void some_elements(const tw_pool_params *p, const TW_X *image, int32_t top, int32_t left, int32_t channels,
                          int32_t first, int32_t count, TW_Y *y) {
  for (image += first; count > 0; count--, image++) {
    TW_X largest = TW_LOWEST;
    for (int32_t r = 0, in_y = top; r < p->kernel_h; r++, in_y += p->dilation_h) {
      for (int32_t s = 0, in_x = left; s < p->kernel_w; s++, in_x += p->dilation_w) {
        if (in_y < 0 || in_y >= p->in_h || in_x < 0 || in_x >= p->in_w) continue;
        largest = TW_LARGER(image[(in_y * p->in_w + in_x) * channels], largest);
      }
    }
    *y++ = largest;
  }
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const tw_pool_params own = *params, *const p = &own;
  const int32_t bytes = p->channels * (int32_t)sizeof(TW_X);
  if ((bytes & 3) == 0 && tw_begins_word(x) && tw_begins_word(y)) {
    const int32_t words = bytes >> 2;
    const uint32_t *const from = (const uint32_t *)(const void *)x;
    uint32_t *const to = (uint32_t *)(void *)y;
    TW_OWN_WINDOWS(some_words, p, words, 1, from, to);
  } else {
    const int32_t channels = p->channels;
    TW_OWN_WINDOWS(some_elements, p, channels, 1, x, y);
  }
}
