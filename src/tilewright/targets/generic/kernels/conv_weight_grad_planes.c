/* The gradient of a convolution's filters, channels second: what each tap of a channel sees, times all filters'
 * gradients, which are turned into panels with a pixel in each row. Some pixels at a time, so that panels stay near. */
#include "tap_planes.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_planes
#endif

/* Working memory: where rows begin; planes; panels; sums, filter by filter side by side. */
typedef struct {
  const float **row;
  float *planes, *panels, *sums;
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

/* All rows of sums with some pixels of a few filters' gradients. */
static void add_panel(int32_t rows, const memory *m, int32_t pixel, int32_t count, const float *panel,
                      int32_t is_first, float *sums, int32_t columns) {
  const int32_t at = 0, tiles = (rows + TW_TAP_ROWS - 1) / TW_TAP_ROWS, least = rows / tiles, more = rows % tiles;
  const tw_tap_parts parts = {1, count, &at};
  for (int32_t tile = 0, row = 0; tile < tiles; tile++) {
    const int32_t own = least + (tile < more);
    const float *from[TW_TAP_ROWS];
    for (int32_t r = 0; r < own; r++) from[r] = m->row[row + r] + pixel;
    tw_tap_tile(own, from, &parts, panel, TW_PANEL, is_first, sums + (int64_t)row * m->columns, m->columns, columns);
    row += own;
  }
}

/* What one image adds to the sums. */
static void add_image(const tw_conv_gradient_params *p, const tw_planes *planes, const memory *m, int32_t is_first) {
  const int32_t pixels = p->out_h * planes->pitch, count = pixels - (planes->pitch - p->out_w);
  const int32_t rows = p->channels * p->kernel_h * p->kernel_w;
  for (int32_t pixel = 0; pixel < count; pixel += TW_GRADIENT_STEP) {
    for (int32_t f = 0; f < p->filters; f += TW_PANEL) {
      add_panel(rows, m, pixel, tw_min(TW_GRADIENT_STEP, count - pixel),
                m->panels + (int64_t)f * pixels + (int64_t)pixel * TW_PANEL, is_first && pixel == 0, m->sums + f,
                tw_min(TW_PANEL, p->filters - f));
    }
  }
}

static float dot(const float *a, const float *b, int32_t count) {
  float chain[TW_CHAINS] = {0.0f}, total = 0.0f;
  int32_t i = 0;
  for (; i + TW_CHAINS <= count; i += TW_CHAINS) {
    for (int32_t c = 0; c < TW_CHAINS; c++) chain[c] += a[i + c] * b[i + c];
  }
  for (; i < count; i++) total += a[i] * b[i];
  for (int32_t c = 0; c < TW_CHAINS; c++) total += chain[c];
  return total;
}

/* The same for one filter of one channel, whose gradient becomes a plane as well: nothing is turned. */
static void add_alone(const tw_conv_gradient_params *p, const tw_planes *planes, const memory *m, const float *g,
                      int32_t is_first) {
  const int32_t count = p->out_h * planes->pitch - (planes->pitch - p->out_w);
  float *to = m->panels;
  for (int32_t row = 0; row < p->out_h; row++, g += p->out_w) {
    for (int32_t i = 0; i < planes->pitch; i++) *to++ = i < p->out_w ? g[i] : 0.0f;
  }
  for (int32_t tap = 0; tap < p->kernel_h * p->kernel_w; tap++) {
    float *const sum = m->sums + (int64_t)tap * m->columns;
    *sum = (is_first ? 0.0f : *sum) + dot(m->row[tap], m->panels, count);
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
  memory m = {.row = scratch, .planes = (float *)((const float **)scratch + rows)};
  m.columns = (p->filters + TW_PANEL - 1) / TW_PANEL * TW_PANEL;
  m.panels = m.planes + p->channels * planes.phases * planes.plane;
  m.sums = m.panels + (int64_t)m.columns * p->out_h * planes.pitch;
  for (int32_t group = 0; group < p->groups; group++) {
    for (int32_t n = 0; n < p->batch; n++) {
      const int64_t at = (int64_t)n * p->groups + group;
      fill_planes(p, &planes, x + at * image, m.planes);
      place_rows(p, &planes, &m);
      if (p->channels == 1 && p->filters == 1) {
        add_alone(p, &planes, &m, g + at * result, n == 0);
        continue;
      }
      turn_gradient(p, &planes, g + at * result, m.panels);
      add_image(p, &planes, &m, n == 0);
    }
    give(p, &m, y + (int64_t)group * p->filters * rows);
  }
}
