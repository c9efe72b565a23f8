/* The gradient of a convolution's filters, channels last, where each group has one channel and one filter; all cores
 * together, each with channels of its own. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_channels
#endif

#include "depthwise_planes_f32.h"

/* Windows of 3 x 3 next to each other: each has two columns of the one before, which stay in registers. */
static __attribute__((noinline)) void add_nine(const tw_depthwise *d, const float *plane, int32_t rows, const float *g,
                                               float *total) {
  const int32_t step = d->y_step, on = d->w_step, pitch = tw_channel_pitch(d), down = d->dilation_h * pitch;
  const int32_t g_on = d->y_pitch - d->out_w * step, x_on = d->stride_h * pitch - d->out_w;
  const float *a = plane, *b = a + down, *c = b + down;
  float *const second = total + d->w_pitch, *const third = second + d->w_pitch;
  float t0 = total[0], t1 = total[on], t2 = total[2 * on], t3 = second[0], t4 = second[on], t5 = second[2 * on];
  float t6 = third[0], t7 = third[on], t8 = third[2 * on];
#define ADD(p, q, r)                                        \
  do {                                                      \
    const float v = *g;                                     \
    g += step;                                              \
    t0 += v * p.a, t3 += v * p.b, t6 += v * p.c, t1 += v * q.a; \
    t4 += v * q.b, t7 += v * q.c, t2 += v * r.a, t5 += v * r.b, t8 += v * r.c; \
  } while (0)
  for (; rows > 0; rows--, g += g_on, a += x_on, b += x_on, c += x_on) {
    int32_t count = d->out_w;
    tw_column p = tw_column_at(a, b, c, 0), q = tw_column_at(a, b, c, 1), r;
    for (; count >= 3; count -= 3) {
      r = tw_column_at(a, b, c, 2);
      ADD(p, q, r);
      p = tw_column_at(a, b, c, 3);
      ADD(q, r, p);
      q = tw_column_at(a, b, c, 4);
      ADD(r, p, q);
      a += 3, b += 3, c += 3;
    }
    for (; count > 0; count--, a++, b++, c++) {
      r = tw_column_at(a, b, c, 2);
      ADD(p, q, r);
      p = q, q = r;
    }
  }
#undef ADD
  total[0] = t0, total[on] = t1, total[2 * on] = t2, second[0] = t3, second[on] = t4, second[2 * on] = t5;
  third[0] = t6, third[on] = t7, third[2 * on] = t8;
}

/* Some neighbouring taps of a row: three, or as many as are left. */
static __attribute__((noinline)) void add_taps(const tw_depthwise *d, const float *x, int32_t rows, const float *g, int32_t taps,
                                               float *total) {
  const int32_t right = d->dilation_w, on = d->stride_w, g_step = d->y_step, step = d->w_step;
  const int32_t second = taps > 1 ? right : 0, third = taps > 2 ? 2 * right : 0;
  const int32_t g_on = d->y_pitch - d->out_w * g_step, x_on = d->stride_h * tw_channel_pitch(d) - d->out_w * on;
  float t0 = total[0], t1 = taps > 1 ? total[step] : 0.0f, t2 = taps > 2 ? total[2 * step] : 0.0f;
  for (; rows > 0; rows--, g += g_on, x += x_on) {
    for (int32_t count = d->out_w; count > 0; count--, g += g_step, x += on) {
      const float v = *g, x0 = *x, x1 = x[second], x2 = x[third];
      t0 += v * x0, t1 += v * x1, t2 += v * x2;
    }
  }
  total[0] = t0;
  if (taps > 1) total[step] = t1;
  if (taps > 2) total[2 * step] = t2;
}

/* All windows of one image, and some rows of taps. */
static void add_image(const tw_depthwise *d, const float *x, const float *g, tw_share taps, int32_t at_once, float *plane,
                      float *total) {
  const int32_t down = d->dilation_h * tw_channel_pitch(d);
  const int are_nine = tw_are_nine(d) && d->stride_w == 1 && d->dilation_w == 1 && taps.end - taps.first == 3;
  for (int32_t row = 0; row < d->out_h; row += at_once, g += at_once * d->y_pitch) {
    const int32_t rows = tw_min(at_once, d->out_h - row);
    tw_fill_plane(d, x, row, rows, plane);
    if (are_nine) {
      add_nine(d, plane, rows, g, total);
      continue;
    }
    for (int32_t r = taps.first; r < taps.end; r++) {
      for (int32_t s = 0; s < d->kernel_w; s += 3) {
        add_taps(d, plane + r * down + s * d->dilation_w, rows, g, tw_min(3, d->kernel_w - s),
                 total + r * d->w_pitch + s * d->w_step);
      }
    }
  }
}

/* Where cores would have no channel, rows of taps are dealt too. */
void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_filters(params));
  const int32_t parts = d.groups % TW_CORES == 0 || d.groups >= 6 * TW_CORES ? 1 : d.kernel_h;
  const int32_t at_once = tw_rows_at_once(&d);
  float *const plane = (float *)scratch + tw_core() * tw_depthwise_floats(&d, 0);
  tw_clear(plane, tw_plane_floats(&d));
  for (int32_t i = tw_core(); i < d.groups * parts; i += TW_CORES) {
    const int32_t part = parts == 1 ? 0 : i / d.groups, c = i - part * d.groups;
    const tw_share all = {0, d.kernel_h}, some = {d.kernel_h * part / parts, d.kernel_h * (part + 1) / parts};
    const tw_share taps = parts == 1 ? all : some;
    float *const total = y + c * d.kernel_h * d.kernel_w;
    for (int32_t r = taps.first; r < taps.end; r++) {
      for (int32_t s = 0; s < d.kernel_w; s++) total[r * d.w_pitch + s * d.w_step] = 0.0f;
    }
    for (int32_t n = 0; n < d.batch; n++) {
      const float *const image = x + n * d.in_h * d.in_w * d.groups + c;
      add_image(&d, image, g + n * d.out_h * d.out_w * d.groups + c, taps, at_once, plane, total);
    }
  }
}
