/* Convolutions whose groups have one input channel each: two filters are one packed number, and eight neighbours in a row of results
 * are computed side by side. A core takes two filters and some rows at a time; it copies the image that they read with its padding.
 *
 * Whoever includes this has defined
 *   TW_ELEMENT                          the type of the image's elements as they are copied
 *   TW_AS_FLOAT(element, table)         the bits of an element's float */
#ifndef TW_DEPTHWISE_STREAMS_H
#define TW_DEPTHWISE_STREAMS_H

#include "cluster.h"
#include "conv.h"
#include "depthwise_sizes.h"
#include "streams.h"
#include "tw.h"

/* A core's part of the working memory. */
typedef struct {
  const tw_conv_params *p;
  const uint32_t *table; /* of what bytes are as floats, if they are bytes */
  uint32_t *image;       /* two channels side by side */
  uint32_t *weights;     /* of two filters */
  uint32_t *sums;        /* of two filters */
  int32_t taps;
  int32_t pitch;         /* pairs in a row of the image */
  int32_t is_positive;
} tw_planes;

/* `p->chunk` rows of results are taken at a time. */
static inline tw_planes tw_planes_in(const tw_conv_params *p, const uint32_t *table, uint32_t *scratch) {
  const int32_t pitch = tw_columns_read(p), taps = p->kernel_h * p->kernel_w, image = tw_image_words(p, p->chunk);
  uint32_t *const own = scratch + tw_core() * tw_depthwise_words(p);
  const tw_planes planes = {p, table, own, own + 2 * image, own + 2 * (image + taps), taps, pitch, p->activation.kind};
  return planes;
}

static inline uint32_t *tw_zeros(uint32_t *to, int32_t count) {
  for (; count > 0; count--, to += 2) *to = 0;
  return to;
}

static inline uint32_t *tw_copy_elements(const tw_planes *k, const TW_ELEMENT *from, int32_t count, uint32_t *to) {
  const uint32_t *const table = k->table;
  (void)table;
  for (; count >= 4; count -= 4, from += 4, to += 8) {
    const TW_ELEMENT a = from[0], b = from[1], c = from[2], d = from[3];
    const uint32_t one = TW_AS_FLOAT(a, table), two = TW_AS_FLOAT(b, table), three = TW_AS_FLOAT(c, table), four = TW_AS_FLOAT(d, table);
    to[0] = one;
    to[2] = two;
    to[4] = three;
    to[6] = four;
  }
  for (; count > 0; count--, to += 2) *to = TW_AS_FLOAT(*from++, table);
  return to;
}

/* What `rows` rows of results from `row` on read of a channel. */
static __attribute__((noinline)) void tw_copy_channel(const tw_planes *k, const TW_ELEMENT *channel, int32_t row, int32_t rows, uint32_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t width = p->in_w, height = p->in_h, pitch = k->pitch, left = p->pad_left;
  const int32_t before = tw_min(left, pitch), first = tw_max(-left, 0), inside = tw_max(tw_min(width, pitch - left) - first, 0);
  int32_t y = row * p->stride_h - p->pad_top;
  for (int32_t lines = tw_rows_read(p, rows); lines > 0; lines--, y++) {
    if ((uint32_t)y >= (uint32_t)height) {
      to = tw_zeros(to, pitch);
      continue;
    }
    to = tw_zeros(to, before);
    to = tw_copy_elements(k, channel + y * width + first, inside, to);
    to = tw_zeros(to, pitch - tw_max(before, 0) - inside);
  }
}

#define EACH_1(WHAT) WHAT("fa0", 0)
#define EACH_2(WHAT) EACH_1(WHAT) WHAT("fa1", 8)
#define EACH_4(WHAT) EACH_2(WHAT) WHAT("fa2", 16) WHAT("fa3", 24)
#define EACH_8(WHAT) EACH_4(WHAT) WHAT("fa4", 32) WHAT("fa5", 40) WHAT("fa6", 48) WHAT("fa7", 56)
#define FIRST(sum, at) TW_VFMUL(sum, "ft0", "ft1")
#define FURTHER(sum, at) TW_VFMAC(sum, "ft0", "ft1")
#define BIAS(sum, at) TW_VFADD(sum, sum, "ft3")
#define POSITIVE(sum, at) TW_VFMAX_R(sum, sum, "ft4")
#define STORE(sum, at) "fsd " sum ", " #at "(%[to])\n"
#define SUMS "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "ft0", "ft1", "ft2", "memory"

