/* Convolution of floats with the channels last; all cores together. Four pixels meet four filters. Small windows are copied
 * whole, once for all filters. Of others, one row after the other is met: it is a run of floats in the image, or a copy of
 * it where it is not, with zeros outside the image. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_blocks_f32
#endif

#include "blocks_f32.h"
#include "bytes4.h"
#include "cluster.h"
#include "conv_dots_sizes.h"
#include "positive_f32.h"

typedef struct {
  const tw_conv_params *p;
  const float *x, *w, *b;
  float *y;
  const float *zeros; /* as long as a row of a window */
  float *copies;      /* this core's, of four such rows, or of four windows */
  int is_whole;       /* whether windows are copied whole */
} work;

/* Where an output pixel's window begins. */
typedef struct {
  const float *image;
  int32_t y, x;
} corner;

static corner corner_of(const work *k, int32_t pixel, int32_t group) {
  const tw_conv_params *const p = k->p;
  const int32_t row = pixel / p->out_w, image = row / p->out_h;
  corner found;
  found.image = k->x + image * p->in_h * p->in_w * p->groups * p->in_channels + group * p->in_channels;
  found.y = (row - image * p->out_h) * p->stride_h - p->pad_top;
  found.x = (pixel - row * p->out_w) * p->stride_w - p->pad_left;
  return found;
}

/* Of the pixel behind it. */
static void next_corner(const work *k, corner *c) {
  const tw_conv_params *const p = k->p;
  c->x += p->stride_w;
  if (c->x + p->pad_left < p->out_w * p->stride_w) return;
  c->x = -p->pad_left, c->y += p->stride_h;
  if (c->y + p->pad_top < p->out_h * p->stride_h) return;
  c->y = -p->pad_top, c->image += p->in_h * p->in_w * p->groups * p->in_channels;
}

/* Of four pixels, of which `present` are there; the last one repeats. */
static void find_corners(const work *k, int32_t pixel, int32_t present, int32_t group, corner found[4]) {
  found[0] = corner_of(k, pixel, group);
  for (int i = 1; i < 4; i++) {
    found[i] = found[i - 1];
    if (i < present) next_corner(k, &found[i]);
  }
}

/* Row r of a window; `copy` has room for it. */
static const float *row_of(const work *k, const corner *c, int32_t r, float *copy) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, pitch = p->groups * channels, y = c->y + r * p->dilation_h;
  if (y < 0 || y >= p->in_h) return k->zeros;
  const float *const row = c->image + y * p->in_w * pitch;
  const int is_run = p->groups == 1 && p->dilation_w == 1 && c->x >= 0 && c->x + p->kernel_w <= p->in_w;
  if (is_run) return row + c->x * channels;
  float *to = copy;
  for (int32_t s = 0, x = c->x; s < p->kernel_w; s++, x += p->dilation_w) {
    const float *const from = x < 0 || x >= p->in_w ? k->zeros : row + x * pitch;
    for (int32_t i = 0; i < channels; i++) *to++ = from[i];
  }
  return copy;
}

/* One window with all of its rows, taps and channels side by side in the image: what lies outside of it is zeros. */
static void copy_window(const work *k, const corner *c, float *to) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, pitch = p->in_w * channels, run = p->kernel_w * channels;
  const int32_t before = channels * tw_min(p->kernel_w, tw_max(0, -c->x));
  const int32_t inside = tw_max(0, channels * tw_min(p->kernel_w, p->in_w - c->x) - before), rest = run - before - inside;
  const float *from = c->image + c->y * pitch + c->x * channels + before;
  for (int32_t r = 0, y = c->y; r < p->kernel_h; r++, y += p->dilation_h, from += p->dilation_h * pitch, to += run) {
    if (y < 0 || y >= p->in_h) {
      tw_fill_run((uint8_t *)to, 0, 4 * run);
      continue;
    }
    if (inside < run) {
      tw_fill_run((uint8_t *)to, 0, 4 * before);
      tw_fill_run((uint8_t *)(to + before + inside), 0, 4 * rest);
    }
    tw_copy_words((uint8_t *)(to + before), 4, (const uint8_t *)from, 4, inside);
  }
}

/* The windows of four pixels, one behind the other. */
static void copy_windows(const work *k, const corner corners[4]) {
  const int32_t run = k->p->kernel_w * k->p->in_channels;
  float *to = k->copies;
  for (int i = 0; i < 4; i++, to += k->p->kernel_h * run) {
    if (k->p->groups == 1 && k->p->dilation_w == 1) {
      copy_window(k, &corners[i], to);
      continue;
    }
    for (int32_t r = 0; r < k->p->kernel_h; r++) {
      const float *const row = row_of(k, &corners[i], r, to + r * run);
      if (row != to + r * run) tw_copy_run((uint8_t *)(to + r * run), (const uint8_t *)row, 4 * run);
    }
  }
}

/* Results of a pixel: in their place already, or totals. */
static inline void store(const tw_conv_params *p, const float *from, int32_t filters, float *y) {
  if (filters == 4 && p->activation.kind) {
    const float t0 = from[0], t1 = from[1], t2 = from[2], t3 = from[3];
    y[0] = tw_positive(t0), y[1] = tw_positive(t1), y[2] = tw_positive(t2), y[3] = tw_positive(t3);
    return;
  }
  for (int32_t f = 0; f < filters; f++) y[f] = p->activation.kind ? tw_positive(from[f]) : from[f];
}

/* Four pixels with at most four filters of a group; `pixels` of them are there, and filters that are not repeat the
 * last one. */
