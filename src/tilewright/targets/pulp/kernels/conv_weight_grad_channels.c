/* The gradient of a convolution's filters, channels last, where each group has one channel and one filter; all cores
 * together, each with channels of its own. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_channels
#endif

#include "depthwise_lines_f32.h"

/* A row of windows of 3 x 3 next to each other. */
static __attribute__((noinline)) void add_nine(float *const *line, int32_t apart, const float *g, int32_t g_step, int32_t count,
                                               float *total) {
  const float *row[3] = {line[0], line[apart], line[2 * apart]};
  float t0 = total[0], t1 = total[1], t2 = total[2], t3 = total[3], t4 = total[4], t5 = total[5];
  float t6 = total[6], t7 = total[7], t8 = total[8], v = *g;
  tw_column p = tw_column_at(row, 0), q = tw_column_at(row, 1), r = tw_column_at(row, 2);
  for (; count > 0; count--) {
    t0 += v * p.a, t3 += v * p.b, t6 += v * p.c;
    t1 += v * q.a, t4 += v * q.b, t7 += v * q.c;
    p = q, q = r;
    t2 += v * r.a, t5 += v * r.b, t8 += v * r.c;
    if (count == 1) break;
    g += g_step, v = *g;
    r = tw_column_at(row, 3);
    row[0]++, row[1]++, row[2]++;
  }
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3, total[4] = t4, total[5] = t5;
  total[6] = t6, total[7] = t7, total[8] = t8;
}

/* Some neighbouring taps of a row: three, or as many as are left. */
static __attribute__((noinline)) void add_taps(const float *x, int32_t right, int32_t on, const float *g, int32_t g_step,
                                               int32_t taps, int32_t count, float *total) {
  float t0 = total[0], t1 = taps > 1 ? total[1] : 0.0f, t2 = taps > 2 ? total[2] : 0.0f;
  const float *x1 = x + (taps > 1 ? right : 0), *x2 = x + (taps > 2 ? 2 * right : 0);
  for (; count > 0; count--, g += g_step, x += on, x1 += on, x2 += on) {
    const float v = *g, a = *x, b = *x1, c = *x2;
    t0 += v * a, t1 += v * b, t2 += v * c;
  }
  total[0] = t0;
  if (taps > 1) total[1] = t1;
  if (taps > 2) total[2] = t2;
}

/* Rows of windows of one image. */
static void add_rows(tw_lines *l, const float *x, const float *g, tw_share taps, float *total) {
  const tw_depthwise *const d = l->d;
  tw_begin_lines(l, x, 0);
  for (int32_t row = 0; row < d->out_h; row++) {
    const float *const of_row = g + row * d->out_w * d->groups;
    tw_lines_of_row(l, row);
    if (tw_are_nine(d) && d->stride_w == 1 && d->dilation_w == 1 && taps.end - taps.first == 3) {
      add_nine(l->line, l->apart, of_row, d->groups, d->out_w, total);
      continue;
    }
    for (int32_t r = taps.first; r < taps.end; r++) {
      if (!tw_has_pixels(d, row, r)) continue;
      for (int32_t s = 0; s < d->kernel_w; s += 3) {
        add_taps(l->line[r * l->apart] + s * d->dilation_w, d->dilation_w, d->stride_w, of_row, d->groups,
                 tw_min(3, d->kernel_w - s), d->out_w, total + r * d->kernel_w + s);
      }
    }
  }
}

/* Where cores would have no channel, rows of taps are dealt too. */
void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_depthwise d = tw_depthwise_of_filters(params);
  const int32_t parts = d.groups % TW_CORES == 0 || d.groups >= 6 * TW_CORES ? 1 : d.kernel_h;
  tw_lines l = tw_lines_in(&d, tw_own_lines(&d, scratch));
  for (int32_t i = tw_core(); i < d.groups * parts; i += TW_CORES) {
    const int32_t part = i / d.groups, c = i - part * d.groups;
    const tw_share taps = {d.kernel_h * part / parts, d.kernel_h * (part + 1) / parts};
    float *const total = y + c * d.kernel_h * d.kernel_w;
    for (int32_t s = taps.first * d.kernel_w; s < taps.end * d.kernel_w; s++) total[s] = 0.0f;
    for (int32_t n = 0; n < d.batch; n++) {
      add_rows(&l, x + n * d.in_h * d.in_w * d.groups + c, g + n * d.out_h * d.out_w * d.groups + c, taps, total);
    }
  }
}
