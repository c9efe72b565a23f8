/* Convolution of bytes with channels as the second axis, by dot products of four bytes. */
#ifndef TW_NAME
#define TW_NAME tw_conv_words_second
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "dotted_windows.h"

/* Windows of 3 x 3 neighbours that lie inside. */
static void gather_nines(const TW_X *x, int32_t plane, int32_t width, int32_t channels, TW_X *to) {
  for (; channels > 0; channels--, x += plane, to += 9) {
    const TW_X *const second = x + width, *const third = second + width;
    const TW_X a = x[0], b = x[1], c = x[2], d = second[0], e = second[1], f = second[2], g = third[0], h = third[1], i = third[2];
    to[0] = (TW_X)TW_AS_DOTTED(a), to[1] = (TW_X)TW_AS_DOTTED(b), to[2] = (TW_X)TW_AS_DOTTED(c);
    to[3] = (TW_X)TW_AS_DOTTED(d), to[4] = (TW_X)TW_AS_DOTTED(e), to[5] = (TW_X)TW_AS_DOTTED(f);
    to[6] = (TW_X)TW_AS_DOTTED(g), to[7] = (TW_X)TW_AS_DOTTED(h), to[8] = (TW_X)TW_AS_DOTTED(i);
  }
}

static void gather_points(const TW_X *x, int32_t plane, int32_t channels, TW_X *to) {
  for (; channels >= 4; channels -= 4, x += 4 * plane, to += 4) {
    const TW_X a = x[0], b = x[plane], c = x[2 * plane], d = x[3 * plane];
    to[0] = (TW_X)TW_AS_DOTTED(a), to[1] = (TW_X)TW_AS_DOTTED(b), to[2] = (TW_X)TW_AS_DOTTED(c), to[3] = (TW_X)TW_AS_DOTTED(d);
  }
  for (; channels > 0; channels--, x += plane) *to++ = (TW_X)TW_AS_DOTTED(*x);
}

static void gather_any(const tw_conv_params *p, const TW_X *x, int32_t top, int32_t left, TW_X *to) {
  const int32_t plane = p->in_h * p->in_w;
  for (int32_t c = 0; c < p->in_channels; c++, x += plane) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const int32_t in_y = top + r * p->dilation_h;
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const int32_t in_x = left + s * p->dilation_w;
        const int is_inside = (uint32_t)in_y < (uint32_t)p->in_h && (uint32_t)in_x < (uint32_t)p->in_w;
        *to++ = (TW_X)TW_AS_DOTTED(is_inside ? x[in_y * p->in_w + in_x] : p->x_zero);
      }
    }
  }
}

static void gather(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t out_x, TW_X *to) {
  const int32_t top = out_y * p->stride_h - p->pad_top, left = out_x * p->stride_w - p->pad_left;
  const int32_t bottom = top + (p->kernel_h - 1) * p->dilation_h, right = left + (p->kernel_w - 1) * p->dilation_w;
  const int is_inside = top >= 0 && left >= 0 && bottom < p->in_h && right < p->in_w;
  const TW_X *const first = x + top * p->in_w + left;
  if (is_inside && p->kernel_h == 1 && p->kernel_w == 1) {
    gather_points(first, p->in_h * p->in_w, p->in_channels, to);
  } else if (is_inside && p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1) {
    gather_nines(first, p->in_h * p->in_w, p->in_w, p->in_channels, to);
  } else {
    gather_any(p, x, top, left, to);
  }
}

static void place(const tw_conv_params *p, const TW_Y *from, int32_t pixels, int32_t filter, int32_t pixel, TW_Y *y) {
  TW_Y *const to = y + filter * p->out_h * p->out_w + pixel;
  for (int32_t i = 0; i < pixels; i++) to[i] = from[i];
}
