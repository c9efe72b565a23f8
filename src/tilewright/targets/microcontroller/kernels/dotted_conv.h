/* Convolution of bytes, channels second: the taps of up to four pixels side by side are gathered as a panel of words first, which all
 * filters then meet. Needs TW_NAME, TW_X, TW_Y, and the products of a panel: dot_products.h or bit_products.h. */
#ifndef TW_DOTTED_CONV_H
#define TW_DOTTED_CONV_H

#include "conv.h"
#include "conv_blocks.h"
#include "conv_dots_sizes.h"

/* A block of filters on the pixels of a panel. */
TW_ALWAYS void on_panel(const image *m, const block *k, const uint32_t *panel, int32_t at, int32_t pixels) {
  const uint32_t *const w = (const uint32_t *)(const void *)k->w;
  const int32_t words = m->taps / TW_WEIGHTS_OF_WORD;
  tw_totals total;
  if (pixels == 4) {
    tw_dots_4(panel, w, words, k->start, total);
    store(m, k, at, 4, total);
  } else if (pixels == 2) {
    tw_dots_2(panel, w, words, k->start, total);
    store(m, k, at, 2, total);
  } else {
    tw_dots_1(panel, TW_PANEL, w, words, k->start, total);
    store(m, k, at, 1, total);
  }
}

/* All filters on panels that follow each other. */
static void all_filters(const image *m, const uint32_t *panels, int32_t at, int32_t pixels) {
  for (int32_t filter = 0; filter < m->p->out_channels; filter += TW_BLOCK) {
    const block k = block_at(m, filter);
    const uint32_t *panel = panels;
    for (int32_t done = 0, next; done < pixels; done += next, panel += m->taps) {
      next = next_pixels(pixels - done);
      on_panel(m, &k, panel, at + done, next);
    }
  }
}

/* From the byte of a tap to that of the next one: four are a word, and those of four pixels lie between two of them. */
TW_ALWAYS int8_t *next_tap(int8_t *to, int32_t tap) { return to + ((tap & 3) == 3 ? 4 * TW_PANEL - 3 : 1); }

/* A tap of pixels `step` apart. */
TW_ALWAYS void gather_tap(const TW_X *x, int32_t step, int32_t pixels, int8_t *to) {
  const TW_X a = x[0], b = pixels > 1 ? x[step] : 0, c = pixels > 2 ? x[2 * step] : 0, d = pixels > 2 ? x[3 * step] : 0;
  to[0] = TW_AS_DOTTED(a);
  if (pixels > 1) to[4] = TW_AS_DOTTED(b);
  if (pixels > 2) to[8] = TW_AS_DOTTED(c), to[12] = TW_AS_DOTTED(d);
}

/* What fills up the last word of weights, which are zero. */
static void fill_up(int32_t taps, int8_t *to) {
  for (; taps % TW_WEIGHTS_OF_WORD; to = next_tap(to, taps++)) to[0] = to[4] = to[8] = to[12] = 0;
}

/* One tap of each plane on pixels side by side. */
TW_ALWAYS void gather_planes(const TW_X *x, int32_t plane, int32_t channels, int32_t pixels, int8_t *to) {
  int32_t c = 0;
  for (; c + 4 <= channels; c += 4, x += 4 * plane, to += 4 * TW_PANEL) {
    gather_tap(x, 1, pixels, to);
    gather_tap(x + plane, 1, pixels, to + 1);
    gather_tap(x + 2 * plane, 1, pixels, to + 2);
    gather_tap(x + 3 * plane, 1, pixels, to + 3);
  }
  for (; c < channels; c++, x += plane, to++) gather_tap(x, 1, pixels, to);
}

/* As many as there are panels for: three pixels need two. */
static int32_t pixels_at_a_time(int32_t most, int32_t left) {
  const int32_t some = tw_min(most, left);
  return some == most - 1 ? some - 1 : some;
}

/* The plane is one long row. */
static void flat(const image *m, const TW_X *x, uint32_t *panels) {
  const int32_t channels = m->p->in_channels, plane = m->out_plane, most = TW_PANEL * tw_panels(m->p, m->taps);
  for (int32_t at = 0, some; at < plane; at += some) {
    int8_t *to = (int8_t *)panels;
    some = pixels_at_a_time(most, plane - at);
    for (int32_t done = 0, pixels; done < some; done += pixels, to += 4 * m->taps) {
      pixels = next_pixels(some - done);
      fill_up(channels, to + channels / 4 * 4 * TW_PANEL + (channels & 3));
      if (pixels == 4) gather_planes(x + at + done, plane, channels, 4, to);
      else gather_planes(x + at + done, plane, channels, pixels, to);
      TW_READY((uint32_t *)(void *)to, m->taps, TW_PANEL, pixels);
    }
    all_filters(m, panels, at, some);
  }
}

