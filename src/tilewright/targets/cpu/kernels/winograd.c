/* Convolution of 3 x 3 neighbouring taps, channels last: 4 x 4 results from 6 x 6 pixels with 36 products instead of 144.
 * Pixels and sums are transformed for some such tiles at a time; in between there is a product of matrices for each of
 * the 36 places. */
#include "panels_sizes.h"

#include "packed_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_winograd
#endif

enum { IN = 6, OUT = 4, PLACES = TW_PLACES };

/* Places of pixels: gathered into wide vectors they take longer. */
#if defined(__clang__)
#define TW_ONE_BY_ONE _Pragma("clang loop vectorize(disable)")
#else
#define TW_ONE_BY_ONE
#endif

/* Working memory. */
typedef struct {
  float *zeros;  /* a pixel beside the image, and what sums start with */
  float *dump;   /* a result beside the image */
  float *pixels; /* transformed: [place][tile][channel] */
  float *sums;   /* [place][tile][filter] */
  float *packed; /* a chunk of the transformed pixels of a place */
} memory;

/* With the points 0, A, -A, B, -B and infinity: these keep rounding errors small. */
#define A 0.70710678f
#define B 1.41421356f

TW_INLINE void transform_in(const tw_vector x[IN], tw_vector y[IN]) {
  const tw_vector even_a = x[4] - 2.0f * x[2], odd_a = A * (x[3] - 2.0f * x[1]);
  const tw_vector even_b = x[4] - 0.5f * x[2], odd_b = B * (x[3] - 0.5f * x[1]);
  y[0] = x[0] - 2.5f * x[2] + x[4];
  y[1] = even_a + odd_a;
  y[2] = even_a - odd_a;
  y[3] = even_b + odd_b;
  y[4] = even_b - odd_b;
  y[5] = x[1] - 2.5f * x[3] + x[5];
}

TW_INLINE void transform_out(const tw_vector x[IN], tw_vector y[OUT]) {
  const tw_vector sum_a = x[1] + x[2], sum_b = x[3] + x[4];
  const tw_vector difference_a = A * (x[1] - x[2]), difference_b = B * (x[3] - x[4]);
  y[0] = x[0] + sum_a + sum_b;
  y[1] = difference_a + difference_b;
  y[2] = 0.5f * sum_a + 2.0f * sum_b;
  y[3] = 0.5f * difference_a + 2.0f * difference_b + x[5];
}

/* A tile of pixels, whose places are `step` apart when they are transformed. The last vector of channels may hold some of
 * the one before it once more. */
static void load_tile(const float *const *pixel, int32_t channels, int64_t step, float *to) {
  for (int32_t first = 0; first < channels; first += TW_LANES) {
    const int32_t c = tw_min(first, channels - TW_LANES);
    tw_vector rows[IN][IN];
    for (int i = 0; i < IN; i++) {
      tw_vector column[IN], made[IN];
      TW_UNROLL for (int r = 0; r < IN; r++) column[r] = tw_load(pixel[r * IN + i] + c);
      transform_in(column, made);
      TW_UNROLL for (int r = 0; r < IN; r++) rows[r][i] = made[r];
    }
    for (int r = 0; r < IN; r++) {
      tw_vector made[IN];
      transform_in(rows[r], made);
      TW_UNROLL for (int i = 0; i < IN; i++) tw_store(to + (r * IN + i) * step + c, made[i]);
    }
  }
}

static void store_tile(const float *from, int64_t step, int32_t filters, const float *bias, const tw_bounds *bounds,
                       float *const *result) {
  const tw_bounds limits = *bounds;
  for (int32_t first = 0; first < filters; first += TW_LANES) {
    const int32_t f = tw_min(first, filters - TW_LANES);
    const tw_vector start = tw_load(bias + f);
    tw_vector rows[OUT][IN];
    for (int i = 0; i < IN; i++) {
      tw_vector column[IN], made[OUT];
      TW_UNROLL for (int r = 0; r < IN; r++) column[r] = tw_load(from + (r * IN + i) * step + f);
      transform_out(column, made);
      TW_UNROLL for (int r = 0; r < OUT; r++) rows[r][i] = made[r];
    }
    for (int r = 0; r < OUT; r++) {
      tw_vector made[OUT];
      transform_out(rows[r], made);
      TW_UNROLL for (int i = 0; i < OUT; i++) {
        tw_store(result[r * OUT + i] + f, tw_bounded(made[i] + start, &limits));
      }
    }
  }
}

