/* Convolution of bytes or 16 bits with filters in pairs and zero points in what totals begin with; results have
 * channels second.
 *
 * All filters meet a panel of four pixels, whose elements have 16 bits; taps are in the order of rows, columns,
 * channels, or as words of rows have them. Where a window is one pixel, it comes from the image, else from a band: the rows of the image that some
 * rows of results read, with their padding. */
#ifndef TW_NAME
#define TW_NAME tw_conv_pairs
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_pairs_sizes.h"
#include "pair_products.h"
#include "pair_results.h"
#include "rolled.h"
#include "row_copy.h"
#include "widen.h"
#include "word_copy.h"

/* ---- one tap on every pixel: the plane is one long row ---- */

static __attribute__((noinline)) void flat_panel_4(const TW_X *x, int32_t channels, int32_t plane, uint32_t *panel) {
  const TW_X *const end = x + (channels & ~1) * plane;
  if (x != end) panel = tw_widen_rows(x, end, plane, panel);
  if (channels & 1)
    for (int32_t i = 0; i < 4; i++) panel[i] = tw_beside(end[i], 0);
}

static __attribute__((noinline)) void flat_panel_1(const TW_X *x, int32_t channels, int32_t plane, uint32_t *panel) {
  if (plane == 1) {
    TW_ROLLED for (; channels >= 4; channels -= 4, x += 4, panel += 2) tw_widen_beside(x, panel, 1);
  }
  TW_ROLLED for (; channels >= 2; channels -= 2, x += 2 * plane) *panel++ = tw_beside(x[0], x[plane]);
  if (channels) *panel = tw_beside(x[0], 0);
}

static void flat(tw_layer *layer, const tw_conv_params *p, const TW_X *x, TW_Y *y) {
  const int32_t plane = p->out_h * p->out_w, channels = p->in_channels;
  for (int32_t at = 0, pixels; at < plane; at += pixels) {
    at = tw_pixels_from(at, plane, &pixels);
    if (pixels == 4) {
      flat_panel_4(x + at, channels, plane, layer->panel);
    } else {
      flat_panel_1(x + at, channels, plane, layer->panel);
    }
    tw_all_filters(layer, &p->requant, p->requantised, pixels, y + at);
  }
}

/* ---- windows from a band ---- */

/* How a band lies in memory. With channels last, all channels are in one row. */
typedef struct {
  TW_X *rows;
  int32_t pitch;      /* from a row to the next, of one channel */
  int32_t row;        /* from a row of the image to the next, of all channels */
  int32_t pixel;      /* from a pixel to the next */
  int32_t *offsets;   /* of taps from the first one of a window */
  int32_t taps;
  int32_t words;      /* fours of taps that a row of a window has; 0 where its taps are apart */
} band;

/* Taps that lie side by side, four at a time: of every row, in the order of tw_widen_words; then what is left of the
 * rows. */
static void place_words(const tw_conv_params *p, const band *b) {
  const int32_t length = p->kernel_w * p->in_channels;
  int32_t *to = b->offsets;
  for (int32_t r = 0; r < p->kernel_h; r++)
    for (int32_t i = 0; i < 4 * b->words; i++) *to++ = r * p->dilation_h * b->row + (i & ~3) + tw_widened_order[i & 3];
  for (int32_t r = 0; r < p->kernel_h; r++)
    for (int32_t i = 4 * b->words; i < length; i++) *to++ = r * p->dilation_h * b->row + i;
}

static void place_taps(const tw_conv_params *p, const band *b, int32_t image_last) {
  int32_t *to = b->offsets;
  if (b->words) {
    place_words(p, b);
    return;
  }
  for (int32_t r = 0; r < p->kernel_h; r++) {
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t at = r * p->dilation_h * b->row + s * p->dilation_w * b->pixel;
      for (int32_t c = 0; c < p->in_channels; c++) *to++ = at + c * (image_last ? 1 : b->pitch);
    }
  }
}

