/* The gradient of the filters of a convolution with three by three taps and strides of one, by transformed patches; all
 * cores together. Patches of 6 x 6 pixels of x meet patches of 4 x 4 pixels of the gradient g of the result: 36 products
 * where 144 are multiplied otherwise. What is summed over patches is transformed into nine taps. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_winograd
#endif

#define TW_FORM 1
#include "blocks_f32.h"
#include "winograd_patches_f32.h"

typedef struct {
  const tw_conv_gradient_params *p;
  const float *g;
  float *y;
  float *patches, *gradients, *own; /* cells: of four channels and of four filters, patch by patch; of this core */
} work;

/* Some filters of one patch of g: where the first one's pixels and its cell are. */
typedef struct {
  const float *g;
  int32_t right, below; /* to the next pixel */
  int32_t filter, end, jump;
  float *to;
} gradient_patch;

/* Four pixels of a column in three of six matrices: the first three or the last. Loads of the next column are in between. */
static inline __attribute__((always_inline)) void transform_column(int last, const float y[4], float m[3], const float *from,
                                                                   int32_t below, float *next) {
  const float even = last ? tw_plus_product(y[0], y[2], 4.0f) : tw_plus(y[0], y[2]);
  if (next) next[0] = tw_take(from);
  const float odd = last ? tw_plus_product(y[1], y[3], 4.0f) : tw_plus(y[1], y[3]);
  if (next) next[1] = tw_take(from + below);
  const float sum = last ? tw_plus_product(even, odd, 2.0f) : tw_plus(even, odd);
  if (next) next[2] = tw_take(from + 2 * below);
  const float difference = last ? tw_minus_product(even, odd, 2.0f) : tw_minus(even, odd);
  if (next) next[3] = tw_take(from + 3 * below);
  m[0] = last ? sum : y[0], m[1] = last ? difference : sum, m[2] = last ? y[3] : difference;
}

/* Four numbers of a row in all six matrices. */
static inline __attribute__((always_inline)) void transform_row(const float y[4], float *to) {
  const float even = tw_plus(y[0], y[2]);
  tw_put(to, y[0]);
  const float odd = tw_plus(y[1], y[3]);
  tw_put(to + 20, y[3]);
  const float sum = tw_plus(even, odd), outer = tw_plus_product(y[0], y[2], 4.0f);
  tw_put(to + 4, sum);
  const float difference = tw_minus(even, odd), inner = tw_plus_product(y[1], y[3], 4.0f);
  tw_put(to + 8, difference);
  const float ahead = tw_plus_product(outer, inner, 2.0f);
  tw_put(to + 12, ahead);
  const float behind = tw_minus_product(outer, inner, 2.0f);
  tw_put(to + 16, behind);
}

/* Three rows of matrices: what is between stays in registers, and the loop in the core's cache. */
static inline __attribute__((always_inline)) void transform_half(gradient_patch k, int last) {
  for (; k.filter < k.end; k.g++) {
    float y[5][4], m[3][4];
    TW_UNROLLED(4) for (int r = 0; r < 4; r++) y[0][r] = tw_take(k.g + r * k.below);
    TW_UNROLLED(4) for (int s = 0; s < 4; s++) {
      float three[3];
      transform_column(last, y[s], three, k.g + (s + 1) * k.right, k.below, s < 3 ? y[s + 1] : 0);
      TW_UNROLLED(3) for (int r = 0; r < 3; r++) m[r][s] = three[r];
    }
    TW_UNROLLED(3) for (int r = 0; r < 3; r++) transform_row(m[r], k.to + 4 * TW_POINTS * (r + 3 * last));
    k.to += (++k.filter & 3) ? 1 : k.jump;
  }
}

static __attribute__((noinline)) void transform_first_half(const gradient_patch *k) { transform_half(*k, 0); }
static __attribute__((noinline)) void transform_last_half(const gradient_patch *k) { transform_half(*k, 1); }

