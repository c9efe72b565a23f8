/* The largest byte of each window, channels second, by the larger ones of four pairs of bytes: the rows of a window become one first. */
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_max4
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "larger_bytes.h"
#include "maxpool_max4_sizes.h"
#include "taps_inside.h"

#define LOWEST ((TW_X)-1 < 0 ? -128 : 0)

static void join_words(const tw_word *x, int32_t pitch, int32_t rows, int32_t words, tw_word *to) {
  for (int32_t i = 0; i < words; i++) {
    const tw_word *at = x + i;
    uint32_t found = *at;
    for (int32_t row = rows - 1; row > 0; row--) {
      at += pitch;
      found = TW_LARGER4(found, *at);
    }
    to[i] = found;
  }
}

static void join_bytes(const TW_X *x, int32_t pitch, int32_t rows, int32_t width, TW_X *to) {
  for (int32_t i = 0; i < width; i++) {
    TW_X found = x[i];
    for (int32_t row = 1; row < rows; row++) {
      const TW_X value = x[i + row * pitch];
      if (value > found) found = value;
    }
    to[i] = found;
  }
}

/* The largest of the rows at each place. */
static void join(const TW_X *x, int32_t pitch, int32_t rows, int32_t width, tw_word *to) {
  if (rows <= 0) {
    for (int32_t i = 0; i < (width + 3) / 4; i++) to[i] = (LOWEST & 255) * 0x01010101u;
  } else if (((uintptr_t)x | (uint32_t)width) & 3) {
    join_bytes(x, pitch, rows, width, (TW_X *)to);
  } else {
    join_words((const tw_word *)(const void *)x, pitch / 4, rows, width / 4, to);
  }
}

static TW_Y largest(const TW_X *x, int32_t step, int32_t count) {
  int32_t found = LOWEST;
  for (; count > 0; count--, x += step) {
    const int32_t value = *x;
    if (value > found) found = value;
  }
  return (TW_Y)found;
}

/* Pairs side by side: two of them are in a word. */
static void of_pairs(const tw_word *row, int32_t count, TW_Y *y) {
  for (; count > 0; count -= 2, row++, y += 2) {
    const uint32_t word = *row, found = TW_LARGER4(word, word >> 8);
    y[0] = (TW_Y)found;
    if (count > 1) y[1] = (TW_Y)(found >> 16);
  }
}

static void of_windows(const tw_pool_params *p, const TW_X *row, TW_Y *y) {
  for (int32_t out_x = 0, left = -p->pad_left; out_x < p->out_w; out_x++, left += p->stride_w) {
    const tw_range s = taps_inside(left, p->dilation_w, p->kernel_w, p->in_w);
    y[out_x] = largest(row + left + s.first * p->dilation_w, p->dilation_w, s.end - s.first);
  }
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y, void *scratch) {
  const tw_pool_params p = *params;
  const int has_pairs = p.kernel_w == 2 && p.stride_w == 2 && p.dilation_w == 1 && p.pad_left == 0 && 2 * p.out_w <= p.in_w;
  for (int32_t plane = 0; plane < p.batch * p.channels; plane++, x += p.in_h * p.in_w) {
    for (int32_t out_y = 0; out_y < p.out_h; out_y++, y += p.out_w) {
      const int32_t top = out_y * p.stride_h - p.pad_top;
      const tw_range r = taps_inside(top, p.dilation_h, p.kernel_h, p.in_h);
      join(x + (top + r.first * p.dilation_h) * p.in_w, p.dilation_h * p.in_w, r.end - r.first, p.in_w, scratch);
      if (has_pairs) of_pairs(scratch, p.out_w, y);
      else of_windows(&p, scratch, y);
    }
  }
}
