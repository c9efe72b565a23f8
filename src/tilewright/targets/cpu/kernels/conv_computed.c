/* Convolution of floats whose filters are computed, channels second. */
#include "tap_planes.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_computed
#endif

/* Working memory: where a tap sees the planes, the planes, filters tap by tap, results with the pitch of planes. */
typedef struct {
  int32_t *at;
  float *planes, *filters, *results;
} memory;

static void place_taps(const tw_conv_params *p, const tw_planes *planes, int32_t *at) {
  for (int32_t r = 0; r < p->kernel_h; r++) {
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t down = r * p->dilation_h, right = s * p->dilation_w;
      const int32_t phase = down % p->stride_h * p->stride_w + right % p->stride_w;
      *at++ = phase * (int32_t)planes->plane + down / p->stride_h * planes->pitch + right / p->stride_w;
    }
  }
}

/* [filter][tap][channel] of [filter][channel][tap] */
static void turn_filters(const tw_conv_params *p, const float *w, float *to) {
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->in_channels;
  for (int32_t f = 0; f < p->out_channels; f++, w += channels * taps) {
    for (int32_t tap = 0; tap < taps; tap++) {
      for (int32_t c = 0; c < channels; c++) *to++ = w[c * taps + tap];
    }
  }
}

static void fill_planes(const tw_conv_params *p, const tw_planes *planes, const float *x, float *to) {
  for (int32_t c = 0; c < p->in_channels; c++, x += p->in_h * p->in_w) {
    for (int32_t phase = 0; phase < planes->phases; phase++, to += planes->plane) {
      const int32_t down = phase / p->stride_w, right = phase % p->stride_w;
      tw_plane(planes, x, p->in_h, p->in_w, down - p->pad_top, p->stride_h, right - p->pad_left, p->stride_w, to);
    }
  }
}

/* Rows of results without what is between them, with the bias and the activation. */
static void finish(const tw_conv_params *p, const tw_planes *planes, const float *results, const float *b, float *y) {
  for (int32_t f = 0; f < p->out_channels; f++, results += planes->plane) {
    const float bias = b ? b[f * p->bias_step] : 0.0f;
    float *const first = y;
    for (int32_t row = 0; row < p->out_h; row++, y += p->out_w) {
      const float *const from = results + row * planes->pitch;
      for (int32_t i = 0; i < p->out_w; i++) y[i] = from[i] + bias;
    }
    if (p->activation.kind) tw_activate(&p->activation, first, p->out_h * p->out_w, 1);
  }
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  const tw_planes planes = tw_conv_planes(p);
  const int32_t taps = p->kernel_h * p->kernel_w, length = taps * p->in_channels;
  if (p->out_h <= 0 || p->out_w <= 0 || p->out_channels <= 0) return;
  memory m = {.at = scratch, .planes = (float *)scratch + 2 * taps};
  m.filters = m.planes + p->in_channels * planes.phases * planes.plane;
  m.results = m.filters + p->out_channels * length;
  place_taps(p, &planes, m.at);
  const tw_tap_parts parts = {taps, p->in_channels, m.at};
  const int32_t count = (p->out_h - 1) * planes.pitch + p->out_w;
  for (int32_t group = 0; group < p->groups; group++) {
    turn_filters(p, w + (int64_t)group * p->out_channels * length, m.filters);
    for (int32_t n = 0; n < p->batch; n++) {
      const int64_t image = (int64_t)n * p->groups + group;
      fill_planes(p, &planes, x + image * p->in_channels * p->in_h * p->in_w, m.planes);
      tw_tap_products(p->out_channels, m.filters, length, &parts, m.planes, planes.phases * planes.plane, m.results,
                      planes.plane, count);
      finish(p, &planes, m.results, b ? b + group * p->out_channels * p->bias_step : 0,
             y + image * p->out_channels * p->out_h * p->out_w);
    }
  }
}
