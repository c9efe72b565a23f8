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

/* Blocks `at` to `end` - 1, of four channels each, of four pixels. */
static __attribute__((noinline)) void blocks(const tw_conv_gradient_params *p, const float *g, const float *w, float *y,
                                             const float *zeros, int32_t pixel, int32_t at, int32_t end) {
  const columns across = columns_of(p);
  const int32_t quads = (p->channels + 3) >> 2, filter = p->kernel_h * p->kernel_w * p->channels;
  const int32_t in_row = across.phases * across.quads, row = pixel / in_row, place = pixel - row * in_row;
  const int32_t phase = place / across.quads, image = row / p->in_h;
  const int32_t x = phase + 4 * (place - phase * across.quads) * p->stride_w;
  if (x >= p->in_w) return;
  const int32_t left = (p->in_w - x + p->stride_w - 1) / p->stride_w;
  for (; at < end; at++) {
    const int32_t group = p->groups == 1 ? 0 : at / quads, c = 4 * (at - group * quads);
    const work k = {p, g + image * p->out_h * p->out_w * p->groups * p->filters + group * p->filters,
                    w + group * p->filters * filter,
                    y + image * p->in_h * p->in_w * p->groups * p->channels + group * p->channels, zeros};
    block(&k, row - image * p->in_h, x, tw_min(4, left), c, tw_min(4, p->channels - c));
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
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
