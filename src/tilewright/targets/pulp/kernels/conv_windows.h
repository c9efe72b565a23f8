/* Windows of a convolution, gathered into rows that are as long as a filter. */
#ifndef TW_CONV_WINDOWS_H
#define TW_CONV_WINDOWS_H

#include "conv_filters.h"

/* A copy of the image with its padding, as far as windows reach: there is no other padding from then on. A core copies
 * its share of the rows. */
static TW_COMPACT void pad_image(work *k, tw_conv_params *inside, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t height = (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  const int32_t width = (p->out_w - 1) * p->stride_w + p->kernel_w, pitch = width * p->in_channels;
  const int32_t before = p->pad_left * p->in_channels, across = p->in_w * p->in_channels;
  const int32_t copied = tw_max(0, tw_min(across, pitch - before)), behind = tw_max(0, pitch - before - copied);
  tw_copy_run((uint8_t *)inside, (const uint8_t *)p, sizeof *p);
  inside->in_h = height, inside->in_w = width, inside->pad_top = inside->pad_left = 0;
  const tw_share share = tw_share_of(p->batch * height);
  int32_t image = (int32_t)((uint32_t)share.first / (uint32_t)height), in_y = share.first - image * height - p->pad_top;
  const uint8_t *from = (const uint8_t *)k->x + (image * p->in_h + in_y) * across;
  k->p = inside, k->x = (const TW_X *)to;
  to += share.first * pitch;
  for (int32_t row = share.first; row < share.end; row++, from += across) {
    if (in_y < 0 || in_y >= p->in_h) {
      to = tw_fill_run(to, p->x_zero, pitch);
    } else {
      to = tw_copy_run(tw_fill_run(to, p->x_zero, tw_min(before, pitch)), from, copied);
      to = tw_fill_run(to, p->x_zero, behind);
    }
    if (++in_y < height - p->pad_top) continue;
    in_y = -p->pad_top;
    from += (p->in_h - height) * across;
  }
}

/* Taps of one row of a window that lie in the image, from `in_x` on; outside is zero's value. */
static inline uint8_t *gather_row(const work *k, const uint8_t *x_row, int32_t in_x, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, taps = p->kernel_w;
  if (p->dilation_w == 1 && p->groups == 1) {
    const int32_t before = tw_min(tw_max(0, -in_x), taps), end = tw_max(before, tw_min(taps, p->in_w - in_x));
    if (before > 0) to = tw_fill_run(to, p->x_zero, before * channels);
    to = tw_copy_run(to, x_row + (in_x + before) * channels, (end - before) * channels);
    return end < taps ? tw_fill_run(to, p->x_zero, (taps - end) * channels) : to;
  }
  for (int32_t s = 0; s < taps; s++, in_x += p->dilation_w) {
    const int is_inside = in_x >= 0 && in_x < p->in_w;
    to = is_inside ? tw_copy_run(to, x_row + in_x * k->channels, channels) : tw_fill_run(to, p->x_zero, channels);
  }
  return to;
}

/* The window whose corner is at (in_y, in_x), wherever it lies. */
static TW_COMPACT uint8_t *gather_any(const work *k, const uint8_t *x, int32_t in_y, int32_t in_x, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  for (int32_t r = 0; r < p->kernel_h; r++, in_y += p->dilation_h) {
    const int is_inside = in_y >= 0 && in_y < p->in_h;
    to = is_inside ? gather_row(k, x + in_y * p->in_w * k->channels, in_x, to)
                   : tw_fill_run(to, p->x_zero, p->kernel_w * p->in_channels);
  }
  return to;
}

/* Rows of a window that lies in the image, each a run of bytes. */
static inline uint8_t *gather_runs(const uint8_t *from, int32_t pitch, int32_t rows, int32_t run, uint8_t *to) {
  if (run == 4) {
    tw_copy_words(to, 4, from, pitch, rows);
    return to + 4 * rows;
  }
  for (; rows > 0; rows--, from += pitch, to += run) {
    if (run >= 32 || run < 4) {
      tw_copy_run(to, from, run);
      continue;
    }
    for (int32_t i = 0; i <= run - 4; i += 4) tw_x_store(to + i, tw_x_load(from + i));
    if (run & 3) tw_x_store(to + run - 4, tw_x_load(from + run - 4));
  }
  return to;
}

/* The windows of `count` output pixels from `pixel` on, for the channels of one group. */
static __attribute__((noinline)) void gather(const work *k, int32_t group, int32_t pixel, int32_t count, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t row = (int32_t)((uint32_t)pixel / (uint32_t)p->out_w);
  int32_t out_x = pixel - row * p->out_w, image = (int32_t)((uint32_t)row / (uint32_t)p->out_h);
  int32_t out_y = row - image * p->out_h;
  const int32_t pitch = p->in_w * k->channels, rest = k->step - k->length;
  const int32_t last_y = p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h, last_x = p->in_w - p->kernel_w;
  const int has_runs = p->groups == 1 && (p->dilation_w == 1 || p->kernel_w == 1);
  const uint8_t *x = (const uint8_t *)k->x + image * p->in_h * pitch + group * p->in_channels;
  for (; count > 0; count--) {
    const int32_t in_x = out_x * p->stride_w - p->pad_left, in_y = out_y * p->stride_h - p->pad_top;
    if (has_runs && in_x >= 0 && in_x <= last_x && in_y >= 0 && in_y <= last_y) {
      const uint8_t *const corner = x + in_y * pitch + in_x * p->in_channels;
      to = gather_runs(corner, p->dilation_h * pitch, p->kernel_h, p->kernel_w * p->in_channels, to);
    } else {
      to = gather_any(k, x, in_y, in_x, to);
    }
    for (int32_t i = 0; i < rest; i++) *to++ = 0;
    if (++out_x < p->out_w) continue;
    out_x = 0;
    if (++out_y < p->out_h) continue;
    out_y = 0;
    x += p->in_h * pitch;
  }
}

#endif
