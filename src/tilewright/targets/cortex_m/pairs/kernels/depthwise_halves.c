/* Convolution of 16-bit elements, channels second, where each group has one input channel and columns of a window lie
 * side by side. The rows of a channel that some rows of results read are copied with their padding; two columns of a
 * window meet two weights in one instruction, for four results at a time.
 *
 * All that is constant of a filter lies together: what totals begin with, factor, shift, addend, then the weights of
 * each row of the window, two in a word. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_halves
#define TW_X int16_t
#define TW_Y int16_t
#endif

#include "always.h"
#include "conv_pairs_sizes.h"
#include "requant_row.h"
#include "row_copy.h"
#include "ways.h"
#include "widen.h"
#include "word_copy.h"

enum { TW_FILTER_WORDS = 4 }; /* before the weights */

/* Where windows begin, their size, and their filter. */
typedef struct {
  const int32_t *filter;
  const TW_X *x;
  int32_t row;          /* elements from a row of a window to the next */
  int32_t height, twos; /* the last of an odd number of columns has a neighbour of weight 0 */
  const tw_conv_params *p;
} windows;

/* The products of two elements with two weights, added; results within their type. */
#define TW_BITS (TW_BYTES_OF(TW_Y) == 1 ? 8 : 16) /* of results that are scaled here */

#ifdef __ARM_FEATURE_DSP
#define TW_ADD_TWO(x, w, sum) __smlad((int16x2_t)(x), (int16x2_t)(w), sum)
#define TW_LIMITED(value) ((TW_Y)-1 < 0 ? __ssat(value, TW_BITS) : (int32_t)__usat(value, TW_BITS))
#define TW_LIMITED_POSITIVE(value) ((int32_t)__usat(value, 15))
#else
TW_ALWAYS int32_t add_one(uint32_t x, uint32_t w, int32_t sum) {
  return (int32_t)((uint32_t)sum + (uint32_t)((int16_t)x * (int16_t)w));
}
#define TW_ADD_TWO(x, w, sum) add_one((x) >> 16, (w) >> 16, add_one(x, w, sum))
TW_ALWAYS int32_t limited(int32_t value, int32_t bits, int is_signed) {
  const int32_t most = (1 << (bits - is_signed)) - 1;
  return tw_within(value, is_signed ? -1 - most : 0, most);
}
#define TW_LIMITED(value) limited(value, TW_BITS, (TW_Y)-1 < 0)
#define TW_LIMITED_POSITIVE(value) limited(value, 15, 0)
#endif

/* Totals of as many windows `apart` elements apart. */
TW_ALWAYS void totals_of_any(const windows *all, const TW_X *x, int32_t apart, int32_t count, int32_t *total) {
  const uint32_t *w = (const uint32_t *)all->filter + TW_FILTER_WORDS;
  for (int32_t i = 0; i < count; i++) total[i] = all->filter[0];
  for (int32_t r = 0; r < all->height; r++, x += all->row) {
    for (int32_t s = 0; s < all->twos; s++, w++) {
      const TW_X *const from = x + 2 * s;
      for (int32_t i = 0; i < count; i++) total[i] = TW_ADD_TWO(tw_word_at(from + i * apart), *w, total[i]);
    }
  }
}

TW_ALWAYS void results_of(const windows *all, int32_t way, const int32_t *total, int32_t count, TW_Y *y) {
  const int32_t *const f = all->filter;
  if (way == TW_BY_TOTALS) {
    const tw_requant *const r = &all->p->requant;
    const int32_t add = f[3];
    const tw_way own = tw_way_of(all->p->requantised, r, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 0);
    const tw_factor factor = tw_factor_of(own, r, f[1], add);
    tw_requantise_row(own, r, &factor, total, y, count);
    return;
  }
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = (tw_upper(total[i], f[1]) + f[3]) >> f[2];
    y[i] = (TW_Y)(way == TW_BY_POSITIVE ? TW_LIMITED_POSITIVE(value) : TW_LIMITED(value));
  }
}

TW_ALWAYS void any_four(const windows *all, int32_t way, int32_t apart, const TW_X *x, TW_Y *y) {
  int32_t total[4];
  totals_of_any(all, x, apart, 4, total);
  results_of(all, way, total, 4, y);
}

/* Results of windows of 3 x 3, one or two elements apart, up to `end`. The compiler runs out of registers. */
#ifdef __ARM_FEATURE_DSP
#define TW_DOWN "add.w %[x], %[x], %[row], lsl #1\n\t"
#define TW_ROW_BY_1(first, last, s0, s1, s2)                                                                         \
  "ldr.w %[a], [%[x]]\n\tldr.w %[b], [%[x], #2]\n\tldr.w %[c], [%[x], #4]\n\tldr.w %[v], [%[f], #" first "]\n\t" \
  "smlad %[t0], %[a], %[v], " s0 "\n\tsmlad %[t1], %[b], %[v], " s1 "\n\tldr.w %[a], [%[x], #6]\n\t"             \
  "ldr.w %[b], [%[x], #8]\n\tsmlad %[t2], %[c], %[v], " s2 "\n\tsmlad %[t3], %[a], %[v], %[t3]\n\t"              \
  "ldr.w %[v], [%[f], #" last "]\n\t"                                                                             \
  "smlabb %[t0], %[c], %[v], %[t0]\n\tsmlatb %[t1], %[c], %[v], %[t1]\n\t"                                      \
  "smlabb %[t2], %[b], %[v], %[t2]\n\tsmlatb %[t3], %[b], %[v], %[t3]\n\t"
