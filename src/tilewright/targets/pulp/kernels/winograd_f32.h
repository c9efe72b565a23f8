/* Convolutions of floats with three by three taps and strides of one in fewer products: F(2 x 2, 3 x 3). Patches of 4 x 4
 * pixels and filters are transformed, 16 matrices are multiplied, and what comes out is transformed into 2 x 2 results:
 * 16 products for each, where 36 are multiplied otherwise. Channels last; all cores together. */
#ifndef TW_WINOGRAD_F32_H
#define TW_WINOGRAD_F32_H

#include "blocks_f32.h"
#include "cluster.h"
#include "positive_f32.h"
#include "winograd_f32_sizes.h"

/* Arrays of an unrolled loop are registers. */
#define TW_AS_PRAGMA(x) _Pragma(#x)
#define TW_UNROLLED(turns) TW_AS_PRAGMA(GCC unroll turns)

typedef struct {
  tw_winograd_sizes sizes;
  const float *x, *w, *bias; /* bias may be null */
  float *y;
  int32_t in_h, in_w, pad_top, pad_left;
  int32_t w_filter, w_channel, w_row, w_column; /* from one element to the next */
  int32_t bias_step, is_positive;
  float *filters, *patches, *products, *zeros; /* working memory */
} tw_winograd;

/* Patch number i is at row and column, in twos, of an image. */
typedef struct {
  int32_t image, row, column;
} tw_patch;

static inline tw_patch tw_patch_of(const tw_winograd *k, int32_t number) {
  const int32_t across = tw_patches_across(&k->sizes), line = number / across, down = tw_patches_down(&k->sizes);
  const int32_t image = line / down;
  const tw_patch found = {image, 2 * (line - image * down), 2 * (number - line * across)};
  return found;
}

/* ---- filters ---- */

/* Channels of one filter; elements of the 16 matrices are `plane` apart. */
static __attribute__((noinline)) void tw_transform_filter(const tw_winograd *k, const float *from, int32_t count, float *to) {
  const int32_t plane = k->sizes.filters * k->sizes.channels, row = k->w_row, column = k->w_column;
  for (; count > 0; count--, from += k->w_channel, to++) {
    const float *w = from;
    float between[12], *next = to;
    TW_UNROLLED(3) for (int s = 0; s < 3; s++, w += column) {
      const float a = w[0], b = 0.5f * w[row], c = w[2 * row], half = 0.5f * (a + c);
      between[s] = a, between[3 + s] = half + b, between[6 + s] = half - b, between[9 + s] = c;
    }
    TW_UNROLLED(4) for (int r = 0; r < 12; r += 3) {
      const float a = between[r], b = 0.5f * between[r + 1], c = between[r + 2], half = 0.5f * (a + c);
      *next = a, next += plane;
      *next = half + b, next += plane;
      *next = half - b, next += plane;
      *next = c, next += plane;
    }
  }
}

static void tw_transform_filters(const tw_winograd *k) {
  const int32_t channels = k->sizes.channels;
  const tw_share share = tw_share_of(k->sizes.filters * channels);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t f = i / channels, c = i - f * channels, many = tw_min(channels - c, share.end - i);
    tw_transform_filter(k, k->w + f * k->w_filter + c * k->w_channel, many, k->filters + i);
    i += many;
  }
}

/* ---- patches ---- */

/* Where the 16 pixels of a patch are; those outside the image are zeros. */
static void tw_find_pixels(const tw_winograd *k, int32_t number, int32_t channel, const float *at[16]) {
  const tw_patch patch = tw_patch_of(k, number);
  const int32_t channels = k->sizes.channels, y = patch.row - k->pad_top, x = patch.column - k->pad_left;
  for (int r = 0; r < 4; r++) {
    const int has_row = y + r >= 0 && y + r < k->in_h;
    const float *const row = k->x + ((patch.image * k->in_h + y + r) * k->in_w + x) * channels + channel;
    for (int s = 0; s < 4; s++) {
      at[4 * r + s] = has_row && x + s >= 0 && x + s < k->in_w ? row + s * channels : k->zeros;
    }
  }
}

/* Channels of one patch; elements of the 16 matrices are `plane` apart. */
static __attribute__((noinline)) void tw_transform_pixels(const float *const at[16], int32_t count, float *to, int32_t plane) {
  for (int32_t i = 0; i < count; i++, to++) {
    float d[16];
    TW_UNROLLED(4) for (int s = 0; s < 4; s++) {
      const float a = at[s][i], b = at[4 + s][i], c = at[8 + s][i], e = at[12 + s][i];
      d[s] = a - c, d[4 + s] = b + c, d[8 + s] = c - b, d[12 + s] = b - e;
    }
    float *next = to;
    TW_UNROLLED(4) for (int r = 0; r < 16; r += 4) {
      const float a = d[r], b = d[r + 1], c = d[r + 2], e = d[r + 3];
      *next = a - c, next += plane;
      *next = b + c, next += plane;
      *next = c - b, next += plane;
      *next = b - e, next += plane;
    }
  }
}