/* Elements under two taps for four pixels, and so on. */
static __attribute__((noinline)) void gather_4(const int32_t *taps, int32_t count, const TW_X *const *pixel,
                                               uint32_t *panel) {
  const TW_X *const x0 = pixel[0], *const x1 = pixel[1], *const x2 = pixel[2], *const x3 = pixel[3];
  const int32_t *const end = taps + (count & ~1);
  for (; taps != end; taps += 2, panel += 4) {
    const int32_t a = taps[0], b = taps[1];
    const uint32_t at_0 = tw_beside(x0[a], x0[b]), at_1 = tw_beside(x1[a], x1[b]);
    const uint32_t at_2 = tw_beside(x2[a], x2[b]), at_3 = tw_beside(x3[a], x3[b]);
    tw_store_4(panel, at_0, at_1, at_2, at_3);
  }
  if (count & 1) {
    const int32_t a = taps[0];
    panel[0] = tw_beside(x0[a], 0), panel[1] = tw_beside(x1[a], 0);
    panel[2] = tw_beside(x2[a], 0), panel[3] = tw_beside(x3[a], 0);
  }
}

static __attribute__((noinline)) void gather_1(const int32_t *taps, int32_t count, const TW_X *x, uint32_t *panel) {
  TW_ROLLED for (; count >= 2; count -= 2, taps += 2) *panel++ = tw_beside(x[taps[0]], x[taps[1]]);
  if (count) *panel = tw_beside(x[taps[0]], 0);
}

/* Words of every row of the windows of four pixels. */
static __attribute__((noinline)) uint32_t *gather_words(const TW_X *const *pixel, int32_t words, int32_t rows,
                                                        int32_t row, uint32_t *panel) {
  const TW_X *x[4] = {pixel[0], pixel[1], pixel[2], pixel[3]};
  const int32_t further = row - 4 * words;
  for (; rows > 0 && words > 0; rows--) {
    panel = tw_widen_words(x, words, panel);
    for (int32_t i = 0; i < 4; i++) x[i] += further;
  }
  return panel;
}

/* Three taps of a row, for two channels at a time. */
static __attribute__((noinline)) void gather_rows_of_3(const TW_X *x, int32_t pitch, int32_t channels, int32_t rows,
                                                       uint32_t *panel) {
  const int32_t tap = 2 * channels; /* words */
  for (; rows > 0; rows--, panel += 3 * tap) x = tw_widen_three(x, pitch, panel, tap);
}

/* Where the windows of four pixels begin. */
TW_ALWAYS void place_pixels(const tw_conv_params *p, const band *b, int32_t at, int is_row, const TW_X **pixel) {
  const int32_t step = p->stride_w * b->pixel, width = p->out_w;
  int32_t row = is_row ? 0 : at / width, column = at - row * width;
  const TW_X *x = b->rows + row * p->stride_h * b->row + column * step;
  for (int32_t i = 0; i < 4; i++, x += step) {
    pixel[i] = x;
    if (!is_row && ++column == width) column = 0, x += p->stride_h * b->row - width * step;
  }
}

/* Some rows of results from their band. */
static void rows_from_band(tw_layer *layer, const tw_conv_params *p, const band *b, int32_t rows, TW_Y *y) {
  const int32_t count = rows * p->out_w;
  const int has_rows_of_3 = rows == 1 && b->pixel == 1 && p->kernel_w == 3 && p->stride_w == 1 && p->dilation_w == 1 &&
                            p->dilation_h == 1 && p->in_channels % 2 == 0;
  for (int32_t at = 0, pixels; at < count; at += pixels) {
    at = tw_pixels_from(at, count, &pixels);
    if (has_rows_of_3 && pixels == 4) {
      gather_rows_of_3(b->rows + at, b->pitch, p->in_channels, p->kernel_h, layer->panel);
    } else {
      const TW_X *pixel[4];
      place_pixels(p, b, at, rows == 1, pixel);
      if (pixels == 4) {
        const int32_t by_words = 4 * b->words * p->kernel_h;
        uint32_t *const rest = gather_words(pixel, b->words, p->kernel_h, p->dilation_h * b->row, layer->panel);
        gather_4(b->offsets + by_words, b->taps - by_words, pixel, rest);
      } else {
        gather_1(b->offsets, b->taps, pixel[0], layer->panel);
      }
    }
    tw_all_filters(layer, &p->requant, p->requantised, pixels, y + at);
  }
}

