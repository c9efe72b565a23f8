/* The gradient of a convolution's filters, channels second: what each tap of a channel sees, times all filters'
 * gradients, which are turned into panels with a pixel in each row. Some pixels at a time, so that panels stay near. */
#include "planes.h"
#include "turned_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_planes
#endif

/* Working memory: where rows begin; zeros that sums start with; planes; panels; sums, filter by filter side by side. */
typedef struct {
  const float **row;
  float *zeros, *planes, *panels, *sums;
  int32_t columns; /* of sums */
} memory;

static void fill_planes(const tw_conv_gradient_params *p, const tw_planes *planes, const float *x, float *to) {
  for (int32_t c = 0; c < p->channels; c++, x += p->in_h * p->in_w) {
    for (int32_t at = 0; at < planes->phases; at++, to += planes->plane) {
      const int32_t down = at / p->stride_w, right = at % p->stride_w;
      tw_plane(planes, x, p->in_h, p->in_w, down - p->pad_top, p->stride_h, right - p->pad_left, p->stride_w, to);
    }
  }
}

/* Each row of sums belongs to a tap of a channel. */
static void place_rows(const tw_conv_gradient_params *p, const tw_planes *planes, const memory *m) {
  const float **row = m->row;
  for (int32_t c = 0; c < p->channels; c++) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const int32_t down = r * p->dilation_h, right = s * p->dilation_w;
        const int32_t at = c * planes->phases + down % p->stride_h * p->stride_w + right % p->stride_w;
        *row++ = m->planes + at * planes->plane + down / p->stride_h * planes->pitch + right / p->stride_w;
      }
    }
  }
}

/* Panels of a few filters each, with zeros for what is between two rows. */
static void turn_gradient(const tw_conv_gradient_params *p, const tw_planes *planes, const float *g, float *panel) {
  const int32_t pixels = p->out_h * p->out_w, between = (planes->pitch - p->out_w) * TW_PANEL;
  for (int32_t f = 0; f < p->filters; f += TW_PANEL, g += (int64_t)TW_PANEL * pixels) {
    for (int32_t row = 0; row < p->out_h; row++) {
      tw_turn_rows(g + row * p->out_w, pixels, tw_min(TW_PANEL, p->filters - f), p->out_w, panel);
      panel += p->out_w * TW_PANEL;
      for (int32_t i = 0; i < between; i++) *panel++ = 0.0f;
    }
  }
}

/* What one image adds to the sums. */
static void add_image(const tw_conv_gradient_params *p, const tw_planes *planes, const memory *m, int32_t is_first) {
  const int32_t count = p->out_h * planes->pitch - (planes->pitch - p->out_w);
  const int32_t rows = p->channels * p->kernel_h * p->kernel_w;
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};
  for (int32_t pixel = 0; pixel < count; pixel += TW_GRADIENT_STEP) {
    const tw_parts parts = {1, tw_min(TW_GRADIENT_STEP, count - pixel), &pixel};
    const float *const start = is_first && pixel == 0 ? m->zeros : 0;
    for (int32_t f = 0; f < p->filters; f += TW_PANEL) {
      const float *const panel = m->panels + ((int64_t)f * p->out_h * planes->pitch + (int64_t)pixel * TW_PANEL);
      tw_tile_end end = {start, unbounded, m->sums + f, m->columns, tw_min(TW_PANEL, p->filters - f)};
      tw_multiply_all(rows, m->row, &parts, panel, TW_PANEL, &end);
    }
  }
}

/* [filter][row] of [row][filter] */
static void give(const tw_conv_gradient_params *p, const memory *m, float *y) {
  const int32_t rows = p->channels * p->kernel_h * p->kernel_w;
  for (int32_t f = 0; f < p->filters; f++) {
    for (int32_t row = 0; row < rows; row++) *y++ = m->sums[(int64_t)row * m->columns + f];
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const tw_planes planes = tw_gradient_planes(p);
  const int32_t rows = p->channels * p->kernel_h * p->kernel_w;
  const int64_t image = (int64_t)p->channels * p->in_h * p->in_w, result = (int64_t)p->filters * p->out_h * p->out_w;
  memory m = {.row = scratch, .zeros = (float *)scratch + 2 * rows};
  m.columns = (p->filters + TW_PANEL - 1) / TW_PANEL * TW_PANEL;
  m.planes = m.zeros + TW_PANEL;
  m.panels = m.planes + p->channels * planes.phases * planes.plane;
  m.sums = m.panels + (int64_t)m.columns * p->out_h * planes.pitch;
  memset(m.zeros, 0, TW_PANEL * sizeof *m.zeros);
  for (int32_t group = 0; group < p->groups; group++) {
    for (int32_t n = 0; n < p->batch; n++) {
      const int64_t at = (int64_t)n * p->groups + group;
      fill_planes(p, &planes, x + at * image, m.planes);
      place_rows(p, &planes, &m);
      turn_gradient(p, &planes, g + at * result, m.panels);
      add_image(p, &planes, &m, n == 0);
    }
    give(p, &m, y + (int64_t)group * p->filters * rows);
  }
}
