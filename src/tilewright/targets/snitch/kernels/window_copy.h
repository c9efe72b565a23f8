/* Windows of an image with channels as the second axis, as rows of a product: channel by channel, line by line. Elements outside
 * the image are zeros. Includes stream_sums.h's copies; TW_FETCH(at) gives the bits of the float of the element at an address. */
#ifndef TW_WINDOW_COPY_H
#define TW_WINDOW_COPY_H

#include "conv.h"
#include "stream_sums.h"

/* Where the window of a result begins in the image, and a place in it. */
typedef struct {
  int32_t top, left;
  int32_t channel, line, column;
} tw_place;

static inline tw_place tw_place_of(const tw_conv_params *p, int32_t pixel, int32_t product) {
  const uint32_t taps = (uint32_t)(p->kernel_h * p->kernel_w);
  const uint32_t y = (uint32_t)pixel / (uint32_t)p->out_w, x = (uint32_t)pixel - y * (uint32_t)p->out_w;
  const uint32_t channel = (uint32_t)product / taps, tap = (uint32_t)product - channel * taps, line = tap / (uint32_t)p->kernel_w;
  const tw_place place = {(int32_t)y * p->stride_h - p->pad_top, (int32_t)x * p->stride_w - p->pad_left, (int32_t)channel,
                          (int32_t)line, (int32_t)(tap - line * (uint32_t)p->kernel_w)};
  return place;
}

/* Defines tw_copy_window(p, image, table, pixel, first, count, to): products `first` on of a result. What is stored could be
 * a parameter for all that the compiler knows: they are read before. */
#define TW_DEFINE_COPY_WINDOW(TYPE, FETCH)                                                                                \
  /* A run of a line, of which some elements lie outside the image. */                                                    \
  static inline void tw_copy_line(const TYPE *line, const uint32_t *table, int32_t x, int32_t step, uint32_t width,       \
                                  int32_t n, uint64_t *to) {                                                              \
    (void)table;                                                                                                          \
    for (; n > 0; n--, x += step, to++) tw_put(to, (uint32_t)x < width ? FETCH(line[x]) : 0);                             \
  }                                                                                                                       \
  /* One of which all lie inside. */                                                                                      \
  static inline void tw_copy_inside(const TYPE *from, const uint32_t *table, int32_t step, int32_t n, uint64_t *to) {     \
    (void)table;                                                                                                          \
    for (; n >= 3; n -= 3, from += 3 * step, to += 3) {                                                                   \
      const TYPE first = from[0], second = from[step], third = from[2 * step];                                            \
      const uint32_t one = FETCH(first), two = FETCH(second), three = FETCH(third);                                       \
      tw_put(to, one);                                                                                                    \
      tw_put(to + 1, two);                                                                                                \
      tw_put(to + 2, three);                                                                                              \
    }                                                                                                                     \
    for (; n > 0; n--, from += step, to++) tw_put(to, FETCH(*from));                                                      \
  }                                                                                                                       \
  /* Whole windows of 3 x 3 neighbours that lie inside, of some channels. */                                             \
  static __attribute__((noinline)) void tw_copy_nines(const TYPE *from, const uint32_t *table, int32_t plane, int32_t width, \
                                                      int32_t channels, uint64_t *to) {                                   \
    (void)table;                                                                                                          \
    for (; channels > 0; channels--, from += plane, to += 9) {                                                            \
      const TYPE *const second = from + width, *const third = second + width;                                             \
      const TYPE a = from[0], b = from[1], c = from[2], d = second[0], e = second[1], f = second[2];                      \
      const TYPE g = third[0], h = third[1], i = third[2];                                                                \
      const uint32_t nine[9] = {FETCH(a), FETCH(b), FETCH(c), FETCH(d), FETCH(e), FETCH(f), FETCH(g), FETCH(h), FETCH(i)}; \
      for (int tap = 0; tap < 9; tap++) tw_put(to + tap, nine[tap]);                                                      \
    }                                                                                                                     \
  }                                                                                                                       \
  static __attribute__((noinline)) void tw_copy_window(const tw_conv_params *p, const TYPE *image, const uint32_t *table, \
                                                       int32_t pixel, int32_t first, int32_t count, uint64_t *to) {       \
    const tw_place at = tw_place_of(p, pixel, first);                                                                     \
    const int32_t height = p->in_h, width = p->in_w, plane = height * width, step = p->dilation_w, taps = p->kernel_w;    \
    const int32_t lines = p->kernel_h, down = p->dilation_h, down_elements = down * width;                                \
    const int is_inside = at.left >= 0 && at.left + (taps - 1) * step < width;                                            \
    const TYPE *channel = image + at.channel * plane + at.top * width, *from = channel + at.line * down_elements;         \
    const int is_nine = is_inside && taps == 3 && lines == 3 && step == 1 && down == 1 && at.top >= 0 && at.top + 2 < height; \
    int32_t line = at.line, y = at.top + line * down, column = at.column;                                                 \
    while (count > 0) {                                                                                                   \
      if (is_nine && line == 0 && column == 0 && count >= 9) {                                                            \
        const int32_t channels = count / 9;                                                                               \
        tw_copy_nines(channel + at.left, table, plane, width, channels, to);                                              \
        channel += channels * plane;                                                                                      \
        from = channel;                                                                                                   \
        to += channels * 9;                                                                                               \
        count -= channels * 9;                                                                                            \
        continue;                                                                                                         \
      }                                                                                                                   \
      const int32_t n = tw_min(taps - column, count), x = at.left + column * step;                                        \
      if ((uint32_t)y >= (uint32_t)height) {                                                                              \
        for (int32_t i = 0; i < n; i++) tw_put(to + i, 0);                                                                \
      } else if (is_inside) {                                                                                             \
        tw_copy_inside(from + x, table, step, n, to);                                                                     \
      } else {                                                                                                            \
        tw_copy_line(from, table, x, step, (uint32_t)width, n, to);                                                       \
      }                                                                                                                   \
      count -= n;                                                                                                         \
      to += n;                                                                                                            \
      column = 0;                                                                                                         \
      from += down_elements;                                                                                              \
      y += down;                                                                                                          \
      if (++line < lines) continue;                                                                                       \
      line = 0;                                                                                                           \
      y = at.top;                                                                                                         \
      channel += plane;                                                                                                   \
      from = channel;                                                                                                     \
    }                                                                                                                     \
  }

/* Whether a window is one element, always inside: its channels are then a constant step apart. */
static inline int tw_is_point(const tw_conv_params *p) {
  return p->kernel_h * p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 && (p->out_h - 1) * p->stride_h < p->in_h &&
         (p->out_w - 1) * p->stride_w < p->in_w;
}

#endif
