/* Convolutions of floats with three by three taps and strides of one in fewer products: F(2 x 2, 3 x 3). Patches of 4 x 4
 * pixels and filters are transformed, 16 matrices are multiplied, and what comes out is transformed into 2 x 2 results:
 * 16 products for each, where 36 are multiplied otherwise. Channels last; all cores together. */
#ifndef TW_WINOGRAD_F32_H
#define TW_WINOGRAD_F32_H

#include "blocks_f32.h"
#include "positive_f32.h"
#include "winograd_patches_f32.h"

typedef struct {
  tw_winograd_sizes sizes;
  tw_image image;
  const float *w, *bias; /* bias may be null */
  float *y;
  int32_t w_filter, w_channel, w_row, w_column; /* from one element to the next */
  int32_t bias_step, is_positive;
  float *filters, *patches, *products; /* cells */
} tw_winograd;

/* ---- filters: cells of four filters, channel by channel ---- */

/* Channels of one filter. */
static __attribute__((noinline)) void tw_transform_filter(const tw_winograd *k, const float *from, int32_t count, float *to) {
  const int32_t row = k->w_row, column = k->w_column;
  for (; count > 0; count--, from += k->w_channel, to += TW_CELL) {
    const float *w = from;
    float between[12];
    TW_UNROLLED(3) for (int s = 0; s < 3; s++, w += column) {
      const float a = w[0], b = 0.5f * w[row], c = w[2 * row], half = 0.5f * (a + c);
      between[s] = a, between[3 + s] = half + b, between[6 + s] = half - b, between[9 + s] = c;
    }
    TW_UNROLLED(4) for (int r = 0; r < 4; r++) {
      const float a = between[3 * r], b = 0.5f * between[3 * r + 1], c = between[3 * r + 2], half = 0.5f * (a + c);
      to[16 * r] = a, to[16 * r + 4] = half + b, to[16 * r + 8] = half - b, to[16 * r + 12] = c;
    }
  }
}

/* Filters that are not there repeat the last one. */
static void tw_transform_filters(const tw_winograd *k) {
  const int32_t channels = k->sizes.channels;
  const tw_share share = tw_share_of(tw_whole_quads(k->sizes.filters) * channels);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t f = i / channels, c = i - f * channels, many = tw_min(channels - c, share.end - i);
    const float *const from = k->w + tw_min(f, k->sizes.filters - 1) * k->w_filter + c * k->w_channel;
    tw_transform_filter(k, from, many, k->filters + ((f >> 2) * channels + c) * TW_CELL + (f & 3));
    i += many;
  }
}

/* ---- patches: cells of four patches, channel by channel ---- */

/* Patches that four of them lack are zeros. */
static void tw_fill_last_quad(const tw_winograd *k, int32_t patches) {
  const int32_t channels = k->sizes.channels;
  const tw_share share = tw_share_of(channels);
  for (int32_t slot = patches & 3; slot > 0 && slot < 4; slot++) {
    float *to = k->patches + ((patches >> 2) * channels + share.first) * TW_CELL + slot;
    for (int32_t c = share.first; c < share.end; c++, to += TW_CELL) {
      for (int32_t m = 0; m < 16; m++) to[4 * m] = 0.0f;
    }
  }
}

/* ---- products: cells of four filters, patch by patch ---- */

/* Blocks of four patches and four filters below each other, from the quad of patches `quad` on. */
static __attribute__((noinline)) void tw_multiply_strip(const tw_winograd *k, int32_t matrix, int32_t column, int32_t quad,
                                                        int32_t blocks) {
  const int32_t channels = k->sizes.channels, columns = tw_whole_quads(k->sizes.filters) >> 2;
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const float *a = k->patches + quad * channels * TW_CELL + 4 * matrix;
  const float *const b = k->filters + column * channels * TW_CELL + 4 * matrix;
  tw_block_ends ends = {zeros, 0, k->products + (4 * quad * columns + column) * TW_CELL + 4 * matrix, columns * TW_CELL};
  for (; blocks > 0; blocks--, a += channels * TW_CELL, ends.to += 4 * columns * TW_CELL) {
    tw_block_columns_f32(a, TW_CELL, b, TW_CELL, channels, ends);
  }
}

