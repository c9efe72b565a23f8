/* The gradient of a convolution's operand, channels second: a convolution of the result's gradient, with the filters
 * turned around. Where windows skip pixels, pixels of each phase have taps of their own. */
#include "tap_planes.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_planes
#endif

/* Working memory: where a tap sees the planes, the planes, filters tap by tap, results with the pitch of planes. */
typedef struct {
  int32_t *at;
  float *planes, *filters, *results;
} memory;

/* Every `stride`-th pixel of the image: its first one, how many there are, and the taps that reach them. */
typedef struct {
  int32_t y, x, rows, columns;
  tw_tap_parts parts;
  const float *filters;
} phase;

/* The plane's rows are windows, from some above the first one on. */
static void fill_planes(const tw_conv_gradient_params *p, const tw_planes *planes, const float *g, float *to) {
  const int32_t above = tw_windows_before(p->pad_top, p->kernel_h, p->stride_h, p->dilation_h);
  const int32_t left = tw_windows_before(p->pad_left, p->kernel_w, p->stride_w, p->dilation_w);
  for (int32_t f = 0; f < p->filters; f++, g += p->out_h * p->out_w, to += planes->plane) {
    tw_plane(planes, g, p->out_h, p->out_w, -above, 1, -left, 1, to);
  }
}

/* The taps that reach pixels of a phase, and where they see the planes. */
static int32_t place_taps(const tw_conv_gradient_params *p, const tw_planes *planes, int32_t y, int32_t x, int32_t *at,
                          int32_t *tap) {
  const int32_t above = tw_windows_before(p->pad_top, p->kernel_h, p->stride_h, p->dilation_h);
  const int32_t before = tw_windows_before(p->pad_left, p->kernel_w, p->stride_w, p->dilation_w);
  int32_t count = 0;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t down = y + p->pad_top - r * p->dilation_h;
    for (int32_t s = 0; down % p->stride_h == 0 && s < p->kernel_w; s++) {
      const int32_t right = x + p->pad_left - s * p->dilation_w;
      if (right % p->stride_w != 0) continue;
      at[count] = (above + down / p->stride_h) * planes->pitch + before + right / p->stride_w;
      tap[count++] = r * p->kernel_w + s;
    }
  }
  return count;
}

/* [channel][tap][filter] of [filter][channel][tap], for some of the taps. */
static void turn_filters(const tw_conv_gradient_params *p, const float *w, const int32_t *tap, int32_t count,
                         float *to) {
  const int32_t taps = p->kernel_h * p->kernel_w;
  for (int32_t c = 0; c < p->channels; c++) {
    for (int32_t t = 0; t < count; t++) {
      const float *from = w + c * taps + tap[t];
      for (int32_t f = 0; f < p->filters; f++, from += p->channels * taps) *to++ = *from;
    }
  }
}

/* Rows of a phase to where its pixels are. */
static void scatter(const tw_conv_gradient_params *p, const tw_planes *planes, const phase *own, const float *results,
                    float *y) {
  for (int32_t c = 0; c < p->channels; c++, results += planes->plane, y += p->in_h * p->in_w) {
    for (int32_t row = 0; row < own->rows; row++) {
      const float *const from = results + row * planes->pitch;
      float *const to = y + (own->y + row * p->stride_h) * p->in_w + own->x;
      if (p->stride_w == 1) {
        memcpy(to, from, (size_t)own->columns * sizeof *to);
      } else {
        for (int32_t i = 0; i < own->columns; i++) to[i * p->stride_w] = from[i];
      }
    }
  }
}

static void one_phase(const tw_conv_gradient_params *p, const tw_planes *planes, const phase *own, const memory *m,
                      float *y) {
  const int32_t count = (own->rows - 1) * planes->pitch + own->columns;
  if (own->rows <= 0 || own->columns <= 0) return;
  tw_tap_products(p->channels, own->filters, (int64_t)own->parts.taps * p->filters, &own->parts, m->planes,
                  planes->plane, m->results, planes->plane, count);
  scatter(p, planes, own, m->results, y);
}

/* All phases of one group: those of a phase are turned before its images pass by. */
static void one_group(const tw_conv_gradient_params *p, const tw_planes *planes, const float *g, const float *w,
                      const memory *m, float *y) {
  const int32_t taps = p->kernel_h * p->kernel_w;
  const int64_t of_g = (int64_t)p->groups * p->filters * p->out_h * p->out_w;
  const int64_t of_y = (int64_t)p->groups * p->channels * p->in_h * p->in_w;
  for (int32_t n = 0; n < p->batch; n++, g += of_g, y += of_y) {
    fill_planes(p, planes, g, m->planes);
    for (int32_t at = 0; at < p->stride_h * p->stride_w; at++) {
      phase own = {.y = at / p->stride_w, .x = at % p->stride_w, .filters = m->filters};
      own.rows = (p->in_h - own.y + p->stride_h - 1) / p->stride_h;
      own.columns = (p->in_w - own.x + p->stride_w - 1) / p->stride_w;
      own.parts.channels = p->filters;
      own.parts.at = m->at;
      own.parts.taps = place_taps(p, planes, own.y, own.x, m->at, m->at + taps);
      if (n == 0 || p->stride_h * p->stride_w > 1) turn_filters(p, w, m->at + taps, own.parts.taps, m->filters);
      one_phase(p, planes, &own, m, y);
    }
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const tw_planes planes = tw_window_planes(p);
  const int32_t taps = p->kernel_h * p->kernel_w;
  if (p->channels <= 0 || p->in_h <= 0 || p->in_w <= 0) return;
  memory m = {.at = scratch, .planes = (float *)scratch + 2 * taps};
  m.filters = m.planes + p->filters * planes.plane;
  m.results = m.filters + (int64_t)taps * p->channels * p->filters;
  for (int32_t group = 0; group < p->groups; group++) {
    one_group(p, &planes, g + (int64_t)group * p->filters * p->out_h * p->out_w,
              w + (int64_t)group * p->filters * p->channels * taps, &m,
              y + (int64_t)group * p->channels * p->in_h * p->in_w);
  }
}
