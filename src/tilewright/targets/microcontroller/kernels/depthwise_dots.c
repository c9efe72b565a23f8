/* Convolution of bytes, channels second, with windows of 3 x 3 where each group has one input channel, by dot products of four bytes.
 * Windows are not cut out of rows: weights are shifted to where a window begins in its word instead. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_dots
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "conv_dots_sizes.h"
#include "depthwise_bands.h"
#include "dotted_bytes.h"

/* Of a row of weights: words for windows that begin with the first to fourth byte of a word, and the rest of the last two, which lies
 * in the next word. */
typedef struct {
  uint32_t at[4], rest[2];
} shifted;

static shifted shifted_of(const int32_t *w) {
  const uint32_t row = (uint32_t)(w[0] & 255) | (uint32_t)(w[1] & 255) << 8 | (uint32_t)(w[2] & 255) << 16;
  const shifted s = {{row, row << 8, row << 16, row << 24}, {row >> 16, row >> 8}};
  return s;
}

TW_ALWAYS uint32_t dotted_bytes(uint32_t word) { return word ^ (TW_MORE ? 0x80808080u : 0); }

/* What a row of a band adds to the totals of four windows one element apart, or of two two apart. */
#define ROW_BY_1(s, x)                                                                    \
  do {                                                                                    \
    const uint32_t low_ = dotted_bytes((x)[0]), high_ = dotted_bytes((x)[1]);             \
    a = TW_DOT4(a, (s).at[0], low_), b = TW_DOT4(b, (s).at[1], low_);                     \
    c = TW_DOT4(c, (s).at[2], low_), d = TW_DOT4(d, (s).at[3], low_);                     \
    c = TW_DOT4(c, (s).rest[0], high_), d = TW_DOT4(d, (s).rest[1], high_);               \
  } while (0)
#define ROW_BY_2(s, x)                                                                    \
  do {                                                                                    \
    const uint32_t low_ = dotted_bytes((x)[0]), high_ = dotted_bytes((x)[1]);             \
    a = TW_DOT4(a, (s).at[0], low_), b = TW_DOT4(b, (s).at[2], low_);                     \
    b = TW_DOT4(b, (s).rest[0], high_);                                                   \
  } while (0)

typedef const uint32_t __attribute__((may_alias)) * words;

static __attribute__((noinline)) void rows_by_1(windows all, shifted s, shifted t, shifted u, uint32_t start, int32_t *total) {
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    words x = (words)(const void *)all.from, y = x + all.pitch / 4, z = y + all.pitch / 4;
    for (int32_t left = all.columns; left > 0; left -= 4, x++, y++, z++, total += 4) {
      uint32_t a = start, b = start, c = start, d = start;
      ROW_BY_1(s, x);
      ROW_BY_1(t, y);
      ROW_BY_1(u, z);
      total[0] = (int32_t)a;
      if (left < 4) {
        if (left > 1) total[1] = (int32_t)b;
        if (left > 2) total[2] = (int32_t)c;
        total += left - 4;
      } else {
        total[1] = (int32_t)b, total[2] = (int32_t)c, total[3] = (int32_t)d;
      }
    }
  }
}

static __attribute__((noinline)) void rows_by_2(windows all, shifted s, shifted t, shifted u, uint32_t start, int32_t *total) {
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    words x = (words)(const void *)all.from, y = x + all.pitch / 4, z = y + all.pitch / 4;
    int32_t left = all.columns;
    for (; left > 0; left -= 2, x++, y++, z++) {
      uint32_t a = start, b = start;
      ROW_BY_2(s, x);
      ROW_BY_2(t, y);
      ROW_BY_2(u, z);
      *total++ = (int32_t)a;
      if (left > 1) *total++ = (int32_t)b;
    }
  }
}

static void filter_on_band(const tw_conv_params *p, windows all, const int32_t *w, int32_t start, int32_t *total) {
  const shifted s = shifted_of(w), t = shifted_of(w + 3), u = shifted_of(w + 6);
  uint32_t sum = 0;
  for (int32_t i = 0; i < 9; i++) sum += (uint32_t)w[i];
  const uint32_t first = (uint32_t)start + (uint32_t)TW_MORE * sum;
  if (p->stride_w == 1) rows_by_1(all, s, t, u, first, total);
  else rows_by_2(all, s, t, u, first, total);
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  /* The last window's next word lies behind the band. */
  const int64_t last = tw_depthwise_dots_scratch(params) / 4 - 1;
  ((uint32_t *)scratch)[last] = 0;
  tw_on_bands(params, 0, filter_on_band, x, w, b, mul, add, y, scratch);
}
