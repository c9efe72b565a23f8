/* Lines of one channel of an image of floats, channels last: rows with their padding, whose pixels are neighbours. Lines
 * that windows below see too are kept. */
#ifndef TW_DEPTHWISE_LINES_F32_H
#define TW_DEPTHWISE_LINES_F32_H

#include "cluster.h"
#include "depthwise_lines_f32_sizes.h"

typedef struct {
  const tw_depthwise *d;
  const float *x; /* this channel of this image */
  float **line;   /* the last lines, the oldest one first */
  tw_range inside; /* pixels of a row that are in a line */
  int32_t kept, length, apart, next; /* apart: from one tap's line to the next tap's; next: the row behind the last line */
} tw_lines;

/* A core's own working memory. */
static inline float *tw_own_lines(const tw_depthwise *d, void *scratch) {
  return (float *)scratch + tw_core() * tw_lines_floats(d);
}

static inline float *tw_sums_of_line(const tw_depthwise *d, void *own) {
  return (float *)own + tw_kept_lines(d) * (1 + tw_line_length(d));
}

/* Lines of zeros, for all channels. */
static tw_lines tw_lines_in(const tw_depthwise *d, float *own) {
  tw_lines l = {d, 0, (float **)(void *)own, tw_inside(d->pad_left, d->spread_w, tw_line_length(d), d->in_w),
                tw_kept_lines(d), tw_line_length(d), tw_keeps_all_lines(d) ? d->dilation_h : 1, 0};
  float *at = own + l.kept;
  for (int32_t i = 0; i < l.kept; i++, at += l.length) l.line[i] = at;
  for (int32_t i = l.kept * l.length; i > 0; i--) *--at = 0.0f;
  return l;
}

/* Pixels of a row become neighbours, or `spread` apart; four are loaded before any is stored. */
static void tw_copy_line(const float *x, int32_t step, int32_t count, int32_t spread, float *to) {
  for (; count >= 4; count -= 4, to += 4 * spread) {
    const float x0 = *x, x1 = x[step];
    x += 2 * step;
    const float x2 = *x, x3 = x[step];
    x += 2 * step;
    to[0] = x0, to[spread] = x1, to[2 * spread] = x2, to[3 * spread] = x3;
  }
  for (; count > 0; count--, x += step, to += spread) *to = *x;
}

/* The line of a row behind the others; rows outside the image and between its spread ones are zeros. */
static void tw_next_line(tw_lines *l, int32_t row) {
  const tw_depthwise *const d = l->d;
  float *const to = l->line[0];
  for (int32_t i = 1; i < l->kept; i++) l->line[i - 1] = l->line[i];
  l->line[l->kept - 1] = to;
  int32_t in_y = row - d->pad_top, is_inside = in_y >= 0;
  if (d->spread_h > 1 && is_inside) {
    const int32_t place = in_y / d->spread_h;
    is_inside = place * d->spread_h == in_y;
    in_y = place;
  }
  const int32_t first = l->inside.first, count = l->inside.end - first;
  float *at = to + first * d->spread_w + d->pad_left;
  if (is_inside && in_y < d->in_h) {
    tw_copy_line(l->x + (in_y * d->in_w + first) * d->groups, d->groups, count, d->spread_w, at);
    return;
  }
  for (int32_t i = count; i > 0; i--, at += d->spread_w) *at = 0.0f;
}

/* Another channel, windows from row `out_y` on. */
static inline void tw_begin_lines(tw_lines *l, const float *x, int32_t out_y) {
  l->x = x;
  l->next = out_y * l->d->stride_h;
}

/* The lines of the windows of a row, which is below those before. */
static inline void tw_lines_of_row(tw_lines *l, int32_t out_y) {
  const tw_depthwise *const d = l->d;
  const int32_t row = out_y * d->stride_h;
  if (l->kept == d->kernel_h && d->dilation_h > 1) {
    for (int32_t r = 0; r < d->kernel_h; r++) tw_next_line(l, row + r * d->dilation_h);
    return;
  }
  for (l->next = tw_max(l->next, row); l->next < row + l->kept; l->next++) tw_next_line(l, l->next);
}

/* Whether the lines of a row of taps are other than zeros that are known: the image may be spread. */
static inline int tw_has_pixels(const tw_depthwise *d, int32_t out_y, int32_t r) {
  const int32_t in_y = out_y * d->stride_h + r * d->dilation_h - d->pad_top;
  return in_y >= 0 && in_y % d->spread_h == 0 && in_y < d->in_h * d->spread_h;
}

/* Three pixels below each other, of three lines. */
typedef struct {
  float a, b, c;
} tw_column;

static inline __attribute__((always_inline)) tw_column tw_column_at(const float *const row[3], int32_t i) {
  const tw_column found = {row[0][i], row[1][i], row[2][i]};
  return found;
}

#endif
