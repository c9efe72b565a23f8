/* Convolution of floats where each group has one input channel. */
#define TW_X float
#define TW_PANEL float
#define TW_INTO_PANEL(x) (x)

#include "bytes.h"
#include "conv.h"
#include "conv_band.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_f32
#endif

/* total[i] = start + the window at from[i * step]; `count` is rounded up to whole blocks. */
static inline void run(const tw_conv_params *p, const float *from, int32_t pitch, const float *w, float start,
                       int32_t count, int32_t step, float *total) {
  for (int32_t at = 0; at < count; at += TW_PIXELS) {
    float sum[TW_PIXELS];
    for (int32_t i = 0; i < TW_PIXELS; i++) sum[i] = start;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const float *x = from + at * step + r * p->dilation_h * pitch + s * p->dilation_w;
        const float factor = w[r * p->kernel_w + s];
        for (int32_t i = 0; i < TW_PIXELS; i++) sum[i] += factor * x[i * step];
      }
    }
    memcpy(total + at, sum, sizeof sum);
  }
}

/* Constant steps let the compiler vectorise. */
static void run_by(const tw_conv_params *p, const float *from, int32_t pitch, const float *w, float start,
                   int32_t count, float *total) {
  if (p->stride_w == 1) {
    run(p, from, pitch, w, start, count, 1, total);
  } else if (p->stride_w == 2) {
    run(p, from, pitch, w, start, count, 2, total);
  } else {
    run(p, from, pitch, w, start, count, p->stride_w, total);
  }
}

/* One filter on a band: some rows of y. Without strides all rows are computed as one long row, and what lies between
 * two rows is dropped. */
static void filter_on_band(const tw_conv_params *p, const float *band, int32_t pitch, const float *w, float start,
                           int32_t rows, float *total) {
  const int32_t step = p->stride_h * pitch;
  if (p->stride_h == 1 && p->stride_w == 1) {
    run_by(p, band, pitch, w, start, (rows - 1) * pitch + p->out_w, total);
    return;
  }
  for (int32_t row = 0; row < rows; row++) run_by(p, band + row * step, pitch, w, start, p->out_w, total + row * pitch);
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const int32_t in_plane = params->in_h * params->in_w, out_plane = params->out_h * params->out_w;
  const int32_t taps = params->kernel_h * params->kernel_w, filters = params->out_channels;
  const tw_band largest = tw_band_of(params, 0, 0, params->chunk, params->out_w);
  float *const band = scratch, *const total = band + largest.rows * largest.pitch + TW_PIXELS * params->stride_w;
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    for (int32_t out_y = 0; out_y < params->out_h; out_y += params->chunk) {
      const int32_t rows = tw_min(params->chunk, params->out_h - out_y);
      const tw_band shape = tw_band_of(params, out_y, 0, rows, params->out_w);
      tw_band_load(params, &shape, x + image * in_plane, 1, 0.0f, band);
      for (int32_t f = 0; f < filters; f++) {
        const int32_t filter = image % params->groups * filters + f;
        const float start = b ? b[filter * params->bias_step] : 0.0f;
        float *to = y + (image * filters + f) * out_plane + out_y * params->out_w;
        filter_on_band(params, band, shape.pitch, w + filter * taps, start, rows, total);
        for (int32_t row = 0; row < rows; row++) {
          memcpy(to + row * params->out_w, total + row * shape.pitch, (size_t)params->out_w * sizeof *y);
        }
        tw_activate(&params->activation, to, rows * params->out_w, 1);
      }
    }
  }
}
