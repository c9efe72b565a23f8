/* The gradient of a convolution's operand, channels last; all cores together. Four pixels of a row, as far apart as the
 * stride, meet four channels: sums over filters, tap by tap. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_blocks
#endif

#include "blocks_f32.h"
#include "cluster.h"

typedef struct {
  const tw_conv_gradient_params *p;
  const float *g, *w; /* of this image and group */
  float *y;
  const float *zeros;
} work;

/* Where a window lies that tap number `tap` of it brings to `at`: found, if one does. */
typedef struct {
  int32_t place, found;
} window;

/* Without the divider for the usual strides: it takes as long as thirty products. */
static inline window window_at(int32_t at, int32_t pad, int32_t tap, int32_t dilation, int32_t stride) {
  const int32_t reached = at + pad - tap * dilation;
  window w;
  w.place = reached < 0 ? -1 : reached / stride;
  if (stride <= 2) w.place = reached >> (stride - 1);
  w.found = stride == 1 || (reached >= 0 && w.place * stride == reached);
  return w;
}

/* The four pixels under one tap, whose windows are neighbours; outside there are zeros. */
static int find_pixels(const work *k, int32_t out_y, int32_t out_x, const float *a[4]) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t pitch = p->groups * p->filters;
  const float *const row = k->g + out_y * p->out_w * pitch;
  int some = 0;
  for (int i = 0; i < 4; i++, out_x++) {
    const int inside = out_x >= 0 && out_x < p->out_w;
    a[i] = inside ? row + out_x * pitch : k->zeros;
    some |= inside;
  }
  return some;
}

/* `pixels` from column `x` of row `y` on, with `channels` from c on. */
static inline __attribute__((always_inline)) void block(const work *k, int32_t y, int32_t x, int32_t pixels, int32_t c,
                                                         int32_t channels) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t length = p->kernel_h * p->kernel_w * p->channels;
  float total[16];
  for (int i = 0; i < 16; i++) total[i] = 0.0f;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const window down = window_at(y, p->pad_top, r, p->dilation_h, p->stride_h);
    if (!down.found || down.place < 0 || down.place >= p->out_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t reached = x + p->pad_left - s * p->dilation_w + 4 * p->stride_w;
      const window right = window_at(reached, 0, 0, 1, p->stride_w);
      const float *a[4], *const w = k->w + (r * p->kernel_w + s) * p->channels + c;
      if (!right.found || !find_pixels(k, down.place, right.place - 4, a)) continue;
      if (channels == 4) {
        tw_block_rows_columns_f32(a, w, length, p->filters, tw_in_place(total));
        continue;
      }
      const float *const b[4] = {w, w + tw_min(1, channels - 1), w + tw_min(2, channels - 1), w + channels - 1};
      tw_block_f32(a, 1, b, length, p->filters, tw_in_place(total));
    }
  }
  const int32_t pitch = p->groups * p->channels;
  float *to = k->y + (y * p->in_w + x) * pitch + c;
  for (int32_t i = 0; i < pixels; i++, to += p->stride_w * pitch) {
    for (int32_t j = 0; j < channels; j++) to[j] = total[4 * i + j];
  }
}

/* Four pixels and quads of channels `at` to `end` - 1, of filters with one tap: the pixels of g that they meet are the same
 * for all channels. */
static __attribute__((noinline)) void one_tap(const work *k, int32_t y, int32_t x, int32_t at, int32_t end) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t channels = p->channels, step = p->stride_w * channels;
  const window down = window_at(y, p->pad_top, 0, 1, p->stride_h);
  const window right = window_at(x + p->pad_left + 4 * p->stride_w, 0, 0, 1, p->stride_w);
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f}, *a[4], *w = k->w + 4 * at;
  float *to = k->y + (y * p->in_w + x) * channels + 4 * at;
  const int is_inside = down.found && down.place >= 0 && down.place < p->out_h && right.found;
  if (!is_inside || !find_pixels(k, down.place, right.place - 4, a)) {
    for (int i = 0; i < 4; i++, to += step) {
      for (int32_t c = 0; c < 4 * (end - at); c++) to[c] = 0.0f;
    }
    return;
  }
  tw_block_ends ends = {zeros, 0, to, step};
  for (; at < end; at++, w += 4, ends.to += 4) tw_block_rows_columns_f32(a, w, channels, p->filters, ends);
}