#define TW_ROW_BY_2(first, last, s0, s1, s2)                                                                         \
  "ldr.w %[a], [%[x]]\n\tldr.w %[b], [%[x], #4]\n\tldr.w %[c], [%[x], #8]\n\tldr.w %[v], [%[f], #" first "]\n\t" \
  "smlad %[t0], %[a], %[v], " s0 "\n\tsmlad %[t1], %[b], %[v], " s1 "\n\tldr.w %[a], [%[x], #12]\n\t"            \
  "smlad %[t2], %[c], %[v], " s2 "\n\tsmlad %[t3], %[a], %[v], %[t3]\n\tldr.w %[v], [%[f], #" last "]\n\t"       \
  "smlabb %[t0], %[b], %[v], %[t0]\n\tldrsh.w %[b], [%[x], #16]\n\tsmlabb %[t1], %[c], %[v], %[t1]\n\t"         \
  "smlabb %[t2], %[a], %[v], %[t2]\n\tsmlabb %[t3], %[b], %[v], %[t3]\n\t"
#define TW_EACH(before, behind) \
  before " %[t0]" behind(0) before " %[t1]" behind(1) before " %[t2]" behind(2) before " %[t3]" behind(3)
#define TW_SCALED(i) ", %[t" #i "], %[a], %[c]\n\t"
#define TW_SHIFTED(i) ", %[t" #i "], %[b]\n\t"
#define TW_WITHIN(i) ", #" TW_RESULT_BITS ", %[t" #i "]\n\t"
#define TW_WITHIN_POSITIVE(i) ", #" TW_POSITIVE_BITS ", %[t" #i "]\n\t"
#define TW_STORED(i) ", [%[y], #" #i "*" TW_RESULT_BYTES "]\n\t"
/* ROW of a distance in bytes, with what keeps results within their type. */
#define TW_3X3(ROW, bytes, limit, WITHIN)                                                                           \
  __asm__ volatile(                                                                                                 \
      ".balign 4\n\t1:\n\tldr.w %[t3], [%[f]]\n\t" ROW("16", "20", "%[t3]", "%[t3]", "%[t3]") TW_DOWN             \
          ROW("24", "28", "%[t0]", "%[t1]", "%[t2]") TW_DOWN ROW("32", "36", "%[t0]", "%[t1]", "%[t2]")             \
      "ldr.w %[a], [%[f], #4]\n\tldr.w %[b], [%[f], #8]\n\tldr.w %[c], [%[f], #12]\n\t"                          \
      "sub.w %[x], %[x], %[row], lsl #2\n\tadd.w %[x], %[x], #4*" bytes "\n\t"                                    \
      TW_EACH("smmla", TW_SCALED) TW_EACH("asr.w", TW_SHIFTED) TW_EACH(limit, WITHIN)                               \
      TW_EACH(TW_STORE_RESULT ".w", TW_STORED)                                                                      \
      "add.w %[y], %[y], #4*" TW_RESULT_BYTES "\n\tcmp %[y], %[end]\n\tbne.w 1b"                                  \
      : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),   \
        [v] "=&r"(v), [x] "+&r"(x), [y] "+&r"(y)                                                                    \
      : [f] "r"(all->filter), [row] "r"(all->row), [end] "r"(end)                                                   \
      : "memory", "cc")

TW_ALWAYS void fours_of_3x3(const windows *all, int32_t way, int32_t apart, const TW_X *x, TW_Y *y, const TW_Y *end) {
  uint32_t t0, t1, t2, t3, a, b, c, v;
  if (way == TW_BY_POSITIVE && apart == 1) {
    TW_3X3(TW_ROW_BY_1, "2", "usat", TW_WITHIN_POSITIVE);
  } else if (way == TW_BY_POSITIVE) {
    TW_3X3(TW_ROW_BY_2, "4", "usat", TW_WITHIN_POSITIVE);
  } else if (apart == 1) {
    TW_3X3(TW_ROW_BY_1, "2", TW_LIMIT, TW_WITHIN);
  } else {
    TW_3X3(TW_ROW_BY_2, "4", TW_LIMIT, TW_WITHIN);
  }
}
#else
TW_ALWAYS void fours_of_3x3(const windows *all, int32_t way, int32_t apart, const TW_X *x, TW_Y *y, const TW_Y *end) {
  for (; y != end; x += 4 * apart, y += 4) any_four(all, way, apart, x, y);
}
#endif

TW_ALWAYS void fours_of(const windows *all, int32_t way, int is_3x3, int32_t apart, const TW_X *x, TW_Y *y,
                        const TW_Y *end) {
  if (is_3x3) {
    fours_of_3x3(all, way, apart, x, y, end);
  } else {
    for (; y != end; x += 4 * apart, y += 4) any_four(all, way, apart, x, y);
  }
}