/* Tiles from number `first` on: their pixels. */
static void load_tiles(const tw_winograd_params *p, const float *x, int32_t first, int32_t tiles, const memory *m) {
  const int32_t across = (p->out_w + OUT - 1) / OUT;
  const int64_t step = (int64_t)tiles * p->in_channels;
  for (int32_t t = 0; t < tiles; t++) {
    const float *pixel[PLACES];
    const int32_t top = (first + t) / across * OUT - p->pad_top, left = (first + t) % across * OUT - p->pad_left;
    TW_ONE_BY_ONE for (int32_t i = 0; i < PLACES; i++) {
      const int32_t row = top + i / IN, column = left + i % IN;
      const int is_inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
      pixel[i] = is_inside ? x + ((int64_t)row * p->in_w + column) * p->in_channels : m->zeros;
    }
    load_tile(pixel, p->in_channels, step, m->pixels + (int64_t)t * p->in_channels);
  }
}

static void store_tiles(const tw_winograd_params *p, const float *b, int32_t first, int32_t tiles, const memory *m,
                        float *y) {
  const int32_t across = (p->out_w + OUT - 1) / OUT;
  const int64_t step = (int64_t)tiles * p->out_channels;
  const tw_bounds bounds = tw_bounds_of(&p->activation);
  for (int32_t t = 0; t < tiles; t++) {
    float *result[OUT * OUT];
    const int32_t top = (first + t) / across * OUT, left = (first + t) % across * OUT;
    TW_ONE_BY_ONE for (int32_t i = 0; i < OUT * OUT; i++) {
      const int32_t row = top + i / OUT, column = left + i % OUT;
      const int is_inside = row < p->out_h && column < p->out_w;
      result[i] = is_inside ? y + ((int64_t)row * p->out_w + column) * p->out_channels : m->dump;
    }
    store_tile(m->sums + (int64_t)t * p->out_channels, step, p->out_channels, b, &bounds, result);
  }
}

/* Products of some tiles for each place. */
static void multiply(const tw_winograd_params *p, const float *w, int32_t tiles, const memory *m) {
  enum { MOST = 256 };
  const float *row[MOST];
  const int32_t at = 0;
  const tw_parts parts = {1, p->in_channels, &at};
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};
  const int64_t place_size = (int64_t)tw_in_panels(p->out_channels, TW_PANEL) * p->in_channels;
  for (int32_t place = 0; place < PLACES; place++) {
    float *const sums = m->sums + (int64_t)place * tiles * p->out_channels;
    for (int32_t t = 0; t < tiles; t++) row[t] = m->pixels + ((int64_t)place * tiles + t) * p->in_channels;
    if (p->packs) {
      const tw_rows rows = {row, tiles, p->in_channels, parts};
      const tw_activation none = {TW_NO_ACTIVATION, 0.0f, 0.0f};
      tw_packed_product(&rows, w + place * place_size, m->zeros, p->out_channels, &none, m->packed, sums, p->out_channels);
      continue;
    }
    for (int32_t first = 0; first < p->out_channels; first += TW_PANEL, w += (int64_t)p->in_channels * TW_PANEL) {
      tw_tile_end end = {m->zeros, unbounded, sums + first, p->out_channels, tw_min(TW_PANEL, p->out_channels - first)};
      tw_multiply_all(tiles, row, &parts, w, TW_PANEL, &end);
    }
  }
}

void TW_NAME(const tw_winograd_params *params, const float *x, const float *w, const float *b, float *y,
             void *scratch) {
  const tw_winograd_params *const p = params;
  const int32_t all = ((p->out_h + OUT - 1) / OUT) * ((p->out_w + OUT - 1) / OUT);
  const int32_t zeros = tw_winograd_zeros(p), elements = p->out_h * p->out_w * p->out_channels;
  memory m = {scratch, (float *)scratch + zeros, 0, 0, 0};
  m.pixels = m.dump + p->out_channels;
  m.sums = m.pixels + (int64_t)PLACES * p->tiles * p->in_channels;
  m.packed = m.sums + (int64_t)PLACES * p->tiles * p->out_channels;
  memset(m.zeros, 0, (size_t)zeros * sizeof *m.zeros);
  for (int32_t image = 0; image < p->batch; image++, x += (int64_t)p->in_h * p->in_w * p->in_channels, y += elements) {
    for (int32_t first = 0; first < all; first += p->tiles) {
      const int32_t tiles = tw_min(p->tiles, all - first);
      load_tiles(p, x, first, tiles, &m);
      multiply(p, w, tiles, &m);
      store_tiles(p, b, first, tiles, &m, y);
    }
    if (p->activation.kind > TW_CLAMP) tw_activate(&p->activation, y, elements, 1);
  }
}
