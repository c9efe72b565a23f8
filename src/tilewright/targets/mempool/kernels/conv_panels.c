/* Convolution of bytes with channels last; int32 totals, optionally requantised; all cores together. Windows are gathered into
 * panels, some at a time, filters once; results are the products of both. */
#ifndef TW_NAME
#define TW_NAME tw_conv_panels
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_X)-1 < 0)
#define TW_B_SIGNED ((TW_W)-1 < 0)

#include "conv.h"
#include "panels.h"
#include "requant_words.h"

typedef struct {
  const tw_conv_params *p;
  const int32_t *bias, *mul, *add;
  const int32_t *x_sums, *w_sums; /* of windows and filters; NULL where nothing depends on them */
  TW_Y *y;
  int32_t inner;        /* of a filter */
  int32_t first, end;   /* pixels at work */
  int32_t filter;       /* the group's first */
} work;

static inline TW_Y result(const work *k, int32_t total, int32_t mul, int32_t add) {
  if (!k->p->requantised) return (TW_Y)total;
  return (TW_Y)(sizeof(TW_Y) <= 2 ? tw_requantise_words(&k->p->requant, total, mul, add)
                                  : tw_requantise(&k->p->requant, total, mul, add));
}

/* Some pixels of one filter, whose totals are `step` apart. */
static inline void finish(const work *k, int32_t row, int32_t rows, int32_t column, const int32_t *total, int32_t step) {
  const tw_conv_params *const p = k->p;
  const int32_t filter = k->filter + column, filters = p->groups * p->out_channels, pixel = k->first + row;
  uint32_t start = (uint32_t)tw_conv_bias(p, k->bias, filter) + (uint32_t)(k->inner * p->x_zero * p->w_zero);
  if (k->w_sums) start -= (uint32_t)(p->x_zero * k->w_sums[column]);
  const int32_t mul = p->requantised ? k->mul[filter * p->mul_step] : 0;
  const int32_t add = p->requantised && k->add ? k->add[filter * p->add_step] : 0;
  TW_Y *y = k->y + pixel * filters + filter;
  for (int32_t r = 0; r < rows; r++, y += filters) {
    uint32_t sum = start + (uint32_t)total[r * step];
    if (k->x_sums) sum -= (uint32_t)(p->w_zero * k->x_sums[row + r]);
    *y = result(k, (int32_t)sum, mul, add);
  }
}

static void finish_one(const void *work_, int32_t matrix, int32_t row, int32_t column, int32_t total) {
  const work *const k = work_;
  (void)matrix;
  if (k->first + row < k->end && column < k->p->out_channels) finish(k, row, 1, column, &total, 0);
}

static void finish_block(const void *work_, int32_t matrix, int32_t i, int32_t j, const int32_t *total) {
  const work *const k = work_;
  (void)matrix;
  const int32_t row = i * TW_PANEL, column = j * TW_PANEL, rows = tw_min(k->end - k->first - row, TW_PANEL);
  const int32_t columns = tw_min(k->p->out_channels - column, TW_PANEL);
  for (int32_t f = 0; f < columns; f++) finish(k, row, rows, column + f, total + f, TW_PANEL);
}

/* ---- windows ---- */

/* Bytes that come in runs of any length become words of a row. */
typedef struct {
  uint32_t *to, word;
  int32_t bits;
} writer;

static inline void put(writer *w, uint32_t byte) {
  w->word |= byte << w->bits;
  w->bits += 8;
  if (w->bits < 32) return;
  *w->to = w->word;
  w->to += TW_PANEL;
  w->word = 0;
  w->bits = 0;
}

static void put_run(writer *w, const uint8_t *from, int32_t count) {
  if (w->bits == 0 && count >= 4) {
    w->to = tw_fill_run(w->to, from, count & ~3);
    from += count & ~3;
    count &= 3;
  }
  for (; count > 0; count--) put(w, *from++);
}

static void put_zeros(writer *w, uint32_t zero, int32_t count) {
  for (; count > 0 && w->bits != 0; count--) put(w, zero);
  for (; count >= 4; count -= 4, w->to += TW_PANEL) *w->to = zero * TW_ONES;
  for (; count > 0; count--) put(w, zero);
}

