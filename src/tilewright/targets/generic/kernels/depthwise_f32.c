/* Convolution of floats where each group has one input channel. */
#define TW_X float
#define TW_PANEL float
#define TW_INTO_PANEL(x) (x)

#include <string.h>

#include "conv.h"
#include "depthwise_band.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_f32
#endif

/* total[i] = start + the window at band[i * step] */
static inline void run(const tw_conv_params *p, const float *band, int32_t pitch, const float *w, float start,
                       int32_t count, int32_t step, float *total) {
  for (int32_t at = 0; at < count; at += TW_RUN) {
    float sum[TW_RUN];
    for (int32_t i = 0; i < TW_RUN; i++) sum[i] = start;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const float *x = band + at * step + r * p->dilation_h * pitch + s * p->dilation_w;
        const float factor = w[r * p->kernel_w + s];
        for (int32_t i = 0; i < TW_RUN; i++) sum[i] += factor * x[i * step];
      }
    }
    memcpy(total + at, sum, sizeof sum);
  }
}

/* Constant steps let the compiler vectorise. */
static void run_by(const tw_conv_params *p, const float *band, int32_t pitch, const float *w, float start,
                   int32_t count, float *total) {
  if (p->stride_w == 1) {
    run(p, band, pitch, w, start, count, 1, total);
  } else if (p->stride_w == 2) {
    run(p, band, pitch, w, start, count, 2, total);
  } else {
    run(p, band, pitch, w, start, count, p->stride_w, total);
  }
}

/* One filter on the band: `rows` rows of y. */
static void filter_on_band(const tw_conv_params *p, const float *band, const float *w, float start, int32_t rows,
                           float *total, float *y) {
  const tw_band_shape shape = tw_band(p);
  const size_t row_bytes = (size_t)p->out_w * sizeof *y;
  if (shape.is_flat) run_by(p, band, shape.pitch, w, start, (rows - 1) * shape.pitch + p->out_w, total);
  for (int32_t row = 0; row < rows; row++) {
    if (shape.is_flat) {
      memcpy(y + row * p->out_w, total + row * shape.pitch, row_bytes);
    } else {
      run_by(p, band + row * p->stride_h * shape.pitch, shape.pitch, w, start, p->out_w, total);
      memcpy(y + row * p->out_w, total, row_bytes);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const int32_t in_plane = params->in_h * params->in_w, out_plane = params->out_h * params->out_w;
  const int32_t taps = params->kernel_h * params->kernel_w;
  float *const band = scratch, *const total = band + tw_band(params).elements + TW_RUN * params->stride_w;
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    for (int32_t out_y = 0; out_y < params->out_h; out_y += params->chunk) {
      const int32_t rows = tw_min(params->chunk, params->out_h - out_y);
      tw_band_fill(params, x + image * in_plane, out_y, 0.0f, band);
      for (int32_t f = 0; f < params->out_channels; f++) {
        const int32_t filter = image % params->groups * params->out_channels + f;
        const float start = b ? b[filter * params->bias_step] : 0.0f;
        float *rows_of_y = y + (image * params->out_channels + f) * out_plane + out_y * params->out_w;
        filter_on_band(params, band, w + filter * taps, start, rows, total, rows_of_y);
      }
    }
  }
}