/* One row of an image: for each column at which windows begin, every stride-th pixel, four at a time. */
typedef struct {
  int32_t phases, quads;
} columns;

static columns columns_of(const tw_conv_gradient_params *p) {
  columns found;
  found.phases = tw_min(p->stride_w, p->in_w);
  found.quads = ((p->in_w + found.phases - 1) / found.phases + 3) >> 2;
  return found;
}

/* Blocks `at` to `end` - 1, of four channels each, of four pixels. With one tap, those before them are computed once more
 * where fewer are left. */
static __attribute__((noinline)) void blocks(const tw_conv_gradient_params *p, const float *g, const float *w, float *y,
                                             const float *zeros, int32_t pixel, int32_t at, int32_t end) {
  const columns across = columns_of(p);
  const int32_t quads = (p->channels + 3) >> 2, filter = p->kernel_h * p->kernel_w * p->channels;
  const int32_t in_row = across.phases * across.quads, row = pixel / in_row, place = pixel - row * in_row;
  const int32_t phase = place / across.quads, image = row / p->in_h;
  const int32_t x = phase + 4 * (place - phase * across.quads) * p->stride_w;
  if (x >= p->in_w) return;
  const int32_t left = (p->in_w - x + p->stride_w - 1) / p->stride_w, whole = tw_min(end, p->channels >> 2);
  const int32_t lacking = tw_max(0, 4 - left) * p->stride_w;
  if (filter == p->channels && p->groups == 1 && lacking <= x && at < whole) {
    const work k = {p, g + image * p->out_h * p->out_w * p->filters, w, y + image * p->in_h * p->in_w * p->channels, zeros};
    one_tap(&k, row - image * p->in_h, x - lacking, at, whole);
    at = whole;
  }
  for (; at < end; at++) {
    const int32_t group = p->groups == 1 ? 0 : at / quads, c = 4 * (at - group * quads);
    const work k = {p, g + image * p->out_h * p->out_w * p->groups * p->filters + group * p->filters,
                    w + group * p->filters * filter,
                    y + image * p->in_h * p->in_w * p->groups * p->channels + group * p->channels, zeros};
    block(&k, row - image * p->in_h, x, tw_min(4, left), c, tw_min(4, p->channels - c));
  }
}

/* With one tap and strides of one, all images are one row of pixels: four of them are neighbours more often. */
static inline tw_conv_gradient_params in_one_row(const tw_conv_gradient_params *params) {
  tw_conv_gradient_params p = *params;
  const int is_as_large = p.in_h == p.out_h && p.in_w == p.out_w && p.pad_top == 0 && p.pad_left == 0;
  if (p.kernel_h * p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && is_as_large) {
    p.in_w = p.out_w = p.batch * p.in_h * p.in_w;
    p.batch = p.in_h = p.out_h = 1;
  }
  return p;
}

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_conv_gradient_params flat = in_one_row(params), *const p = &flat;
  float *const zeros = scratch;
  const tw_share own = tw_share_of(p->filters);
  for (int32_t i = own.first; i < own.end; i++) zeros[i] = 0.0f;
  tw_barrier();
  const columns across = columns_of(p);
  const int32_t quads = (p->channels + 3) >> 2, pixels = p->batch * p->in_h * across.phases * across.quads;
  const int32_t columns_of_pixel = p->groups * quads;
  const tw_share share = tw_share_of(pixels * columns_of_pixel);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t pixel = i / columns_of_pixel, first = i - pixel * columns_of_pixel;
    const int32_t count = tw_min(columns_of_pixel - first, share.end - i);
    blocks(p, g, w, y, zeros, pixel, first, first + count);
    i += count;
  }
}
