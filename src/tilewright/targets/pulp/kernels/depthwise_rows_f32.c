/* Convolution of floats with the channels last, where each group has one channel and one filter; all cores together.
 * A core takes channels of some output rows; the taps of a filter of 3 x 3 stay in registers along a row. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_rows_f32
#endif

#include "cluster.h"
#include "positive_f32.h"

typedef struct {
  const tw_conv_params *p;
  const float *x; /* this channel of this image */
  const float *w; /* its filter */
  float start;
} work;

/* Those of `count` taps, `dilation` apart from `at` on, that are inside 0 to size. */
static inline tw_range taps_inside(int32_t at, int32_t dilation, int32_t size, int32_t count) {
  tw_range taps = {0, count};
  for (; at < 0 && taps.first < count; at += dilation) taps.first++;
  for (at += (count - 1 - taps.first) * dilation; at >= size && taps.end > taps.first; at -= dilation) taps.end--;
  return taps;
}

/* Any window, with taps outside the image left out; `rows` are those inside. */
static float any_window(const work *k, int32_t in_y, int32_t in_x, tw_range rows) {
  const tw_conv_params *const p = k->p;
  const tw_range taps = taps_inside(in_x, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t step = p->dilation_w * p->groups;
  float total = k->start;
  for (int32_t r = rows.first; r < rows.end; r++) {
    const float *x = k->x + ((in_y + r * p->dilation_h) * p->in_w + in_x) * p->groups + taps.first * step;
    const float *w = k->w + r * p->kernel_w + taps.first;
    for (int32_t left = taps.end - taps.first; left > 0; left--, x += step) total += *x * *w++;
  }
  return total;
}

/* `count` windows of 3 x 3 that lie in the image, the first at x; neighbours in a row are `step` floats apart. */
static void windows_of_three(const work *k, const float *x, int32_t down, int32_t step, int32_t on, int32_t count,
                             float *y, int32_t y_step) {
  const float w0 = k->w[0], w1 = k->w[1], w2 = k->w[2], w3 = k->w[3], w4 = k->w[4], w5 = k->w[5], w6 = k->w[6];
  const float w7 = k->w[7], w8 = k->w[8], start = k->start;
  const float *a0 = x, *a1 = a0 + step, *a2 = a1 + step, *b0 = x + down, *b1 = b0 + step, *b2 = b1 + step;
  const float *c0 = b0 + down, *c1 = c0 + step, *c2 = c1 + step;
  for (; count > 0; count--, y += y_step) {
    float total = start + *a0 * w0;
    total += *a1 * w1, total += *a2 * w2, total += *b0 * w3, total += *b1 * w4;
    total += *b2 * w5, total += *c0 * w6, total += *c1 * w7, total += *c2 * w8;
    *y = total;
    a0 += on, a1 += on, a2 += on, b0 += on, b1 += on, b2 += on, c0 += on, c1 += on, c2 += on;
  }
}

/* A column of three neighbours below each other, and the window of three such columns. */
typedef struct {
  float a, b, c;
} column;

static inline column column_at(const float *x, int32_t down) {
  const column found = {x[0], x[down], x[2 * down]};
  return found;
}

static inline float window(const float *w, float total, column p, column q, column r) {
  total += p.a * w[0], total += q.a * w[1], total += r.a * w[2], total += p.b * w[3], total += q.b * w[4];
  total += r.b * w[5], total += p.c * w[6], total += q.c * w[7], total += r.c * w[8];
  return total;
}

/* The same for windows next to each other: each has two columns of the one before, which stay in registers. */
static void sliding_windows(const work *k, const float *x, int32_t down, int32_t step, int32_t count, float *y) {
  const float w[9] = {k->w[0], k->w[1], k->w[2], k->w[3], k->w[4], k->w[5], k->w[6], k->w[7], k->w[8]};
  const float start = k->start;
  column p = column_at(x, down), q = column_at(x + step, down), r;
  x += 2 * step;
  for (; count >= 3; count -= 3) {
    r = column_at(x, down), x += step;
    *y = window(w, start, p, q, r), y += step;
    p = column_at(x, down), x += step;
    *y = window(w, start, q, r, p), y += step;
    q = column_at(x, down), x += step;
    *y = window(w, start, r, p, q), y += step;
  }
  if (count > 0) {
    r = column_at(x, down);
    *y = window(w, start, p, q, r);
    if (count > 1) y[step] = window(w, start, q, r, column_at(x + step, down));
  }
}

/* One output row of one channel. */
static void one_row(const work *k, int32_t out_y, float *y) {
  const tw_conv_params *const p = k->p;
  const int32_t in_y = out_y * p->stride_h - p->pad_top, pitch = p->in_w * p->groups;
  const int32_t reach_y = (p->kernel_h - 1) * p->dilation_h, reach_x = (p->kernel_w - 1) * p->dilation_w;
  const int is_three = p->kernel_h == 3 && p->kernel_w == 3 && in_y >= 0 && in_y + reach_y < p->in_h;
  /* The pixels whose windows lie in the image from left to right. */
  const tw_range inside = tw_inside(-p->pad_left, p->stride_w, p->in_w - reach_x, p->out_w);
  const int32_t first = is_three ? inside.first : p->out_w, end = is_three ? inside.end : p->out_w;
  const tw_range rows = taps_inside(in_y, p->dilation_h, p->in_h, p->kernel_h);
  for (int32_t i = 0; i < first; i++) y[i * p->groups] = any_window(k, in_y, i * p->stride_w - p->pad_left, rows);
  if (first < end) {
    const float *const corner = k->x + in_y * pitch + (first * p->stride_w - p->pad_left) * p->groups;
    const int32_t down = p->dilation_h * pitch, step = p->dilation_w * p->groups, on = p->stride_w * p->groups;
    if (step == p->groups && on == p->groups) {
      sliding_windows(k, corner, down, step, end - first, y + first * p->groups);
    } else {
      windows_of_three(k, corner, down, step, on, end - first, y + first * p->groups, p->groups);
    }
  }
  for (int32_t i = end; i < p->out_w; i++) y[i * p->groups] = any_window(k, in_y, i * p->stride_w - p->pad_left, rows);
  if (p->activation.kind) tw_all_positive(y, p->out_w, p->groups);
}

/* Pixels of a channel often lie in one bank. Cores begin with different channels, so that each has a bank of its own. */
void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y) {
  const tw_conv_params *const p = params;
  const int32_t groups = p->groups, taps = p->kernel_h * p->kernel_w;
  const tw_share share = tw_share_of(p->batch * p->out_h * groups);
  const int32_t count = share.end - share.first;
  if (count <= 0) return;
  int32_t next = share.first + (int32_t)((uint32_t)tw_core() % (uint32_t)count);
  for (int32_t left = count; left > 0; left--) {
    const int32_t row = (int32_t)((uint32_t)next / (uint32_t)groups), channel = next - row * groups;
    const int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->out_h);
    const work k = {p, x + image * p->in_h * p->in_w * groups + channel, w + channel * taps,
                    b ? b[channel * p->bias_step] : 0.0f};
    one_row(&k, row - image * p->out_h, y + row * p->out_w * groups + channel);
    if (++next == share.end) next = share.first;
  }
}
