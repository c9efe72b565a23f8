/* Convolution with channels as the last axis of x, w and y. The window of a pixel is copied once, without its zero point,
 * and then meets every filter: rows as long as a filter where there is one group, else as many channels as a group has.
 * Integers wrap around in int32 and may be requantised. */
#ifndef TW_NAME
#define TW_NAME tw_conv_channels_last
#define TW_X int8_t
#define TW_W int8_t
#define TW_B int32_t
#define TW_Y int8_t
#define TW_X_IS_FLOAT 0
#endif

#include "conv.h"

#if TW_X_IS_FLOAT

typedef float total_t;
typedef float wide_t;
#define TW_CENTRED(p, x) (x)

/* Sums side by side, which compilers keep in one register. */
#define TW_LANES 8

static float dot(const tw_conv_params *p, const float *x, const TW_W *w, int32_t count) {
  float lanes[TW_LANES] = {0}, sum = 0;
  int32_t i = 0;
  (void)p;
  for (; i + TW_LANES <= count; i += TW_LANES) {
    for (int32_t lane = 0; lane < TW_LANES; lane++) lanes[lane] += x[i + lane] * w[i + lane];
  }
  for (; i < count; i++) sum += x[i] * w[i];
  for (int32_t lane = 0; lane < TW_LANES; lane++) sum += lanes[lane];
  return sum;
}

#else

#include "conv_store.h"
typedef uint32_t total_t;
typedef int32_t wide_t;
#define TW_CENTRED(p, x) ((int32_t)((uint32_t)(x) - (uint32_t)(p)->x_zero))
#define TW_BYTES (sizeof(TW_X) == 1 && sizeof(TW_W) == 1)

/* Of bytes, products of two numbers of 16 bits: there are instructions for sums of those. */
static uint32_t dot_of_bytes(const int16_t *x, const TW_W *w, int16_t w_zero, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += (int32_t)x[i] * (int16_t)(w[i] - w_zero);
  return (uint32_t)sum;
}

static uint32_t dot_of_words(const int32_t *x, const TW_W *w, uint32_t w_zero, int32_t count) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += (uint32_t)x[i] * ((uint32_t)w[i] - w_zero);
  return sum;
}

static uint32_t dot(const tw_conv_params *p, const int32_t *x, const TW_W *w, int32_t count) {
  return dot_of_words(x, w, (uint32_t)p->w_zero, count);
}

#endif

/* Elements of all channels under one tap; padding is zero. Bytes become 16 bits wide, all else 32. */
static void copy_pixel(const tw_conv_params *p, const TW_X *x, int32_t channels, int32_t at, void *window) {
#if !TW_X_IS_FLOAT
  if (TW_BYTES) {
    int16_t *to = (int16_t *)window + at;
    for (int32_t c = 0; c < channels; c++) to[c] = x ? (int16_t)TW_CENTRED(p, x[c]) : 0;
    return;
  }
#endif
  (void)p;
  wide_t *to = (wide_t *)window + at;
  for (int32_t c = 0; c < channels; c++) to[c] = x ? TW_CENTRED(p, x[c]) : 0;
}

static void copy_window(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t out_x, void *window) {
  const int32_t channels = p->groups * p->in_channels;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      const int32_t inside = in_y >= 0 && in_y < p->in_h && in_x >= 0 && in_x < p->in_w;
      copy_pixel(p, inside ? x + (in_y * p->in_w + in_x) * channels : 0, channels, (r * p->kernel_w + s) * channels,
                 window);
    }
  }
}

/* `count` products of the window from `at` on. */
static total_t products(const tw_conv_params *p, const void *window, int32_t at, const TW_W *w, int32_t count) {
#if !TW_X_IS_FLOAT
  if (TW_BYTES) return dot_of_bytes((const int16_t *)window + at, w, (int16_t)p->w_zero, count);
#endif
  return dot(p, (const wide_t *)window + at, w, count);
}

/* The sum of products of one filter with the window. */
static total_t filter_sum(const tw_conv_params *p, const void *window, int32_t filter, const TW_W *w) {
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->groups * p->in_channels;
  if (p->groups == 1) return products(p, window, 0, w, taps * channels);
  const int32_t first = filter / p->out_channels * p->in_channels;
  total_t sum = 0;
  for (int32_t tap = 0; tap < taps; tap++) {
    sum += products(p, window, tap * channels + first, w + tap * p->in_channels, p->in_channels);
  }
  return sum;
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t length = params->in_channels * params->kernel_h * params->kernel_w;
  const int32_t filters = params->groups * params->out_channels, pixels = params->out_h * params->out_w;
  const int32_t image = params->groups * params->in_channels * params->in_h * params->in_w;
  for (int32_t i = 0; i < params->batch * pixels; i++) {
    copy_window(params, x + i / pixels * image, i % pixels / params->out_w, i % pixels % params->out_w, scratch);
    for (int32_t filter = 0; filter < filters; filter++, y++) {
      total_t total = b ? (total_t)b[filter * params->bias_step] : 0;
      total += filter_sum(params, scratch, filter, w + filter * length);
#if TW_X_IS_FLOAT
      (void)mul, (void)add;
      tw_activate(&params->activation, &total, 1, 1);
      *y = total;
#else
      tw_conv_store(params, mul, add, filter, &total, y, 1);
#endif
    }
  }
}
