/* Convolution of floats, channels last. Windows are read where they are: a row of factors consists of a few parts of the
 * image. Where there is padding, they are parts of a copy of some rows. */
#include "conv_panels.h"

#include "packed_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_panels
#endif

/* Working memory: where the windows begin, the copy of some rows, and chunks of windows. */
typedef struct {
  const float **windows;
  float *band, *packed;
} memory;

/* Rows of the image from `first` on, with zeros around them. */
static void load_band(const tw_conv_panels_params *p, const float *x, int32_t first, float *band) {
  const int32_t pixel = p->groups * p->in_channels;
  const int32_t before = tw_min(p->pad_left, p->band_w), seen = tw_min(p->in_w, p->band_w - before);
  const size_t left = (size_t)(before * pixel), inside = (size_t)(seen * pixel);
  const size_t right = (size_t)((p->band_w - before - seen) * pixel);
  for (int32_t row = 0; row < p->band_h; row++, band += p->band_w * pixel) {
    const int32_t from = first + row;
    if (from < 0 || from >= p->in_h) {
      memset(band, 0, (left + inside + right) * sizeof *band);
      continue;
    }
    memset(band, 0, left * sizeof *band);
    memcpy(band + left, x + (size_t)from * (size_t)(p->in_w * pixel), inside * sizeof *band);
    memset(band + left + inside, 0, right * sizeof *band);
  }
}

/* Where the windows of some rows of results begin. */
static void find_windows(const tw_conv_panels_params *p, const float *from, int32_t rows, const float **windows) {
  const int32_t pixel = p->groups * p->in_channels;
  for (int32_t row = 0; row < rows; row++, from += (int64_t)p->stride_h * p->band_w * pixel) {
    for (int32_t column = 0; column < p->out_w; column++) *windows++ = from + (int64_t)column * p->stride_w * pixel;
  }
}

/* All filters of a group on some windows. */
static void one_group(const tw_conv_panels_params *p, const memory *m, int32_t pixels, const float *w, const float *b,
                      float *y) {
  const float *const *const windows = m->windows;
  const tw_parts parts = {p->parts, p->length, p->part_at};
  tw_tile_end end = {b, tw_bounds_of(&p->activation), y, (int64_t)p->groups * p->out_channels, 0};
  if (pixels == 1) {
    tw_line_of_panels(windows[0], &parts, w, p->inner, p->out_channels, &end);
    return;
  }
  if (p->packs) {
    const tw_rows rows = {windows, pixels, p->inner, parts};
    tw_packed_product(&rows, w, b, p->out_channels, &p->activation, m->packed, y, end.y_row);
    return;
  }
  for (int32_t first = 0; first < p->out_channels; first += TW_PANEL, w += (int64_t)p->inner * TW_PANEL) {
    end.columns = tw_min(TW_PANEL, p->out_channels - first);
    end.bias = b + first;
    end.y = y + first;
    tw_multiply_all(pixels, windows, &parts, w, TW_PANEL, &end);
  }
}

void TW_NAME(const tw_conv_panels_params *params, const float *x, const float *w, const float *b, float *y,
             void *scratch) {
  const tw_conv_panels_params *const p = params;
  const int32_t panels = (p->out_channels + TW_PANEL - 1) / TW_PANEL;
  float *const band = (float *)((const float **)scratch + p->rows * p->out_w);
  const memory m = {scratch, band, band + tw_conv_panels_band(p)};
  const int64_t row_elements = (int64_t)p->in_w * p->groups * p->in_channels;
  for (int32_t image = 0; image < p->batch; image++, x += p->in_h * row_elements) {
    for (int32_t row = 0; row < p->out_h; row += p->rows) {
      const int32_t rows = tw_min(p->rows, p->out_h - row), pixels = rows * p->out_w;
      const int32_t elements = pixels * p->groups * p->out_channels;
      if (p->padded) load_band(p, x, row * p->stride_h - p->pad_top, m.band);
      find_windows(p, p->padded ? m.band : x + row * p->stride_h * row_elements, rows, m.windows);
      for (int32_t group = 0; group < p->groups; group++) {
        const int32_t panel = group * panels;
        one_group(p, &m, pixels, w + (int64_t)panel * p->inner * TW_PANEL, b + panel * TW_PANEL,
                  y + group * p->out_channels);
        for (int32_t i = 0; i < pixels; i++) m.windows[i] += p->in_channels;
      }
      if (p->activation.kind > TW_CLAMP && !(p->packs && pixels > 1)) tw_activate(&p->activation, y, elements, 1);
      y += elements;
    }
  }
}
