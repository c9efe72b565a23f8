/* The panel: for a block of output pixels, the input element under each tap. Row (channel, tap), column pixel, so that
 * neighbouring pixels, which mostly read neighbouring elements, are copied row by row.
 * Needs what panel_copy.h needs. */
#ifndef TW_CONV_PANEL_H
#define TW_CONV_PANEL_H

#include "conv.h"
#include "panel_copy.h"

/* Pixels per block: their totals for a few filters fit into vector registers. */
#define TW_PIXELS 32
#define TW_FILTERS 4

/* One row of the panel: `count` pixels from `first` on, seen through the tap at (r, s) of one channel's plane. */
static inline void tw_panel_row(const tw_conv_params *p, const TW_X *plane, int32_t r, int32_t shift, tw_range inside,
                                int32_t out_y, int32_t out_x, int32_t count, TW_PANEL outside, TW_PANEL *row) {
  while (count > 0) {
    const int32_t run = tw_min(count, p->out_w - out_x);
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    const int in_image = in_y >= 0 && in_y < p->in_h;
    const int32_t first = in_image ? tw_clamp(inside.first - out_x, 0, run) : run;
    const int32_t end = in_image ? tw_clamp(inside.end - out_x, first, run) : run;
    if (first > 0) tw_panel_fill(row, outside, first);
    if (end > first) {
      const TW_X *from = plane + (in_y * p->in_w + shift + (out_x + first) * p->stride_w);
      tw_panel_copy(row + first, from, p->stride_w, end - first);
    }
    if (run > end) tw_panel_fill(row + end, outside, run - end);
    row += run;
    count -= run;
    out_y++;
    out_x = 0;
  }
}

/* All rows of a block for some channels; columns behind the last pixel get the value of padding. */
static void tw_panel(const tw_conv_params *p, const TW_X *x, int32_t channels, int32_t pixel, int32_t count,
                     TW_PANEL outside, TW_PANEL *panel) {
  const int32_t out_y = pixel / p->out_w, out_x = pixel % p->out_w;
  const int32_t plane = p->in_h * p->in_w, taps = p->kernel_h * p->kernel_w;
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t shift = s * p->dilation_w - p->pad_left;
    const tw_range inside = tw_inside(shift, p->stride_w, p->in_w, p->out_w);
    for (int32_t c = 0; c < channels; c++) {
      for (int32_t r = 0; r < p->kernel_h; r++) {
        TW_PANEL *row = panel + (c * taps + r * p->kernel_w + s) * TW_PIXELS;
        tw_panel_row(p, x + c * plane, r, shift, inside, out_y, out_x, count, outside, row);
        if (count < TW_PIXELS) tw_panel_fill(row + count, outside, TW_PIXELS - count);
      }
    }
  }
}

#endif