/* A row of the image of all channels, where the band has padding already; or of nothing but padding. */
static void load_row(const tw_conv_params *p, const TW_X *x, int32_t in_y, const band *b, TW_X *to) {
  const int32_t left = tw_min(p->pad_left, b->pitch), inside = tw_min(p->in_w, b->pitch - left);
  if (in_y < 0 || in_y >= p->in_h) {
    tw_fill_words(to, b->row, (TW_X)p->x_zero);
  } else if (inside > 0) {
    tw_copy_rows(x + in_y * p->in_w, p->in_h * p->in_w, inside, to + left, b->pitch, p->in_channels);
  }
}

static __attribute__((noinline)) void load_row_last(const tw_conv_params *p, const TW_X *x, int32_t in_y,
                                                    const band *b, TW_X *to) {
  const int32_t channels = p->in_channels, left = tw_min(p->pad_left * channels, b->row), inside = p->in_w * channels;
  if (in_y < 0 || in_y >= p->in_h) {
    tw_fill_words(to, b->row, (TW_X)p->x_zero);
  } else {
    tw_copy(x + in_y * inside, tw_min(inside, b->row - left), to + left);
  }
}

/* Rows that stay in the band move to its beginning. */
static __attribute__((noinline)) void move_rows(const band *b, int32_t from, int32_t count) {
  const char *x = (const char *)(b->rows + from * b->row);
  char *to = (char *)b->rows;
  int32_t left = count * b->row * (int32_t)sizeof(TW_X);
  TW_ROLLED for (; left >= 16; left -= 16, x += 16, to += 16) tw_copy_4(x, 8, to);
  TW_ROLLED for (; left > 0; left -= 4, x += 4, to += 4) __builtin_memcpy(to, x, 4);
}

static void by_bands(tw_layer *layer, const tw_conv_pairs_params *params, const band *b, const TW_X *x, TW_Y *y) {
  const tw_conv_params *const p = &params->conv;
  for (int32_t out_y = 0, has = 0; out_y < p->out_h; out_y += p->chunk) {
    const int32_t rows = tw_min(p->chunk, p->out_h - out_y), first = out_y * p->stride_h - p->pad_top;
    const int32_t wanted = tw_band_rows(p, rows);
    const int32_t kept = tw_max(has - p->chunk * p->stride_h, 0);
    if (kept) move_rows(b, has - kept, kept);
    for (has = kept; has < wanted; has++) {
      TW_X *const to = b->rows + has * b->row;
      if (params->image_last) {
        load_row_last(p, x, first + has, b, to);
      } else {
        load_row(p, x, first + has, b, to);
      }
    }
    rows_from_band(layer, p, b, rows, y + out_y * p->out_w);
  }
}

void TW_NAME(const tw_conv_pairs_params *params, const TW_X *x, const int8_t *w, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = tw_taps(p), steps = tw_panel_steps(taps);
  const int32_t pairs = (p->out_channels + 1) / 2, plane = p->out_h * p->out_w, last = params->image_last;
  uint32_t *const panel = scratch;
  int32_t *const offsets = (int32_t *)(panel + TW_PANEL_PIXELS * steps);
  const int32_t pitch = last ? 1 : tw_band_pitch(p), row = tw_pairs_row(params);
  const int has_words = p->dilation_w == 1 && (last || p->in_channels == 1);
  const band b = {(TW_X *)(offsets + taps) + (last ? 0 : tw_band_lead(p)), pitch, row, last ? p->in_channels : 1,
                  offsets, taps, has_words ? p->kernel_w * p->in_channels / 4 : 0};
  if (!tw_has_no_band(params)) {
    place_taps(p, &b, last);
    tw_fill_words(b.rows, tw_band_rows(p, p->chunk) * row, (TW_X)p->x_zero);
  }
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_channels * p->in_h * p->in_w) {
    const int32_t group = n % p->groups;
    tw_layer layer = tw_layer_of(panel, steps, p->out_channels, plane, w + group * pairs * tw_pair_bytes(steps),
                                 params->way);
    TW_Y *const to = y + n * p->out_channels * plane;
    if (tw_has_no_band(params)) {
      flat(&layer, p, x, to);
    } else {
      by_bands(&layer, params, &b, x, to);
    }
  }
}