/* Rows of at least four results. Of those that are left at the end of one, some are computed again. */
TW_ALWAYS void rows_of(const windows *all, int32_t way, int is_3x3, int32_t apart, int32_t step, int32_t rows, TW_Y *y) {
  const int32_t columns = all->p->out_w, whole = columns & ~3, last = columns - 4;
  const TW_X *x = all->x;
  for (; rows > 0; rows--, x += step, y += columns) {
    fours_of(all, way, is_3x3, apart, x, y, y + whole);
    if (whole != columns) fours_of(all, way, is_3x3, apart, x + last * apart, y + last, y + columns);
  }
}

/* Rows of fewer. */
static __attribute__((noinline)) void short_rows(const windows *all, int32_t way, int32_t step, int32_t rows, TW_Y *y) {
  const TW_X *from = all->x;
  for (; rows > 0; rows--, from += step) {
    const TW_X *x = from;
    for (int32_t i = all->p->out_w; i > 0; i--, x += all->p->stride_w, y++) {
      int32_t total;
      totals_of_any(all, x, 0, 1, &total);
      results_of(all, way, &total, 1, y);
    }
  }
}

/* Functions of their own: each has all registers. */
typedef void (*row_function)(const windows *all, int32_t step, int32_t rows, TW_Y *y);

#define TW_DEFINE_ROWS(name, way, is_3x3, apart)                                                                  \
  static __attribute__((noinline)) void name(const windows *all, int32_t step, int32_t rows, TW_Y *y) {           \
    rows_of(all, way, is_3x3, apart, step, rows, y);                                                              \
  }

TW_DEFINE_ROWS(rows_high_by_1, TW_BY_HIGH, 1, 1)
TW_DEFINE_ROWS(rows_high_by_2, TW_BY_HIGH, 1, 2)
TW_DEFINE_ROWS(rows_high, TW_BY_HIGH, 0, all->p->stride_w)
TW_DEFINE_ROWS(rows_totals, TW_BY_TOTALS, 0, all->p->stride_w)
#if TW_HAS_POSITIVE
TW_DEFINE_ROWS(rows_positive_by_1, TW_BY_POSITIVE, 1, 1)
TW_DEFINE_ROWS(rows_positive_by_2, TW_BY_POSITIVE, 1, 2)
TW_DEFINE_ROWS(rows_positive, TW_BY_POSITIVE, 0, all->p->stride_w)
#endif

static row_function rows_by(const tw_conv_params *p, int32_t way) {
  const int32_t apart = p->kernel_h == 3 && p->kernel_w == 3 ? p->stride_w : 0;
  if (way == TW_BY_TOTALS) return rows_totals;
#if TW_HAS_POSITIVE
  if (way == TW_BY_POSITIVE) return apart == 1 ? rows_positive_by_1 : apart == 2 ? rows_positive_by_2 : rows_positive;
#endif
  return apart == 1 ? rows_high_by_1 : apart == 2 ? rows_high_by_2 : rows_high;
}

/* Rows of the image for some rows of results. The padding of whole images is the same for all channels. */
static void load_rows(const tw_conv_params *p, const TW_X *x, int32_t in_y, int32_t in_rows, int32_t pitch, TW_X *band,
                      int is_padded) {
  if (is_padded) {
    const int32_t rows = tw_min(p->in_h, in_rows - p->pad_top), columns = tw_min(p->in_w, pitch - p->pad_left);
    if (rows > 0 && columns > 0) {
      tw_copy_rows(x, p->in_w, columns, band + p->pad_top * pitch + p->pad_left, pitch, rows);
    }
  } else {
    for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
  }
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t twos = (p->kernel_w + 1) / 2, filters = p->out_channels, pitch = tw_band_pitch(p);
  const int32_t words = TW_FILTER_WORDS + p->kernel_h * twos;
  const int is_whole = p->chunk >= p->out_h;
  TW_X *const band = scratch;
  const row_function windows_on = rows_by(p, params->way);
  if (is_whole) tw_fill_words(band, tw_band_rows(p, p->out_h) * pitch, (TW_X)p->x_zero);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w) {
    const int32_t *const first = (const int32_t *)(const void *)w + n % p->groups * filters * words;
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      const int32_t rows = tw_min(p->chunk, p->out_h - out_y), in_y = out_y * p->stride_h - p->pad_top;
      load_rows(p, x, in_y, tw_band_rows(p, rows), pitch, band, is_whole);
      windows all = {first, band, p->dilation_h * pitch, p->kernel_h, twos, p};
      for (int32_t f = 0; f < filters; f++, all.filter += words) {
        TW_Y *const to = y + ((n * filters + f) * p->out_h + out_y) * p->out_w;
        if (p->out_w < 4) {
          short_rows(&all, params->way, p->stride_h * pitch, rows, to);
        } else {
          windows_on(&all, p->stride_h * pitch, rows, to);
        }
      }
    }
  }
}
