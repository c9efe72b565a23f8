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

/* The rows of a whole image into a band that has its padding already. */
static void copy_inside(const tw_conv_params *p, const TW_X *x, int32_t in_rows, int32_t pitch, TW_X *band) {
  const int32_t rows = tw_min(p->in_h, in_rows - p->pad_top), columns = tw_min(p->in_w, pitch - p->pad_left);
  TW_X *to = band + p->pad_top * pitch + p->pad_left;
  for (int32_t r = 0; r < rows; r++, x += p->in_w, to += pitch) tw_copy(x, columns, to);
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, const int32_t *filters, TW_Y *y,
             void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t plane = p->out_h * p->out_w, pitch = tw_band_pitch(p), is_whole = p->chunk >= p->out_h;
  TW_X *const band = (TW_X *)scratch + tw_band_lead(p);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w) {
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      /* Two rows at the least: some may be computed twice. */
      const int32_t first = tw_min(out_y, p->out_h - 2), rows = tw_min(p->chunk, p->out_h - first);
      const int32_t in_rows = (rows - 1) * p->stride_h + 3, in_y = first * p->stride_h - p->pad_top;
      /* Padding of whole images is the same for all channels. */
      if (is_whole && n > 0) {
        copy_inside(p, x, in_rows, pitch, band);
      } else {
        for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
      }
      for (int32_t f = 0; f < p->out_channels; f++) {
        const int32_t filter = n % p->groups * p->out_channels + f;
        const int32_t *const own = filters + filter * FILTER_WORDS;
        TW_Y *const to = y + (n * p->out_channels + f) * plane + first * p->out_w;
        const tw_windows all = {band, pitch, w + filter * TW_WINDOW_BYTES, own[0], own[1], own[2], own[3], to,
                                p->out_w, rows, p->stride_h * pitch};
        tw_windows_by(params->way, p->stride_w, &all);
      }
    }
  }
}
