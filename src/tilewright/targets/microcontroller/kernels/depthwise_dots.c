/* Convolution of bytes, channels second, where each group has one input channel, by dot products of four bytes. Windows are not cut out
 * of rows: weights are shifted to where a window begins in its word instead. Those of 3 x 3 are in registers. */
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

typedef const uint32_t __attribute__((may_alias)) * words_of;

static __attribute__((noinline)) void rows_by_1(windows all, shifted s, shifted t, shifted u, uint32_t start, int32_t *total) {
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    words_of x = (words_of)(const void *)all.from, y = x + all.pitch / 4, z = y + all.pitch / 4;
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
    words_of x = (words_of)(const void *)all.from, y = x + all.pitch / 4, z = y + all.pitch / 4;
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

/* Of windows of any size: for every word of a row of weights, what stands there for windows that begin with the first to fourth byte of
 * the row's first word. */
static void set_shifted(const tw_conv_params *p, const int32_t *w, uint32_t *table) {
  const int32_t words = tw_shifted_words(p);
  for (int32_t i = 0; i < 4 * words * p->kernel_h; i++) table[i] = 0;
  for (int32_t i = 0; i < p->kernel_h; i++, table += 4 * words)
    for (int32_t j = 0; j < p->kernel_w; j++, w++)
      for (int32_t at = j; at < j + 4; at++) table[(at & ~3) + at - j] |= (uint32_t)(*w & 255) << (at & 3) * 8;
}

static __attribute__((noinline)) void any_rows_by_1(const tw_conv_params *p, windows all, const uint32_t *table, uint32_t start,
                                                    int32_t *total) {
  const int32_t words = tw_shifted_words(p);
  for (; all.rows > 0; all.rows--, all.from += all.step)
    for (int32_t first = 0; first < all.columns; first += 4) {
      uint32_t a = start, b = start, c = start, d = start;
      const TW_X *row = all.from + first;
      const uint32_t *t = table;
      for (int32_t i = p->kernel_h; i > 0; i--, row += all.pitch) {
        words_of x = (words_of)(const void *)row;
        for (int32_t k = words; k > 0; k--, t += 4) {
          const uint32_t word = dotted_bytes(*x++);
          a = TW_DOT4(a, t[0], word), b = TW_DOT4(b, t[1], word);
          c = TW_DOT4(c, t[2], word), d = TW_DOT4(d, t[3], word);
        }
      }
      const int32_t left = all.columns - first;
      *total++ = (int32_t)a;
      if (left > 1) *total++ = (int32_t)b;
      if (left > 2) *total++ = (int32_t)c;
      if (left > 3) *total++ = (int32_t)d;
    }
}

static __attribute__((noinline)) void any_rows_by_2(const tw_conv_params *p, windows all, const uint32_t *table, uint32_t start,
                                                    int32_t *total) {
  const int32_t words = tw_shifted_words(p);
  for (; all.rows > 0; all.rows--, all.from += all.step)
    for (int32_t first = 0; first < all.columns; first += 2) {
      uint32_t a = start, b = start;
      const TW_X *row = all.from + 2 * first;
      const uint32_t *t = table;
      for (int32_t i = p->kernel_h; i > 0; i--, row += all.pitch) {
        words_of x = (words_of)(const void *)row;
        for (int32_t k = words; k > 0; k--, t += 4) {
          const uint32_t word = dotted_bytes(*x++);
          a = TW_DOT4(a, t[0], word), b = TW_DOT4(b, t[2], word);
        }
      }
      *total++ = (int32_t)a;
      if (all.columns - first > 1) *total++ = (int32_t)b;
    }
}

/* Totals begin the working memory, shifted weights end it. */
static void any_filter_on_band(const tw_conv_params *p, windows all, const int32_t *w, uint32_t start, int32_t *total) {
  uint32_t *const table = (uint32_t *)total + (tw_depthwise_dots_scratch(p) - tw_shifted_bytes(p)) / 4;
  set_shifted(p, w, table);
  if (p->stride_w == 1) any_rows_by_1(p, all, table, start, total);
  else any_rows_by_2(p, all, table, start, total);
}

static void filter_on_band(const tw_conv_params *p, windows all, const int32_t *w, int32_t start, int32_t *total) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < p->kernel_h * p->kernel_w; i++) sum += (uint32_t)w[i];
  const uint32_t first = (uint32_t)start + (uint32_t)TW_MORE * sum;
  if (!tw_is_3x3(p)) {
    any_filter_on_band(p, all, w, first, total);
    return;
  }
  const shifted s = shifted_of(w), t = shifted_of(w + 3), u = shifted_of(w + 6);
  if (p->stride_w == 1) rows_by_1(all, s, t, u, first, total);
  else rows_by_2(all, s, t, u, first, total);
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  /* The last window's next word lies behind the band. */
  const int64_t last = (tw_depthwise_dots_scratch(params) - tw_shifted_bytes(params)) / 4 - 1;
  ((uint32_t *)scratch)[last] = 0;
  tw_on_bands(params, 0, filter_on_band, x, w, b, mul, add, y, scratch);
}
