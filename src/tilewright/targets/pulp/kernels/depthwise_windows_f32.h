/* Depthwise convolutions of floats, channels last, from planes of one channel after the other; all cores together. */
#ifndef TW_DEPTHWISE_WINDOWS_F32_H
#define TW_DEPTHWISE_WINDOWS_F32_H

#include "depthwise_planes_f32.h"
#include "positive_f32.h"

typedef struct {
  const float *w;
  float start;
  int32_t step, pitch; /* of taps */
  int32_t low;
} tw_taps;

/* ---- windows of 3 x 3 ---- */

#define TW_NINE_TAPS(w, on, down)                                                                       \
  {(w)[0], (w)[on], (w)[2 * (on)], (w)[down], (w)[(down) + (on)], (w)[(down) + 2 * (on)], (w)[2 * (down)], \
   (w)[2 * (down) + (on)], (w)[2 * (down) + 2 * (on)]}

static inline __attribute__((always_inline)) float tw_nine(const float w[9], float total, tw_column p, tw_column q,
                                                           tw_column r) {
  total += p.a * w[0], total += p.b * w[3], total += p.c * w[6], total += q.a * w[1], total += q.b * w[4];
  total += q.c * w[7], total += r.a * w[2], total += r.b * w[5], total += r.c * w[8];
  return total;
}

/* Windows next to each other: each has two columns of the one before, which stay in registers. */
static __attribute__((noinline)) void tw_rows_of_nine(const tw_depthwise *d, const tw_taps *t, const float *plane, int32_t rows,
                                                      float *y) {
  const int32_t low = t->low, step = d->y_step, pitch = tw_channel_pitch(d), down = d->dilation_h * pitch;
  const int32_t y_on = d->y_pitch - d->out_w * step, x_on = d->stride_h * pitch - d->out_w;
  const float start = t->start, w[9] = TW_NINE_TAPS(t->w, t->step, t->pitch);
  const float *a = plane, *b = a + down, *c = b + down;
  for (; rows > 0; rows--, y += y_on, a += x_on, b += x_on, c += x_on) {
    int32_t count = d->out_w;
    tw_column p = tw_column_at(a, b, c, 0), q = tw_column_at(a, b, c, 1), r = tw_column_at(a, b, c, 2);
    for (; count >= 3; count -= 3) {
      const float first = tw_nine(w, start, p, q, r);
      p = tw_column_at(a, b, c, 3);
      tw_store_above(first, low, y), y += step;
      const float second = tw_nine(w, start, q, r, p);
      q = tw_column_at(a, b, c, 4);
      tw_store_above(second, low, y), y += step;
      const float third = tw_nine(w, start, r, p, q);
      r = tw_column_at(a, b, c, 5);
      tw_store_above(third, low, y), y += step;
      a += 3, b += 3, c += 3;
    }
    for (; count > 0; count--, a++, b++, c++, y += step) {
      tw_store_above(tw_nine(w, start, p, q, r), low, y);
      p = q, q = r, r = tw_column_at(a, b, c, 3);
    }
  }
}

/* The same for windows further apart. */
static __attribute__((noinline)) void tw_rows_of_nine_apart(const tw_depthwise *d, const tw_taps *t, const float *plane,
                                                            int32_t rows, float *y) {
  const int32_t low = t->low, step = d->y_step, pitch = tw_channel_pitch(d), down = d->dilation_h * pitch;
  const int32_t on = d->stride_w, right = d->dilation_w, x_on = d->stride_h * pitch - d->out_w * on;
  const int32_t y_on = d->y_pitch - d->out_w * step;
  const float start = t->start, w[9] = TW_NINE_TAPS(t->w, t->step, t->pitch);
  const float *a = plane, *b = a + down, *c = b + down;
  for (; rows > 0; rows--, y += y_on, a += x_on, b += x_on, c += x_on) {
    for (int32_t count = d->out_w; count > 0; count--, y += step, a += on, b += on, c += on) {
      const tw_column p = tw_column_at(a, b, c, 0), q = tw_column_at(a, b, c, right), r = tw_column_at(a, b, c, 2 * right);
      tw_store_above(tw_nine(w, start, p, q, r), low, y);
    }
  }
}

/* ---- any windows ---- */

