/* Depthwise convolutions of floats, channels last, from lines of one channel after the other; all cores together. */
#ifndef TW_DEPTHWISE_WINDOWS_F32_H
#define TW_DEPTHWISE_WINDOWS_F32_H

#include "depthwise_lines_f32.h"
#include "xpulp.h"

/* ---- windows of 3 x 3 ---- */

static inline __attribute__((always_inline)) float tw_nine(const float w[9], float total, tw_column p, tw_column q,
                                                           tw_column r) {
  total += p.a * w[0], total += p.b * w[3], total += p.c * w[6], total += q.a * w[1], total += q.b * w[4];
  total += q.c * w[7], total += r.a * w[2], total += r.b * w[5], total += r.c * w[8];
  return total;
}

/* As integers, negative floats are negative: the larger one of x and `low` is x itself, or nothing that is below zero. */
static inline __attribute__((always_inline)) void tw_store_above(float x, int32_t low, float *y) {
  union {
    float value;
    int32_t bits;
  } of;
  of.value = x;
  of.bits = tw_x_max(of.bits, low);
  *y = of.value;
}

typedef struct {
  const float *w; /* nine of a filter, `w_step` apart */
  float start;
  int32_t w_step, low, y_step;
} tw_taps;

/* A row of windows next to each other: each has two columns of the one before, which stay in registers. */
static __attribute__((noinline)) void tw_row_of_nine(float *const *line, int32_t apart, const tw_taps *t, int32_t count, float *y) {
  const int32_t w_step = t->w_step, low = t->low, step = t->y_step;
  const float start = t->start, *const v = t->w;
  const float w[9] = {v[0], v[w_step], v[2 * w_step], v[3 * w_step], v[4 * w_step],
                      v[5 * w_step], v[6 * w_step], v[7 * w_step], v[8 * w_step]};
  const float *row[3] = {line[0], line[apart], line[2 * apart]};
  tw_column p = tw_column_at(row, 0), q = tw_column_at(row, 1), r = tw_column_at(row, 2);
  for (; count >= 3; count -= 3) {
    const float first = tw_nine(w, start, p, q, r);
    p = tw_column_at(row, 3);
    tw_store_above(first, low, y), y += step;
    const float second = tw_nine(w, start, q, r, p);
    q = tw_column_at(row, 4);
    tw_store_above(second, low, y), y += step;
    const float third = tw_nine(w, start, r, p, q);
    if (count > 3) r = tw_column_at(row, 5);
    tw_store_above(third, low, y), y += step;
    row[0] += 3, row[1] += 3, row[2] += 3;
  }
  if (count > 0) tw_store_above(tw_nine(w, start, p, q, r), low, y);
  if (count > 1) tw_store_above(tw_nine(w, start, q, r, tw_column_at(row, 3)), low, y + step);
}

/* The same for windows further apart. */
static __attribute__((noinline)) void tw_row_of_nine_apart(const tw_lines *l, const tw_taps *t, float *y) {
  const int32_t on = l->d->stride_w, right = l->d->dilation_w, w_step = t->w_step, low = t->low, step = t->y_step;
  const float start = t->start, *const v = t->w;
  const float w[9] = {v[0], v[w_step], v[2 * w_step], v[3 * w_step], v[4 * w_step],
                      v[5 * w_step], v[6 * w_step], v[7 * w_step], v[8 * w_step]};
  const float *row[3] = {l->line[0], l->line[l->apart], l->line[2 * l->apart]};
  for (int32_t count = l->d->out_w; count > 0; count--, y += step) {
    const tw_column p = tw_column_at(row, 0), q = tw_column_at(row, right), r = tw_column_at(row, 2 * right);
    row[0] += on, row[1] += on, row[2] += on;
    tw_store_above(tw_nine(w, start, p, q, r), low, y);
  }
}

/* ---- any windows ---- */

/* What some neighbouring taps of a row add: three, or as many as are left. */
static __attribute__((noinline)) void tw_add_taps(const float *x, int32_t right, int32_t on, const float *w, int32_t w_step,
                                                  int32_t taps, int32_t count, float *sum) {
  const float w0 = w[0], w1 = taps > 1 ? w[w_step] : 0.0f, w2 = taps > 2 ? w[2 * w_step] : 0.0f;
  const float *x1 = x + (taps > 1 ? right : 0), *x2 = x + (taps > 2 ? 2 * right : 0);
  for (; count > 0; count--, x += on, x1 += on, x2 += on, sum++) *sum += *x * w0 + *x1 * w1 + *x2 * w2;
}

static void tw_row_of_any(const tw_lines *l, const tw_taps *t, int32_t out_y, float *sums, float *y) {
  const tw_depthwise *const d = l->d;
  for (int32_t i = 0; i < d->out_w; i++) sums[i] = t->start;
  for (int32_t r = 0; r < d->kernel_h; r++) {
    if (!tw_has_pixels(d, out_y, r)) continue;
    for (int32_t s = 0; s < d->kernel_w; s += 3) {
      const float *const w = t->w + (r * d->kernel_w + s) * t->w_step;
      tw_add_taps(l->line[r * l->apart] + s * d->dilation_w, d->dilation_w, d->stride_w, w, t->w_step,
                  tw_min(3, d->kernel_w - s), d->out_w, sums);
    }
  }
  for (int32_t i = 0; i < d->out_w; i++, y += t->y_step) tw_store_above(sums[i], t->low, y);
}

/* ---- convolutions ---- */

/* Rows first to end - 1 of one channel; the taps of filters lie in the order of windows, or turned round. */
static void tw_depthwise_rows(tw_lines *l, const tw_taps *t, const float *x, tw_share rows, float *sums, float *y) {
  const tw_depthwise *const d = l->d;
  tw_begin_lines(l, x, rows.first);
  for (int32_t row = rows.first; row < rows.end; row++) {
    float *const to = y + row * d->out_w * d->groups;
    tw_lines_of_row(l, row);
    if (!tw_are_nine(d)) {
      tw_row_of_any(l, t, row, sums, to);
    } else if (d->stride_w == 1 && d->dilation_w == 1) {
      tw_row_of_nine(l->line, l->apart, t, d->out_w, to);
    } else {
      tw_row_of_nine_apart(l, t, to);
    }
  }
}

/* All channels; `turned`: by taps that are turned round. Cores take neighbouring channels, which lie in different banks. */
static void tw_depthwise_f32(const tw_depthwise *d, const float *x, const float *w, int32_t turned, const float *bias,
                             int32_t bias_step, int32_t low, float *y, void *scratch) {
  float *const own = tw_own_lines(d, scratch), *const sums = tw_sums_of_line(d, own);
  const int32_t channels = d->batch * d->groups, taps = d->kernel_h * d->kernel_w;
  const int32_t parts = tw_parts_of_channel(channels, d->out_h, TW_CORES);
  tw_lines l = tw_lines_in(d, own);
  for (int32_t i = tw_core(); i < channels * parts; i += TW_CORES) {
    const int32_t part = i / channels, place = i - part * channels, image = place / d->groups, c = place - image * d->groups;
    const tw_share rows = {d->out_h * part / parts, d->out_h * (part + 1) / parts};
    const tw_taps t = {w + c * taps + (turned ? taps - 1 : 0), bias ? bias[c * bias_step] : 0.0f, turned ? -1 : 1, low,
                       d->groups};
    tw_depthwise_rows(&l, &t, x + image * d->in_h * d->in_w * d->groups + c, rows, sums,
                      y + image * d->out_h * d->out_w * d->groups + c);
  }
}

#endif