/* The same of a patch of `rows` and `columns`, which is not inside of the result. */
static __attribute__((noinline)) void transform_edge(const gradient_patch *k, int32_t rows, int32_t columns) {
  float *to = k->to;
  const float *g = k->g;
  for (int32_t filter = k->filter; filter < k->end; g++) {
    float between[TW_POINTS * TW_RESULTS];
    TW_ROLLED for (int s = 0; s < TW_RESULTS; s++) {
      float value[TW_RESULTS], m[TW_POINTS];
      TW_UNROLLED(4) for (int r = 0; r < TW_RESULTS; r++) {
        value[r] = r < rows && s < columns ? g[r * k->below + s * k->right] : 0.0f;
      }
      tw_factors_of_results(value, m);
      TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) between[TW_RESULTS * r + s] = m[r];
    }
    float *cell = to;
    TW_ROLLED for (int r = 0; r < TW_POINTS; r++, cell += 4 * TW_POINTS) {
      float m[TW_POINTS];
      tw_factors_of_results(between + TW_RESULTS * r, m);
      TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) cell[4 * s] = m[s];
    }
    to += (++filter & 3) ? 1 : k->jump;
  }
}

static void transform_gradients(const work *k, tw_place at, int32_t filter, int32_t end, int32_t jump, float *to) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t y = at.y * TW_RESULTS, x = at.x * TW_RESULTS;
  const int32_t rows = tw_min(TW_RESULTS, p->out_h - y), columns = tw_min(TW_RESULTS, p->out_w - x);
  const gradient_patch patch = {k->g + ((at.image * p->out_h + y) * p->out_w + x) * p->filters + filter, p->filters,
                                p->out_w * p->filters, filter, end, jump, to};
  if (rows == TW_RESULTS && columns == TW_RESULTS) {
    transform_first_half(&patch), transform_last_half(&patch);
  } else {
    transform_edge(&patch, rows, columns);
  }
}

static void transform_all_gradients(const work *k, const tw_round *round, int32_t column) {
  const int32_t filters = k->p->filters;
  const tw_share share = tw_share_of(tw_patches_of(round) * filters);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    float *const to = k->gradients + (filter >> 2) * column + patch * TW_CELL + (filter & 3);
    transform_gradients(k, tw_place_of(round, patch), filter, filter + many, column - 3, to);
    i += many;
  }
}

/* The first and the last row of nine taps, or the one in the middle, of one filter and up to four channels: what is between stays
 * in registers. All is times -6 until the end. */
static inline __attribute__((always_inline)) void rows_of_taps(int middle, int is_first, const float *from, int32_t channels,
                                                               int32_t tap, float *y) {
  for (; channels > 0; channels--, from++, y++) {
    float m[2][TW_POINTS];
    const float *const at = from + 4 * TW_POINTS;
    float m1 = tw_take(at), m2 = tw_take(at + 4 * TW_POINTS), m3 = tw_take(at + 8 * TW_POINTS), m4 = tw_take(at + 12 * TW_POINTS);
    TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) {
      const float *const next = at + 4 * (s + 1);
      const int is_last = s + 1 == TW_POINTS;
      const float one = middle ? tw_minus(m1, m2) : tw_plus(m1, m2), m0 = middle ? 0.0f : tw_take(from + 4 * s);
      if (!is_last) m1 = tw_take(next);
      const float two = middle ? tw_minus(m3, m4) : tw_plus(m3, m4), m5 = middle ? 0.0f : tw_take(from + 4 * (5 * TW_POINTS + s));
      if (!is_last) m2 = tw_take(next + 4 * TW_POINTS);
      const float part = tw_minus_product(one, two, middle ? 0.5f : 0.25f);
      if (!is_last) m3 = tw_take(next + 8 * TW_POINTS);
      m[0][s] = middle ? part : tw_minus_product(part, m0, 1.5f);
      if (!is_last) m4 = tw_take(next + 12 * TW_POINTS);
      if (!middle) m[1][s] = tw_minus_product(tw_minus(one, two), m5, 6.0f);
    }
    TW_UNROLLED(2) for (int r = 0; r < (middle ? 1 : 2); r++) {
      float *const to = y + (middle ? 3 : 6 * r) * tap;
      const float w0 = is_first ? 0.0f : tw_take(to), w1 = is_first ? 0.0f : tw_take(to + tap);
      const float w2 = is_first ? 0.0f : tw_take(to + 2 * tap);
      const float a = tw_plus(m[r][1], m[r][2]), c = tw_plus(m[r][3], m[r][4]);
      const float first = tw_plus_product(w0, a, 1.0f / 36), last = tw_plus_product(w2, a, 1.0f / 36);
      tw_put(to, tw_minus_product(tw_minus_product(first, c, 1.0f / 144), m[r][0], 1.0f / 24));
      const float b = tw_minus(m[r][1], m[r][2]), d = tw_minus(m[r][3], m[r][4]);
      tw_put(to + 2 * tap, tw_minus_product(tw_minus_product(last, c, 1.0f / 36), m[r][5], 1.0f / 6));
      tw_put(to + tap, tw_minus_product(tw_plus_product(w1, b, 1.0f / 36), d, 1.0f / 72));
    }
  }
}

