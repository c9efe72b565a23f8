/* Convolutions of floats with three by three taps in fewer products. Patches of pixels and filters are transformed
 * (winograd_forms_f32.h), the matrices are multiplied, and what comes out is transformed into results. Channels last; all
 * cores together. */
#ifndef TW_WINOGRAD_F32_H
#define TW_WINOGRAD_F32_H

#include "blocks_f32.h"
#include "in_order_f32.h"
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

#if TW_FORM == 1

/* Three taps in six matrices, with stores of the six before in between. */
static inline __attribute__((always_inline)) void tw_taps_and_stores(const float w[3], float m[6], const float *before, float *to) {
  const float a = tw_plus(w[0], w[2]);
  if (before) tw_put(to, before[0]);
  const float b = tw_plus_product(w[0], w[2], 4.0f);
  if (before) tw_put(to + 4, before[1]);
  m[1] = tw_plus(a, w[1]);
  if (before) tw_put(to + 8, before[2]);
  m[2] = tw_minus(a, w[1]);
  if (before) tw_put(to + 12, before[3]);
  m[3] = tw_plus_product(b, w[1], 2.0f);
  if (before) tw_put(to + 16, before[4]);
  m[4] = tw_minus_product(b, w[1], 2.0f);
  if (before) tw_put(to + 20, before[5]);
  m[0] = w[0], m[5] = w[2];
}

/* Channels of one filter. The first and the last row of matrices need no other taps, and their stores go with the columns. */
static __attribute__((noinline)) void tw_transform_filter(const tw_winograd *k, const float *from, int32_t count, float *to) {
  const int32_t row = k->w_row, column = k->w_column;
  for (; count > 0; count--, from += k->w_channel, to += TW_CELL) {
    float w[3][3], between[3][TW_POINTS], m[TW_POINTS][TW_POINTS];
    TW_UNROLLED(3) for (int s = 0; s < 3; s++) {
      TW_UNROLLED(3) for (int r = 0; r < 3; r++) w[s][r] = tw_take(from + r * row + s * column);
    }
    const float upper[3] = {w[0][0], w[1][0], w[2][0]}, lower[3] = {w[0][2], w[1][2], w[2][2]};
    tw_taps_and_stores(upper, m[0], 0, to);
    tw_taps_and_stores(w[0], between[0], m[0], to);
    tw_taps_and_stores(lower, m[5], 0, to);
    tw_taps_and_stores(w[1], between[1], m[5], to + 20 * TW_POINTS);
    tw_taps_and_stores(w[2], between[2], 0, to);
    TW_UNROLLED(4) for (int r = 1; r < 5; r++) {
      const float taps[3] = {between[0][r], between[1][r], between[2][r]};
      tw_taps_and_stores(taps, m[r], r > 1 ? m[r - 1] : 0, to + 4 * TW_POINTS * (r - 1));
    }
    TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) tw_put(to + 4 * (4 * TW_POINTS + s), m[4][s]);
  }
}

#else

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

#endif

/* A channel that pairs lack is zero. */
static void tw_fill_last_channel(const tw_winograd *k) {
  if (k->sizes.channels == k->image.channels) return;
  const tw_share share = tw_share_of(k->columns);
  for (int32_t column = share.first; column < share.end; column++) {
    float *const cell = k->filters + ((column + 1) * k->sizes.channels - 1) * TW_CELL;
    TW_ROLLED for (int32_t i = 0; i < 4 * TW_MATRICES; i++) cell[i] = 0.0f;
  }
}

