/* The largest byte of each window, with the channels last; all cores together. Four channels at a time. */
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_bytes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "bytes4.h"
#include "cluster.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)

static inline int32_t larger(int32_t a, int32_t b) { return TW_X_SIGNED ? tw_x_max4(a, b) : tw_x_maxu4(a, b); }

/* y = the larger of x and y, channel by channel. */
static void raise_to(uint8_t *y, const uint8_t *x, int32_t channels) {
  for (; channels >= 8; channels -= 8, x += 8, y += 8) {
    const uint32_t first = tw_x_load(x), second = tw_x_load(x + 4), low = tw_x_load(y), high = tw_x_load(y + 4);
    tw_x_store(y, (uint32_t)larger((int32_t)first, (int32_t)low));
    tw_x_store(y + 4, (uint32_t)larger((int32_t)second, (int32_t)high));
  }
  for (; channels > 0; channels--, x++, y++) {
    const TW_X left = (TW_X)*x, right = (TW_X)*y;
    *y = (uint8_t)(left > right ? left : right);
  }
}

static void one_pixel(const tw_pool_params *p, const uint8_t *image, int32_t out_y, int32_t out_x, uint8_t *y) {
  const tw_range rows = tw_inside(out_y * p->stride_h - p->pad_top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(out_x * p->stride_w - p->pad_left, p->dilation_w, p->in_w, p->kernel_w);
  int is_first = 1;
  for (int32_t r = rows.first; r < rows.end; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = columns.first; s < columns.end; s++, is_first = 0) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      const uint8_t *const x = image + (in_y * p->in_w + in_x) * p->channels;
      if (is_first) {
        tw_copy_run(y, x, p->channels);
      } else {
        raise_to(y, x, p->channels);
      }
    }
  }
  if (is_first) tw_fill_run(y, TW_X_SIGNED ? -128 : 0, p->channels); /* a window of nothing but padding */
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of(params->batch * params->out_h * params->out_w);
  if (share.first >= share.end) return;
  const int32_t row = share.first / params->out_w;
  int32_t out_x = share.first - row * params->out_w, image = row / params->out_h, out_y = row - image * params->out_h;
  for (int32_t i = share.first; i < share.end; i++) {
    const TW_X *const from = x + image * params->in_h * params->in_w * params->channels;
    one_pixel(params, (const uint8_t *)from, out_y, out_x, (uint8_t *)(y + i * params->channels));
    if (++out_x < params->out_w) continue;
    out_x = 0;
    if (++out_y < params->out_h) continue;
    out_y = 0;
    image++;
  }
}