#define ROWS_OF_TAPS(name, middle, is_first)                                                     \
  static __attribute__((noinline)) void name(const float *from, int32_t channels, int32_t tap, float *y) {                  \
    for (int32_t r = 0; r < 4; r++, from += TW_CELL, y += 9 * tap) rows_of_taps(middle, is_first, from, channels, tap, y); \
  }
ROWS_OF_TAPS(outer_taps, 0, 1)
ROWS_OF_TAPS(middle_taps, 1, 1)
ROWS_OF_TAPS(add_outer_taps, 0, 0)
ROWS_OF_TAPS(add_middle_taps, 1, 0)

/* The nine taps of four filters and up to four channels. */
static void transform_sums(const work *k, int is_first, int32_t channels, float *y) {
  const int32_t tap = k->p->channels;
  if (is_first) {
    outer_taps(k->own, channels, tap, y), middle_taps(k->own, channels, tap, y);
  } else {
    add_outer_taps(k->own, channels, tap, y), add_middle_taps(k->own, channels, tap, y);
  }
}

/* Four filters meet four channels in all matrices, summed over patches. */
static __attribute__((noinline)) void multiply(const work *k, const float *g, const float *x,
                                                            int32_t patches) {
  tw_block_strip_f32(g, TW_CELL, x, TW_CELL, patches, TW_MATRICES, 4, k->own, TW_CELL);
}

static void add_round(const work *k, int32_t patches, int32_t column, int is_first) {
  const int32_t channels = k->p->channels, across = tw_whole_quads(channels) >> 2;
  const tw_share share = tw_share_of((k->p->filters >> 2) * across);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t f = i / across, c = i - f * across;
    multiply(k, k->gradients + f * column, k->patches + c * column, patches);
    transform_sums(k, is_first, tw_min(4, channels - 4 * c), k->y + 36 * f * channels + 4 * c);
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const tw_winograd_sizes n = tw_winograd_of_filters(p);
  const tw_patch_grid grid = tw_patches_at_once(&n);
  const int32_t column = 4 * tw_quads_at_once(&n) * TW_CELL;
  float *const patches = scratch, *const gradients = patches + (n.channels >> 2) * column;
  float *const own = gradients + tw_gradient_floats(&n, TW_CORES), *const zero = own + 4 * TW_CORES * TW_CELL;
  const work k = {p, g, y, patches, gradients, own + 4 * tw_core() * TW_CELL};
  const tw_image image = {x, zero, p->in_h, p->in_w, p->pad_top, p->pad_left, p->channels, 0, 0,
                          gradients + tw_core() * tw_line_floats(&n)};
  const tw_places next = {TW_CELL, TW_CELL};
  if (tw_core() == 0) zero[0] = zero[1] = 0.0f;
  tw_barrier();
  for (int32_t line = 0; line < tw_lines_of_patches(&n); line += grid.lines) {
    for (int32_t first = 0; first < tw_patches_across(&n); first += grid.columns) {
      const tw_round round = tw_round_at(&n, grid, line, first);
      if (line + first > 0) tw_barrier();
      tw_transform_patches(&image, &round, 1, column, next, patches);
      tw_fill_channels(&image, tw_patches_of(&round), n.channels, 1, column, next, patches);
      tw_barrier();
      transform_all_gradients(&k, &round, column);
      tw_barrier();
      add_round(&k, tw_patches_of(&round), column, line + first == 0);
    }
  }
}
