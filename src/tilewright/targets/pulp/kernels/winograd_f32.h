/* Convolutions of floats with three by three taps in fewer products. Patches of pixels and filters are transformed
 * (winograd_forms_f32.h), the matrices are multiplied, and what comes out is transformed into results. Channels last; all
 * cores together. */
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
  int32_t column, columns;             /* quads of filters that are computed now: the first one, and how many */
} tw_winograd;

/* ---- filters: cells of four filters, channel by channel ---- */

/* Channels of one filter. */
static __attribute__((noinline)) void tw_transform_filter(const tw_winograd *k, const float *from, int32_t count, float *to) {
  const int32_t row = k->w_row, column = k->w_column;
  for (; count > 0; count--, from += k->w_channel, to += TW_CELL) {
    const float *w = from;
    float between[3 * TW_POINTS];
    TW_UNROLLED(3) for (int s = 0; s < 3; s++, w += column) {
      const float taps[3] = {w[0], w[row], w[2 * row]};
      float m[TW_POINTS];
      tw_factors_of_taps(taps, m);
      TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) between[3 * r + s] = m[r];
    }
    TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) {
      float m[TW_POINTS];
      tw_factors_of_taps(between + 3 * r, m);
      TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) to[4 * (TW_POINTS * r + s)] = m[s];
    }
  }
}

/* Filters that are not there repeat the last one. */
static void tw_transform_filters(const tw_winograd *k) {
  const int32_t channels = k->sizes.channels;
  const tw_share share = tw_share_of(4 * k->columns * channels);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t f = i / channels, c = i - f * channels, many = tw_min(channels - c, share.end - i);
    const float *const from = k->w + tw_min(4 * k->column + f, k->sizes.filters - 1) * k->w_filter + c * k->w_channel;
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
      for (int32_t m = 0; m < TW_MATRICES; m++) to[4 * m] = 0.0f;
    }
  }
}

/* ---- products: cells of four filters, patch by patch ---- */

/* Blocks of four patches and four filters in some matrices. */
static __attribute__((noinline)) void tw_multiply_strip(const tw_winograd *k, int32_t quad, int32_t column, int32_t matrix,
                                                        int32_t blocks) {
  const int32_t channels = k->sizes.channels, columns = k->columns;
  const float *const a = k->patches + quad * channels * TW_CELL + 4 * matrix;
  const float *const b = k->filters + column * channels * TW_CELL + 4 * matrix;
  float *const to = k->products + (4 * quad * columns + column) * TW_CELL + 4 * matrix;
  tw_block_strip_f32(a, TW_CELL, b, TW_CELL, channels, blocks, 4, to, columns * TW_CELL);
}

static void tw_multiply_patches(const tw_winograd *k, int32_t patches) {
  const int32_t rows = tw_whole_quads(patches) >> 2, columns = k->columns;
  const tw_share share = tw_share_of(TW_MATRICES * rows * columns);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t strip = i / TW_MATRICES, matrix = i - strip * TW_MATRICES, row = strip / columns;
    const int32_t many = tw_min(TW_MATRICES - matrix, share.end - i);
    tw_multiply_strip(k, row, strip - row * columns, matrix, many);
    i += many;
  }
}

/* ---- results ---- */

/* A patch's results in the image: the first one, and how far from it each row and column is; -1 outside the image. */
typedef struct {
  float *y;
  int32_t row[TW_RESULTS], column[TW_RESULTS];
  int32_t low, is_whole;
} tw_target;

/* Result i of a patch, counted in the order of tw_results_of. */
static inline int32_t tw_result_at(int i, int32_t is_odd) {
  if (TW_FORM < 3) return i;
  return i < 2 ? 2 * i + is_odd : 2 * i - 3 - is_odd;
}

static inline tw_target tw_target_of(const tw_winograd *k, tw_place at, int32_t filter) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int32_t y = at.y * TW_RESULTS, x = at.x * TW_RESULTS, right = n->filters, below = n->out_w * right;
  tw_target found = {k->y + ((at.image * n->out_h + y) * n->out_w + x) * right + filter, {0}, {0},
                     k->is_positive ? 0 : INT32_MIN, y + TW_RESULTS <= n->out_h && x + TW_RESULTS <= n->out_w};
  for (int i = 0; i < TW_RESULTS; i++) {
    const int32_t row = tw_result_at(i, k->image.odd_top), column = tw_result_at(i, k->image.odd_left);
    found.row[i] = y + row < n->out_h ? row * below : -1;
    found.column[i] = x + column < n->out_w ? column * right : -1;
  }
  return found;
}

/* One filter's, transformed one way. */
static inline __attribute__((always_inline)) void tw_transform_downwards(const float *from, float *between) {
  TW_ROLLED for (int s = 0; s < TW_POINTS; s++, from += 4) {
    float m[TW_POINTS], value[TW_RESULTS];
    TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) m[r] = from[4 * TW_POINTS * r];
    tw_results_of(m, 0.0f, value);
    TW_UNROLLED(4) for (int r = 0; r < TW_RESULTS; r++) between[TW_POINTS * r + s] = value[r];
  }
}

