/* Convolution of 8-bit integers, int32 totals, optionally requantised.
 * The panel holds x as an unsigned byte (int8 is moved up by 128): a product of an unsigned byte and an int16 maps to
 * multiply-add instructions on pairs of int16, which are far faster than products of int32. What moving and the zero
 * point add to a total depends on the filter only: (128 + x_zero) * sum(w), subtracted from the start. */
#ifndef TW_NAME
#define TW_NAME tw_conv_int8
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_X_OFFSET ((TW_X)-1 < 0 ? 128 : 0)
#define TW_PANEL uint8_t
#define TW_INTO_PANEL(x) ((uint8_t)((x) + TW_X_OFFSET))

#include "bytes.h"
#include "conv.h"
#include "conv_panel.h"
#include "conv_store.h"

typedef struct {
  const tw_conv_params *params;
  const uint8_t *panel;
  const int32_t *mul, *add;
  const uint32_t *start; /* the total of each filter of the group before the first product */
  uint32_t *total;       /* [filter][pixel], where a total takes several chunks of channels */
  int32_t rows;          /* of the panel */
  int32_t w_step;        /* from filter to filter */
  int32_t pixels;        /* of this block */
  int32_t plane;         /* pixels of the image */
  int32_t is_first, is_last; /* of the chunks of channels */
} work;

/* total[f][p] += sum over rows of (w[f][row] - w_zero) * panel[row][p] */
static void multiply(uint32_t total[TW_FILTERS][TW_PIXELS], const uint8_t *panel, const TW_W *const w[TW_FILTERS],
                     int32_t w_zero, int32_t rows) {
  uint32_t sum[TW_FILTERS][TW_PIXELS];
  memcpy(sum, total, sizeof sum);
  for (int32_t row = 0; row < rows; row++) {
    const uint8_t *x = panel + row * TW_PIXELS;
    for (int32_t f = 0; f < TW_FILTERS; f++) {
      const int16_t factor = (int16_t)(w[f][row] - w_zero);
      for (int32_t i = 0; i < TW_PIXELS; i++) sum[f][i] += (uint32_t)((int32_t)x[i] * factor);
    }
  }
  memcpy(total, sum, sizeof sum);
}

/* A few filters on one block of pixels; `first` and f count in the group, `filter` over all groups.
 * Where fewer are left, the last one is computed again and dropped. */
static void filters_on_block(const work *k, int32_t filter, int32_t first, const TW_W *w, TW_Y *y, int32_t filters) {
  uint32_t total[TW_FILTERS][TW_PIXELS];
  const TW_W *rows[TW_FILTERS];
  for (int32_t f = 0; f < TW_FILTERS; f++) {
    const int32_t chosen = tw_min(f, filters - 1);
    for (int32_t i = 0; i < TW_PIXELS; i++) total[f][i] = k->start[first + chosen];
    if (!k->is_first) memcpy(total[f], k->total + (first + chosen) * TW_PIXELS, sizeof total[f]);
    rows[f] = w + chosen * k->w_step;
  }
  multiply(total, k->panel, rows, k->params->w_zero, k->rows);
  for (int32_t f = 0; f < filters; f++) {
    if (k->is_last) {
      tw_conv_store(k->params, k->mul, k->add, filter + f, total[f], y + f * k->plane, k->pixels);
    } else {
      memcpy(k->total + (first + f) * TW_PIXELS, total[f], sizeof total[f]);
    }
  }
}

/* The total of each filter before the first product. */
static void set_starts(const tw_conv_params *p, const TW_W *w, const int32_t *b, int32_t first, uint32_t *start) {
  const int32_t length = p->in_channels * p->kernel_h * p->kernel_w;
  for (int32_t f = 0; f < p->out_channels; f++) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < length; i++) sum += (uint32_t)(w[f * length + i] - p->w_zero);
    start[f] = (uint32_t)tw_conv_bias(p, b, first + f) - sum * (uint32_t)(p->x_zero + TW_X_OFFSET);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t taps = params->kernel_h * params->kernel_w, channels = params->in_channels;
  const int32_t filters = params->out_channels;
  const int32_t in_plane = params->in_h * params->in_w, out_plane = params->out_h * params->out_w;
  uint32_t *const start = scratch;
  uint32_t *const total = start + filters;
  uint8_t *const memory = (uint8_t *)(total + (params->chunk < channels ? filters * TW_PIXELS : 0));
  work k = {.params = params, .mul = mul, .add = add, .start = start, .total = total,
            .w_step = channels * taps, .plane = out_plane};
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    const int32_t filter = image % params->groups * filters;
    const TW_X *x_group = x + image * channels * in_plane;
    const TW_W *w_group = w + filter * k.w_step;
    TW_Y *y_group = y + image * filters * out_plane;
    set_starts(params, w_group, b, filter, start);
    for (int32_t pixel = 0; pixel < out_plane; pixel += TW_PIXELS) {
      const tw_block block = tw_block_at(params, pixel);
      k.pixels = block.pixels;
      for (int32_t c = 0; c < channels || c == 0; c += params->chunk) {
        const int32_t part = tw_min(params->chunk, channels - c);
        k.is_first = c == 0;
        k.is_last = c + part == channels;
        k.rows = part * taps;
        k.panel = tw_panel_load(params, &block, x_group + c * in_plane, part, TW_INTO_PANEL(params->x_zero), memory);
        for (int32_t f = 0; f < filters; f += TW_FILTERS) {
          const TW_W *w_part = w_group + f * k.w_step + c * taps;
          TW_Y *y_part = y_group + f * out_plane + pixel;
          filters_on_block(&k, filter + f, f, w_part, y_part, tw_min(TW_FILTERS, filters - f));
        }
      }
    }
  }
}
