/* Convolution of 8-bit integers where each group has one input channel, int32 totals, optionally requantised.
 * The band holds x as an unsigned byte; conv_int8.c says why, and what it does to the totals. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_int8
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_X_OFFSET ((TW_X)-1 < 0 ? 128 : 0)
#define TW_PANEL uint8_t
#define TW_INTO_PANEL(x) ((uint8_t)((x) + TW_X_OFFSET))

#include "bytes.h"
#include "conv.h"
#include "conv_band.h"
#include "conv_store.h"

/* total[i] = start + the window at from[i * step]; `count` is rounded up to whole blocks. */
static inline void run(const tw_conv_params *p, const uint8_t *from, int32_t pitch, const TW_W *w, uint32_t start,
                       int32_t count, int32_t step, uint32_t *total) {
  for (int32_t at = 0; at < count; at += TW_PIXELS) {
    uint32_t sum[TW_PIXELS];
    for (int32_t i = 0; i < TW_PIXELS; i++) sum[i] = start;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const uint8_t *x = from + at * step + r * p->dilation_h * pitch + s * p->dilation_w;
        const int16_t factor = (int16_t)(w[r * p->kernel_w + s] - p->w_zero);
        for (int32_t i = 0; i < TW_PIXELS; i++) sum[i] += (uint32_t)((int32_t)x[i * step] * factor);
      }
    }
    memcpy(total + at, sum, sizeof sum);
  }
}

/* Constant steps let the compiler vectorise. */
static void run_by(const tw_conv_params *p, const uint8_t *from, int32_t pitch, const TW_W *w, uint32_t start,
                   int32_t count, uint32_t *total) {
  if (p->stride_w == 1) {
    run(p, from, pitch, w, start, count, 1, total);
  } else if (p->stride_w == 2) {
    run(p, from, pitch, w, start, count, 2, total);
  } else {
    run(p, from, pitch, w, start, count, p->stride_w, total);
  }
}

/* The total before the first product. */
static uint32_t start_of(const tw_conv_params *p, const TW_W *w, const int32_t *b, int32_t filter) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < p->kernel_h * p->kernel_w; i++) sum += (uint32_t)(w[i] - p->w_zero);
  return (uint32_t)tw_conv_bias(p, b, filter) - sum * (uint32_t)(p->x_zero + TW_X_OFFSET);
}

/* One filter on a band: some rows of y. Without strides all rows are computed as one long row, and what lies between
 * two rows is dropped. */
static void filter_on_band(const tw_conv_params *p, const uint8_t *band, int32_t pitch, const TW_W *w, uint32_t start,
                           int32_t rows, uint32_t *total) {
  const int32_t step = p->stride_h * pitch;
  if (p->stride_h == 1 && p->stride_w == 1) {
    run_by(p, band, pitch, w, start, (rows - 1) * pitch + p->out_w, total);
    return;
  }
  for (int32_t row = 0; row < rows; row++) run_by(p, band + row * step, pitch, w, start, p->out_w, total + row * pitch);
}

/* Moves rows together, so that they are stored as one: rows can be short. */
static void join_rows(uint32_t *total, int32_t pitch, int32_t rows, int32_t columns) {
  for (int32_t row = 1; row < rows; row++) {
    memmove(total + row * columns, total + row * pitch, (size_t)columns * sizeof *total);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t in_plane = params->in_h * params->in_w, out_plane = params->out_h * params->out_w;
  const int32_t taps = params->kernel_h * params->kernel_w, filters = params->out_channels;
  const tw_band largest = tw_band_of(params, 0, 0, params->chunk, params->out_w);
  uint32_t *const total = scratch;
  uint8_t *const band = (uint8_t *)(total + params->chunk * largest.pitch + TW_PIXELS);
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    for (int32_t out_y = 0; out_y < params->out_h; out_y += params->chunk) {
      const int32_t rows = tw_min(params->chunk, params->out_h - out_y);
      const tw_band shape = tw_band_of(params, out_y, 0, rows, params->out_w);
      tw_band_load(params, &shape, x + image * in_plane, 1, TW_INTO_PANEL(params->x_zero), band);
      for (int32_t f = 0; f < filters; f++) {
        const int32_t filter = image % params->groups * filters + f;
        const uint32_t start = start_of(params, w + filter * taps, b, filter);
        TW_Y *to = y + (image * filters + f) * out_plane + out_y * params->out_w;
        filter_on_band(params, band, shape.pitch, w + filter * taps, start, rows, total);
        join_rows(total, shape.pitch, rows, params->out_w);
        tw_conv_store(params, mul, add, filter, total, to, rows * params->out_w);
      }
    }
  }
}
