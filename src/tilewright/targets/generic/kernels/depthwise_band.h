/* The band: the input rows, padding included, that some output rows of one channel read.
 * Needs what panel_copy.h needs. */
#ifndef TW_DEPTHWISE_BAND_H
#define TW_DEPTHWISE_BAND_H

#include "conv.h"
#include "panel_copy.h"

/* Results computed at a time. A run is rounded up to whole blocks, so the band has elements to spare at its end. */
#define TW_RUN 32

typedef struct {
  int32_t pitch;   /* elements from row to row */
  int32_t is_flat; /* without strides, all rows are computed as one long row; what lies between rows is dropped */
  int32_t elements;
} tw_band_shape;

static inline tw_band_shape tw_band(const tw_conv_params *p) {
  tw_band_shape band;
  band.pitch = (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
  band.is_flat = p->stride_h == 1 && p->stride_w == 1;
  band.elements = ((p->chunk - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1) * band.pitch;
  return band;
}

/* Fill the band for output rows from `out_y` on. */
static void tw_band_fill(const tw_conv_params *p, const TW_X *plane, int32_t out_y, TW_PANEL outside, TW_PANEL *band) {
  const tw_band_shape shape = tw_band(p);
  const int32_t left = tw_min(p->pad_left, shape.pitch);
  const int32_t inside = tw_min(p->in_w, shape.pitch - left);
  int32_t in_y = out_y * p->stride_h - p->pad_top;
  for (int32_t at = 0; at < shape.elements; at += shape.pitch, in_y++) {
    if (in_y < 0 || in_y >= p->in_h) {
      tw_panel_fill(band + at, outside, shape.pitch);
      continue;
    }
    tw_panel_fill(band + at, outside, left);
    tw_panel_copy(band + at + left, plane + in_y * p->in_w, 1, inside);
    tw_panel_fill(band + at + left + inside, outside, shape.pitch - left - inside);
  }
  tw_panel_fill(band + shape.elements, outside, TW_RUN * p->stride_w);
}

#endif