/* What some neighbouring taps of a row add to all windows: three, or as many as are left. */
static __attribute__((noinline)) void tw_add_taps(const tw_depthwise *d, const float *x, const float *w, int32_t w_step,
                                                  int32_t taps, int32_t rows, float *sum) {
  const int32_t right = d->dilation_w, on = d->stride_w, x_on = d->stride_h * tw_channel_pitch(d) - d->out_w * on;
  const int32_t second = taps > 1 ? right : 0, third = taps > 2 ? 2 * right : 0;
  const float w0 = w[0], w1 = taps > 1 ? w[w_step] : 0.0f, w2 = taps > 2 ? w[2 * w_step] : 0.0f;
  for (; rows > 0; rows--, x += x_on) {
    for (int32_t count = d->out_w; count > 0; count--, x += on, sum++) {
      const float x0 = *x, x1 = x[second], x2 = x[third];
      *sum += x0 * w0 + x1 * w1 + x2 * w2;
    }
  }
}

static void tw_rows_of_any(const tw_depthwise *d, const tw_taps *t, const float *plane, int32_t rows, float *sums, float *y) {
  const int32_t down = d->dilation_h * tw_channel_pitch(d);
  for (int32_t i = 0; i < rows * d->out_w; i++) sums[i] = t->start;
  for (int32_t r = 0; r < d->kernel_h; r++) {
    for (int32_t s = 0; s < d->kernel_w; s += 3) {
      tw_add_taps(d, plane + r * down + s * d->dilation_w, t->w + r * t->pitch + s * t->step, t->step,
                  tw_min(3, d->kernel_w - s), rows, sums);
    }
  }
  for (; rows > 0; rows--, y += d->y_pitch) {
    for (int32_t i = 0; i < d->out_w; i++) tw_store_above(*sums++, t->low, y + i * d->y_step);
  }
}

/* ---- convolutions ---- */

/* Some rows of one channel, plane by plane. */
static void tw_depthwise_rows(const tw_depthwise *d, const tw_taps *t, const float *x, tw_share rows, int32_t at_once,
                              float *plane, float *y) {
  for (int32_t row = rows.first; row < rows.end; row += at_once) {
    const int32_t count = tw_min(at_once, rows.end - row);
    float *const to = y + row * d->y_pitch;
    tw_fill_plane(d, x, row, count, plane);
    if (!tw_are_nine(d)) {
      tw_rows_of_any(d, t, plane, count, plane + tw_plane_floats(d), to);
    } else if (d->stride_w == 1 && d->dilation_w == 1) {
      tw_rows_of_nine(d, t, plane, count, to);
    } else {
      tw_rows_of_nine_apart(d, t, plane, count, to);
    }
  }
}

/* All channels; `turned`: by taps that are turned round. Cores take neighbouring channels, which lie in different banks. */
static void tw_depthwise_f32(const tw_depthwise *d, const float *x, const float *w, int32_t turned, const float *bias,
                             int32_t bias_step, int32_t low, float *y, void *scratch) {
  float *const plane = (float *)scratch + tw_core() * tw_depthwise_floats(d, 1);
  const int32_t channels = d->batch * d->groups, taps = d->kernel_h * d->kernel_w;
  const int32_t parts = tw_parts_of_channel(channels, d->out_h, TW_CORES), at_once = tw_rows_at_once(d);
  tw_clear(plane, tw_plane_floats(d));
  for (int32_t i = tw_core(); i < channels * parts; i += TW_CORES) {
    const int32_t part = parts == 1 ? 0 : i / channels, place = i - part * channels;
    const int32_t image = d->batch == 1 ? 0 : place / d->groups, c = place - image * d->groups;
    const tw_share all = {0, d->out_h}, some = {d->out_h * part / parts, d->out_h * (part + 1) / parts};
    const tw_share rows = parts == 1 ? all : some;
    const tw_taps t = {w + c * taps + (turned ? taps - 1 : 0), bias ? bias[c * bias_step] : 0.0f,
                       turned ? -d->w_step : d->w_step, turned ? -d->w_pitch : d->w_pitch, low};
    tw_depthwise_rows(d, &t, x + image * d->in_h * d->in_w * d->groups + c, rows, at_once, plane,
                      y + image * d->out_h * d->out_w * d->groups + c);
  }
}

#endif
