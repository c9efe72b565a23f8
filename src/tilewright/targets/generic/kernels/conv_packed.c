/* Convolution of bytes with packed weights, channels second, in one group; int32 totals, optionally requantised. A filter
 * is unpacked once; each of its weights then meets a row of the image. */
#ifndef TW_NAME
#define TW_NAME tw_conv_packed
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_packed.h"
#include "conv_store.h"

/* The first position whose tap is at `least` or behind it. */
static int32_t first_from(int32_t least, int32_t stride) { return least <= 0 ? 0 : (least + stride - 1) / stride; }

/* One weight with a row of the image, from `offset` on. */
static void add_row(const tw_conv_params *p, const TW_X *x, int32_t offset, int32_t weight, uint32_t *restrict total) {
  const int32_t stride = p->stride_w, zero = p->x_zero;
  const int32_t end = tw_min(p->out_w, first_from(p->in_w - offset, stride));
  for (int32_t i = first_from(-offset, stride); i < end; i++) {
    total[i] += (uint32_t)(weight * (x[offset + i * stride] - zero));
  }
}

/* A row of results of one filter. */
static void filter_row(const tw_conv_params *p, const TW_X *x, const int16_t *weight, int32_t out_y, uint32_t *total) {
  for (int32_t c = 0; c < p->in_channels; c++) {
    for (int32_t r = 0; r < p->kernel_h; r++, weight += p->kernel_w) {
      const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
      if (in_y < 0 || in_y >= p->in_h) continue;
      const TW_X *const row = x + (c * p->in_h + in_y) * p->in_w;
      for (int32_t s = 0; s < p->kernel_w; s++) add_row(p, row, s * p->dilation_w - p->pad_left, weight[s], total);
    }
  }
}

void TW_NAME(const tw_conv_packed_params *params, const TW_X *x, const uint8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t length = p->in_channels * p->kernel_h * p->kernel_w, image = p->in_channels * p->in_h * p->in_w;
  uint32_t *const total = scratch;
  int16_t *const weights = (int16_t *)(total + p->out_w);
  for (int32_t filter = 0; filter < p->out_channels; filter++) {
    tw_unpack_row(w + filter * params->row_bytes, length, params->bits, params->least, weights);
    for (int32_t row = 0; row < p->batch * p->out_h; row++) {
      const int32_t n = row / p->out_h, out_y = row % p->out_h;
      for (int32_t i = 0; i < p->out_w; i++) total[i] = (uint32_t)tw_conv_bias(p, b, filter);
      filter_row(p, x + n * image, weights, out_y, total);
      TW_Y *const to = y + ((n * p->out_channels + filter) * p->out_h + out_y) * p->out_w;
      tw_conv_store(p, mul, add, filter, total, to, p->out_w);
    }
  }
}
