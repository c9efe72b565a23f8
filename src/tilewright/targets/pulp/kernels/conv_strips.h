/* Windows of a convolution as they lie in the image, or in a strip of it with its padding: those of neighbouring pixels
 * overlap, so that what is copied is about as much as one of their rows has pixels. A window's rows are then so many runs.
 * Where channels are no whole number of words, pixels of a strip are filled up with anything: filters have zeros there. */
#ifndef TW_CONV_STRIPS_H
#define TW_CONV_STRIPS_H

#include "conv_filters.h"

/* Pixels of one row of an image to a strip. */
static void copy_pixels(const work *k, const uint8_t *from, int32_t count, uint8_t *to) {
  const int32_t channels = k->p->in_channels, pixel = k->pixel;
  if (channels == pixel) {
    tw_copy_run(to, from, count * channels);
    return;
  }
  if (count <= 0) return;
  /* The first channels of each pixel are a word, and so on. The last one reaches into the next pixel. */
  for (int32_t i = 0; i < pixel; i += 4) tw_copy_words(to + i, pixel, from + i, channels, count - 1);
  /* Nobody knows what is behind the last one. */
  tw_fill_run(tw_copy_run(to + (count - 1) * pixel, from + (count - 1) * channels, channels), 0, pixel - channels);
}

/* `count` output pixels of a row, from (out_y, out_x) on: where their windows are. */
static const uint8_t *windows_of(work *k, int32_t image, int32_t out_y, int32_t out_x, int32_t count) {
  const tw_conv_params *const p = k->p;
  const int32_t width = (count - 1) * p->stride_w + p->kernel_w, run = p->kernel_w * k->pixel;
  const int32_t in_x = out_x * p->stride_w - p->pad_left;
  int32_t in_y = out_y * p->stride_h - p->pad_top;
  const int32_t before = tw_min(width, tw_max(0, -in_x)), end = tw_max(before, tw_min(width, p->in_w - in_x));
  const int32_t across = p->in_w * p->in_channels;
  const uint8_t *const x = (const uint8_t *)k->x + image * p->in_h * across;
  const int is_inside = end - before == width && in_y >= 0 && in_y + (p->kernel_h - 1) * p->dilation_h < p->in_h;
  if (is_inside && p->in_channels == k->pixel) {
    tw_dots_in_runs(&k->dots, p->kernel_h, run, k->step, p->dilation_h * across);
    return x + in_y * across + in_x * p->in_channels;
  }
  uint8_t *const strip = k->gathered + tw_core() * p->kernel_h * k->pitch;
  uint8_t *to = strip;
  for (int32_t r = 0; r < p->kernel_h; r++, in_y += p->dilation_h, to += k->pitch) {
    if (in_y < 0 || in_y >= p->in_h) {
      tw_fill_run(to, p->x_zero, width * k->pixel);
      continue;
    }
    if (before > 0) tw_fill_run(to, p->x_zero, before * k->pixel);
    copy_pixels(k, x + in_y * across + (in_x + before) * p->in_channels, end - before, to + before * k->pixel);
    if (end < width) tw_fill_run(to + end * k->pixel, p->x_zero, (width - end) * k->pixel);
  }
  tw_dots_in_runs(&k->dots, p->kernel_h, run, k->step, k->pitch);
  return strip;
}

#endif
