/* The rows of conv_blocked.c where there are vectors: lanes are pixels. Taps of an image row by row are found by a table,
 * which lies where others gather pixels. */
#ifndef TW_CONV_LANES_H
#define TW_CONV_LANES_H

#include "sum_lanes.h"

TW_ALWAYS void on_lanes(const image *m, const block *k, const TW_X *x, int is_listed, const int32_t *offset,
                        int32_t stride, int32_t at, int32_t pixels) {
  tw_lane_totals total;
  while (pixels > 0) {
    const size_t vl = tw_lanes_of(pixels);
    tw_lanes_products(x, is_listed, offset, m->out_plane, stride, k->w, m->taps, k->start, total, vl);
    TW_Y *y = k->y + at;
    for (int32_t f = 0; f < k->filters; f++, y += m->out_plane) {
      const tw_factor factor = k->factor[f];
      tw_requantise_row(k->way, &m->p->requant, &factor, total[f], y, (int32_t)vl);
    }
    x += (int32_t)vl * stride, at += (int32_t)vl, pixels -= (int32_t)vl;
  }
}

/* One tap on every pixel: the plane is one long row. */
static void flat(const image *m, const TW_X *x) {
  for (int32_t filter = 0; filter < m->p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    on_lanes(m, &k, x, 0, 0, 1, 0, m->out_plane);
  }
}

/* From the first element under a window to that under each tap. */
static void find_taps(const tw_conv_params *p, int32_t pitch, int32_t *offset) {
  for (int32_t row = 0; row < p->in_channels * p->kernel_h; row++) {
    for (int32_t s = 0; s < p->kernel_w; s++) *offset++ = row * pitch + s * p->dilation_w;
  }
}

/* A row of results from its band. */
static void row(const image *m, const TW_X *band, int32_t pitch, TW_X *panel, int32_t out_y) {
  const tw_conv_params *const p = m->p;
  int32_t *const offset = (int32_t *)(void *)panel;
  if (out_y == 0) find_taps(p, pitch, offset);
  for (int32_t filter = 0; filter < p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    if (p->stride_w == 1) {
      on_lanes(m, &k, band, 1, offset, 1, out_y * p->out_w, p->out_w);
    } else {
      on_lanes(m, &k, band, 1, offset, p->stride_w, out_y * p->out_w, p->out_w);
    }
  }
}

#endif