/* Filters that are not there repeat the last one. */
static void tw_transform_filters(const tw_winograd *k) {
  const int32_t channels = k->image.channels;
  tw_fill_last_channel(k);
  const tw_share share = tw_share_of(4 * k->columns * channels);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t f = i / channels, c = i - f * channels, many = tw_min(channels - c, share.end - i);
    const float *const from = k->w + tw_min(4 * k->column + f, k->sizes.filters - 1) * k->w_filter + c * k->w_channel;
    tw_transform_filter(k, from, many, k->filters + ((f >> 2) * k->sizes.channels + c) * TW_CELL + (f & 3));
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
  tw_block_even_strip_f32(a, TW_CELL, b, TW_CELL, channels, blocks, 4, to, columns * TW_CELL);
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

/* Some patches of a line that are inside of the image, and of each of them the same filters. */
typedef struct {
  const float *from, *bias;
  float *y;
  int32_t patches, filter, end;
  int32_t from_patch, y_patch, bias_step; /* to the next patch; to the next filter */
} tw_whole_patches;

#if TW_FORM == 1

/* Rows 0 and 2 of the results, or 1 and 3: what is between stays in registers, and the loop in the core's cache. A load or a
 * store is behind each operation. All is times -6 until the end. */
static inline __attribute__((always_inline)) void tw_two_rows_inside(const tw_target *target, tw_whole_patches k, int odd,
                                                                     int is_positive) {
  const int32_t c1 = target->column[1], c2 = target->column[2], c3 = target->column[3];
  const int32_t below = target->row[odd], between = target->row[odd + 2];
  for (; k.patches > 0; k.patches--, k.from += k.from_patch, k.y += k.y_patch) {
    const float *from = k.from, *bias = k.bias;
    float *rows[2] = {k.y + below, k.y + between};
    for (int32_t filter = k.filter; filter < k.end; bias += k.bias_step, rows[0]++, rows[1]++) {
      float upper[TW_POINTS], lower[TW_POINTS];
      const float start = *bias;
      const float *const outer = odd ? from + 20 * TW_POINTS : from;
      float m1 = tw_take(from + 4 * TW_POINTS), m2 = tw_take(from + 8 * TW_POINTS);
      float m3 = tw_take(from + 12 * TW_POINTS), m4 = tw_take(from + 16 * TW_POINTS);
      TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) {
        const float *const next = from + 4 * (s + 1);
        const int is_last = s + 1 == TW_POINTS;
        const float one = odd ? tw_minus(m1, m2) : tw_plus(m1, m2);
        const float m0 = tw_take(outer + 4 * s);
        const float two = odd ? tw_minus(m3, m4) : tw_plus(m3, m4);
        if (!is_last) m1 = tw_take(next + 4 * TW_POINTS);
        const float up = tw_minus_product(one, two, odd ? 0.5f : 0.25f);
        if (!is_last) m2 = tw_take(next + 8 * TW_POINTS);
        const float low = odd ? tw_minus_product(one, two, 2.0f) : tw_minus(one, two);
        if (!is_last) m3 = tw_take(next + 12 * TW_POINTS);
        upper[s] = odd ? up : tw_minus_product(up, m0, 1.5f);
        lower[s] = odd ? tw_minus_product(low, m0, 6.0f) : low;
        if (!is_last) m4 = tw_take(next + 16 * TW_POINTS);
      }
      TW_UNROLLED(2) for (int r = 0; r < 2; r++) {
        const float *const m = r ? lower : upper;
        float *const to = rows[r];
        const float a = tw_plus(m[1], m[2]), c = tw_plus(m[3], m[4]);
        const float even = tw_plus_product(start, a, 1.0f / 36), y2 = tw_minus_product(even, c, 1.0f / 36);
        tw_put(to + c2, is_positive ? tw_positive(y2) : y2);
        const float part = tw_minus_product(even, m[0], 1.0f / 24), y0 = tw_minus_product(part, c, 1.0f / 144);
        tw_put(to, is_positive ? tw_positive(y0) : y0);
        const float b = tw_minus(m[1], m[2]), d = tw_minus(m[3], m[4]);
        const float uneven = tw_plus_product(start, b, 1.0f / 36), y1 = tw_minus_product(uneven, d, 1.0f / 72);
        tw_put(to + c1, is_positive ? tw_positive(y1) : y1);
        const float rest = tw_minus_product(uneven, m[5], 1.0f / 6), y3 = tw_minus_product(rest, d, 1.0f / 18);
        tw_put(to + c3, is_positive ? tw_positive(y3) : y3);
      }
      from += (++filter & 3) ? 1 : TW_CELL - 3;
    }
  }
}

#define TW_ROWS_INSIDE(name, odd, is_positive)                                                   \
  static __attribute__((noinline)) void name(const tw_target *target, const tw_whole_patches *k) {      \
    tw_two_rows_inside(target, *k, odd, is_positive);                                            \
  }
TW_ROWS_INSIDE(tw_even_rows, 0, 0)
TW_ROWS_INSIDE(tw_odd_rows, 1, 0)
TW_ROWS_INSIDE(tw_even_rows_positive, 0, 1)
TW_ROWS_INSIDE(tw_odd_rows_positive, 1, 1)

static void tw_transform_whole_results(const tw_target *target, const tw_whole_patches *k) {
  if (target->low == 0) {
    tw_even_rows_positive(target, k), tw_odd_rows_positive(target, k);
  } else {
    tw_even_rows(target, k), tw_odd_rows(target, k);
  }
}

#else