/* Some filters of a patch that is inside of the image: no result is asked for its place. */
static inline __attribute__((always_inline)) void tw_transform_inside(const tw_target *target, int is_positive,
                                                                      const float *bias, int32_t bias_step,
                                                                      const float *from, int32_t filter, int32_t end) {
  const int32_t c0 = target->column[0], c1 = target->column[1];
  const int32_t c2 = TW_RESULTS > 2 ? target->column[2] : 0, c3 = TW_RESULTS > 2 ? target->column[3] : 0;
  const int32_t column[4] = {c0, c1, c2, c3};
  for (float *y = target->y; filter < end; y++, bias += bias_step) {
    float between[TW_RESULTS * TW_POINTS], value[TW_RESULTS];
    const int32_t *row = target->row;
    const float start = *bias;
    tw_transform_downwards(from, between);
    TW_ROLLED for (const float *m = between; m < between + TW_RESULTS * TW_POINTS; m += TW_POINTS) {
      float *const to = y + *row++;
      tw_results_of(m, start, value);
      TW_UNROLLED(4) for (int s = 0; s < TW_RESULTS; s++) to[column[s]] = is_positive ? tw_positive(value[s]) : value[s];
    }
    from += (++filter & 3) ? 1 : TW_CELL - 3;
  }
}

static __attribute__((noinline)) void tw_transform_whole_results(const tw_target *target, const float *bias, int32_t bias_step,
                                                                 const float *from, int32_t filter, int32_t end) {
  if (target->low == 0) {
    tw_transform_inside(target, 1, bias, bias_step, from, filter, end);
  } else {
    tw_transform_inside(target, 0, bias, bias_step, from, filter, end);
  }
}

/* The same where some results may be outside. */
static __attribute__((noinline)) void tw_transform_results(const tw_target *target, const float *bias, int32_t bias_step,
                                                           const float *from, int32_t filter, int32_t end) {
  const tw_target t = *target;
  float *y = t.y;
  while (filter < end) {
    float between[TW_RESULTS * TW_POINTS], value[TW_RESULTS];
    tw_transform_downwards(from, between);
    TW_ROLLED for (int r = 0; r < TW_RESULTS; r++) {
      const int32_t row = target->row[r];
      if (row < 0) continue;
      tw_results_of(between + TW_POINTS * r, *bias, value);
      TW_UNROLLED(4) for (int s = 0; s < TW_RESULTS; s++) {
        if (t.column[s] >= 0) tw_store_above(value[s], t.low, y + row + t.column[s]);
      }
    }
    y++, bias += bias_step;
    from += (++filter & 3) ? 1 : TW_CELL - 3;
  }
}

static void tw_transform_products(const tw_winograd *k, const tw_round *round) {
  const int32_t first = 4 * k->column, filters = tw_min(4 * k->columns, k->sizes.filters - first);
  const tw_share share = tw_share_of(tw_patches_of(round) * filters);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    const float *const from = k->products + (patch * k->columns + (filter >> 2)) * TW_CELL + (filter & 3);
    const tw_target t = tw_target_of(k, tw_place_of(round, patch), first + filter);
    const float *const bias = k->bias ? k->bias + (first + filter) * k->bias_step : k->image.zero;
    const int32_t step = k->bias ? k->bias_step : 0;
    if (t.is_whole) {
      tw_transform_whole_results(&t, bias, step, from, filter, filter + many);
    } else {
      tw_transform_results(&t, bias, step, from, filter, filter + many);
    }
    i += many;
  }
}

/* The patches of one round, with some filters after the other. If these are not all of them, they are transformed in each
 * round. */
static void tw_winograd_round(tw_winograd *k, tw_round round, int32_t at_once, int32_t is_first) {
  const int32_t channels = k->sizes.channels, patches = tw_patches_of(&round), quads = tw_whole_quads(k->sizes.filters) >> 2;
  const tw_places next = {1, channels * TW_CELL - 3};
  tw_transform_patches(&k->image, &round, 0, TW_CELL, next, k->patches);
  tw_fill_last_quad(k, patches);
  for (k->column = 0; k->column < quads; k->column += at_once) {
    k->columns = tw_min(at_once, quads - k->column);
    if (is_first || at_once < quads) tw_transform_filters(k);
    tw_barrier();
    tw_multiply_patches(k, patches);
    tw_barrier();
    tw_transform_products(k, &round);
  }
}

/* A whole convolution; scratch has room for tw_winograd_bytes. */
static void tw_winograd_run(tw_winograd *k, float *scratch) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int32_t columns = tw_filter_quads_at_once(n), quads = tw_quads_at_once(n);
  const tw_patch_grid grid = tw_patches_at_once(n);
  k->filters = scratch;
  k->patches = k->filters + columns * n->channels * TW_CELL;
  k->products = k->patches + quads * n->channels * TW_CELL;
  float *const lines = k->products + 4 * quads * columns * TW_CELL, *const zero = lines + TW_CORES * tw_line_floats(n);
  k->image.line = lines + tw_core() * tw_line_floats(n);
  k->image.zero = zero;
  if (tw_core() == 0) *zero = 0.0f;
  tw_barrier();
  for (int32_t line = 0; line < tw_lines_of_patches(n); line += grid.lines) {
    for (int32_t column = 0; column < tw_patches_across(n); column += grid.columns) {
      tw_winograd_round(k, tw_round_at(n, grid, line, column), columns, line + column == 0);
    }
  }
}

#endif
