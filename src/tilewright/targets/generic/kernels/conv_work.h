/* Units of work of convolutions on a core that computes one element at a time: blocks of pixels and filters are computed whole,
 * however few of them are asked for. */
#ifndef TW_CONV_WORK_H
#define TW_CONV_WORK_H

#include "conv_sizes.h"
#include "conv_tile.h"
#include "stored_work.h"

/* Whether windows reach beyond the image. */
static inline int tw_has_padding(const tw_conv_params *p) {
  const tw_band band = tw_band_of(p, 0, 0, p->out_h, p->out_w);
  return p->pad_top || p->pad_left || band.rows > p->in_h || band.columns > p->in_w;
}

/* The call and its groups; blocks of pixels, with filters, and with each element of those; what is copied into the band and its
 * rows, and from there into the panel; weights, which are summed; results. */
static inline int64_t tw_conv_planes_work(const tw_conv_params *p, const tw_conv_loops *tile, double *units) {
  const tw_conv_params t = tw_conv_tile(p, tile);
  const int64_t groups = tile->n * tile->g, taps = tile->r * tile->s, plane = tile->y * tile->x, filter = tile->c * taps;
  const int64_t blocks = groups * tw_up(plane, TW_PIXELS), meetings = tw_up(tile->f, TW_FILTERS);
  const int is_row = taps == 1 && p->stride_w == 1, one_row = (is_row && !tw_has_padding(p)) || tile->x >= TW_PIXELS;
  const int64_t rows = one_row ? 1 : tw_least(tile->y, tw_up(TW_PIXELS - 1, tile->x) + 1);
  const tw_band band = tw_band_of(&t, 0, 0, (int32_t)rows, (int32_t)(one_row ? tw_least(TW_PIXELS, plane) : tile->x));
  const int64_t copied = blocks * tile->c * band.rows, gathered = is_row && one_row ? 0 : blocks * filter * rows;
  TW_UNITS(1, groups, blocks, blocks * meetings, blocks * meetings * filter, copied, copied * band.columns, gathered,
           groups * tile->f * filter, TW_STORED(p, groups * tile->f * plane));
}

/* The call, filters; blocks of pixels and the taps on them; rows; what is copied into the band; results. */
static inline int64_t tw_depthwise_planes_work(const tw_conv_params *p, const tw_conv_loops *tile, double *units) {
  const tw_conv_params t = tw_conv_tile(p, tile);
  const int64_t filters = tile->n * tile->g * tile->f;
  const tw_band band = tw_band_of(&t, 0, 0, t.out_h, t.out_w);
  const int is_one_run = p->stride_h == 1 && p->stride_w == 1;
  const int64_t run = tw_up((tile->y - 1) * band.columns + tile->x, TW_PIXELS);
  const int64_t blocks = filters * (is_one_run ? run : tile->y * tw_up(tile->x, TW_PIXELS));
  TW_UNITS(1, filters, blocks, blocks * tile->r * tile->s, filters * tile->y, filters * band.rows * band.columns,
           TW_STORED(p, filters * tile->y * tile->x));
}

/* Channels last: the call, pixels, taps of their windows and elements of these; runs of products and products; results. */
static inline int64_t tw_conv_channels_last_work(const tw_conv_params *p, const tw_conv_loops *tile, double *units) {
  const int64_t pixels = tile->n * tile->y * tile->x, taps = tile->r * tile->s, taken = tile->c * taps;
  const int64_t results = pixels * tile->g * tile->f;
  TW_UNITS(1, pixels, pixels * taps, pixels * tile->g * taken, results * (tile->g == 1 ? 1 : taps), results * taken,
           TW_STORED(p, results));
}

#endif
