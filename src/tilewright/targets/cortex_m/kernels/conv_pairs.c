/* Convolution of bytes, channels second, with filters in pairs and zero points in what totals begin with.
 *
 * All filters meet a panel of four pixels, whose elements have 16 bits; taps are in the order of rows, columns,
 * channels. Where a window is one pixel, it comes from the image, else from a band: the rows of the image that a row of
 * results reads, with their padding. */
#ifndef TW_NAME
#define TW_NAME tw_conv_pairs
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_pairs.h"
#include "pair_products.h"
#include "pair_results.h"
#include "row_copy.h"
#include "widen.h"

/* What is the same for all pixels of an image and a group. */
typedef struct {
  const tw_conv_params *p;
  tw_pairs job; /* y is the first plane */
  uint32_t *panel;
} image;

/* Results of four pixels side by side, or of one. */
static void on_panel(const image *m, int32_t at, int32_t pixels) {
  tw_pairs job = m->job;
  job.y += at;
  tw_pairs_results(job, &m->p->requant, m->p->requantised, m->panel, pixels);
}

/* ---- one tap on every pixel: the plane is one long row ---- */

static void flat_panel_4(const TW_X *x, int32_t channels, int32_t plane, uint32_t *panel) {
  for (; channels >= 2; channels -= 2, x += 2 * plane, panel += 4) tw_widen_4(x, x + plane, panel);
  if (channels)
    for (int32_t i = 0; i < 4; i++) panel[i] = tw_beside(x[i], 0);
}

static void flat_panel_1(const TW_X *x, int32_t channels, int32_t plane, uint32_t *panel) {
  for (; channels >= 2; channels -= 2, x += 2 * plane) *panel++ = tw_beside(x[0], x[plane]);
  if (channels) *panel = tw_beside(x[0], 0);
}

static void flat(const image *m, const TW_X *x) {
  const int32_t plane = m->p->out_h * m->p->out_w, channels = m->p->in_channels;
  for (int32_t at = 0, pixels; at < plane; at += pixels) {
    at = tw_pixels_from(at, plane, &pixels);
    if (pixels == 4) {
      flat_panel_4(x + at, channels, plane, m->panel);
    } else {
      flat_panel_1(x + at, channels, plane, m->panel);
    }
    on_panel(m, at, pixels);
  }
}

/* ---- windows from a band: rows of all channels, one row of the window after the other ---- */

/* An element for each pixel, as the first or the second half of their words. */
TW_ALWAYS void gather_tap(const TW_X *x, int32_t step, int32_t pixels, int16_t *to) {
  to[0] = x[0];
  if (pixels == 4) to[2] = x[step], to[4] = x[2 * step], to[6] = x[3 * step];
}

TW_ALWAYS void gather(const tw_conv_params *p, const TW_X *band, int32_t pitch, int32_t pixels, uint32_t *panel) {
  const int32_t taps = p->kernel_h * p->kernel_w * p->in_channels;
  int16_t *to = (int16_t *)panel;
  int32_t next = 1, back = 2 * pixels - 1;
  for (int32_t r = 0; r < p->kernel_h; r++, band += p->in_channels * pitch) {
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const TW_X *x = band + s * p->dilation_w;
      for (int32_t c = 0; c < p->in_channels; c++, x += pitch) {
        gather_tap(x, p->stride_w, pixels, to);
        to += next;
        const int32_t other = back;
        back = next, next = other;
      }
    }
  }
  if (taps % 2)
    for (int32_t i = 0; i < pixels; i++) to[2 * i] = 0;
}

/* Three taps of a row, for two channels at a time. */
static void gather_rows_of_3(const tw_conv_params *p, const TW_X *band, int32_t pitch, uint32_t *panel) {
  const int32_t tap = 2 * p->in_channels; /* words */
  for (int32_t r = 0; r < p->kernel_h; r++, panel += 2 * tap) {
    for (int32_t c = 0; c < p->in_channels; c += 2, band += 2 * pitch, panel += 4) {
      const uint32_t a = tw_word_at(band), b = tw_word_at(band + pitch);
      const uint32_t a_2 = tw_word_at(band + 4), b_2 = tw_word_at(band + pitch + 4);
      const uint32_t a02 = tw_even(a), a13 = tw_odd(a), b02 = tw_even(b), b13 = tw_odd(b);
      const uint32_t at_0 = tw_lower_halves(a02, b02), at_1 = tw_lower_halves(a13, b13);
      const uint32_t at_2 = tw_upper_halves(a02, b02), at_3 = tw_upper_halves(a13, b13);
      const uint32_t at_4 = tw_lower_halves(tw_even(a_2), tw_even(b_2));
      const uint32_t at_5 = tw_lower_halves(tw_odd(a_2), tw_odd(b_2));
      panel[0] = at_0, panel[1] = at_1, panel[2] = at_2, panel[3] = at_3;
      uint32_t *const second = panel + tap, *const third = second + tap;
      second[0] = at_1, second[1] = at_2, second[2] = at_3, second[3] = at_4;
      third[0] = at_2, third[1] = at_3, third[2] = at_4, third[3] = at_5;
    }
  }
}

/* A row of results from its band. */
static void row(const image *m, const TW_X *band, int32_t pitch, int32_t out_y) {
  const tw_conv_params *const p = m->p;
  const int has_rows_of_3 = p->kernel_w == 3 && p->stride_w == 1 && p->dilation_w == 1 && p->in_channels % 2 == 0;
  for (int32_t out_x = 0, pixels; out_x < p->out_w; out_x += pixels) {
    out_x = tw_pixels_from(out_x, p->out_w, &pixels);
    const TW_X *const x = band + out_x * p->stride_w;
    if (pixels == 1) {
      gather(p, x, pitch, 1, m->panel);
    } else if (has_rows_of_3) {
      gather_rows_of_3(p, x, pitch, m->panel);
    } else {
      gather(p, x, pitch, 4, m->panel);
    }
    on_panel(m, out_y * p->out_w + out_x, pixels);
  }
}

static void load_band(const tw_conv_params *p, const TW_X *x, int32_t out_y, int32_t pitch, TW_X *band) {
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    const TW_X *plane = x;
    for (int32_t c = 0; c < p->in_channels; c++, plane += p->in_h * p->in_w, band += pitch) {
      tw_padded_row(p, plane, in_y, pitch, band);
    }
  }
}

static int is_flat(const tw_conv_params *p) {
  return p->kernel_h == 1 && p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->in_h == p->out_h &&
         p->in_w == p->out_w;
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, const int32_t *filters, TW_Y *y,
             void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t steps = (p->in_channels * p->kernel_h * p->kernel_w + 1) / 2, pairs = (p->out_channels + 1) / 2;
  const int32_t plane = p->out_h * p->out_w, pitch = tw_band_pitch(p);
  image m = {p, {0, 0, 0, 4 * steps, y, plane, filters, w, p->out_channels, params->way},
             scratch};
  TW_X *const band = (TW_X *)(m.panel + 4 * steps) + tw_band_lead(p);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_channels * p->in_h * p->in_w) {
    const int32_t group = n % p->groups;
    m.job.w = w + group * pairs * 4 * steps, m.job.starts = filters + group * pairs * TW_PAIR_WORDS;
    m.job.y = y + n * p->out_channels * plane;
    if (is_flat(p)) {
      flat(&m, x);
      continue;
    }
    for (int32_t out_y = 0; out_y < p->out_h; out_y++) {
      load_band(p, x, out_y, pitch, band);
      row(&m, band, pitch, out_y);
    }
  }
}