static void tw_multiply_patches(const tw_winograd *k, int32_t patches) {
  const int32_t rows = tw_whole_quads(patches) >> 2, columns = tw_whole_quads(k->sizes.filters) >> 2;
  const tw_share share = tw_share_of(16 * rows * columns);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t strip = i / rows, row = i - strip * rows, matrix = strip / columns;
    const int32_t many = tw_min(rows - row, share.end - i);
    tw_multiply_strip(k, matrix, strip - matrix * columns, row, many);
    i += many;
  }
}

/* ---- results ---- */

/* The 2 x 2 results of some filters of a patch, as far as they are in the image. */
static __attribute__((noinline)) void tw_transform_results(const tw_winograd *k, tw_corner corner, const float *from,
                                                           int32_t filter, int32_t end) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int has_right = corner.x + 1 < n->out_w, has_below = corner.y + 1 < n->out_h;
  float *y = k->y + ((corner.image * n->out_h + corner.y) * n->out_w + corner.x) * n->filters + filter;
  const int32_t right = n->filters, below = n->out_w * n->filters;
  const float none = 0.0f, *bias = k->bias ? k->bias + filter * k->bias_step : &none;
  const int32_t bias_step = k->bias ? k->bias_step : 0;
  while (filter < end) {
    float sums[8];
    TW_UNROLLED(4) for (int s = 0; s < 4; s++) {
      /* A bias in the sixth matrix is in all four results. */
      const float a = from[4 * s], b = s == 1 ? from[4 * s + 16] + *bias : from[4 * s + 16];
      const float c = from[4 * s + 32], d = from[4 * s + 48], both = b + c;
      sums[s] = a + both, sums[4 + s] = b - c - d;
    }
    float t0 = sums[0] + (sums[1] + sums[2]), t1 = sums[1] - sums[2] - sums[3];
    float t2 = sums[4] + (sums[5] + sums[6]), t3 = sums[5] - sums[6] - sums[7];
    if (k->is_positive) t0 = tw_positive(t0), t1 = tw_positive(t1), t2 = tw_positive(t2), t3 = tw_positive(t3);
    y[0] = t0;
    if (has_right) y[right] = t1;
    if (has_below) y[below] = t2;
    if (has_right && has_below) y[below + right] = t3;
    y++, bias += bias_step;
    from += (++filter & 3) ? 1 : TW_CELL - 3;
  }
}

static void tw_transform_products(const tw_winograd *k, const tw_round *round) {
  const int32_t filters = k->sizes.filters, columns = tw_whole_quads(filters) >> 2;
  const tw_share share = tw_share_of(tw_patches_of(round) * filters);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    const float *const from = k->products + (patch * columns + (filter >> 2)) * TW_CELL + (filter & 3);
    tw_transform_results(k, tw_corner_of(round, patch), from, filter, filter + many);
    i += many;
  }
}

/* The patches of one round. */
static void tw_winograd_round(const tw_winograd *k, tw_round round) {
  const int32_t channels = k->sizes.channels, patches = tw_patches_of(&round);
  const tw_places next = {1, channels * TW_CELL - 3};
  tw_transform_patches(&k->image, &round, 0, TW_CELL, next, k->patches);
  tw_fill_last_quad(k, patches);
  tw_barrier();
  tw_multiply_patches(k, patches);
  tw_barrier();
  tw_transform_products(k, &round);
}

/* A whole convolution; scratch has room for tw_winograd_bytes. */
static void tw_winograd_run(tw_winograd *k, float *scratch) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int32_t columns = tw_whole_quads(n->filters) >> 2, quads = tw_quads_at_once(n);
  const tw_patch_grid grid = tw_patches_at_once(n);
  k->filters = scratch;
  k->patches = k->filters + columns * n->channels * TW_CELL;
  k->products = k->patches + quads * n->channels * TW_CELL;
  float *const zero = k->products + 4 * quads * columns * TW_CELL;
  k->image.zero = zero;
  if (tw_core() == 0) *zero = 0.0f;
  tw_barrier();
  tw_transform_filters(k);
  for (int32_t line = 0; line < tw_lines_of_patches(n); line += grid.lines) {
    for (int32_t column = 0; column < tw_patches_across(n); column += grid.columns) {
      tw_winograd_round(k, tw_round_at(n, line, column));
    }
  }
}

#endif
