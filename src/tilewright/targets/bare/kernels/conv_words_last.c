/* Convolution of bytes with channels as the last axis, by dot products of four bytes. */
#ifndef TW_NAME
#define TW_NAME tw_conv_words_last
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "dotted_windows.h"

/* Channels of a pixel, as what is multiplied. */
static void copy_channels(const TW_X *x, int32_t count, TW_X *to) {
  if ((((uintptr_t)x | (uintptr_t)to | (uint32_t)count) & 3) == 0) {
    const word *const from = (const word *)(const void *)x;
    for (int32_t i = 0; i < count / 4; i++) ((word *)(void *)to)[i] = from[i] ^ (TW_MORE ? 0x80808080u : 0);
  } else {
    for (int32_t c = 0; c < count; c++) to[c] = (TW_X)TW_AS_DOTTED(x[c]);
  }
}

/* The window of a result, as filters have their taps. */
static void gather(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t out_x, TW_X *to) {
  const int32_t channels = p->in_channels;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; s < p->kernel_w; s++, to += channels) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if ((uint32_t)in_y < (uint32_t)p->in_h && (uint32_t)in_x < (uint32_t)p->in_w) {
        copy_channels(x + (in_y * p->in_w + in_x) * channels, channels, to);
      } else {
        for (int32_t c = 0; c < channels; c++) to[c] = (TW_X)TW_AS_DOTTED(p->x_zero);
      }
    }
  }
}

static void place(const tw_conv_params *p, const TW_Y *from, int32_t pixels, int32_t filter, int32_t pixel, TW_Y *y) {
  TW_Y *to = y + pixel * p->out_channels + filter;
  for (int32_t i = 0; i < pixels; i++, to += p->out_channels) *to = from[i];
}
