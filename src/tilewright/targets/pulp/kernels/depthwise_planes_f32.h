/* Planes of one channel of an image of floats, channels last: rows with their padding, whose pixels are neighbours. */
#ifndef TW_DEPTHWISE_PLANES_F32_H
#define TW_DEPTHWISE_PLANES_F32_H

#include "bytes4.h"
#include "cluster.h"
#include "depthwise_planes_f32_sizes.h"

static inline void tw_clear(float *to, int32_t count) { tw_fill_run((uint8_t *)to, 0, 4 * count); }

/* Columns of the image that a plane has. Neighbours need no divider, which takes as long as thirty products. */
static inline tw_range tw_columns_inside(const tw_depthwise *d, int32_t pitch) {
  if (d->spread_w > 1) return tw_inside(d->pad_left, d->spread_w, pitch, d->in_w);
  const int32_t first = tw_min(tw_max(0, -d->pad_left), d->in_w);
  const tw_range range = {first, tw_max(first, tw_min(pitch - d->pad_left, d->in_w))};
  return range;
}

/* The rows that windows from row `out_y` on see; others than the image's, and between its spread pixels, are zeros. */
static __attribute__((noinline)) void tw_fill_plane(const tw_depthwise *d, const float *x, int32_t out_y, int32_t rows,
                                                    float *plane) {
  const int32_t pitch = tw_channel_pitch(d), spread = d->spread_w;
  const tw_range inside = tw_columns_inside(d, pitch);
  const int32_t count = inside.end - inside.first, left = inside.first * spread + d->pad_left;
  int32_t place = out_y * d->stride_h - d->pad_top;
  x += inside.first * d->x_step;
  for (int32_t left_rows = tw_channel_rows(d, rows); left_rows > 0; left_rows--, place++, plane += pitch) {
    const int32_t in_y = d->spread_h == 1 || place < 0 ? place : place / d->spread_h;
    if (place >= 0 && in_y < d->in_h && in_y * d->spread_h == place) {
      tw_copy_words((uint8_t *)(plane + left), 4 * spread, (const uint8_t *)(x + in_y * d->x_pitch), 4 * d->x_step, count);
    } else {
      tw_clear(plane, pitch);
    }
  }
}

/* Three pixels below each other. */
typedef struct {
  float a, b, c;
} tw_column;

static inline __attribute__((always_inline)) tw_column tw_column_at(const float *a, const float *b, const float *c, int32_t i) {
  const tw_column found = {a[i], b[i], c[i]};
  return found;
}

#endif
