/* Convolution of bytes, channels second, with windows of 3 x 3 and one input channel in each group. The rows of a
 * channel that some rows of results read are copied with their padding. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_windows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "always.h"
#include "conv_pairs_sizes.h"
#include "row_copy.h"
#include "word_copy.h"
#include "window_rows.h"

/* Rows of a channel with their padding. */
static __attribute__((noinline)) void load_rows(const tw_conv_params *p, const TW_X *x, int32_t in_y, int32_t in_rows,
                                                int32_t pitch, TW_X *band) {
  for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
}

/* All filters of a channel. */
TW_ALWAYS void on_channel(tw_windows_function windows, tw_windows *all, int32_t filters,
                                                 int32_t plane) {
  for (; filters > 0; filters--, all->filter += TW_WINDOW_WORDS, all->y += plane) windows(all);
}

/* Where images are copied as a whole: padding is the same for all channels. */
static void by_images(const tw_conv_pairs_params *params, const TW_X *x, const int32_t *filters, TW_Y *y, TW_X *band) {
  const tw_conv_params *const p = &params->conv;
  const int32_t pitch = tw_band_pitch(p), plane = p->out_h * p->out_w, in_w = p->in_w, image = p->in_h * in_w;
  const int32_t in_rows = tw_band_rows(p, p->out_h), per_group = p->out_channels;
  const int32_t rows = tw_min(p->in_h, in_rows - p->pad_top), columns = tw_min(in_w, pitch - p->pad_left);
  const tw_windows_function windows = tw_windows_by(params->way, p->stride_w);
  TW_X *const inside = band + p->pad_top * pitch + p->pad_left;
  tw_windows all = {band, pitch, y, p->out_w, p->out_h, filters};
  tw_fill_words(band, in_rows * pitch, (TW_X)p->x_zero);
  for (int32_t n = 0; n < p->batch; n++) {
    all.filter = filters;
    for (int32_t group = 0; group < p->groups; group++, x += image) {
      tw_copy_rows(x, in_w, columns, inside, pitch, rows);
      on_channel(windows, &all, per_group, plane);
    }
  }
}

/* Some rows of results at a time. */
static void by_rows(const tw_conv_pairs_params *params, const TW_X *x, const int32_t *filters, TW_Y *y, TW_X *band) {
  const tw_conv_params *const p = &params->conv;
  const int32_t pitch = tw_band_pitch(p), plane = p->out_h * p->out_w, per_group = p->out_channels;
  const tw_windows_function windows = tw_windows_by(params->way, p->stride_w);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w, y += per_group * plane) {
    const int32_t *const own = filters + n % p->groups * per_group * TW_WINDOW_WORDS;
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      /* Two rows at the least: some may be computed twice. */
      const int32_t first = tw_min(out_y, p->out_h - 2), rows = tw_min(p->chunk, p->out_h - first);
      tw_windows all = {band, pitch, y + first * p->out_w, p->out_w, rows, own};
      load_rows(p, x, first * p->stride_h - p->pad_top, tw_band_rows(p, rows), pitch, band);
      on_channel(windows, &all, per_group, plane);
    }
  }
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, TW_Y *y, void *scratch) {
  const int32_t *const filters = (const int32_t *)(const void *)w;
  TW_X *const band = (TW_X *)scratch + tw_band_lead(&params->conv);
  if (params->conv.chunk >= params->conv.out_h) {
    by_images(params, x, filters, y, band);
  } else {
    by_rows(params, x, filters, y, band);
  }
}
