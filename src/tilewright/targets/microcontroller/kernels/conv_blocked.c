/* Convolution of bytes, channels second, with filters in blocks of four and zero points in the bias.
 *
 * Pixels that lie side by side are multiplied where they are. All others come from a band: the rows of the image that a
 * row of results reads, with their padding. */
#ifndef TW_NAME
#define TW_NAME tw_conv_blocked
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "block_products.h"

#define TW_WEIGHTS_OF_WORD 4 /* bytes */
#include "conv_blocks.h"

#ifdef __riscv_vector
#include "conv_lanes.h"
#else
/* Pixels side by side whose taps are `step` elements apart. */
TW_ALWAYS void on_pixels(const image *m, const block *k, const TW_X *x, int32_t step, int32_t at, int32_t pixels) {
  tw_totals total;
  if (pixels == 4) {
    tw_products_4(x, step, k->w, m->taps, k->start, total);
    store(m, k, at, 4, total);
  } else if (pixels == 2) {
    tw_products_2(x, step, k->w, m->taps, k->start, total);
    store(m, k, at, 2, total);
  } else {
    tw_products_1(x, step, k->w, m->taps, k->start, total);
    store(m, k, at, 1, total);
  }
}

/* One tap on every pixel: the plane is one long row. */
static void flat(const image *m, const TW_X *x) {
  for (int32_t filter = 0; filter < m->p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    for (int32_t at = 0, pixels; at < m->out_plane; at += pixels) {
      pixels = next_pixels(m->out_plane - at);
      on_pixels(m, &k, x + at, m->out_plane, at, pixels);
    }
  }
}

/* All filters on pixels from a panel. */
static void all_filters(const image *m, const TW_X *panel, int32_t at, int32_t pixels) {
  for (int32_t filter = 0; filter < m->p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    on_pixels(m, &k, panel, 4, at, pixels);
  }
}

static void all_filters_rows_of_3(const image *m, const TW_X *x, int32_t pitch, int32_t at) {
  for (int32_t filter = 0; filter < m->p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    tw_totals total;
    tw_products_rows_of_3(x, pitch, k.w, m->taps / 3, k.start, total);
    store(m, &k, at, 4, total);
  }
}

/* The elements under each tap, for some pixels side by side. */
static void gather(const tw_conv_params *p, const TW_X *band, int32_t pitch, int32_t pixels, TW_X *panel) {
  const int32_t step = p->stride_w;
  for (int32_t row = 0; row < p->in_channels * p->kernel_h; row++, band += pitch) {
    const TW_X *x = band;
    for (int32_t s = 0; s < p->kernel_w; s++, x += p->dilation_w, panel += 4) {
      panel[0] = x[0];
      if (pixels > 1) panel[1] = x[step];
      if (pixels > 2) panel[2] = x[2 * step], panel[3] = x[3 * step];
    }
  }
}

/* A row of results from its band. */
static void row(const image *m, const TW_X *band, int32_t pitch, TW_X *panel, int32_t out_y) {
  const tw_conv_params *const p = m->p;
  const int is_direct = p->kernel_w == 3 && p->stride_w == 1 && p->dilation_w == 1;
  for (int32_t out_x = 0, pixels; out_x < p->out_w; out_x += pixels) {
    const int32_t at = out_y * p->out_w + out_x;
    const TW_X *const x = band + out_x * p->stride_w;
    pixels = next_pixels(p->out_w - out_x);
    if (is_direct && pixels == 4) {
      all_filters_rows_of_3(m, x, pitch, at);
    } else {
      gather(p, x, pitch, pixels, panel);
      all_filters(m, panel, at, pixels);
    }
  }
}
#endif

void TW_NAME(const tw_conv_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t channels = p->in_channels, filters = p->out_channels, taps = tw_taps(p);
  const int32_t block_bytes = (filters + TW_BLOCK - 1) / TW_BLOCK * TW_BLOCK * taps;
  const int32_t pitch = tw_band_pitch(p);
  TW_X *const panel = scratch, *const band = panel + TW_PANEL_PIXELS * taps + tw_band_lead(p);
  /* Whoever puts filters into blocks makes sure that totals are small. */
  const tw_way way = tw_way_of(p->requantised, &p->requant, add, p->add_step, filters * p->groups, 1);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += channels * p->in_h * p->in_w) {
    const int32_t group = n % p->groups, first = group * filters;
    /* As image_at() makes it, which compilers keep in fewer registers: a hundredth of the time. */
    const image m = {p, w + group * block_bytes, b + first * p->bias_step, mul ? mul + first * p->mul_step : mul,
                     add ? add + first * p->add_step : add, y + n * filters * p->out_h * p->out_w, taps,
                     p->out_h * p->out_w, way};
    if (tw_is_flat(p)) {
      flat(&m, x);
      continue;
    }
    for (int32_t out_y = 0; out_y < p->out_h; out_y++) {
      load_band(p, x, out_y, pitch, band);
      row(&m, band, pitch, panel, out_y);
    }
  }
}
