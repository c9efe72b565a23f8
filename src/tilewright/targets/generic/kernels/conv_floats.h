/* Convolution of floats. A block of pixels meets a few filters at a time; the innermost loop runs over pixels, whose
 * sums are independent of each other. Where there are many channels, y holds the sums over those done so far. */
#ifndef TW_CONV_FLOATS_H
#define TW_CONV_FLOATS_H

#define TW_X float
#define TW_PANEL float
#define TW_INTO_PANEL(x) (x)

#include "bytes.h"
#include "conv.h"
#include "conv_panel.h"

/* Weights are floats, unless whoever includes this says how they are stored. */
#ifndef TW_WEIGHT
#define TW_WEIGHT float
#define TW_FROM_WEIGHT(x) (x)
#endif

typedef struct {
  const tw_conv_params *params;
  const float *panel, *b;
  int32_t rows;     /* of the panel */
  int32_t w_step;   /* from filter to filter */
  int32_t pixels;   /* of this block */
  int32_t plane;    /* pixels of the image */
  int32_t is_first; /* of the chunks of channels */
} work;

/* total[f][p] += sum over rows of w[f][row] * panel[row][p] */
static void multiply(float total[TW_FILTERS][TW_PIXELS], const float *panel, const TW_WEIGHT *const w[TW_FILTERS],
                     int32_t rows) {
  float sum[TW_FILTERS][TW_PIXELS];
  memcpy(sum, total, sizeof sum);
  for (int32_t row = 0; row < rows; row++) {
    const float *x = panel + row * TW_PIXELS;
    for (int32_t f = 0; f < TW_FILTERS; f++) {
      const float factor = TW_FROM_WEIGHT(w[f][row]);
      for (int32_t i = 0; i < TW_PIXELS; i++) sum[f][i] += factor * x[i];
    }
  }
  memcpy(total, sum, sizeof sum);
}

/* A few filters on one block of pixels. Where fewer are left, the last one is computed again and dropped. */
static void filters_on_block(const work *k, int32_t filter, const TW_WEIGHT *w, float *y, int32_t filters) {
  float total[TW_FILTERS][TW_PIXELS];
  const TW_WEIGHT *rows[TW_FILTERS];
  for (int32_t f = 0; f < TW_FILTERS; f++) {
    const int32_t chosen = tw_min(f, filters - 1);
    const float start = k->b ? k->b[(filter + chosen) * k->params->bias_step] : 0.0f;
    for (int32_t i = 0; i < TW_PIXELS; i++) total[f][i] = start;
    if (!k->is_first) memcpy(total[f], y + chosen * k->plane, (size_t)k->pixels * sizeof *y);
    rows[f] = w + chosen * k->w_step;
  }
  multiply(total, k->panel, rows, k->rows);
  for (int32_t f = 0; f < filters; f++) memcpy(y + f * k->plane, total[f], (size_t)k->pixels * sizeof *y);
}

void TW_NAME(const tw_conv_params *params, const float *x, const TW_WEIGHT *w, const float *b, float *y,
             void *scratch) {
  const int32_t taps = params->kernel_h * params->kernel_w, channels = params->in_channels;
  const int32_t filters = params->out_channels;
  const int32_t in_plane = params->in_h * params->in_w, out_plane = params->out_h * params->out_w;
  work k = {.params = params, .b = b, .w_step = channels * taps, .plane = out_plane};
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    const int32_t filter = image % params->groups * filters;
    const float *x_group = x + image * channels * in_plane;
    const TW_WEIGHT *w_group = w + filter * k.w_step;
    float *y_group = y + image * filters * out_plane;
    for (int32_t pixel = 0; pixel < out_plane; pixel += TW_PIXELS) {
      const tw_block block = tw_block_at(params, pixel);
      k.pixels = block.pixels;
      for (int32_t c = 0; c < channels || c == 0; c += params->chunk) {
        const int32_t part = tw_min(params->chunk, channels - c);
        k.is_first = c == 0;
        k.rows = part * taps;
        k.panel = tw_panel_load(params, &block, x_group + c * in_plane, part, 0.0f, scratch);
        for (int32_t f = 0; f < filters; f += TW_FILTERS) {
          const TW_WEIGHT *w_part = w_group + f * k.w_step + c * taps;
          filters_on_block(&k, filter + f, w_part, y_group + f * out_plane + pixel, tw_min(TW_FILTERS, filters - f));
        }
      }
      for (int32_t f = 0; params->activation.kind && f < filters; f++) {
        tw_activate(&params->activation, y_group + f * out_plane + pixel, block.pixels, 1);
      }
    }
  }
}

#endif
