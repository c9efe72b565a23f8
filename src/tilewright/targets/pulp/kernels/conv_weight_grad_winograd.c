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

/* Some filters of one patch of g; pixels outside the result are zeros. A patch that is `inside` has none of them. */
static inline __attribute__((always_inline)) void transform_patch(const work *k, tw_place at, int inside, int32_t filter,
                                                                  int32_t end, int32_t jump, float *to) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t y = at.y * TW_RESULTS, x = at.x * TW_RESULTS, right = p->filters, below = p->out_w * p->filters;
  const int32_t rows = tw_min(TW_RESULTS, p->out_h - y), columns = tw_min(TW_RESULTS, p->out_w - x);
  const float *g = k->g + ((at.image * p->out_h + y) * p->out_w + x) * p->filters + filter;
  for (; filter < end; g++) {
    float between[TW_POINTS * TW_RESULTS];
    const float *first = g;
    TW_ROLLED for (int s = 0; s < TW_RESULTS; s++, first += right) {
      float value[TW_RESULTS], m[TW_POINTS];
      const float *from = first;
      TW_UNROLLED(4) for (int r = 0; r < TW_RESULTS; r++, from += below) {
        value[r] = inside || (r < rows && s < columns) ? *from : 0.0f;
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
    to += (++filter & 3) ? 1 : jump;
  }
}

static __attribute__((noinline)) void transform_gradients(const work *k, tw_place at, int32_t filter, int32_t end,
                                                          int32_t jump, float *to) {
  if ((at.y + 1) * TW_RESULTS <= k->p->out_h && (at.x + 1) * TW_RESULTS <= k->p->out_w) {
    transform_patch(k, at, 1, filter, end, jump, to);
  } else {
    transform_patch(k, at, 0, filter, end, jump, to);
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

/* The nine taps of one filter and four channels. */
static __attribute__((noinline)) void transform_sums(const work *k, const float *from, int is_first, float *y) {
  const int32_t row = 3 * k->p->channels, tap = k->p->channels;
  for (int32_t i = 0; i < 4; i++, from++, y++) {
    float between[3 * TW_POINTS];
    TW_ROLLED for (int s = 0; s < TW_POINTS; s++) {
      float m[TW_POINTS], w[3];
      TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) m[r] = from[4 * (TW_POINTS * r + s)];
      tw_taps_of(m, w);
      between[s] = w[0], between[TW_POINTS + s] = w[1], between[2 * TW_POINTS + s] = w[2];
    }
    float *to = y;
    TW_ROLLED for (int r = 0; r < 3; r++, to += row) {
      float w[3];
      tw_taps_of(between + TW_POINTS * r, w);
      if (!is_first) w[0] += to[0], w[1] += to[tap], w[2] += to[2 * tap];
      to[0] = w[0], to[tap] = w[1], to[2 * tap] = w[2];
    }
  }
}

/* Four filters meet four channels in all matrices, summed over patches. */
static __attribute__((noinline)) void multiply(const work *k, const float *g, const float *x,
                                                            int32_t patches) {
  tw_block_strip_f32(g, TW_CELL, x, TW_CELL, patches, TW_MATRICES, 4, k->own, TW_CELL);
}

static void add_round(const work *k, int32_t patches, int32_t column, int is_first) {
  const int32_t channels = k->p->channels, across = channels >> 2;
  const tw_share share = tw_share_of((k->p->filters >> 2) * across);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t f = i / across, c = i - f * across;
    multiply(k, k->gradients + f * column, k->patches + c * column, patches);
    float *const y = k->y + 36 * f * channels + 4 * c;
    for (int32_t r = 0; r < 4; r++) transform_sums(k, k->own + r * TW_CELL, is_first, y + 9 * r * channels);
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const tw_winograd_sizes n = tw_winograd_of_filters(p);
  const tw_patch_grid grid = tw_patches_at_once(&n);
  const int32_t column = 4 * tw_quads_at_once(&n) * TW_CELL;
  float *const patches = scratch, *const gradients = patches + (p->channels >> 2) * column;
  float *const own = gradients + (p->filters >> 2) * column, *const lines = own + 4 * TW_CORES * TW_CELL;
  float *const zero = lines + TW_CORES * tw_line_floats(&n);
  const work k = {p, g, y, patches, gradients, own + 4 * tw_core() * TW_CELL};
  const tw_image image = {x, zero, p->in_h, p->in_w, p->pad_top, p->pad_left, p->channels, 0, 0,
                          lines + tw_core() * tw_line_floats(&n)};
  const tw_places next = {TW_CELL, TW_CELL};
  if (tw_core() == 0) *zero = 0.0f;
  tw_barrier();
  for (int32_t line = 0; line < tw_lines_of_patches(&n); line += grid.lines) {
    for (int32_t first = 0; first < tw_patches_across(&n); first += grid.columns) {
      const tw_round round = tw_round_at(&n, grid, line, first);
      if (line + first > 0) tw_barrier();
      tw_transform_patches(&image, &round, 1, column, next, patches);
      transform_all_gradients(&k, &round, column);
      tw_barrier();
      add_round(&k, tw_patches_of(&round), column, line + first == 0);
    }
  }
}
