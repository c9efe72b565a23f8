/* Convolution of bytes, channels second, with windows of 3 x 3 and one input channel in each group. The rows of a
 * channel that some rows of results read are copied with their padding. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_windows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_pairs.h"
#include "row_copy.h"
#include "window_rows.h"

enum { FILTER_WORDS = 4 }; /* start, factor, shift, addend */

/* Some columns of rows, by words; the last word of a row may begin before the end of the one before. */
static __attribute__((noinline)) void copy_rows(const TW_X *x, int32_t step, int32_t columns, TW_X *to, int32_t pitch,
                                                int32_t rows) {
  for (; rows > 0; rows--, x += step, to += pitch) {
    if (columns < 4) {
      for (int32_t i = 0; i < columns; i++) to[i] = x[i];
      continue;
    }
    const TW_X *from = x;
    TW_X *at = to;
    for (int32_t left = columns - 4; left > 0; left -= 4, from += 4, at += 4) __builtin_memcpy(at, from, 4);
    __builtin_memcpy(to + columns - 4, x + columns - 4, 4);
  }
}

/* The rows of a whole image into a band that has its padding already. */
static void copy_inside(const tw_conv_params *p, const TW_X *x, int32_t in_rows, int32_t pitch, TW_X *band) {
  const int32_t rows = tw_min(p->in_h, in_rows - p->pad_top), columns = tw_min(p->in_w, pitch - p->pad_left);
  copy_rows(x, p->in_w, columns, band + p->pad_top * pitch + p->pad_left, pitch, rows);
}

/* Rows of a channel with their padding. */
static __attribute__((noinline)) void load_rows(const tw_conv_params *p, const TW_X *x, int32_t in_y, int32_t in_rows,
                                                int32_t pitch, TW_X *band) {
  for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, const int32_t *filters, TW_Y *y,
             void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t out_h = p->out_h, out_w = p->out_w, plane = out_h * out_w, image = p->in_h * p->in_w;
  const int32_t groups = p->groups, per_group = p->out_channels, chunk = p->chunk, stride = p->stride_h;
  const int32_t pitch = tw_band_pitch(p), is_whole = chunk >= out_h;
  const tw_windows_function windows = tw_windows_by(params->way, p->stride_w);
  TW_X *const band = (TW_X *)scratch + tw_band_lead(p);
  for (int32_t n = 0, group = 0; n < p->batch * groups; n++, x += image, y += per_group * plane) {
    for (int32_t out_y = 0; out_y < out_h; out_y += chunk) {
      /* Two rows at the least: some may be computed twice. */
      const int32_t first = tw_min(out_y, out_h - 2), rows = tw_min(chunk, out_h - first);
      const int32_t in_rows = (rows - 1) * stride + 3;
      /* Padding of whole images is the same for all channels. */
      if (is_whole && n > 0) {
        copy_inside(p, x, in_rows, pitch, band);
      } else {
        load_rows(p, x, first * stride - p->pad_top, in_rows, pitch, band);
      }
      const int32_t *own = filters + group * per_group * FILTER_WORDS;
      tw_windows all = {band, pitch, w + group * per_group * TW_WINDOW_BYTES, 0, 0, 0, 0, y + first * out_w,
                        out_w, rows, stride * pitch};
      for (int32_t f = 0; f < per_group; f++, own += FILTER_WORDS, all.w += TW_WINDOW_BYTES, all.y += plane) {
        all.start = own[0], all.mul = own[1], all.shift = own[2], all.addend = own[3];
        windows(&all);
      }
    }
    if (++group == groups) group = 0;
  }
}