/* Streams for `wide` neighbours from a column on, of some rows: elements of the image, tap by tap, and weights. */
static TW_COMPACT void tw_describe_windows(const tw_planes *k, int32_t column, int32_t wide, int32_t rows) {
  const tw_conv_params *const p = k->p;
  const int32_t line = 8 * k->pitch, beside = 8 * p->stride_w, tap = 8 * p->dilation_w, down = p->dilation_h * line;
  const int32_t run = (wide - 1) * beside, taps_run = run + (p->kernel_w - 1) * tap, window = taps_run + (p->kernel_h - 1) * down;
  tw_stream_repeat(0, 1);
  tw_stream_loop(0, 0, wide, beside);
  tw_stream_loop(0, 1, p->kernel_w, tap - run);
  tw_stream_loop(0, 2, p->kernel_h, down - taps_run);
  tw_stream_loop(0, 3, rows, p->stride_h * line - window);
  tw_stream_read(0, 4, k->image + 2 * column * p->stride_w);
  tw_stream_repeat(1, wide);
  tw_stream_loop(1, 0, k->taps, 8);
  tw_stream_loop(1, 1, rows, -8 * (k->taps - 1));
  tw_stream_read(1, 2, k->weights);
}

#define DEFINE_COLUMNS(N)                                                                                            \
  static __attribute__((noinline)) void columns_##N(const tw_planes *k, int32_t column, int32_t rows) {              \
    const int32_t turns = k->taps - 2, step = 2 * k->p->out_w, is_positive = k->is_positive;                         \
    uint32_t *to = k->sums + 2 * column;                                                                             \
    tw_describe_windows(k, column, N, rows);                                                                         \
    for (; rows > 0; rows--, to += step) {                                                                           \
      __asm__ volatile(EACH_##N(FIRST) : : : SUMS);                                                                  \
      if (turns >= 0) __asm__ volatile(TW_REPEAT("%0", N) EACH_##N(FURTHER) : : "r"(turns) : SUMS);                  \
      __asm__ volatile(EACH_##N(BIAS) : : : SUMS);                                                                   \
      if (is_positive) __asm__ volatile(EACH_##N(POSITIVE) : : : SUMS);                                              \
      __asm__ volatile(EACH_##N(STORE) : : [to] "r"(to) : SUMS);                                                     \
    }                                                                                                                \
    tw_fpu_wait();                                                                                                   \
  }
DEFINE_COLUMNS(8)
DEFINE_COLUMNS(4)
DEFINE_COLUMNS(2)
DEFINE_COLUMNS(1)

/* All sums of some rows, in the widest groups of columns; the last one may begin with columns that are done already. */
static void tw_convolve_rows(const tw_planes *k, int32_t rows) {
  const int32_t width = k->p->out_w;
  __asm__ volatile("fcvt.d.w ft4, x0" : : : "ft4");
  tw_streams_on();
  for (int32_t column = 0, wide; column < width; column += wide) {
    const int32_t left = width - column;
    wide = left > 4 && width >= 8 ? 8 : width >= 4 ? 4 : left >= 2 ? 2 : 1;
    column = tw_min(column, width - wide);
    switch (wide) {
      case 8: columns_8(k, column, rows); break;
      case 4: columns_4(k, column, rows); break;
      case 2: columns_2(k, column, rows); break;
      default: columns_1(k, column, rows); break;
    }
  }
  tw_streams_off();
}

/* What all sums of two filters begin with. */
static inline void tw_begin_with(uint32_t one, uint32_t other) {
  __asm__ volatile("fmv.w.x ft3, %0\n fmv.w.x ft4, %1\n" TW_VPACK("ft3", "ft3", "ft4") : : "r"(one), "r"(other) : "ft3", "ft4");
}

/* Two filters and some rows of an image; the second filter may be the first. */
typedef struct {
  int32_t image, first, second, row, rows;
} tw_piece;

/* This core's pieces, one after the other: 0 when there is none left. */
typedef struct {
  int32_t at, end, bands, pairs;
} tw_pieces;

static inline tw_pieces tw_pieces_of(const tw_conv_params *p) {
  const int32_t pairs = tw_filter_pairs(p), bands = (p->out_h + p->chunk - 1) / p->chunk;
  const tw_share share = tw_share_of(p->batch * pairs * bands);
  const tw_pieces pieces = {share.first, share.end, bands, pairs};
  return pieces;
}

static inline int tw_next_piece(tw_pieces *pieces, const tw_conv_params *p, tw_piece *piece) {
  if (pieces->at >= pieces->end) return 0;
  const int32_t filters = p->groups * p->out_channels, both = pieces->at / pieces->bands, band = pieces->at - both * pieces->bands;
  piece->image = both / pieces->pairs;
  piece->first = 2 * (both - piece->image * pieces->pairs);
  piece->second = tw_min(piece->first + 1, filters - 1);
  piece->row = band * p->chunk;
  piece->rows = tw_min(p->chunk, p->out_h - piece->row);
  pieces->at++;
  return 1;
}

/* The image of both filters. */
static inline void tw_copy_piece(const tw_planes *k, const tw_piece *piece, const TW_ELEMENT *x) {
  const tw_conv_params *const p = k->p;
  const int32_t plane = p->in_h * p->in_w;
  const TW_ELEMENT *const image = x + piece->image * p->groups * plane;
  tw_copy_channel(k, image + piece->first / p->out_channels * plane, piece->row, piece->rows, k->image);
  tw_copy_channel(k, image + piece->second / p->out_channels * plane, piece->row, piece->rows, k->image + 1);
}

#endif