/* The window of a pixel, line by line; what lies outside the image is its zero. */
static void gather(const tw_conv_params *p, const uint8_t *x, int32_t pixel, uint32_t *to) {
  const int32_t depth = p->groups * p->in_channels, channels = p->in_channels, plane = p->out_h * p->out_w;
  const int32_t image = pixel / plane, in_image = pixel % plane, line = in_image / p->out_w;
  const int32_t top = line * p->stride_h - p->pad_top, left = in_image % p->out_w * p->stride_w - p->pad_left;
  const uint32_t zero = (uint32_t)p->x_zero & 0xff;
  const int is_one_run = p->dilation_w == 1 && p->groups == 1;
  const int32_t first = is_one_run ? tw_min(tw_max(-left, 0), p->kernel_w) : 0;
  const int32_t end = is_one_run ? tw_max(tw_min(p->in_w - left, p->kernel_w), first) : 0;
  writer w = {to, 0, 0};
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t y = top + r * p->dilation_h;
    const uint8_t *const from = x + ((image * p->in_h + y) * p->in_w + left) * depth;
    if (y < 0 || y >= p->in_h) {
      put_zeros(&w, zero, p->kernel_w * channels);
    } else if (is_one_run) {
      put_zeros(&w, zero, first * channels);
      put_run(&w, from + first * channels, (end - first) * channels);
      put_zeros(&w, zero, (p->kernel_w - end) * channels);
    } else {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const int32_t at = left + s * p->dilation_w;
        if (at < 0 || at >= p->in_w) {
          put_zeros(&w, zero, channels);
        } else {
          put_run(&w, from + s * p->dilation_w * depth, channels);
        }
      }
    }
  }
  if (w.bits) *w.to = w.word;
}

/* Windows of the pixels at work, dealt out to all cores. */
static void gather_all(const work *k, const uint8_t *x, int32_t words, uint32_t *to) {
  const int32_t count = k->end - k->first;
  const tw_share mine = tw_share_of((count + TW_PANEL - 1) / TW_PANEL * TW_PANEL);
  for (int32_t row = mine.first; row < mine.end; row++) {
    uint32_t *const place = to + row / TW_PANEL * TW_PANEL * words + row % TW_PANEL;
    if (row < count) {
      gather(k->p, x, k->first + row, place);
    } else {
      tw_fill_zeros(place, words);
    }
  }
}

static void fill_filters(const tw_conv_params *p, const uint8_t *w, int32_t inner, int32_t words, uint32_t *to) {
  const int32_t filters = p->out_channels;
  const tw_share mine = tw_share_of((filters + TW_PANEL - 1) / TW_PANEL * TW_PANEL);
  for (int32_t row = mine.first; row < mine.end; row++) {
    uint32_t *const place = to + row / TW_PANEL * TW_PANEL * words + row % TW_PANEL;
    if (row < filters) {
      tw_fill_row(place, w + row * inner, 1, inner);
    } else {
      tw_fill_zeros(place, words);
    }
  }
}

/* `chunk` is how many panels of windows are gathered at a time. */
void TW_NAME(const tw_conv_params *p, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t inner = p->kernel_h * p->kernel_w * p->in_channels, words = (inner + 3) / 4;
  const int32_t w_panels = (p->out_channels + TW_PANEL - 1) / TW_PANEL, pixels = p->batch * p->out_h * p->out_w;
  const int32_t chunk = p->chunk * TW_PANEL;
  uint32_t *const w_place = scratch, *const x_place = w_place + w_panels * TW_PANEL * words;
  int32_t *const w_sums = (int32_t *)(x_place + chunk * words), *const x_sums = w_sums + w_panels * TW_PANEL;
  int32_t *const partial = x_sums + (p->w_zero ? chunk : 0);
  work k = {p, b, mul, add, p->w_zero ? x_sums : 0, p->x_zero ? w_sums : 0, y, inner, 0, 0, 0};
  if (words == 0) return;
  for (int32_t group = 0; group < p->groups; group++) {
    k.filter = group * p->out_channels;
    fill_filters(p, (const uint8_t *)w + k.filter * inner, inner, words, w_place);
    for (k.first = 0; k.first < pixels; k.first += chunk) {
      k.end = tw_min(k.first + chunk, pixels);
      gather_all(&k, (const uint8_t *)x + group * p->in_channels, words, x_place);
      tw_barrier();
      const int32_t panels = (k.end - k.first + TW_PANEL - 1) / TW_PANEL;
      if (p->x_zero && k.first == 0) tw_row_sums(w_place, w_panels * TW_PANEL, words, TW_B_SIGNED, w_sums);
      if (p->w_zero) tw_row_sums(x_place, panels * TW_PANEL, words, TW_A_SIGNED, x_sums);
      if (p->x_zero || p->w_zero) tw_barrier();
      const tw_panels at = {x_place, w_place, panels, w_panels, words, 1, partial};
      tw_blocks(&at, &k, finish_block, finish_one);
      if (k.end < pixels || group + 1 < p->groups) tw_barrier();
    }
  }
}
