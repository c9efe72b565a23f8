/* The gradient of the filters of a convolution with three by three taps and strides of one, by transformed patches; all
 * cores together. Patches of 4 x 4 pixels of x meet patches of 2 x 2 pixels of the gradient g of the result: 16 products
 * where 36 are multiplied otherwise. What is summed over patches is transformed into nine taps. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_winograd
#endif

#include "blocks_f32.h"
#include "winograd_patches_f32.h"

typedef struct {
  const tw_conv_gradient_params *p;
  tw_winograd_sizes sizes;
  const float *g;
  float *y;
  float *patches, *gradients, *own; /* cells: of four channels and of four filters, patch by patch; of this core */
  const float *zero;
} work;

/* Some filters of one patch of g; pixels outside the result are zeros. */
static __attribute__((noinline)) void transform_gradients(const work *k, tw_corner at, int32_t filter, int32_t end, int32_t jump,
                                                          float *to) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t has_right = at.x + 1 < p->out_w, has_below = at.y + 1 < p->out_h, right = p->filters;
  const int32_t below = p->out_w * p->filters, right_step = has_right, below_step = has_below;
  const int32_t both_step = has_right && has_below;
  const float *g0 = k->g + ((at.image * p->out_h + at.y) * p->out_w + at.x) * p->filters + filter;
  const float *g1 = has_right ? g0 + right : k->zero, *g2 = has_below ? g0 + below : k->zero;
  const float *g3 = both_step ? g0 + below + right : k->zero;
  while (filter < end) {
    const float a = *g0, b = *g1, c = *g2, d = *g3;
    const float left[4] = {a, a + c, a - c, c}, other[4] = {b, b + d, b - d, d};
    TW_UNROLLED(4) for (int r = 0; r < 4; r++) {
      to[16 * r] = left[r], to[16 * r + 4] = left[r] + other[r];
      to[16 * r + 8] = left[r] - other[r], to[16 * r + 12] = other[r];
    }
    g0++, g1 += right_step, g2 += below_step, g3 += both_step;
    to += (++filter & 3) ? 1 : jump;
  }
}

static void transform_all_gradients(const work *k, const tw_round *round, int32_t column) {
  const int32_t filters = k->p->filters;
  const tw_share share = tw_share_of(tw_patches_of(round) * filters);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    float *const to = k->gradients + (filter >> 2) * column + patch * TW_CELL + (filter & 3);
    transform_gradients(k, tw_corner_of(round, patch), filter, filter + many, column - 3, to);
    i += many;
  }
}

/* Three taps from four sums; those of the fourth have the other sign. */
static inline __attribute__((always_inline)) void taps_of(float a, float b, float c, float d, float *t0, float *t1, float *t2) {
  const float sum = 0.5f * (b + c);
  *t0 = a + sum, *t1 = 0.5f * (b - c), *t2 = sum - d;
}

/* The nine taps of one filter and four channels. */
static __attribute__((noinline)) void transform_sums(const work *k, const float *from, int is_first, float *y) {
  const int32_t row = 3 * k->p->channels, tap = k->p->channels;
  for (int32_t i = 0; i < 4; i++, from++, y++) {
    float t[12];
    TW_UNROLLED(4) for (int s = 0; s < 4; s++) {
      taps_of(from[4 * s], from[4 * s + 16], from[4 * s + 32], from[4 * s + 48], &t[s], &t[4 + s], &t[8 + s]);
    }
    float *to = y;
    TW_UNROLLED(3) for (int r = 0; r < 3; r++, to += row) {
      float t0, t1, t2;
      taps_of(t[4 * r], t[4 * r + 1], t[4 * r + 2], t[4 * r + 3], &t0, &t1, &t2);
      if (!is_first) t0 += to[0], t1 += to[tap], t2 += to[2 * tap];
      to[0] = t0, to[tap] = t1, to[2 * tap] = t2;
    }
  }
}

/* Four filters meet four channels in 16 matrices, summed over patches. */
static __attribute__((noinline)) void multiply(const work *k, const float *g, const float *x, int32_t patches) {
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  tw_block_ends ends = {zeros, 0, k->own, TW_CELL};
  for (int32_t m = 16; m > 0; m--, g += 4, x += 4, ends.to += 4) {
    tw_block_columns_f32(g, TW_CELL, x, TW_CELL, patches, ends);
  }
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
  float *const own = gradients + (p->filters >> 2) * column + 4 * tw_core() * TW_CELL;
  float *const zero = gradients + (p->filters >> 2) * column + 4 * TW_CORES * TW_CELL;
  const work k = {p, n, g, y, patches, gradients, own, zero};
  const tw_image image = {x, zero, p->in_h, p->in_w, p->pad_top, p->pad_left, p->channels};
  const tw_places next = {TW_CELL, TW_CELL};
  if (tw_core() == 0) *zero = 0.0f;
  tw_barrier();
  for (int32_t line = 0; line < tw_lines_of_patches(&n); line += grid.lines) {
    for (int32_t first = 0; first < tw_patches_across(&n); first += grid.columns) {
      const tw_round round = tw_round_at(&n, line, first);
      if (line + first > 0) tw_barrier();
      tw_transform_patches(&image, &round, 1, column, next, patches);
      transform_all_gradients(&k, &round, column);
      tw_barrier();
      add_round(&k, tw_patches_of(&round), column, line + first == 0);
    }
  }
}