/* The elements under each tap. */
TW_ALWAYS void gather(const tw_conv_params *p, const TW_X *band, int32_t pitch, int32_t pixels, int8_t *to) {
  int32_t tap = 0;
  for (int32_t row = 0; row < p->in_channels * p->kernel_h; row++, band += pitch) {
    const TW_X *x = band;
    for (int32_t s = 0; s < p->kernel_w; s++, x += p->dilation_w, to = next_tap(to, tap++)) {
      gather_tap(x, p->stride_w, pixels, to);
    }
  }
}

/* Of windows of three taps side by side one element apart: four rows of them are three words of each pixel. */
TW_ALWAYS void gather_row_of_3(const TW_X *x, int8_t *first, int8_t *second, int8_t *third) {
  const int8_t a = TW_AS_DOTTED(x[0]), b = TW_AS_DOTTED(x[1]), c = TW_AS_DOTTED(x[2]), d = TW_AS_DOTTED(x[3]), e = TW_AS_DOTTED(x[4]),
               f = TW_AS_DOTTED(x[5]);
  first[0] = a, first[4] = b, first[8] = c, first[12] = d;
  second[0] = b, second[4] = c, second[8] = d, second[12] = e;
  third[0] = c, third[4] = d, third[8] = e, third[12] = f;
}

static void gather_rows_of_3(const TW_X *band, int32_t pitch, int32_t rows, int8_t *to) {
  enum { WORD = 4 * TW_PANEL };
  for (; rows >= 4; rows -= 4, band += 4 * pitch, to += 3 * WORD) {
    gather_row_of_3(band, to, to + 1, to + 2);
    gather_row_of_3(band + pitch, to + 3, to + WORD, to + WORD + 1);
    gather_row_of_3(band + 2 * pitch, to + WORD + 2, to + WORD + 3, to + 2 * WORD);
    gather_row_of_3(band + 3 * pitch, to + 2 * WORD + 1, to + 2 * WORD + 2, to + 2 * WORD + 3);
  }
  for (int32_t tap = 0; rows > 0; rows--, band += pitch, tap += 3) {
    int8_t *const second = next_tap(to, tap), *const third = next_tap(second, tap + 1);
    gather_row_of_3(band, to, second, third);
    to = next_tap(third, tap + 2);
  }
}

/* A row of results from its band. */
static void row(const image *m, const TW_X *band, int32_t pitch, uint32_t *panels, int32_t out_y) {
  const tw_conv_params *const p = m->p;
  const int is_3 = p->kernel_w == 3 && p->stride_w == 1 && p->dilation_w == 1;
  const int32_t taps = tw_taps(p), most = TW_PANEL * tw_panels(p, m->taps);
  for (int32_t out_x = 0, some; out_x < p->out_w; out_x += some) {
    int8_t *to = (int8_t *)panels;
    some = pixels_at_a_time(most, p->out_w - out_x);
    for (int32_t done = 0, pixels; done < some; done += pixels, to += 4 * m->taps) {
      const TW_X *const x = band + (out_x + done) * p->stride_w;
      pixels = next_pixels(some - done);
      fill_up(taps, to + taps / 4 * 4 * TW_PANEL + (taps & 3));
      if (pixels == 4 && is_3) gather_rows_of_3(x, pitch, p->in_channels * p->kernel_h, to);
      else if (pixels == 4) gather(p, x, pitch, 4, to);
      else gather(p, x, pitch, pixels, to);
      TW_READY((uint32_t *)(void *)to, m->taps, TW_PANEL, pixels);
    }
    all_filters(m, panels, out_y * p->out_w + out_x, some);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const int32_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t filled = tw_filled_taps(p, TW_WEIGHTS_OF_WORD), pitch = tw_band_pitch(p);
  uint32_t *const panel = scratch;
  TW_X *const band = (TW_X *)(panel + tw_panels(p, filled) * filled) + tw_band_lead(p);
  /* Whoever puts filters into blocks makes sure that totals are small. */
  const tw_way way = tw_way_of(p->requantised, &p->requant, add, p->add_step, p->out_channels * p->groups, 1);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_channels * p->in_h * p->in_w) {
    const image m = image_at(p, n, filled, way, (const int8_t *)w, b, mul, add, y);
    if (tw_is_flat(p)) {
      flat(&m, x, panel);
      continue;
    }
    for (int32_t out_y = 0; out_y < p->out_h; out_y++) {
      load_band(p, x, out_y, pitch, band);
      row(&m, band, pitch, panel, out_y);
    }
  }
}

#endif