static void tw_transform_patches(const tw_winograd *k, int32_t first, int32_t count) {
  const int32_t channels = k->sizes.channels, plane = tw_patches_at_once(&k->sizes) * channels;
  const tw_share share = tw_share_of(count * channels);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / channels, channel = i - patch * channels, many = tw_min(channels - channel, share.end - i);
    const float *at[16];
    tw_find_pixels(k, first + patch, channel, at);
    tw_transform_pixels(at, many, k->patches + i, plane);
    i += many;
  }
}

/* ---- products ---- */

/* Blocks of four patches and four filters below each other, from patch `patch` on; those that are not there repeat the last
 * one. */
static __attribute__((noinline)) void tw_multiply_strip(const tw_winograd *k, int32_t matrix, int32_t filter, int32_t patch,
                                                        int32_t blocks, int32_t patches) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int32_t channels = n->channels, at_once = tw_patches_at_once(n), width = tw_whole_quads(n->filters);
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const float *const a0 = k->patches + matrix * at_once * channels, *const b0 = k->filters + matrix * n->filters * channels;
  const float *b[4];
  for (int i = 0; i < 4; i++) b[i] = b0 + tw_min(filter + i, n->filters - 1) * channels;
  tw_block_ends ends = {zeros, 0, k->products + (matrix * at_once + patch) * width + filter, width};
  for (; blocks > 0; blocks--, patch += 4, ends.to += 4 * width) {
    const float *a[4];
    for (int i = 0; i < 4; i++) a[i] = a0 + tw_min(patch + i, patches - 1) * channels;
    tw_block_f32(a, 1, b, 1, channels, ends);
  }
}

static void tw_multiply_patches(const tw_winograd *k, int32_t patches) {
  const int32_t rows = tw_whole_quads(patches) >> 2, columns = tw_whole_quads(k->sizes.filters) >> 2;
  const tw_share share = tw_share_of(16 * rows * columns);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t strip = i / rows, row = i - strip * rows, matrix = strip / columns;
    const int32_t many = tw_min(rows - row, share.end - i);
    tw_multiply_strip(k, matrix, 4 * (strip - matrix * columns), 4 * row, many, patches);
    i += many;
  }
}

/* ---- results ---- */

/* The 2 x 2 results of some filters of a patch, as far as they are in the image. */
static __attribute__((noinline)) void tw_transform_results(const tw_winograd *k, const float *from, int32_t plane,
                                                           int32_t number, int32_t filter, int32_t count) {
  const tw_winograd_sizes *const n = &k->sizes;
  const tw_patch patch = tw_patch_of(k, number);
  const int has_right = patch.column + 1 < n->out_w, has_below = patch.row + 1 < n->out_h;
  float *y = k->y + ((patch.image * n->out_h + patch.row) * n->out_w + patch.column) * n->filters + filter;
  const int32_t right = n->filters, below = n->out_w * n->filters;
  for (; count > 0; count--, from++, filter++, y++) {
    const float bias = k->bias ? k->bias[filter * k->bias_step] : 0.0f, *next = from;
    float sums[8];
    TW_UNROLLED(4) for (int s = 0; s < 4; s++, next += plane) {
      const float a = next[0], b = next[4 * plane], c = next[8 * plane], d = next[12 * plane];
      sums[s] = a + b + c, sums[4 + s] = b - c - d;
    }
    float t0 = sums[0] + sums[1] + sums[2] + bias, t1 = sums[1] - sums[2] - sums[3] + bias;
    float t2 = sums[4] + sums[5] + sums[6] + bias, t3 = sums[5] - sums[6] - sums[7] + bias;
    if (k->is_positive) t0 = tw_positive(t0), t1 = tw_positive(t1), t2 = tw_positive(t2), t3 = tw_positive(t3);
    y[0] = t0;
    if (has_right) y[right] = t1;
    if (has_below) y[below] = t2;
    if (has_right && has_below) y[below + right] = t3;
  }
}

static void tw_transform_products(const tw_winograd *k, int32_t first, int32_t count) {
  const int32_t filters = k->sizes.filters, width = tw_whole_quads(filters), plane = tw_patches_at_once(&k->sizes) * width;
  const tw_share share = tw_share_of(count * filters);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t patch = i / filters, filter = i - patch * filters, many = tw_min(filters - filter, share.end - i);
    tw_transform_results(k, k->products + patch * width + filter, plane, first + patch, filter, many);
    i += many;
  }
}

/* A whole convolution; scratch has room for tw_winograd_bytes. */
static void tw_winograd_run(tw_winograd *k, float *scratch) {
  const tw_winograd_sizes *const n = &k->sizes;
  const int32_t at_once = tw_patches_at_once(n), patches = tw_patches(n);
  k->filters = scratch;
  k->patches = k->filters + 16 * n->filters * n->channels;
  k->products = k->patches + 16 * at_once * n->channels;
  k->zeros = k->products + 16 * at_once * tw_whole_quads(n->filters);
  const tw_share own = tw_share_of(n->channels);
  for (int32_t i = own.first; i < own.end; i++) k->zeros[i] = 0.0f;
  tw_barrier();
  tw_transform_filters(k);
  for (int32_t first = 0; first < patches; first += at_once) {
    const int32_t count = tw_min(at_once, patches - first);
    tw_transform_patches(k, first, count);
    tw_barrier();
    tw_multiply_patches(k, count);
    tw_barrier();
    tw_transform_products(k, first, count);
  }
}

#endif
