/* Convolution of floats with the channels last; all cores together. Four pixels meet four filters, tap by tap; where a
 * tap lies outside the image, a row of zeros stands in for the pixel's channels. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_blocks_f32
#endif

#include "blocks_f32.h"
#include "cluster.h"

typedef struct {
  const tw_conv_params *p;
  const float *x, *w, *b;
  float *y;
  const float *zeros;
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

static const float *channels_at(const work *k, const corner *c, int32_t r, int32_t s) {
  const tw_conv_params *const p = k->p;
  const int32_t y = c->y + r * p->dilation_h, x = c->x + s * p->dilation_w;
  if (y < 0 || y >= p->in_h || x < 0 || x >= p->in_w) return k->zeros;
  return c->image + (y * p->in_w + x) * p->groups * p->in_channels;
}

/* At most four pixels and four filters of a group; what is not there repeats the last one. */
static void block(const work *k, int32_t pixel, int32_t pixels, int32_t group, int32_t filter, int32_t filters) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, length = p->kernel_h * p->kernel_w * channels;
  const int32_t first = group * p->out_channels + filter;
  corner corners[4];
  const float *w[4];
  float total[16];
  for (int i = 0; i < 4; i++) {
    const int32_t at = first + tw_min(i, filters - 1);
    corners[i] = corner_of(k, pixel + tw_min(i, pixels - 1), group);
    w[i] = k->w + at * length;
    for (int r = 0; r < 4; r++) total[4 * r + i] = k->b ? k->b[at * p->bias_step] : 0.0f;
  }
  for (int32_t r = 0; r < p->kernel_h; r++) {
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const float *x[4];
      for (int i = 0; i < 4; i++) x[i] = channels_at(k, &corners[i], r, s);
      tw_block_f32(x, 1, w, 1, channels, total);
      for (int i = 0; i < 4; i++) w[i] += channels;
    }
  }
  for (int32_t i = 0; i < pixels; i++) {
    float *const y = k->y + (pixel + i) * p->groups * p->out_channels + first;
    for (int32_t f = 0; f < filters; f++) y[f] = total[4 * i + f];
  }
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  float *const zeros = scratch;
  const tw_share own = tw_share_of(p->in_channels);
  for (int32_t i = own.first; i < own.end; i++) zeros[i] = 0.0f;
  tw_barrier();
  const work k = {p, x, w, b, y, zeros};
  const int32_t pixels = p->batch * p->out_h * p->out_w, blocks = (pixels + 3) >> 2;
  const int32_t quads = (p->out_channels + 3) >> 2, columns = quads * p->groups;
  const tw_share share = tw_share_of(blocks * columns);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t column = i / blocks, pixel = 4 * (i - column * blocks), group = column / quads;
    const int32_t filter = 4 * (column - group * quads);
    block(&k, pixel, tw_min(4, pixels - pixel), group, filter, tw_min(4, p->out_channels - filter));
  }
}
