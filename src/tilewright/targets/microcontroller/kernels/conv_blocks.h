/* Convolutions of bytes, channels second, whose filters are in blocks of four: results of a block, and the rows of an image that they
 * come from. Needs TW_X, TW_Y, tw_totals and TW_WEIGHTS_OF_WORD. */
#ifndef TW_CONV_BLOCKS_H
#define TW_CONV_BLOCKS_H

#include "always.h"
#include "conv.h"
#include "filter_block.h"
#include "requant_row.h"
#include "row_copy.h"

/* Of so many weights. */
#define WEIGHT_BYTES(taps) (4 * (taps) / TW_WEIGHTS_OF_WORD)

/* What is the same for all pixels of an image and a group. */
typedef struct {
  const tw_conv_params *p;
  const int8_t *w;              /* the first block */
  const int32_t *b, *mul, *add; /* of the first filter */
  TW_Y *y;                      /* the first plane */
  int32_t taps, out_plane;
  tw_way way;
} image;

/* Four filters: a last block may have less, and has one of them more than once. */
typedef struct {
  int32_t start[TW_BLOCK]; /* of their totals */
  tw_factor factor[TW_BLOCK];
  const int8_t *w;
  TW_Y *y;
  int32_t filters;
  tw_way way;
} block;

static block block_at(const image *m, int32_t filter) {
  const tw_conv_params *const p = m->p;
  block k;
  k.filters = tw_min(TW_BLOCK, p->out_channels - filter);
  k.w = m->w + filter * WEIGHT_BYTES(m->taps);
  k.y = m->y + filter * m->out_plane;
  k.way = m->way;
  /* A few filters of a layer may need a way that the others do not. */
  if (k.way == TW_ANY_WAY && TW_IS_TFLITE(&p->requant)) {
    k.way = tw_way_of(1, &p->requant, m->add + filter * p->add_step, p->add_step, k.filters, 1);
  }
  for (int32_t i = 0; i < TW_BLOCK; i++) {
    const int32_t f = filter + tw_min(i, k.filters - 1);
    k.start[i] = m->b[f * p->bias_step];
    const int32_t mul = m->mul ? m->mul[f * p->mul_step] : 0, add = m->add ? m->add[f * p->add_step] : 0;
    k.factor[i] = tw_factor_of(k.way, &p->requant, mul, add);
  }
  return k;
}

/* Of one group in one image; `taps` are those of a filter, with what fills them up. */
TW_ALWAYS image image_at(const tw_conv_params *p, int32_t n, int32_t taps, tw_way way, const int8_t *w, const int32_t *b,
                      const int32_t *mul, const int32_t *add, TW_Y *y) {
  const int32_t filters = p->out_channels, group = n % p->groups, first = group * filters;
  const int32_t block_bytes = (filters + TW_BLOCK - 1) / TW_BLOCK * TW_BLOCK * WEIGHT_BYTES(taps);
  const image m = {p, w + group * block_bytes, b + first * p->bias_step, mul ? mul + first * p->mul_step : mul,
                   add ? add + first * p->add_step : add, y + n * filters * p->out_h * p->out_w, taps,
                   p->out_h * p->out_w, way};
  return m;
}

/* Results of neighbouring pixels of a block's filters. */
TW_ALWAYS void store(const image *m, const block *k, int32_t at, int32_t pixels, tw_totals total) {
  TW_Y *y = k->y + at;
  for (int32_t f = 0; f < k->filters; f++, y += m->out_plane) {
    const tw_factor factor = k->factor[f];
    tw_requantise_row(k->way, &m->p->requant, &factor, total[f], y, pixels);
  }
}

TW_ALWAYS int32_t next_pixels(int32_t left) { return left >= 4 ? 4 : left >= 2 ? 2 : 1; }

/* The rows that a row of results reads, of all channels, with their padding. */
static void load_band(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t pitch, TW_X *band) {
  for (int32_t c = 0; c < p->in_channels; c++, x += p->in_h * p->in_w) {
    for (int32_t r = 0; r < p->kernel_h; r++, band += pitch) {
      const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
      tw_padded_row(p, x, in_y, pitch, band);
    }
  }
}

#endif