static inline __attribute__((always_inline)) void tw_transform_inside(const tw_target *target, tw_whole_patches k, int is_positive) {
  int32_t row[TW_RESULTS], column[TW_RESULTS];
  for (int i = 0; i < TW_RESULTS; i++) row[i] = target->row[i], column[i] = target->column[i];
  for (; k.patches > 0; k.patches--, k.from += k.from_patch, k.y += k.y_patch) {
    const float *from = k.from, *bias = k.bias;
    float *y = k.y;
    for (int32_t filter = k.filter; filter < k.end; y++, bias += k.bias_step) {
      float between[TW_RESULTS * TW_POINTS], value[TW_RESULTS];
      const float start = *bias;
      TW_UNROLLED(5) for (int s = 0; s < TW_POINTS; s++) {
        float m[TW_POINTS], one[TW_RESULTS];
        TW_UNROLLED(5) for (int r = 0; r < TW_POINTS; r++) m[r] = tw_take(from + 4 * (TW_POINTS * r + s));
        tw_results_of(m, 0.0f, one);
        TW_UNROLLED(4) for (int r = 0; r < TW_RESULTS; r++) between[TW_POINTS * r + s] = one[r];
      }
      TW_UNROLLED(4) for (int r = 0; r < TW_RESULTS; r++) {
        float *const to = y + row[r];
        tw_results_of(between + TW_POINTS * r, start, value);
        TW_UNROLLED(4) for (int s = 0; s < TW_RESULTS; s++) to[column[s]] = is_positive ? tw_positive(value[s]) : value[s];
      }
      from += (++filter & 3) ? 1 : TW_CELL - 3;
    }
  }
}

static __attribute__((noinline)) void tw_transform_whole_results(const tw_target *target, const tw_whole_patches *k) {
  if (target->low == 0) {
    tw_transform_inside(target, *k, 1);
  } else {
    tw_transform_inside(target, *k, 0);
  }
}

#endif

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

/* Patches from this one on, of which a core computes `items` results: those of its line that are inside of the image, with
 * all filters; at least one patch. */
static inline int32_t tw_patches_inside(const tw_winograd *k, const tw_round *round, tw_place at, int32_t filters, int32_t items) {
  const int32_t inside = tw_min(round->column + round->columns, k->sizes.out_w / TW_RESULTS) - at.x;
  return tw_max(1, tw_min(inside, items / filters));
}

static void tw_transform_products(const tw_winograd *k, const tw_round *round) {
  const int32_t first = 4 * k->column, filters = tw_min(4 * k->columns, k->sizes.filters - first);
  const tw_share share = tw_share_of(tw_patches_of(round) * filters);
  const int32_t step = k->bias ? k->bias_step : 0;
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    const tw_place at = tw_place_of(round, patch);
    const tw_target t = tw_target_of(k, at, first + filter);
    const tw_whole_patches some = {k->products + (patch * k->columns + (filter >> 2)) * TW_CELL + (filter & 3),
                            k->bias ? k->bias + (first + filter) * k->bias_step : k->image.zero, t.y,
                            filter > 0 ? 1 : tw_patches_inside(k, round, at, filters, share.end - i), filter, filter + many,
                            k->columns * TW_CELL, TW_RESULTS * k->sizes.filters, step};
    if (t.is_whole) {
      tw_transform_whole_results(&t, &some);
      i += some.patches * many;
    } else {
      tw_transform_results(&t, some.bias, step, some.from, filter, filter + many);
      i += many;
    }
  }
}

/* The patches of one round, with some filters after the other. If these are not all of them, they are transformed in each
 * round. */
static void tw_winograd_round(tw_winograd *k, tw_round round, int32_t at_once, int32_t is_first) {
  const int32_t channels = k->sizes.channels, patches = tw_patches_of(&round), quads = tw_whole_quads(k->sizes.filters) >> 2;
  const tw_places next = {1, channels * TW_CELL - 3};
  tw_transform_patches(&k->image, &round, 0, TW_CELL, next, k->patches);
  tw_fill_channels(&k->image, patches, channels, 0, TW_CELL, next, k->patches);
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
  float *const zero = k->products + tw_product_floats(n, TW_CORES);
  k->image.line = k->products + tw_core() * tw_line_floats(n);
  k->image.zero = zero;
  if (tw_core() == 0) zero[0] = zero[1] = 0.0f;
  tw_barrier();
  for (int32_t line = 0; line < tw_lines_of_patches(n); line += grid.lines) {
    for (int32_t column = 0; column < tw_patches_across(n); column += grid.columns) {
      if (line + column > 0) tw_barrier();
      tw_winograd_round(k, tw_round_at(n, grid, line, column), columns, line + column == 0);
    }
  }
}

#endif