static inline __attribute__((always_inline)) void block(const work *k, const corner corners[4], int32_t pixel, int32_t pixels,
                                                         int32_t group, int32_t filter, int32_t filters) {
  const tw_conv_params *const p = k->p;
  const int32_t run = p->kernel_w * p->in_channels, window = p->kernel_h * run;
  const int32_t first = group * p->out_channels + filter, pitch = p->groups * p->out_channels;
  const int32_t rows = k->is_whole ? 1 : p->kernel_h, length = k->is_whole ? window : run;
  const int is_direct = pixels == 4 && filters == 4;
  float *y = k->y + pixel * pitch + first;
  const float *w[4];
  float total[16], begin[4];
  for (int i = 0; i < 4; i++) {
    const int32_t at = first + tw_min(i, filters - 1);
    w[i] = k->w + at * window;
    begin[i] = k->b ? k->b[at * p->bias_step] : 0.0f;
  }
  tw_block_ends ends = {begin, 0, total, 4};
  for (int32_t r = 0; r < rows; r++) {
    const float *x[4];
    for (int i = 0; i < 4; i++) {
      x[i] = k->is_whole ? k->copies + i * window : row_of(k, &corners[i], r, k->copies + i * run);
    }
    if (is_direct && r == rows - 1) ends.to = y, ends.to_step = pitch;
    tw_block_rows_f32(x, w, length, ends);
    for (int i = 0; i < 4; i++) w[i] += run;
    ends.from = total, ends.from_step = 4;
  }
  if (is_direct && !p->activation.kind) return;
  const float *const from = is_direct ? y : total;
  const int32_t step = is_direct ? pitch : 4;
  for (int32_t i = 0; i < pixels; i++, y += pitch) store(p, from + i * step, filters, y);
}

/* Whether a window is one run of floats: copied, or a pixel of the image. */
static inline int are_runs(const work *k) {
  const tw_conv_params *const p = k->p;
  return p->groups == 1 && (k->is_whole || tw_conv_is_one_tap(p)) && (!k->b || p->bias_step == 1);
}

/* Four windows, each a run of floats, meet quads of filters `column` to `end` - 1. */
static __attribute__((noinline)) void whole_blocks(const work *k, const float *const x[4], int32_t pixel, int32_t column,
                                                   int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t window = p->kernel_h * p->kernel_w * p->in_channels, pitch = p->out_channels;
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f}, *w = k->w + 4 * column * window;
  float *const y = k->y + pixel * pitch + 4 * column;
  tw_block_ends ends = {k->b ? k->b + 4 * column : zeros, 0, y, pitch};
  for (int32_t i = column; i < end; i++, w += 4 * window, ends.to += 4) {
    const float *const four[4] = {w, w + window, w + 2 * window, w + 3 * window};
    tw_block_rows_f32(x, four, window, ends);
    if (k->b) ends.from += 4;
  }
  for (int32_t r = 0; p->activation.kind && r < 4; r++) tw_all_positive(y + r * pitch, 4 * (end - column), 1);
}

/* Blocks `column` to `end` - 1 of four pixels, in one function, so that registers are saved once. Where fewer than four
 * are left, those before them are computed once more. */
static __attribute__((noinline)) void blocks(const work *k, int32_t pixel, int32_t column, int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t pixels = p->batch * p->out_h * p->out_w, present = tw_min(4, pixels), quads = (p->out_channels + 3) >> 2;
  pixel = tw_min(pixel, pixels - present);
  corner corners[4];
  int32_t is_new = 1;
  const int32_t whole = tw_min(end, p->out_channels >> 2);
  if (present == 4 && column < whole && are_runs(k)) {
    const float *x[4];
    find_corners(k, pixel, 4, 0, corners);
    for (int c = 0; c < 4; c++) {
      x[c] = k->is_whole ? k->copies + c * tw_conv_blocks_window(p)
                         : corners[c].image + (corners[c].y * p->in_w + corners[c].x) * p->in_channels;
    }
    if (k->is_whole) copy_windows(k, corners);
    whole_blocks(k, x, pixel, column, whole);
    column = whole, is_new = 0;
  }
  for (; column < end; column++) {
    const int32_t group = p->groups == 1 ? 0 : column / quads, filter = 4 * (column - group * quads);
    if (is_new || p->groups > 1) {
      find_corners(k, pixel, present, group, corners);
      if (k->is_whole) copy_windows(k, corners);
    }
    is_new = 0;
    block(k, corners, pixel, present, group, filter, tw_min(4, p->out_channels - filter));
  }
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  float *const zeros = scratch;
  const tw_share own = tw_share_of(p->kernel_w * p->in_channels);
  for (int32_t i = own.first; i < own.end; i++) zeros[i] = 0.0f;
  tw_barrier();
  const int32_t run = p->kernel_w * p->in_channels;
  const int is_whole = tw_conv_blocks_window(p) > run;
  const work k = {p, x, w, b, y, zeros, zeros + run + 4 * tw_core() * tw_conv_blocks_window(p), is_whole};
  const int32_t pixels = p->batch * p->out_h * p->out_w, columns = ((p->out_channels + 3) >> 2) * p->groups;
  const tw_share share = tw_share_of(((pixels + 3) >> 2) * columns);
  if (share.first >= share.end) return;
  int32_t at = share.first / columns, column = share.first - at * columns;
  for (int32_t left = share.end - share.first; left > 0; at++, column = 0) {
    const int32_t end = tw_min(columns, column + left);
    left -= end - column;
    blocks(&k, 4 * at, column, end);
  }
}
